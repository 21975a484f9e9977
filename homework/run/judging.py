"""Judge one submission: run its cells in the sandbox, and judge from outside what they made.

The judges are the chapters' own (`exercises.py` of each) and a teacher's. They run outside of the
sandbox, in the worker's process, and see copies of plain data; a student's function is called in
the sandbox, once for each time that a judge calls it. So there is no test in the sandbox to patch.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from helpers import exercises
from helpers.exercises import drawn
from homework.release.assignment import Assignment, Task, Test
from homework.run import sandbox
from homework.run.sandbox import Limits, LostError, SandboxClient
from homework.run.withheld import book_for, numbers_given

LOST = "The process that ran this was ended: {}. It costs the points of this part alone."
OVER = "The time for one submission was over before this part."
BOOK = "the book"
FITTING = 5.0  # seconds in which others' numbers are tried on an answer
MOST_SAID = 2_000  # characters of a message
BEFORE = ""  # stands for the cells before the first task where a task's name is asked for


@dataclass(frozen=True)
class Result:
    """What came of a test: points of those there are, the judge's state and what it said.

    raised: what a cell of the task raised, "" if nothing. fits: with whose numbers, or the book's,
    an answer is right that is not with one's own.
    """

    task: str
    test: str
    points: float
    most: float
    state: str
    message: str
    hidden: bool = False
    raised: str = ""
    fits: tuple[str, ...] = ()


class StudentError(Exception):
    """Something that a student's function raised; its own subclass has the name of the original."""


class RemoteFunction:
    """A function of the student's, seen from the grader: a call is a question to the sandbox."""

    def __init__(self, client: SandboxClient, name: str):
        self._client, self._name = client, name

    def __call__(self, *args: object, **kwargs: object) -> object:
        """What it gives. Raises: what it raised, by name; LostError where the process ends."""
        return self._asked("call", args=list(args), kwargs=kwargs)

    def inside(self, look: str, *args: object) -> Any:
        """What `helpers.exercises.inside` says of it there. Raises: as a call."""
        return self._asked("inside", look=look, args=list(args))

    def _asked(self, do: str, **more: Any) -> object:
        answer = self._client.ask(functions(self._client), do=do, name=self._name, **more)
        if "error" in answer:
            raise _raised(str(answer["error"]), str(answer.get("text", "")))
        return answer.get("value")


def functions(client: SandboxClient) -> Callable[[str], RemoteFunction]:
    """What stands here for things that stay in the sandbox."""
    return lambda name: RemoteFunction(client, name)


def _raised(kind: str, text: str) -> Exception:
    if kind == "NotImplementedError":  # the stub, as it was released
        return NotImplementedError(text)
    if kind == "NotSerialisable":
        return exercises.NotSerialisable(text)
    name = kind if kind.isidentifier() else "Exception"
    return type(name, (StudentError,), {})(text)


class Judging:
    """One submission on its way: what is known of it so far, and what has to be done again.

    A cell or an answer that ends its process costs its own task or test; the others are run afresh
    without it. Hidden tests are judged in a second run: what a function saw of them can then not
    come out in a message that the student is shown.
    """

    def __init__(
        self,
        assignment: Assignment,
        answers: Mapping[str, Sequence[str]],
        *,
        before: Sequence[str] = (),
        limits: Limits | None = None,
        number: int = 0,
        progress: Callable[[str], None] = lambda what: None,
        skip: Collection[str] = (),
        unsafe: bool = False,
        last: bool = False,
        files: dict[str, str] | None = None,
        student: str = "",
        others: Mapping[str, str] | None = None,
        book: Path,
    ):
        """See `judge`."""
        self.assignment, self.answers, self.before = assignment, answers, before
        self.limits, self.progress, self.last = limits or Limits(), progress, last
        self.student, self.others = student, others or {}
        self.how: dict[str, Any] = {
            "number": number,
            "unsafe": unsafe,
            "files": files,
            "book": book,
        }
        self.lost: set[str] = set()  # tasks whose cells are not run any more
        self.results: dict[tuple[str, str], Result] = {}
        self.raised: dict[str, str] = {}
        self.end = time.monotonic() + self.limits.submission
        if f"{BEFORE}/" in skip:
            self.lost.add(BEFORE)
        for task, test in self._open():
            if f"{task.name}/" in skip:
                self.lost.add(task.name)
            if {f"{task.name}/", f"{task.name}/{test.name}"} & set(skip):
                self._put(task, test, "Not right", LOST.format("its answer could not be judged"))

    def run(self) -> list[Result]:
        """All results, in the order of tasks and tests."""
        for task in self.assignment.tasks:
            if not task.free and not self.answers.get(task.name):
                for test in task.tests:
                    self._put(task, test, "Not yet", exercises.verdict.FILL_IN)
        for hidden in (False, True):
            while any(test.hidden == hidden for _, test in self._open()):
                if time.monotonic() > self.end:
                    for task, test in self._open():
                        self._put(task, test, "Not right", OVER)
                else:
                    self._once(hidden)
        tests = [(task.name, test.name) for task in self.assignment.tasks for test in task.tests]
        return [self.results[key] for key in tests]

    def _open(self) -> list[tuple[Task, Test]]:
        """Tests that have no result yet."""
        return [
            (task, test)
            for task in self.assignment.tasks
            for test in task.tests
            if (task.name, test.name) not in self.results
        ]

    def _once(self, hidden: bool) -> None:
        """Run the submission in a process until it ends or all tests of a kind are judged."""
        ran: list[str] = []  # the student's own cells, run in this process
        name = None
        try:
            with sandbox.started(self.limits, **self.how) as client:
                for name, step in self._steps(client, hidden):
                    if name is not None:
                        self.progress(f"{name}/")
                    client.allow(self.limits.task if name is not None else self.limits.given)
                    step()
                    if name is not None:
                        ran.append(name)
        except LostError as error:
            if error.outside and not (self.last and str(error) == sandbox.BUSY):
                raise
            self._attribute_failure(name, ran, error)

    def _steps(
        self, client: SandboxClient, hidden: bool
    ) -> Iterator[tuple[str | None, Callable[[], None]]]:
        """What is run, in order, and whose it is: a task's, BEFORE, or None (the release's)."""
        if self.assignment.course and self.student:
            yield None, self._given(client, numbers_given(self.assignment, self.student))
        for cell in self.assignment.setup:
            yield None, self._given(client, cell.source)
        if BEFORE not in self.lost:
            yield BEFORE, self._cells(client, BEFORE, self.before, hidden)
        for task in self.assignment.tasks:
            for cell in task.cells[:-1]:
                if cell.cell_type == "code":
                    yield None, self._given(client, cell.source)
            if task.name not in self.lost and not task.free and self.answers.get(task.name):
                yield task.name, self._cells(client, task.name, self.answers[task.name], hidden)
                yield task.name, partial(self._judge_all, task, client, hidden)

    def _given(self, client: SandboxClient, source: str) -> Callable[[], None]:
        def run() -> None:
            client.ask(functions(client), within=self.limits.given, do="run", source=source)

        return run

    def _cells(
        self, client: SandboxClient, name: str, sources: Sequence[str], hidden: bool
    ) -> Callable[[], None]:
        def run() -> None:
            for source in sources:
                answer = client.ask(functions(client), do="run", source=source)
                if "error" in answer and not hidden:
                    text = str(answer.get("text", "")).strip()
                    said = f"{answer['error']}: {text}" if text else str(answer["error"])
                    self.raised.setdefault(name, exercises.without_addresses(said))

        return run

    def _judge_all(self, task: Task, client: SandboxClient, hidden: bool) -> None:
        for test in task.tests:
            if test.hidden == hidden and (task.name, test.name) not in self.results:
                self.progress(f"{task.name}/{test.name}")
                try:
                    self._judge(task, test, client)
                except LostError as error:
                    self._put(task, test, "Not right", LOST.format(error))
                    raise

    def _judge(self, task: Task, test: Test, client: SandboxClient) -> None:
        """Ask for the answer and judge it here."""
        answer = client.ask(functions(client), do="value", name=task.answer)
        if answer.get("error") == "NameError":
            self._put(task, test, "Not yet", f"There is no {task.answer}.")
            return
        if "error" in answer:
            self._put(task, test, "Not right", answer.get("text") or str(answer["error"]))
            return
        own = drawn(task.name, self.assignment.course, self.student) if task.own else {}
        verdict = exercises.judged(partial(test.judge, **own), answer.get("value"))
        if client.lost:  # while the judge called
            raise client.lost
        fits = self._fits(task, test, answer.get("value")) if own and not test.hidden else ()
        self._put(task, test, verdict.state, verdict.message, fits)

    def _fits(self, task: Task, test: Test, answer: object) -> tuple[str, ...]:
        """In whose editions an answer is right, as far as there is time to look."""
        found, end = [], time.monotonic() + FITTING
        for student, whose in {"": BOOK, **self.others}.items():
            own = drawn(task.name, self.assignment.course, student)
            if exercises.judged(partial(test.judge, **own), answer).state == "Right":
                found.append(whose)
            if time.monotonic() > end:
                break
        return tuple(dict.fromkeys(found))

    def _attribute_failure(self, name: str | None, ran: list[str], error: LostError) -> None:
        """Somebody pays for a lost process, so that the next one gets further."""
        if name is None and not ran:
            raise LostError(f"a cell of the release itself: {error}") from error
        if name is None:  # they left something behind that went off in a cell of the release
            self.lost |= set(ran)
        if name is not None and name not in ran:
            self.lost.add(name)  # its cells, not its tests
        for task, test in self._open():
            if task.name in self.lost:
                self._put(task, test, "Not right", LOST.format(error))

    def _put(
        self, task: Task, test: Test, state: str, message: str, fits: tuple[str, ...] = ()
    ) -> None:
        points = test.points if state == "Right" else 0.0
        self.results[task.name, test.name] = Result(
            task.name,
            test.name,
            points,
            test.points,
            state,
            message[:MOST_SAID],
            test.hidden,
            self.raised.get(task.name, ""),
            fits if state == "Not right" else (),
        )


def judge(
    assignment: Assignment,
    answers: Mapping[str, Sequence[str]],
    *,
    book: Path | None = None,
    **options: Any,
) -> list[Result]:
    """The result of each test of an assignment, in order; none for free responses.

    answers: the student's cells of each task handed in. Options: `before`, the student's cells
    before the first task; `limits`; `number`, of the process, where several run at a time;
    `progress`, told of each test before it is judged, as task/test, and of each task before
    its cells are run, as task/; `skip`, those of them that are left out because an earlier try
    ended the grader's own process; `unsafe`, without a sandbox; `files`, which that begins with;
    `book`, as `book_for` gives it; `student`, by which own numbers are drawn, and `others`, by whom
    theirs are, and who each is;
    `last`, where no later try is to come, so that what a busy machine gives no time is charged.
    Raises: SandboxError where there is no sandbox; LostError
    where a cell of the release itself or something outside ends the process.
    """
    with book_for(assignment) if book is None else contextlib.nullcontext(book) as there:
        return Judging(assignment, answers, book=there, **options).run()


def tried(assignment: Assignment) -> str:
    """Judge the solutions, and the edition with nothing filled in; says what came of it.

    Raises: ValueError where a solution does not get all points or a stub gets any.
    """
    try:
        sandbox.check()
        try:
            return _tried(assignment)
        except (ValueError, LostError):
            sandbox.check_python()  # perhaps it was that
            raise
    except sandbox.SandboxError as error:
        return f"its tests were not tried: {error}"


def _tried(assignment: Assignment) -> str:
    tasks = assignment.tasks
    solved = {task.name: [task.solution] for task in tasks if task.solution and not task.free}
    stubs = {task.name: [task.stub.source] for task in tasks}
    for what, answers, right in (
        ("solution", solved, lambda r: r.points == r.most or r.task not in solved),
        ("stub", stubs, lambda r: r.points == 0),
    ):
        for result in judge(assignment, answers):
            if not right(result):
                raise ValueError(
                    f"the {what} of {result.task} gets {result.points:g} of {result.most:g} "
                    f"points in the test {result.test}: {result.message or result.state}"
                )
    open_ = [task.name for task in tasks if not task.solution and not task.free]
    report = "the solutions get all points, empty stubs none"
    return report + (f" (no solution given for {', '.join(open_)})" if open_ else "")
