"""What reaches for the book's answers is flagged where it stands; honest answers are not."""

from dataclasses import replace
from functools import cache

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import TAUGHT

from homework.intake.repair import Submission
from homework.intake.suspicious import LONGEST_LINE, MOST_FLAGS, Flag, flags
from homework.release.assignment import chapter_file, read_assignment

known = cache(read_assignment)


def handed_in(*sources, before=(), task="05.1", **changed):
    assignment = replace(known(chapter_file(task[:2])), **changed)
    return flags(Submission(tuple(before), {task: sources}, ()), assignment)


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_the_books_own_code_is_not_flagged(notebook):
    assignment = read_assignment(notebook)
    given = [*assignment.setup, *(cell for task in assignment.tasks for cell in task.cells)]
    before = tuple(cell.source for cell in given if cell.cell_type == "code")
    cells = nbformat.read(notebook, 4).cells
    folded = [c.source for c in cells if "solution" in c.metadata.get("tags", [])]
    solutions = {task.name: (task.solution,) for task in assignment.tasks if not task.free}
    assert len(folded) == len(assignment.tasks)
    assert flags(Submission(before, solutions, ()), assignment) == ()
    assert flags(Submission((), {assignment.tasks[0].name: tuple(folded)}, ()), assignment) == ()


# ------------------------------------------------------------- answers made with the book's own

BORROWED = [
    ("05.1", "my_weights = attention_steps", "attention.attention_steps"),
    (
        "05.1",
        "def my_weights(q, k):\n    return attention_steps(q, k, k).weights",
        "attention_steps",
    ),
    (
        "05.1",
        "import helpers.numerics\nmy_weights = lambda q, k: helpers.numerics.softmax(k @ q)",
        "numerics.softmax",
    ),
    (
        "05.1",
        "from helpers import attention as a\nsteps = a.attention_steps\nkept = {}\n"
        "kept['f'] = steps\ndef my_weights(q, k):\n    return kept['f'](q, k, k)",
        "attention_steps",
    ),
    ("05.1", "from helpers.attention import *\nmy_weights = attention_steps", "attention_steps"),
    ("05.1", "kept = []\nkept.append(attention_steps)\nmy_weights = kept[0]", "attention_steps"),
    ("05.1", "my_weights = getattr(exercises.numerics, 'soft' + 'max')", "exercises.numerics"),
    (
        "05.1",
        "import importlib\nm = importlib.import_module('helpers.attention')\n"
        "my_weights = m.attention_steps",
        "attention",
    ),
    (
        "05.1",
        "import sys\nmy_weights = sys.modules['helpers.attention'].attention_steps",
        "attention",
    ),
    (
        "05.1",
        "class A:\n    def __call__(self, q, k):\n        return attention_steps(q, k, k)\n"
        "my_weights = A()",
        "attention_steps",
    ),
    (
        "05.1",
        "def put():\n    global my_weights\n    my_weights = attention_steps\nput()",
        "attention_steps",
    ),
    (
        "03.1",
        "def my_table(counts, add):\n    return bigram.smoothed(counts, add)",
        "bigram.smoothed",
    ),
    (
        "05.3",
        "for guess in guesses:\n    if exercises.check('05.3', guess).state == 'Right':\n"
        "        diagnosis = guess",
        "exercises.check",
    ),
    ("05.3", "diagnosis = exercises.BUGS", "exercises.BUGS"),
]


@pytest.mark.parametrize(("task", "source", "what"), BORROWED)
def test_an_answer_made_with_the_books_own_is_known(task, source, what):
    borrowed = [flag for flag in handed_in(source, task=task) if flag.borrowed]
    assert [flag.task for flag in borrowed] == [task]
    assert what in borrowed[0].what
    assert borrowed[0].line in [line.strip() for line in source.split("\n")]
    kept = handed_in(source, task=task, book_functions="allowed")
    assert not [flag for flag in kept if flag.borrowed]


def test_it_is_known_across_cells_and_files():
    shared = "w = attention_steps", "def g(q, k):\n    return w(q, k, k)"
    assert handed_in("my_weights = g", before=shared)[0].borrowed
    assert handed_in("x = 1", before=shared) == ()
    file = "%%writefile mine.py\nfrom helpers.attention import attention_steps as f"
    assert handed_in(file, "import mine\nmy_weights = mine.f")[0].borrowed


HONEST = """import matplotlib.pyplot as plt
import numpy as np
from collections import Counter
from helpers.chapters.ch05_attention_by_hand import exercises
from IPython.display import display
"""
OWN = "def my_weights(q, k):\n    return np.exp(k @ q)\n"


@pytest.mark.parametrize(
    "source",
    [
        HONEST,
        OWN + "print(attention_steps(W_Q, W_K, W_V))",
        OWN + "assert np.allclose(my_weights(*q), attention_steps(*q).weights)",
        OWN + "theirs = attention_steps(q, k, k)\nplt.plot(theirs.weights)",
        OWN + "def same(q, k):\n    return my_weights(q, k) == attention_steps(q, k)\nsame(1, 2)",
        "my_weights = attention_steps\n" + OWN,
        "def attention_steps(q):\n    return q\n" + OWN + "my_weights = attention_steps",
        "%%writefile mine.py\ndef f(q): return q\n",
        "def f(attention_steps):\n    return attention_steps\nmy_weights = f",
        "my_weights = [attention_steps for attention_steps in range(3)]",
        "def my_weights(q, k):\n    '''As in helpers, without helpers.attention.'''\n    return 3",
        "import asyncio, atexit, builtins, concurrent.futures, http, io\n"
        "import multiprocessing, os, pickle\n"
        "import shutil, signal, sqlite3, sys, tempfile, threading, unittest, urllib.request",
        "os.path.join('a', 'b'), sys.maxsize, os.cpu_count(), np.loadtxt('x.txt')",
        "with open('mine.txt', 'w') as file:\n    file.write('3')\nopen('mine.txt').read()",
        "import importlib.resources",
        "np.allclose(x, 1); np.seterr(all='raise')",
        "x.eval(); re.compile('x')",
        "plt.rcParams['x'] = 1",
        "torch.backends.mkldnn.enabled = False",
        "model.weight = 3\nx.data[0] = 1",
        "def f(input, open, eval): return eval",
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "    def __eq__(self, x): 3",
        "print(type(x).__name__, x.__class__.__name__, x.__doc__)",
        "while True:\n    pass",
        "try:\n    x\nexcept:\n    exit()",
        "raise SystemExit",
        "exercises.check('05.1', f)\nexercises.which_bug()",
        "verdict = exercises.check('05.1', f)",
        "c = exercises\nc.which_bug()\nc",
        "x = 'os'  # import os",
        "'/2', 'a/b', 'https://x.org/book'",
        "%matplotlib inline\nx = 1",
        "%%time\nx = 1",
        "%timeit x",
        "%%timeit\nx = 1",
        "y = (a\n  %b)",
        "!pip install x",
        "%pip install x",
        "%config InlineBackend.figure_format = 'svg'",
        "I did not know how to open it: because of this...",
        "![a picture](x.png)\nis text",
    ],
)
def test_honest_code_is_not_flagged(source):
    assert handed_in(source) == ()


@pytest.mark.parametrize(
    ("task", "source"),
    [
        (
            "03.7",
            "add = min(range(9), key=exercises.loss_of_add)\nbetter = exercises.little_text()",
        ),
        ("06.3", "made = numerics.softmax(x)\ndiagnosis = {'a': numerics.entropy(made)}"),
        ("11.3", "diagnosis = {who: exercises.BUG_LOGITS for who in exercises.which_bug()}"),
        ("12.3", "diagnosis = {'Ada': table @ heads_out}"),  # also a name of the book, given anew
        ("05.4", "x = X @ W_Q\nangle_and_length = np.angle(x), abs(x)"),
    ],
)
def test_what_the_exercise_gives_is_not_borrowed(task, source):
    assert handed_in(source, task=task) == ()


def test_a_given_cell_with_a_line_more_is_not_borrowed():
    """Where what its statements compute with the book is handed on to an answer."""
    assignment = read_assignment(chapter_file("03"))
    cell = next(cell.source for cell in assignment.setup if "CharTokenizer" in cell.source)
    changed = f"{cell}\nprint(tales[:10])"
    answer = "def my_table(counts, add):\n    return tokenizer.encode(tales)"
    assert handed_in(answer, before=[changed], task="03.1") == ()


def test_a_teachers_text_may_name_what_it_gives():
    assignment = read_assignment(chapter_file("05"))
    task = assignment.tasks[0]
    text = nbformat.v4.new_markdown_cell("Use `attention_steps(q, k, v)` or `numerics.softmax`.")
    named = replace(task, cells=(text, *task.cells))
    answer = Submission((), {"05.1": ("my_weights = attention_steps",)}, ())
    assert flags(answer, replace(assignment, tasks=(named, *assignment.tasks[1:]))) == ()
    assert flags(answer, assignment) != ()


# ------------------------------------------------------------- what else is shown

PLANTED = [
    ("exercises.CHECKS['05.1'] = print", "judges (CHECKS)"),
    ("judges = exercises\nx = judges.a\ny = exercises._weights", "judges (_weights)"),
    ("print(exercises.numerics.attention)", "judges (numerics)"),
    ("from helpers import exercises as e\ne.CHECKS", "judges (CHECKS)"),
    ("from helpers.exercises import verdict", "judges (verdict)"),
    ("from helpers.chapters.ch05_x.exercises import BUGS", "judges (BUGS)"),
    ("import helpers\nh = helpers\nh.chapters.ch05_x.exercises.BUGS", "judges (BUGS)"),
    ("x = getattr(exercises, 'BUGS')", "hands on the book's judges"),
    ("for c in [exercises]: c.BUGS", "hands on the book's judges"),
    ("for n in range(9):\n    print(n, exercises.check('05.4', n))", "tries the check in a loop"),
    ("c = exercises.check\nx = [c('05.4', n) for n in range(9)]", "tries the check in a loop"),
    ("def t(n):\n    return exercises.check('05.4', n)\nlist(map(t, x))", "tries the check in a"),
    ("f = eval", "runs text as code"),
    ("exec('x')", "runs text as code"),
    ("__import__('os')", "runs text as code"),
    ("import runpy", "runs text as code"),
    ("globals()['x'] = 1", "finds names by text"),
    ("from importlib import import_module as i\ni(x)", "finds names by text"),
    ("import inspect as i\ni.getsource(x)", "looks into running code (inspect.getsource)"),
    ("import sys\nsys._getframe().f_back", "looks into running code"),
    ("import gc\ngc.get_objects()", "looks into running code"),
    ("f.__globals__['x']", "looks into running code"),
    ("().__class__.__subclasses__()", "looks into running code"),
    ("e.__traceback__.tb_frame", "looks into running code"),
    ("getattr(x, '__subclasses__')", "looks into running code"),
    ("get_ipython().events", "looks into running code"),
    ("from homework.run import inside", "looks into running code"),
    ("print(attention_steps.__code__)", "looks into running code"),
    ("import os\nos.listdir('..')", "looks for files (os.listdir)"),
    ("from pathlib import Path\nfor p in Path('.').iterdir(): p", "looks for files"),
    ("open('/book/helpers/bigram.py')", "looks for files"),
    ("text = 'site-packages/helpers/gpt.py'", "looks for files"),
    ("import os\nos._exit(0)", "reaches for the system (os._exit)"),
    ("import numpy as np, subprocess as s", "reaches for the system"),
    ("def f():\n    import ctypes", "reaches for the system"),
    ("!cat x", "line for IPython, !cat x"),
    ("x = !ls", "line for IPython"),
    ("%run x.py", "%run"),
    ("%%bash\nls", "%%bash"),
    ("x = 1\n%time exec('x')", "runs text"),
]


@pytest.mark.parametrize(("source", "said"), PLANTED, ids=[p[0][:30] for p in PLANTED])
def test_each_kind_is_flagged(source, said):
    found = handed_in(f"x = 1\n\n{source}\n" if not source.startswith("%%") else source)
    assert any(said in flag.what for flag in found), found
    assert {flag.task for flag in found} == {"05.1"}
    assert not [flag for flag in found if flag.borrowed]
    assert all(any(flag.line in line for line in source.split("\n")) for flag in found)


def test_where_it_stands():
    found = handed_in("exercises.BUGS", before=["x = 1\nimport gc  # here\ny = 2"], task="05.2")
    assert found == (
        Flag("", "looks into running code (gc)", "import gc  # here"),
        Flag("05.2", "reads the book's judges (BUGS)", "exercises.BUGS"),
    )


def test_names_are_known_in_later_cells():
    assert handed_in("e = exercises", "c = e", "c.BUGS")
    assert not handed_in("c.BUGS")


def test_each_flag_once_and_not_too_many_and_the_borrowed_first():
    assert len(handed_in("import gc\nimport gc", "import gc")) == 1
    many = handed_in(
        "\n".join(f"x = eval('{i}')" for i in range(500)), "my_weights = attention_steps"
    )
    assert len(many) == MOST_FLAGS
    assert many[0].borrowed


@pytest.mark.parametrize(
    "source",
    [
        "\0",
        "import os\0",
        "\ud800",
        "(" * 10**5,
        "-" * 10**5 + "1",
        "1" + "+1" * 10**5,
        "x=" * 3 * 10**4 + "1",
        "x" * 10**7,
        "eval(" * 10**6,
        " " * 10**6,
        "\n" * 10**6,
        "!" * 10**6,
        "%" * 10**6,
        "np." * 10**6,
        "=" * 10**6,
        "a.b" * 10**5 + "=1",
        "f'{" * 10**5,
        "# -*- coding: latin-9 -*-\nx = 1",
        "# coding: rot13\nx",
        "\ufeffimport os",
        "\x0c\nimport os",
        "lambda " * 10**4,
        "\r\nimport os",
        "\t\x1a",
        "%%time",
        "%%",
        "!",
        "?",
        "import os;" * 5000,
        "x" + ".a" * 10**4,
        "x" + ".a" * 900,
        "a = " * 10**4 + "exercises",
        "from . import x",
        "if 1:\n" * 10**4,
        "np.a" + " " * 10**6 + "=1",
        "eval" + " " * 10**6 + "(",
        "%%writefile .py\n(",
        "x = '" + "from " * 10**4 + "'",
        "".join(f"def f{n}(): return f{n + 1}()\n" for n in range(3000)),
        "from helpers.nothing import *",
        "import helpers.nothing as n\nmy_weights = n",
    ],
    ids=lambda s: s[:8].encode("unicode_escape").decode(),
)
def test_hostile_sources(source):
    found = handed_in(source)
    assert all(len(flag.line) <= LONGEST_LINE for flag in found)
    assert not any("could not be looked through" in flag.what for flag in found)


@settings(max_examples=30)
@given(st.text(max_size=200))
def test_any_text(source):
    assert not any("could not be" in f.what for f in handed_in(source, f"x = 1\n{source}"))


def test_nothing_is_run(tmp_path):
    mark = tmp_path / "ran"
    assert handed_in(f"eval(open({str(mark)!r}, 'w'))\n!touch {mark}", f"%%bash\ntouch {mark}")
    assert not mark.exists()
