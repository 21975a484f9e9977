"""Grade what was handed in, on this machine, safely.

    python -m homework.grade FOLDER_OR_ZIP --assignment 05 [--course course] [--roster FILE.csv]

FOLDER_OR_ZIP is the zip that your platform gives, or a folder with a folder for each student, as
nbgrader has it. Into course/grading/05 go grades.csv, a page of feedback for each student,
summary.html with what to look at, and, where a person has to mark, to-mark.html: the page on which
to do that, and to save marks.csv; then run the command again. Given the roster that your
platform exports, the same table with the grades comes out, to be imported.

What was graded already is not graded again unless the file, the problem set or its tests changed.
"""

import argparse
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from filelock import Timeout

from homework.command import command, parser
from homework.intake.collect import HandIn, collected
from homework.intake.names import Names
from homework.intake.repair import may_be_of_set
from homework.intake.roster import Roster
from homework.intake.roster import read as read_roster
from homework.release.course import Course, fingerprint, released
from homework.release.edition import edition
from homework.report import exports
from homework.report.gradebook import Gradebook, Record, digest
from homework.run import sandbox
from homework.run.judging import tried
from homework.run.sandbox import Limits, SandboxError
from homework.run.withheld import book_for
from homework.run.worker import Worker

UNSAFE = (
    "{}. Without a sandbox, students' code would run with your own rights and could read, change "
    "and send whatever you can. On macOS and Windows, use the container or WSL2 (see the "
    "page Homework in detail). To grade without a sandbox all the same, add --without-sandbox"
)
STAYS = "a later try to grade failed for a cause of ours; the grade is that of before"


@command
def main(arguments: list[str] | None = None, limits: Limits | None = None) -> None:
    """The command; see the head of this module."""
    options = _options(arguments)
    course = released(options.course, options.assignment)
    assignment = course.assignment()
    if edition(assignment).metadata["homework"]["edition"] != course.edition:
        print("note: the problem set has changed since it was released; graded as it is now")
    kept = [options.course, *([Path(course.private)] if course.private else [])]
    for folder in kept:
        if folder.resolve().is_relative_to(options.source.resolve()):
            raise ValueError(f"{options.source} holds {folder}: name the folder of hand-ins alone")
    _checked(options, sandbox.check, options.source, *kept)
    roster = read_roster(options.roster) if options.roster else None
    if roster:
        roster.agrees(assignment.name, assignment.points)
    book = Gradebook(options.course / "grading" / options.assignment)
    with _alone(book), book_for(assignment) as code:
        version = fingerprint(course, assignment)
        if version not in (course.tests, book.tried):
            _checked(options, sandbox.check_python)
            print(f"the tests have changed since the release: {tried(assignment)}", flush=True)
            book.tried = version
        grade_all(book, course, version, options, roster, limits or Limits(), code)
        exports.write(book, course, assignment, version, roster)


def _checked(options: argparse.Namespace, check: Callable, *paths: Path) -> Any:
    """What a check of the sandbox gives, None if there is to be none. Raises: SandboxError."""
    try:
        return None if options.without_sandbox else check(*paths)
    except SandboxError as error:
        raise SandboxError(UNSAFE.format(error)) from error


def _options(arguments: list[str] | None) -> argparse.Namespace:
    asked = parser("homework.grade", __doc__)
    asked.add_argument("source", type=Path, help="a folder or a zip of submissions")
    asked.add_argument("--assignment", required=True, help="two digits, such as 05")
    asked.add_argument("--course", type=Path, default=Path("course"), help="default: course")
    asked.add_argument("--roster", type=Path, help="a CSV that your platform exports")
    asked.add_argument(
        "--workers",
        type=int,
        default=min(4, os.cpu_count() or 1),
        help="submissions graded at a time (default: %(default)s)",
    )
    asked.add_argument(
        "--part", type=_part, default=slice(None), help="3/8 grades every eighth, from the third on"
    )
    asked.add_argument("--again", action="store_true", help="grade all of them again")
    asked.add_argument(
        "--without-sandbox", action="store_true", help="run students' code with your own rights"
    )
    options = asked.parse_args(arguments)
    if options.workers < 1:
        asked.error(f"--workers must be 1 or more, got {options.workers}")
    return options


def _part(text: str) -> slice:
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"a part is such as 3/8, got {text!r}")
    return slice(int(number) - 1, None, int(of))


@contextmanager
def _alone(book: Gradebook) -> Iterator[None]:
    """The gradebook's lock; says so where another grader is at work."""
    try:
        lock = book.lock(0).acquire()
    except Timeout:
        print("another grader is at work in this folder; waiting for it", flush=True)
        lock = book.lock().acquire()
    with lock:
        yield


# ---------------------------------------------------------------- grading


def grade_all(
    book: Gradebook,
    course: Course,
    version: str,
    options: argparse.Namespace,
    roster: Roster | None,
    limits: Limits,
    code: Path,
) -> None:
    """Grade what is new or changed, and keep each result as soon as it is there.

    version: the fingerprint of the problem set and its tests. code: as `book_for` gives it.
    """
    assignment = course.assignment()
    answers = [task.answer for task in assignment.tasks]
    is_wanted = partial(may_be_of_set, chapter=assignment.chapter, answers=answers)
    handed = collected(options.source, roster, options.assignment, is_wanted)[options.part]
    if not handed:
        raise ValueError(f"there is nothing to grade in {options.source}")
    names = (
        roster.names()
        if roster
        else Names.of((text, h.student) for h in handed for text in (h.student, h.name))
    )
    queue, lock = _open(book, handed, version, options.again), threading.Lock()
    failures: list = []
    lost: list = []
    how: dict = {"unsafe": options.without_sandbox, "book": code, "names": names}
    if (first := next(queue, None)) is not None:
        how["files"] = _checked(options, sandbox.check_python)  # longer, so only where it matters
        queue = chain([first], queue)

    def keep(record: Record) -> None:
        book.put(replace(record, tests=version))

    def work(number: int) -> None:
        with Worker(course, limits, number=number, alone=options.workers == 1, **how) as worker:
            while not failures:
                try:
                    with lock:
                        item = next(queue, None)
                    if item is None:
                        return
                    record = graded(worker, *item)
                    if record.ours:
                        lost.append(item)
                    else:
                        keep(record)
                except Exception as error:
                    failures.append(error)

    numbers = range(options.workers)
    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in numbers]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.1)  # where Ctrl-C is noticed
    if failures:
        raise RuntimeError(f"the grader failed and stopped: {failures[0]}") from failures[0]
    if lost:
        with Worker(course, limits, last=True, **how) as worker:
            _grade_alone(book, worker, lost, keep)


def _grade_alone(
    book: Gradebook, worker: Worker, lost: list, keep: Callable[[Record], None]
) -> None:
    """Grade those again of whom a fault of ours, or of the machine, kept the grade.

    A grade that was there stays, with a note. Raises: RuntimeError where nobody has any; then
    nothing is stored.
    """
    ours = []
    for at, item in enumerate(lost, start=1):
        print(f"[again, alone: {at}/{len(lost)}] {item[0].student}", flush=True)
        record = graded(worker, *item)
        if record.ours:
            ours.append(record)
        else:
            keep(record)
    if ours and not any(known.results for known in book.records()):
        raise RuntimeError(f"no hand-in could be graded, for a cause of ours: {ours[0].error}")
    for record in ours:
        known = book.get(record.student)
        if known is not None and known.results:
            print(f"{record.student}: {record.error}; the grade of {known.file} stays")
            book.put(replace(known, notes=tuple(dict.fromkeys([*known.notes, STAYS]))))
        else:
            keep(record)


def _open(
    book: Gradebook, handed: list[HandIn], version: str, again: bool
) -> Iterator[tuple[HandIn, bytes | None, str]]:
    """What has to be graded: the file, its bytes and the key of its result."""
    for at, one in enumerate(handed, start=1):
        one, raw = _read(one)
        key = hashlib.sha256(f"{version}/{one.error}/".encode() + (raw or b"")).hexdigest()[:20]
        known = book.get(one.student)
        if known is not None and known.is_later_than(one.order, digest(raw)):
            print(f"{one.student}: {known.file} was handed in after {one.file} and stays")
            continue
        if known is not None and known.key == key and not again:
            now = replace(known, name=one.name, file=one.file, order=one.order, late=one.late)
            if now != known:
                book.put(now)
            continue
        print(f"[{at}/{len(handed)}] {one.student}", flush=True)
        yield one, raw, key


def _read(one: HandIn) -> tuple[HandIn, bytes | None]:
    """The file's bytes, or None and why there are none."""
    if one.error:
        return one, None
    try:
        return one, one.read()
    except (ValueError, OSError) as error:
        return replace(one, error=str(error)), None


def graded(worker: Worker, one: HandIn, raw: bytes | None, key: str) -> Record:
    """What comes of a file."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    record = Record(one.student, one.name, one.file, key, one.error, tuple(one.notes), when=now)
    record = replace(record, order=one.order, late=one.late)
    if raw is None:
        return record
    found = worker.grade(raw, one.student)
    return replace(
        record,
        key="" if found.ours else key,
        ours=found.ours,  # the next run tries ours again
        error=found.error,
        notes=record.notes + found.notes,
        looks=found.looks,
        results=found.results,
        numbers=found.numbers,
        before=found.before,
        answers=dict(found.answers),
        responses=dict(found.responses),
        seen=(digest(raw),),
    )


if __name__ == "__main__":
    sys.exit(main())
