"""Who is in the course, as Canvas or Moodle export it, and the marks in the form they import.

    read(path)                            a roster from a CSV export
    roster.match(id, login, name)         the student of these, or None
    roster.find(text)                     the student whom a free text names, or None
    roster.agrees(title, of)              whether it can be written; raises ValueError if not
    roster.write(path, title, marks, of)  the same table with an assignment's column

Three forms are told apart by their columns:
- Canvas, "Export Entire Gradebook": Student (or LastName, FirstName), ID, SIS User ID, SIS Login
  ID, Section, then assignments as "title (number)"; a row "    Points Possible", and perhaps one of
  "Manual Posting". What is read and written is in lib/gradebook_exporter.rb and
  lib/gradebook_importer.rb of github.com/instructure/canvas-lms.
- Moodle, "Download grading worksheet" of an assignment: Identifier ("Participant 1234"; the number
  is the one in the names of the files), Full name, Email address, Status, Grade, Maximum Grade, …,
  Last modified (grade), Feedback comments. See mod/assign/gradingtable.php and
  mod/assign/feedback/offline/importgradeslib.php of github.com/moodle/moodle.
- any other table with a column for students, names, logins or addresses, such as Moodle's
  participants or a teacher's own list.

Names of columns are those of the English versions.
"""

import csv
import hashlib
import io
import math
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from helpers.files import write_text
from homework.intake import tables
from homework.intake.tables import folded, harmless

CANVAS, WORKSHEET, TABLE = "Canvas gradebook", "Moodle grading worksheet", "table"
LONGEST_KEY = 64  # characters
LONGEST_FULL = 50  # characters of a name in a file's name
UNNAMED = frozenset('_/\\:*?"<>|')  # what no part of a file's name may hold
IDENTIFYING = (
    "student", "lastname", "firstname", "id", "sis user id", "sis login id", "integration id",
    "root account", "section",
)  # fmt: skip
NAMES = ("student", "full name", "fullname", "name", "student name")
FIRST = ("firstname", "first name", "given name")
LAST = ("lastname", "last name", "surname", "family name")
LOGINS = (  # the first that is filled in is the student's key
    "sis login id", "login", "login id", "username", "user name", "email", "email address",
    "e-mail", "sis user id", "id number", "student id", "student number", "integration id", "id",
)  # fmt: skip
KNOWN = frozenset({*IDENTIFYING, *NAMES, *FIRST, *LAST, *LOGINS})
READ_BACK = ("identifier", "grade", "maximum grade", "feedback comments", *IDENTIFYING[3:], *LOGINS)
ASKED = "a Canvas gradebook, a Moodle grading worksheet, or columns such as student, name, email"
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # no file names on Windows
UNDECOMPOSED = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)


@dataclass(frozen=True)
class Student:
    """A row of the roster: a key that is unique and a safe file name, the name shown, the
    platform's number for the student ("" if none) and other names to the platform.
    """

    key: str
    name: str
    id: str
    logins: tuple[str, ...]
    row: int


@dataclass(frozen=True)
class Roster:
    """A table of students: its form, its cells as they came, and how they were written."""

    kind: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    students: tuple[Student, ...]
    delimiter: str = ","
    mark: str = ""  # of byte order, where it began with one

    def match(self, id: str = "", login: str = "", name: str = "") -> Student | None:
        """The one student with this number, else with this login, else of this name.

        What fits several fits nobody; so does a number of one and a name of another, and a name of
        one whose number is another: the roster may be of another course or assignment.
        """
        named = self._only(self._named(name))
        if known := self._only(self._ids(id)):
            return None if named and named is not known else known
        if rows := self._logins(login) if login else None:
            return self._only(rows)
        return None if named and id and named.id else named

    def find(self, text: str) -> Student | None:
        """The one student whom a text names in whatever way."""
        return self._only(self._ids(text) | self._logins(text) | self._named(text))

    def write(self, path: Path, title: str, marks: dict[str, float], of: float) -> tuple[str, ...]:
        """Write the table with an assignment's marks, ready to import; give the keys without a row.

        title: of the assignment's column, with or without Canvas's number. marks: points by key; a
        student without one keeps the cell as it is, mostly empty. of: points there are. Raises:
        ValueError for marks outside 0 … of, and where it does not agree (see `agrees`).
        """
        for key, mark in marks.items():
            if not (math.isfinite(mark) and -1e-9 <= mark <= of + 1e-9):
                raise ValueError(f"{key} has {mark} points; a mark is from 0 to {of}")
        self.agrees(title, of)
        column = self._column(title)
        header = [*self.header, title] if column == len(self.header) else list(self.header)
        filled = {student.row: marks[student.key] for student in self.students
                  if student.key in marks}  # fmt: skip
        table = [header]
        for at, row in enumerate(self.rows):
            cells = [*self._guarded(row), *[""] * (len(header) - len(row))]
            cells[column] = points(filled[at]) if at in filled else cells[column]
            table.append(cells)
        write_text(path, self._text(self._canvas(table, column, of)))
        return tuple(sorted(set(marks) - {student.key for student in self.students}))

    def agrees(self, title: str, of: float) -> None:
        """Raise the ValueError that `write` would raise for any marks of this assignment.

        It does where the title names several columns, or one that says who the students are, and
        where the platform counts another number of points as all.
        """
        column = self._column(title)
        at, rows = column, [row for row in self.rows if _is_points(row)]
        if self.kind == WORKSHEET and "maximum grade" in folded(self.header):
            at, rows = folded(self.header).index("maximum grade"), list(self.rows)
        elif self.kind != CANVAS or column == len(self.header):
            return
        for most in {row[at].strip().replace(",", ".") for row in rows} - {""}:
            with suppress(ValueError):
                if not math.isclose(float(most), of, abs_tol=0.01):
                    break
        else:
            return
        raise ValueError(
            f"the {self.kind} has {most} points for this assignment, the marks are of "
            f"{points(of)}: give it {points(of)} points on the platform and export again"
        )

    def feedback_file(self, student: Student, name: str = "feedback.html") -> str:
        """The name under which Moodle takes a file of feedback for a student.

        Moodle splits it at "_" into a full name, the number that counts, "assignfeedback", "file"
        and the file's own name. Raises: ValueError where the roster has no such number.
        """
        if self.kind != WORKSHEET or not student.id:
            raise ValueError(f"the {self.kind} has no number by which Moodle knows {student.key}")
        kept = (" " if c in UNNAMED or unicodedata.category(c)[0] == "C" else c
                for c in student.name)  # fmt: skip
        full = " ".join("".join(kept).split()).lstrip(".~ ")[:LONGEST_FULL].strip()
        return f"{full or 'Participant'}_{student.id}_assignfeedback_file_{name}"

    # -------------------------------------------------------------- finding

    @cached_property
    def _known(self) -> dict[tuple[str, str], set[int]]:
        """Students, by their places in `students`, of each id, login and form of a name."""
        known: dict[tuple[str, str], set[int]] = {}
        for at, student in enumerate(self.students):
            of = [("id", student.id)] if student.id else []
            of += [("login", text.casefold()) for text in student.logins]
            of += [("login", t.casefold().partition("@")[0]) for t in student.logins if "@" in t]
            of += [("name", form) for form in orders(student.name)]
            of += [("joined", form.replace(" ", "")) for form in orders(student.name)]
            for what in of:
                known.setdefault(what, set()).add(at)
        return known

    def _ids(self, text: str) -> set[int]:
        return self._known.get(("id", text.strip()), set())

    def _logins(self, text: str) -> set[int]:
        return self._known.get(("login", text.strip().casefold()), set())

    def _named(self, text: str) -> set[int]:
        """Those whose name has the same words; of one word, those whose name it is unspaced."""
        forms = orders(text)
        kind = "joined" if all(" " not in form for form in forms) else "name"
        return set().union(*(self._known.get((kind, form), set()) for form in forms))

    def _only(self, rows: set[int]) -> Student | None:
        return self.students[next(iter(rows))] if len(rows) == 1 else None

    # -------------------------------------------------------------- writing

    def _column(self, title: str) -> int:
        """Where the marks go: a column of that title, else one after the last."""
        names = [name.strip() for name in self.header]
        if self.kind == WORKSHEET:
            fits = [at for at, name in enumerate(names) if name.casefold() == "grade"]
        else:
            own = _titles(self.header)
            fits = [at for at, name in enumerate(own) if name == title.strip().casefold()]
            exact = [at for at, name in enumerate(names) if name == title.strip()]
            fits = exact or fits
            if set(fits) & self._identify():
                raise ValueError(f"{title!r} names a column that says who the students are")
        if len(fits) > 1:
            raise ValueError(
                f"{[names[at] for at in fits]} could each be {title!r}: give the whole title"
            )
        return fits[0] if fits else len(self.header)

    def _identify(self) -> set[int]:
        return {at for at, name in enumerate(folded(self.header)) if name in KNOWN}

    def _guarded(self, row: tuple[str, ...]) -> list[str]:
        """The cells, with those no platform reads back made harmless to a spreadsheet."""
        names = folded(self.header)
        return [
            text if name in READ_BACK else harmless(text)
            for name, text in zip(names, row, strict=True)
        ]

    def _canvas(self, table: list[list[str]], column: int, of: float) -> list[list[str]]:
        """Of a Canvas gradebook what an import needs; any other table as it is."""
        if self.kind != CANVAS:
            return table
        at = [n for n, name in enumerate(folded(self.header)) if name in IDENTIFYING]
        possible = [row for row in self.rows if _is_points(row)] or [("    Points Possible",)]
        first = [*possible[0], *[""] * len(table[0])]
        people = [table[student.row + 1] for student in self.students]
        return [
            [*(table[0][n] for n in at), table[0][column]],
            [*(first[n] for n in at), points(of)],
            *([*(row[n] for n in at), row[column]] for row in people),
        ]

    def _text(self, table: list[list[str]]) -> str:
        """CSV, with the ends of lines of RFC 4180; Canvas reads commas and semicolons only."""
        delimiter = "," if self.kind == CANVAS and self.delimiter == "\t" else self.delimiter
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerows(table)
        return self.mark + out.getvalue()


# ---------------------------------------------------------------- reading


def read(path: Path) -> Roster:
    """The roster in a CSV export; separated by commas, semicolons or tabs, in UTF-8 or UTF-16.

    Raises: ValueError where there is no such file, or it is no roster.
    """
    try:
        table = tables.read(path, KNOWN | {"identifier", "grade"})
    except ValueError as error:
        raise ValueError(f"{error}; a roster is {ASKED}") from error
    header = table.header
    kind = _kind(header)
    if not kind:
        raise ValueError(f"{path} has the columns {[*header][:20]}; a roster is {ASKED}")
    students = _students(kind, header, table.rows)
    return Roster(kind, header, table.rows, students, table.delimiter, table.mark)


def _kind(header: tuple[str, ...]) -> str:
    names = set(folded(header))
    if "id" in names and names & {"student", "lastname"} and names & {"section", "sis login id"}:
        return CANVAS
    if "identifier" in names:
        return WORKSHEET
    return TABLE if names & {*NAMES, *FIRST, *LAST, *LOGINS} else ""


def _titles(header: Iterable[str]) -> list[str]:
    """Assignments' titles, such as "05" of Canvas's "05 (4711)"."""
    return [re.sub(r"\s*\(\d+\)$", "", name) for name in folded(header)]


def _is_points(row: tuple[str, ...]) -> bool:
    return row[0].strip() == "Points Possible"


def _is_person(kind: str, row: tuple[str, ...]) -> bool:
    """Not one of Canvas's rows on points and on marks not shown yet."""
    said = [cell.strip() for cell in row if cell.strip()]
    hidden = all(cell.startswith(("Manual Posting", "Muted")) for cell in said)
    return kind != CANVAS or not (_is_points(row) or hidden)


def _students(kind: str, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> tuple:
    students: list[Student] = []
    taken: set[str] = set()
    for at, row in enumerate(rows):
        if not _is_person(kind, row):
            continue
        cells: dict[str, str] = {}
        for name, text in zip(folded(header), row, strict=True):
            cells.setdefault(name, text.strip())
        name, number, logins = _name(cells), _number(kind, cells), _logins(kind, cells)
        key = unique(safe(next(iter([*logins, number, name]), "") or f"{name}_{number}"), taken)
        students.append(Student(key, name, number, logins, at))
    return tuple(students)


def _name(cells: dict[str, str]) -> str:
    first, last = ([cells[name] for name in names if cells.get(name)] for names in (FIRST, LAST))
    if last:
        return ", ".join([last[0], *first[:1]])
    return next((cells[name] for name in (*NAMES[1:], NAMES[0]) if cells.get(name)), "")


def _number(kind: str, cells: dict[str, str]) -> str:
    if kind == CANVAS:
        return cells["id"]
    found = re.search(r"\d+$", cells.get("identifier", ""))
    return found[0] if found else ""


def _logins(kind: str, cells: dict[str, str]) -> tuple[str, ...]:
    """In a teacher's own table the column "student" may hold names or numbers."""
    own = ("student",) if kind == TABLE else ()
    return tuple(cells[name] for name in (*own, *LOGINS) if cells.get(name))


# ---------------------------------------------------------------- names


def fold(text: str) -> str:
    """Words without case, accents and punctuation: "o brien zoe" of "O'Brien, Zoë".

    Only accents of letters such as é and й are dropped: in other scripts, marks are letters.
    """
    folded = None
    while folded != text:
        folded, text = text, _fold(text)
    return folded


def _fold(text: str) -> str:
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    text = re.sub("[\u0300-\u036f]", "", text).translate(UNDECOMPOSED)
    kept = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
    return " ".join("".join(kept).split())


def orders(name: str) -> set[str]:
    """A name folded, with the last name last and first; it is what stands before a comma, else the
    last word.
    """
    last, comma, first = name.partition(",")
    if not comma:
        *given, last = fold(name).split() or [""]
        first = " ".join(given)
    both = (f"{fold(first)} {fold(last)}", f"{fold(last)} {fold(first)}")
    return {form.strip() for form in both} - {""}


def safe(text: str) -> str:
    """A file name of ASCII letters, digits, ".", "_" and "-" for a text; of what it cannot show, or
    shows too briefly, it ends in a number that differs from text to text.
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    plain = re.sub("[\u0300-\u036f]", "", plain).translate(UNDECOMPOSED)
    key = re.sub(r"[^a-z0-9._-]+", "-", plain.replace("@", "_")).strip("._-")
    lost = any(c.isalnum() and not c.isascii() for c in plain)
    if lost or not key or len(key) > LONGEST_KEY or DEVICES.fullmatch(key):
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


# ---------------------------------------------------------------- cells and files


def points(mark: float) -> str:
    """A number without an exponent and without needless zeros, to five places, as Moodle keeps."""
    return f"{round(mark, 5) + 0.0:.5f}".rstrip("0").rstrip(".")
