"""What all tests share; annotations are checked in them, as `helpers.shape_checks` says."""

import contextlib
import os

import hypothesis
import matplotlib as mpl
import pytest

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


@pytest.fixture(scope="session")
def smollm2():
    """SmolLM2 and its tokenizer; where it cannot be had, its tests are skipped, on CI they fail."""
    from helpers import pretrained  # torch: seconds, which other tests need not wait

    try:
        return pretrained.smollm2()
    except ConnectionError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))
