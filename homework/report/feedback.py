"""What is read of the grades: three pages, each a file of its own that loads nothing.

    student_page(record, of, marks)     for a student: what failed, and what to read again
    summary_page(records, of, marks)    for the teacher: how it went, and what to look at
    marking_page(records, of, marks)    for the teacher: the free responses, to be marked

Most of what they show was written by students. The templates in homework/report/pages escape all of
it; before that, each text loses what is not seen and changes how others are read (`harmless`).
"""

import hashlib
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import jinja2
from markupsafe import Markup

from helpers.exercises.verdict import FILL_IN
from homework.intake.collect import SEVERAL
from homework.release.assignment import QUESTION, Assignment, Task
from homework.report.gradebook import Mark, Record, standing
from homework.report.sections import Section
from homework.run.judging import LOST, OVER, Result

Marks = Mapping[tuple[str, str], Mark]

TEMPLATES = Path(__file__).with_name("pages")
TO_MARK = "to-mark.html"  # where the page for marking lies, beside the summary
LONGEST = 700  # characters of a text that is not a response
LONGEST_RESPONSE = 20_000
MOST_MESSAGES = 3  # of a test, the most frequent ones
MOST_BARS = 12  # of the histogram, and one more for full marks
STATES = {
    "full": "all points",
    "partial": "some points",
    "waits": "to be marked",
    "none": "no points",
    "absent": "no answer",
}
UNSEEN = re.compile(  # controls, what turns text round, what has no width, halves of characters
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffc\ud800-\udfff\U000e0000-\U000e007f]"
)
_ACCENT = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
PILES = re.compile(f"({_ACCENT}{{4}}){_ACCENT}+")  # accents that would cover the lines above


# ---------------------------------------------------------------- texts


def harmless(value: object) -> object:
    """A text without characters that are not seen or cover others; any other value as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return PILES.sub(r"\1", UNSEEN.sub("\ufffd", text))


def clip(text: object, most: int = LONGEST) -> str:
    """A text of at most so many characters, and how many more there were."""
    text = str(text)
    more = len(text) - most
    return text if more <= 0 else f"{text[:most]} … ({more} more characters)"


def number(points: float) -> str:
    """Points as they are read: 2, 1.5, 0.33."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def points_of(points: float) -> str:
    """Points with their word: 1 point, 2.5 points."""
    return f"{number(points)} point{'' if number(points) == '1' else 's'}"


def feedback_file(student: str) -> str:
    """The address of a student's page, as seen from the summary."""
    return f"feedback/{quote(str(harmless(student))[:LONGEST], safe='')}.html"


def _number_of(task: str) -> str:
    """The number that students know: "1" of "05.1"."""
    return task.partition(".")[2] or task


def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, finalize=harmless,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "clip": clip, "points": number, "points_of": points_of, "exercise": _number_of,
        "feedback_file": feedback_file,
    }  # fmt: skip
    return made


PAGES = _templates()


def _page(template: str, **told: object) -> str:
    return PAGES.get_template(template).render(STATES=STATES, **told)


# ---------------------------------------------------------------- one student


@dataclass(frozen=True)
class Said:
    """What a student may read of a test. Of a hidden one: whether it passed, and `says` alone."""

    hidden: bool
    passed: bool
    text: str = ""
    says: str = ""
    points: float = 0.0
    most: float = 0.0


@dataclass(frozen=True)
class Part:
    """What a student's page has of an exercise; points are None while a person has to mark."""

    task: Task
    points: float | None
    state: str
    tests: tuple[Said, ...]
    raised: str
    marked: bool
    remark: str
    reading: Section | None


def student_page(
    record: Record,
    of: Assignment,
    marks: Marks,
    *,
    section: Callable[[str], Section | None] | None = None,
) -> str:
    """A student's feedback as HTML: the total, and for each exercise what failed and what to read.

    A person's mark counts in the place of the tests' points, and its remark is shown: there are no
    remarks for the teacher alone. Of a hidden test the page has whether it passed and what it
    `says`; notes, flags and rubrics it has not.

    section: of a task's name, the section that it rests on; linked where its address has a host.
    """
    points = standing(record, of, marks)
    parts = [_part(task, record, points[task.name], marks, section) for task in of.tasks]
    given = [part.points for part in parts if part.points is not None]
    waiting = sum(part.task.points for part in parts if part.points is None)
    graded = not record.error or any(part.marked for part in parts)
    return _page(
        "student.html", record=record, of=of, parts=parts, total=sum(given), waiting=waiting,
        graded=graded,
    )  # fmt: skip


def _part(
    task: Task, record: Record, points: float | None, marks: Marks, section: Callable | None
) -> Part:
    results = _results(task, record)
    marked, mark = _marked(task, record, marks), marks.get((record.student, task.name))
    return Part(
        task=task,
        points=points,
        state=_state(task, record, points, marks),
        tests=tuple(_said(result, task) for result in results),
        raised=next((result.raised for result in results if result.raised), ""),
        marked=marked,
        remark=mark.remark if mark is not None and (marked or not task.free) else "",
        reading=_reading(section(task.name) if section else None),
    )


def _results(task: Task, record: Record) -> list[Result]:
    return [result for result in record.results if result.task == task.name]


def _said(result: Result, task: Task) -> Said:
    """What may be told of a result: it is hidden if it was when it was judged, or is now."""
    now = next((test for test in task.tests if test.name == result.test and test.hidden), None)
    passed = result.state == "Right"
    if result.hidden or now is not None:
        return Said(True, passed, says=now.says if now is not None else "")
    text = "" if result.message == FILL_IN else result.message
    return Said(False, passed, text, points=result.points, most=result.most)


def _marked(task: Task, record: Record, marks: Marks) -> bool:
    """Whether a person gave points."""
    mark = marks.get((record.student, task.name))
    return mark is not None and mark.points is not None


def _state(task: Task, record: Record, points: float | None, marks: Marks) -> str:
    """One of STATES."""
    if points is None:
        return "waits"
    if not _marked(task, record, marks) and _absent(task, record):
        return "absent"
    return "full" if points >= task.points - 1e-9 else "none" if points <= 1e-9 else "partial"


def _absent(task: Task, record: Record) -> bool:
    """Whether nothing was handed in, as far as it is known: a stub as it was given is nothing."""
    if task.free:
        return task.name not in record.responses
    results = _results(task, record)
    empty = [
        result.state == "Not yet" and result.message == FILL_IN and not result.raised
        for result in [result for result in results if not result.hidden] or results
    ]
    return all(empty) and not sum(result.points for result in results)


def _reading(found: Section | None) -> Section | None:
    """A section whose address is one that a page can link to from anywhere, or is ""."""
    if found is None:
        return None
    told = urlsplit(found.url)
    safe = told.scheme in ("https", "http") and told.netloc
    return Section(found.title, found.url if safe else "")


# ---------------------------------------------------------------- all students


@dataclass(frozen=True)
class Loss:
    """The test that costs most: points lost by all, by how many, and messages with their counts."""

    test: str
    hidden: bool
    says: str
    points: float
    students: int
    messages: tuple[tuple[str, int], ...]
    others: int


@dataclass(frozen=True)
class Question:
    """How an exercise went: how many of each state, the mean of the points, the costliest test."""

    task: Task
    counts: dict[str, int]
    mean: float | None
    loss: Loss | None


@dataclass(frozen=True)
class Spread:
    """Mean, median and quartiles of the totals, in points."""

    mean: float
    median: float
    lower: float
    upper: float
    least: float
    most: float


@dataclass(frozen=True)
class Look:
    """Something that a person should look at; code is a line of the student's, or ""."""

    student: str
    task: str
    what: str
    code: str = ""


def summary_page(
    records: Sequence[Record],
    of: Assignment,
    marks: Marks,
    *,
    missing: Iterable[str] = (),
) -> str:
    """How an assignment went, as HTML for the teacher: hidden tests have their names and messages.

    Totals are of the files that could be read; what a person has yet to mark counts 0 in them.
    missing: who of the roster has not handed in.
    """
    read = [record for record in records if not record.error]
    points = [standing(record, of, marks) for record in read]
    totals = [sum(filter(None, one.values())) for one in points]
    return _page(
        "summary.html", of=of,
        records=records, read=read, missing=list(missing), spread=_spread(totals),
        unfinished=sum(None in one.values() for one in points),
        bars=_histogram(totals, of.points),
        questions=[_question(task, read, points, marks) for task in of.tasks],
        looks=_looks(records, of, marks), waiting=_waiting(records, of, marks), to_mark=TO_MARK,
    )  # fmt: skip


def _spread(totals: Sequence[float]) -> Spread | None:
    """Quartiles as spreadsheets have them (QUARTILE.INC); None of nothing."""
    if not totals:
        return None
    twice = list(totals) * 2 if len(totals) == 1 else totals
    lower, median, upper = statistics.quantiles(twice, n=4, method="inclusive")
    return Spread(statistics.fmean(totals), median, lower, upper, min(totals), max(totals))


def _histogram(totals: Sequence[float], most: float) -> list[tuple[float, float, int]]:
    """Bars of one width from 0 to the points there are: from, to, how many; the last is open.

    Where the width divides the points, full marks have a bar of their own.
    """
    widths = (step * 10**power for power in range(9) for step in (1, 2, 5))
    width = next(width for width in widths if most / width <= MOST_BARS)
    last = int(most / width)
    counts = Counter(min(int(min(total, most) / width + 1e-9), last) for total in totals)
    return [(at * width, (at + 1) * width, counts[at]) for at in range(last + 1)]


def _question(task: Task, read: Sequence[Record], points: Sequence[dict], marks: Marks) -> Question:
    given = [one[task.name] for one in points]
    pairs = zip(read, given, strict=True)
    states = Counter(_state(task, record, told, marks) for record, told in pairs)
    known = [told for told in given if told is not None]
    return Question(
        task=task,
        counts={state: states[state] for state in STATES},
        mean=statistics.fmean(known) if known else None,
        loss=_loss(task, [record for record in read if not _absent(task, record)]),
    )


def _loss(task: Task, handed_in: Sequence[Record]) -> Loss | None:
    """What the tests took, whatever a person gave later; None where no test took anything."""
    lost: dict[str, list[Result]] = {}
    for result in (result for record in handed_in for result in _results(task, record)):
        if result.points < result.most:
            lost.setdefault(result.test, []).append(result)
    if not lost:
        return None
    costs = {test: sum(r.most - r.points for r in results) for test, results in lost.items()}
    worst = max(costs, key=costs.__getitem__)
    results = lost[worst]
    messages = Counter(map(_message, results)).most_common()
    return Loss(
        test=worst,
        hidden=any(result.hidden for result in results),
        says=next((test.says for test in task.tests if test.name == worst), ""),
        points=costs[worst],
        students=len(results),
        messages=tuple(messages[:MOST_MESSAGES]),
        others=sum(count for _, count in messages[MOST_MESSAGES:]),
    )


def _message(result: Result) -> str:
    """What a test said, and the kind of what the cell raised."""
    kind = result.raised.partition(":")[0]
    return (
        f"{result.message or result.state} (the cell raised {kind})"
        if kind
        else (result.message or result.state)
    )


# ---------------------------------------------------------------- what to look at


def _looks(records: Sequence[Record], of: Assignment, marks: Marks) -> dict[str, list[Look]]:
    """All that a person should look at, by kind; each kind in the order of the records."""
    notes = [Look(record.student, "", note) for record in records for note in record.notes]
    return {
        "Files that could not be read": [
            Look(record.student, "", record.error, record.file)
            for record in records
            if record.error
        ],
        "Code": [_flagged(record, flag) for record in records for flag in record.flags],
        "Processes that were ended": [look for record in records for look in _ended(record)],
        "Several files": [look for look in notes if look.what.startswith(SEVERAL)],
        "Other notes on files": [look for look in notes if not look.what.startswith(SEVERAL)],
        "Rows of marks.csv that count nowhere": list(_astray(records, of, marks)),
    }


def _flagged(record: Record, flag: Mapping[str, object]) -> Look:
    task, what, line = (str(flag.get(name, "")) for name in ("task", "what", "line"))
    return Look(record.student, task, what, line)


def _ended(record: Record) -> Iterator[Look]:
    """Each task once of which a test was lost with its process, or not reached."""
    start = LOST.partition("{")[0]
    seen = set()
    for result in record.results:
        if result.message.startswith((start, OVER)) and result.task not in seen:
            seen.add(result.task)
            yield Look(record.student, result.task, result.message)


def _astray(records: Sequence[Record], of: Assignment, marks: Marks) -> Iterator[Look]:
    """Marks of nobody, or of no task: a spreadsheet makes 5.1 of 05.1."""
    students, tasks = {record.student for record in records}, {task.name for task in of.tasks}
    for (student, task), mark in marks.items():
        given = "no points" if mark.points is None else points_of(mark.points)
        if task not in tasks:
            names = ", ".join(sorted(tasks))
            yield Look(student, "", f"{given} for {task!r}, which is no task; tasks are {names}")
        elif student not in students:
            yield Look(student, task, f"{given} for a student who handed in nothing")


def _waiting(records: Sequence[Record], of: Assignment, marks: Marks) -> dict[str, list[str]]:
    """The students whose free response is still to mark, by task; no task without any."""
    points = {record.student: standing(record, of, marks) for record in records}
    found = {
        task.name: [student for student, one in points.items() if one[task.name] is None]
        for task in of.tasks
    }
    return {task: students for task, students in found.items() if students}


# ---------------------------------------------------------------- what a person marks


@dataclass(frozen=True)
class Response:
    """A free response; its mark is None until it has points."""

    student: str
    text: str
    mark: Mark | None


@dataclass(frozen=True)
class Pile:
    """The responses to a question: those to mark, and those that have their points."""

    task: Task
    question: str
    open: tuple[Response, ...]
    done: tuple[Response, ...]


def marking_page(records: Sequence[Record], of: Assignment, marks: Marks) -> str:
    """The free responses as HTML for who marks them: by question, in an order that is no name's."""
    piles = [_pile(task, records, marks) for task in of.tasks if task.free]
    return _page("marking.html", of=of, piles=piles, longest=LONGEST_RESPONSE)


def _pile(task: Task, records: Sequence[Record], marks: Marks) -> Pile:
    def place(record: Record) -> str:
        told = f"{task.name}/{record.student}".encode("utf-8", "replace")
        return hashlib.sha256(told).hexdigest()

    found = [
        Response(
            record.student,
            record.responses[task.name],
            marks[record.student, task.name] if _marked(task, record, marks) else None,
        )
        for record in sorted(records, key=place)
        if task.name in record.responses
    ]
    return Pile(
        task=task,
        question=_asked(task),
        open=tuple(one for one in found if one.mark is None),
        done=tuple(one for one in found if one.mark is not None),
    )


def _asked(task: Task) -> str:
    """The question as it is written, without its heading and the marks of a quotation."""
    source = task.cells[0].source
    found = QUESTION.search(source)
    told = source[found.end() :] if found else source
    return re.sub(r"^> ?", "", told.strip(), flags=re.MULTILINE).removeprefix("**").strip()
