"""Write the student edition of a problem set, and prove that nothing leaked.

    python -m homework.release --chapter 05 --out course [--seed TEXT] [--private FOLDER]
                               [--site URL]

(`make homework CHAPTER=05 OUT=course` is short for it.) It writes into the folder of the course:

    05.ipynb   the student edition: hand this out
    05.json    what was released, for the grader: keep it

The edition is made cell by cell from what students may see; then the file itself is searched for
what they may not. Where there is a sandbox, the solutions are graded, and so is the empty edition.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from homework import grading, sandbox
from homework.assignment import QUESTION, ROOT, Assignment, Task, assignment, chapter_file
from homework.files import write
from homework.private import with_private

SHORTEST = 12  # characters of a line that tells anything
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
CELL_KEYS = {
    "code": {"id", "cell_type", "metadata", "source", "outputs", "execution_count"},
    "markdown": {"id", "cell_type", "metadata", "source"},
}
METADATA = {"homework", "nbgrader", "tags", "editable", "deletable"}
ABOUT = """# Problem set {chapter}: {title}

{count} exercises, {points:g} points. Write your answers into the cells that ask for them, and run
the check below each, where there is one: it says what is wrong, not what is right. You may add
cells wherever you need them. Run the cells from the top; a check stops "run all" until its exercise
is done.

When you hand in, hand in this notebook as a file that ends in `.ipynb` (in Colab: File, Download).
It is run again without a network, and the cells that you were given are run as they were given to
you."""
STUDENT = 'student = ""  # your name or number, as your course knows you'


class LeakError(ValueError):
    """The student edition holds what students may not see; says what and where."""


@dataclass(frozen=True)
class Course:
    """How an assignment was released: what the grader has to know to make it again."""

    chapter: str
    seed: str = ""
    private: str = ""
    edition: str = ""
    site: str = ""
    tests: str = ""  # the fingerprint of those that were tried on the solutions

    def assignment(self) -> Assignment:
        """The problem set, with the private part. Raises: ValueError as `with_private` does."""
        notebook = chapter_file(self.chapter)
        found = assignment(notebook)
        if not self.private:
            return found
        cells = nbformat.read(notebook, as_version=4).cells
        first = next(at for at, cell in enumerate(cells) if QUESTION.search(cell.source))
        return with_private(found, Path(self.private), self.seed, cells[1:first])


def fingerprint(course: Course, of: Assignment) -> str:
    """Changes with the questions, the chapter's judges, the private file and what it draws."""
    exercises = ROOT / "helpers" / "exercises"
    files = [exercises / "verdict.py", exercises / f"chapter{of.chapter}.py"]
    if course.private:
        files.append(Path(course.private) / f"{of.chapter}.py")
    told = [course.seed, edition(of).metadata["homework"]["edition"], *of.secrets]
    told += [path.read_text("utf-8") for path in files if path.exists()]
    told += [f"{task.name}/{test.name}/{test.points}" for task in of.tasks for test in task.tests]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()


# ---------------------------------------------------------------- the edition


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
    question, _, rest = source[QUESTION.search(source).start() :].partition("\n\n")
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


def _cell(cell: NotebookNode, name: str, kind: str, task: Task | None = None, source="") -> dict:
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
    by_hand = kind == "stub" and task.free
    told = {
        "schema_version": 3, "task": False, "grade_id": name.replace("stub", "exercise"),
        "locked": kind in ("given", "check"), "solution": kind in ("stub", "student"),
        "grade": kind == "check" or by_hand,
    }  # fmt: skip
    if by_hand:
        told["points"] = task.points
    elif kind == "check":
        told["points"] = sum(test.points for test in task.tests if not test.hidden)
    return told


# ---------------------------------------------------------------- the proof


def leaks(notebook: bytes, of: Assignment, released: NotebookNode) -> list[str]:
    """What a written edition holds and should not, a sentence each; none where all is well.

    Its structure is held to a list of what may be there, its texts to the edition as made, and
    every text in it, wherever it stands, to the lines of the solutions and of the private file.
    """
    found = json.loads(notebook)
    complaints = [f"the notebook has {key}" for key in _beyond(found, _TOP)]
    allowed = {"kernelspec", "language_info", "homework"}
    complaints += [f"its metadata has {key}" for key in _beyond(found["metadata"], allowed)]
    for cell in found["cells"]:
        complaints += [f"cell {cell.get('id')}: {fault}" for fault in _structure(cell)]
    sources = [cell.source for cell in released.cells]
    if [_joined(cell["source"]) for cell in found["cells"]] != sources:
        complaints.append("its cells are not those of the edition")
    secret = _secret_lines(of)
    for text in map(_squeezed, _texts(found)):
        held = [line for line in secret if line in text]
        complaints += [f"a line of a solution or a hidden test: {line}" for line in held]
    return complaints


_TOP = {"cells", "metadata", "nbformat", "nbformat_minor"}


def _beyond(found: dict, allowed: set[str]) -> list[str]:
    return sorted(set(found) - allowed)


def _structure(cell: dict) -> Iterator[str]:
    for key in _beyond(cell, CELL_KEYS.get(cell["cell_type"], set())):
        yield f"it has {key}"
    for key in _beyond(cell["metadata"], METADATA):
        yield f"its metadata has {key}"
    if cell.get("outputs") or cell.get("execution_count") is not None:
        yield "it has an output"


def _texts(value: object) -> Iterator[str]:
    """Every text in a notebook, names of entries too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        if value and all(isinstance(part, str) for part in value):
            yield "".join(value)
        yield from (text for part in value for text in _texts(part))
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _secret_lines(of: Assignment) -> set[str]:
    """Lines of what is secret that tell anything and do not stand in what students are given."""
    given = [*of.setup, of.install, *(cell for task in of.tasks for cell in task.cells)]
    texts = [cell.source for cell in given] + [task.check for task in of.tasks]
    public = _squeezed("\n".join(texts))
    secret = {_squeezed(line) for text in of.secrets for line in text.splitlines()}
    return {line for line in secret if len(line) >= SHORTEST and line not in public}


# ---------------------------------------------------------------- the command


def release(course: Course, out: Path) -> tuple[Path, Assignment]:
    """Write the edition and the course's record into a folder; the tests were `tried` before.

    Raises: ValueError, LeakError.
    """
    of = course.assignment()
    made = edition(of)
    text = nbformat.writes(made) + "\n"
    if found := leaks(text.encode(), of, made):
        raise LeakError(f"the student edition of {of.chapter} leaks: " + "; ".join(found))
    out.mkdir(parents=True, exist_ok=True)
    told = {"edition": made.metadata["homework"]["edition"], "tests": fingerprint(course, of)}
    record = replace(course, **told)
    write(out / f"{of.chapter}.json", json.dumps(vars(record), indent=1) + "\n")
    write(out / f"{of.chapter}.ipynb", text)
    return out / f"{of.chapter}.ipynb", of


def tried(of: Assignment) -> str:
    """Grade the solutions, and the edition with nothing filled in; says what came of it.

    Raises: ValueError where a solution does not get all points or a stub gets any.
    """
    try:
        sandbox.check()
    except sandbox.SandboxError as error:
        return f"its tests were not tried: {error}"
    solved = {task.name: [task.solution] for task in of.tasks if task.solution}
    for what, answers, right in (
        ("solution", solved, lambda r: r.points == r.most or r.task not in solved),
        ("stub", {task.name: [task.stub.source] for task in of.tasks}, lambda r: r.points == 0),
    ):
        for result in grading.grade(of, answers):
            if not right(result):
                raise ValueError(
                    f"the {what} of {result.task} gets {result.points:g} of {result.most:g} points "
                    f"in the test {result.test}: {result.message or result.state}"
                )
    open_ = [task.name for task in of.tasks if not task.solution and not task.free]
    told = "the solutions get all points, empty stubs none"
    return told + (f" (no solution given for {', '.join(open_)})" if open_ else "")


def main(arguments: list[str] | None = None) -> int:
    """The command; see the head of this module."""
    shown = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("homework.release", description=__doc__, formatter_class=shown)
    parser.add_argument("--chapter", required=True, help="two digits, such as 05")
    parser.add_argument("--out", required=True, help="the folder of the course")
    parser.add_argument("--seed", default="", help="any text; draws the numbers of this course")
    parser.add_argument("--private", default="", help="your folder of hidden tests and tasks")
    parser.add_argument("--site", default="", help="where feedback links to: the book's address")
    told = parser.parse_args(arguments)
    if not told.out:
        print("homework: --out (OUT=) is missing: the folder of the course", file=sys.stderr)
        return 2
    private = str(Path(told.private).resolve()) if told.private else ""
    try:
        course = Course(told.chapter, told.seed, private, site=told.site)
        said = tried(course.assignment())
        path, of = release(course, Path(told.out))
    except (ValueError, OSError, RuntimeError) as error:
        print(f"homework: {error}", file=sys.stderr)
        return 2
    if private and not (Path(private) / f"{of.chapter}.py").exists():
        print(f"note: there is no {of.chapter}.py in {private}; nothing of yours is in it")
    print(f"{path}: {len(of.tasks)} exercises, {of.points:g} points")
    if of.drawn:
        unused = {True: "", False: " (in no text and no test)"}
        told_of = (f"{name} = {value}{unused[used]}" for name, value, used in of.drawn)
        print("drawn: " + ", ".join(told_of))
    if of.drawn and not told.seed:
        print("note: there is no SEED; every course without one has these numbers")
    if "/OWNER/" in of.install.source:
        print("note: the book's address in the first cell is a place-holder until it has a home")
    print(f"nothing leaked; {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
