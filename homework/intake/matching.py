"""Which cells of a student edition the cells of a notebook are, and which tasks they answer.

What a cell is (the same source as a released cell) and what it defines (the name that a task asks
for) count more than what it says of itself (ids and metadata, which other programs drop and
students can write).
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from nbformat import NotebookNode

from homework.intake.archive import UnreadableError
from homework.intake.cellcode import defined_in, parsed
from homework.intake.notebook import HAND_IN, Cell

LONGEST_WORDS = 20_000  # characters of a cell that is no code and may have been
ALIKE = 0.8  # share of words that a changed cell has in common with the released one
# Of the set a cell comes from: its id, its task, or the check that it calls.
SET_OF_ID = re.compile(r"(?:stub|check|exercise|solution)-(\d\d)-\d+")
SET_OF_TASK = re.compile(r"(\d\d)\.\d+")
CHECK_CALL = re.compile(r"exercises\.check\([ \t\n]{0,80}[\"'](\d\d)\.(\d+)[\"']")
SET_IN_FILE = re.compile(
    rb"(?:stub|check|exercise)-(\d\d)-\d|exercises\.check\([ \t]{0,9}\\?[\"'](\d\d)\."
)


def seems_of(raw: bytes, chapter: str, answers: Iterable[str]) -> bool:
    """Whether a file seems to be a notebook of a problem set, as a glance at its bytes tells.

    answers: the names of those that are asked for, which tell where nothing names a set.
    """
    sets = {(one[1] or one[2]).decode() for one in SET_IN_FILE.finditer(raw)}
    return chapter in sets or (not sets and any(name.encode() in raw for name in answers if name))


@dataclass(frozen=True)
class Released:
    """A cell of the student edition."""

    kind: str
    task: str
    type: str
    source: str
    id: str
    grade_id: str


@dataclass(frozen=True)
class Release:
    """The student edition: its cells, its tasks in order (name to answer, "" for free text)."""

    chapter: str
    cells: tuple[Released, ...]
    tasks: dict[str, str]
    edition: str

    def cell(self, kind: str, task: str) -> Released | None:
        """The cell of that kind and task."""
        return next((c for c in self.cells if (c.kind, c.task) == (kind, task)), None)


def release_of(notebook: NotebookNode) -> Release:
    """What there is to know of a student edition."""
    cells, tasks = [], {}
    for cell in notebook.cells:
        homework = cell.metadata["homework"]
        kind, task = homework["kind"], homework["task"] or ""
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cells.append(Released(kind, task, cell.cell_type, cell.source, cell.id, grade_id))
        if kind == "stub":
            tasks[task] = (homework["answer"] or "") if cell.cell_type == "code" else ""
    homework = notebook.metadata["homework"]
    return Release(homework["assignment"], tuple(cells), tasks, homework.get("edition"))


def _plain(source: str) -> str:
    """A source without what does not matter: space at the ends of lines, empty lines."""
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip())


# ------------------------------------------------------------- what a cell is


@dataclass(frozen=True)
class Seen(Cell):
    """A cell and what it turns out to be: the released cell that it says it is, and the one that it
    is, unchanged; whether that was found before; whether it is Python; the tasks that it answers.
    """

    claims: Released | None = None
    same: Released | None = None
    again: bool = False
    is_python: bool = False
    gives: frozenset[str] = frozenset()


class Matcher:
    """Finds what cells are, one after the other."""

    def __init__(self, release: Release):
        self.release = release
        self.by_id = {c.id: c for c in release.cells}
        self.by_grade_id = {c.grade_id: c for c in release.cells if c.grade_id}
        self.by_source: dict[str, list[Released]] = {}
        for cell in release.cells:
            for source in {cell.source, cell.source.removesuffix(".hold()")}:  # as in the chapter
                self.by_source.setdefault(_plain(source), []).append(cell)
        self.trees = {c.id: _dump(c.source) for c in release.cells if c.type == "code"}
        self.words = {c: _words(c.source) for c in release.cells if c.kind in ("given", "text")}
        self.unchanged: set[str] = set()  # ids of released cells that are there as released

    def seen(self, cell: Cell) -> Seen:
        """What a cell is."""
        if not cell.source.strip():
            return Seen(**vars(cell), claims=self._claims(cell))
        found = Seen(**vars(cell), claims=self._claims(cell) or self._alike(cell))
        if alike := self.by_source.get(_plain(cell.source), []):
            free = [one for one in alike if one.id not in self.unchanged]
            chosen = found.claims if found.claims in alike else (free or alike)[0]
            found = replace(found, same=chosen)
        else:
            found = self._read(found)
        if (same := found.same) is not None:
            found = replace(found, again=same.id in self.unchanged)
            self.unchanged.add(same.id)
        return found

    def _read(self, cell: Seen) -> Seen:
        """Find what a cell defines, and whether only its layout was changed."""
        if cell.type != "code":
            was_text = cell.claims is not None and cell.claims.type != "code"
            if was_text or len(cell.source) > LONGEST_WORDS:
                return cell
        tree = parsed(cell.source)
        if cell.type != "code" and tree is None:
            return cell
        names = defined_in(cell.source, tree)
        gives = frozenset(task for task, name in self.release.tasks.items() if name in names)
        same, dump = None, _dump(cell.source)
        for one in (cell.claims, *(self.release.cell("stub", task) for task in gives)):
            if dump and one and same is None and self.trees.get(one.id) == dump:
                same = one
        return replace(cell, is_python=tree is not None, gives=gives, same=same)

    def _claims(self, cell: Cell) -> Released | None:
        """The released cell that a cell says it is."""
        for name in cell.ids:
            if name in self.by_id:
                return self.by_id[name]
        nbgrader, homework = (_dict(cell.metadata.get(key)) for key in ("nbgrader", "homework"))
        grade_id = nbgrader.get("grade_id")
        if isinstance(grade_id, str) and grade_id in self.by_grade_id:
            return self.by_grade_id[grade_id]
        kind, task = homework.get("kind"), homework.get("task")
        if isinstance(kind, str) and isinstance(task, str | None):
            return self.release.cell(kind, task or "")
        return None

    def _alike(self, cell: Cell) -> Released | None:
        """The question or given cell that a cell without a name was made from, by its words."""
        if len(cell.source) > LONGEST_WORDS or len(words := _words(cell.source)) < 8:
            return None
        shares = {
            c: len(words & w) / (len(words | w) if c.type == "code" else max(len(w), 8))
            for c, w in self.words.items()
            if c.type == cell.type
        }
        best = max(shares, key=shares.__getitem__, default=None)
        return best if best and shares[best] >= ALIKE else None


def of_another_set(
    cells: Iterable[Seen], notebook: dict, release: Release, notes: list[str]
) -> None:
    """Note where a notebook is of another edition, or the chapter itself.

    Raises: UnreadableError for the notebook of another problem set, or of none.
    """
    homework = _dict(_dict(notebook.get("metadata")).get("homework"))
    votes = Counter(vote for cell in cells if (vote := _set_of(cell)))
    if re.fullmatch(r"\d\d", chapter := str(homework.get("assignment"))):
        votes[chapter] += 1
    ours = release.chapter
    votes[ours] += sum(1 for c in cells if not _set_of(c) and (c.gives or (c.same and c.same.task)))
    most = max(votes, key=lambda name: (votes[name], name == ours))
    if most != ours:
        raise UnreadableError(f"this is problem set {most}; {ours} was to be handed in")
    if not votes[ours]:
        raise UnreadableError(f"this notebook has nothing of problem set {ours}: {HAND_IN}")
    if homework.get("edition") not in (None, release.edition):
        notes.append("the notebook was made from another edition of the problem set")
    if any(name.startswith(f"solution-{ours}-") for c in cells for name in c.ids):
        notes.append("this seems to be the chapter itself; all of its code is run")


def _words(source: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", source))


def _dump(source: str) -> str:
    """What a cell does, whatever its layout and comments; "" where it does not parse."""
    tree = parsed(source)
    try:
        return ast.dump(tree) if tree is not None and tree.body else ""
    except RecursionError:
        return ""


def _dict(value: object) -> dict:
    return value if isinstance(value, dict) else {}


def _set_of(cell: Cell) -> str:
    """The problem set that a cell seems to come from: what it calls, then what it says it is."""
    nbgrader, homework = (_dict(cell.metadata.get(key)) for key in ("nbgrader", "homework"))
    if found := CHECK_CALL.search(cell.source):
        return found[1]
    if found := SET_OF_TASK.fullmatch(str(homework.get("task"))):
        return found[1]
    named = filter(None, map(SET_OF_ID.fullmatch, (*cell.ids, str(nbgrader.get("grade_id")))))
    return next((found[1] for found in named), "")
