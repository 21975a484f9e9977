"""Files as students hand them in, for the tests of what is made of them."""

import atexit
import contextlib
import io
import json
import os
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from homework.intake.archive import UnreadableError
from homework.intake.collect import collected
from homework.intake.repair import read_submission
from homework.release.assignment import Assignment
from homework.release.course import Course, fingerprint
from homework.release.edition import edition
from homework.run import sandbox, worker
from homework.run.judging import Judging, functions
from homework.run.sandbox import Limits, LostError, SandboxClient
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


IMPORTS = "import matplotlib.pyplot, torch, helpers.explore, helpers.figures, helpers.exercises"
WAITING: dict[tuple, list[SandboxClient]] = {}  # sandboxes in which just this and that was run
BOOKS: dict[tuple, Path] = {}
UNTIL_THE_END = contextlib.ExitStack()
atexit.register(UNTIL_THE_END.close)
ONE_AT_A_TIME = threading.RLock()  # graders are threads


@contextlib.contextmanager
def shared_book(assignment: Assignment) -> Iterator[Path]:
    """As `book_for`, made once for all tests of a problem set."""
    key = assignment.chapter, tuple(task.name for task in assignment.tasks)
    if key not in BOOKS:
        BOOKS[key] = UNTIL_THE_END.enter_context(book_for(assignment))
    yield BOOKS[key]


@contextlib.contextmanager
def warm(ready: tuple[str, ...] = ()):
    """Judge in copies of one process of the sandbox for a problem set: starting it costs
    more than most of what is judged. Not for who may reach what other copies will find.

    ready: the first cells of a problem set, which have been run in that process.
    """

    def entered(self: Judging) -> SandboxClient:
        with shared_book(self.assignment) as book:
            waiting = WAITING.setdefault((ready, book), [])
        self.waiting = waiting
        while True:
            client = self.client or (waiting.pop() if waiting else started(ready, book))
            client.limits, self.client = self.limits, client
            with contextlib.suppress(LostError):
                if client.fork():
                    break
            client.end()
            self.client = None
        for cell in self.assignment.setup if not ready else ():
            answer = client.ask(functions(client), do="run", source=cell.source, within=60)
            assert "error" not in answer, answer
        return client

    def left(self: Judging) -> None:
        if self.client is not None and self.client.process.returncode is None:
            self.waiting.append(self.client)
        self.client = None

    with ONE_AT_A_TIME, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judging, "_entered", entered)
        patch.setattr(Judging, "_leave", left)
        yield


def started(ready: tuple[str, ...], book: Path) -> SandboxClient:
    client = sandbox.started(Limits(), book=book)
    for source in (IMPORTS, *ready):
        assert "error" not in client.ask(str, do="run", source=source, within=60)
    return client


class Warm:
    """A worker for files that do no harm outside of a copy: in this process, over one sandbox.

    What has the same cells as an earlier file is run only once; its notes are its own.
    """

    known: dict = {}  # noqa: RUF012

    def __init__(self, course: Course, limits: Limits, **_: object):
        self.assignment, self.limits = course.assignment(), limits
        self.released = nbformat.from_dict(edition(self.assignment))
        self.version = fingerprint(course, self.assignment)

    def __enter__(self) -> "Warm":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def grade(self, raw: bytes) -> worker.Graded:
        try:
            found = read_submission(raw, self.released)
        except UnreadableError as error:
            return worker.Graded(error=str(error))
        key = self.version, found.before, tuple(found.answers.items())
        if key not in self.known:
            try:
                with warm(tuple(cell.source for cell in self.assignment.setup)):
                    made = worker.graded(raw, self.assignment, self.released, limits=self.limits)
                    self.known[key] = made
            except LostError as error:  # to a busy machine: once more, as a worker has it
                return worker.Graded(error=str(error), ours=True)
        return replace(self.known[key], notes=found.notes)
