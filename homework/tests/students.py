# ruff: noqa: E501 (lines of hand-ins are as their authors left them)
"""Hand-ins of honest people who were unlucky: right answers in odd forms, and near-right ones.

What is right gets all points; what is not quite gets a sentence that says what is amiss.
"""

import copy
import json
from collections.abc import Callable

from submissions import (
    ALL,
    DIAGNOSED,
    SUBMISSIONS,
    answered,
    answers,
    at,
    but,
    code,
    deserves,
    fill,
    kinds,
    lines,
    perfect,
    solved,
    text,
    written,
    zipped,
)

from homework.intake.roster import safe

KNOWN = len(SUBMISSIONS)
ROWS = """def my_attention(q, k, v):
    return [[float(x) for x in my_weights(row, k) @ v] for row in q]"""


def moved(notebook: dict, sources: list[str], after: str) -> bytes:
    """The notebook with new cells behind one of it."""
    place = at(notebook, after) + 1
    notebook["cells"][place:place] = [code(source) for source in sources]
    return written(notebook)


# ------------------------------------------------------------- the forms of an answer

answers(
    "tensors-with-a-gradient",
    {
        "05.4": """my_query = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
optimizer = torch.optim.LBFGS([my_query], max_iter=100)
def loss():
    optimizer.zero_grad()
    s = torch.tensor(keys, dtype=torch.float64) @ my_query / 2**0.5
    off = (s[0] - s[words.index("stream")] - np.log(3)) ** 2
    off.backward()
    return off
optimizer.step(loss)""",
        "05.5": """rows = torch.nn.Embedding(4, 3).weight.tanh() + 2  # positive, whatever was drawn
counterexample = rows * torch.tensor([[1], [1], [9], [90]])""",
        "05.7": """head = [torch.eye(5, requires_grad=True).roll(-1, 1) * 40, torch.eye(5).to_sparse()
        .to_dense(), torch.eye(5, dtype=torch.bfloat16)]""",
    },
    ALL,
    "results and parameters that are still in a graph",
    quiet=True,
)
answers(
    "single-precision",
    {
        "05.1": """def my_weights(query, keys):
    query, keys = query.astype(np.float32), np.float32(keys)
    s = keys @ query / np.float32(len(query)) ** np.float32(0.5)
    e = np.exp(s - s.max())
    return e / e.sum()""",
        "05.4": "apart = np.float32(keys[0] - keys[2])\n"
        "my_query = np.float32(np.log(3) * 2**0.5) * apart / (apart @ apart)",
        "05.5": "counterexample = np.float16([[1, 0], [2, 1]])",
    },
    ALL,
    "32 and 16 bits are enough",
    quiet=True,
)
answers(
    "scalars-in-lists",
    {
        "05.1": """def my_weights(query: np.ndarray, keys: "list[np.ndarray]") -> "list[float]":
    scores = [np.array(np.dot(query, key) / np.sqrt(query.size)) for key in keys]
    e = [np.exp(s - max(scores)) for s in scores]
    return tuple(np.array(x / sum(e)) for x in e)""",
        "05.2": ROWS,
        "05.3": 'diagnosis: dict[str, str] = {}\nfor who, what in zip(sorted(bug_outputs), ["softmax '
        'down the columns", "no scaling", "keys in place of values", "divided by D"]):\n'
        "    diagnosis[str(who)] = what",
        "05.4": "apart = keys[0] - keys[2]\nscale = np.log(3) * 2**0.5 / (apart @ apart)\n"
        "my_query: tuple[np.float64, ...] = tuple(np.float64(scale) * apart)",
        "05.5": "import array, collections\n"
        "counterexample = collections.deque([array.array('d', [1, 0]), range(2, 4)])",
        "05.7": """import itertools
q = [[40.0 * (t - 1 == s) for s in range(5)] for t in range(5)]
head = (q, [torch.eye(5)[t] for t in range(5)], np.identity(5, dtype=bool))""",
    },
    ALL,
    "arrays without axes, typed names, bits, lists of tensors, a deque",
    quiet=True,
)
answers(
    "decorated",
    {
        "05.1": """from __future__ import annotations
import functools, typing
def timed(function: typing.Callable) -> typing.Callable:
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        print("called", function.__name__)
        return function(*args, **kwargs)
    return wrapper
softmax = lambda s, axis=-1: (e := np.exp(s - s.max(axis, keepdims=True))) / e.sum(axis, keepdims=True)
class Weights:
    @staticmethod
    @timed
    def weigh(query: Vector, keys: Matrix, /, *, scale: float | None = None) -> Vector:
        return softmax(keys @ query / (scale or np.sqrt(query.size)))
my_weights = Weights.weigh""",
        "05.2": """@torch.no_grad()
def my_attention(q, k, v, *rest, **more):
    if len(q) == 0:
        return np.empty((0, v.shape[1]))
    first = softmax(q[:1] @ k.T / q.shape[1] ** .5) @ v
    return np.concatenate([first, my_attention(q[1:], k, v)])""",
        "05.5": """from dataclasses import dataclass
@dataclass
class Token:
    vector: np.ndarray
tokens = [Token(np.array([1., 0.])), Token(vector=np.array([5., 1.]))]
counterexample = [t.vector for t in tokens]""",
    },
    ALL,
    "decorators, types that are only written, keywords, recursion",
    quiet=True,
)
answers(
    "noise-of-a-notebook",
    {
        "05.1": [
            "!pip install einops\n%pip install -q tqdm seaborn\n%load_ext autoreload\n"
            "%autoreload 2\n%matplotlib inline\n%config InlineBackend.figure_format = 'retina'",
            "import warnings\nwarnings.warn('old'); print('\\x1b[31mhere\\x1b[0m', query := 3)",
            f"%%time\n# mine\n{solved()['05.1']}\nmy_weights(np.ones(2), np.eye(2));",
        ],
        "05.2": [
            f"%%capture out\n{solved()['05.2']}\nprint(my_attention)",
            "my_attention?",
            "%timeit -n1 -r1 my_attention(np.eye(2), np.eye(2), np.eye(2))",
        ],
        "05.4": [
            "    apart = keys[0] - keys[2]\n    scale = np.log(3) * 2**.5 / (apart @ apart)",
            ">>> my_query = scale * apart",
            "%time my_query = 1 * my_query\nmy_query",
        ],
        "05.5": ["np.array([[1., 0.], [3., 0.]])", 'counterexample = _ #@param {type:"raw"}'],
        "05.7": [
            "for t in range(25):\n    plt.figure(); plt.plot([t])\nplt.show()\nplt.close('all')",
            "if __name__ == '__main__':\n    W = 30 * np.roll(np.eye(5), -1, axis=1)",
            "from IPython.display import clear_output, display, HTML\nclear_output()\n"
            "display(HTML('<b>ready</b>'), W)\nhead = W, np.eye(5), np.eye(5)",
        ],
    },
    ALL,
    "magics, installs, figures, prompts and the last result",
    quiet=True,
)
answers(
    "seeds-and-settings",
    {
        "05.1": [
            "import random\nrandom.seed(7); np.random.seed(7); torch.manual_seed(7)\n"
            "torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False)\n"
            "torch.use_deterministic_algorithms(True); torch.set_num_threads(1)\n"
            "np.set_printoptions(precision=2, suppress=True); np.seterr(all='ignore')\n"
            "import sys; sys.setrecursionlimit(5000); from math import *",
            "from numpy import *\nsum_of = sum\n" + solved()["05.1"],
        ],
        "05.5": "counterexample = np.random.default_rng(0).normal(size=(6, 2)) * [[1]] * 5 + \\\n"
        "    np.array([[0], [0], [0], [0], [0], [random.randint(50, 60)]])",
        "05.7": "assert torch.get_default_dtype() is torch.float64\ntorch.manual_seed(1)\n"
        "noise = torch.rand(5, 5) / 1e3\n"
        "head = (40 * torch.eye(5).roll(-1, 1) + noise, torch.eye(5), torch.eye(5))",
    },
    ALL,
    "seeds, defaults and names of other modules",
    quiet=True,
)
answers(
    "awaits",
    {
        "05.1": """import asyncio
from concurrent.futures import ThreadPoolExecutor
async def score(query, key):
    await asyncio.sleep(0)
    return query @ key
def my_weights(query, keys):
    with ThreadPoolExecutor(2) as pool:
        s = np.array(list(pool.map(lambda key: asyncio.run(score(query, key)), keys)))
    e = np.exp((s - s.max()) / len(query) ** .5)
    return e / e.sum()""",
        "05.5": "await asyncio.sleep(0)\nrows = [await score(np.eye(2) * n, np.eye(2)) for n in (1, 3)]"
        "\ncounterexample = np.concatenate(rows)",
    },
    ALL,
    "a notebook may await at the top of a cell",
    quiet=True,
)


@deserves(
    "filled-in-place",
    ALL,
    "what is changed in a later cell counts as changed",
    quiet=True,
)
def _in_place() -> bytes:
    notebook = fill(
        {
            name: source
            for name, source in answered(
                {
                    "05.5": [
                        "counterexample = np.zeros((3, 2))",
                        "counterexample[0] = 1, 1\ncounterexample[1:] += [[4, 4], [9, 0]]",
                    ],
                    "05.7": "head = [0, 0, 0]\nhead[0], head[1] = 30 * np.roll(np.eye(5), -1, 1), np.eye(5)"
                    "\nhead[2] = np.eye(5)\ncounterexample  # still there",
                }
            ).items()
            if name != "05.3"
        }
    )
    value = DIAGNOSED.partition("=")[2].strip()
    return moved(notebook, [f"diagnosis.update({value})"], "stub-05-3")


answers(
    "numbers-of-all-kinds",
    {
        "05.1": """def my_weights(query, keys):
    s = np.asfortranarray(keys) @ query / np.sqrt(np.longdouble(query.size))
    e = np.exp((s - s.max())[::-1])[::-1]
    return (e / e.sum()).astype(">f8")""",
        "05.2": """def my_attention(q, k, v):
    w = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return np.asfortranarray(np.ma.masked_array(w / w.sum(1, keepdims=True) @ v))[:, ::-1][:, ::-1]""",
        "05.3": """from enum import Enum
class Bug(str, Enum):
    SCALE = "no scaling"
    AXIS = "softmax down the columns"
    KEYS = "keys in place of values"
    D = "divided by D"
diagnosis = {"Ada": Bug.AXIS, "Ben": Bug.SCALE, "Cleo": Bug.KEYS, "Dan": Bug.D}""",
        "05.4": "from fractions import Fraction\na = keys[0] - keys[2]\n"
        "my_query = [Fraction(float(x)) for x in np.log(3) * 2**.5 * a / (a @ a)]",
        "05.5": "counterexample = np.rec.array([[1.0, 0.0], [3.0, 0.0]])",
        "05.7": """from typing import NamedTuple
class Head(NamedTuple):
    q: np.ndarray
    k: np.ndarray
    v: torch.Tensor
head = Head(q=np.matrix(30 * np.roll(np.eye(5), -1, 1)), k=np.matrix(np.eye(5)), v=torch.eye(5, dtype=torch.uint8))""",
    },
    ALL,
    "byte orders, masks, enumerations, records, matrices",
    quiet=True,
)
answers(
    "functions-of-all-kinds",
    {
        "05.1": """class my_weights:
    def __new__(cls, query, keys):
        return softmax(np.vectorize(np.dot, signature="(d),(d)->()")(query, keys) / len(query) ** 0.5)""",
        "05.3": "from types import SimpleNamespace as S\ndiagnosis = vars(S(Ada='softmax down the columns', "
        "Ben='no scaling', Cleo='keys in place of values', Dan='divided by D'))",
        "05.5": """@torch.jit.script
def scripted(x): return x * 3
@torch.compile
def compiled(x): return scripted(x)
np.savetxt('x.csv', [[1, 0], compiled(torch.tensor([1, 0]))])
counterexample = np.loadtxt('x.csv')""",
    },
    ALL,
    "a class that gives arrays, compiled and scripted functions, files of one's own",
)
answers(
    "pools",
    {
        "05.1": """import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import Pool, cpu_count
torch.set_num_threads(16)
def my_weights(query, keys):
    with ThreadPoolExecutor(64) as pool:
        s = np.array(list(pool.map(lambda key: key @ query, keys))) / len(query) ** .5
    e = np.exp(s - s.max())
    return e / e.sum()""",
        "05.7": """def row(t): return [30.0 * (s == (t + 4) % 5) for s in range(5)]
with Pool(len(os.sched_getaffinity(0))) as pool:
    q = pool.map(row, range(5))
with ProcessPoolExecutor(cpu_count()) as pool:
    assert q == list(pool.map(row, range(5)))
head = q, np.eye(5), np.eye(5)""",
    },
    ALL,
    "as many processes and threads as there are processors, and more",
)
answers(
    "magics-and-stops",
    {
        "05.1": [
            "cd ..",
            "ls",
            "%env X=1\n%pwd\n%who\n%history -n",
            "%%html\n<b>x</b>",
            "%pdb on",
            "%%script false --no-raise-error\nx = 1",
            "%load_ext tensorboard",
            f"%%time\n{solved()['05.1']}",
            "exit()",
        ],
        "05.2": [
            f"{solved()['05.2']}\nraise SystemExit('stop here')",
            "%lprun -f f f(1)",
            "import matplotlib\nmatplotlib.use('TkAgg')\nplt.switch_backend('agg'); plt.pause(0.01)",
        ],
        "05.4": f"{solved()['05.4']}\nassert False, 'to do'",
        "05.5": [
            "from ipywidgets import interact, IntSlider, Output\n@interact(x=(0.0, 1.0))\n"
            "def show(x=0.5): print(x)\nwith Output(): IntSlider().observe(print)",
            solved()["05.5"],
            "raise KeyboardInterrupt",
        ],
        "05.7": [
            solved()["05.7"],
            "my_weights = None  # scratch\ndef my_attention(*a): return 0\nquit()",
        ],
    },
    ALL,
    "lines for IPython and a desktop, and cells that stop Run All",
)

# ------------------------------------------------------------- near misses, each with its sentence

answers(
    "generators",
    {
        "05.1": """def my_weights(query, keys):
    e = [float(np.exp(k @ query / len(query) ** .5)) for k in keys]
    return (x / sum(e) for x in e)""",
        "05.2": "def my_attention(q, k, v):\n    for row in q:\n        yield my_weights(row, k) @ v",
        "05.4": "my_query = map(float, [1, 2])",
        "05.5": "counterexample = {1: [1, 0], 2: [3, 1]}.values()",
        "05.7": "head = (x for x in (30 * np.roll(np.eye(5), -1, 1), np.eye(5), np.eye(5)))",
    },
    but(rest=0, t3=2),
    "a list was asked for",
    says={
        "05.1": "type generator, which",
        "05.2": "type generator, which",
        "05.4": "type map, which",
        "05.5": "type dict_values, which",
        "05.7": "type generator, which",
    },
)
answers(
    "almost",
    {
        "05.1": "def my_weights(query, keys):\n    print(np.exp(keys @ query))",
        "05.2": "def my_attention(self, q, k, v):\n    return q",
        "05.3": DIAGNOSED.replace("no scaling", "No scaling "),
        "05.4": "apart = keys[0] - keys[2]\n"
        "my_query = [np.log(3) * 2**.5 * apart / (apart @ apart)]",
        "05.5": "counterexample = torch.nn.Embedding(4, 3)",
        "05.7": "head = np.stack([30 * np.roll(np.eye(5), -1, 1), np.eye(5), np.eye(5)])",
    },
    but(rest=0),
    "printed, one argument more, capitals, an axis more, a module, one array",
    says={
        "05.1": "gives nothing back",
        "05.2": "missing 1 required positional argument",
        "05.3": "'No scaling ' is not one of",
        "05.5": "function",
        "05.7": "as a tuple",
    },
)
answers(
    "what-was-left-in",
    {
        "05.1": "def my_weights(query, keys):\n    # your code here\n    raise NotImplementedError\n"
        "    return softmax(keys @ query)",
        "05.2": "# def my_attention(q, k, v):\n#     return q",
        "05.3": 'diagnosis = {"Ada": "no scaling", "Ben": ..., "Cleo": ..., "Dan": ...}',
        "05.4": "my_querry = (1.0, 2.0)",
        "05.5": "import pandas as pd\ncounterexample = pd.DataFrame([[1, 0], [3, 1]]).to_numpy()",
        "05.7": "head = (input('q?'), np.eye(5), np.eye(5))",
    },
    but(rest=0),
    "the line that was given, a comment, another name, other packages, a question",
    notes=("does not define my_query",),
    says={"05.4": "no my_query"},
)
answers(
    "typed-in-word",
    {
        "05.1": solved()["05.1"].replace("    ", "\u00a0\u00a0\u00a0\u00a0"),
        "05.3": DIAGNOSED.replace('"', "“"),
        "05.5": "counterexample = np.array([[1.0, 0.0], [\u22123.0, 0.0]])",
        "05.7": "hea\u0501 = 1",
    },
    but(rest=0, t2=3, t4=2),
    "spaces, quotes, a minus and a letter that only look like it",
)


@deserves(
    "defined-further-down",
    but(t2=0),
    "run from the top, a helper is not there yet",
    says={"05.2": "NameError: name 'rows_softmax' is not defined"},
)
def _below() -> bytes:
    later = "def rows_softmax(s):\n    return np.exp(s) / np.exp(s).sum(1, keepdims=True)"
    using = "def my_attention(q, k, v):\n    return rows_softmax(q @ k.T / q.shape[1] ** 0.5) @ v"
    return moved(fill(answered({"05.2": using})), [later], "check-05-7")


# ------------------------------------------------------------- cells that were moved about


@deserves(
    "merged",
    ALL,
    "each answer in one cell with its check, and two answers in one",
    notes=("answered in a cell of 05.4",),
)
def _merged() -> bytes:
    notebook = perfect()
    cells = []
    for cell in notebook["cells"]:
        homework = cell["metadata"]["homework"]
        if homework["kind"] == "check" and cells[-1]["cell_type"] == "code":
            cells[-1]["source"] += "\n" + cell["source"]
        elif cell["id"] == "stub-05-5":
            stub = next(c for c in cells if c["id"] == "stub-05-4")
            stub["source"] += "\n" + cell["source"]
        else:
            cells.append(cell)
    return written(notebook | {"cells": cells})


@deserves("split", ALL, "each line of an answer in a cell of its own, with words between")
def _split() -> bytes:
    parts = {
        "05.4": [
            "apart = keys[0] - keys[2]",
            "length = (apart ** 2).sum()",
            "my_query = apart / length",
            "my_query *= np.log(3)",
            "my_query = my_query * np.sqrt(2)",
        ],
        "05.7": [
            "k = np.eye(5)",
            "q = np.roll(k, -1, axis=1)",
            "q = 30 * q",
            "head = q, k, np.eye(5)",
        ],
    }
    notebook = fill(answered(parts))
    cells = []
    for cell in notebook["cells"]:
        cells += [cell, text("and then")] if "id" not in cell else [cell]
    return written(notebook | {"cells": cells})


@deserves(
    "all-at-the-end",
    ALL,
    "everything in one cell behind the last question",
    notes=("05.7 is answered in a cell of 05.1",),
)
def _end() -> bytes:
    notebook = fill({})
    everything = "\n\n".join(str(answered({})[name]) for name in solved())
    return moved(notebook, [everything], "stub-05-8")


@deserves("all-at-the-top", ALL, "everything in one cell before the first question")
def _top() -> bytes:
    everything = "\n\n".join(solved()[n] for n in ("05.1", "05.2", "05.4", "05.5", "05.7"))
    return moved(fill({"05.3": DIAGNOSED}), [everything], "tables")


@deserves(
    "answers-in-the-checks",
    ALL,
    "typed above the call in the cell of the check",
    notes=("the check cell of 05.1 was changed",),
)
def _in_checks() -> bytes:
    notebook, right = fill({}), answered({})
    for cell in kinds(notebook, "check"):
        cell["source"] = f"{right[cell['metadata']['homework']['task']]}\n{cell['source']}"
    return written(notebook)


@deserves(
    "two-tries-commented-out",
    ALL,
    "earlier tries stay above, in comments and quotes",
)
def _tries() -> bytes:
    old = "def my_attention(q, k, v):\n    return q"
    tried = "# " + old.replace("\n", "\n# ") + f"\n'''\n{old}\n'''\n" + solved()["05.2"]
    return written(
        fill(answered({"05.2": tried, "05.7": ["x = '''my_query = 0'''", solved()["05.7"]]}))
    )


# ------------------------------------------------------------- what programs make of a notebook


def rewritten(name: str, why: str, **more: object):
    """Register the right answers in a notebook that a function changes."""

    def register(change):
        def made() -> bytes:
            notebook = fill(answered({"05.1": f"# größer, 注意, naïve\n{solved()['05.1']}"}))
            return change(notebook) or written(notebook)

        return deserves(name, ALL, why, **more)(made)

    return register


@rewritten("windows", "line ends of Windows, in the file and in the cells, and a mark", quiet=True)
def _windows(notebook: dict) -> bytes:
    for cell in notebook["cells"]:
        cell["source"] = lines(cell["source"].replace("\n", "\r\n"))
    content = json.dumps(notebook, indent=1, ensure_ascii=False).replace("\n", "\r\n")
    return b"\xef\xbb\xbf" + content.encode()


@rewritten("format-4-0", "no ids, no metadata of ours, widgets, as an old program writes it")
def _old(notebook: dict) -> None:
    for cell in notebook["cells"]:
        del cell["id"]
        cell["metadata"] = {"collapsed": False, "scrolled": True, "trusted": True}
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "pyout", "text": None}]
            cell["execution_count"] = "*"
    state = {"a" * 32: {"model_module": "@jupyter-widgets/base", "model_name": "LayoutModel"}}
    widgets = {"application/vnd.jupyter.widget-state+json": {"state": state, "version_major": 2}}
    notebook["metadata"] = {"widgets": widgets, "kernelspec": {"name": "conda-env-ünï-py"}}
    notebook["nbformat_minor"] = 0


@rewritten("format-of-tomorrow", "a format that nobody knows yet, and fields in cells")
def _new(notebook: dict) -> None:
    notebook |= {"nbformat": 5, "nbformat_minor": 9, "features": ["x"], "signature": None}
    for cell in notebook["cells"]:
        cell |= {"tags": ["mine"], "attachments": None, "outputs": None, "execution_count": {}}


@rewritten("kaggle", "ids of Kaggle, a first cell that asks where it is, tags lost")
def _kaggle(notebook: dict) -> None:
    for at_, cell in enumerate(notebook["cells"]):
        del cell["id"]
        cell["metadata"] = {"_uuid": f"{at_:040x}", "trusted": True, "tags": []}
    notebook["cells"].insert(0, code("import sys\nif 'google.colab' in sys.modules: pass"))
    notebook["metadata"]["kaggle"] = {"accelerator": "none", "dataSources": []}


@rewritten("all-cells-copied", "every cell twice, as copy and paste of all leaves it", notes=())
def _doubled(notebook: dict) -> None:
    again = copy.deepcopy(notebook["cells"])
    for at_, cell in enumerate(again):
        cell["id"] = f"copy-{at_}"
    notebook["cells"] += again


@rewritten("cells-without-what-they-need", "sources that are missing, null or of numbers")
def _poor(notebook: dict) -> None:
    notebook["cells"] += [
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": None},
        {"cell_type": "markdown", "source": [None, 3, "x"], "metadata": None},
    ]


@rewritten("translated", "by the browser, questions and all", notes=("was written into",))
def _translated(notebook: dict) -> None:
    for cell in kinds(notebook, "text"):
        cell["source"] = "> **Aufgabe.** In ganz anderen Worten, als vorher hier standen."


@rewritten("ids-shifted", "each cell says that it is the next one, and has that one's metadata")
def _shifted(notebook: dict) -> None:
    labels = [(cell["id"], cell["metadata"]) for cell in notebook["cells"]]
    for cell, (name, metadata) in zip(notebook["cells"], [*labels[1:], labels[0]], strict=True):
        cell |= {"id": name, "metadata": metadata}


@rewritten("deepnote", "blocks for paragraphs, ids and metadata of another kind")
def _deepnote(notebook: dict) -> None:
    cells = []
    for cell in notebook["cells"]:
        is_text = cell["cell_type"] == "markdown"
        parts = cell["source"].split("\n\n") if is_text else [cell["source"]]
        for part in parts:
            about = {"cell_id": f"{len(cells):032x}", "deepnote_cell_type": "code"}
            cells.append(
                {
                    "cell_type": cell["cell_type"],
                    "metadata": about,
                    "source": part.lstrip("> ") if is_text else part,
                }
            )
    notebook["cells"] = cells


@rewritten("utf-32", "four bytes a letter", notes=("UTF-32",))
def _wide(notebook: dict) -> bytes:
    return json.dumps(notebook).encode("utf-32")


@deserves("colab-forms", ALL, "a mounted drive, forms and folded cells")
def _forms() -> bytes:
    notebook = perfect()
    for number, cell in enumerate(notebook["cells"]):
        cell.pop("id")
        cell["metadata"] = {"id": f"A{number:011d}", "cellView": "form", "colab_type": "code"}
        if cell["cell_type"] == "code" and "import" not in cell["source"]:
            cell["source"] = f'#@title Cell {number} {{ run: "auto" }}\n{cell["source"]}'
    drive = "from google.colab import drive\ndrive.mount('/content/drive')"
    notebook["cells"].insert(0, code(drive, metadata={"id": "B"}))
    return written(notebook)


# ------------------------------------------------------------- words

ESSAY = "For one query the bias adds the same number to every score, and softmax ignores that."


def said(name: str, why: str, *cells: dict, stub: str | None = None, **more: object) -> None:
    """Register right answers, with words for 05.6 in its cell or in cells behind it."""

    def made() -> bytes:
        notebook = perfect()
        place = at(notebook, "stub-05-6")
        if stub is None:
            del notebook["cells"][place]
        else:
            notebook["cells"][place]["source"] = stub
        notebook["cells"][place + (stub is not None) : place + (stub is not None)] = [*cells]
        return written(notebook)

    deserves(name, ALL, why, responses={"05.6": ESSAY[:40]}, **more)(made)


STUB = "*Write your answer here.*"
said("words-on-the-same-line", "behind the line that was given", stub=f"{STUB} {ESSAY}")
said("words-in-a-text-below", "in a cell of their own", text(f"### Answer\n\n- {ESSAY}"), stub=STUB)
said("words-as-a-comment", "in a cell for code, behind #", code("# " + ESSAY), stub=STUB)
said("words-as-a-string", "in quotes", code(f'answer = """{ESSAY}"""\nprint(answer)'), stub=STUB)
said("words-printed", "by print", code(f"print('{ESSAY}')"), stub=STUB)
said(
    "words-displayed",
    "by display(Markdown(…))",
    code(f'from IPython.display import Markdown, display\ndisplay(Markdown("""{ESSAY}"""))'),
    stub=STUB,
)
said("words-of-a-magic", "by %%markdown", code(f"%%markdown\n{ESSAY}"), stub=STUB)
said("words-as-code", "in a cell for code, as they are", code(ESSAY), stub=STUB)
said("words-raw", "in a raw cell", {"cell_type": "raw", "metadata": {}, "source": ESSAY}, stub=STUB)

# ------------------------------------------------------------- names and files

for _file in ("José Ñandú", "山田 太郎", "O’Brien, Zoë 🎓"):
    deserves(
        f"named-{len(_file)}",
        ALL,
        "a name that is not of ASCII letters",
        key=safe(_file),
        quiet=True,
    )(lambda _file=_file: {f"{_file}.ipynb": written(perfect())})


# ------------------------------------------------------------- what platforms make of files


def platform(chapter: str, name: str, key: str, **more: object) -> Callable:
    """Register the right answers in files as a platform names them."""
    return deserves(
        name, but(chapter), "as the platform gives it", key=key, chapter=chapter, **more
    )


def right(chapter: str, **changes: str) -> bytes:
    """The right answers of another problem set, but for some."""
    return written(fill(answered(changes, chapter), chapter=chapter))


@platform("04", "again-and-late", "again_320", notes=("handed in twice",))
def _again() -> dict[str, bytes]:
    return {
        "again_320_32001_04.ipynb": right("04", **{"04.4": "half_way = 7"}),
        "again_LATE_320_32050_04-1.ipynb": right("04"),
    }


@platform("04", "accents-of-macos", "mullerzoe_321", quiet=True)
def _accents() -> dict[str, bytes]:
    return {"mu\u0308llerzoe\u0308_321_32100_U\u0308bung 4 (2).ipynb": right("04")}


@platform("07", "text-beside-the-file", "renee-nandu_720", quiet=True)
def _beside() -> dict[str, bytes]:
    name = "Renée Ñandú_720_assignsubmission_"
    return {
        f"{name}file_/Aufgabe 7.ipynb": right("07"),
        f"{name}file_/._Aufgabe 7.ipynb": b"\0\5\x16\7",
        f"{name}onlinetext_/onlinetext.html": b"<p>See the file</p>",
    }


@platform("07", "a-zip-in-the-folder", "kim_721", quiet=True)
def _zip() -> dict[str, bytes]:
    files = {
        "7/7.ipynb": right("07"),
        "7/.ipynb_checkpoints/7-checkpoint.ipynb": b"{",
        "__MACOSX/7/._7.ipynb": b"\0\5\x16\7",
        "7/.DS_Store": b"\0",
    }
    return {"Kim_721_assignsubmission_file_/homework.zip": zipped(files)}


MORE = SUBMISSIONS[KNOWN:]
