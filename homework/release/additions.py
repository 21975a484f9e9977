"""A problem set with what a teacher's private file adds to it (see `homework.private`)."""

import inspect
import re
import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
from nbformat.v4 import new_code_cell, new_markdown_cell

from helpers.exercises import VALUES, generator
from homework.private import ProblemSet
from homework.release.assignment import Assignment, Task, Test, names, needed

JINJA = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)


def with_private(assignment: Assignment, folder: Path, seed: str, cells=()) -> Assignment:
    """The assignment with what a private folder has for its chapter; itself where that is nothing.

    seed: of the course, any text. cells: the chapter's, of which new tasks may need some.
    Raises: ValueError where the folder or the file does not fit, and whatever the file raises.
    """
    if not folder.is_dir():
        raise ValueError(f"private must be a folder, got {str(folder)!r}")
    file = folder / f"{assignment.chapter}.py"
    if not file.exists():
        return assignment
    own = runpy.run_path(str(file)).get("own")
    if not isinstance(own, ProblemSet):
        raise ValueError(f"{file} must have a ProblemSet named own, it has {own!r}")
    return _merged(assignment, own, drawn(own, seed, assignment.chapter), cells, file)


def drawn(own: ProblemSet, seed: str, chapter: str) -> dict[str, Any]:
    """What a problem set draws for a course; the same seed gives the same."""
    rng = generator(seed, chapter)
    values: dict[str, Any] = {}
    for function in own.draws:
        values |= function(rng)
    return values


def _merged(assignment: Assignment, own: ProblemSet, values: dict, cells, file: Path) -> Assignment:
    tasks = {task.name: task for task in assignment.tasks}
    _known(own.left_out, tasks, "leave_out")
    tasks = {name: task for name, task in tasks.items() if name not in own.left_out}
    for name, made in own.tasks.items():
        if name in tasks:
            raise ValueError(f"{name} is an exercise of the book; to replace it, leave it out, too")
        tasks[name] = _made(name, made, values, assignment.chapter)
    _known({task for task, _, _ in own.tests}, tasks, "hidden")
    for name, about, judge in own.tests:
        if tasks[name].free:
            raise ValueError(f"{name} is marked by a person; it can have no hidden test")
        if judge.__name__ in {test.name for test in tasks[name].tests}:
            raise ValueError(f"{name} has two tests named {judge.__name__}")
        known = (VALUES[name].book if tasks[name].own else {}) | values
        test = Test(judge.__name__, about["points"], _with(judge, known), True, about["says"])
        tasks[name] = replace(tasks[name], tests=(*tasks[name].tests, test))
    in_order = sorted(tasks, key=lambda name: int(name.partition(".")[2]))
    kept = [tasks[name] for name in in_order]
    for task in kept:
        if not task.points > 0:
            raise ValueError(f"task {task.name} has no points; give it a hidden test, or a rubric")
    if not kept:
        raise ValueError("it leaves out all tasks")
    answers = [text for task in kept for text, _ in task.rubric]
    answers += [task.solution for task in kept]
    return replace(
        assignment,
        setup=tuple(needed(list(cells), kept)) if cells else assignment.setup,
        tasks=tuple(kept),
        secrets=(*assignment.secrets, file.read_text("utf-8"), *answers),
        drawn=tuple(values.items()),
    )


def _known(names: set[str], tasks: dict, where: str) -> None:
    for name in sorted(names - set(tasks)):
        raise ValueError(f"{where}: there is no task {name!r}; there are {sorted(tasks)}")


def _with(judge: Callable, values: dict) -> Callable[..., None]:
    """The judge with what it asks for of what was drawn, for the course and for a student."""
    wanted = list(inspect.signature(judge).parameters)[1:]
    for name in wanted:
        if name not in values:
            raise ValueError(f"{judge.__name__}: {name} is not drawn; {sorted(values)} are")

    def judged(answer: object, **own: Any) -> None:
        said = judge(answer, **{name: (values | own)[name] for name in wanted})
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
    texts = {key: filled(text, values).strip() for key, text in made["texts"].items()}
    number = name.replace(".", "-")
    if made["rubric"]:
        stub = new_markdown_cell(texts["stub"], id=f"stub-{number}")
    else:
        stub = new_code_cell(texts["stub"], id=f"stub-{number}")
        for key in ("given", "check", "solution"):
            names(new_code_cell(texts[key]))  # which raises a SyntaxError
        if made["answer"] not in names(stub)[0]:
            raise ValueError(
                f"the stub of {name} must define {made['answer']}, got {texts['stub']!r}"
            )
    question = f"> **Exercise {name.partition('.')[2]}.** {texts['question']}"
    given = [new_code_cell(texts["given"], id=f"given-{number}")] if texts["given"] else []
    return Task(
        name=name,
        answer=made["answer"],
        cells=(new_markdown_cell(question, id=f"question-{number}"), *given, stub),
        tests=(),
        check=texts["check"],
        solution=texts["solution"],
        rubric=made["rubric"],
    )


def filled(text: str, values: dict) -> str:
    """A text with what was drawn in the place of its {{ names }}. Raises: ValueError for others."""
    try:
        return JINJA.from_string(text).render(values)
    except jinja2.TemplateError as error:
        raise ValueError(f"{error}, in {text.strip()[:60]!r}; drawn are {sorted(values)}") from None
