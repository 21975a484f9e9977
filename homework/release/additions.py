"""A problem set with what a teacher's private file adds to it (see `homework.private`)."""

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
from nbformat.v4 import new_code_cell, new_markdown_cell

from homework.private import ProblemSet
from homework.release.assignment import Assignment, Task, Test, names, needed

JINJA = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)


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
        lines = [
            at.lineno
            for at in traceback.extract_tb(error.__traceback__)
            if at.filename == str(file)
        ]
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
    for name, about, judge in own.tests:
        if tasks[name].free:
            raise ValueError(f"{name} is marked by a person; it can have no hidden test")
        if judge.__name__ in {test.name for test in tasks[name].tests}:
            raise ValueError(f"{name} has two tests named {judge.__name__}")
        test = Test(judge.__name__, about["points"], _with(judge, values), True, about["says"])
        tasks[name] = replace(tasks[name], tests=(*tasks[name].tests, test))
    in_order = sorted(tasks, key=lambda name: int(name.partition(".")[2]))
    kept = [tasks[name] for name in in_order if name not in own.left_out]
    for task in kept:
        if not task.points > 0:
            raise ValueError(f"task {task.name} has no points; give it a hidden test, or a rubric")
    if not kept:
        raise ValueError("it leaves out all tasks")
    used = _used(own)
    answers = [text for task in kept for text, _ in task.rubric]
    answers += [task.solution for task in kept]
    return replace(
        assignment,
        setup=tuple(needed(list(cells), kept)) if cells else assignment.setup,
        tasks=tuple(kept),
        secrets=(*assignment.secrets, file.read_text("utf-8"), *answers),
        drawn=tuple((name, value, name in used) for name, value in values.items()),
    )


def _used(own: ProblemSet) -> set[str]:
    """The names of drawn numbers that stand in a text or are asked for by a test."""
    texts = (text for made in own.tasks.values() for text in made["texts"].values())
    used = {name for _, _, judge in own.tests for name in inspect.signature(judge).parameters}
    return used.union(*(jinja2.meta.find_undeclared_variables(JINJA.parse(t)) for t in texts))


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
    texts = {key: filled(text, values).strip() for key, text in made["texts"].items()}
    number = name.replace(".", "-")
    if made["rubric"]:
        stub = new_markdown_cell(texts["stub"], id=f"stub-{number}")
    else:
        stub = new_code_cell(texts["stub"], id=f"stub-{number}")
        gives = {
            key: _gives(texts[key], f"the {key} of {name}")
            for key in ("stub", "given", "check", "solution")
        }
        if made["answer"] not in gives["stub"]:
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


def _gives(source: str, whose: str) -> set[str]:
    """The names that a cell defines. Raises: ValueError where it is no Python."""
    try:
        return names(new_code_cell(source))[0]
    except SyntaxError as error:
        raise ValueError(f"{whose} is no Python: {error.msg}, {error.text or source!r}") from error


def filled(text: str, values: dict) -> str:
    """A text with what was drawn in the place of its {{ names }}. Raises: ValueError for others."""
    try:
        return JINJA.from_string(text).render(values)
    except jinja2.TemplateError as error:
        raise ValueError(f"{error}, in {text.strip()[:60]!r}; drawn are {sorted(values)}") from None
