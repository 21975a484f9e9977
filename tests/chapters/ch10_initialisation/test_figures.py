"""Chapter 10's layers and starts: what is beyond the page stays at its edge."""

import numpy as np

from helpers.chapters.ch10_initialisation import figures as draw


def test_by_layer_shows_sizes_and_gradients_of_every_seed_and_keeps_to_the_page():
    values = np.array([[[1.0, 2.0, 0.1], [0.1, 1e-9, 2.0]], [[4.0, 8.0, 30.0], [0.4, 1e-9, 0.0]]])
    axes = draw.panels_by_layer(values, net="pre-norm blocks", name="He").axes
    kept = [[line.get_ydata().tolist() for line in ax.lines] for ax in axes]
    sizes, gradients = np.array(kept)
    np.testing.assert_allclose(sizes, [[1, 2, 0.5], [4, 8, 20], [2, 4, 10**0.5]])
    np.testing.assert_allclose(
        gradients, [[0.1, 1e-3, 1], [0.4, 1e-3, 1e-3], [0.2, 1e-3, 1e-3**0.5]]
    )
    np.testing.assert_allclose([ax.get_ylim() for ax in axes], [(0.25, 40), (5e-4, 2)])


def test_starts_have_a_row_each_and_a_line_of_dots_a_rate(ax):
    losses = {
        "a": {0.01: np.array([2.0, 2.2]), 0.001: np.array([2.1, np.nan])},
        "b": {0.01: np.array([9.0, 2.5]), 0.001: np.array([2.4, 2.3])},
    }
    assert draw.draw_starts(ax, losses, limits=(2.0, 3.0)) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    dots = [line.get_xdata().tolist() for line in ax.lines if line.get_marker() != ">"]
    assert dots == [[2.1], [2.0, 2.2], [2.4, 2.3], [2.5]]
    beyond = [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == ">"]
    np.testing.assert_allclose(beyond, [[[3.0, -0.11]], [[3.0, 1.11]]])
