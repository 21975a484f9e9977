"""What a person should look at in a student's code: what reaches for the book's own answers.

First, answers that are made with something of `helpers` that their exercise does not give: neither
its text nor its cells nor the book's solution use it. What comes of that the course decides. Then
code that reads the judges, tries the check in a loop, looks for files, looks into running code,
or runs text as code. The rest of Python and its libraries is anybody's.

A flag proves nothing. The code is read and never run.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from homework.intake.borrowed import Names, of_book, uses
from homework.intake.cellcode import LONGEST, parsed, plain_python
from homework.intake.repair import Submission
from homework.release.assignment import Assignment, Task

MOST_FLAGS = 100  # of a submission
LONGEST_LINE = 200  # characters of the line that is shown
INNER = (
    r"__(?:bases|builtins|closure|code|file|func|globals|loader|mro|path|self|spec|subclasses"
    r"|traceback|wrapped)__"
)
REACHES = [
    (re.compile(rf"(?:{pattern})(?:\..*)?"), what)
    for pattern, what in (
        (
            r"(?:builtins\.)?(?:eval|exec|compile|globals|__import__|__builtins__)|importlib(?!\.resources)"
            r"|runpy|marshal|pkgutil",
            "runs text as code, or finds names by text",
        ),
        (
            rf".*\.(?:{INNER}|[acg][gir]_frame|tb_frame|f_back|f_globals|f_locals)|inspect|gc|dis|linecache"
            r"|sys\.(?:modules|_getframe|_current_frames|settrace|setprofile|meta_path|exc_info)"
            r"|get_ipython|IPython\.(?!display|lib).*|homework",
            "looks into running code",
        ),
        (
            r"os\.(?:environ|exec\w+|_exit|fork\w*|kill|popen|system)|ctypes|mmap|socket|subprocess",
            "reaches for the system",
        ),
        (r"os\.(?:listdir|scandir|walk)|i?glob|.*\.(?:iterdir|rglob)", "looks for files"),
    )
]
TEXTS = (
    (re.compile(INNER), "looks into running code"),
    (re.compile(r"/(?:book|etc|home|proc|root|usr)\b.*|.*\bhelpers/.*"), "looks for files"),
)
JUDGES = re.compile(r"helpers\.(?:chapters\.\w+\.)?exercises(?:\.(\w+).*)?")
MAGIC = re.compile(  # lines for IPython, but for the harmless
    r"(?:^|=)[ \t]*(!(?!\[|[ \t]*pip\b)[^\n]{0,40}|%%?(?!(?:autoreload|capture|config|load_ext"
    r"|matplotlib|pip|precision|time|timeit|writefile)\b)[a-z]\w{0,20})",
    re.MULTILINE,
)
TIMED = re.compile(r"^([ \t]*)%(?:timeit|time)\b[ \t]*", re.MULTILINE)
ASKED = re.compile(r"[\"'][\w.]+[\"'] (?:not )?in sys\.modules\b")  # as whether this is Colab
WRITTEN = re.compile(r"\s*%%writefile[ \t]+(?:\S*/)?(\w+)\.py[ \t]*\n")


@dataclass(frozen=True)
class Flag:
    """Something to look at: the task, "" before the first; what, a plain sentence; the line.

    borrowed: whether it is that the answer is made with something of the book.
    """

    task: str
    what: str
    line: str
    borrowed: bool = False


def flags(submission: Submission, assignment: Assignment) -> tuple[Flag, ...]:
    """What a person should look at, each once, at most MOST_FLAGS. Never raises."""
    reader, borrowed = _Reader(assignment), []
    reader.read("", submission.before)
    for task in assignment.tasks:
        for cell in task.cells[:-1]:
            reader.follow(cell.source if cell.cell_type == "code" else "")
        if not task.free and task.name in submission.answers:
            reader.read(task.name, submission.answers[task.name])
            borrowed += reader.borrowed(task, submission.answers[task.name])
    found = [*(borrowed if assignment.book_functions != "allowed" else ()), *reader.found]
    return tuple(dict.fromkeys(found))[:MOST_FLAGS]


class _Reader:
    """Goes through the cells of a submission in the order in which they run."""

    def __init__(self, assignment: Assignment):
        self.names = Names()
        self.found: list[Flag] = []
        cells = [*assignment.setup, *(cell for task in assignment.tasks for cell in task.cells)]
        codes = [ASKED.sub("True", assignment.install.source)]
        codes += [cell.source for cell in cells if cell.cell_type == "code"]
        self.known = {text for code in codes for _, text in _statements(code)}
        for cell in assignment.setup:
            self.follow(cell.source)
        self.given = {task.name: self._given(task) for task in assignment.tasks}

    def _given(self, task: Task) -> set[str]:
        """What of the book an exercise gives: in its text, its cells or the book's solution."""
        texts = ["" if task.free else task.solution]
        for cell in task.cells:
            is_code = cell.cell_type == "code"
            texts += [cell.source] if is_code else re.findall(r"`([^`\n]+)`", cell.source)
        named = (use for text in texts for part, _ in _statements(text) for use in uses(part))
        return {of_book(self.names.path(use.name)) for use in named}

    def follow(self, source: str) -> None:
        """Go through a cell of the release."""
        for statement, _ in _statements(source):
            self.names.follow(statement, [], is_given=True)

    def read(self, task: str, sources: Iterable[str]) -> None:
        """Go through the student's cells of a task."""
        for source in sources:
            try:
                for line, what in self._cell(source):
                    if len(self.found) < MOST_FLAGS:
                        self.found.append(Flag(task, what, _short(line)))
            except Exception as error:  # a reader of two hundred files goes on with the next
                what = f"the cell could not be looked through ({type(error).__name__})"
                self.found.append(Flag(task, what, _short(source[:LONGEST_LINE])))

    def borrowed(self, task: Task, sources: Iterable[str]) -> list[Flag]:
        """A flag where a task's answer is made with what its exercise does not give."""
        found = self.names.book(task.answer)
        found = {thing: line for thing, line in found.items() if thing not in self.given[task.name]}
        names = ", ".join(sorted(thing.removeprefix("helpers.") for thing in found))
        names = re.sub(r"chapters\.\w+\.", "", names)
        lines = [line for source in sources for line in source.split("\n") if task.answer in line]
        line = next(filter(None, (*found.values(), *lines)), "")
        what = f"the answer is made with the book's own {names}"
        return [Flag(task.name, what, _short(line), True)] if found else []

    def _cell(self, source: str) -> Iterator[tuple[str, str]]:
        """Lines of a cell and what is odd in each."""
        if len(source) > LONGEST:
            yield source[:LONGEST_LINE], f"the cell has {len(source)} characters"
            return
        if plain_python(source) is None:
            for found in MAGIC.finditer(source):
                yield found[1], f"has a line for IPython, {found[1].strip()}"
            source = TIMED.sub(r"\1", source)
            if file := WRITTEN.match(source):  # a module of the student's own
                body = source[file.end() :].replace("\n", "\n    ")
                source = f"def {file[1]}():\n    {body}\n    pass"
        source = ASKED.sub("True", source)
        lines = source.split("\n")
        for statement, text in _statements(source):
            is_given = text in self.known
            self.names.follow(statement, lines, is_given)
            for line, what in sorted(set(self._odd(statement))) if not is_given else ():
                yield "".join(lines[line - 1 : line]), what

    def _odd(self, statement: ast.AST) -> Iterator[tuple[int, str]]:
        is_new_name = isinstance(getattr(statement, "value", None), ast.Name)
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                for alias in node.names:
                    yield from self._path(above + alias.name, node.lineno, True)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value[:LONGEST_LINE]
                yield from ((node.lineno, what) for form, what in TEXTS if form.fullmatch(text))
        for use in uses(statement):
            is_named = is_new_name or use.how != "read"
            yield from self._path(self.names.path(use.name), use.line, is_named, use.looped)

    def _path(
        self, path: str, line: int, is_named: bool, looped: bool = False
    ) -> Iterator[tuple[int, str]]:
        """What is odd about reading what a path leads to. is_named: it is only given a name."""
        for pattern, what in REACHES:
            if pattern.fullmatch(path):
                yield line, f"{what} ({path.lstrip('.')[:40]})"
        if not (found := JUDGES.fullmatch(path)):
            return
        if found[1] is None and not is_named:
            yield line, "hands on the book's judges"
        elif found[1] == "check" and looped:
            yield line, "tries the check in a loop or in a function"
        elif found[1] not in (None, "check") and not any(
            of_book(path) in given for given in self.given.values()
        ):
            yield line, f"reads the book's judges ({found[1]})"


def _statements(source: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statements of a cell, each with its text; none where it is no Python."""
    lines = source.split("\n")
    for part in getattr(parsed(source), "body", ()):
        yield part, "\n".join(lines[part.lineno - 1 : part.end_lineno])


def _short(line: str) -> str:
    line = line.strip()
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
