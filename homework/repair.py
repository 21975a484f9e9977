"""From a file that was handed in to the student's own code cells, task by task.

What came is matched with the student edition as released: what a cell is (the same source as a
released cell) and what it defines (the name that a task asks for) count more than what it says of
itself (ids and metadata, which other programs drop and students can write). Nothing is run.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from nbformat import NotebookNode

from homework.cellcode import defined_in, parsed, source_of
from homework.studentcell import is_student_cell, student_name

MOST_BYTES = 64 * 2**20  # of a file
MOST_CELLS = 5000
MOST_CODE = 2**20  # characters of all code cells together
LONGEST_WORDS = 20_000  # characters of a cell that is no code and may have been
ALIKE = 0.8  # share of words that a changed cell has in common with the released one
HAND_IN = "hand in the .ipynb file itself (Jupyter: File, Download; Colab: File, Download .ipynb)"

# What a file is that begins so, and holds this in its first bytes.
OTHER_FILES = (
    (b"%PDF", b"", "a PDF"),
    (b"PK\x03\x04", b"word/", "a Word document"),
    (b"PK\x03\x04", b"xl/", "an Excel sheet"),
    (b"PK\x03\x04", b"", "a zip archive"),
    (b"\xd0\xcf\x11\xe0", b"", "an old Word or Excel document"),
    (b"{\\rtf", b"", "a text document (RTF)"),
    (b"\x89PNG", b"", "a picture (PNG)"),
    (b"\xff\xd8\xff", b"", "a picture (JPEG)"),
    (b"\x1f\x8b", b"", "a gzip archive"),
    (b"7z\xbc\xaf", b"", "a 7z archive"),
    (b"Rar!", b"", "a RAR archive"),
)
# Of the set a cell comes from: its id, its task, or the check that it calls.
SET_OF_ID = re.compile(r"(?:stub|check|exercise|solution)-(\d\d)-\d+")
SET_OF_TASK = re.compile(r"(\d\d)\.\d+")
CHECK_CALL = re.compile(r"exercises\.check\([ \t\n]{0,80}[\"'](\d\d)\.(\d+)[\"']")
SURROGATES = re.compile("[\ud800-\udfff]")


class UnreadableError(ValueError):
    """What was handed in is no notebook of this problem set; says what it seems to be."""


@dataclass(frozen=True)
class Submission:
    """What a student handed in.

    student: what stands in the cell for name or number, "" where nothing. before: own code cells
    (and given ones that were changed) before the first task. answers: by task, the own code cells
    in order; the text of a free response; no key for a task that was not touched. One that a cell
    of an earlier task answers has a comment for its cell. notes: what was repaired or is odd.
    """

    student: str
    before: tuple[str, ...]
    answers: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


def repaired(raw: bytes, released: NotebookNode) -> Submission:
    """What a student handed in, whatever became of it on the way.

    raw: the file. released: the student edition. Raises: UnreadableError, and nothing else.
    """
    notes: list[str] = []
    try:
        notebook = _notebook(raw, notes)
        cells = list(_cells(notebook, notes))
        short = (len(c.source) for c in cells if c.type == "code" or len(c.source) <= LONGEST_WORDS)
        if (length := sum(short)) > MOST_CODE:
            raise UnreadableError(
                f"the notebook's cells have {length} characters; at most {MOST_CODE} are read"
            )
        return _Repair(_release(released), cells, notes).submission(notebook, released)
    except UnreadableError:
        raise
    except (RecursionError, MemoryError):
        raise UnreadableError(f"the file is nested too deep for a notebook: {HAND_IN}") from None
    except Exception as error:  # one file must not keep the others from being graded
        raise UnreadableError(f"the file cannot be read ({type(error).__name__})") from error


# ------------------------------------------------------------- from bytes to cells


@dataclass
class _Cell:
    """A cell that was handed in, and what it turns out to be."""

    at: int
    type: str
    source: str
    metadata: dict
    ids: tuple[str, ...]
    claims: "_Released | None" = None  # what it says it is
    same: "_Released | None" = None  # what it is, unchanged
    is_python: bool = False
    again: bool = False  # that was found before
    gives: set[str] = field(default_factory=set)  # tasks whose answer it defines
    role: str = ""  # code, prose, untouched (a stub), student; "" is not the student's
    task: str = ""  # where it belongs, "" is before the first


def _notebook(raw: bytes, notes: list[str]) -> dict:
    """The JSON object of a notebook. Raises: UnreadableError that says what came instead."""
    if len(raw) > MOST_BYTES:
        raise UnreadableError(
            f"the file has {len(raw) / 2**20:.0f} MiB; at most {MOST_BYTES / 2**20:.0f} are read: "
            "clear the outputs and hand it in again"
        )
    for begins, holds, what in OTHER_FILES:
        if raw.startswith(begins) and holds in raw[:10_000]:
            raise UnreadableError(f"this is {what}, not a notebook: {HAND_IN}")
    if not raw.strip(b"\xef\xbb\xbf\xfe\xff\0 \t\r\n"):
        raise UnreadableError(f"the file is empty: {HAND_IN}")
    text = _decoded(raw, notes)
    try:
        notebook = json.loads(text.strip("\ufeff\0 \t\r\n"))
    except ValueError as error:
        raise UnreadableError(f"{_no_json(text, error)}: {HAND_IN}") from None
    if not isinstance(notebook, dict) or not (
        isinstance(notebook.get("cells"), list) or isinstance(notebook.get("worksheets"), list)
    ):
        raise UnreadableError(f"this is JSON, but no notebook (it has no cells): {HAND_IN}")
    return notebook


def _decoded(raw: bytes, notes: list[str]) -> str:
    encoding = json.detect_encoding(raw)
    if encoding.startswith("utf-8"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            notes.append("the file is not in UTF-8; it was read as Windows-1252")
            try:
                return raw.decode("cp1252")
            except UnicodeDecodeError:
                return raw.decode("latin-1")
    notes.append(f"the file is in {encoding.upper()}, not in UTF-8")
    return raw.decode(encoding, "replace")


def _no_json(text: str, error: ValueError) -> str:
    start = text.lstrip("\ufeff \t\r\n")[:500].lower()
    if start.startswith(("<!doctype html", "<html", "<head", "<?xml")):
        return "this is a web page (HTML), not a notebook"
    if "<<<<<<< " in text and "\n>>>>>>> " in text:
        return "the notebook holds the marks of a Git conflict"
    if start.startswith("{"):
        place = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return f"the notebook is damaged or cut off: its JSON is wrong{place}"
    if (tree := parsed(text)) is not None and not _only_words(tree):
        return "this is a Python program, not a notebook"
    return "this is no notebook"


def _only_words(tree: ast.Module) -> bool:
    return all(
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Name | ast.Constant) for s in tree.body
    )


def _cells(notebook: dict, notes: list[str]) -> Iterator[_Cell]:
    """The cells of a notebook of any format, outputs dropped, sources as plain text."""
    raw = notebook.get("cells")
    if not isinstance(raw, list):
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        lists = [sheet["cells"] for sheet in sheets if isinstance(sheet.get("cells"), list)]
        raw = [cell for cells in lists for cell in cells]
        notes.append("the notebook has the old format 3")
    if len(raw) > MOST_CELLS:
        raise UnreadableError(f"the notebook has {len(raw)} cells; at most {MOST_CELLS} are read")
    cells = [cell for cell in raw if isinstance(cell, dict)]
    if broken := len(raw) - len(cells):
        notes.append(f"damaged cells were left out: {broken}")
    odd = 0
    for at, cell in enumerate(cells):
        written = source_of(cell)
        source = SURROGATES.sub("\ufffd", written.replace("\0", "")).replace("\r\n", "\n")
        odd += "\0" in written or SURROGATES.search(written) is not None
        metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
        ids = tuple(i for i in (cell.get("id"), metadata.get("id")) if isinstance(i, str))
        yield _Cell(at, _type(cell), source.replace("\r", "\n"), metadata, ids)
    if odd:
        notes.append(f"cells with impossible characters were cleaned: {odd}")


def _type(cell: dict) -> str:
    kind = cell.get("cell_type")
    if kind in ("code", "markdown", "raw"):
        return kind
    if kind in ("heading", "html"):
        return "markdown"
    return "code" if "outputs" in cell or "input" in cell else "raw"


# ------------------------------------------------------------- what was released


@dataclass(frozen=True)
class _Released:
    """A cell of the student edition."""

    kind: str
    task: str
    type: str
    source: str
    id: str
    grade_id: str


@dataclass(frozen=True)
class _Release:
    """The student edition: its cells, its tasks in order (name to answer, "" for free text)."""

    chapter: str
    cells: tuple[_Released, ...]
    tasks: dict[str, str]

    def cell(self, kind: str, task: str) -> _Released | None:
        return next((c for c in self.cells if (c.kind, c.task) == (kind, task)), None)


def _release(notebook: NotebookNode) -> _Release:
    cells, tasks = [], {}
    for cell in notebook.cells:
        told = cell.metadata["homework"]
        task = told["task"] or ""
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cells.append(_Released(told["kind"], task, cell.cell_type, cell.source, cell.id, grade_id))
        if told["kind"] == "stub":
            tasks[task] = (told["answer"] or "") if cell.cell_type == "code" else ""
    return _Release(notebook.metadata["homework"]["assignment"], tuple(cells), tasks)


def _plain(source: str) -> str:
    """A source without what does not matter: space at the ends of lines, empty lines."""
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip())


# ------------------------------------------------------------- matching


class _Repair:
    """One submission against its release."""

    def __init__(self, release: _Release, cells: list[_Cell], notes: list[str]):
        self.release, self.cells, self.notes = release, cells, notes
        self.by_id = {c.id: c for c in release.cells}
        self.by_grade_id = {c.grade_id: c for c in release.cells if c.grade_id}
        self.by_source: dict[str, list[_Released]] = {}
        for cell in release.cells:
            for source in {cell.source, cell.source.removesuffix(".hold()")}:  # as in the chapter
                self.by_source.setdefault(_plain(source), []).append(cell)
        self.trees = {c.id: _dump(c.source) for c in release.cells if c.type == "code"}
        self.words = {c: _words(c.source) for c in release.cells if c.kind in ("given", "text")}
        self.unchanged: set[str] = set()  # ids of released cells that are there as released

    def submission(self, notebook: dict, released: NotebookNode) -> Submission:
        """Say what each cell is, where it belongs, and what is odd."""
        for cell in self.cells:
            self._recognise(cell)
        self._of_this_set(notebook, released)
        codes = [c for c in self.cells if c.type == "code" and not c.same]
        self.coded = {task for c in codes for task in c.gives}
        for cell in self.cells:
            cell.role = self._role(cell)
        self._place()
        before = tuple(c.source for c in self.cells if not c.task and _is_code(c))
        answers = {}
        for task, name in self.release.tasks.items():
            found = self._answer(task) if name else self._text(task)
            if found is not None:
                answers[task] = found
        self._missing(answers)
        if not answers and not before:
            self.notes.append("nothing was filled in")
        return Submission(self._student(), before, answers, tuple(dict.fromkeys(self.notes)))

    # what a cell is

    def _recognise(self, cell: _Cell) -> None:
        if not cell.source.strip():
            cell.claims = self._claims(cell)
            return
        cell.claims = self._claims(cell) or self._alike(cell)
        alike = self.by_source.get(_plain(cell.source), [])
        if alike:
            free = [one for one in alike if one.id not in self.unchanged]
            cell.same = cell.claims if cell.claims in alike else (free or alike)[0]
        else:
            self._read(cell)
        if cell.same:
            cell.again = cell.same.id in self.unchanged
            self.unchanged.add(cell.same.id)

    def _read(self, cell: _Cell) -> None:
        """Find what a cell defines, and whether only its layout was changed."""
        was_text = cell.claims is not None and cell.claims.type != "code"
        if cell.type != "code":
            too_long = len(cell.source) > LONGEST_WORDS
            if was_text or too_long:
                return
        tree = parsed(cell.source)
        cell.is_python = tree is not None
        if cell.type != "code" and tree is None:
            return
        gives = defined_in(cell.source, tree)
        cell.gives = {task for task, name in self.release.tasks.items() if name and name in gives}
        stubs = [self.release.cell("stub", task) for task in cell.gives]
        candidates = [c for c in (cell.claims, *stubs) if c and self.trees.get(c.id)]
        if candidates and (told := _dump(cell.source)):
            cell.same = next((c for c in candidates if self.trees[c.id] == told), None)

    def _claims(self, cell: _Cell) -> _Released | None:
        """The released cell that a cell says it is."""
        for name in cell.ids:
            if name in self.by_id:
                return self.by_id[name]
        nbgrader, told = (_dict(cell.metadata.get(key)) for key in ("nbgrader", "homework"))
        grade_id = nbgrader.get("grade_id")
        if isinstance(grade_id, str) and grade_id in self.by_grade_id:
            return self.by_grade_id[grade_id]
        kind, task = told.get("kind"), told.get("task")
        if isinstance(kind, str) and isinstance(task, str | None):
            return self.release.cell(kind, task or "")
        return None

    def _alike(self, cell: _Cell) -> _Released | None:
        """The question or given cell that a cell without a name was made from, by its words."""
        if len(cell.source) > LONGEST_WORDS or len(words := _words(cell.source)) < 8:
            return None
        shares = {c: len(words & w) / len(words | w) for c, w in self.words.items()
                  if c.type == cell.type}  # fmt: skip
        best = max(shares, key=shares.get, default=None)
        return best if best and shares[best] >= ALIKE else None

    def _of_this_set(self, notebook: dict, released: NotebookNode) -> None:
        """Raises: UnreadableError for the notebook of another problem set, or of none."""
        told = _dict(_dict(notebook.get("metadata")).get("homework"))
        votes = Counter(vote for cell in self.cells if (vote := _set_of(cell)))
        if re.fullmatch(r"\d\d", chapter := str(told.get("assignment"))):
            votes[chapter] += 1
        ours = self.release.chapter
        votes[ours] += sum(
            1 for c in self.cells if not _set_of(c) and (c.gives or (c.same and c.same.task))
        )
        most = max(votes, key=lambda name: (votes[name], name == ours))
        if most != ours:
            raise UnreadableError(f"this is problem set {most}; {ours} was to be handed in")
        if not votes[ours]:
            raise UnreadableError(f"this notebook has nothing of problem set {ours}: {HAND_IN}")
        edition = told.get("edition")
        if edition is not None and edition != released.metadata["homework"].get("edition"):
            self.notes.append("the notebook was made from another edition of the problem set")
        if any(name.startswith(f"solution-{ours}-") for c in self.cells for name in c.ids):
            self.notes.append("this seems to be the chapter itself; all of its code is run")

    # what is to be done with it

    def _role(self, cell: _Cell) -> str:
        """Whether it is the student's, and of what kind; notes what was changed."""
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
        if cell.claims is None and is_student_cell(cell.source):
            return "student"
        if cell.claims is None:
            return "" if _only_checks(cell) else "code"
        return self._changed(cell, cell.claims)

    def _words_for_code(self, cell: _Cell) -> str:
        """The role of a text: perhaps a free response."""
        if cell.claims is None:
            return "prose"
        if cell.claims.kind == "stub" and cell.claims.type == "code":
            if cell.claims.task not in self.coded:
                told = f"the cell of {cell.claims.task} is a {cell.type} cell and holds no answer"
                self.notes.append(told)
            return ""
        free = cell.claims.kind == "stub"
        return "prose" if free or cell.claims.id in self.unchanged else ""

    def _changed(self, cell: _Cell, released: _Released) -> str:
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

    # where it belongs

    def _place(self) -> None:
        """Give each cell its task: by what it defines, else by the released cell last seen."""
        marked = {self._marks(cell) for cell in self.cells}
        at_home, zone = set(), ""
        for cell in self.cells:  # tasks that are answered in their own place
            zone = cell.task = self._marks(cell) or zone
            if cell.role == "code":
                at_home |= {zone} & cell.gives
        zone = ""
        for cell in self.cells:
            zone = cell.task = self._marks(cell) or zone
            if cell.role != "code" or zone in cell.gives:
                continue
            homeless = [task for task in self.release.tasks if task in cell.gives - at_home]
            if homeless:
                cell.task = homeless[0]
                zone = zone if cell.task in marked else cell.task
        self._out_of_free_responses()

    def _out_of_free_responses(self) -> None:
        """Code among the text of a free response runs with the task before it."""
        earlier = ""
        home = {}
        for task, name in self.release.tasks.items():
            earlier = task if name else earlier
            home[task] = earlier
        for cell in self.cells:
            if cell.role == "code" and cell.task and home[cell.task] != cell.task:
                if not cell.is_python and not cell.same and not cell.gives:
                    cell.role = "prose"
                else:
                    cell.task = home[cell.task]

    def _marks(self, cell: _Cell) -> str:
        """The task that a cell shows to be here, "" where it shows none."""
        if cell.same is not None:
            return "" if cell.again and cell.same.kind == "given" else cell.same.task
        if cell.claims is None:
            return ""
        if cell.gives and cell.claims.task not in cell.gives:
            return ""  # it says it belongs to one task, and answers another
        return cell.claims.task

    # what comes of it

    def _answer(self, task: str) -> tuple[str, ...] | None:
        """The code cells of a task."""
        own = [c for c in self.cells if c.role == "code" and c.task == task]
        if any(task in c.gives for c in own):
            return tuple(c.source for c in own)
        order = ["", *self.release.tasks]
        other = [c for c in self.cells if c.role == "code" and task in c.gives]
        earlier = [c for c in other if order.index(c.task) < order.index(task)]
        if earlier:
            place = f"a cell {_of(earlier[-1].task)}"
            self.notes.append(f"{task} is answered in {place}")
            return (*(c.source for c in own), f"# answered in {place}")
        if other:
            self.notes.append(f"{task} is answered in a cell of {other[0].task}, run for both")
            own += other
        elif own:  # it is run where it stands: perhaps it is changed in place
            own += [c for c in self.cells if c.role == "untouched" and c.same.task == task]
        if any(c.claims and (c.claims.kind, c.claims.task) == ("stub", task) and not c.same
               for c in own if not other):  # fmt: skip
            name = self.release.tasks[task]
            self.notes.append(f"the cell of {task} does not define {name}")
        return tuple(c.source for c in sorted(own, key=lambda c: c.at)) if own else None

    def _text(self, task: str) -> tuple[str, ...] | None:
        """The text of a free response, without what the release wrote there."""
        placeholder = self.release.cell("stub", task).source
        parts = [_without(placeholder, c.source) for c in self.cells
                 if c.role == "prose" and c.task == task]  # fmt: skip
        text = "\n\n".join(part for part in parts if part)
        return (text,) if text else None

    def _missing(self, answers: dict[str, tuple[str, ...]]) -> None:
        """Note checks that were changed or are gone, and tasks of which nothing is left."""
        claimed = {c.claims.id for c in self.cells if c.claims} | self.unchanged
        called = {".".join(call) for c in self.cells if _only_checks(c)
                  for call in CHECK_CALL.findall(c.source)}  # fmt: skip
        gone = []
        for check in (c for c in self.release.cells if c.kind == "check"):
            if check.id in self.unchanged:
                continue
            if check.id in claimed or check.task in called:
                self.notes.append(f"the check cell of {check.task} was changed")
            else:
                gone.append(check.task)
        if gone:
            self.notes.append(f"check cells are missing: {', '.join(gone)}")
        stubs = {c.task for c in self.release.cells if c.kind == "stub" and c.id in claimed}
        if lost := [task for task in self.release.tasks if task not in stubs | answers.keys()]:
            self.notes.append(f"there is no cell for: {', '.join(lost)}")

    def _student(self) -> str:
        """What stands in the cell for the student's name."""
        found = (student_name(c.source) for c in self.cells if c.role == "student")
        return next(filter(None, found), "")


def _of(task: str) -> str:
    return f"of {task}" if task else "before the tasks"


def _is_code(cell: _Cell) -> bool:
    """Whether a cell is to be run; the one for the student's name where it holds more than that."""
    tree = parsed(cell.source) if cell.role == "student" else None
    return cell.role == "code" or (tree is not None and len(tree.body) > 1)


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


def _set_of(cell: _Cell) -> str:
    """The problem set that a cell seems to come from: what it calls, then what it says it is."""
    nbgrader, told = (_dict(cell.metadata.get(key)) for key in ("nbgrader", "homework"))
    if found := CHECK_CALL.search(cell.source):
        return found[1]
    if found := SET_OF_TASK.fullmatch(str(told.get("task"))):
        return found[1]
    named = filter(None, map(SET_OF_ID.fullmatch, (*cell.ids, str(nbgrader.get("grade_id")))))
    return next((found[1] for found in named), "")


def _only_checks(cell: _Cell) -> bool:
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


def _without(placeholder: str, text: str) -> str:
    """A text without the lines of the placeholder, each taken off once."""
    text = text.replace(placeholder.strip(), "", 1) if placeholder.strip() else text
    lines = text.strip().splitlines()
    for line in filter(str.strip, placeholder.splitlines()):
        if line.strip() in (stripped := [one.strip() for one in lines]):
            del lines[stripped.index(line.strip())]
    return "\n".join(lines).strip()
