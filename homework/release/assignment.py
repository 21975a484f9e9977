"""A chapter's problem set: its exercises, and of its other cells only those they cannot do without.

An exercise is the four or more cells from its question to its solution. Which earlier cells they
need is found by names: a cell is needed if it is the one that gives a name which a needed cell
reads. A teacher's own tasks and tests are added by `homework.release.additions`.
"""

import dis
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import CodeType

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from helpers.chapters import BY_NUMBER, TAUGHT
from helpers.exercises import CHECKS, EXPLANATIONS, VALUES, Explanation, drawn, filled, template
from homework.private import FREE

ROOT = Path(__file__).resolve().parents[2]
QUESTION = re.compile(r"^> \*\*Exercise \d+\.", re.MULTILINE)
CHECK = re.compile(r"exercises\.check\(\s*\"([\d.]+)\",\s*(.+?)\s*\)\s*$", re.DOTALL)
SOLUTION = re.compile(
    r"### BEGIN SOLUTION\n(.*)### END SOLUTION\n"
    r"exercises\.check\(\s*\"[\d.]+\",\s*(.+?),\s*solution=True",
    re.DOTALL,
)


@dataclass(frozen=True)
class Test:
    """What a part of a task's points hangs on: a judge, which returns nothing for a right answer.

    hidden: students do not see it before they hand in, and its messages never; `says` is what
    their feedback may tell of it.
    """

    __test__ = False  # whatever its name, it is not one of pytest's

    name: str
    points: float
    judge: Callable[[object], None]
    hidden: bool = False
    says: str = ""


@dataclass(frozen=True)
class Task:
    """An exercise: its name such as "05.1", what is handed in, its cells, its tests.

    answer: the name that the student gives to what is handed in, "" for a free response. cells: of
    its question, in order, up to the stub. check: the source of the cell that students run, or "".
    solution: the source of a right answer, or "". rubric: of a free response, what a person looks
    for and the points of each; its solution is a good answer in words, or "". in_numpy: whether the
    question asks for NumPy. own: whether it may have numbers of each student.
    """

    name: str
    answer: str
    cells: tuple[NotebookNode, ...]
    tests: tuple[Test, ...]
    check: str = ""
    solution: str = ""
    rubric: tuple[tuple[str, float], ...] = ()
    in_numpy: bool = False
    own: bool = False

    @property
    def points(self) -> float:
        """Of all its tests, or of its rubric."""
        return sum(test.points for test in self.tests) + sum(points for _, points in self.rubric)

    @property
    def free(self) -> bool:
        """Whether a person marks it."""
        return bool(self.rubric)

    @property
    def stub(self) -> NotebookNode:
        """The cell that the student fills in."""
        return self.cells[-1]


@dataclass(frozen=True)
class Assignment:
    """The tasks of a chapter, and the cells that they need, in the notebook's order.

    secrets: what a student edition may not hold, as texts. drawn: numbers of the course: name and
    value. site: the address of the book, or "". course: with which students' own numbers are drawn,
    or "".
    """

    chapter: str
    title: str
    setup: tuple[NotebookNode, ...]
    tasks: tuple[Task, ...]
    secrets: tuple[str, ...] = ()
    drawn: tuple[tuple[str, object], ...] = ()
    site: str = ""
    course: str = ""

    @property
    def name(self) -> str:
        """As platforms know it."""
        return f"Problem set {self.chapter}"

    @property
    def points(self) -> float:
        """Of all tasks."""
        return sum(task.points for task in self.tasks)


def task_of(task: Task, course: str, student: str) -> Task:
    """The task with a student's own question, where it has one."""
    if not (task.own and course and student):
        return task
    own = drawn(task.name, course, student)
    text = filled(task.name, template(task.name, task.cells[0].source), own)
    first = nbformat.v4.new_markdown_cell(text, id=task.cells[0].id)
    return replace(task, cells=(first, *task.cells[1:]), own=False)


def chapter_file(chapter: str) -> Path:
    """The notebook of a chapter such as "05". Raises: ValueError where none has exercises."""
    known = {f"{one.number:02d}": one.stem for one in TAUGHT}
    if chapter not in known:
        raise ValueError(
            f"assignment must be a chapter with two digits ({', '.join(known)}), got {chapter!r}"
        )
    return ROOT / "notebooks" / f"{known[chapter]}.ipynb"


def cells_of(notebook: Path) -> list[NotebookNode]:
    """The cells of a notebook file, which is read again only where it has changed; to be read."""
    about = notebook.stat()
    return _cells(notebook, about.st_mtime_ns, about.st_size)


@lru_cache(64)
def _cells(notebook: Path, *_: int) -> list[NotebookNode]:
    return nbformat.read(notebook, as_version=4).cells


def read_assignment(notebook: Path) -> Assignment:
    """Read a chapter's problem set. Raises: ValueError where an exercise has not its one form."""
    BY_NUMBER[int(notebook.stem[:2])].module("exercises")  # its judges and explanations
    cells = cells_of(notebook)
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    title = re.findall(r"^# (.+)$", text, re.MULTILINE)[0]
    starts = [at for at, cell in enumerate(cells) if _is_question(cell)]
    tasks = []
    for first, after in zip(starts, [*starts[1:], len(cells)], strict=True):
        tasks.append(_task(cells[first:after], notebook.name))
    return Assignment(
        chapter=notebook.stem[:2],
        title=title,
        setup=tuple(needed(cells[1 : starts[0]], tasks)),
        tasks=tuple(tasks),
        secrets=(
            *(cell.source for cell in cells if _tagged(cell, "solution")),
            *(text for task in tasks if task.free for text in _said(task)),
        ),
    )


def _said(task: Task) -> list[str]:
    """Each sentence of a good answer, and each point of the rubric."""
    return [*re.split(r"(?<=[.;:]) ", task.solution), *(text for text, _ in task.rubric)]


def _is_question(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and QUESTION.search(cell.source) is not None


def _tagged(cell: NotebookNode, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def _task(cells: list[NotebookNode], where: str) -> Task:
    stubs = [at for at, cell in enumerate(cells) if _tagged(cell, "exercise")]
    checks = [cell for cell in cells if _tagged(cell, "check")]
    solutions = [cell for cell in cells if _tagged(cell, "solution")]
    counts = (len(stubs), len(checks), len(solutions))
    found = CHECK.search(checks[0].source) if checks else None
    explained = EXPLANATIONS.get(found[1]) if found else None
    solved = SOLUTION.search(solutions[0].source) if solutions else None
    if counts != (1, 1, 1) or not found or not (solved or explained):
        [question] = QUESTION.findall(cells[0].source)[:1]
        raise ValueError(
            f"{where}, {question!r}: an exercise has a stub, a check of "
            f"one answer and a solution; found {counts}"
        )
    name, answer = found.groups()
    if explained:
        return _in_words(name, explained, cells[: stubs[0] + 1])
    assert solved is not None
    points = checks[0].metadata["nbgrader"]["points"]
    return Task(
        name=name,
        answer=answer,
        cells=tuple(cells[: stubs[0] + 1]),
        tests=(Test("check", points, CHECKS[name]),),
        check=checks[0].source,
        solution=f"{solved[1]}\n{answer} = {solved[2]}",
        in_numpy=getattr(CHECKS[name], "numpy", False),
        own=name in VALUES,
    )


def _in_words(name: str, explained: Explanation, cells: list[NotebookNode]) -> Task:
    """An explanation, as a free response: a person marks it, a point for each thing to be said."""
    stub = nbformat.v4.new_markdown_cell(FREE, id=cells[-1].id)
    rubric = tuple((point, 1) for point in explained.points)
    return Task(name, "", (*cells[:-1], stub), (), solution=explained.model, rubric=rubric)


# ------------------------------------------------------------- which cells are needed


def needed(cells: list[NotebookNode], tasks: list[Task]) -> list[NotebookNode]:
    """The earlier code cells that give a name which the tasks read, or which such a cell reads.

    Of several cells that give a name, the last one before it is read is needed, as it is in the
    notebook when all is run.
    """
    wanted = {"exercises"}
    own = [
        (*task.cells, *([] if task.free else [nbformat.v4.new_code_cell(task.solution)]))
        for task in tasks
    ]
    for cell in reversed([cell for cells_of in own for cell in cells_of]):
        wanted = (wanted - names(cell)[0]) | names(cell)[1]
    kept = []
    for cell in reversed(cells):
        gives, reads = names(cell)
        if gives & wanted:
            wanted = (wanted - gives) | reads
            kept.append(cell)
    return kept[::-1]


def names(cell: NotebookNode) -> tuple[set[str], set[str]]:
    """The global names that a code cell gives, and those that it must find there already."""
    gives, needs = _names(cell.source) if cell.cell_type == "code" else ((), ())
    return set(gives), set(needs)


@lru_cache(1024)
def _names(source: str) -> tuple[set[str], set[str]]:
    return _flow(compile(TransformerManager().transform_cell(source), "a cell", "exec"))


def _flow(code: CodeType) -> tuple[set[str], set[str]]:
    """Global names that compiled code gives, and those that it reads before it gives them."""
    gives: set[str] = set()
    needs: set[str] = set()
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):  # a function, a class: what it reads from outside
            needs |= _flow(step.argval)[1] - gives
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in gives:
            needs.add(step.argval)
        elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
            gives.add(step.argval)
        elif step.opname == "DELETE_NAME":  # such as that of an error, after its handler
            gives.discard(step.argval)
    return gives, needs
