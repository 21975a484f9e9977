"""The examples in docstrings are true."""

from tiny import python

RUN = """
import doctest, importlib, pkgutil, helpers
names = [m.name for m in pkgutil.iter_modules(helpers.__path__, "helpers.") if not m.ispkg]
results = [doctest.testmod(importlib.import_module(name)) for name in names]
assert not any(r.failed for r in results) and sum(r.attempted for r in results) >= 10, results
"""


def test_examples_in_docstrings_are_true():
    """Without the checks of shapes, behind whose wrappers doctest does not look."""
    done = python("-c", RUN, environment={"BOOK_CHECK_SHAPES": "0"}, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
