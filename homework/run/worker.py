"""The process in which files are read and judged: limited, and replaced when it is lost.

A judge computes with what the sandbox sent, so an answer may be made to take the judge's memory or
time. Then this process is lost and not the grader: another one takes its place, which does not
judge that answer again.
"""

import contextlib
import multiprocessing
import signal
import sys
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any

from homework.intake.archive import UnreadableError
from homework.intake.repair import repaired
from homework.intake.suspicious import flags
from homework.release.assignment import Assignment
from homework.release.course import Course
from homework.release.edition import edition
from homework.run import sandbox
from homework.run.judging import Result, judge
from homework.run.sandbox import Limits

MEMORY = 6 * 2**30  # bytes of address space of a worker
PATIENCE = 30.0  # seconds beyond those of the limits, for what the judge itself computes
MOST_LOST = 3  # workers that one file may cost
MOST_RESPONSE = 20_000  # characters of a free response
FAILED = "the grader could not grade this file"
TOO_MUCH = "the file could not be read: it takes too much memory or time"


@dataclass(frozen=True)
class Graded:
    """What came of a file: an error, or results, notes, flags and free responses.

    ours: whether the error is a fault of the grader's, not of the file's.
    """

    error: str = ""
    ours: bool = False
    results: tuple[Result, ...] = ()
    notes: tuple[str, ...] = ()
    flags: tuple[dict, ...] = ()
    responses: tuple[tuple[str, str], ...] = ()


def graded(raw: bytes, of: Assignment, released, **options: object) -> Graded:
    """Read a submitted file and judge it; options as `judge` has them."""
    try:
        found = repaired(raw, released)
    except UnreadableError as error:
        return Graded(error=str(error))
    results = judge(of, found.answers, before=found.before, **options)
    free = [task.name for task in of.tasks if task.free and task.name in found.answers]
    return Graded(
        results=tuple(results),
        notes=found.notes,
        flags=tuple(vars(flag) for flag in flags(found)),
        responses=tuple((name, "\n\n".join(found.answers[name])[:MOST_RESPONSE]) for name in free),
    )


class Worker:
    """Grades files, one at a time, in a process of its own; a context that ends it when left."""

    def __init__(self, course: Course, limits: Limits, **how: object):
        """how: as for `judge`, its processes: their number, files, and whether they are unsafe."""
        self.course, self.limits, self.how = course, limits, how
        self.process: BaseProcess | None = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def grade(self, raw: bytes) -> Graded:
        """What comes of a file. Raises: RuntimeError where its process cannot start."""
        spoilt: list[str] = []
        while True:
            if self.process is None:
                self._start()
            try:
                return self._answer(raw, spoilt)
            except _Lost as lost:
                self._end()
                if not lost.at or lost.at in spoilt or len(spoilt) + 1 >= MOST_LOST:
                    return Graded(error=TOO_MUCH)
                spoilt.append(lost.at)

    def _start(self) -> None:
        context = _context()
        self.pipe, other = context.Pipe()
        told = (other, self.course, self.limits, self.how)
        self.process = context.Process(target=_serve, args=told, daemon=True)
        self.process.start()
        other.close()
        try:
            kind, said = self._next("", 300.0)
        except _Lost:
            kind, said = "failed", "its process ended"
        if kind != "ready":
            self._end()
            raise RuntimeError(f"the grader's process does not start: {said}")

    def _answer(self, raw: bytes, spoilt: list[str]) -> Graded:
        at, longest = "", self.limits.given + self.limits.task
        with contextlib.suppress(OSError):  # it is lost; the next line says so
            self.pipe.send((raw, spoilt))
        while True:
            kind, told = self._next(at, longest * sandbox.patience() + PATIENCE)
            if kind != "judging":
                return told
            at = told

    def _next(self, at: str, within: float) -> tuple[str, Any]:
        try:
            if self.pipe.poll(within):
                return self.pipe.recv()
        except (EOFError, OSError):
            pass
        raise _Lost(at)

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


class _Lost(Exception):
    """A worker's process has ended or is stuck, at a test or (empty) before the first."""

    def __init__(self, at: str):
        super().__init__(at)
        self.at = at


def _context():
    """How a process is started: on Linux as a copy of one that has loaded what it needs.

    Elsewhere what torch uses may not be copied.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", __name__])
    return context


def _serve(pipe, course: Course, limits: Limits, how: dict) -> None:
    """Grade the files that come, in the worker's process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which ends this one

    def say(what: str) -> None:
        pipe.send(("judging", what))

    try:
        of = course.assignment()
        released = edition(of)
        _limit()
    except Exception as error:
        pipe.send(("failed", f"{type(error).__name__}: {error}"))
        return
    pipe.send(("ready", None))
    while True:
        try:
            raw, spoilt = pipe.recv()
        except EOFError:
            return
        try:
            options = {"limits": limits, "say": say, "spoilt": spoilt, **how}
            told = graded(raw, of, released, **options)
            pipe.send(("done", told))
        except MemoryError:
            pipe.send(("done", Graded(error=TOO_MUCH)))
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:200]}"
            pipe.send(("done", Graded(error=f"{FAILED} ({said})", ours=True)))


def _limit() -> None:
    """Bound this process's memory, where the system knows how."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
