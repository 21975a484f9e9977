"""Near misses made from the syntax tree: every small wrong turn of a module, each with a stable id.

An operator takes a node and gives what people write in its place by mistake. A mutant is one such
replacement in one place; its id is the function, the operator and a number among these, so that an
edit elsewhere in the file does not change it.
"""

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property

DEFINITIONS = ast.FunctionDef | ast.ClassDef
Operator = Callable[[ast.AST, "Tree"], Iterator[ast.AST]]
OPERATORS: dict[str, Operator] = {}

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Pow: ast.Mult,
}
TWINS = [  # methods, functions and attributes that are taken for one another
    ("mean", "sum"),
    ("amax", "amin"),
    ("max", "min"),
    ("argmax", "argmin"),
    ("any", "all"),
    ("sin", "cos"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("zeros_", "ones_"),
    ("tril", "triu"),
    ("log", "log2"),
    ("rand", "randn"),
    ("floor", "round"),
    ("layer_norm", "rms_norm"),
    ("flatten", "ravel"),
    ("in_features", "out_features"),
    ("gamma", "beta"),
]
TWIN = {a: b for pair in TWINS for a, b in (pair, pair[::-1])} | {"cumsum": "sum"}
DROPPED_METHODS = {  # x.f() becomes x
    "sqrt",
    "square",
    "abs",
    "detach",
    "clone",
    "transpose",
    "permute",
    "masked_fill",
    "tril",
    "triu",
    "clamp",
    "clip",
    "relu",
    "float",
    "double",
    "to",
    "astype",
    "round",
    "flip",
    "sign",
    "view_as",
    "contiguous",
    "squeeze",
    "fill_diagonal_",
    "copy",
    "expand",
    "expand_as",
    "removeprefix",
    "strip",
    "replace",
    "lower",
    "resolve",
    "expanduser",
    "sort",
}
DROPPED_FUNCTIONS = {  # f(x) becomes x
    "sqrt",
    "abs",
    "exp",
    "log",
    "square",
    "where",
    "max",
    "min",
    "sorted",
    "tuple",
    "set",
    "float",
    "int",
    "round",
    "reversed",
    "normalize",
    "dropout",
    "softmax",
    "stack",
    "replace",
    "clip",
}
SMALL = 16  # whole numbers above are sizes and times, where one more or less is no mistake
# Arguments that are not left out: the same on a CPU, or, like an assert, a refusal that no result
# hangs on.
LEFT_IN = {
    "device",
    "encoding",
    "help",
    "metavar",
    "prog",
    "stacklevel",
    "strict",
    "frozen",
    "kw_only",
}
SHOWN = {"print", "add_argument", "tqdm"}  # what they are given is for a reader's eyes
CONVERTS = {"detach", "cpu", "to", "long", "float", "double", "clone"}  # in any order, and with
RESHAPES = {"flatten", "reshape", "view", "expand_as"}
SYMMETRIC = {"max", "min", "transpose", "broadcast_shapes"}  # in what they are called with


@dataclass(frozen=True)
class Mutant:
    """One replacement in one module."""

    id: str
    path: str  # of the module, from helpers
    span: tuple[int, int]  # in bytes
    lines: range  # of the statement that it stands in
    scope: range  # of the function or class around that
    before: str
    after: str

    def planted(self, source: bytes) -> bytes:
        """The module with it."""
        first, last = self.span
        return source[:first] + self.after.encode() + source[last:]

    @property
    def change(self) -> str:
        return f"{self.before}  →  {self.after}"


class Tree:
    """A parsed module: its nodes with their parents, functions and places in the text."""

    def __init__(self, path: str, source: bytes):
        self.path, self.source, self.module = path, source, ast.parse(source)
        self.starts = [0, *itertools.accumulate(len(line) for line in source.splitlines(True))]
        self.parent: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(self.module) for child in ast.iter_child_nodes(node)
        }

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (node := self.parent.get(node)) is not None:
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        return next(n for n in (node, *self.above(node)) if isinstance(n, ast.stmt))

    def function(self, node: ast.AST) -> str:
        names = [n.name for n in self.above(node) if isinstance(n, DEFINITIONS)]
        module = self.path.removesuffix(".py").replace("/", ".")
        return ".".join([module, *reversed(names)])

    def span(self, node: ast.AST) -> tuple[int, int]:
        first, last = self.starts[node.lineno - 1], self.starts[node.end_lineno - 1]
        return first + node.col_offset, last + node.end_col_offset

    def scope(self, node: ast.AST) -> range:
        around = next((n for n in self.above(node) if isinstance(n, DEFINITIONS)), None)
        first, last = (around.lineno, around.end_lineno) if around else (1, len(self.starts))
        return range(first, last + 1)

    def lines(self, node: ast.AST) -> range:
        """Lines whose being run means that the node was met: of its statement, or of its head."""
        statement = self.statement(node)
        body = getattr(statement, "body", None)
        last = body[0].lineno - 1 if body else statement.end_lineno
        return range(statement.lineno, max(last, statement.lineno) + 1)

    @cached_property
    def twins(self) -> dict[ast.AST, str]:
        """For each name read in a function, another that it could be taken for."""
        found = {}
        for function in ast.walk(self.module):
            groups = []
            if isinstance(function, ast.FunctionDef | ast.Lambda):
                arguments = [
                    *function.args.posonlyargs,
                    *function.args.args,
                    *function.args.kwonlyargs,
                ]
                of_a_kind = itertools.groupby(sorted(arguments, key=_annotation), key=_annotation)
                groups += [[a.arg for a in group] for _, group in of_a_kind]
            if isinstance(function, ast.FunctionDef):
                groups += [
                    [e.id for e in node.elts if isinstance(e, ast.Name)]
                    for node in ast.walk(function)
                    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store)
                ]
            for group in groups:
                group = [name for name in group if name not in ("self", "_")]
                following = dict(zip(group, group[1:] + group[:1], strict=True))
                for node in ast.walk(function):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                        other = following.get(node.id, node.id)
                        if other != node.id:
                            found[node] = other
        return found

    def mutable(self, node: ast.AST) -> bool:
        """Whether a change of it can matter: no annotation, docstring, message or f-string."""
        if not hasattr(node, "lineno"):
            return False
        chain = [node, *self.above(node)]
        for child, parent in itertools.pairwise(chain):
            if isinstance(parent, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import):
                return False
            if child in (getattr(parent, "annotation", None), getattr(parent, "returns", None)):
                return False
            if child in getattr(parent, "decorator_list", ()) and child is not node:
                return False
            if isinstance(parent, ast.Call) and _name(parent.func) in SHOWN:
                return False
        return True


def operator(function: Operator) -> Operator:
    """Add it to OPERATORS under its name."""
    OPERATORS[function.__name__] = function
    return function


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Every mutant of a module, in the order of the text."""
    tree = Tree(path, source)
    found: dict[tuple, Mutant] = {}
    numbers = Counter()
    for node in filter(tree.mutable, ast.walk(tree.module)):
        for name, change in OPERATORS.items():
            for other in change(node, tree):
                if ast.dump(other) == ast.dump(node):
                    continue
                place = f"{tree.function(node)}:{name}"
                mutant = _mutant(tree, node, other, f"{place}:{numbers[place]}")
                numbers[place] += 1
                found.setdefault((mutant.span, mutant.after), mutant)
    return sorted(found.values(), key=lambda mutant: mutant.span)


def near_miss(path: str, source: bytes, function: str, before: str, after: str) -> list[Mutant]:
    """The places in a function where an expression or a statement stands, as mutants."""
    tree = Tree(path, source)
    wanted = ast.parse(before).body[0]
    if isinstance(wanted, ast.Expr):
        wanted = wanted.value
        after = f"({after})" if isinstance(ast.parse(after).body[0], ast.Expr) else after
    return [
        replace(_mutant(tree, node, wanted, f"{function}:{before}"), before=before, after=after)
        for node in ast.walk(tree.module)
        if isinstance(node, type(wanted))
        and ast.dump(node) == ast.dump(wanted)
        and f"{tree.function(node)}.".startswith(f"{function}.")
    ]


def _mutant(tree: Tree, node: ast.AST, other: ast.AST, id: str) -> Mutant:
    first, last = tree.span(node)
    after = ast.unparse(other).replace("\n", "\n" + " " * node.col_offset)
    if isinstance(other, ast.expr) and not isinstance(other, ast.Name | ast.Constant | ast.Starred):
        after = f"({after})"
    before = " ".join(tree.source[first:last].decode().split())
    return Mutant(id, tree.path, (first, last), tree.lines(node), tree.scope(node), before, after)


def _annotation(argument: ast.arg) -> str:
    return ast.unparse(argument.annotation).split("[")[0] if argument.annotation else ""


def _name(function: ast.AST) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """The node with some fields changed."""
    kept = dict(ast.iter_fields(node))
    return ast.copy_location(type(node)(**deepcopy(kept | fields)), node)


def _in_any_order(row: ast.Tuple | ast.List, tree: Tree) -> bool:
    """Whether the order in it says nothing: errors to catch, axes to reduce, names to look up,
    what something is or is not among, what is refused by a loop.
    """
    parent = tree.parent.get(row)
    names = all(
        isinstance(e, ast.Starred) or isinstance(getattr(e, "value", None), str) for e in row.elts
    )
    kept = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name)
    checks = tree.function(row).endswith("__post_init__")
    lists = ast.Compare | ast.arguments | ast.Dict
    looked_up = names and (kept or checks or isinstance(parent, lists))
    among = isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.In | ast.NotIn)
    among |= isinstance(parent, ast.Call) and _name(parent.func) == "isinstance"
    refused = isinstance(parent, ast.For) and any(
        isinstance(node, ast.Raise) for node in ast.walk(parent.body[-1])
    )
    axes = getattr(parent, "arg", None) in ("dim", "axis")
    looked_up |= among or refused or axes
    return looked_up or isinstance(parent, ast.ExceptHandler | ast.Subscript)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


# ------------------------------------------------------------------------------- the operators


@operator
def comparison(node, tree):
    if isinstance(node, ast.Compare):
        for place, sign in enumerate(node.ops):
            for other in COMPARISONS[type(sign)]:
                yield _with(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])


@operator
def arithmetic(node, tree):
    """Another sign, one side alone, the sides the other way round."""
    if isinstance(getattr(node, "right", None), ast.Constant) and node.right.value is None:
        return  # int | None, a type
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield _with(node, op=ARITHMETIC[type(node.op)]())
    if isinstance(node, ast.BinOp):
        yield node.left
        if isinstance(node.op, ast.Add | ast.Mult | ast.MatMult):
            yield node.right
        around = ast.unparse(tree.parent[node])
        symmetric = around.startswith(("abs(", "np.abs(", "torch.abs("))
        symmetric |= around.startswith("(") and around.endswith((") ** 2", ").square"))
        if not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr) and not symmetric:
            yield _with(node, left=node.right, right=node.left)


@operator
def exponent(node, tree):
    """A root or a square forgotten is `arithmetic`; here the power has another sign or size."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        if isinstance(node.right, ast.UnaryOp):
            yield _with(node, right=node.right.operand)
        elif _is_number(node.right) and node.right.value == 0.5:
            yield _with(node, right=ast.Constant(2))


@operator
def sign(node, tree):
    if isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value == "-inf":
        yield ast.Constant("inf")


@operator
def number(node, tree):
    if _is_number(node) and not isinstance(node.value, bool):
        if isinstance(node.value, int) and node.value <= SMALL:
            yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
        elif isinstance(node.value, float):
            yield ast.Constant(node.value * 2 if node.value else 1.0)


@operator
def truth(node, tree):
    """True and False the other way round; a condition that always or never holds."""
    parent = tree.parent.get(node)
    is_truth = isinstance(node, ast.Constant) and isinstance(node.value, bool)
    if is_truth and getattr(parent, "arg", None) not in LEFT_IN:
        yield ast.Constant(not node.value)
    if isinstance(parent, ast.If | ast.While) and node is parent.test:
        yield ast.Constant(False)
        if isinstance(parent, ast.If) and not isinstance(parent.body[0], ast.Raise):
            yield ast.Constant(True)


@operator
def boolean(node, tree):
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
        for place in range(len(node.values)):
            rest = node.values[:place] + node.values[place + 1 :]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)


@operator
def branch(node, tree):
    """One branch whatever the condition; the two of `where` swapped; an entry of a filter kept."""
    if isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    if isinstance(node, ast.Call) and _name(node.func) == "where" and len(node.args) == 3:
        yield _with(node, args=[node.args[0], node.args[2], node.args[1]])
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        for place, part in enumerate(node.generators):
            if part.ifs:
                open_ = [*node.generators]
                open_[place] = _with(part, ifs=part.ifs[1:])
                yield _with(node, generators=open_)


@operator
def twin(node, tree):
    """A method, attribute or name that is taken for another."""
    if isinstance(node, ast.Attribute) and node.attr in TWIN:
        yield _with(node, attr=TWIN[node.attr])
    elif isinstance(node, ast.Name) and node in tree.twins:
        yield ast.Name(tree.twins[node], ast.Load())
    elif isinstance(node, ast.Name) and node.id in TWIN and isinstance(node.ctx, ast.Load):
        yield ast.Name(TWIN[node.id], ast.Load())


@operator
def dropped_call(node, tree):
    """x.sqrt(), np.sqrt(x), x.T and their like become x; ε moves out of a root."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield node.value
    if not isinstance(node, ast.Call):
        return
    moves = any(ast.unparse(value).endswith("device") for value in node.args)
    if isinstance(node.func, ast.Attribute) and node.func.attr in DROPPED_METHODS and not moves:
        yield node.func.value
    if _name(node.func) in DROPPED_FUNCTIONS:
        yield from (value for value in node.args[:3] if not isinstance(value, ast.Starred))
    if _name(node.func) == "sqrt" and node.args and isinstance(node.args[0], ast.BinOp):
        inside = node.args[0]
        yield _with(inside, left=_with(node, args=[inside.left]))


@operator
def order(node, tree):
    """f(g(x)) is g(f(x)), x.f().g() is x.g().f(), self.f(x) is x, neighbours in a row swapped."""
    row = isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load)
    if row and not _in_any_order(node, tree):
        for place in range(len(node.elts) - 1):
            first, second, *rest = node.elts[place:]
            yield _with(node, elts=[*node.elts[:place], second, first, *rest])
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        inner = node.args[0]
        if ast.unparse(node.func).startswith("self."):
            yield inner
        if isinstance(inner, ast.Call) and len(inner.args) == 1 and not inner.keywords:
            yield _with(node, func=inner.func, args=[_with(inner, func=node.func)])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        inner = node.func.value
        chained = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
        both = {node.func.attr, inner.func.attr} if chained else set()
        if chained and not (both <= CONVERTS | RESHAPES and both & CONVERTS):
            begun = _with(node, func=_with(node.func, value=inner.func.value))
            yield _with(inner, func=_with(inner.func, value=begun))


@operator
def argument(node, tree):
    """One left out, two neighbours swapped, a triangle with another diagonal."""
    if not isinstance(node, ast.Call) or _name(node.func) in {"isinstance", "getattr", *SHOWN}:
        return
    for place, keyword in enumerate(node.keywords):
        if keyword.arg not in LEFT_IN:
            yield _with(node, keywords=node.keywords[:place] + node.keywords[place + 1 :])
    swapped = [] if _name(node.func) in SYMMETRIC else node.args
    for place in range(len(swapped) - 1):
        first, second, *rest = node.args[place:]
        yield _with(node, args=[*node.args[:place], second, first, *rest])
    if len(node.args) > 1:
        yield _with(node, args=node.args[:-1])
    if _name(node.func) in ("tril", "triu"):
        given = node.args[0] if node.args else ast.Constant(0)
        for sign_ in (ast.Sub(), ast.Add()):
            yield _with(node, args=[ast.BinOp(given, sign_, ast.Constant(1))])
        if node.args:
            yield _with(node, args=[])


@operator
def bound(node, tree):
    """A slice or a range that begins or ends one later, or does not end; n - 1 for n."""
    one = ast.Constant(1)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for place, part in enumerate(parts):
            for changed in _bounds(part):
                whole = [*parts[:place], changed, *parts[place + 1 :]]
                tuple_ = ast.Tuple(whole, ast.Load())
                yield _with(node, slice=tuple_ if isinstance(node.slice, ast.Tuple) else changed)
    elif isinstance(node, ast.Call) and _name(node.func) in ("range", "arange", "full", "randint"):
        for place, value in enumerate(node.args):
            if not _is_number(value):
                for sign_ in (ast.Add(), ast.Sub()):
                    other = ast.BinOp(value, sign_, one)
                    yield _with(node, args=[*node.args[:place], other, *node.args[place + 1 :]])
    elif isinstance(node, ast.Call) and _name(node.func) == "len":
        yield ast.BinOp(node, ast.Sub(), one)


def _bounds(part: ast.AST) -> Iterator[ast.AST]:
    if isinstance(part, ast.Slice):
        for side in ("lower", "upper"):
            value = getattr(part, side)
            if value is not None:
                yield _with(part, **{side: None})
                if not _is_number(value):
                    yield _with(part, **{side: ast.BinOp(value, ast.Add(), ast.Constant(1))})


@operator
def removed(node, tree):
    """A statement left out; a context or a decorator that is not there."""
    inner = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    if inner or isinstance(node, ast.AugAssign | ast.Break | ast.Continue):
        yield ast.Pass()
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, read = (
            node.targets[0],
            {ast.unparse(n) for n in ast.walk(node.value) if isinstance(n, ast.expr)},
        )
        if ast.unparse(target) in read or isinstance(target, ast.Subscript | ast.Attribute):
            yield ast.Pass()
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for place, (name, value) in enumerate(zip(target.elts, node.value.elts, strict=False)):
                if ast.unparse(name) in {ast.unparse(n) for n in ast.walk(value)}:
                    values = [*node.value.elts]
                    values[place] = ast.Name(name.id, ast.Load())
                    yield _with(node, value=_with(node.value, elts=values))
    elif isinstance(node, ast.With) and not any(item.optional_vars for item in node.items):
        yield ast.If(ast.Constant(True), node.body, [])
    elif node in getattr(tree.parent.get(node), "decorator_list", ()) and "grad" in ast.dump(node):
        yield ast.parse("lambda function: function").body[0].value
