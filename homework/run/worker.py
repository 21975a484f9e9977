"""The process in which files are read and judged: limited, and replaced when it is lost.

A judge computes with what the sandbox sent, so an answer may be made to take the judge's memory or
time. Memory has an end there that raises an error, before the machine's; where the process is lost
all the same, it is not the grader: another one takes its place, which does not judge that answer
again.
"""

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from homework.intake.archive import UnreadableError
from homework.intake.names import Names
from homework.intake.repair import read_submission
from homework.release.assignment import Assignment
from homework.release.course import Course
from homework.release.edition import edition
from homework.run import sandbox
from homework.run.judging import Result, judge
from homework.run.sandbox import Limits
from homework.run.withheld import borrowed

MEMORY = 2**30  # bytes that a judge may take beyond what it has loaded; the machine may have few
LAST_BUT = "500"  # of 1000, of all that a machine without memory ends: after students' code
GRACE = 30.0  # seconds beyond those of the limits, for what the judge itself computes
MOST_ALIKE = 3  # editions; of a right guess among many others nothing is said
MOST_LOST = 3  # workers that one file may cost
MOST_RESPONSE = 20_000  # characters of a cell that are kept, and shown
FAILED = "the grader could not grade this file"
TOO_MUCH = "the file could not be read: it takes too much memory or time"
JUDGE_LOST = "the process that judged it was ended"


@dataclass(frozen=True)
class Graded:
    """What came of a file: an error, or results, notes, looks for the teacher, the student's cells
    before the first task and of each, and free responses by task.

    ours: whether the error is a fault of the grader's, not of the file's. numbers: the name
    by which own numbers were drawn, or "".
    """

    error: str = ""
    ours: bool = False
    results: tuple[Result, ...] = ()
    notes: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    responses: tuple[tuple[str, str], ...] = ()
    numbers: str = ""


def graded(
    raw: bytes,
    assignment: Assignment,
    released,
    *,
    student: str = "",
    names: Names | None = None,
    **options: Any,
) -> Graded:
    """Read what a student submitted and judge it; options as `judge` has them."""
    try:
        found = read_submission(raw, released)
    except UnreadableError as error:
        return Graded(error=str(error))
    names = names or Names({})
    who, notes = names.whose(found.student, student) if assignment.course else ("", ())
    options |= {"student": who, "others": names.others(student)}
    results = judge(assignment, found.answers, before=found.before, **options)
    free = {task.name for task in assignment.tasks if task.free}
    shown = {task: tuple(map(_cut, cells)) for task, cells in found.answers.items()}
    return Graded(
        results=tuple(results),
        notes=(*found.notes, *notes),
        looks=(*_alike(results), *borrowed(assignment, found.answers)),
        before=tuple(map(_cut, found.before)),
        answers=tuple((task, cells) for task, cells in shown.items() if task not in free),
        responses=tuple((n, "\n\n".join(shown[n])) for n in shown.keys() & free),
        numbers=who,
    )


def _alike(results: list[Result]) -> Iterator[str]:
    """Whose values wrong answers have, where most of them have the same ones and not by chance."""
    tasks: dict[str, list[str]] = {}
    for result in results:
        for whose in result.fits:
            tasks.setdefault(whose, []).append(result.task)
    most = max(map(len, tasks.values()), default=0)
    alike = [whose for whose, found in tasks.items() if len(found) == most]
    if len(alike) <= MOST_ALIKE:
        for whose in alike:
            verb = "has" if most == 1 else "have"
            yield f"{', '.join(tasks[whose])} {verb} the values of {whose}'s edition"


def _cut(text: str) -> str:
    """What is kept of a cell, and how much there was."""
    more = len(text) - MOST_RESPONSE
    return text if more <= 0 else f"{text[:MOST_RESPONSE]} … ({more} more characters)"


class Worker:
    """Grades files, one at a time, in a process of its own; a context that ends it when left."""

    def __init__(
        self, course: Course, limits: Limits, *, number: int = 0, alone: bool = True, **how: object
    ):
        """alone: whether no other is at work, so that what is lost was lost to its own file.

        number: another for each that is at work. how: as for `judge`, its processes' files, and
        whether they are unsafe.
        """
        self.course, self.limits, self.alone = course, limits, alone
        self.how = {"number": number, **how}
        self.process: BaseProcess | None = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def grade(self, raw: bytes, student: str = "") -> Graded:
        """What comes of a student's file. Raises: RuntimeError where its process cannot start."""
        skip: list[str] = []
        while True:
            if self.process is None:
                self._start()
            killed = sandbox.memory_kills()
            try:
                return self._answer(raw, skip, student)
            except _Lost as lost:
                self._end()
                if not self.alone or sandbox.memory_kills() > killed:
                    return Graded(error=f"{FAILED} ({JUDGE_LOST})", ours=True)
                if not lost.at or lost.at in skip or len(skip) + 1 >= MOST_LOST:
                    return Graded(error=TOO_MUCH)
                skip.append(lost.at)

    def _start(self) -> None:
        context = _context()
        self.pipe, other = context.Pipe()
        arguments = (other, self.course, self.limits, self.how)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        process.start()
        self.process = process
        other.close()
        try:
            kind, said = self._next("", 300.0)
        except _Lost:
            kind, said = "failed", "its process ended"
        if kind != "ready":
            self._end()
            raise RuntimeError(f"the grader's process does not start: {said}")

    def _answer(self, raw: bytes, skip: list[str], student: str) -> Graded:
        at, longest = "", self.limits.given + self.limits.task
        with contextlib.suppress(OSError):  # it is lost; the next line says so
            self.pipe.send((raw, skip, student))
        while True:
            kind, content = self._next(at, longest * sandbox.MOST_WALL + GRACE)
            if kind != "judging":
                return content
            at = content

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

    def progress(what: str) -> None:
        pipe.send(("judging", what))

    try:
        assignment = course.assignment()
        released = edition(assignment)
        _limit()
    except Exception as error:
        pipe.send(("failed", f"{type(error).__name__}: {error}"))
        return
    pipe.send(("ready", None))
    while True:
        try:
            raw, skip, student = pipe.recv()
        except EOFError:
            return
        try:
            options = {"limits": limits, "progress": progress, "skip": skip, **how}
            result = graded(raw, assignment, released, student=student, **options)
            pipe.send(("done", result))
        except MemoryError:
            pipe.send(("done", Graded(error=TOO_MUCH)))
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:200]}"
            pipe.send(("done", Graded(error=f"{FAILED} ({said})", ours=True)))


def _limit() -> None:
    """Bound this process's memory, where the system knows how.

    Counted is what can be written and is its own, for what is only reserved costs nothing.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    with contextlib.suppress(ValueError, OSError, StopIteration):
        Path("/proc/self/oom_score_adj").write_text(LAST_BUT, encoding="utf-8")
        lines = map(str.split, Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
        most = MEMORY + 1024 * next(int(line[1]) for line in lines if line[0] == "VmData:")
        _, highest = resource.getrlimit(resource.RLIMIT_DATA)  # kept: a sandbox sets its own
        resource.setrlimit(resource.RLIMIT_DATA, (most, highest))
