"""Each odd thing is flagged where it stands; honest answers are not; nothing is run."""

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import TAUGHT

from homework.intake.repair import Submission
from homework.intake.suspicious import LONGEST_LINE, MOST_FLAGS, Flag, flags
from homework.release.assignment import assignment

HONEST = """import matplotlib.pyplot as plt
import numpy as np
from collections import Counter
from helpers.chapters.ch05_attention_by_hand import exercises
from IPython.display import display
"""


def handed_in(*sources, before=(), task="05.1"):
    return flags(Submission(tuple(before), {task: sources}, ()))


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_the_books_own_code_is_not_flagged(notebook):
    of = assignment(notebook)
    cells = nbformat.read(notebook, 4).cells
    solutions = {c.id: (c.source,) for c in cells if "solution" in c.metadata.get("tags", [])}
    assert len(solutions) == len(of.tasks)
    given = [*of.setup, *(cell for task in of.tasks for cell in task.cells)]
    before = tuple(cell.source for cell in given if cell.cell_type == "code")
    assert flags(Submission(before, solutions, ())) == ()


PLANTED = [
    ("import os", "imports os"),
    ("import numpy as np, subprocess as s", "imports subprocess"),
    ("from urllib.request import urlopen", "imports urllib"),
    ("import torch.multiprocessing as mp", "imports multiprocessing"),
    ("def f():\n    import ctypes", "imports ctypes"),
    ("from helpers.exercises import verdict", "judges"),
    ("from IPython import get_ipython", "machinery"),
    ("open('x').read()", "opens a file"),
    ("f = eval", "runs text as code (eval)"),
    ("exec('x')", "runs text"),
    ("compile('x', '', 'exec')", "runs text"),
    ("__import__('os')", "imports a module by its name"),
    ("globals()['x'] = 1", "global names"),
    ("x = input()", "waits for a person"),
    ("exit()", "ends the process"),
    ("raise SystemExit", "ends the process"),
    ("sys.exit(0)", "reaches for the system by sys.exit"),
    ("os._exit(0)", "reaches for the system by os._exit"),
    ("np.loadtxt('x')", "file (loadtxt)"),
    ("torch.load('x')", "file (load)"),
    ("from pathlib import Path\nfor p in Path('/').iterdir(): p.open()", "file (open)"),
    ("().__class__", "by __class__"),
    ("f.__globals__['x']", "by __globals__"),
    ("object.__subclasses__()", "by __subclasses__"),
    ("e.__traceback__.tb_frame", "tb_frame"),
    ("getattr(x, '__subclasses__')", "the name __subclasses__"),
    ("type('X', (), {'__eq__': f})", "the name __eq__"),
    ("np.allclose = lambda *a: True", "module np (np.allclose)"),
    ("exercises.check = print", "module exercises (exercises.check)"),
    ("np.linalg.norm = abs", "np.linalg.norm"),
    ("import scipy.stats as st\nst.norm = 3", "module st"),
    ("from helpers import attention as a\na.steps, b = 1, 2", "module a"),
    ("del torch.relu", "module torch"),
    ("setattr(np, 'a', 3)", "module np (setattr)"),
    ("exercises.CHECKS['05.1'] = print", "compare with (CHECKS)"),
    ("diagnosis = exercises.BUGS", "compare with (BUGS)"),
    ("judges = exercises\nx = judges.a\ny = exercises._weights", "compare with (_weights)"),
    ("exercises.numerics.attention", "through its judges (numerics)"),
    ("numbers = exercises.numerics", "through its judges (numerics)"),
    ("w = exercises.FeedForward", "its judges (FeedForward)"),
    ("exercises.np.allclose(x, y)", "through its judges (np)"),
    ("c = exercises; c.BUGS", "compare with (BUGS)"),
    ("c, d = exercises, 1\nc._weights", "compare with (_weights)"),
    ("if (c := exercises): c.KEYS", "compare with (KEYS)"),
    ("c: object = exercises\nc.KEYS", "compare with (KEYS)"),
    ("from helpers import exercises as e\ne.CHECKS", "compare with (CHECKS)"),
    ("from helpers.chapters.ch05_x.exercises import BUGS", "a part of the book's judges"),
    ("import helpers.chapters.ch05_x.exercises as e\ne.BUGS", "compare with (BUGS)"),
    ("from helpers.chapters import ch05_x as c\nc.exercises.BUGS", "compare with (BUGS)"),
    ("import helpers\nhelpers.exercises.verdict", "through its judges (verdict)"),
    ("h = helpers\nh.chapters.ch05_x.exercises.BUGS", "compare with (BUGS)"),
    ("getattr(exercises, 'BUGS')", "hands on the book's judges"),
    ("for c in [exercises]: c.BUGS", "hands on the book's judges"),
    ("c = exercises\nc.which_bug = print", "module c (c.which_bug)"),
    ("class A:\n    def __eq__(self, other): return True", "__eq__"),
    ("class A:\n    __array__ = None", "__array__"),
    ("class A:\n    def __bool__(self): return True", "__bool__"),
    ("get_ipython().events", "kernel"),
    ("!pip install x", "shell command, !pip install x"),
    ("x = !ls", "shell command"),
    ("%run x.py", "magic %run"),
    ("%%writefile a.py\nx", "magic %%writefile"),
    ("%%bash\nls", "magic %%bash"),
    ("%%timeit\nimport os", "imports os"),
    ("x = 1\n%time exec('x')", "runs text"),
    ("try:\n    x\nexcept BaseException:\n    pass", "catches every error (BaseException)"),
    ("try:\n    x\nexcept (ValueError, KeyboardInterrupt):\n    pass", "KeyboardInterrupt"),
    ("for i in x:\n    try:\n        y\n    except:\n        pass", "loop"),
    ("try:\n    for i in x: y\nexcept:\n    pass", "loop"),
    ("while True:\n    pass", "for ever"),
    ("while 1:\n    for x in y:\n        break", "for ever"),
    ("def f(q, k):\n    return np.array([[0.2, 0.8]])", "the same whatever"),
    ("def f(q):\n    if ready:\n        return 1\n    return (2, 3)", "the same whatever"),
    ("f = lambda q: [1, 2]", "the same whatever"),
    ("STORED = [1]\ndef f(q):\n    return STORED", "the same whatever"),
    ("def f(n):\n" + "".join(f"    if n == {i}: return {i}.5\n" for i in range(4)) + "    return n",
     "4 literal inputs"),
    ("def f(x):\n" + "".join(f"    if np.allclose(x, [{i}, 2]): return {i}\n" for i in range(5)),
     "5 literal inputs"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "said"), PLANTED, ids=[p[0][:30] for p in PLANTED])
def test_each_kind_is_flagged(source, said):
    found = handed_in(f"x = 1\n\n{source}\n" if not source.startswith("%%") else source)
    assert any(said in flag.what for flag in found), found
    assert {flag.task for flag in found} == {"05.1"}
    lines = [line.strip().removeprefix("%time ") for line in source.split("\n")]
    assert {flag.line for flag in found} <= set(lines)


@pytest.mark.parametrize("source", [
    HONEST, "%matplotlib inline\nx = 1", "%%time\nx = 1", "%timeit x", "%%timeit\nx = 1",
    "%config InlineBackend.figure_format = 'svg'", "plt.rcParams['x'] = 1",
    "torch.backends.mkldnn.enabled = False", "class A(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.a = 1\n    def forward(self, x): return 0",
    "model.eval()", "print(type(x).__name__, x.__class__.__name__)", "re.compile('x')",
    "while True:\n    x += 1\n    if x > 3:\n        break",
    "def f():\n    while True:\n        if x:\n            return 3",
    "try:\n    x\nexcept ValueError:\n    pass", "try:\n    x\nexcept:\n    pass",
    "def f(n):\n    if n == 0: return 0\n    if n == 1: return 1\n    return f(n - 1) + f(n - 2)",
    "def f(q):\n    # later\n    raise NotImplementedError", "def f(q): pass", "def f(): return 3",
    "def f(bug):\n    if bug == 'a': return 1\n    if bug == 'b': return 2\n    return bug",
    "def f(input):\n    return input + 1", "model.weight = 3\nx.data[0] = 1", "y = (a\n  %b)",
    "exercises.check('05.1', f)\nexercises.which_bug()", "x = 'os'  # import os",
    "exercises", "judges = exercises\njudges.which_bug()", "c = x.T\nc.T, c.chapter",
    "exercises.little_text(), exercises.loss_of_add(0.1)",
    "f = exercises.gradient_through\ng, h = f(1), exercises.BUG_LOGITS",
    "help(exercises.which_bug)", "a, (b, c) = 1, (2, 3)\n[d, e] = x\nf, *g = h",
    "def f(x):\n    return 1 if x > 0 else 0", "key = lambda x: -x",
    "I did not know how to open it: because of this...", "![a picture](x.png)\nis text",
])  # fmt: skip
def test_honest_code_is_not_flagged(source):
    assert handed_in(source) == ()


@pytest.mark.parametrize(("source", "said"), [
    ("import os\ndef f(:", "imports os"), ("def f(:\n  x = eval('1')", "calls eval"),
    ("x.__globals__ (", "by __globals__"), ("np.allclose = (", "a part of np"),
    ("sys.exit(", "ends the process"), ("(\n!rm x", "shell command"), ("(\n%run x", "magic %run"),
    ("(get_ipython", "kernel"),
])  # fmt: skip
def test_a_cell_that_does_not_parse_is_searched(source, said):
    assert any(said in flag.what for flag in handed_in(source))


def test_where_it_stands():
    found = handed_in("import sys", before=["x = 1\nimport os  # here\ny = 2"], task="05.2")
    assert found == (Flag("", "imports os", "import os  # here"),
                     Flag("05.2", "imports sys", "import sys"))  # fmt: skip


def test_modules_are_known_in_later_cells():
    assert handed_in("from helpers import numerics as n", "n.softmax = 1")
    assert not handed_in("n.softmax = 1")


def test_a_new_name_of_the_judges_is_known_in_later_cells():
    assert handed_in("e = exercises", "c = e", "c.BUGS")
    assert not handed_in("c.BUGS")


def test_each_flag_once_and_not_too_many():
    assert len(handed_in("import os\nimport os", "import os")) == 1
    many = handed_in("\n".join(f"open('{i}')" for i in range(500)))
    assert len(many) == MOST_FLAGS


@pytest.mark.parametrize("source", [
    "\0", "import os\0", "\ud800", "(" * 10**5, "-" * 10**5 + "1", "1" + "+1" * 10**5,
    "x=" * 3 * 10**4 + "1", "x" * 10**7, "eval(" * 10**6, " " * 10**6, "\n" * 10**6,
    "!" * 10**6, "%" * 10**6, "np." * 10**6, "=" * 10**6, "a.b" * 10**5 + "=1", "f'{" * 10**5,
    "# -*- coding: latin-9 -*-\nx = 1", "# coding: rot13\nx", "\ufeffimport os", "\x0c\nimport os",
    "lambda " * 10**4, "\r\nimport os", "\t\x1a", "%%time", "%%", "!", "?", "import os;" * 5000,
    "x" + ".a" * 10**4, "x" + ".a" * 900, "a = " * 10**4 + "exercises",
    "if 1:\n" * 10**4, "np.a" + " " * 10**6 + "=1", "eval" + " " * 10**6 + "(",
], ids=lambda s: s[:8].encode("unicode_escape").decode())  # fmt: skip
def test_hostile_sources(source):
    found = handed_in(source)
    assert all(len(flag.line) <= LONGEST_LINE for flag in found)
    assert not any("could not be looked through" in flag.what for flag in found)


@given(st.text(max_size=200))
def test_any_text(source):
    assert not any("could not be" in f.what for f in handed_in(source, f"x = 1\n{source}"))


def test_nothing_is_run(tmp_path):
    mark = tmp_path / "ran"
    assert handed_in(f"open({str(mark)!r}, 'w')\n!touch {mark}", f"%%bash\ntouch {mark}")
    assert not mark.exists()
