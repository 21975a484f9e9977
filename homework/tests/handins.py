"""Files as students hand them in, for the tests of what is made of them."""

import atexit
import contextlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from homework.intake.collect import collected
from homework.release.assignment import Assignment
from homework.run.withheld import book_for


def notebook(**more) -> bytes:
    """A notebook of one empty cell; `more` makes it another one."""
    cells = [{"cell_type": "code", "id": "x", "metadata": {}, "source": [], "outputs": []}]
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

    def hand_in(files, roster=None, kind="folder"):
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

    return hand_in


BOOKS: dict[tuple, Path] = {}
UNTIL_THE_END = contextlib.ExitStack()
atexit.register(UNTIL_THE_END.close)


@contextlib.contextmanager
def shared_book(assignment: Assignment) -> Iterator[Path]:
    """As `book_for`, made once for all tests of a problem set."""
    key = assignment.chapter, tuple(task.name for task in assignment.tasks)
    if key not in BOOKS:
        BOOKS[key] = UNTIL_THE_END.enter_context(book_for(assignment))
    yield BOOKS[key]
