"""What is read of the grades: two pages, each a file of its own that loads nothing.

student_page(record, assignment, marks)     for a student: own answers, what failed, what to read
summary_page(records, assignment, marks)    for the teacher: how it went, and what to look at
"""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from helpers.exercises import SPOKEN
from helpers.exercises.verdict import FILL_IN
from homework.release.assignment import Assignment, Task, task_of
from homework.release.sections import Section
from homework.report.gradebook import Record, points_by_task
from homework.report.marking import Marks, asked, parse_ticks
from homework.report.page import page
from homework.run.judging import LOST, OVER, Result

TO_MARK = "to-mark.html"  # where the page for marking lies, beside the summary
MOST_MESSAGES = 3  # of a test, the most frequent ones
STATES = {
    "full": "all points",
    "partial": "some points",
    "waits": "to be marked",
    "none": "no points",
    "absent": "no answer",
}


# ---------------------------------------------------------------- one student


@dataclass(frozen=True)
class TestReport:
    """What a student may read of a test. Of a hidden one: whether it passed, and `says` alone."""

    hidden: bool
    passed: bool
    text: str = ""
    says: str = ""
    points: float = 0.0
    most: float = 0.0


@dataclass(frozen=True)
class TaskReport:
    """What a student's page has of an exercise; points are None while a person has to mark.

    question: the text of its cells. answer: that of the student's cells. rubric: what a person
    ticked, where that is told.
    """

    task: Task
    question: list[str]
    answer: list[str]
    rubric: list[tuple[str, float]]
    points: float | None
    state: str
    tests: tuple[TestReport, ...]
    raised: str
    marked: bool
    remark: str
    reading: Section | None


def student_page(
    record: Record,
    assignment: Assignment,
    marks: Marks,
    *,
    section: Callable[[str], Section | None] = lambda task: None,
) -> str:
    """A student's feedback as HTML: the total, and each exercise with its question, the student's
    answer, what failed and what to read.

    A person's mark counts in the place of the tests' points, and its remark is shown: there are no
    remarks for the teacher alone. Of a hidden test the page has whether it passed and what it
    `says`; notes it has not, and of a rubric only what a person ticked.

    section: of a task's name, the section that it rests on; linked where its address is whole.
    """
    points = points_by_task(record, assignment, marks)
    parts = [
        _task_report(task, record, points[task.name], marks, section(task.name))
        for task in (task_of(t, assignment.course, record.numbers) for t in assignment.tasks)
    ]
    given = [part.points for part in parts if part.points is not None]
    waiting = sum(part.task.points for part in parts if part.points is None)
    graded = not record.error or any(part.marked for part in parts)
    return page(
        "student.html",
        record=record,
        assignment=assignment,
        parts=parts,
        waiting=waiting,
        total=sum(given),
        graded=graded,
        STATES=STATES,
        before=record.before,
    )


def _task_report(
    task: Task,
    record: Record,
    points: float | None,
    marks: Marks,
    reading: Section | None,
) -> TaskReport:
    results = _results(task, record)
    marked = _marked(task, record, marks)
    mark = marks.get((record.student, task.name))
    ticks, remark = parse_ticks(mark, task) if mark and (marked or not task.free) else (None, "")
    return TaskReport(
        task=task,
        question=asked(task),
        answer=_answer(task, record),
        rubric=[task.rubric[number - 1] for number in ticks or () if marked],
        points=points,
        state=_state(task, record, points, marks),
        tests=tuple(_test_report(result, task) for result in results),
        raised=next((result.raised for result in results if result.raised), ""),
        marked=marked,
        remark=remark,
        reading=reading,
    )


def _answer(task: Task, record: Record) -> list[str]:
    """A student's cells of a task; of a free response its text."""
    if task.free:
        text = record.responses.get(task.name, "")
        return [text] if text else []
    return [*record.answers.get(task.name, ())]


def _results(task: Task, record: Record) -> list[Result]:
    return [result for result in record.results if result.task == task.name]


def _test_report(result: Result, task: Task) -> TestReport:
    """What may be told of a result: it is hidden if it was when it was judged, or is now."""
    now = next((test for test in task.tests if test.name == result.test and test.hidden), None)
    passed = result.state == "Right"
    if result.hidden or now is not None:
        return TestReport(True, passed, says=now.says if now is not None else "")
    text = "" if result.message == FILL_IN else result.message
    return TestReport(False, passed, text, points=result.points, most=result.most)


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


# ---------------------------------------------------------------- all students


@dataclass(frozen=True)
class Loss:
    """The test that costs most: points lost by all, by how many students, and messages with their
    counts.
    """

    test: str
    hidden: bool
    says: str
    points: float
    lost_by: int
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
class Concern:
    """Something that a person should look at; file is the student's, or ""."""

    student: str
    task: str
    what: str
    file: str = ""


def summary_page(
    records: Sequence[Record],
    assignment: Assignment,
    marks: Marks,
    *,
    missing: Sequence[str] | None = None,
) -> str:
    """How an assignment went, as HTML for the teacher: hidden tests have their names and messages.

    Totals are of the files that could be read; what a person has yet to mark counts 0 in them.
    missing: who of the roster has not handed in; None without a roster.
    """
    read = [record for record in records if not record.error]
    points = [points_by_task(record, assignment, marks) for record in read]
    totals = [sum(filter(None, one.values())) for one in points]
    return page(
        "summary.html",
        assignment=assignment,
        records=records,
        read=read,
        missing=missing,
        mean=statistics.fmean(totals) if totals else None,
        unfinished=sum(None in one.values() for one in points),
        questions=[_question(task, read, points, marks) for task in assignment.tasks],
        looks=_concerns(records),
        look=to_look_at(records),
        waiting=_waiting(records, assignment, marks),
        to_mark=TO_MARK,
        spoken=[(t.name, SPOKEN[t.name]) for t in assignment.tasks if t.name in SPOKEN],
        STATES=STATES,
    )


def _question(task: Task, read: Sequence[Record], points: Sequence[dict], marks: Marks) -> Question:
    given = [one[task.name] for one in points]
    pairs = zip(read, given, strict=True)
    states = Counter(_state(task, record, score, marks) for record, score in pairs)
    known = [score for score in given if score is not None]
    is_marked = any(_marked(task, record, marks) for record in read)  # not left empty alone
    return Question(
        task=task,
        counts={state: states[state] for state in STATES},
        mean=statistics.fmean(known) if known and (is_marked or not states["waits"]) else None,
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
        lost_by=len(results),
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


def to_look_at(records: Sequence[Record]) -> set[str]:
    """Who stands in the summary's list of what to look at."""
    return {look.student for found in _concerns(records).values() for look in found}


def _concerns(records: Sequence[Record]) -> dict[str, list[Concern]]:
    """All that a person should look at, by kind; each kind in the order of the records."""
    return {
        "Files that could not be read": [
            Concern(record.student, "", record.error, record.file)
            for record in records
            if record.error and not record.ours
        ],
        "Not graded, for a cause of ours": [
            Concern(record.student, "", record.error, record.file)
            for record in records
            if record.ours
        ],
        "Processes that were ended": [look for record in records for look in _ended(record)],
        "Notes on files": [
            Concern(record.student, "", note) for record in records for note in record.notes
        ],
        "What answers use, and whose numbers they have": [
            Concern(record.student, "", look) for record in records for look in record.looks
        ],
        "One name filled in by several": list(_same_name(records)),
    }


def _same_name(records: Sequence[Record]) -> Iterator[Concern]:
    """Who was judged with the numbers with which another was, too."""
    often = Counter(record.numbers for record in records if record.numbers)
    for record in records:
        if often[record.numbers] > 1:
            yield Concern(record.student, "", record.numbers)


def _ended(record: Record) -> Iterator[Concern]:
    """Each task once of which a test was lost with its process, or not reached."""
    start = LOST.partition("{")[0]
    seen = set()
    for result in record.results:
        if result.message.startswith((start, OVER)) and result.task not in seen:
            seen.add(result.task)
            yield Concern(record.student, result.task, result.message)


def _waiting(records: Sequence[Record], assignment: Assignment, marks: Marks) -> dict[str, int]:
    """How many free responses are still to mark, by task; no task without any."""
    waits = Counter(
        task
        for record in records
        if not record.ours
        for task, points in points_by_task(record, assignment, marks).items()
        if points is None
    )
    return {task.name: waits[task.name] for task in assignment.tasks if waits[task.name]}
