"""figures.losses: what is drawn is what was measured, while a run goes on and afterwards."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers.figures.losses import draw_losses

FLOORS = {"bigram": 2.3, "unigram": 2.8}


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_losses_validation_and_baselines_are_drawn(ax):
    assert draw_losses(ax, [0, 1, 2], [4.0, 3.0, 2.5], FLOORS, validation={2: 2.6}) is ax
    training, validation, *floors = ax.lines
    np.testing.assert_array_equal(training.get_xydata(), [[0, 4.0], [1, 3.0], [2, 2.5]])
    np.testing.assert_array_equal(validation.get_xydata(), [[2, 2.6]])
    assert [line.get_ydata().tolist() for line in floors] == [[2.3, 2.3], [2.8, 2.8]]
    assert [text.get_text() for text in ax.texts] == ["2.30  bigram", "2.80  unigram"]
    low, high = ax.get_ylim()
    assert low < 2.3 < 4.0 < high


def test_labels_of_baselines_do_not_overlap(ax):
    draw_losses(ax, [0, 1], [4.0, 2.0], {"one": 2.0, "other": 2.001})
    heights = [text.get_position()[1] for text in ax.texts]
    assert heights[1] - heights[0] > 0.1


def test_before_the_first_step(ax):
    draw_losses(ax, [], [], {})
    draw_losses(ax, [], [], FLOORS)
