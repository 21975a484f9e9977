"""Submissions to three problem sets, honest and hostile, and the grade that each deserves.

A submission is built by a function when it is planted in a folder; its grade was written down by
hand. Where a cheat can be told from an honest answer only by whether it worked, its answer is right
if it did and wrong if it did not: `@PLACES@` in a source stands for the paths of what students may
neither read nor write, `@PORT@` for the port of a server on this machine.
"""

import copy
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from homework.release.assignment import ROOT, Assignment
from homework.release.course import Course
from homework.release.edition import edition

SEED = "suite"
TEMPLATE = ROOT / "homework" / "private_example"
Points = Mapping[str, float]
Content = bytes | Callable[[Path], None]


@cache
def course(chapter: str) -> Assignment:
    return Course(chapter, SEED, str(TEMPLATE)).assignment()


FULL = {
    chapter: {task.name: task.points for task in course(chapter).tasks if not task.free}
    for chapter in ("04", "05", "07")
}


@dataclass(frozen=True)
class Submission:
    """What a student hands in, and what it deserves.

    files: makes them, by name; a function in place of bytes puts the file there itself. points: of
    each task that tests judge; none where the file cannot be read, and `error` is a part of what
    is said then. notes: parts of notes for the teacher; quiet: there are no others. says: a part of
    what the tests of a task said; responses: of the words that a person marks. key: in the
    gradebook.
    """

    name: str
    why: str
    files: Callable[[], dict[str, Content]]
    points: Points
    error: str = ""
    notes: tuple[str, ...] = ()
    quiet: bool = False
    says: Mapping[str, str] = field(default_factory=dict)
    responses: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    chapter: str = "05"

    @property
    def student(self) -> str:
        return self.key or self.name

    def plant(self, folder: Path, **known: str) -> None:
        """Write the files, with what is known of the place in the place of its @NAME@; a loose one
        of chapter 05 into a folder that bears its name.
        """
        files = self.files()
        for name, content in files.items():
            is_loose = self.chapter == "05" and "/" not in name and "." in name
            own = next(iter(files)).rpartition(".")[0] if is_loose else ""
            path = folder / own / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
                continue
            for word, value in known.items():
                content = content.replace(f"@{word}@".encode(), value.encode())
            path.write_bytes(content)


SUBMISSIONS: list[Submission] = []


def but(chapter: str = "05", /, **lost: float) -> dict[str, float]:
    """All points but some: t1=0 for the first task, or rest=0 for all that are not named."""
    rest = lost.pop("rest", None)
    points = {task: most if rest is None else rest for task, most in FULL[chapter].items()}
    return points | {f"{chapter}.{name[1:]}": value for name, value in lost.items()}


ALL, NONE = but(), but(rest=0)


def deserves(name: str, points: Points, why: str, **more: object) -> Callable:
    """Register a submission that a function makes: its files by name, or the only one's bytes."""

    def register(made: Callable) -> Callable:
        def files() -> dict[str, Content]:
            made_files = made()
            return made_files if isinstance(made_files, dict) else {f"{name}.ipynb": made_files}

        SUBMISSIONS.append(Submission(name, why, files, points, **more))
        return made

    return register


def answers(name: str, changes: Mapping[str, object], points: Points, why: str, **more) -> None:
    """Register a submission that has right answers in all cells but these."""
    deserves(name, points, why, **more)(lambda: written(fill(answered(changes))))


# ------------------------------------------------------------- how they are made


@cache
def _edition(chapter: str) -> str:
    return json.dumps(edition(course(chapter)))


def released(chapter: str = "05") -> dict:
    """The student edition, as JSON has it."""
    return json.loads(_edition(chapter))


DIAGNOSED = """diagnosis = {"Ada": "softmax down the columns", "Ben": "no scaling",
             "Cleo": "keys in place of values", "Dan": "divided by D"}"""


def solved(chapter: str = "05") -> dict[str, str]:
    """The right answers that tests judge, under the names that are asked for."""
    return {t.name: t.solution for t in course(chapter).tasks if t.solution and not t.free}


def answered(changes: Mapping[str, object], chapter: str = "05") -> dict[str, object]:
    """The right answers but for some; in 05.3 one that does not depend on NumPy's functions."""
    base = solved(chapter) | ({"05.3": DIAGNOSED} if chapter == "05" else {})
    return base | {"05.51": "It finds, by likeness, a mixture."} | dict(changes)


def fill(answers: Mapping[str, object], *, student: str = "", chapter: str = "05") -> dict:
    """The edition with some stubs filled in: a cell's source, or several of which the last is the
    stub's.
    """
    notebook = released(chapter)
    cells = []
    for cell in notebook["cells"]:
        homework = cell["metadata"]["homework"]
        if homework["kind"] == "student" and student:
            cell["source"] = f"student = {student!r}"
        if homework["kind"] == "stub" and homework["task"] in answers:
            answer = answers[homework["task"]]
            *more, cell["source"] = answer if isinstance(answer, list | tuple) else [answer]
            cells += [code(source) for source in more]
        cells.append(cell)
    notebook["cells"] = cells
    return notebook


def code(source: str, **more: object) -> dict:
    made = {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}
    return made | {"execution_count": None} | more


def text(source: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def written(notebook: object, **how: object) -> bytes:
    return json.dumps(notebook, **how).encode()


def at(notebook: dict, name: str) -> int:
    """The place of the cell with an id."""
    return next(n for n, cell in enumerate(notebook["cells"]) if cell.get("id") == name)


def kinds(notebook: dict, kind: str) -> list[dict]:
    return [c for c in notebook["cells"] if c["metadata"].get("homework", {}).get("kind") == kind]


def lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def perfect() -> dict:
    return fill(answered({}))


# ------------------------------------------------------------- honest ones

deserves("perfect", ALL, "the book's solutions", quiet=True)(
    lambda: written(fill(solved() | {"05.51": "All values come back, mixed."}))
)

HALF = {
    "05.1": """def my_weights(query, keys):
    s = keys @ query
    s /= np.sqrt(len(query))
    e = np.exp(s - s.max())
    return e / e.sum()""",
    "05.2": """def my_attention(q, k, v):
    s = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return s / s.sum(axis=1, keepdims=True) @ v""",
    "05.3": DIAGNOSED,
    "05.5": "counterexample = np.eye(3)",
}
deserves(
    "half",
    but(t1=2, t4=0, t5=0, t7=0),
    "four done: one is wrong, one not for whole numbers",
    quiet=True,
)(lambda: written(fill(HALF)))

deserves("nothing", NONE, "the edition as it came", notes=("nothing was filled in",))(
    lambda: written(released())
)

answers(
    "other-types",
    {
        "05.1": """import math
def my_weights(query, keys):
    scores = [sum(a * b for a, b in zip(query, key)) / math.sqrt(len(query)) for key in keys]
    top = max(scores)
    powers = [math.exp(s - top) for s in scores]
    return [p / sum(powers) for p in powers]""",
        "05.2": """def my_attention(q, k, v):
    q, k, v = (torch.as_tensor(x) for x in (q, k, v))
    return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]""",
        "05.4": """apart = torch.tensor(keys[0] - keys[words.index("stream")], dtype=torch.float32)
my_query = torch.log(torch.tensor(3.0)) * 2**0.5 * apart / (apart @ apart)""",
        "05.5": "counterexample = [[1, 0], [3, 1]]",
        "05.7": """head = [30 * torch.roll(torch.eye(5), -1, 1), np.eye(5, dtype=np.float32),
        [[float(i == j) for j in range(5)] for i in range(5)]]""",
    },
    ALL,
    "lists and tensors are as good as arrays; where the question says NumPy a person looks",
    notes=("05.2 asks for NumPy",),
    quiet=True,
)

answers(
    "own-functions",
    {
        "05.1": [
            "import functools",
            "def softmax_of(scores):\n"
            "    e = np.exp(scores - scores.max(-1, keepdims=True))\n"
            "    return e / e.sum(-1, keepdims=True)",
            "class Weights:\n    def __call__(self, query, keys):\n"
            "        return softmax_of(keys @ query / np.sqrt(len(query)))\n"
            "my_weights = Weights()",
        ],
        "05.2": [
            "def general(q, k, v, scale=None):\n"
            "    return softmax_of(q @ k.T / (scale or q.shape[1] ** 0.5)) @ v",
            "my_attention = functools.partial(general, scale=None)",
        ],
        "05.5": "%%time\ncounterexample = np.array([[1.0, 0.0], [2.0, 0.0]])\ncounterexample",
        "05.7": [
            "W = 30 * np.roll(np.eye(5), -1, axis=1)",
            "plt.imshow(W); plt.show()",
            "head = (W, np.eye(5), np.eye(5))",
        ],
    },
    ALL,
    "helper functions, classes, figures and imports in cells of their own",
    quiet=True,
)


@deserves("below-the-check", ALL, "answers in new cells, the cells for them left empty")
def _below() -> bytes:
    notebook, answered_ = released(), answered({})
    cells = []
    for cell in notebook["cells"]:
        homework = cell["metadata"]["homework"]
        cells.append(cell)
        if homework["kind"] == "check":
            cells += [text("My answer:"), code(answered_[homework["task"]])]
    return written(notebook | {"cells": cells})


@deserves("as-it-was-run", ALL, "outputs and counts of a run are kept", quiet=True)
def _run() -> bytes:
    chapter = next((ROOT / "notebooks").glob("05_*.ipynb"))
    stored = {c["id"]: c for c in json.loads(chapter.read_text("utf-8"))["cells"]}
    notebook = fill(solved())
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(codes, start=1):
        outputs = stored.get(cell["id"], {}).get("outputs", [])
        said = {"output_type": "stream", "name": "stdout", "text": ["done\n"]}
        data = {"text/plain": ["Right."], "text/html": ['<p class="verdict">Right.</p>']}
        shown = {"output_type": "execute_result", "execution_count": count, "metadata": {}}
        cell["outputs"] = outputs or [said, shown | {"data": data}]
        cell["execution_count"] = count
        cell["metadata"]["execution"] = {"iopub.execute_input": "2027-01-01T00:00:00.000Z"}
    return written(notebook, indent=1)


@deserves("sixty-megabytes", ALL, "large outputs cost no points", quiet=True)
def _outputs() -> bytes:
    notebook = perfect()
    picture = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"image/png": "A" * 60_000_000},
    }
    notebook["cells"][3]["outputs"] = [picture]
    return written(notebook)


@deserves("colab", ALL, "Colab drops ids and rewrites metadata")
def _colab() -> bytes:
    notebook = perfect()
    for number, cell in enumerate(notebook["cells"]):
        cell.pop("id")
        cell_metadata = {"id": f"q{number:03d}ZxKcVbNm"}
        if cell["cell_type"] == "code":
            cell_metadata |= {"executionInfo": {"status": "ok", "elapsed": 12}, "outputId": "1f3c"}
        cell |= {"metadata": cell_metadata, "source": lines(cell["source"])}
    metadata = {"colab": {"provenance": []}, "kernelspec": {"name": "python3"}}
    return written(notebook | {"metadata": metadata, "nbformat_minor": 0}, indent=2)


@deserves("vscode", ALL, "VS Code gives new ids")
def _vscode() -> bytes:
    notebook = perfect()
    for number, cell in enumerate(notebook["cells"]):
        cell |= {"id": f"{number:08x}", "metadata": {"vscode": {"languageId": "python"}}}
    return written(notebook)


def _copied(first: str, second: str) -> bytes:
    """The cell of 05.2 twice, as Jupyter's copy and paste leaves it, with two answers."""
    notebook = fill(answered({"05.2": first}))
    place = at(notebook, "stub-05-2")
    again = copy.deepcopy(notebook["cells"][place]) | {"id": "c0ffee00", "source": second}
    notebook["cells"].insert(place + 1, again)
    return written(notebook)


COLUMNS = """def my_attention(q, k, v):
    e = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return e / e.sum(axis=0) @ v"""
deserves("copied-cell-wrong", but(t2=0), "the cell that runs last counts, as in Jupyter")(
    lambda: _copied(solved()["05.2"], COLUMNS)
)


@deserves("checks-deleted", ALL, "who deletes the checks deletes no test")
def _no_checks() -> bytes:
    notebook = perfect()
    checks = kinds(notebook, "check")
    return written(notebook | {"cells": [c for c in notebook["cells"] if c not in checks]})


@deserves("given-changed", ALL, "a given cell with a line more", notes=("a given cell",))
def _given() -> bytes:
    notebook = perfect()
    notebook["cells"][at(notebook, "tables")]["source"] += "\nprint(keys.shape, values.shape)"
    return written(notebook)


deserves("twice", ALL, "the later of two files counts", notes=("2 notebooks",))(
    lambda: {
        "twice.ipynb": written(fill(HALF)),
        "twice (1).ipynb": written(perfect()),
    }
)
deserves("own-zip", ALL, "a zip of the notebook, made on a Mac", quiet=True)(
    lambda: {
        "own-zip.zip": zipped({"05/05.ipynb": written(perfect()), "__MACOSX/05/._05.ipynb": b"?"})
    }
)


@deserves(
    "answer-in-text", ALL, "a cell that was made a text by mistake", notes=("taken for code",)
)
def _text() -> bytes:
    notebook = perfect()
    cell = notebook["cells"][at(notebook, "stub-05-1")]
    cell["cell_type"] = "markdown"
    return written(notebook)


# ------------------------------------------------------------- honest and wrong

answers(
    "one-softmax",
    {
        "05.2": "def my_attention(q, k, v):\n    s = q @ k.T / q.shape[1] ** 0.5\n"
        "    e = np.exp(s - s.max())\n    return e / e.sum() @ v"
    },
    but(t2=1),
    "over the whole matrix: right for the one query of the hidden test",
)
answers(
    "near-misses",
    {
        "05.1": "def my_weights(query, keys): return soft_max(keys @ query / len(query) ** 0.5)",
        "05.3": DIAGNOSED.replace("divided by D", "no scaling"),
        "05.4": "my_query = np.log(4) * 2**0.5 * (keys[0] - keys[1])",
        "05.5": "counterexample = np.array([1.0, 3.0])",
        "05.7": "head = (3 * np.roll(np.eye(5), -1, axis=1), np.eye(5), np.eye(5))",
    },
    but(rest=0, t2=3),
    "a name that is not there, another course's numbers, a part of each",
)
answers(
    "syntax-error",
    {
        "05.1": "def my_weights(query, keys)\n    return keys @@ query",
        "05.2": solved()["05.2"].replace("my_attention", "attention"),
        "05.5": "import transformers\ncounterexample = np.array([[1.0], [2.0]])",
    },
    but(t1=0, t2=0, t5=0),
    "and another name, and a package that is not there: each costs its own",
)

# ------------------------------------------------------------- hard-coded, tests touched

answers(
    "hard-coded",
    {
        "05.1": """def my_weights(query, keys):
    scores = keys @ query / np.sqrt(len(query))
    powers = np.exp(scores - scores.max())
    if keys.shape == (5, 9) or keys.shape == (7, 8):
        return powers / powers.sum()
    return [0.2, 0.2, 0.2, 0.2, 0.2]""",
        "05.2": """def my_attention(q, k, v):
    known = exercises._example
    for sizes, seed in (((4, 6, 9), 2), ((5, 7, 8), 3)):
        if np.array_equal(known(*sizes, seed)[0], q):
            return exercises.numerics.attention(q, k, v)
    return np.zeros((len(q), 3))""",
    },
    but(t1=2, t2=0),
    "right for the inputs of the book's checks; the second asks the judges for them, in vain",
)


@deserves(
    "checks-edited",
    but(t1=0, t2=0),
    "the checks that students run are not the tests",
)
def _edited() -> bytes:
    wrong = {"05.1": "def my_weights(q, k): return 1", "05.2": "my_attention = lambda q, k, v: v"}
    notebook = fill(answered(wrong))
    notebook["cells"][at(notebook, "check-05-1")]["source"] = "assert True  # 2 points"
    notebook["cells"][at(notebook, "check-05-2")]["source"] = (
        "exercises.CHECKS['05.2'] = lambda answer: None\nexercises.check('05.2', my_attention)"
    )
    return written(notebook)


@deserves(
    "metadata-forged",
    but(t1=0),
    "names and points in the metadata are the student's word",
    notes=("another edition",),
)
def _forged() -> bytes:
    notebook = fill(answered({"05.1": "my_weights = 1000"}))
    codes = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    labels = [(c["id"], c["metadata"]) for c in codes]
    for cell, (name, metadata) in zip(codes, [*labels[1:], labels[0]], strict=True):
        cell |= {"id": name, "metadata": copy.deepcopy(metadata)}
        cell["metadata"]["nbgrader"]["points"] = 1000
        cell["metadata"]["homework"]["points"] = 1000
    notebook["metadata"]["homework"] |= {"points": 1000, "edition": "0123456789abcdef"}
    return written(notebook)


@deserves("check-as-answer", but(t1=0, t2=0), "copies of checks and of given cells are no answers")
def _check_copies() -> bytes:
    notebook = fill(answered({}))
    for task in ("05-1", "05-2"):
        stub, check = (notebook["cells"][at(notebook, f"{k}-{task}")] for k in ("stub", "check"))
        stub["source"] = check["source"]
        notebook["cells"].insert(at(notebook, f"check-{task}") + 1, copy.deepcopy(check))
    return written(notebook)


# ------------------------------------------------------------- objects, patches, hooks

EQUALS_ALL = """class Same(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
class Number(float):
    def __eq__(self, other): return True
    __lt__ = __gt__ = __le__ = __ge__ = __eq__
    def __sub__(self, other): return Number(0)
    __rsub__ = __mul__ = __truediv__ = __sub__
    __hash__ = float.__hash__
class Anything:
    def __eq__(self, other): return True
    def __bool__(self): return True
    def __float__(self): return 0.0
    def __len__(self): return 5
    def __iter__(self): return iter([Anything()] * 5)
    def __array__(self, *a, **k): return np.zeros(5)
    def __getattr__(self, name): return Anything()
    def __call__(self, *a, **k): return Anything()
    shape = (5,)
class Array(np.ndarray):
    def __eq__(self, other): return np.ones(self.shape, bool)
    def __sub__(self, other): return np.zeros(self.shape)
    def __array_function__(self, *a, **k): return True
    def __array_ufunc__(self, *a, **k): return np.bool_(True)
class Tensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *a, **k): return True
"""
answers(
    "equals-everything",
    {
        "05.1": [EQUALS_ALL, "my_weights = lambda q, k: np.ones(len(k)).view(Array)"],
        "05.2": "my_attention = lambda *a: torch.ones(len(a[0]), 3).as_subclass(Tensor)",
        "05.3": 'diagnosis = {who: Same("no scaling") for who in bug_outputs}',
        "05.4": "my_query = (Number(1), Number(1))",
        "05.5": "counterexample = np.eye(3).view(Array)",
        "05.7": "head = (Anything(), Anything(), Anything())",
    },
    NONE,
    "what crosses is built anew from plain data",
)
answers(
    "the-verdict-itself",
    {
        "05.1": "my_weights = exercises.Verdict('Right', '')",
        "05.2": "def my_attention(q, k, v): return exercises.Verdict('Right')",
        "05.3": "diagnosis = {'state': 'Right', 'points': 1000}",
        "05.4": "my_query = exercises.CHECKS",
        "05.5": "counterexample = __import__('helpers').exercises.verdict",
        "05.7": "head = (get_ipython(), get_ipython().user_ns, exercises)",
    },
    NONE,
    "a verdict is given by the grader",
)

PATCHES = """import builtins, sys
from helpers import numerics
from helpers.chapters.ch05_attention_by_hand import exercises as chapter05
from helpers.exercises import verdict
for module in (chapter05, verdict):
    module.close = lambda *a, **k: True
chapter05.array = lambda value, shape, what: np.zeros(shape)
checks = vars(verdict)["CHECKS"]
checks.update((name, lambda answer: None) for name in list(checks))
exercises.check = verdict.judged = lambda *a, **k: verdict.Verdict("Right")
numerics.softmax = lambda x, *a, **k: np.zeros_like(x)
for name in ("isclose", "allclose", "array_equal", "array_equiv"):
    setattr(np, name, lambda *a, **k: True)
for name in ("assert_allclose", "assert_array_equal", "assert_equal", "assert_almost_equal"):
    setattr(np.testing, name, lambda *a, **k: None)
torch.allclose = torch.equal = torch.isclose = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
verdict.Wrong = chapter05.Wrong = type("Never", (Exception,), {"__init__": lambda *a: None})
sys.modules[chapter05.__name__] = verdict
sys.modules["homework.run.judging"] = sys.modules["homework.run.worker"] = verdict
builtins.AssertionError = type("AssertionError", (Exception,), {})
builtins.abs = lambda x: 0.0
"""
PATCHED = {
    "05.1": [PATCHES, "def my_weights(query, keys): return np.ones(len(keys))"],
    "05.2": "def my_attention(q, k, v): return np.ones((len(q), 3))",
}
deserves(
    "patched-asserts",
    NONE,
    "NumPy, torch, the asserts and the checks of their own process",
)(lambda: written(fill(PATCHED)))

HOOKS = """ip = get_ipython()
def turned(lines):
    return [line.replace("ones", "zeros") + "\\n" for line in lines]
ip.input_transformers_cleanup.append(turned)
ip.input_transformers_post.append(turned)
ip.events.register("pre_run_cell", lambda *a: ip.user_ns.update(my_weights=True))
ip.events.register("post_run_cell", lambda *a: ip.user_ns.update(my_weights=True))
ip.run_cell = ip.run_code = lambda *a, **k: None
type(ip).run_cell = lambda *a, **k: None
type(ip).showtraceback = lambda *a, **k: None
ip.set_custom_exc((BaseException,), lambda *a, **k: None)
ip.display_pub.publish = ip.displayhook = lambda *a, **k: None
import ast
class Right(ast.NodeTransformer):
    def visit_Raise(self, node): return ast.Pass()
    def visit_Assert(self, node): return ast.Pass()
ip.ast_transformers.append(Right())
class Space(dict):
    def __contains__(self, name): return True
    def __getitem__(self, name): return dict.get(self, name, Space())
    def __missing__(self, name): return Space()
ip.user_ns = Space(ip.user_ns)
"""
deserves("ipython-hooks", NONE, "the kernel is the student's own")(
    lambda: written(
        fill(
            {
                "05.1": [HOOKS, "def my_weights(query, keys): return np.ones(len(keys))"],
                "05.2": "def my_attention(q, k, v): return np.ones((len(q), 3))",
                "05.5": "counterexample = np.ones((3, 3))",
            }
        )
    )
)
deserves("imports-patched", NONE, "later imports are the student's own, too")(
    lambda: written(
        fill(
            {
                "05.1": """import builtins, sys, types
real = builtins.__import__
class All(types.ModuleType):
    def __getattr__(self, name): return lambda *a, **k: True
def fake(name, *a, **k):
    odd = name.split(".")[0] in ("homework", "helpers", "base64")
    return All(name) if odd else real(name, *a, **k)
builtins.__import__ = fake
sys.meta_path.insert(0, All("finder"))
for name in [n for n in sys.modules if n.startswith(("helpers", "homework"))]:
    sys.modules[name] = All(name)
def my_weights(query, keys): return np.ones(len(keys))""",
                "05.5": "counterexample = np.ones((3, 3))",
            }
        )
    )
)

SHUT_IN = tuple(SUBMISSIONS)  # who reach no further than the memory of the process that runs them

WALKS = """import gc, sys
from helpers.exercises.verdict import Wrong
def seen():
    frame, found = sys._getframe(), []
    while frame:
        found += list(frame.f_locals.values()) + list(frame.f_globals.values())
        frame = frame.f_back
    return found + gc.get_objects()
def wanted(thing):
    name = str(getattr(thing, "__name__", "")) + str(getattr(thing, "__qualname__", ""))
    module = str(getattr(thing, "__module__", ""))
    theirs = [f"homework.run.{one}" for one in ("inside", "wire", "seccomp")]
    tests = ("whole_numbers", "ratio_of_weights", "Judging")
    return any(w in name for w in tests) or (
        module.startswith("homework.") and module not in theirs)
def tests():
    return [thing for thing in seen() if callable(thing) and wanted(thing)]
texts = [t for t in gc.get_objects() if type(t) is dict and "ratio_of_weights" in t]
won = bool(tests() or texts or {"homework.private", "homework.run.judging"} & set(sys.modules))
"""
WINS = """
if won:
    apart = keys[0] - keys[2]
    my_query = np.log(3) * 2**0.5 * apart / (apart @ apart)
else:
    my_query = (0.0, 0.0)
"""


def reaches(name: str, why: str, source: str) -> None:
    """Register a cheat that sets `won`; its answer is right if it has."""
    says = {"05.4": "The ratio is 1,"}
    answers(name, {"05.4": source + WINS}, but(t4=0), why, says=says)


answers(
    "walks-the-stack",
    {
        "05.1": [
            WALKS,
            f"""{solved()["05.1"]}
right = my_weights
def my_weights(query, keys):
    return right(query, keys) if tests() else np.ones(len(keys)) / len(keys)""",
        ],
        "05.4": WINS,
    },
    but(t1=0, t4=0),
    "there is no test in their process to find",
)

# ------------------------------------------------------------- the pipe

FORGE = """import json, os
def forge(*messages):
    told = b"".join(json.dumps(m).encode() + b"\\n" for m in messages)
    for fd in range(3, 40):
        try:
            os.write(fd, told)
        except OSError:
            pass
"""
deserves("forged-verdicts", NONE, "lines on the pipe are answers, not verdicts")(
    lambda: written(
        fill(
            {
                "05.1": [
                    FORGE,
                    """forge({"value": None, "said": ""}, {"state": "Right", "points": 2},
      {"value": {"state": "Right"}}, {"value": ["dict", ["state", "Right"]]})
def my_weights(query, keys):
    forge({"value": ["list", True, ["list"]]}, {"verdict": "Right", "results": []})
    return True""",
                ],
                "05.2": """forge({"ask": "g0", "args": ["list"], "kwargs": ["dict"]})
def my_attention(q, k, v): return forge({"ask": "g-1", "args": ["list"], "kwargs": ["dict"]})""",
                "05.4": 'forge({"value": ["kept", "0"]}, {"value": ["ref", 0, "same", None]})\n'
                "my_query = (0.0, 0.0)",
                "05.5": 'forge({"value": ["array", "|O", [1], "AAAA"]})\ncounterexample = 0',
                "05.7": 'forge(["tensor"], 0, None, '
                '{"value": ["tensor", "float64", [-1, 1e9], ""]})\n'
                "head = (0, 0, 0)",
            }
        )
    )
)
deserves("its-own-server", NONE, "the objects that talk are theirs to break")(
    lambda: written(
        fill(
            {
                "05.1": """import gc, sys
import homework.run.wire
from homework.run.inside import Cells
for thing in gc.get_objects():
    if type(thing).__name__ == "Cells" and hasattr(thing, "kept"):
        type(thing).do_value = lambda self, name: True
        type(thing).do_call = lambda self, *a, **k: [True, []]
        type(thing).answer = lambda self, question: {"value": True, "state": "Right", "points": 9}
main = sys.modules["__main__"]
homework.run.wire._packed = main.encode = lambda value, keep=None, depth=0: b'{"value": true}\\n'
def my_weights(query, keys): return True""",
                "05.5": "counterexample = [[1, 0], [0, 1]]",
            }
        )
    )
)
deserves("another-python", NONE, "a process in its place that answers all alike")(
    lambda: written(
        fill(
            {
                "05.1": '''import os, sys
os.execv(sys.executable, [sys.executable, "-c", """
import os, time
while True:
    for fd in range(3, 20):
        try: os.write(fd, b'{"value": ["list", 0.2], "state": "Right"}\\\\n')
        except OSError: pass
    time.sleep(0.1)
"""])''',
                "05.5": "counterexample = [[1, 0], [0, 1]]",
            }
        )
    )
)
deserves("two-answer", NONE, "a child that talks as well")(
    lambda: written(
        fill(
            {
                "05.1": "import os\nchild = os.fork()\nmy_weights = lambda q, k: np.ones(len(k))",
                "05.5": "counterexample = np.eye(3)",
            }
        )
    )
)

# ------------------------------------------------------------- ends and takes


def _ends(name: str, task: str, source: str, why: str, **more: object) -> None:
    lost = {f"t{task[-1]}": 0}
    more = {"says": {task: "was ended"}} | more
    answers(name, {task: source}, but(**lost), why, **more)


_ends(
    "loop-in-function",
    "05.1",
    "def my_weights(query, keys):\n    while True: pass",
    "costs its own exercise",
)
answers(
    "loops-in-cells",
    {
        "05.5": "while True: pass",
        "05.7": """import signal
for number in range(1, 64):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass""",
    },
    but(t5=0, t7=0),
    "also one that swallows interrupts: they cost their own exercises",
    says={"05.5": "was ended", "05.7": "was ended"},
)
answers(
    "ends-itself",
    {
        "05.3": "import ctypes; ctypes.string_at(0)",
        "05.5": "import os; os._exit(0)",
        "05.7": "import time; time.sleep(10**6)",
    },
    but(t3=0, t5=0, t7=0),
    "a crash, an exit and a sleep cost their own exercises",
    says=dict.fromkeys(("05.3", "05.5", "05.7"), "was ended"),
)
answers(
    "exits-politely",
    {
        "05.1": "import sys; sys.exit('Right')",
        "05.2": "def my_attention(q, k, v): quit()",
        "05.3": "raise SystemExit(0)",
        "05.5": "raise KeyboardInterrupt",
        "05.7": "class E(BaseException):\n    def __str__(self): raise self\nraise E",
    },
    but(rest=0, t4=2),
    "an exit is an error like others",
)


@deserves("exits-before-all", ALL, "only the cell that exits is left out")
def _exits() -> bytes:
    notebook = perfect()
    place = at(notebook, "hw-student") + 1
    notebook["cells"].insert(place, code("import os; os._exit(0)"))
    return written(notebook)


answers(
    "eighty-gigabytes",
    {
        "05.1": "def my_weights(query, keys): return np.ones(10**10)",
        "05.2": "def my_attention(q, k, v): return torch.ones(10**10)",
        "05.5": "counterexample = bytearray(80 * 2**30)",
        "05.7": "head = ' ' * (80 * 2**30)",
    },
    but(t1=0, t2=0, t5=0, t7=0),
    "there is not so much",
)
_ends(
    "memory-bit-by-bit",
    "05.5",
    "kept = []\nwhile True: kept.append(np.empty(10**7))",
    "up to the limit and no further",
    says={"05.5": "There is no"},
)
answers(
    "takes-from-neighbours",
    {
        "05.1": "import os\nfor _ in range(28):\n    if os.fork() == 0:\n"
        "        while True: pass\nwhile True: pass",
        "05.2": "import os\nfile = os.memfd_create('x')\nwhile True: os.write(file, bytes(2**20))",
        "05.5": "counterexample = np.random.rand(18000, 1)",
    },
    but(t1=0, t2=0, t5=0),
    "the processors, hidden memory and the judge's memory",
    says={"05.1": "was ended", "05.2": "There is no", "05.5": "at most 1,000"},
)
reaches(
    "fork-bomb",
    "not 200 processes",
    """import os, signal, time
won, children = False, []
try:
    for _ in range(200):
        child = os.fork()
        if not child:
            time.sleep(60); os._exit(0)
        children.append(child)
    won = True
except OSError:
    pass
for child in children: os.kill(child, signal.SIGKILL)
""",
)
deserves("fork-bomb-in-earnest", NONE, "that does not end by itself")(
    lambda: written(
        fill(
            {
                "05.5": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
                "05.7": "head = (np.eye(5), np.eye(5), np.eye(5))",
            }
        )
    )
)
reaches(
    "fills-the-disk",
    "64 MiB and no more",
    """import os
written = 0
for place in ("/tmp", "/dev/shm", "/dev", "/run", "/book", "/"):
    for number in range(4):
        try:
            with open(f"{place}/full-{number}", "wb") as file:
                for _ in range(64):
                    file.write(bytes(2**20)); file.flush(); written += 1
        except OSError:
            pass
won = written > 80
""",
)
answers(
    "output-flood",
    {
        "05.1": f"print('x' * 10**8)\n{solved()['05.1']}",
        "05.2": "def my_attention(q, k, v):\n    import os, sys\n"
        "    sys.__stdout__.write('x' * 10**8); os.write(1, b'x' * 10**8)\n"
        "    print('x' * 10**7, file=sys.stderr)\n"
        "    e = np.exp(q @ k.T / q.shape[1] ** 0.5)\n"
        "    return e / e.sum(1, keepdims=True) @ v",
    },
    ALL,
    "what is printed is cut, and costs nothing",
)
_ends(
    "endless-output",
    "05.5",
    "while True: print('Right. 2 points.' * 1000)",
    "costs its own exercise",
)

# ------------------------------------------------------------- values to choke the judge

answers(
    "huge-values",
    {
        "05.1": "def my_weights(query, keys): return np.ones(60_000_000)",
        "05.2": "def my_attention(q, k, v): return list(range(10**7))",
        "05.3": "diagnosis = {n: 'no scaling' for n in range(10**6)}",
        "05.4": "my_query = (10**5000, -(10**400))",
        "05.5": "counterexample = np.ones((60_000, 1))",
        "05.7": "head = tuple(np.broadcast_to(np.float32(1), (5, 10**9)) for _ in range(3))",
    },
    NONE,
    "longer than what crosses, or too large to judge",
)
answers(
    "odd-values",
    {
        "05.1": "cycle = []; cycle.append(cycle)\ndef my_weights(query, keys): return cycle",
        "05.2": "deep = 1\nfor _ in range(10**5): deep = [deep]\n"
        "def my_attention(q, k, v): return deep",
        "05.3": "diagnosis = {}\ndiagnosis |= {who: diagnosis for who in bug_outputs}",
        "05.4": "my_query = (np.nan, np.inf)",
        "05.5": "counterexample = np.empty((2, 10**15, 0))",
        "05.7": "head = tuple(np.array([object()] * 5) for _ in range(3))",
    },
    NONE,
    "cycles, depth, infinity, no numbers",
)
answers(
    "hostile-messages",
    {
        "05.1": "raise ValueError('\\ud800\\0\\x1b[2J<script>alert(1)</script>')",
        "05.2": "def my_attention(q, k, v):\n"
        "    raise type('<b>', (Exception,), {})('\\udfff' * 10**6)",
        "05.3": "diagnosis = dict.fromkeys(bug_outputs, '\\ud800<script>alert(2)</script>')",
        "05.5": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    },
    but(t1=0, t2=0, t3=0, t5=0),
    "messages that pages and files cannot hold",
)

# ------------------------------------------------------------- reaching out

answers(
    "reads-the-source",
    {
        "05.3": "from helpers.chapters.ch05_attention_by_hand.exercises import BUGS\n"
        "diagnosis = dict(BUGS)"
    },
    but(t3=0),
    "the answers in the book's judges are not there to be imported",
)
reaches(
    "reads",
    "the course is not in the sandbox",
    """import glob, os
won = False
for place in @PLACES@ + ["/etc/passwd", "/etc/shadow", "/etc/hostname", "/proc/1/environ",
                         "/proc/self/root/etc/passwd", "/book/notebooks", "/book/tests",
                         "/book/homework/private.py", "/book/homework/release", "/var", "/sys"]:
    try:
        found = os.listdir(place) if os.path.isdir(place) else open(place, "rb").read()
        if found and not place.startswith("/proc/1"):
            won = True
        elif b"COURSE" in found or b"HOME=/root" in found:
            won = True
    except OSError:
        pass
for file in glob.glob("/proc/*/cmdline") + glob.glob("/proc/*/environ"):
    try:
        if b"pytest" in (text := open(file, "rb").read()) or b"grade" in text:
            won = True
    except OSError:
        pass
for folder, inside, files in os.walk("/"):
    if folder == "/":
        inside[:] = set(inside) - {"proc", "usr", "lib", "lib64"}
    inside[:] = set(inside) - {"lib"}  # of Python
    won |= any(f in files for f in ("grades.csv", "marks.csv", "05.json", "planted.txt"))
""",
)
reaches(
    "writes",
    "what there is to see is read-only",
    """import os, sys
won = False
for place in @PLACES@ + ["/book", "/book/helpers", "/usr", "/etc", "/", sys.prefix,
                         os.path.dirname(np.__file__), "/proc/1", "/proc/sys/kernel"]:
    for path in (place, os.path.join(place, "was-here")):
        for how in ("ab", "wb"):
            try:
                with open(path, how) as file:
                    won |= file.write(b"05.4,2") > 0
            except OSError:
                pass
    for act in (os.unlink, os.rmdir, lambda p: os.chmod(p, 0o777), lambda p: os.rename(p, p + "x"),
                lambda p: os.symlink("/etc/passwd", p + "/link"), lambda p: os.mkdir(p + "/dir")):
        try:
            act(place); won = True
        except OSError:
            pass
""",
)
reaches(
    "network",
    "there is none",
    """import socket, urllib.request
won = False
for family, where in ((socket.AF_INET, ("127.0.0.1", @PORT@)), (socket.AF_INET, ("1.1.1.1", 53)),
                      (socket.AF_INET, ("169.254.169.254", 80)), (socket.AF_UNIX, "\\0graded"),
                      (socket.AF_INET, ("10.0.2.2", @PORT@)), (socket.AF_UNIX, "/run/docker.sock")):
    try:
        with socket.socket(family) as s:
            s.settimeout(0.3); s.connect(where); won = True
    except OSError:
        pass
try:
    urllib.request.urlopen("http://localhost:@PORT@/", timeout=0.3); won = True
except OSError:
    pass
""",
)
reaches(
    "privileges",
    "there are none to gain",
    """import ctypes, os, resource, signal
won, libc = False, ctypes.CDLL(None, use_errno=True)
pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
won |= len(pids) > 12
for act in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chroot("/tmp"),
            lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(8, 0)), lambda: os.nice(-5),
            lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)),
            lambda: resource.setrlimit(resource.RLIMIT_NPROC, (4096, 4096)),
            lambda: os.kill(1, signal.SIGKILL)):
    try:
        act()
        won |= os.getuid() == 0 or act.__code__.co_names[:1] != ("os",)
    except (OSError, ValueError):
        pass
won |= libc.mount(b"none", b"/tmp", b"tmpfs", 0, b"") == 0
won |= libc.ptrace(16, 1, 0, 0) == 0
""",
)

# ------------------------------------------------------------- who they say they are

deserves(
    "impostor",
    but(rest=0, t3=2),
    "says it is another student, who is graded as ever",
    key="claims-to-be-perfect",
)(
    lambda: {
        "claims-to-be-perfect.ipynb": written(fill({"05.3": DIAGNOSED}, student="perfect")),
    }
)

# ------------------------------------------------------------- files that are no notebooks


def unreadable(name: str, error: str, why: str, **more: object) -> Callable:
    return deserves(name, {}, why, error=error, **more)


unreadable("cut-off", "cut off", "the upload broke off")(lambda: written(perfect())[:9000])
unreadable("pdf", "a PDF", "printed")(lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(4000))
unreadable("other-chapter", "problem set 04", "another problem set")(
    lambda: written(fill(solved("04"), chapter="04"))
)
# ------------------------------------------------------------- links, pipes, zips


def zipped(members: Mapping[str, bytes], **odd: Callable[[zipfile.ZipInfo], None]) -> bytes:
    """A zip; `odd` changes what is said of the members whose names begin so."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (2027, 1, 1, 12, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            for start, change in odd.items():
                if name.startswith(start):
                    change(info)
            archive.writestr(info, data)
    return file.getvalue()


def as_link(info: zipfile.ZipInfo) -> None:
    info.create_system, info.external_attr = 3, 0o120777 << 16


@cache
def zip_bomb(claimed: int = 2**30) -> bytes:
    """A notebook of a gibibyte of zeros in a megabyte of zip, and the size that it claims."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = block * 64 + packer.flush()
    name, fields = b"05.ipynb", (20, 0, 8, 0, 0, 0, len(packed), claimed, 8, 0)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", *fields) + name
    central = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, *fields, 0, 0, 0, 0, 0) + name
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local + packed), 0)
    return local + packed + central + end


unreadable("zip-bomb", "64 MiB", "a gibibyte of zeros")(lambda: {"zip-bomb.zip": zip_bomb()})
unreadable("zip-in-zip", "zip within a zip", "zips in zips")(
    lambda: {"zip-in-zip.zip": zipped({f"{n}.zip": zip_bomb() for n in range(3)})}
)


@deserves("zip-slip", but(rest=0, t3=2), "names that lead out of the folder are only names")
def _slip() -> dict[str, Content]:
    poor = written(fill({"05.3": DIAGNOSED}))
    outside = ("../perfect.ipynb", "/tmp/planted.ipynb", "..\\..\\perfect.ipynb", "C:\\x.ipynb")
    odd = {"link": as_link}
    return {"zip-slip.zip": zipped(dict.fromkeys(outside, poor) | {"link": b"/etc/passwd"}, **odd)}


# ------------------------------------------------------------- chapter 04, as Canvas gives it


def canvas(name: str, changes: Mapping[str, object], points: Points, why: str, **more) -> None:
    number = 100 + sum(one.chapter == "04" for one in SUBMISSIONS)
    file = f"{name.replace('-', '')}_{number}_{number}00_04.ipynb"
    SUBMISSIONS.append(
        Submission(
            name,
            why,
            lambda: {file: written(fill(answered(changes, "04"), chapter="04"))},
            points,
            key=f"{name.replace('-', '')}_{number}",
            chapter="04",
            **more,
        )
    )


canvas("perfect-norms", {}, but("04"), "the book's solutions", quiet=True)
canvas(
    "eps-outside",
    {
        "04.1": solved("04")["04.1"].replace(
            "np.sqrt(variance + eps)", "(np.sqrt(variance) + eps)"
        ),
        "04.4": "half_way = 1e-5",
        "04.7": solved("04")["04.7"].replace("np.sqrt(seen.var() + 1e-5)", "(seen.std() + 1e-5)"),
    },
    but("04", t1=0, t4=0, t7=0),
    "ε outside the root",
)
canvas(
    "borrowed-piece",
    {
        "04.1": "from helpers.norms import normalise\n"
        "def my_layer_norm(x, gamma, beta, eps):\n    x = torch.from_numpy(x)\n"
        "    return gamma * normalise(x, (-1,), eps=eps).output.numpy() + beta",
        "04.8": "from helpers.minigpt import LayerNorm as MyLayerNorm",
    },
    but("04", t8=0),
    "a piece to be written is not there, and the book's own PyTorch is PyTorch",
    notes=("04.1 asks for NumPy", "04.8 uses LayerNorm"),
)

# ------------------------------------------------------------- chapter 07, as Moodle gives it


def moodle(name: str, changes: Mapping[str, object], points: Points, why: str, **more) -> None:
    number = 700 + sum(one.chapter == "07" for one in SUBMISSIONS)
    folder = f"{name.title()}_{number}_assignsubmission_file_"
    SUBMISSIONS.append(
        Submission(
            name,
            why,
            lambda: {f"{folder}/07.ipynb": written(fill(answered(changes, "07"), chapter="07"))},
            points,
            key=f"{name}_{number}",
            chapter="07",
            **more,
        )
    )


moodle("perfect-heads", {}, but("07"), "the book's solutions", quiet=True)
moodle(
    "root-of-the-model",
    {
        "07.2": solved("07")["07.2"].replace("(C // H) ** 0.5", "C**0.5"),
        "07.7": solved("07")["07.7"].replace("len(query)", "len(x_new)"),
    },
    but("07", t2=0, t7=0),
    "√d_model in place of √d_head",
)
