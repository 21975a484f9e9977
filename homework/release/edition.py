"""The student edition of a problem set, made cell by cell from what students may see."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace

import nbformat
import numpy as np
from nbformat import NotebookNode

from helpers.exercises import SPOKEN, VALUES, answers, drawn, template
from homework.release.assignment import QUESTION, ROOT, Assignment, Task, task_of
from homework.release.carried import first_cell, without_packed
from homework.release.sections import section

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
ABOUT = """# Problem set {chapter}: {title}

{count} exercises, {points:g} points. Write your answers into the cells that ask for them, and run
the check below each, where there is one: it says what is wrong, not what is right. You may add
cells wherever you need them. Run the cells one by one from the top (Shift+Enter).

When you hand in, hand in this notebook as a file that ends in `.ipynb` (in Colab: File, Download).
It is run again without a network and without a graphics processor, and the cells that you were
given are run as they were given to you. Your answers may use what Python {python} has; they may
import {packages}; other packages may not be there. A cell or a call of your
function may take {answer} seconds, the cells of an exercise {task} seconds together. An answer may
hold about {arrays:,} numbers in arrays, {lists:,} in lists, and {entries:,} entries in sets and
dictionaries.

They may use the book's functions (`helpers`), but for those that do what an exercise asks for:
these cannot be imported where your notebook is run.
"""
ANSWER, TASK = 20, 60  # seconds; what students are told of the sandbox's limits
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEPENDENCIES = [re.split("[<>=]", one)[0] for one in PROJECT["dependencies"]]
PACKAGES = {"ipython": "IPython", "matplotlib": "Matplotlib", "numpy": "NumPy", "torch": "PyTorch"}
OWN = """from helpers.exercises import numbers_of, question

numbers_of(student, course="{}")"""
ASKS = "Run the next cell: it asks this question, with numbers of your own."
STUDENT = 'student = ""  # your name or number, as your course knows you'


def edition(assignment: Assignment) -> NotebookNode:
    """The student edition of an assignment."""
    about = ABOUT.format(
        chapter=assignment.chapter,
        title=assignment.title,
        count=len(assignment.tasks),
        points=assignment.points,
        **_allowed(),
        answer=ANSWER,
        task=TASK,
        arrays=answers.MOST_IN_ARRAYS,
        lists=answers.MOST_IN_LISTS,
        entries=answers.MOST_ENTRIES,
    )
    install = nbformat.v4.new_code_cell(first_cell(DEPENDENCIES))
    cells = [
        _cell(nbformat.v4.new_markdown_cell(about), "hw-title", "text"),
        _cell(install, "install", "given"),
        _cell(nbformat.v4.new_code_cell(STUDENT), "hw-student", "student"),
        *_own_numbers(assignment),
        *(_cell(cell, cell.id, "given") for cell in assignment.setup),
        *(cell for task in assignment.tasks for cell in _task_cells(task, assignment)),
    ]
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    notebook.nbformat_minor = 5
    notebook.cells[1].metadata["cellView"] = "form"  # Colab shows its title alone
    data = without_packed(json.dumps(notebook, sort_keys=True)).encode()
    notebook.metadata["homework"] = {
        "assignment": assignment.chapter,
        "edition": hashlib.sha256(data).hexdigest()[:16],
    }
    return notebook


def _allowed() -> dict[str, str]:
    """The oldest Python that the book runs on, and what an answer can import, in words."""
    names = [PACKAGES[name] for name in DEPENDENCIES if name in PACKAGES]
    packages = f"its own library, {', '.join(names[:-1])} and {names[-1]}"
    return {"python": PROJECT["requires-python"].strip(">= "), "packages": packages}


def edition_of(assignment: Assignment, student: str, *, solved: bool = False) -> NotebookNode:
    """The edition of one student, with their name and their questions; or with right answers."""
    made = edition(assignment)
    tasks = tuple(task_of(task, assignment.course, student) for task in assignment.tasks)
    kept = edition(replace(assignment, tasks=tasks)).cells
    kept[3:3] = _own_numbers(assignment)
    kept[2].source = STUDENT.replace('""', json.dumps(student, ensure_ascii=False), 1)
    stubs = {c.metadata.homework.task: c for c in kept if c.metadata.homework.kind == "stub"}
    for task in (task for task in assignment.tasks if solved):
        if task.own:
            right = VALUES[task.name].right(**drawn(task.name, assignment.course, student))
            stubs[task.name].source = f"{task.answer} = {_shown(right)}"
        if task.name in SPOKEN:
            said, listen_for = SPOKEN[task.name]
            text = f"**To ask aloud** ({task.name}). {said} **Listen for:** {listen_for}"
            kept.append(_cell(nbformat.v4.new_markdown_cell(text), "spoken", "text"))
    made.cells = kept
    return made


def _shown(answer: object) -> str:
    """A right answer as source, its arrays as lists."""
    if isinstance(answer, tuple):
        return f"({', '.join(map(_shown, answer))})"
    return repr(answer.tolist() if isinstance(answer, np.ndarray | np.generic) else answer)


def _own_numbers(assignment: Assignment) -> Iterator[NotebookNode]:
    """The cell that draws a student's numbers, where there are any."""
    if assignment.course and any(task.own for task in assignment.tasks):
        cell = nbformat.v4.new_code_cell(OWN.format(assignment.course))
        yield _cell(cell, "own-numbers", "given")


def _task_cells(task: Task, assignment: Assignment) -> Iterator[NotebookNode]:
    number, site = task.name.replace(".", "-"), assignment.site
    cells = task.cells
    if assignment.course and task.own and VALUES[task.name].texts:
        text = template(task.name, _from_question(cells[0].source))
        asks = f'question("{task.name}", r"""\n{text}\n""")'
        head = f"> **Exercise {task.name.partition('.')[2]}.** {ASKS}"
        first = nbformat.v4.new_markdown_cell(head, id=cells[0].id)
        cells = (first, nbformat.v4.new_code_cell(asks, id=f"asked-{number}"), *cells[1:])
    for at, cell in enumerate(cells):
        if cell is task.stub:
            yield _cell(cell, f"stub-{number}", "stub", task)
        elif cell.cell_type == "code":
            yield _cell(cell, cell.id, "given", task)
        else:
            source = cell.source if at else _asked(cell.source, task, site)
            yield _cell(cell, cell.id, "text", task, source=source)
    if task.check:
        check = nbformat.v4.new_code_cell(_held(task.check))
        yield _cell(check, f"check-{number}", "check", task)


def _asked(source: str, task: Task, site: str) -> str:
    """The question without what a chapter says before its first exercise, and with its points."""
    question, _, rest = _from_question(source).partition("\n\n")
    hidden = sum(test.points for test in task.tests if test.hidden)
    note = f"{task.points:g} point{'s' if task.points != 1 else ''}"
    if task.free:
        note += ", marked by a person"
    elif hidden:
        part = "all" if hidden == task.points else f"{hidden:g}"
        note += f", {part} of them for tests that you do not see"
    if found := section(task.name, site):
        is_link = found.url.startswith("http")
        title = f"[{found.title}]({found.url})" if is_link else f"*{found.title}*"
        note += f"; the book's section: {title}"
    return f"{question}\n>\n> ({note})\n\n{rest}".rstrip() + "\n"


def _from_question(source: str) -> str:
    """A question's cell without what a chapter says before its first exercise."""
    return source[next(QUESTION.finditer(source)).start() :]


def _held(check: str) -> str:
    """A check of the book's form, made to raise where the answer is not right."""
    source = check.rstrip()
    book = source.startswith("exercises.check(") and source.endswith(")")
    return f"{source}.hold()" if book else source


def _cell(
    cell: NotebookNode, name: str, kind: str, task: Task | None = None, source=""
) -> NotebookNode:
    """A cell made anew: of the one it is made from only type and source are taken."""
    new = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    made = new[cell.cell_type](source or cell.source, id=name)
    homework = {"kind": kind, "task": task.name if task else None}
    made.metadata["homework"] = homework | {"answer": task.answer if task else None}
    if cell.cell_type == "code" or kind == "stub":
        made.metadata["nbgrader"] = _nbgrader(name, kind, task)
    if kind not in ("stub", "student"):
        made.metadata.update(editable=kind == "given", deletable=False)
    tags = {"given": ["given"], "stub": ["exercise"], "check": ["check", "raises-exception"]}
    made.metadata["tags"] = tags.get(kind, [])
    if made.source.startswith("question("):  # is read where it is shown; so in Colab
        made.metadata.update(jupyter={"source_hidden": True}, cellView="form")
    return made


def _nbgrader(name: str, kind: str, task: Task | None) -> dict:
    """What nbgrader wants to know of a cell (its schema, version 3)."""
    by_hand = task is not None and kind == "stub" and task.free
    nbgrader = {
        "schema_version": 3,
        "task": False,
        "grade_id": name.replace("stub", "exercise"),
        "locked": kind in ("given", "check"),
        "solution": kind in ("stub", "student"),
        "grade": kind == "check" or by_hand,
    }
    if task is not None and by_hand:
        nbgrader["points"] = task.points
    elif task is not None and kind == "check":
        nbgrader["points"] = sum(test.points for test in task.tests if not test.hidden)
    return nbgrader
