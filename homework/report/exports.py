"""The tables and pages that are made of what is known, anew in each run."""

import io
import zipfile
from functools import partial
from pathlib import Path

from helpers.files import write_bytes, write_text
from homework.intake import tables
from homework.intake.filenames import parse_owner
from homework.intake.roster import Roster
from homework.release.assignment import Assignment
from homework.release.course import Course
from homework.release.sections import section
from homework.report import feedback
from homework.report.gradebook import EARLIER, Gradebook, Record, points_by_task
from homework.report.marking import marking_page


def write(
    book: Gradebook, course: Course, assignment: Assignment, version: str, roster: Roster | None
) -> None:
    """Write tables and pages from what is known, and say where they are."""
    records = book.records()
    marks = book.update_marks(records, assignment)
    known = {record.student for record in records}
    for (student, task), mark in sorted(marks.items()):
        if mark.points is None and mark.automatic and mark.remark.startswith(EARLIER[:20]):
            print(f"{student}, {task}: the answer has changed since you marked it; tests count")
    for student, task in sorted(marks):
        if student not in known or task not in {one.name for one in assignment.tasks}:
            print(f"marks.csv: {student}, {task} fits no hand-in; this line counts for nothing")
    missing = [one for one in roster.students if one.key not in known] if roster else []
    folder = book.folder
    pages = _pages(folder, course, records, assignment, marks)
    canvas_zip(folder / "feedback.zip", records, pages)
    look = feedback.to_look_at(records)
    write_text(folder / "grades.csv", grades(records, assignment, marks, missing, look, version))
    names = [one.name or one.key for one in missing] if roster else None
    summary = feedback.summary_page(records, assignment, marks, missing=names)
    write_text(folder / "summary.html", summary)
    if old := [record.student for record in records if record.tests not in ("", version)]:
        print(f"not given this time, so still graded with the earlier tests: {', '.join(old)}")
    points = [points_by_task(record, assignment, marks) for record in records if not record.ours]
    waiting = sum(one is None for found in points for one in found.values())
    print(_said(folder, records, missing, waiting, len(look)))
    if roster:
        _import(folder / "grades-to-import.csv", roster, records, assignment, marks)


def _import(
    path: Path, roster: Roster, records: list[Record], assignment: Assignment, marks: dict
) -> None:
    """Write the roster's table with the totals, and say in which column."""
    by_hand = {student for (student, _), mark in marks.items() if mark.points is not None}
    able = [r for r in records if not r.error or r.student in by_hand]
    totals = {r.student: _total(r, assignment, marks) for r in able}
    done = {student: total for student, total in totals.items() if total is not None}
    if strangers := roster.write(path, assignment.name, done, assignment.points):
        print(f"not in the roster, so not in {path.name}: {', '.join(strangers)}")
    column, header = roster.column(assignment.name), roster.table.header
    title = header[column] if column < len(header) else f"{assignment.name}, a new one"
    print(f"import: {path}   column: {title}")


def _pages(
    folder: Path, course: Course, records: list[Record], assignment: Assignment, marks: dict
) -> dict[str, str]:
    """Write the pages that show what students wrote; give those of feedback, by student."""
    reading = partial(section, site=course.site)
    pages = {}
    for record in records:
        page = feedback.student_page(record, assignment, marks, section=reading)
        pages[record.student] = page
        write_text(folder / "feedback" / f"{record.student}.html", page)
    if any(record.responses for record in records):
        write_text(folder / feedback.TO_MARK, marking_page(records, assignment, marks))
    return pages


def canvas_zip(path: Path, records: list[Record], pages: dict[str, str]) -> None:
    """Write the pages as the zip that Canvas takes back; none where Canvas named no file.

    Canvas finds the student and the submission by the two numbers in a file's name, which is that
    of the download but for its ending (app/models/assignment.rb of canvas-lms).
    """
    named = {}
    for record in records:
        top = record.file.partition("/")[0]
        who = parse_owner(top, is_file=True)
        if who and who.scheme == "canvas" and who.number:
            named[f"{Path(top).stem}.html"] = pages[record.student]
    if named:
        with zipfile.ZipFile(made := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, page in sorted(named.items()):
                zipped.writestr(name, page)
        write_bytes(path, made.getvalue())


def _total(record: Record, assignment: Assignment, marks: dict) -> float | None:
    """All points, or None while a person has to mark."""
    points = points_by_task(record, assignment, marks).values()
    there = [one for one in points if one is not None]
    return sum(there) if len(there) == len(points) else None


def grades(
    records: list[Record],
    assignment: Assignment,
    marks: dict,
    missing: list,
    look: set[str],
    version: str,
) -> str:
    """The table of grades, as CSV: an empty field waits for a person, or, in the state "not
    graded", for a run in which the grader does not fail.

    look: who stands in the summary's list of what to look at; 1 in the last column. version: of the
    tests; who was graded by others, and isn't in this download, has a state of their own.
    """
    names = [task.name for task in assignment.tasks]
    possible, rows = f"{assignment.points:g}", []
    for record in records:
        points = points_by_task(record, assignment, marks)
        waits = None in points.values()
        if record.ours:
            state = "not graded" if waits else ""
        else:
            state = "not readable" if record.error else "waits for marks" if waits else ""
            if not state and record.tests not in ("", version):
                state = "earlier tests"
        shown = ["" if points[name] is None else f"{points[name]:g}" for name in names]
        total = "" if state == "not graded" else f"{sum(filter(None, points.values())):g}"
        is_listed = int(record.student in look)
        late = int(record.late)
        rows.append([record.student, record.name, *shown, total, possible, state, late, is_listed])
    for one in missing:
        empty = [""] * len(names)
        rows.append([one.key, one.name, *empty, "", possible, "not handed in", 0, 0])
    head = ["student", "name", *names, "total", "of", "state", "late", "to look at"]
    return tables.text(head, rows)


def _said(folder: Path, records: list[Record], missing: list, waiting: int, look: int) -> str:
    ours = sum(record.ours for record in records)
    errors = sum(bool(record.error) for record in records) - ours
    lines = [f"{len(records)} handed in, {errors} of them not readable, {look} to look at"]
    if ours:
        lines[0] += f", {ours} not graded for a cause of ours"
    if missing:
        lines[0] += f", {len(missing)} of the roster not handed in"
    if waiting:
        lines.append(
            f"{waiting} free responses wait for a person: {folder}/to-mark.html, marks.csv"
        )
    lines.append(f"grades: {folder}/grades.csv   summary: {folder}/summary.html")
    lines.append(f"feedback: {folder}/feedback")
    return "\n".join(lines)
