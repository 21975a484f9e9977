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


def test_losses_validation_and_floors_are_drawn_as_they_are(ax):
    assert draw_losses(ax, [0, 1, 2], [4.0, 3.0, 2.5], FLOORS, validation={2: 2.6}) is ax
    training, validation, *floors = ax.lines
    np.testing.assert_array_equal(training.get_xydata(), [[0, 4.0], [1, 3.0], [2, 2.5]])
    np.testing.assert_array_equal(validation.get_xydata(), [[2, 2.6]])
    assert [line.get_ydata().tolist() for line in floors] == [[2.3, 2.3], [2.8, 2.8]]
    assert [text.get_text() for text in ax.texts] == ["2.30  bigram", "2.80  unigram"]
    low, high = ax.get_ylim()
    assert low < 2.3 < 4.0 < high


def test_labels_of_floors_do_not_lie_on_one_another(ax):
    draw_losses(ax, [0, 1], [4.0, 2.0], {"one": 2.0, "other": 2.001})
    heights = [text.get_position()[1] for text in ax.texts]
    assert heights[1] - heights[0] > 0.1


def test_axis_stands_still_while_it_goes_on(ax):
    draw_losses(ax, np.arange(3), np.array([3.0, 2.0, 1.0]), {}, total=50)
    assert ax.get_xlim() == (0, 50)


def test_before_the_first_step(ax):
    draw_losses(ax, [], [], {})
    draw_losses(ax, [], [], FLOORS)


@pytest.mark.no_shape_check
def test_steps_and_losses_go_together(ax):
    with pytest.raises(ValueError, match=r"steps has shape \(2,\) and losses \(1,\)"):
        draw_losses(ax, [0, 1], [1.0], {})
