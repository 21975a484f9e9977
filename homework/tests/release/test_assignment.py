"""Which cells a problem set needs, by the names that they give and read."""

import nbformat
import pytest
from support import TAUGHT

from homework.release.assignment import names, read_assignment


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
    notebook = nbformat.read(TAUGHT[4], 4)
    notebook.cells = [c for c in notebook.cells if "check" not in c.metadata.get("tags", [])]
    path = tmp_path / "05_x.ipynb"
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=r"05_x.*Exercise 1.*found \(1, 0, 1\)"):
        read_assignment(path)
