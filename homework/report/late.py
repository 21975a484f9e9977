"""Deadlines, and what is taken off for being late: one table for a course, course/deadlines.csv.

    assignment,student,deadline,penalty,cap
    05,,2027-10-08 23:59,10,50
    05,ada,2027-10-12 23:59,,

penalty: per cent of the points there are, for each day begun; cap: the most that is taken off, in
per cent. A line with a student, as grades.csv names them, is that student's own deadline; what it
leaves empty is as for the others. Times are of this machine's time zone unless they name another.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from homework.intake import tables
from homework.intake.tables import moment
from homework.report.gradebook import Record

COLUMNS = ("assignment", "student", "deadline", "penalty", "cap")
DAY = 86_400  # seconds
UNKNOWN = "late, says the platform; when it was handed in is not known, so nothing is taken off"


@dataclass(frozen=True)
class Late:
    """What being late costs: points, days begun (None where the time is not known), and a sentence,
    "" where it was in time or is not known to be late.
    """

    points: float = 0.0
    days: int | None = 0
    message: str = ""


@dataclass(frozen=True)
class Rule:
    """A deadline, and what a day costs and all of them at most, as shares of the points."""

    deadline: datetime
    penalty: float
    cap: float

    def late(self, record: Record, most: float) -> Late:
        """What is taken off of the points there are."""
        time = moment(record.time)
        if time is None:
            return Late(0.0, None, UNKNOWN if record.late else "")
        over = (time - self.deadline).total_seconds()
        if over <= 0:
            return Late()
        days = math.ceil(over / DAY)
        lost = min(days * self.penalty, self.cap)
        return Late(
            round(most * lost, 2),
            days,
            f"handed in on {time:%Y-%m-%d %H:%M}, {days} day{'s' if days > 1 else ''} late (the "
            f"deadline was {self.deadline:%Y-%m-%d %H:%M}): {100 * lost:g} % of {most:g} points "
            "taken off",
        )


def lateness(
    folder: Path, assignment: str, most: float, records: Iterable[Record]
) -> dict[str, Late]:
    """By student, what being late costs; nothing where the table has no deadline for an assignment.

    Raises: ValueError that names the line which cannot be read.
    """
    rules = _rules(folder / "deadlines.csv", assignment)
    known = {record.student: record for record in records}
    for student in sorted(set(rules) - {"", *known}):
        print(f"deadlines.csv: {student} has handed in nothing; this line counts for nothing yet")
    found = {student: rules.get(student, rules.get("")) for student in known}
    return {student: rule.late(known[student], most) for student, rule in found.items() if rule}


def _rules(path: Path, assignment: str) -> dict[str, Rule]:
    """The deadlines of an assignment by student, the usual one under ""."""
    if not path.exists():
        return {}
    table = tables.read(path, COLUMNS, "cp1252")  # as Excel saves on Windows
    if missing := {"assignment", "deadline", "penalty"} - set(tables.folded(table.header)):
        raise ValueError(
            f"{path} has no column {', '.join(sorted(missing))}; its first line is "
            f"{','.join(COLUMNS)}"
        )
    rows = [
        (line, {name: cell.strip() for name, cell in row.items()})
        for line, row in table.named()
        if row["assignment"].strip().zfill(2) == assignment
    ]
    rules: dict[str, Rule] = {}
    for line, row in sorted(rows, key=lambda one: bool(one[1].get("student"))):
        student = row.get("student", "")
        if student in rules:
            raise ValueError(f"{path}, line {line}: {student or assignment} has two deadlines")
        rules[student] = _rule(row, rules.get(""), f"{path}, line {line}")
    return rules


def _rule(row: dict[str, str], usual: Rule | None, where: str) -> Rule:
    written = row["deadline"]
    deadline = moment(written if len(written) != len("2027-10-08") else f"{written} 23:59:59")
    if not written and usual:
        deadline = usual.deadline
    if deadline is None:
        raise ValueError(f"{where}: deadline must be such as 2027-10-08 23:59, got {written!r}")
    penalty = _share(row, "penalty", usual.penalty if usual else None, where)
    return Rule(deadline, penalty, _share(row, "cap", usual.cap if usual else 1.0, where))


def _share(row: dict[str, str], name: str, otherwise: float | None, where: str) -> float:
    text = row.get(name, "").removesuffix("%").strip().replace(",", ".")
    if not text and otherwise is not None:
        return otherwise
    try:
        share = float(text) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"{where}: {name} must be per cent, from 0 to 100, got {row.get(name)!r}")
    return share
