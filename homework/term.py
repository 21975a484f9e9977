"""The table of a term: each student's totals, what came late, and what is open.

    python -m homework.term [--course course]

It reads course/grading/*/grades.csv, as the last run of homework.grade wrote them, and writes
course/grading/term.csv.
"""

import sys
from pathlib import Path

from helpers.files import write_text
from homework.command import command, parser
from homework.intake import tables


@command
def main(arguments: list[str] | None = None) -> None:
    """The command; see the head of this module."""
    asked = parser("homework.term", __doc__)
    asked.add_argument("--course", type=Path, default=Path("course"), help="default: course")
    folder = asked.parse_args(arguments).course / "grading"
    sets: dict[str, dict[str, dict[str, str]]] = {}
    for path in sorted(folder.glob("*/grades.csv")):
        rows = tables.read(path, ("student", "total")).named()
        sets[path.parent.name] = {row["student"]: row for _, row in rows}
    names = {student: row["name"] for found in sets.values() for student, row in found.items()}
    if not names:
        raise ValueError(f"there is nobody in a grades.csv of the folders of {folder}")
    head = [
        f"{name} of {next(iter(found.values()))['of']}" for name, found in sets.items() if found
    ]
    table = [_row(student, names[student], sets) for student in sorted(names)]
    head = ["student", "name", *head, "total", "late", "open"]
    write_text(folder / "term.csv", tables.text(head, table))
    print(f"{len(names)} students, {len(sets)} problem sets: {folder / 'term.csv'}")


def _row(student: str, name: str, sets: dict[str, dict[str, dict[str, str]]]) -> list[str]:
    absent = {"state": "not handed in"}
    found = {number: of.get(student, absent) for number, of in sets.items() if of}
    totals = [one.get("total", "") for one in found.values()]
    late = [number for number, one in found.items() if one.get("late") == "1"]
    states = [f"{number} {one['state']}" for number, one in found.items() if one["state"]]
    total = f"{sum(float(one) for one in totals if one):g}"
    return [student, name, *totals, total, ", ".join(late), ", ".join(states)]


if __name__ == "__main__":
    sys.exit(main())
