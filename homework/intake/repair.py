"""From a file that was handed in to the student's own code cells, task by task.

A cell is the released cell that has its source, else its id, else its `grade_id`, a question also
that of its number; what a cell answers is told by the names that it defines. What cannot be told
so is not guessed: the student pastes it into a new copy. Nothing is run.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from nbformat import NotebookNode

from homework.intake.archive import UnreadableError
from homework.intake.cellcode import defined_in, parsed
from homework.intake.notebook import HAND_IN, Cell, cells_of, notebook_of

MOST_CODE = 2**20  # characters of all code cells together
LONGEST_WORDS = 20_000  # characters of a cell that is no code and may have been
STUDENT = re.compile(r"[ \t]*student[ \t]*=(?!=)")  # so begins the cell with a student's name
SET_OF_ID = re.compile(r"(?:stub|check|exercise|solution)-(\d\d)-\d+")
EXERCISE = re.compile(r"\*\*Exercise (\d+)\.")  # at the head of a question
CHECK_CALL = re.compile(r"exercises\.check\([ \t\n]{0,80}[\"'](\d\d)\.\d+[\"']")
SET_IN_FILE = re.compile(
    rb"(?:stub|check|exercise)-(\d\d)-\d|exercises\.check\([ \t]{0,9}\\?[\"'](\d\d)\."
)
NEW_COPY = "paste your answers into a new copy of the problem set, and " + HAND_IN


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


@dataclass(frozen=True)
class Released:
    """A cell of the student edition; name: the answer that its task asks for, "" for words."""

    kind: str
    task: str
    type: str
    source: str
    name: str


@dataclass(frozen=True)
class Matched(Cell):
    """A cell with the released cell of its id, the one of its source, and the tasks it answers.

    role: code, prose, untouched (a stub), student (says who that is); "" is not the student's.
    place: the task to which it belongs, "" before the first.
    """

    claims: Released | None = None
    same: Released | None = None
    gives: frozenset[str] = frozenset()
    role: str = ""
    place: str = ""


def may_be_of_set(raw: bytes, chapter: str, answers: Iterable[str]) -> bool:
    """Whether a file seems to be a notebook of a problem set, as a glance at its bytes tells.

    answers: the names of those that are asked for, which tell where nothing names a set.
    """
    sets = {(one[1] or one[2]).decode() for one in SET_IN_FILE.finditer(raw)}
    return chapter in sets or (not sets and any(name.encode() in raw for name in answers if name))


def read_submission(raw: bytes, released: NotebookNode) -> Submission:
    """What a student handed in, whatever became of it on the way.

    raw: the file. released: the student edition. Raises: UnreadableError, and nothing else.
    """
    try:
        return _Reader(released).read(raw)
    except UnreadableError:
        raise
    except (RecursionError, MemoryError):
        raise UnreadableError(f"the file is nested too deep for a notebook: {HAND_IN}") from None
    except Exception as error:  # one file must not keep the others from being graded
        raise UnreadableError(f"the file cannot be read ({type(error).__name__})") from error


class _Reader:
    """Reads one file against a student edition, and collects notes on the way."""

    def __init__(self, released: NotebookNode):
        about = released.metadata["homework"]
        self.chapter, self.edition = about["assignment"], about.get("edition")
        self.by_id: dict[str, Released] = {}
        self.by_source: dict[str, list[Released]] = {}
        self.questions: dict[str, Released] = {}  # by their numbers
        for cell in released.cells:
            one = cell.metadata["homework"]
            name = (one["answer"] or "") if cell.cell_type == "code" else ""
            made = Released(one["kind"], one["task"] or "", cell.cell_type, cell.source, name)
            self.by_id[cell.id] = made
            self.by_id.setdefault(cell.metadata.get("nbgrader", {}).get("grade_id", ""), made)
            if made.type == "markdown" and (number := EXERCISE.search(cell.source)):
                self.questions[number[1]] = made
            for source in {cell.source, cell.source.removesuffix(".hold()")}:  # as in the chapter
                self.by_source.setdefault(_trimmed(source), []).append(made)
        self.by_id.pop("", None)
        self.stubs = {one.task: one for one in self.by_id.values() if one.kind == "stub"}
        self.tasks = {task: stub.name for task, stub in self.stubs.items()}  # "" for words
        self.notes: list[str] = []

    def read(self, raw: bytes) -> Submission:
        """What was handed in."""
        notebook = notebook_of(raw)
        cells = list(cells_of(notebook, self.notes))
        short = (len(c.source) for c in cells if c.type == "code" or len(c.source) <= LONGEST_WORDS)
        if (length := sum(short)) > MOST_CODE:
            raise UnreadableError(
                f"the notebook's cells have {length} characters; at most {MOST_CODE} are read"
            )
        matched: list[Matched] = []
        zone = ""
        for cell in cells:
            matched.append(self._matched(cell, zone))
            zone = _shows(matched[-1]) or zone
        self._check_set(matched, notebook)
        self.present = {cell.same for cell in matched if cell.same}
        codes = [cell for cell in matched if cell.type == "code" and not cell.same]
        self.coded = {task for cell in codes for task in cell.gives}
        placed = self._placed([replace(cell, role=self._role(cell)) for cell in matched])
        before = tuple(cell.source for cell in placed if not cell.place and _is_run(cell))
        answers = {}
        for task, name in self.tasks.items():
            found = self._answer(placed, task, name) if name else self._text(placed, task)
            if found is not None:
                answers[task] = found
        claimed = {cell.claims for cell in matched if cell.claims} | self.present
        there = answers.keys() | {one.task for one in claimed if one.kind == "stub"}
        if lost := [task for task in self.tasks if task not in there]:
            self.notes.append(f"there is no cell for: {', '.join(lost)}")
        if not answers and not before:
            self.notes.append("nothing was filled in")
        return Submission(before, answers, tuple(dict.fromkeys(self.notes)))

    # ------------------------------------------------------------- what a cell is

    def _matched(self, cell: Cell, zone: str) -> Matched:
        nbgrader = cell.metadata.get("nbgrader")
        grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
        names = [*cell.ids, grade_id] if isinstance(grade_id, str) else cell.ids
        claims = next((self.by_id[name] for name in names if name in self.by_id), None)
        if claims is None and cell.type == "markdown" and (number := EXERCISE.search(cell.source)):
            claims = self.questions.get(number[1])
        found = Matched(**vars(cell), claims=claims)
        if alike := self.by_source.get(_trimmed(cell.source)) if cell.source.strip() else None:
            of_zone = (one for one in alike if one.task == zone)
            return replace(found, same=claims if claims in alike else next(of_zone, alike[0]))
        if cell.type != "code":
            was_text = claims is not None and claims.type != "code"
            if was_text or len(cell.source) > LONGEST_WORDS:
                return found
        tree = parsed(cell.source)
        if cell.type != "code" and tree is None:
            return found
        defined = defined_in(cell.source, tree)
        gives = frozenset(task for task, name in self.tasks.items() if name in defined)
        return replace(found, gives=gives)

    def _check_set(self, cells: list[Matched], notebook: dict) -> None:
        """Note where a notebook is of another edition, or the chapter itself.

        Raises: UnreadableError for the notebook of another problem set, or of none.
        """
        about = notebook.get("metadata")
        about = about.get("homework") if isinstance(about, dict) else None
        about = about if isinstance(about, dict) else {}
        votes = Counter(_set_of(cell) for cell in cells)
        votes[str(about.get("assignment"))] += 1
        unnamed = [cell for cell in cells if not _set_of(cell)]
        votes[self.chapter] += sum(bool(c.gives or (c.same and c.same.task)) for c in unnamed)
        sets = {name: votes[name] for name in votes if re.fullmatch(r"\d\d", name)}
        most = max(sets, key=lambda name: (sets[name], name == self.chapter))
        if most != self.chapter:
            raise UnreadableError(f"this is problem set {most}; {self.chapter} was to be handed in")
        if not votes[most]:
            raise UnreadableError(f"there is nothing of problem set {most} in it: {NEW_COPY}")
        if about.get("edition") not in (None, self.edition):
            self.notes.append("the notebook was made from another edition of the problem set")
        if any(name.startswith(f"solution-{most}-") for cell in cells for name in cell.ids):
            self.notes.append("this seems to be the chapter itself; all of its code is run")

    # ------------------------------------------------------------- whether it is the student's

    def _role(self, cell: Matched) -> str:
        if cell.same is not None:
            return "untouched" if cell.same.kind == "stub" else ""
        if not cell.source.strip():
            return ""
        if cell.type != "code" and not cell.gives:
            return self._role_of_words(cell)
        if cell.type != "code":
            if cell.gives <= self.coded:  # an earlier try, put aside
                return ""
            names = ", ".join(sorted(cell.gives))
            self.notes.append(f"a {cell.type} cell that answers {names} was taken for code")
            return "code"
        if cell.gives:
            return "code"
        if cell.claims is None:
            return "student" if _is_name(cell.source) else "" if _only_checks(cell) else "code"
        return self._role_of_changed(cell, cell.claims)

    def _role_of_words(self, cell: Matched) -> str:
        """The role of a text: perhaps a free response, also in the cell of its question."""
        claims = cell.claims
        if claims is None:
            return "prose"
        if claims.kind == "stub" and claims.name:
            if claims.task not in self.coded:
                note = f"the cell of {claims.task} is a {cell.type} cell and holds no answer"
                self.notes.append(note)
            return ""
        if claims.kind == "stub" or claims in self.present:
            return "prose"
        if not claims.task or not re.search(r"\w", _without(claims.source, cell.source)):
            return ""
        if self.tasks.get(claims.task):
            note = f"something was written into the question of {claims.task}, and is not read"
            self.notes.append(note)
            return ""
        note = f"the response to {claims.task} stands, in part at least, in the question's cell"
        self.notes.append(note)
        return "prose"

    def _role_of_changed(self, cell: Matched, claims: Released) -> str:
        """The role of a code cell that answers nothing and says it is a released one."""
        if claims.kind == "stub" and not claims.name:
            self.notes.append(f"the text of {claims.task} stands in a code cell")
            return "prose"
        if claims.kind == "student":
            return "student"
        is_copy = claims in self.present
        if claims.kind == "check":
            return "code" if is_copy and not _only_checks(cell) else ""
        if claims.kind == "given" and not is_copy:
            self.notes.append(f"a given cell {_of(claims.task)} was changed")
        return "code"

    # ------------------------------------------------------------- where it belongs

    def _placed(self, cells: list[Matched]) -> list[Matched]:
        """Each cell with its task: by what it defines, else by the released cell last seen."""
        zones, zone = [], ""
        for cell in cells:
            zone = _shows(cell) or zone
            zones.append(zone)
        pairs = list(zip(zones, cells, strict=True))
        at_home = {zone for zone, cell in pairs if cell.role == "code" and zone in cell.gives}
        shown = {_shows(cell) for cell in cells}
        placed, zone = [], ""
        for cell in cells:
            task = zone = _shows(cell) or zone
            homeless = [name for name in self.tasks if name in cell.gives - at_home]
            if cell.role == "code" and zone not in cell.gives and homeless:
                task = homeless[0]
                zone = zone if task in shown else task
            placed.append(self._out_of_words(replace(cell, place=task)))
        return placed

    def _out_of_words(self, cell: Matched) -> Matched:
        """Code among the text of a free response runs with the task before it."""
        if cell.role != "code" or not cell.place or self.tasks[cell.place]:
            return cell
        if not cell.gives and _only_says(cell):
            return replace(cell, role="prose")
        names = list(self.tasks)
        earlier = [name for name in names[: names.index(cell.place)] if self.tasks[name]]
        return replace(cell, place=earlier[-1] if earlier else "")

    # ------------------------------------------------------------- what comes of it

    def _answer(self, cells: list[Matched], task: str, name: str) -> tuple[str, ...] | None:
        """The code cells of a task."""
        codes = [cell for cell in cells if cell.role == "code"]
        own = [cell for cell in codes if cell.place == task]
        if any(task in cell.gives for cell in own):
            return tuple(cell.source for cell in own)
        order = ["", *self.tasks]
        other = [cell for cell in codes if task in cell.gives]
        earlier = [cell for cell in other if order.index(cell.place) < order.index(task)]
        if earlier:
            place = f"a cell {_of(earlier[-1].place)}"
            self.notes.append(f"{task} is answered in {place}")
            return (*(cell.source for cell in own), f"# answered in {place}")
        if other:
            self.notes.append(f"{task} is answered in a cell of {other[0].place}, run for both")
            own += other
        elif own:  # it is run where it stands: perhaps it is changed in place
            if any(cell.claims == self.stubs[task] for cell in own):
                self.notes.append(f"the cell of {task} does not define {name}")
            own += [cell for cell in cells if cell.role == "untouched" and cell.place == task]
        return tuple(cell.source for cell in sorted(own, key=lambda cell: cell.at)) if own else None

    def _text(self, cells: list[Matched], task: str) -> tuple[str, ...] | None:
        """The text of a free response, without what the release wrote there."""
        texts = []
        for cell in cells:
            if cell.role == "prose" and cell.place == task:
                text = _without(self.stubs[task].source, cell.source)
                if cell.claims and cell.claims.type != "code":
                    text = _without(cell.claims.source, text)
                texts.append(text)
        text = "\n\n".join(filter(None, texts))
        text = re.sub(r"(data:image/\w+)[^\s)\"']{1000,}", r"\1", text)  # of a pasted picture
        return (text,) if text else None


def _trimmed(source: str) -> str:
    """A source without what does not matter: space at the ends of lines, empty lines."""
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip())


def _set_of(cell: Matched) -> str:
    """The problem set that a cell seems to come from: what it calls, then its ids; "" if none."""
    if found := CHECK_CALL.search(cell.source):
        return found[1]
    named = filter(None, map(SET_OF_ID.fullmatch, cell.ids))
    return next((found[1] for found in named), "")


def _shows(cell: Matched) -> str:
    """The task that a cell shows to be here, "" where it shows none."""
    if cell.same is not None:
        return cell.same.task
    if cell.claims is None or (cell.gives and cell.claims.task not in cell.gives):
        return ""  # it says it belongs to one task, and answers another
    return cell.claims.task


def _of(task: str) -> str:
    return f"of {task}" if task else "before the tasks"


def _is_run(cell: Matched) -> bool:
    """Whether a cell is to be run; the one for the student's name where it holds more than that."""
    tree = parsed(cell.source) if cell.role == "student" else None
    return cell.role == "code" or (tree is not None and len(tree.body) > 1)


def _is_name(source: str) -> bool:
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


def _only_says(cell: Cell) -> bool:
    """Whether a cell is no code, or nothing but comments and texts: words in a cell for code."""
    tree = parsed(cell.source)
    lines = [one for one in tree.body if not _imports_display(one)] if tree else []
    parts = [part for line in lines for part in ast.walk(line)]
    said = ast.Expr | ast.Assign | ast.Call | ast.Name | ast.Constant | ast.Load | ast.Store
    is_text = any(isinstance(getattr(node, "value", None), str) for node in parts)
    return not parts or (is_text and all(isinstance(node, said) for node in parts))


def _imports_display(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and str(statement.module).startswith("IPython")


def _without(placeholder: str, text: str) -> str:
    """A text without the lines of the placeholder, each taken off once."""
    text = text.replace(placeholder.strip(), "", 1) if placeholder.strip() else text
    lines = text.strip().splitlines()
    for line in filter(str.strip, placeholder.splitlines()):
        if line.strip() in (stripped := [one.strip() for one in lines]):
            del lines[stripped.index(line.strip())]
    return "\n".join(lines).strip()
