"""A chapter's problem set: its exercises, and of its other cells only those they cannot do without.

An exercise is the four or more cells from its question to its solution. Which earlier cells they
need is found by names: a cell is needed if it is the one that gives a name which a needed cell
reads.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

QUESTION = re.compile(r"^> \*\*Exercise \d+\.", re.MULTILINE)
CHECK = re.compile(r"exercises\.check\(\s*\"([\d.]+)\",\s*(.+?)\s*\)\s*$", re.DOTALL)


@dataclass(frozen=True)
class Task:
    """An exercise: its name such as "05.1", its points, what is handed in (an expression in the
    student's namespace), the cells of its question, in order, up to the stub, and its solution.
    """

    name: str
    points: float
    answer: str
    cells: tuple[NotebookNode, ...]
    solution: NotebookNode

    @property
    def stub(self) -> NotebookNode:
        """The cell that the student fills in."""
        return self.cells[-1]


@dataclass(frozen=True)
class Assignment:
    """The tasks of a chapter, and the cells that they need, in the notebook's order."""

    chapter: str
    title: str
    setup: tuple[NotebookNode, ...]
    tasks: tuple[Task, ...]


def assignment(notebook: Path) -> Assignment:
    """Read a chapter's problem set. Raises: ValueError where an exercise has not its one form."""
    cells = nbformat.read(notebook, as_version=4).cells
    title = next(line[2:] for c in cells for line in c.source.splitlines() if line.startswith("# "))
    starts = [at for at, cell in enumerate(cells) if _is_question(cell)]
    tasks = []
    for first, after in zip(starts, [*starts[1:], len(cells)], strict=True):
        tasks.append(_task(cells[first:after], notebook.name))
    return Assignment(
        chapter=notebook.stem[:2],
        title=title,
        setup=tuple(_needed(cells[: starts[0]], tasks)),
        tasks=tuple(tasks),
    )


def _is_question(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and QUESTION.search(cell.source) is not None


def _tagged(cell: NotebookNode, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def _task(cells: list[NotebookNode], where: str) -> Task:
    stubs = [at for at, cell in enumerate(cells) if _tagged(cell, "exercise")]
    checks = [cell for cell in cells if _tagged(cell, "check")]
    solutions = [cell for cell in cells if _tagged(cell, "solution")]
    counts = tuple(map(len, (stubs, checks, solutions)))
    if counts != (1, 1, 1) or not (found := CHECK.search(checks[0].source)):
        raise ValueError(
            f"{where}, {QUESTION.search(cells[0].source)[0]!r}: an exercise has a stub, a check of "
            f"one answer and a solution; found {counts}"
        )
    return Task(
        name=found[1],
        points=checks[0].metadata["nbgrader"]["points"],
        answer=found[2],
        cells=tuple(cells[: stubs[0] + 1]),
        solution=solutions[0],
    )


# ------------------------------------------------------------- which cells are needed


def _needed(cells: list[NotebookNode], tasks: list[Task]) -> list[NotebookNode]:
    """The earlier code cells that give a name which the tasks read, or which such a cell reads.

    Of several cells that give a name, the last one before it is read is needed, as it is in the
    notebook when all is run.
    """
    wanted = {"exercises"}
    for cell in reversed([cell for task in tasks for cell in (*task.cells, task.solution)]):
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
    if cell.cell_type != "code":
        return set(), set()
    return _flow(ast.parse(TransformerManager().transform_cell(cell.source)).body)


def _flow(statements: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """Names given by statements that run in this order, and names read before they are given."""
    gives: set[str] = set()
    needs: set[str] = set()
    for statement in statements:
        blocks = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
        inner = [s for block in blocks for s in block]
        inner += [s for handler in getattr(statement, "handlers", []) for s in handler.body]
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            given, needed = {statement.name}, _names(statement, ast.Load) - _local(statement)
        elif inner:  # a loop, a condition, with, try: first its head, then what is in it
            inside = set(map(id, (n for s in inner for n in ast.walk(s))))
            head = [n for n in ast.walk(statement) if id(n) not in inside]
            given = {n.id for n in head if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            read = {n.id for n in head if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            given_inside, needed_inside = _flow(inner)
            needed = (read - given) | (needed_inside - given)
            given = given | given_inside
        else:
            given = (_names(statement, ast.Store) | _imported(statement)) - _local(statement)
            needed = _names(statement, ast.Load) - _local(statement)
            if isinstance(statement, ast.AugAssign):
                needed |= given
        needs |= needed - gives
        gives |= given
    return gives, needs


def _names(node: ast.AST, kind: type) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}


def _imported(node: ast.stmt) -> set[str]:
    aliases = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
    return {(alias.asname or alias.name).partition(".")[0] for alias in aliases}


def _local(node: ast.AST) -> set[str]:
    """Names bound inside: all of a function; elsewhere those of comprehensions and lambdas."""
    bound = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return bound | _names(node, ast.Store)
    loops = (n.target for n in ast.walk(node) if isinstance(n, ast.comprehension))
    return bound | {name for target in loops for name in _names(target, ast.Store)}
