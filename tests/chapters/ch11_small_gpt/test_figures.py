"""Figures of chapter 11: the data behind what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers.chapters.ch11_small_gpt import figures as draw


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_signs_for_what_cannot_be_seen():
    assert draw.visible("a \n") == ["a", "␣", "⏎"]


def test_next_shows_the_likeliest_first(ax):
    p_V = np.array([0.1, 0.5, 0.3, 0.1])
    assert draw.draw_next(ax, p_V, ["a", "b", " ", "d"], title="t") is ax
    (bars,) = ax.containers
    assert [bar.get_height() for bar in bars] == [0.5, 0.3, 0.1, 0.1]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "␣", "a", "d"]


def test_levers_have_a_row_each_a_dot_a_seed_and_their_mean(ax):
    less = {"one": np.array([0.1, 0.3]), "two": np.array([-0.2, 0.0])}
    assert draw.draw_levers(ax, less) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(dots[0].get_xydata(), [[0.1, 0], [0.3, 0]])
    np.testing.assert_allclose(dots[1].get_xdata(), [-0.2, 0.0])
    means = [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() == 2]
    np.testing.assert_allclose(means, [0.2, -0.1])
    assert ax.get_ylim() == (1.5, -0.5)
