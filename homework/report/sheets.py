"""The tables and pages that are made of what is known, anew in each run."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from helpers.files import write_text
from homework.intake import tables
from homework.intake.roster import Roster
from homework.release.assignment import Assignment
from homework.release.course import Course
from homework.release.sections import section
from homework.report import feedback, moodle, works
from homework.report.gradebook import Gradebook, Record, standing
from homework.report.late import Late, lateness
from homework.report.marking import marking_page
from homework.report.prose import Prose
from homework.report.similar import groups


def write(
    book: Gradebook, course: Course, assignment: Assignment, version: str, roster: Roster | None
) -> None:
    """Write tables and pages from what is known, and say where they are."""
    records = book.records()
    gone = ", ".join(f"{one.student} {one.task} ({one.points:g})" for one in book.gone())
    marks = book.update_marks(records, assignment)
    known = {record.student for record in records}
    for student, task in sorted(marks):
        if student not in known or task not in {one.name for one in assignment.tasks}:
            print(f"marks.csv: {student}, {task} fits no hand-in; this line counts for nothing")
    if gone:
        print(f"marks.csv no longer has these points of the last run: {gone}")
    if marked := [record.student for record in records if record.late]:
        print(f"late, says the platform: {', '.join(marked)}")
    missing = [one for one in roster.students if one.key not in known] if roster else []
    folder = book.folder
    late = lateness(folder.parents[1], assignment.chapter, assignment.points, records)
    pages = _pages(folder, course, records, assignment, marks, late)
    alike = groups({one.student: works.work(folder, one).answers for one in records}, assignment)
    look = feedback.to_look_at(records, assignment, marks, late, alike)
    write_text(folder / "grades.csv", grades(records, assignment, marks, missing, late, look))
    names = [one.name or one.key for one in missing] if roster else None
    summary = feedback.summary_page(
        records, assignment, marks, missing=names, late=late, alike=alike
    )
    write_text(folder / "summary.html", summary)
    if roster and moodle.takes_feedback(roster):
        moodle.write_feedback(folder / "feedback.zip", roster, pages)
    if old := [record.student for record in records if record.tests not in ("", version)]:
        print(f"not given this time, so still graded with the earlier tests: {', '.join(old)}")
    points = [standing(record, assignment, marks) for record in records if not record.ours]
    waiting = sum(one is None for found in points for one in found.values())
    if unknown := sum(one.days is None for one in late.values()):
        print(f"of {unknown} it is not known when they were handed in; nothing is taken off there")
    if alike:
        several = ", ".join(str(len(group.members)) for group in alike)
        print(f"nearly the same answers in groups of {several}: see the summary")
    print(_said(folder, records, missing, waiting, len(look)))
    if roster:
        _import(folder / "grades-to-import.csv", roster, records, assignment, marks, late)


def _import(
    path: Path,
    roster: Roster,
    records: list[Record],
    assignment: Assignment,
    marks: dict,
    late: dict[str, Late],
) -> None:
    """Write the roster's table with the totals, and say in which column."""
    by_hand = {student for (student, _), mark in marks.items() if mark.points is not None}
    able = [r for r in records if not r.error or r.student in by_hand]
    totals = {r.student: _total(r, assignment, marks, late) for r in able}
    done = {student: total for student, total in totals.items() if total is not None}
    if strangers := roster.write(path, assignment.name, done, assignment.points):
        print(f"not in the roster, so not in {path.name}: {', '.join(strangers)}")
    column, header = roster.column(assignment.name), roster.table.header
    title = header[column] if column < len(header) else f"{assignment.name}, a new one"
    print(f"import: {path}   column: {title}")


def _pages(
    folder: Path,
    course: Course,
    records: list[Record],
    assignment: Assignment,
    marks: dict,
    late: dict[str, Late],
) -> dict[str, str]:
    """Write the pages that show what students wrote; give those of feedback, by student."""
    work = partial(works.work, folder)
    prose = Prose(_texts(records, assignment))
    reading = partial(section, site=course.site)
    pages = {}
    for record in records:
        page = feedback.student_page(
            record,
            assignment,
            marks,
            section=reading,
            work=work(record),
            prose=prose,
            late=late.get(record.student, Late()),
        )
        pages[record.student] = page
        write_text(folder / "feedback" / f"{record.student}.html", page)
    if any(record.responses for record in records):
        page = marking_page(records, assignment, marks, prose=prose, work=work)
        write_text(folder / feedback.TO_MARK, page)
    return pages


def _texts(records: list[Record], assignment: Assignment) -> Iterator[str]:
    """All that the pages show as Markdown."""
    for task in assignment.tasks:
        yield from (cell.source for cell in task.cells if cell.cell_type == "markdown")
    for record in records:
        yield from record.responses.values()


def _total(
    record: Record, assignment: Assignment, marks: dict, late: dict[str, Late]
) -> float | None:
    """All points, less what being late costs, or None while a person has to mark."""
    points = standing(record, assignment, marks).values()
    there = [one for one in points if one is not None]
    lost = late.get(record.student, Late()).points
    return max(sum(there) - lost, 0.0) if len(there) == len(points) else None


def grades(
    records: list[Record],
    assignment: Assignment,
    marks: dict,
    missing: list,
    late: dict[str, Late],
    look: set[str],
) -> str:
    """The table of grades, as CSV: an empty field waits for a person, for a time, or, in the state
    "not graded", for a run in which the grader does not fail.

    Where there is a deadline it has the days late and the points taken off, which total has less.
    look: who stands in the summary's list of what to look at; 1 in the last column.
    """
    names = [task.name for task in assignment.tasks]
    about_late = ["days late", "taken off"] if late else []
    possible, rows = f"{assignment.points:g}", []
    for record in records:
        points = standing(record, assignment, marks)
        waits = None in points.values()
        if record.ours:
            state = "not graded" if waits else ""
        else:
            state = "not readable" if record.error else "waits for marks" if waits else ""
        over = late.get(record.student, Late())
        total = max(sum(filter(None, points.values())) - over.points, 0.0)
        delay = ["" if over.days is None else over.days, f"{over.points:g}"] if late else []
        shown = ["" if points[name] is None else f"{points[name]:g}" for name in names]
        who = [record.student, record.name]
        is_listed = int(record.student in look)
        sum_ = "" if state == "not graded" else f"{total:g}"
        rows.append([*who, *shown, *delay, sum_, possible, state, is_listed])
    for one in missing:
        empty = [""] * len([*names, *about_late])
        rows.append([one.key, one.name, *empty, "", possible, "not handed in", 0])
    return tables.text(
        ["student", "name", *names, *about_late, "total", "of", "state", "to look at"], rows
    )


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
