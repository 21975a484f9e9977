"""The book's code as students' cells find it: without the judges, and without what is asked for."""

import ast
import compileall
import copy
import importlib
import inspect
import io
import marshal
import pickle
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

import helpers
from helpers.chapters import BY_NUMBER
from helpers.exercises import numbers_of
from homework.intake.cellcode import parsed
from homework.release.assignment import Assignment
from homework.run.wire import function_of

ASKED_FOR = {  # by exercise: names in `helpers` that do most of what it asks for
    "02.1": ("similarity.similarities",),
    "03.7": ("minigpt.get_batch",),
    "04.8": ("minigpt.LayerNorm",),
    "05.1": ("numerics.attention_weights", "worked.attention_of_one_query"),
    "05.2": ("numerics.attention", "attention.attention_steps"),
    "07.8": ("minigpt.CausalSelfAttention", "variants.SelfAttention"),
    "08.2": ("minigpt.FeedForward", "variants.FeedForward"),
    "09.1": ("minigpt.Block", "variants.Block"),
    "10.7": ("minigpt.init_weights",),
    "11.8": ("minigpt.GPT",),
    "13.2": ("minillama.merged", "chapters.ch13_tokens.lab.cut_by"),
    "14.1": ("minillama.RMSNorm",),
    "14.4": ("minillama.GroupedQueryAttention",),
    "15.1": ("minillama.CachedAttention",),
    "16.3": ("minillama.LoRA",),
    "16.4": ("chapters.ch16_from_text_to_answers.lab.dpo_loss",),
    "17.3": ("minillama.reinforce",),
}
ABANDONED = 86_400  # seconds, in which a command has ended
TOLD = {"03.1": {"smoothed"}, "07.8": {"scaled_dot_product_attention", "MultiheadAttention"}}
REFUSED = "raise LookupError('{} is what this problem set asks for: it is not there')"
JUDGES = '''"""What the given cells use of this chapter's judges; answers are judged elsewhere."""

import pickle

from helpers.exercises.verdict import Verdict


def check(*_, **__):
    return Verdict("Right", "Judged when it is graded.")  # so that a cell with its check goes on


globals().update(pickle.loads({!r}))
'''


@contextmanager
def book_for(assignment: Assignment) -> Iterator[Path]:
    """The folder `helpers` for the sandbox of a problem set; it is there until the context ends.

    No file in it holds a judge or a good answer. Functions that an exercise asks for, and methods
    of such classes, only say so.
    """
    for left in Path(tempfile.gettempdir()).glob("homework-*"):  # by a command that was killed
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="homework-") as folder:
        book = Path(folder, "helpers")
        shutil.copytree(Path(helpers.__file__).parent, book)
        own = BY_NUMBER[int(assignment.chapter)].folder.name
        for path in book.glob("chapters/*/exercises.py"):
            _write(path, _judges(assignment, own) if path.parent.name == own else "")
        for name in (n for task in assignment.tasks for n in ASKED_FOR.get(task.name, ())):
            module, _, last = name.rpartition(".")
            path = book / f"{module.replace('.', '/')}.py"
            _write(path, _without(path.read_text("utf-8"), last, name))
        compileall.compile_dir(book, quiet=2)
        yield book


def borrowed(assignment: Assignment, answers: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Notes on answers that use PyTorch where NumPy is asked for, or what does most of the work.

    Their code is read, and not run; whether that costs points is for a person to say.
    """
    for task in (task for task in assignment.tasks if not task.free):
        used = {name for source in answers.get(task.name, ()) for name in _used(source)}
        if task.in_numpy and used & {"torch", "F", "nn"}:
            yield f"{task.name} asks for NumPy, and its code uses PyTorch"
        asked = {name.rpartition(".")[2] for name in ASKED_FOR.get(task.name, ())}
        asked |= TOLD.get(task.name, set())
        yield from (f"{task.name} uses {name}" for name in sorted(used & asked))


def _used(source: str) -> Iterator[str]:
    """The names that a cell reads or imports, part by part."""
    for node in ast.walk(parsed(source) or ast.Module(body=[], type_ignores=[])):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from node.module.split(".")


def _write(path: Path, text: str) -> None:
    """Put a text into a file, and drop what was compiled of the one before."""
    path.write_text(text, "utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def _without(source: str, name: str, shown: str) -> str:
    """A module in which a function, or each method of a class but __init__, refuses."""
    tree = ast.parse(source)
    [found] = [node for node in tree.body if getattr(node, "name", None) == name]
    parts = found.body if isinstance(found, ast.ClassDef) else [found]
    for part in parts:
        if isinstance(part, ast.FunctionDef) and part.name != "__init__":
            part.body = ast.parse(REFUSED.format(shown)).body
    return ast.unparse(tree)


def numbers_given(assignment: Assignment, student: str) -> str:
    """The source of a cell that gives what is given to a student in the place of the book's."""
    folder = BY_NUMBER[int(assignment.chapter)].folder.name
    numbers_of(student, assignment.course)
    try:
        used = _used_of_judges(assignment, folder)
    finally:
        numbers_of("", "")
    name = f"helpers.chapters.{folder}.exercises"
    return f"import sys, pickle, {name}\nvars(sys.modules[{name!r}]).update(pickle.loads({used!r}))"


def _judges(assignment: Assignment, folder: str) -> str:
    return JUDGES.format(_used_of_judges(assignment, folder))


def _used_of_judges(assignment: Assignment, folder: str) -> bytes:
    """Of what given cells call of a chapter's judges, what came of it; of the rest that they name
    the thing itself.
    """
    judges = importlib.import_module(f"helpers.chapters.{folder}.exercises")
    cells = [*assignment.setup, *(cell for task in assignment.tasks for cell in task.cells[:-1])]
    plain = TransformerManager().transform_cell
    sources = [plain(cell.source) for cell in cells if cell.cell_type == "code"]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    called = {node.func for node in nodes if isinstance(node, ast.Call) and not node.args}
    used = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "exercises":
            value = getattr(judges, node.attr)
            used[node.attr] = partial(copy.deepcopy, value()) if node in called else value
    _Pickler(out := io.BytesIO(), judges.__name__).dump(used)
    return out.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles modules by name, and functions of a module that will not be there by their code."""

    def __init__(self, file: io.BytesIO, module: str):
        super().__init__(file)
        self.module = module

    def reducer_override(self, value: object) -> Any:
        if isinstance(value, ModuleType):
            return importlib.import_module, (value.__name__,)
        if not callable(value) or getattr(value, "__module__", "") != self.module:
            return NotImplemented
        function = inspect.unwrap(value)
        assert isinstance(function, FunctionType)
        code = function.__code__.replace(co_name="f", co_qualname="f")
        names = {n: function.__globals__[n] for n in code.co_names if n in function.__globals__}
        closed = tuple(cell.cell_contents for cell in function.__closure__ or ())
        return function_of, (marshal.dumps(code), names, closed)
