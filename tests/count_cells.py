"""A plugin of the nbval run: how many cells were executed, and how many outputs compared.

The run fails where a cell was not executed, or where fewer than 85 % of the cells that have
output were compared with it. Headline numbers are held to their tolerances, also where outputs
are not compared.
"""

from contextlib import suppress
from functools import cache

import nbformat
import pytest

LEAST_COMPARED = 0.85
NOT_ALL = 6  # a status that pytest has not
PASSED, OTHERS = set(), set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Let a notebook's kernel, which its first cell starts, draw for the page as the stored one."""
    with pytest.MonkeyPatch.context() as patch:
        if hasattr(item, "cell"):
            patch.setenv("BOOK_STATIC", "1")
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        done = yield
    except Exception:
        with suppress(ValueError):  # a cell that failed may not have come to its number
            hold_headlines(item)
        raise
    hold_headlines(item)
    return done


def hold_headlines(item):
    """Note a cell's headline numbers; it fails where one is too far from the stored one."""
    cell = getattr(item, "cell", None)
    here = (item.path.stem, cell.id) if cell else ()
    from book.headlines import headlines  # which imports helpers: after the tests' own hook

    mine = [one for one in headlines() if (one.notebook, one.cell) == here]
    item.user_properties += [(one.what, one.find(item.test_outputs)) for one in mine]
    far = [said for one in mine if (said := one.complaint(cell.outputs, item.test_outputs))]
    assert not far, "; ".join(far)


def pytest_runtest_logreport(report):
    if ".ipynb::Cell " not in report.nodeid:
        return
    if report.when == "call" and report.outcome == "passed":
        PASSED.add(report.nodeid)
    elif report.outcome != "passed":
        OTHERS.add(report.nodeid)


@cache
def code_cells(path: str) -> list:
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def counted(root) -> tuple[int, int, int, int]:
    """Cells, executed cells, executed cells with output, and those of them compared."""
    every = sorted((root / "notebooks").glob("*.ipynb"))
    cells = sum(len(code_cells(str(path))) for path in every)
    with_output = compared = 0
    for nodeid in PASSED:
        name, number = nodeid.rsplit("/", 1)[-1].split("::Cell ")
        cell = code_cells(str(root / "notebooks" / name))[int(number)]
        tags = cell.metadata.get("tags", [])
        with_output += bool(cell.outputs)
        compared += bool(cell.outputs) and "nbval-ignore-output" not in tags
    return cells, len(PASSED), with_output, compared


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        return
    cells, executed, with_output, compared = counted(session.config.rootpath)
    enough = executed == cells and compared >= LEAST_COMPARED * with_output
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not enough:
        session.exitstatus = NOT_ALL  # which no test that passes the next time makes good


def pytest_terminal_summary(terminalreporter, config):
    cells, executed, with_output, compared = counted(config.rootpath)
    terminalreporter.write_line(
        f"notebooks: {executed} of {cells} cells executed{share(executed, cells)} and as stored; "
        f"{with_output} of them have output, {compared} compared{share(compared, with_output)}"
    )

    if executed < cells:
        terminalreporter.write_line(
            f"FAILED: {cells - executed} cells were not executed, or failed"
        )
    if compared < LEAST_COMPARED * with_output:
        terminalreporter.write_line(f"FAILED: less than {LEAST_COMPARED:.0%} compared")


def share(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.1f} %)" if whole else ""
