"""Shape checking for every test, and the way to switch it off for tests of bad input.

Under pytest every function of `helpers` checks its jaxtyping annotations with
beartype. A test of bad input wants to meet our own ValueError and not the checker's
complaint, so it says

    @pytest.mark.no_shape_check
    def test_negative_counts(): ...

(or ``pytestmark = pytest.mark.no_shape_check`` for a whole file), and for that test the
checks are off, as they are for a reader of the book.
"""

import contextlib
from collections import Counter

import hypothesis
import jaxtyping
import matplotlib as mpl
import pytest

# The numeric tower lets an int stand for a float, as Python itself does.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook("helpers", CHECKER)

# No deadline: the first call of a test pays for imports. Derandomised: two runs of
# one commit try the same examples.
hypothesis.settings.register_profile("book", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("book")
with contextlib.suppress(ImportError, AttributeError):  # whatever modules a worker has met before
    from hypothesis.internal.conjecture import providers

    providers._get_local_constants = lambda: providers._local_constants


@pytest.fixture(scope="module", autouse=True)
def _style_of_figures_stays_in_a_file():
    """Some tests run cells of the book, which set the style of all figures after them."""
    with mpl.rc_context():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    before = jaxtyping.config.jaxtyping_disable
    unchecked = item.get_closest_marker("no_shape_check") is not None
    jaxtyping.config.update("jaxtyping_disable", before or unchecked)
    try:
        return (yield)
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped ({count}): {reason}")
