"""From a file that was handed in to the student's own code cells, task by task.

A cell is the released cell that has its source, else its id, else its `grade_id`, a question also
that of its number; it belongs to the task of the released cell last seen. Every answer has a name
of its own, and where the cells of a task do not define it, a cell elsewhere that does is run for
it, too. Nothing is run here.
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
from homework.release.carried import without_packed

MOST_CODE = 2**20  # characters of all code cells together
LONGEST_WORDS = 20_000  # characters of a cell that is no code and may have been
STUDENT = re.compile(r"[ \t]*student[ \t]*=(?!=)")  # so begins the cell with a student's name
EXERCISE = re.compile(r"\*\*Exercise (\d+)\.")  # at the head of a question
POINTS = re.compile(r"^>(?: \(.*\))? *$", re.MULTILINE)  # and section, below a question
SET_OF_ID = re.compile(r"(?:stub|check|exercise|solution)-(\d\d)-\d+")
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
    touched. One that a cell of an earlier task answers has a comment for its cell. notes: what is
    odd. student: the name or number that was filled in.
    """

    before: tuple[str, ...]
    answers: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    student: str = ""


@dataclass(frozen=True)
class Released:
    """A cell of the student edition; name: the answer that its task asks for, "" for words."""

    kind: str
    task: str
    type: str
    source: str
    name: str


@dataclass(frozen=True)
class Own:
    """A cell of the student's, its task, "" before the first, and the tasks that it answers.

    kind: code; check, which only calls one; aside, code in a cell for text; words; stub, as it was
    released; "" for what is not the student's.
    """

    source: str
    task: str
    gives: frozenset[str] = frozenset()
    kind: str = ""


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
        for cell in released.cells:
            one = cell.metadata["homework"]
            name = (one["answer"] or "") if cell.cell_type == "code" else ""
            kept = without_packed(cell.source)
            made = Released(one["kind"], one["task"] or "", cell.cell_type, kept, name)
            ids = [cell.id, cell.metadata.get("nbgrader", {}).get("grade_id")]
            if made.type == "markdown" and (number := EXERCISE.search(cell.source)):
                ids.append(number[0])
            self.by_id |= {id: made for id in ids if id}
            for source in {kept, kept.removesuffix(".hold()")}:  # as in the chapter
                self.by_source.setdefault(_trimmed(source), []).append(made)
        self.stubs = {one.task: one for one in self.by_id.values() if one.kind == "stub"}
        self.tasks = {task: stub.name for task, stub in self.stubs.items()}  # "" for words
        self.notes: list[str] = []
        self.votes: Counter[str] = Counter()  # for the problem set that it is of
        self.other: set[str] = set()  # tasks whose question is another one
        self.seen: set[str] = set()  # tasks whose stub is there, filled in or not

    def read(self, raw: bytes) -> Submission:
        """What was handed in."""
        notebook = notebook_of(raw)
        cells = list(cells_of(notebook, self.notes))
        short = (len(c.source) for c in cells if c.type == "code" or len(c.source) <= LONGEST_WORDS)
        if (length := sum(short)) > MOST_CODE:
            raise UnreadableError(
                f"the notebook's cells have {length} characters; at most {MOST_CODE} are read"
            )
        found, zone = [], ""
        for cell in (cell for cell in cells if cell.source.strip()):
            one = self._own(cell, zone)
            zone = one.task
            found.append(self._out_of_words(one))
        self._check_set(notebook)
        own = self._with_code_put_aside(found)
        answers = {}
        for task, name in self.tasks.items():
            cells_of_task = self._code(own, task) if name else self._words(own, task)
            if cells_of_task:
                answers[task] = cells_of_task
        before = tuple(one.source for one in own if not one.task and one.kind in ("code", "check"))
        if lost := [task for task in self.tasks if task not in answers.keys() | self.seen]:
            self.notes.append(f"there is no cell for: {', '.join(lost)}")
        if not answers and not before:
            self.notes.append("nothing was filled in")
        typed = [_typed(cell.source) for cell in cells if STUDENT.match(cell.source)]
        notes = tuple(dict.fromkeys(self.notes))
        return Submission(before, answers, notes, next(filter(None, typed), ""))

    # ------------------------------------------------------------- what a cell is

    def _own(self, cell: Cell, task: str) -> Own:
        """The cell with its task, given that of the one before it."""
        claims = self._claimed(cell)
        same = self.by_source.get(_trimmed(cell.source), [])
        if same:
            of_task = (one for one in same if one.task == task)
            known = claims if claims in same else next(of_task, same[0])
            self._vote(cell, bool(known.task))
            if known.kind == "stub":
                self.seen.add(known.task)
            is_stub = known.kind == "stub" and known.type == "code"
            return Own(cell.source, known.task or task, kind="stub" if is_stub else "")
        is_text = cell.type != "code" and (
            len(cell.source) > LONGEST_WORDS or (claims is not None and claims.type != "code")
        )
        tree = None if is_text else parsed(cell.source)
        is_code = cell.type == "code" or tree is not None
        defined = defined_in(cell.source, tree) if is_code and not is_text else set()
        gives = frozenset(task for task, name in self.tasks.items() if name in defined)
        self._vote(cell, bool(gives))
        if (
            claims is not None
            and (claims.kind, bool(claims.task)) == ("text", True)
            and _asks(cell.source) != _asks(claims.source)
        ):
            self.other.add(claims.task)
        if claims is not None and (not gives or claims.task in gives):
            task = claims.task or task
            if claims.kind == "stub":
                self.seen.add(claims.task)
        return Own(cell.source, task, gives, self._kind(cell, task, claims, tree, gives))

    def _claimed(self, cell: Cell) -> Released | None:
        nbgrader = cell.metadata.get("nbgrader")
        grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
        names = [*cell.ids, grade_id] if isinstance(grade_id, str) else [*cell.ids]
        if cell.type == "markdown" and (number := EXERCISE.search(cell.source)):
            names.append(number[0])
        return next((self.by_id[name] for name in names if name in self.by_id), None)

    def _kind(
        self,
        cell: Cell,
        task: str,
        claims: Released | None,
        tree: ast.Module | None,
        gives: frozenset[str],
    ) -> str:
        is_free = task in self.tasks and not self.tasks[task]
        if cell.type != "code" and gives:
            return "aside"
        if is_free and (cell.type != "code" or (not gives and _only_says(tree))):
            return "words"
        if cell.type != "code":
            return ""
        if STUDENT.match(cell.source) and (tree is None or len(tree.body) == 1):
            return ""
        if claims is not None and claims.kind == "given" and not gives:
            where = f"of {claims.task}" if claims.task else "before the tasks"
            self.notes.append(f"a given cell {where} was changed")
        return "check" if CHECK_CALL.search(cell.source) and not gives else "code"

    def _out_of_words(self, own: Own) -> Own:
        """Code among the text of a free response belongs to the task before it."""
        if own.kind not in ("code", "check") or self.tasks.get(own.task, "x"):
            return own
        names = list(self.tasks)
        earlier = [name for name in names[: names.index(own.task)] if self.tasks[name]]
        return replace(own, task=earlier[-1] if earlier else "")

    def _with_code_put_aside(self, cells: list[Own]) -> list[Own]:
        """Code in a cell for text is an earlier try where another cell answers the same."""
        answered = {task for cell in cells if cell.kind == "code" for task in cell.gives}
        kept = []
        for cell in cells:
            if cell.kind != "aside":
                kept.append(cell)
            elif not cell.gives <= answered:
                names = ", ".join(sorted(cell.gives))
                self.notes.append(f"a cell of text that answers {names} was taken for code")
                kept.append(replace(cell, kind="code"))
        return kept

    def _vote(self, cell: Cell, is_ours: bool) -> None:
        """Count the cell for the problem set that it names, or answers."""
        if found := CHECK_CALL.search(cell.source):
            self.votes[found[1]] += 1
            return
        named = (found[1] for found in map(SET_OF_ID.fullmatch, cell.ids) if found)
        if name := next(named, self.chapter if is_ours else ""):
            self.votes[name] += 1

    def _check_set(self, notebook: dict) -> None:
        """Note where a notebook is of another edition.

        Raises: UnreadableError for the notebook of another problem set, or of none.
        """
        about = notebook.get("metadata")
        about = about.get("homework") if isinstance(about, dict) else None
        about = about if isinstance(about, dict) else {}
        if re.fullmatch(r"\d\d", name := str(about.get("assignment"))):
            self.votes[name] += 1
        if not self.votes:
            raise UnreadableError(
                f"there is nothing of problem set {self.chapter} in it: {NEW_COPY}"
            )
        most = max(self.votes, key=lambda name: (self.votes[name], name == self.chapter))
        if most != self.chapter:
            raise UnreadableError(f"this is problem set {most}; {self.chapter} was to be handed in")
        if about.get("edition") not in (None, self.edition) and self.other:
            names = ", ".join(sorted(self.other))
            self.notes.append(f"it was made from another edition, which asks otherwise: {names}")

    # ------------------------------------------------------------- what comes of it

    def _code(self, cells: list[Own], task: str) -> tuple[str, ...]:
        """The code cells of a task; with a stub, perhaps changed in place, where none answers."""
        code = [one for one in cells if one.kind in ("code", "check")]
        own = [one for one in code if one.task == task]
        if not any(task in one.gives for one in own):
            others = [one for one in code if task in one.gives]
            order = ["", *self.tasks]
            if others and order.index(others[-1].task) < order.index(task):
                return (*(one.source for one in own), f"# answered before {task}")
            if others:
                self.notes.append(f"{task} is answered in a cell of {others[0].task}, run for both")
                own += others
            elif all(one.kind == "check" for one in own):
                return ()
            else:
                kinds = ("code", "check", "stub")
                own = [one for one in cells if one.task == task and one.kind in kinds]
                if all(one.kind != "stub" for one in own):
                    self.notes.append(f"no cell of {task} defines {self.tasks[task]}")
        return tuple(one.source for one in own)

    def _words(self, cells: list[Own], task: str) -> tuple[str, ...]:
        """The text of a free response, without what the release wrote there."""
        placeholders = [one.source for one in self.by_id.values() if one.task == task]
        texts = [one.source for one in cells if one.kind == "words" and one.task == task]
        for placeholder in placeholders:
            texts = [_without(placeholder, text) for text in texts]
        text = "\n\n".join(filter(None, texts))
        text = re.sub(r"(data:image/\w+)[^\s)\"']{1000,}", r"\1", text)  # of a pasted picture
        return (text,) if re.search(r"\w", text) else ()


def _typed(source: str) -> str:
    """The text that a cell with a student's name gives."""
    lines = tree.body[:1] if (tree := parsed(source)) else []
    found = [getattr(getattr(line, "value", None), "value", "") for line in lines]
    return next((str(one).strip() for one in found if isinstance(one, str | int)), "")[:80]


def _trimmed(source: str) -> str:
    """A source without what does not matter: space at the ends of lines, empty lines."""
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip())


def _asks(question: str) -> str:
    """A question without its points."""
    return _trimmed(POINTS.sub("", question))


def _only_says(tree: ast.Module | None) -> bool:
    """Whether a cell is no code, or nothing but comments and texts: words in a cell for code."""
    lines = [one for one in tree.body if not _imports_display(one)] if tree else []
    parts = [part for line in lines for part in ast.walk(line)]
    said = ast.Expr | ast.Assign | ast.Call | ast.Name | ast.Constant | ast.Load | ast.Store
    is_text = any(isinstance(getattr(node, "value", None), str) for node in parts)
    return not parts or (is_text and all(isinstance(node, said) for node in parts))


def _imports_display(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and str(statement.module).startswith("IPython")


def _without(placeholder: str, text: str) -> str:
    """A text without the lines of the placeholder, each taken off once."""
    lines = text.replace(placeholder.strip(), "", 1).strip().splitlines()
    for line in filter(str.strip, placeholder.splitlines()):
        if line.strip() in (stripped := [one.strip() for one in lines]):
            del lines[stripped.index(line.strip())]
    return "\n".join(lines).strip()
