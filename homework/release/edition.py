"""The student edition of a problem set, made cell by cell from what students may see."""

import hashlib
import json
from collections.abc import Iterator

import nbformat
from nbformat import NotebookNode

from homework.release.assignment import QUESTION, Assignment, Task

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
ABOUT = """# Problem set {chapter}: {title}

{count} exercises, {points:g} points. Write your answers into the cells that ask for them, and run
the check below each, where there is one: it says what is wrong, not what is right. You may add
cells wherever you need them. Run the cells from the top; a check stops "run all" until its exercise
is done.

When you hand in, hand in this notebook as a file that ends in `.ipynb` (in Colab: File, Download).
It is run again without a network, and the cells that you were given are run as they were given to
you."""
STUDENT = 'student = ""  # your name or number, as your course knows you'


def edition(of: Assignment) -> NotebookNode:
    """The student edition of an assignment."""
    about = ABOUT.format(chapter=of.chapter, title=of.title, count=len(of.tasks), points=of.points)
    cells = [
        _cell(of.install, "install", "given", source=of.install.source.partition("\n")[2]),
        _cell(nbformat.v4.new_markdown_cell(about), "hw-title", "text"),
        _cell(nbformat.v4.new_code_cell(STUDENT), "hw-student", "student"),
        *(_cell(cell, cell.id, "given") for cell in of.setup),
        *(cell for task in of.tasks for cell in _task_cells(task)),
    ]
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    notebook.nbformat_minor = 5
    told = json.dumps(notebook, sort_keys=True).encode()
    notebook.metadata["homework"] = {
        "assignment": of.chapter, "edition": hashlib.sha256(told).hexdigest()[:16],
    }  # fmt: skip
    return notebook


def _task_cells(task: Task) -> Iterator[NotebookNode]:
    number = task.name.replace(".", "-")
    for at, cell in enumerate(task.cells):
        if cell is task.stub:
            yield _cell(cell, f"stub-{number}", "stub", task)
        elif cell.cell_type == "code":
            yield _cell(cell, cell.id, "given", task)
        else:
            source = cell.source if at else _asked(cell.source, task)
            yield _cell(cell, cell.id, "text", task, source=source)
    if task.check:
        check = nbformat.v4.new_code_cell(_held(task.check))
        yield _cell(check, f"check-{number}", "check", task)


def _asked(source: str, task: Task) -> str:
    """The question without what a chapter says before its first exercise, and with its points."""
    question, _, rest = source[next(QUESTION.finditer(source)).start() :].partition("\n\n")
    hidden = sum(test.points for test in task.tests if test.hidden)
    told = f"{task.points:g} point{'s' if task.points != 1 else ''}"
    if task.free:
        told += ", marked by a person"
    elif hidden:
        part = "all" if hidden == task.points else f"{hidden:g}"
        told += f", {part} of them for tests that you do not see"
    return f"{question}\n>\n> ({told})\n\n{rest}".rstrip() + "\n"


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
    told = {"kind": kind, "task": task.name if task else None}
    made.metadata["homework"] = told | {"answer": task.answer if task else None}
    if cell.cell_type == "code" or kind == "stub":
        made.metadata["nbgrader"] = _nbgrader(name, kind, task)
    if kind not in ("stub", "student"):
        made.metadata.update(editable=kind == "given", deletable=False)
    tags = {"given": ["given"], "stub": ["exercise"], "check": ["check", "raises-exception"]}
    made.metadata["tags"] = tags.get(kind, [])
    return made


def _nbgrader(name: str, kind: str, task: Task | None) -> dict:
    """What nbgrader wants to know of a cell (its schema, version 3)."""
    by_hand = task is not None and kind == "stub" and task.free
    told = {
        "schema_version": 3, "task": False, "grade_id": name.replace("stub", "exercise"),
        "locked": kind in ("given", "check"), "solution": kind in ("stub", "student"),
        "grade": kind == "check" or by_hand,
    }  # fmt: skip
    if task is not None and by_hand:
        told["points"] = task.points
    elif task is not None and kind == "check":
        told["points"] = sum(test.points for test in task.tests if not test.hidden)
    return told
