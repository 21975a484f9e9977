"""Figures of chapter 08: the data behind what is drawn."""

import numpy as np
import pytest

from helpers.chapters.ch08_residual_add_and_norm import figures as draw


def test_levels_lie_on_the_page_and_keep_their_ends(ax):
    values = np.geomspace(1, 1e-20, 97)
    assert draw.draw_levels(ax, {"neither": [values, values**0]}, title="a") is ax
    falling, flat = ax.lines
    x, y = falling.get_data()
    assert (x[0], x[-1]) == (0, 96)
    assert len(x) <= draw.MOST_POINTS
    assert (y[0], y[-1]) == (0, -12)
    np.testing.assert_allclose(flat.get_ydata(), 0)
    assert falling.get_color() == draw.INKS["neither"]
    assert ax.get_yticklabels()[0].get_text() == "≤ 10⁻¹²"
    assert ax.get_yticklabels()[-1].get_text() == "≥ 10¹²"


def test_few_levels_are_all_drawn(ax):
    draw.draw_levels(ax, {"norm alone": [[1.0, 10.0, 100.0]]})
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0, 0], [1, 1], [2, 2]])


def test_copying_shows_every_seed_beside_the_mean(ax):
    right = {"neither": [[1.0, 0.8], [0.1, 0.3]], "norm alone": [[1.0, 1.0], [0.5, 0.7]]}
    assert draw.draw_copying(ax, [1, 8], right, chance=0.0625) is ax
    mean, dots = ax.lines[:2]
    np.testing.assert_allclose(mean.get_ydata(), [0.9, 0.2])
    np.testing.assert_allclose(dots.get_ydata(), [1.0, 0.8, 0.1, 0.3])
    assert mean.get_xdata()[0] < ax.lines[2].get_xdata()[0]  # side by side
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 0.0625)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "8"]


def test_by_letter_is_the_values_under_their_letters(ax):
    values = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert draw.draw_by_letter(ax, values, "a \n", ["x", "y"], highest=4, label="b") is ax
    image = ax.images[0]
    np.testing.assert_array_equal(image.get_array(), values)
    assert image.get_clim() == (0, 4)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "·", "↵"]


def test_by_letter_needs_a_column_a_letter(ax):
    with pytest.raises(ValueError, match=r"2 names and 2 letters it must be \(2, 2\)"):
        draw.draw_by_letter(ax, np.zeros((2, 3)), "ab", ["x", "y"])
