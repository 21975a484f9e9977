"""A teacher's private part: merged, drawn from a seed, and told where it does not fit."""

import re

import nbformat
import pytest
from support import TAUGHT

from helpers import exercises
from homework.private import FREE
from homework.release.additions import with_private
from homework.release.assignment import read_assignment

OF = read_assignment(TAUGHT[4])
CELLS = nbformat.read(TAUGHT[4], as_version=4).cells
HEAD = "from helpers.exercises.verdict import Wrong\nfrom homework.private import ProblemSet\nown = ProblemSet()\n"  # noqa: E501
DRAW = '@own.draw\ndef numbers(rng): return {"n": rng.randrange(10**6), "word": "fox"}\n'
HIDDEN = '@own.hidden("05.1", points=1.5, says="more")\ndef more(answer, n):\n    if answer != n: raise Wrong(f"{n}")\n'  # noqa: E501
TASK = (
    'own.task("05.59", question="Give {{ n }}.", stub="x = ...", answer="x", given="fig = {{ n }}",'
    ' solution="x = {{ n }}")\n@own.hidden("05.59", points=2)\ndef right(answer, n):\n'
    "    if answer != n: raise Wrong\n"
)
FREE_ONE = 'own.free("05.111", question="Why a {{ word }}?", rubric={"because": 1, "so": 2})\n'


@pytest.fixture
def merged(tmp_path):
    def merge(source, seed="s", cells=()):
        (tmp_path / "05.py").write_text(HEAD + source)
        return {task.name: task for task in with_private(OF, tmp_path, seed, cells).tasks}

    return merge


def test_a_hidden_test_adds_its_points_and_takes_what_was_drawn(merged):
    task = merged(DRAW + HIDDEN)["05.1"]
    assert [test.points for test in task.tests] == [2, 1.5]
    assert task.points == 3.5
    visible, hidden = task.tests
    assert (visible.hidden, hidden.hidden, hidden.says) == (False, True, "more")
    n = int(exercises.judged(hidden.judge, -1).message)
    assert exercises.judged(hidden.judge, n).state == "Right"


def test_the_seed_alone_decides_what_is_drawn(merged):
    def drawn(seed):
        return merged(DRAW + TASK, seed)["05.59"].solution

    assert drawn("autumn") == drawn("autumn")
    assert len({drawn(f"{year}") for year in range(20)}) == 20
    assert re.fullmatch(r"x = \d+", drawn("a"))


def test_task_and_tests_have_the_same_numbers(merged):
    task = merged(DRAW + TASK)["05.59"]
    question, given, stub = task.cells
    number = int(task.solution.removeprefix("x = "))
    assert question.source == f"> **Exercise 59.** Give {number}."
    assert given.source == f"fig = {number}"
    assert stub.source == "x = ..."
    assert exercises.judged(task.tests[0].judge, number).state == "Right"
    assert exercises.judged(task.tests[0].judge, number + 1).state == "Not right"


def test_a_free_response_has_a_rubric_and_stands_in_order(merged):
    tasks = merged(DRAW + TASK + FREE_ONE)
    assert list(tasks)[-2:] == ["05.59", "05.111"]  # 111 after 59, not after 11
    free = tasks["05.111"]
    assert (free.free, free.points, free.answer) == (True, 3, "")
    assert free.stub.cell_type == "markdown"
    assert free.stub.source == FREE
    assert "Why a fox?" in free.cells[0].source


def test_the_books_tasks_can_be_replaced_and_left_out(merged):
    tasks = merged(DRAW + TASK.replace("05.59", "05.2") + 'own.leave_out("05.2", "05.3")')
    assert "05.3" not in tasks
    assert tasks["05.2"].answer == "x"
    assert len(tasks) == len(OF.tasks) - 1


def test_new_task_brings_the_cells_it_depends_on(merged, tmp_path):
    reads = TASK.replace("fig = {{ n }}", "print(W_Q)")
    (tmp_path / "05.py").write_text(HEAD + DRAW + reads)
    first = next(at for at, cell in enumerate(CELLS) if "**Exercise 1.**" in cell.source)
    assignment = with_private(OF, tmp_path, "s", CELLS[1:first])
    assert any("W_Q =" in cell.source for cell in assignment.setup)


def test_without_a_file_for_the_chapter_nothing_changes(tmp_path):
    assert with_private(OF, tmp_path, "s") is OF


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            DRAW + TASK.replace('stub="x', 'stub="y'),
            "the stub of 05.59 must define x, got 'y = ...'",
        ),
        (DRAW + TASK.replace("05.59", "05.2"), "05.2 is an exercise of the book"),
        ("own = 3", "a ProblemSet named own, it has 3"),
        (HIDDEN, "n is not drawn"),
        (DRAW + HIDDEN + HIDDEN, "05.1 has two tests named more"),
        (f"own.leave_out(*{[task.name for task in OF.tasks]})", "it leaves out all tasks"),
        ('own.hidden("05.1", points=True)', "got True"),
        (DRAW + HIDDEN.replace("05.1", "05.77"), r"no task '05.77'; there are \['05.1'"),
        ('own.task("05.59", question="{{ m }}", stub="", answer="x")', "'m' is undefined"),
    ],
)
def test_what_does_not_fit_is_told(merged, source, said):
    with pytest.raises(ValueError, match=said):
        merged(source)


def test_hidden_test_that_returns_false_is_an_error(merged):
    returns = HIDDEN.replace('    if answer != n: raise Wrong(f"{n}")', "    return answer == n")
    hidden = merged(DRAW + returns)["05.1"].tests[1]
    verdict = exercises.judged(hidden.judge, -1)
    assert verdict.state == "Not right"
    assert "must raise Wrong or return nothing, it gave False" in verdict.message
