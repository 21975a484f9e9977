"""A problem set stands alone: its few cells run, and its solutions are right, without the rest."""

import sys

import nbformat
import pytest
from chapters import NOTEBOOKS, chapter, exercises

from homework.assignment import assignment, names
from homework.sandbox import Limits, Talk


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem[:2])
def test_a_problem_set_stands_alone(notebook, monkeypatch):
    monkeypatch.setenv("BOOK_STATIC", "1")
    found = assignment(notebook)
    assert found.chapter == notebook.stem[:2]
    assert [task.name for task in found.tasks] == list(exercises(chapter(notebook)))
    assert len(found.setup) <= 8
    with Talk([sys.executable, "-m", "homework.student"], Limits(answer=60)) as talk:

        def run(source):
            told = talk.ask(str, do="run", source=source)
            assert "error" not in told, told

        for cell in found.setup:
            run(cell.source)
        for task in found.tasks:
            for cell in task.cells:
                if cell.cell_type == "code":
                    run(cell.source)
            assert task.answer.isidentifier()
            assert task.points > 0
            run(f"{task.solution}\nstate = {task.check}.state")
            assert talk.ask(str, do="value", name="state")["value"] == "Right", task.name


@pytest.mark.parametrize(
    ("source", "gives", "needs"),
    [
        ("x = y", {"x"}, {"y"}),
        ("x = 1\ny = x", {"x", "y"}, set()),
        ("y = x\nx = 1", {"x", "y"}, {"x"}),
        ("x += 1", {"x"}, {"x"}),
        ("for i in a:\n    b.append(i)\n    c = i", {"i", "c"}, {"a", "b"}),
        ("def f(p, q=r):\n    s = p + t\n    return s", {"f"}, {"r", "t"}),
        ("z = [u + v for u in w]", {"z"}, {"v", "w"}),
        ("g = lambda p: p + h", {"g"}, {"h"}),
        ("import numpy as np\nfrom a.b import c, d as e", {"np", "c", "e"}, set()),
        ("import os.path", {"os"}, set()),
        ("with m as n:\n    n.go(o)", {"n"}, {"m", "o"}),
        ("if a:\n    b = 1\nelse:\n    b = c\nd = b", {"b", "d"}, {"a", "c"}),
        ("try:\n    a = b\nexcept ValueError as e:\n    a = c", {"a"}, {"b", "c"}),
        ("a.b = 1\nc[d] = 2", set(), {"a", "c", "d"}),
        ("%matplotlib inline\nx = 1", {"x"}, set()),
    ],
)
def test_names_that_a_cell_gives_and_needs(source, gives, needs):
    found = names(nbformat.v4.new_code_cell(source))
    built_in = {"get_ipython", "ValueError"}
    assert (found[0], found[1] - built_in) == (gives, needs)


def test_an_exercise_out_of_form_is_told(tmp_path):
    notebook = nbformat.read(NOTEBOOKS[4], 4)
    notebook.cells = [c for c in notebook.cells if "check" not in c.metadata.get("tags", [])]
    path = tmp_path / "05_x.ipynb"
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=r"05_x.*Exercise 1.*found \(1, 0, 1\)"):
        assignment(path)
