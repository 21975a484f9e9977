"""The code of a cell, read and never run: its tree, and the names that it defines."""

import ast
import re
import warnings

from homework.release.carried import without_packed

LONGEST = 100_000  # characters of a cell; a longer one is searched, not parsed
MAGIC = re.compile(  # IPython's own translation takes the square of a cell's length
    r"^([ \t]*)(?:[%!?][^\n]*|[\w.]{1,80}\?{1,2}[ \t]*$|([\w \t,]{1,80}=[ \t]*)[%!][^\n]*)",
    re.MULTILINE,
)
TIMED = re.compile(r"^([ \t]*)%time[ \t]+(?=\w)", re.MULTILINE)  # the rest is a line of code
CELL_MAGIC = re.compile(r"[ \t\n]*%%")
RUNS_HERE = re.compile(r"[ \t\n]*%%(?:time|capture|prun)\b[^\n]*")  # the rest is the cell's code
DEFINED = re.compile(
    r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^([A-Za-z_][\w \t,]*)(?::[^=\n]*)?=(?!=)",
    re.MULTILINE,
)


def source_of(cell: dict) -> str:
    """What stands in a cell of a notebook's JSON; "" where it is no text."""
    source = cell.get("source", cell.get("input"))  # which nbformat 3 calls so
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    return without_packed(source) if isinstance(source, str) else ""


def parsed(source: str) -> ast.Module | None:
    """The tree of a cell, lines for IPython translated; None where it is no Python, or too long."""
    tree = plain_python(source)
    if tree is not None or len(source) > LONGEST:
        return tree
    if body := RUNS_HERE.match(source):
        return plain_python("\n" * source[: body.end()].count("\n") + source[body.end() :])
    if CELL_MAGIC.match(source):
        return ast.Module(body=[], type_ignores=[])
    return plain_python(MAGIC.sub(_for_magic, TIMED.sub(r"\1", source)))


def _for_magic(line: re.Match) -> str:
    """What stands for a line of IPython's: nothing, or something assigned to the same name."""
    return f"{line[1]}pass" if line[2] is None else f"{line[2]}None"


def plain_python(source: str) -> ast.Module | None:
    """The tree of a cell without lines for IPython; None where it is none, or too long."""
    if len(source) > LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined_in(source: str, tree: ast.Module | None) -> set[str]:
    """The global names that a cell defines; where it is no Python, those that lines begin with."""
    if tree is None:
        found = DEFINED.finditer(source)
        return {name.strip() for m in found for name in (m[1] or m[2]).split(",")}
    gives: set[str] = set()
    left: list[ast.AST] = list(tree.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            gives.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            gives |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        else:
            gives |= _assigned(node)
            left += _inside(node)
    return gives


def _inside(node: ast.AST) -> list[ast.AST]:
    """What is in a node that runs with it: no functions' bodies, and no names of loops."""
    if isinstance(node, ast.Lambda):
        return []
    loops = ast.For | ast.AsyncFor | ast.comprehension
    return [
        n for n in ast.iter_child_nodes(node) if not (isinstance(node, loops) and n is node.target)
    ]


def _assigned(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.Assign | ast.NamedExpr) and not (
        isinstance(node, ast.AnnAssign) and node.value is not None
    ):
        return set()
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = (n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}
