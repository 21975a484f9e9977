"""explore.live: a figure that follows a run."""

import matplotlib.pyplot as plt
import pytest

from helpers import explore
from helpers.explore import runs


class Handle:
    def __init__(self, updates):
        self.updates = updates

    def update(self, figure):
        self.updates.append(figure.axes[0].get_title())


@pytest.fixture
def shown(monkeypatch):
    """The titles of what was displayed first, and of what it was replaced by."""
    first, updates = [], []

    def display(figure, display_id=None):
        first.append((figure.axes[0].get_title(), display_id))
        return Handle(updates)

    monkeypatch.setattr(runs, "display", display)
    monkeypatch.delenv("BOOK_STATIC", raising=False)
    return first, updates


def draw(values):
    figure, ax = plt.subplots()
    ax.set_title(f"{sum(values)}")
    return figure


def test_it_is_drawn_as_values_come_and_at_the_end(shown):
    before = plt.get_fignums()
    with explore.live(draw, seconds=0) as see:
        for value in (1, 2, 4):
            see(value)
    assert shown == ([("1", True)], ["3", "7", "7"])
    assert plt.get_fignums() == before


def test_not_more_often_than_asked(shown):
    with explore.live(draw, seconds=1000) as see:
        for value in range(100):
            see(value)
    assert shown == ([("0", True)], ["4950"])


def test_on_the_page_it_is_drawn_once(shown, monkeypatch):
    monkeypatch.setenv("BOOK_STATIC", "1")
    with explore.live(draw, seconds=0) as see:
        see(1)
        see(2)
    assert shown == ([("3", None)], [])


def test_an_error_leaves_the_last_figure(shown):
    def broken():
        with explore.live(draw, seconds=1000) as see:
            see(1)
            see(2)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        broken()
    assert shown == ([("1", True)], ["3"])


def test_nothing_came(shown):
    with explore.live(draw):
        pass
    assert shown == ([], [])
