"""What a teacher adds to a problem set and keeps to themselves: tests, tasks, numbers of a course.

A private folder has a file for each chapter that has additions, such as 05.py, with a
`ProblemSet` named `own`; homework/private_example has four to start from. What it draws comes
from a seed, so that each course has numbers of its own:

    own = ProblemSet()

    @own.draw
    def numbers(rng):
        return {"width": rng.choice([5, 6, 7])}

    @own.hidden("05.1", points=1, says="keys of another width")
    def other_width(answer, width): ...

A test takes the student's answer and, by name, what was drawn; texts have it as {{ width }}.
"""

import random
from collections.abc import Callable
from typing import Any

FREE = "*Write your answer here.*"
MOST_POINTS = 1000  # of a test


class ProblemSet:
    """A teacher's additions to the exercises of a chapter."""

    def __init__(self) -> None:
        self.draws: list[Callable] = []
        self.tests: list[tuple[str, dict, Callable]] = []
        self.tasks: dict[str, dict] = {}
        self.left_out: set[str] = set()

    def draw(self, function: Callable[[random.Random], dict[str, Any]]) -> Callable:
        """Register a function that draws numbers of a course, as a dict by name."""
        self.draws.append(function)
        return function

    def hidden(self, task: str, *, points: float, says: str = "") -> Callable:
        """Register a test that students do not see; `says` is all that their feedback tells of it.

        The test takes an answer and, by name, what was drawn. It returns nothing when the answer
        is right and raises `Wrong` with a word for the teacher when it is not.
        """
        _count(points, f"hidden({task!r})")

        def register(judge: Callable) -> Callable:
            self.tests.append((task, {"points": points, "says": says}, judge))
            return judge

        return register

    def task(
        self,
        name: str,
        *,
        question: str,
        stub: str,
        answer: str,
        given: str = "",
        check: str = "",
        solution: str = "",
    ) -> None:
        """Add a task; its points come from its hidden tests.

        question, stub, given (a cell before the stub), check (a cell that students run) and
        solution (a right answer, to try the tests with) are texts with {{ what is drawn }}.
        answer: the name that the stub defines.
        """
        texts = {
            "question": question,
            "given": given,
            "stub": stub,
            "check": check,
            "solution": solution,
        }
        self.tasks[name] = {"texts": texts, "answer": answer, "rubric": ()}

    def free(self, name: str, *, question: str, rubric: dict[str, float]) -> None:
        """Add a question that a person marks: what they look for, and the points of each."""
        for points in rubric.values():
            _count(points, f"the rubric of {name}")
        self.task(name, question=question, stub=FREE, answer="")
        self.tasks[name]["rubric"] = tuple(rubric.items())

    def leave_out(self, *tasks: str) -> None:
        """Leave out tasks of the book, whose names may then be those of tasks of yours."""
        self.left_out |= set(tasks)


def _count(points: float, whose: str) -> None:
    if type(points) not in (int, float) or not 0 < points <= MOST_POINTS:
        raise ValueError(
            f"{whose}: points must be a number above 0, at most {MOST_POINTS}, got {points!r}"
        )
