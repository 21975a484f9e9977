"""Who is in the course, as platforms export it, and the marks in the form they import.

    read(path)                            a roster from a CSV export
    roster.match(id)                      the student with the platform's number, or None
    roster.find(text)                     the student whom a folder's name names, or None
    roster.agrees(title, possible)        whether it can be written; raises ValueError if not
    roster.write(path, title, marks, possible)  the same table with an assignment's column

The forms are told apart by their columns:
- Canvas, "Export Entire Gradebook" (lib/gradebook_exporter.rb of canvas-lms): Student, ID, SIS User
  ID, SIS Login ID, Section, then assignments as "title (number)"; a row "    Points Possible".
- Moodle, "Download grading worksheet" (mod/assign/gradingtable.php of moodle): Identifier
  ("Participant 1234"; the number is the one in the names of the files), Full name, Email address,
  Status, Grade, Maximum Grade, Last modified (submission), …; in German with the words of Moodle's
  language pack (de/assign.php, de/assignfeedback_comments.php).
- Any other table with a column of logins (username, ID number), which comes back with the marks.
"""

import csv
import hashlib
import io
import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from helpers.files import write_text
from homework.intake import tables
from homework.intake.filenames import letters
from homework.intake.names import Names
from homework.intake.tables import folded, harmless

CANVAS, WORKSHEET, OTHER = "Canvas gradebook", "Moodle grading worksheet", "table of students"
COLUMNS = {  # what others call a column, and what it is called here
    "vollständiger name": "full name",
    "e-mail-adresse": "email address",
    "bewertung": "grade",
    "bestwertung": "maximum grade",
    "feedback als kommentar": "feedback comments",
    "student id": "id number",
    "name": "full name",
}
NUMBERED = re.compile(r"\s*\(\d+\)$")  # what Canvas writes after an assignment's title
LATE = re.compile(r"\d.* (?:late|später)(?: - |$)")  # in the status of Moodle's worksheet
LONGEST_KEY = 64  # characters
IDENTIFYING = (  # by which Canvas knows a student
    "student",
    "lastname",
    "firstname",
    "id",
    "sis user id",
    "sis login id",
    "integration id",
    "root account",
    "section",
)
LOGINS = (  # the first that is filled in is the student's key
    "sis login id",
    "username",
    "email address",
    "sis user id",
    "id number",
    "id",
)
MOODLES = ("identifier", "grade", "maximum grade", "feedback comments")
READ_BACK = (*MOODLES, *IDENTIFYING[3:], *LOGINS)
ASKED = "the gradebook that your platform exports, or Moodle's grading worksheet"


@dataclass(frozen=True)
class Student:
    """A row of the roster: a key that is unique and a safe file name, the name shown, the
    platform's number for the student, other names to the platform, and whether it calls the
    student's submission late.
    """

    key: str
    name: str
    id: str
    logins: tuple[str, ...]
    row: int
    late: bool


@dataclass(frozen=True)
class Roster:
    """A table of students: its form, its cells as they came, and how they were written."""

    kind: str
    table: tables.Table
    students: tuple[Student, ...]

    def match(self, id: str) -> Student | None:
        """The one student with this number."""
        return self._known.get(f"#{id}")

    def is_exactly(self, id: str, name: str) -> bool:
        """Whether the student with this number has this name, in letters and digits."""
        known = self.match(id)
        return known is not None and letters(known.name) == letters(name)

    def find(self, text: str) -> Student | None:
        """The one student whom a text names by key, number, login or name."""
        forms = (f"#{text}", f"@{text.casefold()}", _plain(text))
        found = {self._known[form] for form in forms if form in self._known}
        return found.pop() if len(found) == 1 else None

    def names(self) -> Names:
        """All that students may fill in, also with the last name last."""
        forms = [(form.lstrip("#@"), one.key) for form, one in self._known.items() if one]
        turned = [(" ".join(one.name.split(",")[::-1]), one.key) for one in self.students]
        return Names.of([*forms, *turned], complete=True)

    @cached_property
    def _known(self) -> dict[str, Student | None]:
        """The student of each number, login and name; None where there are several."""
        known: dict[str, Student | None] = {}
        for student in self.students:
            logins = {text.casefold() for text in (student.key, *student.logins)}
            logins |= {login.partition("@")[0] for login in logins}
            forms = {f"#{student.id}", _plain(student.name), *(f"@{login}" for login in logins)}
            for form in forms - {"#", ""}:
                known[form] = None if form in known else student
        return known

    # -------------------------------------------------------------- writing

    def write(
        self, path: Path, title: str, marks: dict[str, float], possible: float
    ) -> tuple[str, ...]:
        """Write the table with an assignment's marks, ready to import; give the keys without a row.

        title: of the assignment's column, without Canvas's number. marks: points by key; a student
        without one keeps the cell as it is, mostly empty. possible: points there are. Raises:
        ValueError where it does not agree (see `agrees`).
        """
        self.agrees(title, possible)
        column, names = self.column(title), _names(self.table.header)
        header = [*self.table.header, *([title] if column == len(names) else [])]
        rows = []
        for row in self.table.rows:
            cells = [c if n in READ_BACK else harmless(c) for n, c in zip(names, row, strict=True)]
            rows.append(cells + [""] * (len(header) - len(cells)))
        for student in self.students:
            if student.key in marks:
                rows[student.row][column] = points(marks[student.key])
        if self.kind == CANVAS:  # which needs these columns and a row of what there is
            kept = [*(at for at, name in enumerate(names) if name in IDENTIFYING), column]
            first = ["    Points Possible", *[""] * len(kept)][: len(kept) - 1]
            rows = [[rows[s.row][at] for at in kept] for s in self.students]
            header, rows = [header[at] for at in kept], [[*first, points(possible)], *rows]
        csv.writer(out := io.StringIO(), delimiter=self.table.delimiter).writerows([header, *rows])
        write_text(path, self.table.mark + out.getvalue())
        return tuple(sorted(set(marks) - {student.key for student in self.students}))

    def agrees(self, title: str, possible: float) -> None:
        """Raise the ValueError that `write` would raise for any marks of this assignment: where the
        title names several columns, or the platform counts another number of points as all.
        """
        names, column, rows = _names(self.table.header), self.column(title), self.table.rows
        maxima = set()
        if self.kind == WORKSHEET and "maximum grade" in names:
            maxima = {row[names.index("maximum grade")] for row in rows}
        elif self.kind == CANVAS and column < len(names):
            maxima = {row[column] for row in rows if row[0].strip() == "Points Possible"}
        for most in maxima:
            if not re.fullmatch(r"\s*\d+([.,]\d*)?\s*", most):
                continue
            if not math.isclose(float(most.replace(",", ".")), possible, abs_tol=0.01):
                wanted = points(possible)
                raise ValueError(
                    f"the {self.kind} has {most.strip()} points for this assignment, the marks are "
                    f"of {wanted}: give it {wanted} points on the platform and export again"
                )

    def column(self, title: str) -> int:
        """Where the marks go: a column of that title, else one after the last."""
        wanted = "grade" if self.kind == WORKSHEET else title.casefold()
        names = [NUMBERED.sub("", name) for name in _names(self.table.header)]
        if names.count(wanted) > 1:
            raise ValueError(
                f"several columns of the {self.kind} are called {title!r}: delete all but one"
            )
        return names.index(wanted) if wanted in names else len(names)


# ---------------------------------------------------------------- reading


def read(path: Path) -> Roster:
    """The roster in a CSV export. Raises: ValueError where there is none, or it is no roster."""
    try:
        table = tables.read(path, {*MOODLES, *IDENTIFYING, *COLUMNS})
    except ValueError as error:
        raise ValueError(f"{error}; a roster is {ASKED}") from error
    columns = _names(table.header)
    names = set(columns)
    if "id" in names and names & {"student", "lastname"} and names & {"section", "sis login id"}:
        kind = CANVAS
    elif {"identifier", "grade"} <= names:
        kind = WORKSHEET
    elif names & {"username", "id number"}:
        kind = OTHER
    else:
        raise ValueError(f"{path} has the columns {[*table.header][:20]}; a roster is {ASKED}")
    taken: set[str] = set()
    rows = [
        (at, dict(zip(columns, row, strict=True)))
        for at, row in enumerate(table.rows)
        if kind != CANVAS or not _is_nobody(table.rows[at])
    ]
    return Roster(kind, table, tuple(_student(kind, at, cells, taken) for at, cells in rows))


def _names(header: tuple[str, ...]) -> list[str]:
    """The names of the columns, as they are called here."""
    names = [COLUMNS.get(name, name) for name in folded(header)]
    is_german = "bestwertung" in folded(header)  # where the identifier is called ID
    return ["identifier" if name == "id" and is_german else name for name in names]


def _is_nobody(row: tuple[str, ...]) -> bool:
    """One of Canvas's rows on the points there are, on hidden marks, or of its test student."""
    said = [cell.strip() for cell in row if cell.strip()]
    return row[0].strip() in ("Points Possible", "Student, Test") or all(
        c.startswith("Manual Posting") for c in said
    )


def _student(kind: str, row: int, cells: dict[str, str], taken: set[str]) -> Student:
    filled = {name: cell.strip().lstrip("#") for name, cell in cells.items() if cell.strip()}
    name = filled.get("student", filled.get("full name", ""))
    if "lastname" in filled:  # as Canvas has it on demand
        name = ", ".join(filter(None, [filled["lastname"], filled.get("firstname")]))
    number = re.search(r"\d*$", filled.get("id" if kind == CANVAS else "identifier", ""))
    id = number[0] if number else ""
    logins = tuple(filled[name] for name in LOGINS if name in filled)
    key = unique(safe([*logins, id or name or "student"][0]), taken)
    is_late = kind == WORKSHEET and LATE.search(filled.get("status", "")) is not None
    return Student(key, name, id, logins, row, is_late)


# ---------------------------------------------------------------- names


def _plain(text: str) -> str:
    """Without case, accents and needless space."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return " ".join(re.sub("[\u0300-\u036f]", "", text).split())


def safe(text: str) -> str:
    """A file name of ASCII letters, digits, ".", "_" and "-" for a text; of what it cannot show, or
    shows too briefly, it ends in a number that differs from text to text.
    """
    plain = _plain(text)
    key = re.sub(r"[^a-z0-9._-]+", "-", plain.replace("@", "_")).strip("._-")
    lost = any(c.isalnum() and not c.isascii() for c in plain)
    if lost or not key or len(key) > LONGEST_KEY:
        key = f"{key[: LONGEST_KEY - 9] or 'student'}-{digest(text)}".lstrip("-")
    return key


def digest(text: str | bytes) -> str:
    """Eight hexadecimal digits that differ from text to text."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:8]


def unique(key: str, taken: set[str]) -> str:
    """The key, with a number after it where it is taken; it is taken from then on."""
    tried, number = key, 1
    while tried in taken:
        number += 1
        tried = f"{key}-{number}"
    taken.add(tried)
    return tried


def points(mark: float) -> str:
    """A number without an exponent and without needless zeros, to five places, as Moodle keeps."""
    return f"{round(mark, 5) + 0.0:.5f}".rstrip("0").rstrip(".")
