"""Submissions, honest and not, and the points that each of their answers deserves."""

from dataclasses import replace

import nbformat
import numpy as np
import pytest
from handins import shared_book
from support import TAUGHT, chapter, exercises

from helpers.chapters import BY_NUMBER
from helpers.exercises import call
from homework.release.assignment import Test, read_assignment
from homework.run import sandbox
from homework.run.judging import judge
from homework.run.sandbox import Limits, LostError
from homework.run.withheld import borrowed

pytestmark = [
    pytest.mark.usefixtures("bubblewrap"),
]
WHOLE = read_assignment(TAUGHT[4])
CHAPTER = replace(  # which starts quickly
    WHOLE, setup=(nbformat.v4.new_code_cell("import numpy as np"),), tasks=WHOLE.tasks[:2]
)


def perfect(assignment) -> dict[str, list[str]]:
    """The book's solutions, handed in under the names that are asked for."""
    return {task.name: [task.solution] for task in assignment.tasks if not task.free}


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_the_books_solutions_have_all_points(notebook):
    """With the few cells that they need, and with what the book's code still has there."""
    assignment = read_assignment(notebook)
    assert [task.name for task in assignment.tasks] == list(exercises(chapter(notebook)))
    tasks = [task for task in assignment.tasks if not task.free]
    assert assignment.chapter == notebook.stem[:2]
    assert len(assignment.setup) <= 8
    given = "".join(cell.source for cell in assignment.setup)
    assert not [task.answer for task in tasks if f"class {task.answer[2:]}(" in given]
    checked = {t.name: [t.solution, t.check] for t in tasks}
    results = judge(assignment, checked, last=True)
    assert [result.task for result in results] == [task.name for task in tasks]
    assert [result for result in results if result.points < result.most or result.raised] == []


@pytest.mark.parametrize(
    ("name", "source", "said"),
    [
        ("04.1", "def my_layer_norm(*a): return torch.ones(1).numpy()", "04.1 asks for NumPy"),
        ("04.8", "MyLayerNorm = type('MyLayerNorm', (nn.LayerNorm,), {})", "04.8 uses LayerNorm"),
        ("04.8", "from helpers import minigpt as m\nMyLayerNorm = m.LayerNorm", "04.8 uses LayerN"),
        (
            "03.1",
            "my_table = lambda ids, V: smoothed(count_bigrams(ids, V), 0)",
            "03.1 uses smooth",
        ),
        ("04.1", "def my_layer_norm(x, g, b, e): return np.ones(1)  # no torch", ""),
    ],
)
def test_what_a_person_should_look_at_is_read_from_the_code(name, source, said):
    notes = [*borrowed(read_assignment(TAUGHT[int(name[:2]) - 1]), {name: [source]})]
    assert [note[: len(said)] for note in notes] == ([said] if said else [])


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_no_file_of_the_sandbox_has_a_line_of_a_judge(notebook):
    """Nor has what was compiled of it a constant."""
    assignment = read_assignment(notebook)
    folder = BY_NUMBER[int(assignment.chapter)].folder
    lines = {line.strip() for line in (folder / "exercises.py").read_text("utf-8").splitlines()}
    with shared_book(assignment) as book:
        files = (file for file in book.rglob("*") if file.suffix in (".py", ".pyc"))
        there = b"\n".join(file.read_bytes() for file in files)
    replies = [line for line in lines if line[:1] == '"' != line[1:2] and len(line) > 40]
    assert replies
    assert [line for line in replies if line.strip('":(,').encode() in there] == []


def hidden(assignment, judge, task="05.1", name="secret"):
    """The assignment with a hidden test more."""
    tests = Test(name, 1, judge, hidden=True)
    tasks = [replace(t, tests=(*t.tests, tests)) if t.name == task else t for t in assignment.tasks]
    return replace(assignment, tasks=tuple(tasks))


def test_points_are_given_by_test_and_a_crash_costs_its_own():
    def large(answer):
        assert call(answer, np.ones(2), np.ones((999, 2))).shape == (999,)

    assignment = hidden(CHAPTER, large)
    assignment = hidden(
        assignment, lambda answer: call(answer, np.ones(2), np.ones((3, 2))), name="other"
    )
    dies = perfect(assignment)["05.1"][0] + (
        "\nright = my_weights\ndef my_weights(q, k):\n    import os\n"
        "    return os._exit(0) if len(k) == 999 else right(q, k)"
    )
    results = judge(assignment, perfect(assignment) | {"05.1": [dies]}, limits=Limits(answer=20))
    points = {(r.task, r.test): r.points for r in results}
    assert points.pop(("05.1", "secret")) == 0
    assert points["05.1", "check"] == 2
    assert points["05.1", "other"] == 1
    assert sum(points.values()) == CHAPTER.points + 1


def test_what_a_function_saw_of_a_hidden_test_comes_out_nowhere():
    secret = 3.14159
    assignment = hidden(WHOLE, lambda answer: call(answer, np.full(2, secret), np.ones((3, 2))))
    right = perfect(assignment)["05.1"][0]
    spy = f"{right}\nright, seen = my_weights, []\ndef my_weights(q, k):\n    seen.append(str(q))\n    return right(q, k)"  # noqa: E501
    tell = "raise ValueError(f'{[x for x in seen if len(seen) > 2] or [0]}')"
    ask = "def my_attention(q, k, v): raise ValueError(f'{seen}')"
    answers = perfect(assignment) | {"05.1": [spy], "05.2": [ask], "05.3": [tell]}
    results = judge(assignment, answers)
    by_test = {r.test: r for r in results if r.task == "05.1"}
    assert by_test["secret"].points == 1
    shown = " ".join(f"{r.message} {r.raised}" for r in results if not r.hidden)
    assert "seen" not in shown
    assert "[" in shown  # the spy did tell of the visible test's
    assert str(secret) not in shown


def test_a_busy_machine_costs_one_task_on_the_last_try_and_none_before(monkeypatch):
    monkeypatch.setattr(sandbox.SandboxClient, "_seconds", lambda self: 0.0)  # others have them
    loops, limits = perfect(CHAPTER) | {"05.1": ["while True: pass"]}, Limits(answer=1)
    with pytest.raises(LostError, match="too busy"):
        judge(CHAPTER, loops, limits=limits)
    results = judge(CHAPTER, loops, limits=limits, last=True)
    assert [r.task for r in results if r.points < r.most] == ["05.1"]


def test_a_submission_has_its_time_and_the_rest_is_told():
    slow = {name: ["import time\ntime.sleep(60)"] for name in ("05.1", "05.2", "05.3")}
    results = judge(CHAPTER, perfect(CHAPTER) | slow, limits=Limits(answer=2, submission=4))
    assert {r.points for r in results} == {0}
    assert any("time for one submission was over" in r.message for r in results)
