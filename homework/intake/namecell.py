"""The cell in which students write who they are, read and never run.

student_name(source)   the name or number that a cell gives
claimed(data)          the same of a notebook, of its bytes
"""

import ast
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from homework.intake.cellcode import parsed, plain_python, source_of

MOST_NOTEBOOK = 16 * 2**20  # bytes of a notebook in which a name is looked for
MOST_READ = 10_000  # characters of a cell
MOST_TRIED = 10  # assignments in a cell
LONGEST_NAME = 200  # characters
ASSIGNED = re.compile(r"^[ \t]*student[ \t]*=(?!=)[ \t]*", re.MULTILINE)
LITERAL = re.compile(
    r"""[rRuU]?(?:"{3}.*?"{3}|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|\d+(?![^\s#;,])""",
    re.DOTALL,
)
QUOTES = " \t\"'“”‘’„"
NOBODY = ("None", "True", "False")


def student_name(source: str, strict: bool = False) -> str:
    """The name or number that a cell assigns to `student`, in one line; "" where there is none.

    The cell need not be right: quotes may be forgotten or typographic, a number may begin with 0,
    and other lines may be anything. strict: only what stands in quotes, and numbers.
    """
    source = source[:MOST_READ]
    places = [found.end() for found in islice(ASSIGNED.finditer(source), MOST_TRIED)]
    if not places:
        return ""
    told = [*_constants(source, str), *(_literal(source, at) for at in places)]
    told += _constants(source, int, float)  # after those that stand there, perhaps with a 0 before
    told += [] if strict else [_bare(source, at) for at in places]
    return next(filter(None, map(_one_line, told)), "")


def is_student_cell(source: str) -> bool:
    """Whether all that a cell does is to say who the student is."""
    if not ASSIGNED.match(source):
        return False
    tree = parsed(source)
    return tree is None or len(tree.body) == 1


def claimed(data: bytes) -> str:
    """Who a notebook says its student is: the cell of that id or kind, else any; else ""."""
    try:
        notebook = json.loads(data) if len(data) <= MOST_NOTEBOOK else {}
        sheets = [notebook, *notebook.get("worksheets", [])]
        cells = [c for sheet in sheets for c in sheet.get("cells", []) if isinstance(c, dict)]
    except (ValueError, RecursionError, AttributeError, TypeError):
        return ""
    first = sorted(cells, key=lambda cell: not _is_marked(cell))
    return next(filter(None, map(_of_cell, first)), "")


def _is_marked(cell: dict) -> bool:
    metadata = cell.get("metadata")
    homework = metadata.get("homework") if isinstance(metadata, dict) else None
    kind = homework.get("kind") if isinstance(homework, dict) else None
    return cell.get("id") == "hw-student" or kind == "student"


def _of_cell(cell: dict) -> str:
    if cell.get("cell_type") != "code":
        return ""
    source = source_of(cell)
    return student_name(source, strict=not (_is_marked(cell) or is_student_cell(source)))


def _constants(source: str, *types: type) -> Iterator[str]:
    """Texts or numbers, where the cell is Python."""
    for node in getattr(parsed(source), "body", ()):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            is_it = any(getattr(target, "id", "") == "student" for target in node.targets)
            if is_it and type(node.value.value) in types:
                with suppress(ValueError):  # a number of thousands of digits
                    yield str(node.value.value)


def _literal(source: str, at: int) -> str:
    """A text in quotes, or a number as it stands; the rest of the cell may be anything."""
    found = LITERAL.match(source, at)
    if found is None or found[0].isdigit():
        return found[0] if found else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of \d in a text
            return str(ast.literal_eval(found[0]))
    except (ValueError, SyntaxError, MemoryError):
        return ""


def _bare(source: str, at: int) -> str:
    """The rest of a line, where the quotes were forgotten; not what calls or runs something."""
    written = source[at : at + 10 * LONGEST_NAME].partition("\n")[0].partition("#")[0].strip()
    if written in NOBODY or written.startswith(("!", "%")):
        return ""
    tree = plain_python(written)
    if tree is not None and any(isinstance(node, ast.Call) for node in ast.walk(tree)):
        return ""
    text = written.strip(QUOTES)
    return text if any(map(str.isalnum, text)) else ""


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LONGEST_NAME]
