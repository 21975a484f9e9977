"""Files as students hand them in, for the tests of what is made of them."""

import io
import json
import os
import zipfile

from homework.collect import collected


def notebook(student: str | None = None, id: str = "hw-student", **more) -> bytes:
    """A notebook in which a student wrote a name; `more` makes it another one."""
    source = [f"student = {json.dumps(student)}  # your name"] if student is not None else []
    cells = [{"cell_type": "code", "id": id, "metadata": {}, "source": source, "outputs": []}]
    return json.dumps({"cells": cells, "metadata": more, "nbformat": 4}).encode()


def zipped(files, **options) -> bytes:
    """A zip of names and bytes; a name may be a ZipInfo."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, **options) as made:
        for name, data in files.items() if isinstance(files, dict) else files:
            made.writestr(name, data)
    return out.getvalue()


def hand_in_below(tmp_path):
    """A function that gives what is collected of files by name, from a folder or a zip of it."""

    def of(files, roster=None, kind="folder"):
        source = tmp_path / "given"
        if kind == "zip":
            source = tmp_path / "given.zip"
            source.write_bytes(zipped(files))
            return collected(source, roster)
        for at, (name, data) in enumerate(files.items()):
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (1_700_000_000 + at, 1_700_000_000 + at))
        return collected(source, roster)

    return of
