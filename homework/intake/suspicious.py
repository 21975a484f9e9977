"""What a person should look at in a student's code: things that an honest answer hardly needs.

A flag costs no points and proves nothing. The code is read and never run; a cell that does not
parse is searched as text.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any

from helpers.chapters import CHAPTERS
from homework.intake.cellcode import LONGEST, parsed, plain_python
from homework.intake.repair import Submission

MOST_FLAGS = 100  # of a submission
LONGEST_LINE = 200  # characters of the line that is shown
MANY = 4  # comparisons of inputs with literals
MOST_DOTS = 20  # of an expression such as a.b.c; all of a longer one would take their square

MODULES = frozenset({
    "_thread", "asyncio", "atexit", "builtins", "code", "codeop", "concurrent", "ctypes",
    "dis", "fcntl", "ftplib", "gc", "glob", "homework", "http", "imp", "importlib", "inspect",
    "io", "linecache", "marshal", "mmap", "multiprocessing", "nbformat", "os",
    "pdb", "pickle", "pkgutil", "pty", "requests", "resource", "runpy", "selectors", "shutil",
    "signal", "site", "smtplib", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile",
    "threading", "unittest", "urllib",
})  # fmt: skip
FUNCTIONS = {
    "open": "opens a file", "eval": "runs text as code", "exec": "runs text as code",
    "compile": "runs text as code", "__import__": "imports a module by its name",
    "globals": "reaches for the global names", "input": "waits for a person to type",
    "exit": "ends the process", "quit": "ends the process", "breakpoint": "starts a debugger",
    "__builtins__": "reaches for the built-in functions", "SystemExit": "ends the process",
    "__loader__": "reaches for the import system", "__spec__": "reaches for the import system",
    "get_ipython": "reaches for the notebook's kernel", "BaseException": "catches every error",
    "KeyboardInterrupt": "catches what ends it", "GeneratorExit": "catches what ends it",
}  # fmt: skip
ORDINARY = {"compile", "exit", "input", "open", "quit"}  # also names of one's own
READERS = frozenset({
    "fromfile", "genfromtxt", "iterdir", "loadtxt", "memmap", "open", "read_bytes",
    "read_csv", "read_json", "read_pickle", "read_text", "savetxt", "write_bytes", "write_text",
})  # fmt: skip
FRAMES = frozenset({"f_back", "f_globals", "f_locals", "gi_frame", "tb_frame", "cr_frame"})
KEPT = re.compile(r"_\w+|(?!BUG_)[A-Z][A-Z_0-9]*")  # of a chapter's judges; the rest is given out
DUNDER = re.compile(r"__[a-z_]+__")
INNER = frozenset({
    "__base__", "__bases__", "__builtins__", "__class__", "__closure__", "__code__",
    "__dict__", "__func__", "__globals__", "__import__", "__loader__", "__mro__", "__self__",
    "__spec__", "__subclasses__", "__wrapped__",
})  # fmt: skip
HARMLESS = frozenset({
    "__call__", "__doc__", "__init__", "__len__", "__name__", "__post_init__", "__version__",
})  # fmt: skip
PRETENDS = frozenset({
    "__array__", "__array_function__", "__array_interface__", "__array_struct__",
    "__array_ufunc__", "__bool__", "__del__", "__eq__", "__float__", "__getattribute__",
    "__instancecheck__", "__ne__", "__reduce__", "__reduce_ex__", "__torch_function__",
})  # fmt: skip
GIVEN_ODD = {"importlib", "os", "sys"}  # the release's first cell imports some of them
# The book's judges, a part of them, and what leads to them; exercises is a chapter's in its cells.
JUDGES = re.compile(r"helpers\.(?:chapters\.\w+\.)?exercises(?:\.(\w+).*)?")
ABOVE = re.compile(r"helpers(?:\.chapters(?:\.\w+)?)?(?:\.exercises)?")
# What stands for modules that a problem set has imported before the student's first cell.
IMPORTED = dict.fromkeys((
    "F", "bigram", "draw", "helpers", "math", "nn", "np", "numerics", "plt", "torch",
), "") | {"exercises": "helpers.exercises", "helpers": "helpers"}  # fmt: skip
OPEN_TO_ALL = ("rcParams", "backends")  # settings, made to be assigned to
MAGICS = ("capture", "config[ ]InlineBackend", "matplotlib", "precision", "time", "timeit")
TIMED = re.compile(
    r"^([ \t]*)(?:%%(?:capture|timeit|time)\b[^\n]*|%(?:timeit|time)\b[ \t]*)", re.MULTILINE
)
LOOPS = ast.For | ast.AsyncFor | ast.While
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# Lines for IPython.
MAGIC = (
    (re.compile(r"(?:^|=)[ \t]*(?!!\[)(![^\n]{0,40})", re.MULTILINE), "runs a shell command, {}"),
    (re.compile(rf"(?:^|=)[ \t]*(%%?(?!(?:{'|'.join(MAGICS)})\b)[a-z]\w{{0,20}})",
                re.MULTILINE), "has the magic {}"),
)  # fmt: skip
# For a cell that does not parse.
TEXT = (
    (re.compile(rf"^[ \t]*(?:import|from)[ \t]+({'|'.join(sorted(MODULES))})\b", re.MULTILINE),
     "imports {}"),
    (re.compile(r"(?<![\w.])(open|eval|exec|compile|__import__|globals|input|exit|quit)\("),
     "calls {}"),
    (re.compile(rf"\b({'|'.join(sorted(INNER))})\b"), "reaches into Python by {}"),
    (re.compile(r"\b(get_ipython)\b"), "reaches for the notebook's kernel by {}"),
    (re.compile(r"\b(os\._exit|sys\.exit)\b"), "ends the process by {}"),
    (re.compile(r"\b(np|torch|exercises)\.\w{1,40}[ \t]{0,40}=(?!=)"), "assigns to a part of {}"),
)  # fmt: skip


@dataclass(frozen=True)
class Flag:
    """Something to look at: the task, "" before the first; what, a plain sentence; the line."""

    task: str
    what: str
    line: str


Found = Iterator[tuple[Any, str]]  # where, and what
Modules = dict[str, str]  # names of modules; of what leads to the book's judges its path, else ""


def flags(submission: Submission) -> tuple[Flag, ...]:
    """What a person should look at, in order, each once; at most MOST_FLAGS. Never raises."""
    cells = [("", source) for source in submission.before]
    cells += [(task, source) for task, many in submission.answers.items() for source in many]
    modules = dict(IMPORTED)
    found: dict[Flag, None] = {}
    for task, source in cells:
        try:
            for what, line in _cell(source, modules):
                found[Flag(task, what, line)] = None
                if len(found) == MOST_FLAGS:
                    return tuple(found)
        except Exception as error:  # a reader of two hundred files goes on with the next
            what = f"the cell could not be looked through ({type(error).__name__})"
            found[Flag(task, what, _line(source, 1))] = None
    return tuple(found)


def _cell(source: str, modules: Modules) -> Iterator[tuple[str, str]]:
    """What is odd in a cell, and the line. modules: those imported are added."""
    if len(source) > LONGEST:
        yield f"the cell has {len(source)} characters", _line(source, 0)
    plain = plain_python(source) is not None
    source = source if plain else TIMED.sub(r"\1", source)
    tree = parsed(source)
    if tree is None:
        yield from _searched(source, TEXT)
    if not plain:
        yield from _searched(source, MAGIC)
    if tree is None:
        return
    nodes = list(ast.walk(tree))
    for find in (_imported, _renamed, _renamed):  # twice, for a new name of a new name
        modules |= dict(one for node in nodes for one in find(node, modules))
    lines = source.split("\n")
    found = [odd for look in LOOKS for odd in look(nodes, modules)]
    for node, what in sorted(found, key=lambda odd: odd[0].lineno):
        yield what, _short("".join(lines[node.lineno - 1 : node.lineno]))


def _searched(source: str, patterns: Iterable[tuple[re.Pattern, str]]) -> Iterator[tuple[str, str]]:
    for pattern, what in patterns:
        for found in islice(pattern.finditer(source), MOST_FLAGS):
            yield what.format(found[1].strip()), _line(source, found.start(1))


def _line(source: str, at: int) -> str:
    """The line around a character."""
    begin = source.rfind("\n", max(0, at - LONGEST_LINE), at) + 1 or max(0, at - LONGEST_LINE)
    return _short(source[begin : begin + 2 * LONGEST_LINE].partition("\n")[0])


def _short(line: str) -> str:
    line = line.strip()
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


# ------------------------------------------------------------- what to look for, in all nodes


def _imported(node: ast.AST, modules: Modules) -> Iterator[tuple[str, str]]:
    """What an import gives a name to."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        above = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
        for alias in node.names:
            name = (alias.asname or alias.name).partition(".")[0]
            path = above + alias.name if alias.asname or above else name
            yield name, path if ABOVE.fullmatch(path) else ""


def _renamed(node: ast.AST, modules: Modules) -> Iterator[tuple[str, str]]:
    """The book's judges under a new name, as in c = exercises."""
    for name, value in _given_names(node):
        if ABOVE.fullmatch(path := _path(value, modules)):
            yield name, path


ROW = ast.Tuple | ast.List


def _given_names(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What is assigned to a name, pair by pair."""
    if not isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign):
        return
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    left: list[tuple[ast.expr, ast.expr | None]] = [(target, node.value) for target in targets]
    while left:
        target, value = left.pop()
        if isinstance(target, ast.Name) and value is not None:
            yield target.id, value
        elif isinstance(target, ROW) and isinstance(value, ROW):
            left += zip(target.elts, value.elts, strict=False)


def _path(node: ast.AST, modules: Modules) -> str:
    """An expression of names and dots as text, new names undone; "" for others."""
    names: list[str] = []
    while isinstance(node, ast.Attribute) and len(names) < MOST_DOTS:
        names.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([modules.get(node.id) or node.id, *names])


def _is_given_out(name: str) -> bool:
    """Whether it is some chapter's judges' own, and no module or function that they use."""
    modules = [module for one in CHAPTERS if (module := one.module("exercises"))]
    things = [(module, getattr(module, name)) for module in modules if hasattr(module, name)]
    return name == "check" or (
        all(
            getattr(thing, "__module__", None) == module.__name__
            or not (isinstance(thing, ModuleType) or callable(thing))
            for module, thing in things
        )
        and bool(things)
    )


def _imports(nodes: list[ast.AST], modules: Modules) -> Found:
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if (found := JUDGES.fullmatch(name)) and found[1]:
                yield node, f"imports a part of the book's judges, {name}"
            elif parts[0] == "IPython" and parts[1:2] != ["display"]:
                yield node, f"reaches for the notebook's machinery, {name}"
            elif name.startswith("importlib.resources."):  # chapters find their data by it
                continue
            elif parts[0] != "helpers" and (odd := MODULES & set(parts)):
                yield node, f"imports {min(odd)}"


def _names(nodes: list[ast.AST], modules: Modules) -> Found:
    own = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in FUNCTIONS:
            if isinstance(node.ctx, ast.Load) and node.id not in own & ORDINARY:
                yield node, f"{FUNCTIONS[node.id]} ({node.id})"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            name = getattr(node.args[0], "id", "")
            if node.func.id in ("setattr", "delattr") and name in modules:
                yield node, f"changes a part of the module {name} ({node.func.id})"
        elif isinstance(node, ast.Constant) and node.value in INNER | PRETENDS:
            yield node, f"reaches into Python by the name {node.value}"


def _attributes(nodes: list[ast.AST], modules: Modules) -> Found:
    printed = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr == "__name__"}
    for node in nodes:
        if not isinstance(node, ast.Attribute):
            continue
        whose = getattr(node.value, "id", "")
        if DUNDER.fullmatch(node.attr) and node.attr not in HARMLESS:
            if not (node.attr == "__class__" and id(node) in printed):
                yield node, f"reaches into Python by {node.attr}"
        elif node.attr in FRAMES:
            yield node, f"reaches into running functions by {node.attr}"
        elif whose in GIVEN_ODD:
            yield node, f"reaches for the system by {whose}.{node.attr}"
        elif node.attr in READERS or (
            whose in ("np", "numpy", "torch") and node.attr in ("load", "save")
        ):
            yield node, f"reads or writes a file ({node.attr})"


def _judges(nodes: list[ast.AST], modules: Modules) -> Found:
    named = [v for n in nodes for _, v in _given_names(n)]
    plain = {id(n.value) for n in nodes if isinstance(n, ast.Attribute | ast.Expr)}
    plain |= {id(value) for value in named}  # what is done with the new name is looked at
    for node in nodes:
        if not isinstance(node, ast.Name | ast.Attribute) or not (path := _path(node, modules)):
            continue
        if not (found := JUDGES.fullmatch(path)):
            continue
        if found[1] is None:
            if isinstance(node.ctx, ast.Load) and id(node) not in plain:
                yield node, f"hands on the book's judges ({path})"
        elif KEPT.fullmatch(found[1]):
            yield node, f"reads what the book's judges compare with ({found[1]})"
        elif not _is_given_out(found[1]):
            yield node, f"reaches the book's own code through its judges ({found[1]})"


def _assigned(nodes: list[ast.AST], modules: Modules) -> Found:
    for node in nodes:
        if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
            continue
        path, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            path.insert(0, root.attr)
            root = root.value
        name = getattr(root, "id", "")
        if name in modules and not set(path) & set(OPEN_TO_ALL):
            yield node, f"changes a part of the module {name} ({'.'.join([name, *path])})"


def _classes(nodes: list[ast.AST], modules: Modules) -> Found:
    for node in nodes:
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            targets = getattr(part, "targets", [getattr(part, "target", None)])
            names = [getattr(part, "name", ""), *(getattr(t, "id", "") for t in targets)]
            for name in names:
                if name in PRETENDS:
                    yield part, f"a class decides itself what its objects seem to be ({name})"


# ------------------------------------------------------------- what to look for, in loops


def _loops(nodes: list[ast.AST], modules: Modules) -> Found:
    in_loops = {id(n) for loop in nodes if isinstance(loop, LOOPS) for n in ast.walk(loop)}
    for node in nodes:
        if isinstance(node, ast.Try | ast.TryStar):
            around = id(node) in in_loops or any(isinstance(n, LOOPS) for n in ast.walk(node))
            for handler in node.handlers:
                if handler.type is None and around:
                    yield handler, "catches every error, around or in a loop"
        elif (
            isinstance(node, ast.While) and getattr(node.test, "value", None) and not _leaves(node)
        ):
            yield node, "loops for ever"


def _leaves(loop: ast.While) -> bool:
    """Whether something in a loop may end it."""
    left: list[tuple[ast.AST, bool]] = [(part, True) for part in loop.body]
    while left:
        node, breaks = left.pop()
        if isinstance(node, ast.Return | ast.Raise | ast.Yield | ast.YieldFrom):
            return True
        if isinstance(node, ast.Break) and breaks:
            return True
        if not isinstance(node, FUNCTION | ast.ClassDef):
            inner = breaks and not isinstance(node, LOOPS)
            left += [(part, inner) for part in ast.iter_child_nodes(node)]
    return False


# ------------------------------------------------------------- what to look for, in functions


def _functions(nodes: list[ast.AST], modules: Modules) -> Found:
    methods = {id(part) for n in nodes if isinstance(n, ast.ClassDef) for part in n.body}
    lambdas = {id(n.value) for n in nodes if isinstance(n, ast.Assign)}
    for node in nodes:
        if not isinstance(node, FUNCTION) or not (parameters := _parameters(node)):
            continue
        inside = list(ast.walk(node))
        reads = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        named = id(node) in lambdas if isinstance(node, ast.Lambda) else id(node) not in methods
        values = [v for v in _returned(node) if getattr(v, "value", v) is not None]
        if named and values and not reads & parameters and all(_fixed(v, modules) for v in values):
            yield node, "a function that gives the same whatever its arguments are"
        known = sum(_is_literal_test(n, parameters) for n in inside)
        if known >= MANY:
            yield node, f"a function that compares its arguments with {known} literal inputs"


def _parameters(function: FUNCTION) -> set[str]:
    told = function.args
    every = [*told.posonlyargs, *told.args, *told.kwonlyargs, told.vararg, told.kwarg]
    return {one.arg for one in every if one is not None}


def _returned(function: FUNCTION) -> list[ast.expr]:
    """What a function gives back, not what functions in it do."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    found: list[ast.expr] = []
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Return):
            found += [node.value] if node.value is not None else []
        elif not isinstance(node, FUNCTION | ast.ClassDef):
            left += ast.iter_child_nodes(node)
    return found


def _fixed(value: ast.AST, modules: Modules) -> bool:
    """Whether an expression is made of literals, or is a name from outside."""
    names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    return isinstance(value, ast.Name) or names <= modules.keys() | {
        "float",
        "int",
        "list",
        "tuple",
    }


def _is_literal_test(node: ast.AST, parameters: set[str]) -> bool:
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
        sides = [node.left, *node.comparators]
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        sides = node.args if name in ("allclose", "array_equal", "equal", "isclose") else []
    elif isinstance(node, ast.match_case):
        return isinstance(node.pattern, ast.MatchValue | ast.MatchSequence)
    else:
        return False
    read = [any(getattr(n, "id", "") in parameters for n in ast.walk(side)) for side in sides]
    return any(read) and any(map(_is_literal, sides))


def _is_literal(node: ast.AST) -> bool:
    """A number, or something made of numbers alone; no text and no truth value."""
    constants = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    numbers = all(isinstance(c, int | float) and not isinstance(c, bool) for c in constants)
    return bool(constants) and numbers and names <= {"np", "torch"}


LOOKS = (_imports, _names, _attributes, _judges, _assigned, _classes, _loops, _functions)
