"""What of the book an answer is made with, found by following names from imports to the answer.

Cells are read in the order in which they run, statement by statement, and never run. A comparison
with a function of the book makes nothing of it, so it does not count.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

import helpers

BY_NAME = re.compile(
    r"^\s*(?:(?:from|import)\s+)?(helpers(?:\.\w+)*)(?:\s+import\b|\s*$)", re.MULTILINE
)
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
LOOP = ast.For | ast.AsyncFor | ast.While | COMPREHENSION | FUNCTION
CHAIN = ast.Name | ast.Attribute
PLACE = ast.Attribute | ast.Subscript
MOST_TEXT = 1000  # characters of a text in the code


@dataclass(frozen=True)
class Use:
    """A name, or a dotted one, that code reads, gives something to, or changes.

    how: "read", "given" (a value) or "changed" (a part). later: in a function's body, so that it is
    read when that is called. looped: it may be read many times.
    """

    name: str
    line: int
    how: str = "read"
    later: bool = False
    looped: bool = False

    @property
    def root(self) -> str:
        """Up to the first dot."""
        return self.name.partition(".")[0]


def uses(statement: ast.AST) -> Iterator[Use]:
    """The global names in a statement; not those that belong to its functions."""
    left: list[tuple[ast.AST, frozenset, bool, bool]] = [(statement, frozenset(), False, False)]
    while left:
        node, local, later, looped = left.pop()
        name, how = _named(node)
        if name and name.partition(".")[0] not in local:
            yield Use(name, getattr(node, "lineno", 1), how, later, looped)
        if isinstance(node, CHAIN):
            inner = _dotted(node)[1]
            left += [(inner, local, later, looped)] if inner else []
            continue
        parts = list(ast.iter_child_nodes(node))
        if later and isinstance(node, ast.Import | ast.ImportFrom):
            yield from (Use(path, node.lineno, later=True) for _, path in _imported(node))
        if isinstance(node, FUNCTION):
            body = node.body if isinstance(node.body, list) else [node.body]
            left += [(part, local | _local(node), True, True) for part in body]
            parts = [part for part in parts if part not in body]
        elif isinstance(node, COMPREHENSION | ast.ClassDef):
            local |= _given_in(node)
        looped |= isinstance(node, LOOP)
        left += [(part, local, later, looped) for part in parts]


def _named(node: ast.AST) -> tuple[str, str]:
    """The name of which something is said here, and what: as `Use.how`."""
    if isinstance(node, CHAIN):
        written = "given" if _is_name(node) else "changed"
        return _dotted(node)[0], "read" if isinstance(node.ctx, ast.Load) else written
    if isinstance(node, DEFINITION):
        return node.name, "given"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = BY_NAME.search(node.value[:MOST_TEXT])  # as in import_module("helpers.gpt")
        return (found[1], "read") if found else ("", "")
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        place: ast.AST = node
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # such as found.append(x)
        place = node.value.func
    else:
        return "", ""
    if not isinstance(place, PLACE):
        return "", ""
    while isinstance(place, PLACE):
        place = place.value
    return getattr(place, "id", ""), "changed"


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import gives, each with its path."""
    above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        name = (alias.asname or alias.name).partition(".")[0]
        yield name, above + alias.name if alias.asname or above else name


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def _dotted(node: ast.AST | None) -> tuple[str, ast.AST | None]:
    """An expression of dots as text, and what it begins with where that is no name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return (
        (".".join([node.id, *names]), None)
        if isinstance(node, ast.Name)
        else (".".join(["", *names]), node)
    )


def _given_in(node: ast.AST) -> set[str]:
    inside = list(ast.walk(node))
    found = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found - {name for n in inside if isinstance(n, ast.Global) for name in n.names}


def _local(function: FUNCTION) -> set[str]:
    return _given_in(function) | {n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)}


@cache
def _modules() -> frozenset[str]:
    """The modules of the book, by their dotted names."""
    root = Path(helpers.__file__).parent
    paths = (path.relative_to(root.parent).with_suffix("") for path in root.rglob("*.py"))
    return frozenset(".".join(path.parts).removesuffix(".__init__") for path in paths)


def of_book(path: str) -> str:
    """The thing of the book to which a path leads, such as helpers.gpt.GPT; "" for others."""
    parts = path.split(".")
    known = 1
    while known < len(parts) and ".".join(parts[: known + 1]) in _modules():
        known += 1
    return ".".join(parts[: known + 1]) if parts[0] == "helpers" else ""


@dataclass
class Names:
    """What global names stand for, as far as the code that was followed tells.

    paths: names of what was imported, and other names for it. made: what other names were made
    with, each with its line: things of the book, and names that their functions read when called.
    """

    paths: dict[str, str] = field(default_factory=dict)
    made: dict[str, dict[str, str]] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """The path of a dotted name, where it was imported; else itself."""
        root, dot, rest = name.partition(".")
        return self.paths.get(root, root) + dot + rest

    def follow(self, statement: ast.AST, lines: list[str], is_given: bool = False) -> None:
        """Read a statement. is_given: it is the release's; what it makes is the book's gift."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
        found = list(uses(statement))
        parts: dict[str, str] = {}
        for use in found if not is_given else ():
            line = "".join(lines[use.line - 1 : use.line]).strip()
            if use.how == "read":
                parts |= dict.fromkeys([use.name] if use.later else self.book(use.name), line)
        targets = getattr(statement, "targets", [None])
        is_whole = isinstance(statement, DEFINITION) or all(map(_is_name, targets))
        value = _dotted(getattr(statement, "value", None))[0]
        other = self.path(value) if is_whole and value.partition(".")[0] in self.paths else ""
        for use in found:
            if use.how == "given" or (use.how == "changed" and use.root not in self.paths):
                self.made[use.root] = parts | ({} if is_whole else self.made.get(use.root, {}))
            if use.how == "given":
                self.paths.pop(use.root, None)
                self.paths |= {use.root: other} if other else {}

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name, path in _imported(node):
            root, _, last = path.rpartition(".")
            if last == "*":
                names = vars(import_module(root)) if root in _modules() else ()
                self.paths |= {name: f"{root}.{name}" for name in names if not name.startswith("_")}
            elif path.partition(".")[0] in self.made:  # a module of the student's own
                self.made[name] = self.made[path.partition(".")[0]]
            else:
                self.paths[name] = path

    def book(self, *names: str) -> dict[str, str]:
        """What of the book some names stand for or are made with, and the lines."""
        left: list[tuple[str, str]] = [(name, "") for name in names]
        seen: set[str] = set()
        found: dict[str, str] = {}
        while left:
            name, line = left.pop()
            root = name.partition(".")[0]
            if thing := of_book(self.path(name)):
                found.setdefault(thing, line)
            elif root not in self.paths and root not in seen:
                seen.add(root)
                left += self.made.get(root, {}).items()
        return found
