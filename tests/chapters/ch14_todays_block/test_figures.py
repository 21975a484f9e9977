"""Figures of chapter 14: the data behind what is drawn."""

import numpy as np

from helpers.chapters.ch14_todays_block import figures as draw


def test_carried_has_a_line_for_each_position(ax):
    moved = np.array([[1.0, 0.0], [0.5, 0.2], [0.0, 1.0]])
    assert draw.draw_carried(ax, [0, 2, 4], moved, ["a", "b"]) is ax
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["a"].get_ydata().tolist() == [1, 0.5, 0]
    assert lines["b"].get_xdata().tolist() == [0, 2, 4]


def test_read_has_a_row_a_head_under_its_words(ax):
    weights = np.array([[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]])
    assert draw.draw_read(ax, weights, ["the", "fox"]) is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), weights)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["the", "fox"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "3"]
