"""Grade one submission: run its cells in the sandbox, and judge from outside what they made.

The judges are those of `helpers/exercises` (and a teacher's own, added to its CHECKS). They run in
the grader's process and see copies of plain data; a student's function is called in the sandbox,
once for each time that a judge calls it. So there is no test in the student's process to patch.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from helpers import exercises
from homework.assignment import Assignment, Task
from homework.sandbox import Limits, LostError, Talk, student

LOST = "The process that ran this was ended: {}. It costs the points of this exercise alone."


@dataclass(frozen=True)
class Result:
    """What came of a task: points of those there are, the judge's state and what it said."""

    task: str
    points: float
    most: float
    state: str
    message: str


class StudentError(Exception):
    """Something that a student's function raised; its own subclass has the name of the original."""


class Function:
    """A function of the student's, seen from the grader: a call is a question to the sandbox."""

    def __init__(self, talk: Talk, name: str):
        self._talk, self._name = talk, name

    def __call__(self, *args: object, **kwargs: object) -> object:
        """What it gives. Raises: what it raised, by name; LostError where the process ends."""
        fetch = functions(self._talk)
        told = self._talk.ask(fetch, do="call", name=self._name, args=list(args), kwargs=kwargs)
        if "error" in told:
            raise _raised(str(told["error"]), str(told.get("text", "")))
        return told.get("value")


def functions(talk: Talk) -> Callable[[str], Function]:
    """What stands here for things that stay in the sandbox."""
    return lambda name: Function(talk, name)


def _raised(kind: str, text: str) -> Exception:
    if kind == "NotImplementedError":  # the stub, as it was released
        return NotImplementedError(text)
    name = kind if kind.isidentifier() else "Exception"
    return type(name, (StudentError,), {})(text)


def grade(
    assignment: Assignment,
    answers: dict[str, str],
    *,
    limits: Limits | None = None,
    number: int = 0,
) -> list[Result]:
    """The result of each task of an assignment.

    answers: what stands in the stub's cell of each task handed in. number: of the process, where
    several submissions are graded at a time. A cell or an answer that ends the process costs its
    own task; the others are run afresh without it.
    Raises: SandboxError where there is no sandbox; LostError where a cell of the release itself
    ends the process.
    """
    limits, lost, results = limits or Limits(), set(), {}
    while len(results) < len(assignment.tasks):
        with student(limits, number=number) as talk:
            before: list[Task] = []  # handed in, and run in this process
            for task, ran in _programme(assignment, answers, lost, talk):
                try:
                    ran()
                    if task is not None and task.name not in results:
                        results[task.name] = _judged(task, talk)
                except LostError as error:
                    if task is not None:
                        results[task.name] = _result(task, "Not right", LOST.format(error))
                        lost.add(task.name)
                    elif before:  # they left something behind; they are judged, the rest goes on
                        lost |= {one.name for one in before}
                    else:
                        raise
                    break
                before += [] if task is None else [task]
    return [results[task.name] for task in assignment.tasks]


def _programme(
    assignment: Assignment, answers: dict[str, str], lost: set[str], talk: Talk
) -> Iterable[tuple[Task | None, Callable[[], object]]]:
    """The cells in order: the release's own as released, the stubs as handed in."""
    fetch = functions(talk)

    def running(source: str) -> Callable[[], object]:
        return lambda: talk.ask(fetch, do="run", source=source)

    for cell in assignment.setup:
        yield None, running(cell.source)
    for task in assignment.tasks:
        for cell in task.cells[:-1]:
            if cell.cell_type == "code":
                yield None, running(cell.source)
        if task.name not in lost:
            yield task, running(answers.get(task.name, task.stub.source))


def _judged(task: Task, talk: Talk) -> Result:
    """Ask for the answer and judge it here."""
    told = talk.ask(functions(talk), do="value", name=task.answer)
    if "error" in told:
        return _result(task, "Not yet", f"There is no {task.answer}.")
    verdict = exercises.check(task.name, told.get("value"))
    if talk.process.returncode is not None:  # it was lost while the judge called
        raise LostError("the process has ended")
    return _result(task, verdict.state, verdict.message)


def _result(task: Task, state: str, message: str) -> Result:
    points = task.points if state == "Right" else 0.0
    return Result(task.name, points, task.points, state, message)
