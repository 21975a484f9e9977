"""The tables and pages that are made of what is known, anew in each run."""

from functools import partial
from pathlib import Path

from helpers.files import write_text
from homework.intake import tables
from homework.intake.roster import Roster
from homework.release.assignment import Assignment
from homework.release.course import Course
from homework.report import feedback, moodle
from homework.report.gradebook import Gradebook, Record, standing
from homework.report.sections import section


def write(
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
    pages = {}
    for record in records:
        page = feedback.student_page(record, of, marks, section=partial(section, site=course.site))
        pages[record.student] = page
        write_text(folder / "feedback" / f"{record.student}.html", page)
    write_text(folder / "grades.csv", grades(records, of, marks, missing))
    names = [one.name or one.key for one in missing]
    write_text(folder / "summary.html", feedback.summary_page(records, of, marks, missing=names))
    if any(record.responses for record in records):
        write_text(folder / "to-mark.html", feedback.marking_page(records, of, marks))
    if roster:
        by_hand = {student for (student, _), mark in marks.items() if mark.points is not None}
        able = [r for r in records if not r.error or r.student in by_hand]
        totals = {r.student: _total(r, of, marks) for r in able}
        done = {student: total for student, total in totals.items() if total is not None}
        strangers = roster.write(folder / "grades-to-import.csv", of.name, done, of.points)
        if strangers:
            print(f"not in the roster, so not in grades-to-import.csv: {', '.join(strangers)}")
    if roster and moodle.takes_feedback(roster):
        moodle.write_feedback(folder / "feedback.zip", roster, pages)
    if old := [record.student for record in records if record.tests not in ("", version)]:
        print(f"not given this time, so still graded with the earlier tests: {', '.join(old)}")
    waiting = sum(points is None for r in records for points in standing(r, of, marks).values())
    print(_said(folder, records, missing, waiting))


def _total(record: Record, of: Assignment, marks: dict) -> float | None:
    """All points, or None while a person has to mark."""
    points = standing(record, of, marks).values()
    there = [one for one in points if one is not None]
    return sum(there) if len(there) == len(points) else None


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
    return tables.text(["student", "name", *names, "total", "of", "state", "to look at"], rows)


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
