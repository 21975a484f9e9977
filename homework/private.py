"""What a teacher adds to a problem set and keeps to themselves: tests, tasks, numbers of a course.

A private folder has a file for each chapter that has additions, such as 05.py, with a
`ProblemSet` named `own`; homework/template/05.py is one to start from. What it draws comes from a
seed, so that each course has numbers of its own:

    own = ProblemSet()

    @own.draw
    def numbers(rng):
        return {"width": rng.choice([5, 6, 7])}

    @own.hidden("05.1", points=1, says="keys of another width")
    def other_width(answer, width): ...

A test takes the student's answer and, by name, what was drawn; texts have it as {{ width }}.
"""

import hashlib
import inspect
import random
import re
import runpy
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import nbformat
from nbformat import NotebookNode

from homework.assignment import Assignment, Task, Test, names, needed

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
        self, name: str, *, question: str, stub: str, answer: str, given: str = "",
        check: str = "", solution: str = "",
    ) -> None:  # fmt: skip
        """Add a task, or replace the book's of that name; its points come from its hidden tests.

        question, stub, given (a cell before the stub), check (a cell that students run) and
        solution (a right answer, to try the tests with) are texts with {{ what is drawn }}.
        answer: the name that the stub defines.
        """
        texts = {"question": question, "given": given, "stub": stub}
        self.tasks[name] = {"texts": texts, "answer": answer, "check": check, "solution": solution}

    def free(self, name: str, *, question: str, rubric: dict[str, float]) -> None:
        """Add a question that a person marks: what they look for, and the points of each."""
        for points in rubric.values():
            _count(points, f"the rubric of {name}")
        texts = {"question": question, "given": "", "stub": FREE}
        self.tasks[name] = {"texts": texts, "rubric": tuple(rubric.items())}

    def leave_out(self, *tasks: str) -> None:
        """Leave out tasks of the book."""
        self.left_out |= set(tasks)


def _count(points: object, whose: str) -> None:
    if type(points) not in (int, float) or not 0 < points <= MOST_POINTS:
        raise ValueError(
            f"{whose}: points must be a number above 0, at most {MOST_POINTS}, got {points!r}"
        )


def with_private(assignment: Assignment, folder: Path, seed: str, cells=()) -> Assignment:
    """The assignment with what a private folder has for its chapter; itself where that is nothing.

    seed: of the course, any text. cells: the chapter's, of which new tasks may need some.
    Raises: ValueError where the folder or the file does not fit, or the file raises something.
    """
    if not folder.is_dir():
        raise ValueError(f"private must be a folder, got {str(folder)!r}")
    file = folder / f"{assignment.chapter}.py"
    if not file.exists():
        return assignment
    own = _called(runpy.run_path, str(file), file=file).get("own")
    if not isinstance(own, ProblemSet):
        raise ValueError(f"{file} must have a ProblemSet named own, it has {own!r}")
    values = _called(drawn, own, seed, assignment.chapter, file=file)
    return _called(_merged, assignment, own, values, cells, file, file=file)


def _called(function: Callable, *args: object, file: Path) -> Any:
    """What a function gives; what a teacher's file raises in it is told with its line."""
    try:
        return function(*args)
    except SyntaxError as error:
        raise ValueError(f"{file}, line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        lines = [at.lineno for at in traceback.extract_tb(error.__traceback__)
                 if at.filename == str(file)]  # fmt: skip
        where = f", line {lines[-1]}" if lines else ""
        said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{file}{where}: {said}") from error


def drawn(own: ProblemSet, seed: str, chapter: str) -> dict[str, Any]:
    """What a problem set draws for a course; the same seed gives the same.

    Raises: ValueError where a function that draws gives no dict.
    """
    digest = hashlib.sha256(f"{seed}/{chapter}".encode()).digest()
    rng = random.Random(int.from_bytes(digest[:8]))
    values: dict[str, Any] = {}
    for function in own.draws:
        found = function(rng)
        if not isinstance(found, dict):
            name = getattr(function, "__name__", "draw")
            raise ValueError(f"{name} must return what it draws as a dict by name, got {found!r}")
        values |= found
    return values


def _merged(assignment: Assignment, own: ProblemSet, values: dict, cells, file: Path) -> Assignment:
    tasks = {task.name: task for task in assignment.tasks}
    _known(own.left_out, tasks, "leave_out")
    for name, made in own.tasks.items():
        tasks[name] = _made(name, made, values, assignment.chapter)
    _known({task for task, _, _ in own.tests}, tasks, "hidden")
    for name, told, judge in own.tests:
        if tasks[name].free:
            raise ValueError(f"{name} is marked by a person; it can have no hidden test")
        if judge.__name__ in {test.name for test in tasks[name].tests}:
            raise ValueError(f"{name} has two tests named {judge.__name__}")
        test = Test(judge.__name__, told["points"], _with(judge, values), True, told["says"])
        tasks[name] = replace(tasks[name], tests=(*tasks[name].tests, test))
    kept = [tasks[name] for name in sorted(tasks, key=_place) if name not in own.left_out]
    for task in kept:
        if not task.points > 0:
            raise ValueError(f"task {task.name} has no points; give it a hidden test, or a rubric")
    if not kept:
        raise ValueError("it leaves out all tasks")
    used, rubrics = _used(own), "\n".join(text for task in kept for text, _ in task.rubric)
    solutions = "\n".join(task.solution for task in kept)
    return replace(
        assignment,
        setup=tuple(needed(list(cells), kept)) if cells else assignment.setup,
        tasks=tuple(kept),
        secrets=(*assignment.secrets, file.read_text("utf-8"), rubrics, solutions),
        drawn=tuple((name, value, name in used) for name, value in values.items()),
    )


def _used(own: ProblemSet) -> set[str]:
    """The names of drawn numbers that stand in a text or are asked for by a test."""
    used = {name for _, _, judge in own.tests for name in inspect.signature(judge).parameters}
    for made in own.tasks.values():
        for text in (*made["texts"].values(), made.get("check", ""), made.get("solution", "")):
            used |= jinja2.meta.find_undeclared_variables(jinja2.Environment().parse(text))
    return used


def _place(name: str) -> int:
    return int(name.partition(".")[2])


def _known(names: set[str], tasks: dict, where: str) -> None:
    for name in sorted(names - set(tasks)):
        raise ValueError(f"{where}: there is no task {name!r}; there are {sorted(tasks)}")


def _with(judge: Callable, values: dict) -> Callable[[object], None]:
    """The judge with what it asks for of what was drawn."""
    wanted = list(inspect.signature(judge).parameters)[1:]
    for name in wanted:
        if name not in values:
            raise ValueError(f"{judge.__name__}: {name} is not drawn; {sorted(values)} are")

    def judged(answer: object) -> None:
        said = judge(answer, **{name: values[name] for name in wanted})
        if said is not None:  # such as False, which would count as right
            raise TypeError(
                f"{judge.__name__} must raise Wrong or return nothing, it gave {said!r}"
            )

    return judged


def _made(name: str, made: dict, values: dict, chapter: str) -> Task:
    if not re.fullmatch(rf"{chapter}\.\d*[1-9]", name):
        raise ValueError(
            f"a task of chapter {chapter} has a name such as {chapter}.8, not {name} (and none "
            f"ends in 0: a spreadsheet takes {chapter}.10 for {chapter}.1)"
        )
    texts = {key: filled(text, values) for key, text in made["texts"].items()}
    stub = nbformat.v4.new_code_cell(texts["stub"])
    if "rubric" not in made:
        for what in ("stub", "given"):
            _is_python(texts[what], f"the {what} of {name}")
        for what in ("check", "solution"):
            _is_python(filled(made[what], values), f"the {what} of {name}")
    if "rubric" not in made and made["answer"] not in names(stub)[0]:
        raise ValueError(f"the stub of {name} must define {made['answer']}, got {texts['stub']!r}")
    number, free = name.replace(".", "-"), "rubric" in made
    question = f"> **Exercise {name.partition('.')[2]}.** {texts['question'].strip()}"
    cells = [_cell(nbformat.v4.new_markdown_cell, f"question-{number}", question)]
    if texts["given"].strip():
        cells.append(_cell(nbformat.v4.new_code_cell, f"given-{number}", texts["given"].strip()))
    kind = nbformat.v4.new_markdown_cell if free else nbformat.v4.new_code_cell
    cells.append(_cell(kind, f"stub-{number}", texts["stub"].strip()))
    return Task(
        name=name,
        answer=made.get("answer", ""),
        cells=tuple(cells),
        tests=(),
        check=filled(made.get("check", ""), values).strip(),
        solution=filled(made.get("solution", ""), values).strip(),
        rubric=made.get("rubric", ()),
    )


def _is_python(source: str, whose: str) -> None:
    try:
        names(nbformat.v4.new_code_cell(source))
    except SyntaxError as error:
        raise ValueError(f"{whose} is no Python: {error.msg}, {error.text or source!r}") from error


def _cell(new: Callable, name: str, source: str) -> NotebookNode:
    return new(source, id=name)


def filled(text: str, values: dict) -> str:
    """A text with what was drawn in the place of its {{ names }}. Raises: ValueError for others."""
    try:
        strict = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
        return strict.from_string(text).render(values)
    except jinja2.TemplateError as error:
        raise ValueError(f"{error}, in {text.strip()[:60]!r}; drawn are {sorted(values)}") from None
