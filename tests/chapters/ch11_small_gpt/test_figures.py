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


def heights(container):
    return [bar.get_height() for bar in container]


def test_signs_for_what_cannot_be_seen():
    assert draw.visible("a \n") == ["a", "␣", "⏎"]


def test_surprise_is_a_bar_a_character_cut_off_at_the_top(ax):
    nats = {"GPT": np.array([0.5, 2.0]), "bigram": np.array([1.0, 9.0])}
    assert draw.draw_surprise(ax, "a ", nats, at=1) is ax
    front, behind = ax.collections
    np.testing.assert_allclose([line[:, 1] for line in front.get_segments()], [[0, 0.5], [0, 2]])
    np.testing.assert_allclose([line[:, 1] for line in behind.get_segments()], [[0, 1], [0, 6]])
    assert front.get_zorder() > behind.get_zorder()
    assert front.get_linewidth()[0] < behind.get_linewidth()[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "␣"]
    marked = next(patch for patch in ax.patches if patch.get_zorder() == 0)
    np.testing.assert_allclose(marked.get_x() + marked.get_width() / 2, 1)
    assert ax.get_ylim() == (0, 6)


def test_next_shows_the_likeliest_first_and_marks_what_came(ax):
    p_V = np.array([0.1, 0.5, 0.3, 0.1])
    assert draw.draw_next(ax, p_V, ["a", "b", " ", "d"], came=" ", title="t") is ax
    (bars,) = ax.containers
    assert heights(bars) == [0.5, 0.3, 0.1, 0.1]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "␣", "a", "d"]
    inks = [bar.get_facecolor() for bar in bars]
    assert inks[0] == inks[2] == inks[3] != inks[1]


def test_a_sentence_is_drawn_above_what_may_come_next():
    nats = {"GPT": np.array([0.5, 2.0])}
    figure = draw.along_frame(1, "a ", nats, np.array([[0.1, 0.9], [0.7, 0.3]]), ["a", " "])
    upper, lower = figure.axes
    assert [label.get_text() for label in upper.get_xticklabels()] == ["a", "␣"]
    assert heights(lower.containers[0]) == [0.7, 0.3]
    assert lower.get_title() == "before ␣, place 1"
    plt.close(figure)


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
