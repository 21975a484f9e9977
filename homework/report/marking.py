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
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace

from markupsafe import Markup

from homework.intake import tables
from homework.release.assignment import QUESTION, Assignment, Task
from homework.report.gradebook import MARKS, Mark, Record
from homework.report.page import TEMPLATES, page

Marks = Mapping[tuple[str, str], Mark]

TICKED = re.compile(r"\[(\d+(?:, \d+)*)\]\s*")
HINT = re.compile(r"<details>.*?</details>", re.DOTALL)
ALIKE = 0.8  # of all words of two responses that are nearly the same
SCRIPT = (TEMPLATES / "marking.js").read_text("utf-8")


def parse_ticks(mark: Mark, task: Task) -> tuple[tuple[int, ...] | None, str]:
    """The points of the rubric that were ticked, from 1 on, and the remark; None if untold."""
    found = TICKED.match(mark.remark)
    numbers = [int(number) for number in found[1].split(", ")] if found else []
    if not found or any(number > len(task.rubric) for number in numbers):
        return None, mark.remark
    return tuple(filter(None, numbers)), mark.remark[found.end() :]


def asked(task: Task) -> list[str]:
    """The cells of a question as Markdown, without heading, quotation and hint."""
    first, *more = task.cells[:-1]
    texts = [_question(first.source)]
    texts += [f"```\n{c.source}\n```" if c.cell_type == "code" else c.source for c in more]
    return [text for text in (HINT.sub("", text).strip() for text in texts) if text]


def _question(source: str) -> str:
    found = QUESTION.search(source)
    text = source[found.end() :] if found else source
    return re.sub(r"^> ?", "", text.strip(), flags=re.MULTILINE).removeprefix("**").strip()


@dataclass(frozen=True)
class Response:
    """A free response: the row of its mark, what names it but not who wrote it, its text, and
    whether it says nearly what one before it says.
    """

    row: int
    id: str
    text: str
    is_alike: bool = False


def marking_page(
    records: Sequence[Record],
    assignment: Assignment,
    marks: Marks,
) -> str:
    """The free responses as HTML for who marks them: by question, in an order that is no name's."""
    free = [task for task in assignment.tasks if task.free]
    there = {
        (record.student, task.name): Mark(record.student, task.name, None, task.points)
        for record in records
        for task in free
        if task.name in record.responses
    } | dict(marks)
    rows = {key: at for at, key in enumerate(sorted(there))}
    piles = [(task, asked(task), _responses(task, records, rows)) for task in free]
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
        count=sum(len(responses) for _, _, responses in piles),
    )


def _cells(mark: Mark) -> list[str]:
    """A row of marks.csv, as the gradebook writes it."""
    return [
        "" if value is None else value if isinstance(value, str) else f"{value:g}"
        for value in astuple(mark)
    ]


def _responses(task: Task, records: Sequence[Record], rows: Mapping) -> list[Response]:
    found = []
    for record in records:
        if (text := record.responses.get(task.name)) is not None:
            content = f"{task.name}/{record.student}/{text}".encode("utf-8", "replace")
            id = hashlib.sha256(content).hexdigest()[:16]
            found.append(Response(rows[record.student, task.name], id, text))
    return _grouped(sorted(found, key=lambda response: response.id))


def _grouped(responses: list[Response]) -> list[Response]:
    """The responses, each behind the first of which it has nearly all words."""
    groups: list[tuple[set[str], list[Response]]] = []
    for one in responses:
        words = set(re.findall(r"\w+", one.text.casefold()))
        for known, group in groups:
            if len(words & known) >= ALIKE * len(words | known):
                group.append(replace(one, is_alike=True))
                break
        else:
            groups.append((words, [one]))
    return [one for _, group in groups for one in group]
