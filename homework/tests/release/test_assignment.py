"""Which cells a problem set needs, by the names that they give and read."""

import nbformat
import pytest
from support import TAUGHT

from homework.release.assignment import read_assignment


def test_an_exercise_out_of_form_is_told(tmp_path):
    notebook = nbformat.read(TAUGHT[4], 4)
    notebook.cells = [c for c in notebook.cells if "check" not in c.metadata.get("tags", [])]
    path = tmp_path / "05_x.ipynb"
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=r"05_x.*Exercise 1.*found \(1, 0, 1\)"):
        read_assignment(path)
