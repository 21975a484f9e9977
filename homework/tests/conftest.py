"""The sandbox, without which its tests are left out; examples are the same in each run."""

import os

import hypothesis
import jaxtyping
import pytest
from handins import shared_book

from homework.run import judging, sandbox

pytest.register_assert_rewrite("batches")
hypothesis.settings.register_profile("book", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("book")


@pytest.fixture(scope="module", autouse=True)
def _shapes_unchecked():
    """Answers meet the book's functions as a teacher runs them, whatever other tests switch on."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(autouse=True)
def _one_book(monkeypatch):
    monkeypatch.setattr(judging, "book_for", shared_book)


@pytest.fixture(scope="session")
def bubblewrap():
    """A sandbox that starts; where there is none, what asks for it is left out, on CI it fails."""
    try:
        sandbox.check()
        sandbox.check_python()
    except sandbox.SandboxError as error:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(error))
