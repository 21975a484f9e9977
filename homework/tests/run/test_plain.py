"""An answer of any kind has the same verdict from the notebook's check and from the grader."""

from dataclasses import dataclass

import nbformat
import numpy as np
import pytest
import torch

from helpers.exercises import (
    Diagnosis,
    Wrong,
    array,
    call,
    changes,
    close,
    judged,
)
from homework.release.assignment import Assignment, Task, Test
from homework.run.judging import judge as judge_of

pytestmark = [
    pytest.mark.usefixtures("bubblewrap"),
]
RIGHT, WRONG, OPEN = "Right", "Not right", "Not yet"
IMPORTS = """
import collections, decimal, enum, fractions
import numpy as np, torch
Pair = collections.namedtuple("Pair", "a b c")
Whole = enum.IntEnum("Whole", "one two three")
Name = enum.Enum("Name", {"a": "x", "b": "y"}, type=str)
class Tensor(torch.Tensor): pass
class Array(np.ndarray): pass
class List(list): pass
class Text(str): pass
class Number(float): pass
class Given:
    def __array__(self, dtype=None, copy=None): return np.array([1.0, 2.0, 3.0], dtype)
class Half:
    def __float__(self): return 0.5
class Called:
    def __call__(self): return (1, 2, 3)
def objects(*parts):
    made = np.empty(len(parts), dtype=object)
    made[:] = parts
    return made
"""


def three(answer):
    if not close(array(answer, (3,), "It"), np.array([1, 2, 3])):
        raise Wrong("These are not 1, 2 and 3.")


def half(answer):
    if float(array(answer, (), "It")) != 0.5:
        raise Wrong(f"This is no half but {answer}.")


def named(answer):
    Diagnosis({"a": "x", "b": "y"}, "Look again.")(answer, order=range(2))


def pair(answer):
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Wrong(f"A tuple is asked for, not {type(answer).__name__}.")
    half(answer[0])
    three(answer[1])


def exactly(value):
    def judge(answer):
        if repr(answer) != repr(value):
            raise Wrong(f"It should not be {answer!r}.")

    return judge


THREE = {
    "[1, 2, 3]": RIGHT,
    "(1, 2.0, True + 2)": RIGHT,
    "[1, 2, 4]": WRONG,
    "np.arange(1, 4)": RIGHT,
    "range(1, 4)": RIGHT,
    "Pair(1, 2, 3)": RIGHT,
    "List([1, 2, 3])": RIGHT,
    "Given()": RIGHT,
    "objects(1, np.float64(2), fractions.Fraction(3))": RIGHT,
    "np.array(['1', '2', '3'])": WRONG,
    "np.array([1, 2, 3], '>f4')": RIGHT,
    "np.array([1.0, 2, 3]).view(Array)": RIGHT,
    "np.ma.array([1.0, 2, 3], mask=[0, 0, 1])": RIGHT,
    "np.array(['2020-01-01'] * 3, 'M8[D]')": WRONG,
    "[1, 2, float('nan')]": WRONG,
    "[1, 2, [3]]": WRONG,
    "torch.arange(1.0, 4).to_sparse()": WRONG,
    "torch.arange(1.0, 4, requires_grad=True)": RIGHT,
    "torch.ones(3, device='meta')": WRONG,
    "torch.arange(1.0, 4).as_subclass(Tensor)": RIGHT,
    "torch.arange(1.0, 4).bfloat16()": RIGHT,
    "list(torch.arange(1.0, 4, requires_grad=True))": RIGHT,
    "(x for x in (1, 2, 3))": WRONG,
    "{1: 0, 2: 0, 3: 0}.keys()": WRONG,
    "{1, 2, 3}": WRONG,
    "object()": WRONG,
    "Called()": WRONG,
    "lambda: 1": WRONG,
    "torch.nn.Linear(2, 2)": WRONG,
    "[10**400, 2, 3]": WRONG,
    "range(2 * 10**6)": WRONG,
    "set(range(20_000))": WRONG,
    "[{j: 0.5 for j in range(100)} for _ in range(201)]": WRONG,
    "torch.ones((1,) * 65)": WRONG,
    "b'123'": WRONG,
    "''": OPEN,
    "None": OPEN,
    "...": OPEN,
    "[]": OPEN,
    "[1, ..., 3]": OPEN,
}
HALF = {
    "0.5": RIGHT,
    "fractions.Fraction(1, 2)": RIGHT,
    "decimal.Decimal('0.5')": RIGHT,
    "decimal.Decimal('sNaN')": WRONG,
    "Half()": RIGHT,
    "torch.tensor(0.5)": RIGHT,
    "Number(0.5)": RIGHT,
    "'0.5'": WRONG,
    "True": WRONG,
    "-0.0": WRONG,
    "objects(0.5).reshape(())": RIGHT,
    "np.datetime64('NaT')": OPEN,
    "float('inf')": WRONG,
    "__import__('sympy').Rational(1, 2)": RIGHT,
}
NAMED = {
    "{'a': 'x', 'b': 'y'}": RIGHT,
    "{np.str_('a'): np.str_('x'), 'b': np.array(['y'])[0]}": RIGHT,
    "collections.defaultdict(str, a='x', b='y')": RIGHT,
    "{'a': Name.a, 'b': Name.b}": RIGHT,
    "collections.Counter(a=1, b=2)": WRONG,
    "{'a': object(), 'b': 'y'}": WRONG,
    "{'a': print, 'b': lambda: 1}": WRONG,
    "{'a': None, 'b': 'y'}": OPEN,
    "{}": OPEN,
}
PAIRS = {
    "(0.5, [1, 2, 3])": RIGHT,
    "[np.float32(0.5), torch.arange(1, 4)]": RIGHT,
    "(0.5, torch.ones(3).to_sparse())": WRONG,
    "{0.5: 1, 2: [1]}": WRONG,
}
EXACT = {
    "(True, 1, -0.0, 2**70, 1 - 0j, b'a', 'b')": (True, 1, -0.0, 2**70, 1 - 0j, b"a", "b"),
    "[np.int8(1), np.bool_(True), 1.0]": [np.int8(1), np.bool_(True), 1.0],
    "[Whole.two, Text('a'), Name.b]": [2, "a", "y"],
    "(float('nan'), float('-inf'))": (float("nan"), float("-inf")),
    "torch.tensor([1j]).conj()": torch.tensor([complex(0, -1)]),
    "np.zeros((0, 3), np.float32)": np.zeros((0, 3), np.float32),
    "'\\ud800'": "\ud800",
}


@dataclass(frozen=True)
class Kind:
    """What an answer is written as, how it is judged, and the state that it should have."""

    source: str
    judge: object
    state: str


def of_function(judge):
    return lambda answer: judge(call(answer))


JUDGED = [
    *(
        Kind(s, judge, state)
        for judge, kinds in (
            (three, THREE),
            (half, HALF),
            (named, NAMED),
            (pair, PAIRS),
        )
        for s, state in kinds.items()
    ),
    *(Kind(source, exactly(value), RIGHT) for source, value in EXACT.items()),
]
KINDS = JUDGED + [
    Kind(f"lambda: {kind.source}", of_function(kind.judge), kind.state) for kind in JUDGED
]


@pytest.fixture(scope="module")
def graded():
    """The grader's verdict on each kind, all of them handed in by one student."""
    cell = nbformat.v4.new_code_cell
    tasks = [
        Task(f"{at}", f"answer_{at}", (cell(""),), (Test("check", 1, kind.judge),))
        for at, kind in enumerate(KINDS)
    ]
    assignment = Assignment("05", "Kinds", (cell(IMPORTS),), tuple(tasks))
    answers = {f"{at}": [f"answer_{at} = {kind.source}"] for at, kind in enumerate(KINDS)}
    return judge_of(assignment, answers)


@pytest.fixture(scope="module")
def notebook():
    names: dict = {"__name__": "__main__"}
    exec(IMPORTS, names)
    return names


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("at", range(len(KINDS)), ids=[kind.source for kind in KINDS])
def test_a_kind_of_answer_has_one_verdict(at, graded, notebook):
    kind, result = KINDS[at], graded[at]
    exec(f"answer = {kind.source}", notebook)
    here = judged(kind.judge, notebook["answer"])
    assert (result.state, result.message) == (here.state, here.message)
    assert here.state == kind.state, here.message
    assert result.points == (kind.state == RIGHT)
    assert result.raised == ""
    assert "0x" not in here.message


def test_callbacks_return_and_raise_as_in_a_notebook():
    """The grader's own functions get plain values, and what they raise has its name."""
    source = """
def answer(f):
    try:
        f(collections.deque([-1]))
    except ValueError as error:
        assert "negative" in str(error)
    return f(Pair(fractions.Fraction(1), np.float16(2), 3))
"""

    def given(row):
        if min(row) < 0:
            raise ValueError("negative")
        return np.asarray(row, dtype=float)

    cell = nbformat.v4.new_code_cell
    check = Test("check", 1, lambda answer: three(call(answer, given)))
    task = Task("1", "answer", (cell(""),), (check,))
    assignment = Assignment("05", "T", (cell(IMPORTS),), (task,))
    names: dict = {}
    exec(IMPORTS + source, names)
    assert judged(check.judge, names["answer"]).state == RIGHT
    (result,) = judge_of(assignment, {"1": [source]})
    assert result.state == RIGHT, result.message


CHANGING = {
    "lambda row, ids: row.sort()": True,
    "lambda row, ids: ids.append(1)": True,
    "lambda row, ids: np.sort(row)": False,
    "lambda row, ids: ids + [1]": False,
}


def test_who_changes_what_was_given_is_told_by_both():
    def judge(answer):
        if changes(answer, np.array([3.0, 1.0, 2.0]), [1, 2]):
            raise Wrong("It changes what it is given.")

    cell, check = nbformat.v4.new_code_cell, (Test("check", 1, judge),)
    tasks = tuple(Task(name, "answer", (cell(""),), check) for name in CHANGING)
    assignment = Assignment("05", "Changes", (cell(IMPORTS),), tasks)
    cheat = "np.array_equal = lambda a, b: True"
    answers = {name: [cheat, f"answer = {name}"] for name in CHANGING}
    found = {result.task: result for result in judge_of(assignment, answers)}
    for name, is_changing in CHANGING.items():
        here = judged(judge, eval(name))
        assert here.state == (WRONG if is_changing else RIGHT)
        assert (found[name].state, found[name].message) == (here.state, here.message)
