"""Grade what was handed in, on this machine, safely.

    python -m homework.grade FOLDER_OR_ZIP --assignment 05 [--course course] [--roster FILE.csv]

FOLDER_OR_ZIP is what a learning platform gives (Canvas, Moodle, Google Classroom, nbgrader) or any
folder of notebooks. Into course/grading/05 go grades.csv, a page of feedback for each student,
summary.html with what to look at, and, where a person has to mark, to-mark.html and marks.csv: fill
in points there and run the command again. Given the roster that Canvas or Moodle exports, the same
table with the grades comes out, to be imported.

What was graded already is not graded again unless the file, the problem set or its tests changed.
"""

import argparse
import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from filelock import Timeout

from homework import feedback, moodle, sandbox
from homework.assignment import Assignment, chapter_file
from homework.collect import Handed, collected
from homework.files import write
from homework.gradebook import Gradebook, Record, csv_text, standing
from homework.judge import Judge
from homework.release import Course, edition, fingerprint, tried
from homework.roster import Roster
from homework.roster import read as read_roster
from homework.sandbox import Limits, SandboxError
from homework.sections import section

UNSAFE = (
    "students' code would run with your own rights, without a sandbox: it could read, change and "
    "send what you can. {}. On macOS and Windows use the container or WSL2 (see the page For "
    "teachers); with --without-sandbox it runs all the same"
)


def main(arguments: list[str] | None = None, limits: Limits | None = None) -> int:
    """The command; see the head of this module."""
    told = _told(arguments)
    try:
        course = _course(told.course, told.assignment)
        of = course.assignment()
        for kept in (told.course, *([Path(course.private)] if course.private else [])):
            if kept.resolve().is_relative_to(told.source.resolve()):
                raise ValueError(f"{told.source} holds {kept}: name the folder of hand-ins alone")
        if not told.without_sandbox:
            sandbox.check(
                told.source, told.course, *([Path(course.private)] if course.private else [])
            )
        roster = read_roster(told.roster) if told.roster else None
        if roster:
            roster.agrees(_title(of), of.points)
        book = Gradebook(told.course / "grading" / told.assignment)
        with _Alone(book):
            version = fingerprint(course, of)
            if version not in (course.tests, book.tried):
                print(f"the tests have changed since the release: {tried(of)}", flush=True)
                book.tried = version
            grade_all(book, course, version, told, roster, limits or Limits())
            report(book, course, of, version, roster)
        return 0
    except SandboxError as error:
        return _failed(UNSAFE.format(error))
    except (ValueError, OSError, RuntimeError) as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        return _failed("stopped; what is graded is kept, run the same command to go on")


def _told(arguments: list[str] | None) -> argparse.Namespace:
    shown = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("homework.grade", description=__doc__, formatter_class=shown)
    parser.add_argument("source", type=Path, help="a folder or a zip of submissions")
    parser.add_argument("--assignment", required=True, help="two digits, such as 05")
    parser.add_argument("--course", type=Path, default=Path("course"), help="default: course")
    parser.add_argument("--roster", type=Path, help="a CSV that Canvas or Moodle exports")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1),
                        help="submissions graded at a time (default: %(default)s)")  # fmt: skip
    parser.add_argument("--again", action="store_true", help="grade all of them again")
    parser.add_argument("--without-sandbox", action="store_true",
                        help="run students' code with your own rights")  # fmt: skip
    told = parser.parse_args(arguments)
    if told.workers < 1:
        parser.error(f"--workers must be 1 or more, got {told.workers}")
    return told


def _failed(message: str) -> int:
    print(f"homework: {message}", file=sys.stderr)
    return 2


def _course(folder: Path, chapter: str) -> Course:
    """How the assignment was released. Raises: ValueError where there is no record of it."""
    path = folder / f"{chapter}.json"
    if not path.exists():
        chapter_file(chapter)  # says so where there is no such chapter
        raise ValueError(
            f"there is no {path}, which says how the problem set was released: name the folder "
            f"of the course by --course, or release it (make homework CHAPTER={chapter} "
            f"OUT={folder}; without PRIVATE= it has the book's own tests)"
        )
    try:
        course = Course(**json.loads(path.read_text("utf-8")))
        if not all(isinstance(value, str) for value in vars(course).values()):
            raise ValueError("all that it holds should be text")
        if course.chapter != chapter:
            raise ValueError(f"it says that it is of {course.chapter}")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is no record of a release: {error}") from error
    made = edition(course.assignment()).metadata["homework"]["edition"]
    if made != course.edition:
        print(f"note: the problem set has changed since {path} was written; graded as it is now")
    return course


class _Alone:
    """The gradebook's lock; says so where another grader is at work."""

    def __init__(self, book: Gradebook):
        self.book = book

    def __enter__(self) -> None:
        try:
            self.lock = self.book.lock(0)
            self.lock.acquire()
        except Timeout:
            print("another grader is at work in this folder; waiting for it", flush=True)
            self.lock = self.book.lock()
            self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


# ---------------------------------------------------------------- grading


def grade_all(
    book: Gradebook, course: Course, version: str, told: argparse.Namespace,
    roster: Roster | None, limits: Limits,
) -> None:  # fmt: skip
    """Grade what is new or changed, and keep each result as soon as it is there.

    version: the fingerprint of the problem set and its tests.
    """
    handed = collected(told.source, roster, told.assignment)
    if not handed:
        raise ValueError(f"there is nothing to grade in {told.source}")
    queue, lock, failures = iter(_open(book, handed, version, told.again)), threading.Lock(), []

    def work(number: int) -> None:
        options = {"number": number, "unsafe": told.without_sandbox}
        with Judge(course, limits, **options) as judge:
            while not failures:
                try:
                    with lock:
                        item = next(queue, None)
                    if item is None:
                        return
                    book.put(replace(graded(judge, *item), tests=version))
                except Exception as error:
                    failures.append(error)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(told.workers)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.1)  # where Ctrl-C is noticed
    if failures:
        raise RuntimeError(f"the grader failed and stopped: {failures[0]}") from failures[0]
    _forget_doubles(book, {one.student for one in handed})


def _forget_doubles(book: Gradebook, handed: set[str]) -> None:
    """Drop what stands under another name, as a file does that was graded without a roster."""
    records = book.records()
    graded = {(record.key, record.file) for record in records if record.student in handed}
    for record in records:
        if record.student not in handed and record.key and (record.key, record.file) in graded:
            print(f"{record.student} is in the list under another name now")
            book.forget(record.student)


def _open(
    book: Gradebook, handed: list[Handed], version: str, again: bool
) -> Iterator[tuple[Handed, bytes | None, str]]:
    """What has to be graded: the file, its bytes and the key of its result."""
    for at, one in enumerate(handed, start=1):
        one, raw = _read(one)
        key = hashlib.sha256(f"{version}/{one.error}/".encode() + (raw or b"")).hexdigest()[:20]
        known = book.get(one.student)
        if known is not None and known.key == key and not again:
            if (known.name, known.file) != (one.name, one.file):
                book.put(replace(known, name=one.name, file=one.file))
            continue
        print(f"[{at}/{len(handed)}] {one.student}", flush=True)
        yield one, raw, key


def _read(one: Handed) -> tuple[Handed, bytes | None]:
    """The file's bytes, or None and why there are none."""
    if one.error:
        return one, None
    try:
        return one, one.read()
    except (ValueError, OSError) as error:
        return replace(one, error=str(error)), None


def graded(judge: Judge, one: Handed, raw: bytes | None, key: str) -> Record:
    """What comes of a file."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    record = Record(one.student, one.name, one.file, key, one.error, tuple(one.notes), when=now)
    if raw is None:
        return record
    found = judge.grade(raw)
    return replace(
        record, key="" if found.ours else key, ours=found.ours,  # the next run tries ours again
        error=found.error, notes=record.notes + found.notes, flags=found.flags,
        results=found.results, responses=dict(found.responses),
    )  # fmt: skip


# ---------------------------------------------------------------- what comes of it


def report(
    book: Gradebook, course: Course, of: Assignment, version: str, roster: Roster | None
) -> None:
    """Write tables and pages from what is known, and say where they are."""
    records = book.records()
    marks = book.update_marks(records, of)
    known = {record.student for record in records}
    for student, task in sorted(marks):
        if student not in known or task not in {one.name for one in of.tasks}:
            print(f"marks.csv: {student}, {task} fits no hand-in; this line counts for nothing")
    missing = [one for one in roster.students if one.key not in known] if roster else []
    folder = book.folder
    (folder / "feedback").mkdir(exist_ok=True)
    pages = {}
    for record in records:
        page = feedback.student_page(record, of, marks, section=partial(section, site=course.site))
        pages[record.student] = page
        write(folder / "feedback" / f"{record.student}.html", page)
    write(folder / "grades.csv", grades(records, of, marks, missing))
    names = [one.name or one.key for one in missing]
    write(folder / "summary.html", feedback.summary_page(records, of, marks, missing=names))
    if any(record.responses for record in records):
        write(folder / "to-mark.html", feedback.marking_page(records, of, marks))
    if roster:
        by_hand = {student for (student, _), mark in marks.items() if mark.points is not None}
        able = [r for r in records if not r.error or r.student in by_hand]
        done = {r.student: _total(r, of, marks) for r in able}
        done = {student: total for student, total in done.items() if total is not None}
        strangers = roster.write(folder / "grades-to-import.csv", _title(of), done, of.points)
        if strangers:
            print(f"not in the roster, so not in grades-to-import.csv: {', '.join(strangers)}")
    if roster and moodle.takes_feedback(roster):
        moodle.write_feedback(folder / "feedback.zip", roster, pages)
    if old := [record.student for record in records if record.tests not in ("", version)]:
        print(f"not given this time, so still graded with the earlier tests: {', '.join(old)}")
    waiting = sum(points is None for r in records for points in standing(r, of, marks).values())
    print(_said(folder, records, missing, waiting))


def _title(of: Assignment) -> str:
    return f"Problem set {of.chapter}"


def _total(record: Record, of: Assignment, marks: dict) -> float | None:
    """All points, or None while a person has to mark."""
    points = standing(record, of, marks).values()
    return None if None in points else sum(points)


def grades(records: list[Record], of: Assignment, marks: dict, missing: list) -> str:
    """The table of grades, as CSV: an empty field waits for a person."""
    names = [task.name for task in of.tasks]
    rows = []
    for record in records:
        points = standing(record, of, marks)
        state = (
            "not readable" if record.error else "waits for marks" if None in points.values() else ""
        )
        total = sum(filter(None, points.values()))
        look = len(record.flags) + len(record.notes) + bool(record.error)
        shown = ["" if points[name] is None else f"{points[name]:g}" for name in names]
        rows.append(
            [record.student, record.name, *shown, f"{total:g}", f"{of.points:g}", state, look]
        )
    for one in missing:
        rows.append(
            [one.key, one.name, *[""] * len(names), "", f"{of.points:g}", "not handed in", 0]
        )
    return csv_text(["student", "name", *names, "total", "of", "state", "to look at"], rows)


def _said(folder: Path, records: list[Record], missing: list, waiting: int) -> str:
    errors = sum(bool(record.error) for record in records)
    look = sum(bool(record.flags or record.notes or record.error) for record in records)
    lines = [f"{len(records)} handed in, {errors} of them not readable, {look} to look at"]
    if missing:
        lines[0] += f", {len(missing)} of the roster not handed in"
    if waiting:
        lines.append(
            f"{waiting} free responses wait for a person: {folder}/to-mark.html, marks.csv"
        )
    lines.append(f"grades: {folder}/grades.csv   summary: {folder}/summary.html")
    lines.append(f"feedback: {folder}/feedback")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
