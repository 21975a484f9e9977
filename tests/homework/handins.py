"""Files as students hand them in, for the tests of what is made of them."""

import contextlib
import io
import json
import os
import threading
import zipfile
from dataclasses import replace

import nbformat
import pytest

from homework.intake.archive import UnreadableError
from homework.intake.collect import collected
from homework.intake.repair import repaired
from homework.release.course import Course, fingerprint
from homework.release.edition import edition
from homework.run import sandbox, worker
from homework.run.judging import Judging, functions
from homework.run.sandbox import Limits, LostError, Talk


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


IMPORTS = "import matplotlib.pyplot, torch, helpers.explore, helpers.figures, helpers.exercises"
WAITING: list[Talk] = []  # sandboxes in which nothing but this was run
ONE_AT_A_TIME = threading.RLock()  # graders are threads


@contextlib.contextmanager
def warm():
    """Judge in copies of one process of the sandbox, whatever the problem set: starting it costs
    more than most of what is judged. Not for who may reach what other copies will find.
    """

    def entered(self: Judging) -> Talk:
        while True:
            talk = self.talk or (WAITING.pop() if WAITING else started())
            talk.limits, self.talk = self.limits, talk
            with contextlib.suppress(LostError):
                if talk.copy():
                    break
            talk.end()
            self.talk = None
        for cell in self.assignment.setup:
            told = talk.ask(functions(talk), do="run", source=cell.source, within=60)
            assert "error" not in told, told
        return talk

    def left(self: Judging) -> None:
        if self.talk is not None and self.talk.process.returncode is None:
            WAITING.append(self.talk)
        self.talk = None

    with ONE_AT_A_TIME, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judging, "_entered", entered)
        patch.setattr(Judging, "_leave", left)
        yield


def started() -> Talk:
    talk = sandbox.started(Limits())
    assert "error" not in talk.ask(str, do="run", source=IMPORTS, within=60)
    return talk


class Warm:
    """A worker for files that do no harm outside of a copy: in this process, over one sandbox.

    What has the same cells as an earlier file is run only once; its notes are its own.
    """

    known: dict = {}  # noqa: RUF012

    def __init__(self, course: Course, *_: object, **__: object):
        self.of = course.assignment()
        self.released = nbformat.from_dict(edition(self.of))
        self.version = fingerprint(course, self.of)

    def __enter__(self) -> "Warm":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def grade(self, raw: bytes) -> worker.Graded:
        try:
            found = repaired(raw, self.released)
        except UnreadableError as error:
            return worker.Graded(error=str(error))
        key = self.version, found.before, tuple(found.answers.items())
        if key not in self.known:
            with warm():
                self.known[key] = worker.graded(raw, self.of, self.released, limits=Limits())
        return replace(self.known[key], notes=found.notes)
