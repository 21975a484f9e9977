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


BASELINES = {"bigram": 2.3, "unigram": 2.8}


def test_losses_validation_and_baselines_are_drawn(ax):
    found = draw.draw_losses(ax, [0, 1, 2], [4.0, 3.0, 2.5], BASELINES, validation={2: 2.6})
    assert found is ax
    training, validation, *lines = ax.lines
    np.testing.assert_array_equal(training.get_xydata(), [[0, 4.0], [1, 3.0], [2, 2.5]])
    np.testing.assert_array_equal(validation.get_xydata(), [[2, 2.6]])
    assert [line.get_ydata().tolist() for line in lines] == [[2.3, 2.3], [2.8, 2.8]]
    assert [text.get_text() for text in ax.texts] == ["2.30  bigram", "2.80  unigram"]
    low, high = ax.get_ylim()
    assert low < 2.3 < 4.0 < high


def test_labels_of_baselines_do_not_overlap(ax):
    draw.draw_losses(ax, [0, 1], [4.0, 2.0], {"one": 2.0, "other": 2.001}, validation={1: 2.0})
    heights = [text.get_position()[1] for text in ax.texts]
    assert heights[1] - heights[0] > 0.1
