"""From a file that was handed in to the student's own code cells, task by task.

A notebook's cells (`notebook`) are matched with the student edition as released (`matching`). Then
each gets a role, then a place, and what stands in a task's place is its answer. Nothing is run.
"""

import ast
import re
from collections import Counter
from dataclasses import dataclass, replace

from nbformat import NotebookNode

from homework.intake.archive import UnreadableError
from homework.intake.cellcode import parsed
from homework.intake.matching import (
    CHECK_CALL,
    LONGEST_WORDS,
    Matcher,
    Release,
    Released,
    Seen,
    of_another_set,
    release_of,
)
from homework.intake.notebook import HAND_IN, Cell, cells_of, notebook_of

MOST_CODE = 2**20  # characters of all code cells together
MOST_ALIKE = 2  # cells that may have one id, as a copy has
STUDENT = re.compile(r"[ \t]*student[ \t]*=(?!=)")  # so begins the cell with a student's name


@dataclass(frozen=True)
class Submission:
    """What a student handed in.

    before: own code cells (and given ones that were changed) before the first task. answers: by
    task, the own code cells in order; the text of a free response; no key for a task that was not
    touched. One that a cell of an earlier task answers has a comment for its cell. notes: what was
    repaired or is odd.
    """

    before: tuple[str, ...]
    answers: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


def repaired(raw: bytes, released: NotebookNode) -> Submission:
    """What a student handed in, whatever became of it on the way.

    raw: the file. released: the student edition. Raises: UnreadableError, and nothing else.
    """
    notes: list[str] = []
    try:
        return _submission(raw, release_of(released), notes)
    except UnreadableError:
        raise
    except (RecursionError, MemoryError):
        raise UnreadableError(f"the file is nested too deep for a notebook: {HAND_IN}") from None
    except Exception as error:  # one file must not keep the others from being graded
        raise UnreadableError(f"the file cannot be read ({type(error).__name__})") from error


def _submission(raw: bytes, release: Release, notes: list[str]) -> Submission:
    notebook = notebook_of(raw, notes)
    cells = _told_apart(list(cells_of(notebook, notes)), notes)
    short = (len(c.source) for c in cells if c.type == "code" or len(c.source) <= LONGEST_WORDS)
    if (length := sum(short)) > MOST_CODE:
        raise UnreadableError(
            f"the notebook's cells have {length} characters; at most {MOST_CODE} are read"
        )
    matcher = Matcher(release)
    seen = [matcher.seen(cell) for cell in cells]
    of_another_set(seen, notebook, release, notes)
    parts = _placed(_Roles(seen, release, notes).parts(), release)
    before = tuple(p.cell.source for p in parts if not p.task and _is_run(p))
    answers = {}
    for task, name in release.tasks.items():
        found = _answer(parts, task, release, notes) if name else _text(parts, task, release)
        if found is not None:
            answers[task] = found
    _note_missing(seen, answers, release, notes)
    if not answers and not before:
        notes.append("nothing was filled in")
    return Submission(before, answers, tuple(dict.fromkeys(notes)))


def _told_apart(cells: list[Cell], notes: list[str]) -> list[Cell]:
    """The cells, without ids that many of them have."""
    counts = Counter(name for cell in cells for name in set(cell.ids))
    if not (shared := {name for name, count in counts.items() if count > MOST_ALIKE}):
        return cells
    notes.append("many cells have the same id; they were told apart by what they hold")
    return [replace(cell, ids=tuple(i for i in cell.ids if i not in shared)) for cell in cells]


@dataclass(frozen=True)
class _Part:
    """A cell, its role and where it belongs.

    role: code, prose, untouched (a stub), student (says who that is); "" is not the student's.
    task: "" is before the first.
    """

    cell: Seen
    role: str
    task: str = ""


# ------------------------------------------------------------- what is to be done with a cell


class _Roles:
    """Says of each cell whether it is the student's, and of what kind; notes what was changed."""

    def __init__(self, seen: list[Seen], release: Release, notes: list[str]):
        self.seen, self.release, self.notes = seen, release, notes
        self.unchanged = {cell.same.id for cell in seen if cell.same}
        codes = [cell for cell in seen if cell.type == "code" and not cell.same]
        self.coded = {task for cell in codes for task in cell.gives}

    def parts(self) -> list[_Part]:
        """Each cell with its role."""
        return [_Part(cell, self._role(cell)) for cell in self.seen]

    def _role(self, cell: Seen) -> str:
        if cell.same is not None:
            if cell.same.kind == "stub":
                return "untouched"
            return "code" if cell.again and cell.same.kind == "given" else ""  # run once more
        if not cell.source.strip():
            return ""
        if cell.type != "code" and not cell.gives:
            return self._words_for_code(cell)
        if cell.type != "code":
            if cell.gives <= self.coded:  # an earlier try, put aside
                return ""
            names = ", ".join(sorted(cell.gives))
            self.notes.append(f"a {cell.type} cell that answers {names} was taken for code")
            return "code"
        if cell.gives:
            return "code"
        if cell.claims is None and _is_student_cell(cell.source):
            return "student"
        if cell.claims is None:
            return "" if _only_checks(cell) else "code"
        return self._changed(cell, cell.claims)

    def _words_for_code(self, cell: Seen) -> str:
        """The role of a text: perhaps a free response."""
        if cell.claims is None:
            return "prose"
        if cell.claims.kind == "stub" and cell.claims.type == "code":
            if cell.claims.task not in self.coded:
                note = f"the cell of {cell.claims.task} is a {cell.type} cell and holds no answer"
                self.notes.append(note)
            return ""
        if cell.claims.kind == "stub" or cell.claims.id in self.unchanged:
            return "prose"
        return self._beside_the_question(cell, cell.claims)

    def _beside_the_question(self, cell: Seen, question: Released) -> str:
        """The role of a question's cell that was changed: perhaps its answer stands there."""
        added = re.findall(r"\w+", _without(question.source, cell.source))
        if not question.task or not added:
            return ""
        if self.release.tasks.get(question.task):
            note = f"something was written into the question of {question.task}, and is not read"
            self.notes.append(note)
            return ""
        note = f"the response to {question.task} stands, in part at least, in the question's cell"
        self.notes.append(note)
        return "prose"

    def _changed(self, cell: Seen, released: Released) -> str:
        """The role of a code cell that answers nothing and says it is a released one."""
        if released.kind == "stub" and released.type != "code":
            self.notes.append(f"the text of {released.task} stands in a code cell")
            return "prose"
        if released.kind == "student":
            return "student"
        is_copy = released.id in self.unchanged
        if released.kind == "check":
            return "code" if is_copy and not _only_checks(cell) else ""
        if released.kind == "given" and not is_copy:
            self.notes.append(f"a given cell {_of(released.task)} was changed ({released.id})")
        return "code"


# ------------------------------------------------------------- where it belongs


def _placed(parts: list[_Part], release: Release) -> list[_Part]:
    """Each cell with its task: by what it defines, else by the released cell last seen."""
    zones, zone = [], ""
    for part in parts:
        zone = _marks(part.cell) or zone
        zones.append(zone)
    codes = [(z, part.cell) for z, part in zip(zones, parts, strict=True) if part.role == "code"]
    at_home = {z for z, cell in codes if z in cell.gives}  # answered in their own place
    marked = {_marks(part.cell) for part in parts}
    placed, zone = [], ""
    for part in parts:
        task = zone = _marks(part.cell) or zone
        if part.role == "code" and zone not in part.cell.gives:
            homeless = [name for name in release.tasks if name in part.cell.gives - at_home]
            if homeless:
                task = homeless[0]
                zone = zone if task in marked else task
        placed.append(_out_of_free_response(replace(part, task=task), release))
    return placed


def _out_of_free_response(part: _Part, release: Release) -> _Part:
    """Code among the text of a free response runs with the task before it."""
    if part.role != "code" or not part.task or release.tasks[part.task]:
        return part
    if not part.cell.same and not part.cell.gives and _only_says(part.cell):
        return replace(part, role="prose")
    names = list(release.tasks)
    earlier = [name for name in names[: names.index(part.task)] if release.tasks[name]]
    return replace(part, task=earlier[-1] if earlier else "")


def _marks(cell: Seen) -> str:
    """The task that a cell shows to be here, "" where it shows none."""
    if cell.same is not None:
        return "" if cell.again and cell.same.kind == "given" else cell.same.task
    if cell.claims is None or (cell.gives and cell.claims.task not in cell.gives):
        return ""  # it says it belongs to one task, and answers another
    return cell.claims.task


# ------------------------------------------------------------- what comes of it


def _answer(
    parts: list[_Part], task: str, release: Release, notes: list[str]
) -> tuple[str, ...] | None:
    """The code cells of a task."""
    codes = [part for part in parts if part.role == "code"]
    own = [part.cell for part in codes if part.task == task]
    if any(task in cell.gives for cell in own):
        return tuple(cell.source for cell in own)
    order = ["", *release.tasks]
    other = [part for part in codes if task in part.cell.gives]
    earlier = [part for part in other if order.index(part.task) < order.index(task)]
    if earlier:
        place = f"a cell {_of(earlier[-1].task)}"
        notes.append(f"{task} is answered in {place}")
        return (*(cell.source for cell in own), f"# answered in {place}")
    if other:
        notes.append(f"{task} is answered in a cell of {other[0].task}, run for both")
        own += [part.cell for part in other]
    elif own:  # it is run where it stands: perhaps it is changed in place
        if any(
            c.claims and (c.claims.kind, c.claims.task) == ("stub", task) and not c.same
            for c in own
        ):
            notes.append(f"the cell of {task} does not define {release.tasks[task]}")
        own += [
            p.cell
            for p in parts
            if p.role == "untouched" and p.cell.same and p.cell.same.task == task
        ]
    return tuple(cell.source for cell in sorted(own, key=lambda cell: cell.at)) if own else None


def _text(parts: list[_Part], task: str, release: Release) -> tuple[str, ...] | None:
    """The text of a free response, without what the release wrote there."""
    stub = release.cell("stub", task)
    texts = []
    for part in parts:
        if part.role == "prose" and part.task == task:
            given = [one.source for one in (stub, part.cell.claims) if one and one.type != "code"]
            text = part.cell.source
            for source in given:
                text = _without(source, text)
            texts.append(text)
    text = "\n\n".join(filter(None, texts))
    text = re.sub(r"(data:image/\w+)[^\s)\"']{1000,}", r"\1", text)  # of a pasted picture
    return (text,) if text else None


def _note_missing(seen: list[Seen], answers: dict, release: Release, notes: list[str]) -> None:
    """Note checks that were changed or are gone, and tasks of which nothing is left."""
    unchanged = {cell.same.id for cell in seen if cell.same}
    claimed = {cell.claims.id for cell in seen if cell.claims} | unchanged
    called = {
        ".".join(call)
        for cell in seen
        if _only_checks(cell)
        for call in CHECK_CALL.findall(cell.source)
    }
    gone = []
    for check in (cell for cell in release.cells if cell.kind == "check"):
        if check.id in unchanged:
            continue
        if check.id in claimed or check.task in called:
            notes.append(f"the check cell of {check.task} was changed")
        else:
            gone.append(check.task)
    if gone:
        notes.append(f"check cells are missing: {', '.join(gone)}")
    stubs = {c.task for c in release.cells if c.kind == "stub" and c.id in claimed}
    if lost := [task for task in release.tasks if task not in stubs | answers.keys()]:
        notes.append(f"there is no cell for: {', '.join(lost)}")


def _of(task: str) -> str:
    return f"of {task}" if task else "before the tasks"


def _is_run(part: _Part) -> bool:
    """Whether a cell is to be run; the one for the student's name where it holds more than that."""
    tree = parsed(part.cell.source) if part.role == "student" else None
    return part.role == "code" or (tree is not None and len(tree.body) > 1)


def _is_student_cell(source: str) -> bool:
    """Whether all that a cell does is to say who the student is, perhaps without quotes."""
    tree = parsed(source) if STUDENT.match(source) else None
    return STUDENT.match(source) is not None and (tree is None or len(tree.body) == 1)


def _only_checks(cell: Cell) -> bool:
    """Whether all that a cell does is to call the book's checks."""
    if not CHECK_CALL.search(cell.source) or (tree := parsed(cell.source)) is None:
        return False
    return all(
        isinstance(s, ast.Expr)
        and isinstance(s.value, ast.Call)
        and isinstance(s.value.func, ast.Attribute)
        and s.value.func.attr in ("check", "hold")
        for s in tree.body
    )


def _only_says(cell: Seen) -> bool:
    """Whether a cell is no code, or code of nothing but comments and texts: words in a cell for
    code.
    """
    tree = parsed(cell.source) if cell.is_python else None
    lines = [one for one in tree.body if not _shows(one)] if tree else []
    parts = [part for line in lines for part in ast.walk(line)]
    said = ast.Expr | ast.Assign | ast.Call | ast.Name | ast.Constant | ast.Load | ast.Store
    is_text = any(isinstance(getattr(node, "value", None), str) for node in parts)
    return not parts or (is_text and all(isinstance(node, said) for node in parts))


def _shows(statement: ast.stmt) -> bool:
    """Whether a statement imports what shows a text in a notebook."""
    return isinstance(statement, ast.ImportFrom) and str(statement.module).startswith("IPython")


def _without(placeholder: str, text: str) -> str:
    """A text without the lines of the placeholder, each taken off once."""
    text = text.replace(placeholder.strip(), "", 1) if placeholder.strip() else text
    lines = text.strip().splitlines()
    for line in filter(str.strip, placeholder.splitlines()):
        if line.strip() in (stripped := [one.strip() for one in lines]):
            del lines[stripped.index(line.strip())]
    return "\n".join(lines).strip()
