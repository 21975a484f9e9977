"""Runs tests against a copy of helpers; imports little, since each run is a process of its own."""

import contextlib
import io
import os
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[1]


def run_tests(copy: str, tests: tuple[str, ...]) -> tuple[int, str]:
    """Run tests against the copy of the house: pytest's exit status, and what it said."""
    os.chdir(copy)
    os.environ.pop("PYTEST_XDIST_WORKER", None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed, and loading takes time
    mine = (HOUSE, HOUSE / "tests")
    sys.path[:] = [copy, *(path for path in sys.path if Path(path).resolve() not in mine)]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        ids = [f"tests/{test}" for test in tests]
        status = pytest.main(
            ["-x", "-q", "-p", "no:cacheprovider", "--tb=line", "--rootdir", copy, *ids]
        )
    import helpers

    if not Path(helpers.__file__).is_relative_to(copy):
        raise RuntimeError("the copy was not what was tested")
    return int(status), said.getvalue()
