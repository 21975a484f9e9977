"""The page on which a teacher marks free responses, one after the other, and saves marks.csv.

    marking_page(records, assignment, marks)    the page, a file of its own with marking.js in it
    ticked(mark, task)                          what a mark of that page says of the rubric

The points of the rubric that were ticked stand at the head of a remark, as [1, 3], or [0] for none.

nbgrader's formgrader is not used, for it needs a Jupyter server and keeps marks in a database that
nbgrader's own autograde fills, which runs students' code and the checks in one process.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass

from markupsafe import Markup

from homework.intake import tables
from homework.release.assignment import QUESTION, Assignment, Task
from homework.report.gradebook import MARKS, Mark, Record
from homework.report.page import TEMPLATES, clip, page
from homework.report.prose import CODE_STYLE, Prose, code
from homework.report.works import Work

Marks = Mapping[tuple[str, str], Mark]

LONGEST_RESPONSE = 20_000  # characters
TICKED = re.compile(r"\[(\d+(?:, \d+)*)\]\s*")
HINT = re.compile(r"<details>.*?</details>", re.DOTALL)
SCRIPT = (TEMPLATES / "marking.js").read_text("utf-8")


def nothing(record: Record) -> Work:
    """What is shown of a student's work where nothing was kept."""
    return Work()


def ticked(mark: Mark, task: Task) -> tuple[tuple[int, ...] | None, str]:
    """The points of the rubric that were ticked, from 1 on, and the remark; None if untold."""
    found = TICKED.match(mark.remark)
    numbers = [int(number) for number in found[1].split(", ")] if found else []
    if not found or any(number > len(task.rubric) for number in numbers):
        return None, mark.remark
    return tuple(filter(None, numbers)), mark.remark[found.end() :]


def asked(task: Task, prose: Prose) -> list[tuple[str, Markup]]:
    """The cells of a question as their types and HTML, without heading, quotation and hint."""
    shown = []
    for at, cell in enumerate(task.cells[:-1]):
        if cell.cell_type == "code":
            shown.append(("code", code(cell.source)))
        elif text := HINT.sub("", cell.source if at else _question(cell.source)).strip():
            shown.append(("markdown", prose(text)))
    return shown


def _question(source: str) -> str:
    found = QUESTION.search(source)
    text = source[found.end() :] if found else source
    return re.sub(r"^> ?", "", text.strip(), flags=re.MULTILINE).removeprefix("**").strip()


@dataclass(frozen=True)
class Response:
    """A free response: the row of its mark, what names it but not who wrote it, and its text."""

    row: int
    id: str
    shown: Markup
    typed: str


def marking_page(
    records: Sequence[Record],
    assignment: Assignment,
    marks: Marks,
    *,
    prose: Prose | None = None,
    work: Callable[[Record], Work] = nothing,
) -> str:
    """The free responses as HTML for who marks them: by question, in an order that is no name's.

    work: of a record, what the student wrote, for its pictures.
    """
    free = [task for task in assignment.tasks if task.free]
    there = {
        (record.student, task.name): Mark(record.student, task.name, None, task.points)
        for record in records
        for task in free
        if task.name in record.responses
    } | dict(marks)
    rows = {key: at for at, key in enumerate(sorted(there))}
    prose = prose or Prose()
    piles = [
        (task, asked(task, prose), _responses(task, records, rows, prose, work)) for task in free
    ]
    data = {
        "head": MARKS,
        "rows": [_cells(there[key]) for key in rows],
        "place": assignment.chapter,
        "formula": tables.FORMULA.pattern,
        "number": f"^(?:{tables.NUMBER.pattern})$",
    }
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return page(
        "marking.html",
        assignment=assignment,
        piles=piles,
        data=data,
        script=Markup(SCRIPT),
        digest=digest,
        style=CODE_STYLE,
        count=sum(len(responses) for _, _, responses in piles),
    )


def _cells(mark: Mark) -> list[str]:
    """A row of marks.csv, as the gradebook writes it."""
    return [
        "" if value is None else value if isinstance(value, str) else f"{value:g}"
        for value in astuple(mark)
    ]


def _responses(
    task: Task, records: Sequence[Record], rows: Mapping, prose: Prose, work: Callable
) -> list[Response]:
    found = []
    for record in records:
        if task.name in record.responses:
            text = clip(record.responses[task.name], LONGEST_RESPONSE)
            content = f"{task.name}/{record.student}/{text}".encode("utf-8", "replace")
            id = hashlib.sha256(content).hexdigest()[:16]
            shown = prose(text, work(record).pictures)
            found.append(Response(rows[record.student, task.name], id, shown, text))
    return sorted(found, key=lambda response: response.id)
