# ruff: noqa: E501 (lines of hand-ins are as their authors left them)
"""Hand-ins of honest people who were unlucky: right answers in odd forms, and near-right ones.

What is right gets all points; what is not quite gets a sentence that says what is amiss.
"""

import copy
import json

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
)

from homework.intake.roster import safe

KNOWN = len(SUBMISSIONS)


def moved(notebook: dict, sources: list[str], after: str) -> bytes:
    """The notebook with new cells behind one of it."""
    place = at(notebook, after) + 1
    notebook["cells"][place:place] = [code(source) for source in sources]
    return written(notebook)


# ------------------------------------------------------------- the forms of an answer

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
    "functions-of-all-kinds",
    {
        "05.1": """class my_weights:
    def __new__(cls, query, keys):
        scores = np.vectorize(np.dot, signature="(d),(d)->()")(query, keys) / len(query) ** 0.5
        return np.exp(scores) / np.exp(scores).sum()""",
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
    "almost",
    {
        "05.1": "def my_weights(query, keys):\n    print(np.exp(keys @ query))",
        "05.2": "def my_attention(self, q, k, v):\n    return q",
        "05.3": DIAGNOSED.replace("no scaling", "no scale"),
        "05.4": "apart = keys[0] - keys[2]\n"
        "my_query = [np.log(3) * 2**.5 * apart / (apart @ apart)]",
        "05.5": "counterexample = torch.nn.Embedding(4, 3)",
        "05.7": "head = 30 * np.roll(np.eye(5), -1, 1)",
    },
    but(rest=0),
    "printed, one argument more, another name, an axis more, a module, one array",
    says={
        "05.1": "gives nothing back",
        "05.2": "missing 1 required positional argument",
        "05.3": "'no scale' is not one of",
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
    notes=("no cell of 05.4 defines my_query",),
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
    quiet=True,
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


@deserves(
    "all-at-the-end",
    ALL,
    "everything in one cell behind the last question",
    notes=("05.1 is answered in a cell of 05.7",),
)
def _end() -> bytes:
    notebook = fill({})
    everything = "\n\n".join(str(answered({})[name]) for name in solved())
    return moved(notebook, [everything], "stub-05-51")


@deserves("all-at-the-top", ALL, "everything in one cell before the first question")
def _top() -> bytes:
    everything = "\n\n".join(solved()[n] for n in ("05.1", "05.2", "05.4", "05.5", "05.7"))
    return moved(fill({"05.3": DIAGNOSED}), [everything], "tables")


@deserves(
    "answers-in-the-checks",
    ALL,
    "typed above the call in the cell of the check",
)
def _in_checks() -> bytes:
    notebook, right = fill({}), answered({})
    for cell in kinds(notebook, "check"):
        cell["source"] = f"{right[cell['metadata']['homework']['task']]}\n{cell['source']}"
    return written(notebook)


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


@rewritten("all-cells-copied", "every cell twice, as copy and paste of all leaves it", notes=())
def _doubled(notebook: dict) -> None:
    again = copy.deepcopy(notebook["cells"])
    for at_, cell in enumerate(again):
        cell["id"] = f"copy-{at_}"
    notebook["cells"] += again


@rewritten("translated", "by the browser, questions and all")
def _translated(notebook: dict) -> None:
    for cell in kinds(notebook, "text"):
        cell["source"] = "> **Aufgabe.** In ganz anderen Worten, als vorher hier standen."


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


MORE = SUBMISSIONS[KNOWN:]
