"""Submissions, honest and not, and the points that each of their answers deserves."""

import random
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
from chapters import NOTEBOOKS

from helpers.exercises.verdict import call
from homework import grading, sandbox
from homework.assignment import Test, assignment
from homework.grading import grade
from homework.sandbox import Limits

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a Linux program"),
    pytest.mark.no_shape_check,
]
CHAPTER = assignment(NOTEBOOKS[4])


@pytest.fixture(scope="module", autouse=True)
def bubblewrap():
    assert shutil.which("bwrap"), sandbox.INSTALL


def perfect(of) -> dict[str, list[str]]:
    """The book's solutions, handed in under the names that are asked for."""
    return {task.name: [task.solution] for task in of.tasks}


def graded(changes, of=CHAPTER, **limits):
    """The results of all tasks, with some answers changed."""
    answers = perfect(of) | {name: [source] for name, source in changes.items()}
    results = grade(of, answers, limits=Limits(**{"answer": 20} | limits))
    assert [result.task for result in results] == [task.name for task in of.tasks]
    return {result.task: result for result in results}


def lost_alone(found, *tasks):
    """Only these have lost their points."""
    wrong = {name for name, result in found.items() if result.points < result.most}
    assert wrong == set(tasks), {name: found[name] for name in wrong}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem[:2])
def test_the_books_solutions_have_all_points_and_stubs_none(notebook):
    of = assignment(notebook)
    lost_alone(graded({}, of))
    untouched = grade(of, {task.name: [task.stub.source] for task in of.tasks})
    assert sum(result.points for result in untouched) == 0
    assert {result.state for result in untouched} == {"Not yet"}
    assert grade(of, {}) == untouched


def test_half_is_half_and_says_why():
    found = graded({
        "05.1": "def my_weights(query, keys):\n    e = np.exp(keys @ query / len(query))\n"
                "    return e / e.sum()",
        "05.2": "def my_attention(q, k, v): return q @@ k",
    })  # fmt: skip
    lost_alone(found, "05.1", "05.2")
    assert "divided by D" in found["05.1"].message
    assert found["05.2"].state == "Not yet"  # the cell could not run, so there is no answer


@pytest.mark.parametrize(
    "source",
    [
        "while True: pass",
        "def my_weights(query, keys):\n    while True: pass",
        "def my_weights(query, keys):\n    while True:\n        try:\n"
        "            while True: pass\n        except BaseException: pass",
        "import os; os._exit(0)",
        "def my_weights(query, keys):\n    os = __import__('os'); os.kill(os.getpid(), 9)",
    ],
)
def test_a_lost_process_costs_its_own_task_alone(source):
    found = graded({"05.1": source}, answer=3)
    lost_alone(found, "05.1")
    assert "was ended" in found["05.1"].message


@pytest.mark.parametrize(
    "source",
    [
        "class All:\n    def __eq__(self, other): return True\n    def __array__(self, *a, **k):"
        " return np.ones(5) / 5\ndef my_weights(query, keys): return All()",
        "class A(np.ndarray):\n    def __eq__(self, other): return np.ones(self.shape, bool)\n"
        "def my_weights(query, keys): return np.ones(len(keys)).view(A)",
        "np.isclose = lambda *a, **k: True\n"
        "np.testing.assert_allclose = lambda *a, **k: None\n"
        "def my_weights(query, keys): return np.ones(len(keys))",
        "exercises.check = lambda *a, **k: exercises.Verdict('Right')\n"
        "exercises.CHECKS.clear()\nmy_weights = lambda query, keys: keys[:, 0]",
        "import builtins\nbuiltins.AssertionError = type('Never', (Exception,), {})\n"
        "import inspect, gc\nmy_weights = lambda query, keys: [1.0] * len(keys)",
        "import sys\nsys.exit('Right')",
        "raise SystemExit(0)",
        "my_weights = exercises.Verdict('Right', 'all points')",
        "def my_weights(query, keys): raise KeyboardInterrupt",
        "get_ipython().run_cell = lambda *a, **k: None",
    ],
)
def test_tricks_gain_nothing_and_cost_no_other_task(source):
    lost_alone(graded({"05.1": source}), "05.1")


def test_memory_that_is_not_there_costs_its_own_task():
    found = graded({"05.1": "def my_weights(query, keys): return np.ones(10**10)"})
    lost_alone(found, "05.1")
    assert "MemoryError" in found["05.1"].message or "was ended" in found["05.1"].message


def test_who_spoils_numpy_spoils_it_for_themselves():
    """Their other answers are made by the same NumPy; the judges have another."""
    found = graded(
        {"05.1": "np.allclose = lambda *a, **k: True\ndef my_weights(q, k): return k[:, 0]"}
    )
    assert found["05.1"].points == 0
    assert found["05.2"].points == 2  # it does not use it


def test_what_goes_off_in_a_given_cell_costs_no_other_task():
    bomb = "import os\nexercises.chapter05.which_bug = lambda: os._exit(0)"
    lost_alone(graded({"05.1": bomb}), "05.1")


def hidden(of, judge, task="05.1", name="secret"):
    """The assignment with a hidden test more."""
    tests = Test(name, 1, judge, hidden=True)
    tasks = [replace(t, tests=(*t.tests, tests)) if t.name == task else t for t in of.tasks]
    return replace(of, tasks=tuple(tasks))


def test_points_are_given_by_test_and_a_crash_costs_its_own():
    def large(answer):
        assert call(answer, np.ones(2), np.ones((999, 2))).shape == (999,)

    of = hidden(hidden(CHAPTER, large), lambda answer: call(answer, np.ones(2), np.ones((3, 2))),
                name="other")  # fmt: skip
    dies = perfect(of)["05.1"][0] + (
        "\nright = my_weights\ndef my_weights(q, k):\n    import os\n"
        "    return os._exit(0) if len(k) == 999 else right(q, k)"
    )
    results = grade(of, perfect(of) | {"05.1": [dies]}, limits=Limits(answer=20))
    points = {(r.task, r.test): r.points for r in results}
    assert points.pop(("05.1", "secret")) == 0
    assert points["05.1", "check"] == 2
    assert points["05.1", "other"] == 1
    assert sum(points.values()) == CHAPTER.points + 1


def test_what_a_function_saw_of_a_hidden_test_comes_out_nowhere():
    secret = 3.14159
    of = hidden(CHAPTER, lambda answer: call(answer, np.full(2, secret), np.ones((3, 2))))
    right = perfect(of)["05.1"][0]
    spy = f"{right}\nright, seen = my_weights, []\ndef my_weights(q, k):\n    seen.append(str(q))\n    return right(q, k)"  # noqa: E501
    tell = "raise ValueError(f'{[x for x in seen if len(seen) > 2] or [0]}')"
    ask = "def my_attention(q, k, v): raise ValueError(f'{seen}')"
    results = grade(of, perfect(of) | {"05.1": [spy], "05.2": [ask], "05.3": [tell]})
    told = {r.test: r for r in results if r.task == "05.1"}
    assert told["secret"].points == 1
    shown = " ".join(f"{r.message} {r.raised}" for r in results if not r.hidden)
    assert "seen" not in shown
    assert "[" in shown  # the spy did tell of the visible test's
    assert str(secret) not in shown


ONE_HIDDEN = hidden(CHAPTER, lambda answer: call(answer, np.ones(2), np.ones((3, 2))))
RIGHT = perfect(CHAPTER)["05.1"][0]


@pytest.fixture
def started(monkeypatch):
    """How many processes are started."""
    count = []
    start = sandbox.student
    monkeypatch.setattr(grading, "student", lambda *a, **k: count.append(1) or start(*a, **k))
    return count


def test_both_runs_are_copies_of_one_process_and_neither_knows_of_the_other(started):
    once = f"import os\nos.mkdir('figures')\nopen('log.txt', 'x').close()\n{RIGHT}"
    results = grade(ONE_HIDDEN, perfect(CHAPTER) | {"05.1": [once]})
    assert sum(r.points for r in results) == CHAPTER.points + 1
    assert len(started) == 1


def test_a_copy_has_the_random_numbers_of_its_process():
    seeded = nbformat.v4.new_code_cell("import random\nrandom.seed(7)")
    of = replace(ONE_HIDDEN, setup=(*ONE_HIDDEN.setup, seeded))
    drawn = random.Random(7).random()
    answer = f"{RIGHT}\nassert random.random() == {drawn!r}"
    assert sum(r.points for r in grade(of, {"05.1": [answer]})) == 3
    wrong = f"assert random.random() == {drawn + 1!r}\n{RIGHT}"
    assert sum(r.points for r in grade(of, {"05.1": [wrong]})) == 0


def test_where_there_can_be_no_copy_each_run_has_a_process_of_its_own(started):
    results = grade(ONE_HIDDEN, {"05.1": [RIGHT]}, limits=Limits(processes=1))
    assert sum(r.points for r in results) == 3
    assert len(started) == 2


def test_without_a_sandbox_nothing_is_left_running():
    """A copy would outlive the process that is ended."""
    found = grade(CHAPTER, {"05.1": ["while True: pass"]}, limits=Limits(answer=3), unsafe=True)
    assert sum(r.points for r in found) == 0
    left = [p for p in Path("/proc").glob("[0-9]*/stat") if _is_orphan(p)]
    assert left == []


def _is_orphan(stat: Path) -> bool:
    """Whether a student's process has lost the one that started it."""
    try:
        command = (stat.parent / "cmdline").read_bytes()
        parent = int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return False
    return b"homework.student" in command and parent == 1 and b"bwrap" not in command


def test_a_forged_answer_to_the_next_run_costs_no_more_than_its_own():
    forged = f"""{RIGHT}
import os, sys, torch
from homework.wire import encode
def forge(_):
    for line in ({{"ended": 0}}, {{"value": torch.ones(2)}}):
        for fd in range(3, 12):
            try: os.write(fd, encode(line, str))
            except OSError: pass
    import time; time.sleep(600)
os._exit = forge"""
    results = grade(ONE_HIDDEN, perfect(CHAPTER) | {"05.1": [forged]})
    assert {r.task for r in results if r.points < r.most} <= {"05.1"}


@pytest.mark.parametrize(
    ("trick", "processes"),
    [
        ("os.fork() or time.sleep(600)", 1),  # it leaves something behind
        ("os._exit = lambda _: time.sleep(600)", 2),  # it does not end when it is told to
    ],
)
def test_who_spoils_the_way_to_the_second_run_still_has_one(trick, processes, started, monkeypatch):
    monkeypatch.setattr(grading, "END", 1.0)
    spoilt = f"{RIGHT}\nimport os, sys, time\n{trick}"
    results = grade(ONE_HIDDEN, perfect(CHAPTER) | {"05.1": [spoilt]})
    assert sum(r.points for r in results) == CHAPTER.points + 1
    assert len(started) == processes


def test_who_ends_the_process_behind_the_copy_spoils_no_more_than_its_own_moment():
    spoilt = f"{RIGHT}\nimport os\nos.kill(os.getppid(), 9)"
    results = grade(ONE_HIDDEN, perfect(CHAPTER) | {"05.1": [spoilt]})
    lost = {r.task for r in results if r.points < r.most}
    assert lost <= {"05.1", "05.2"}  # the end comes a moment later, perhaps in the next cell


def test_a_submission_has_its_time_and_the_rest_is_told():
    slow = {name: ["import time\ntime.sleep(9)"] for name in ("05.1", "05.2", "05.3")}
    results = grade(CHAPTER, perfect(CHAPTER) | slow, limits=Limits(task=60, submission=8))
    assert {r.points for r in results} == {0}
    assert any("time for one submission was over" in r.message for r in results)
