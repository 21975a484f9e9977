"""Figures of chapter 06: the data behind what is drawn."""

import matplotlib.pyplot as plt
import numpy as np

from helpers.chapters.ch06_scaling_by_sqrt_dk import figures as draw


def test_barcode_is_the_weights_from_white_to_black(ax):
    weights = np.array([[0.25, 0.75], [1.0, 0.0]])
    assert draw.draw_barcode(ax, weights, title="÷ 1", ink="#000000") is ax
    image = ax.images[0]
    np.testing.assert_array_equal(image.get_array(), weights)
    assert image.get_clim() == (0, 4)  # eight times an equal share of two


def test_saturation_has_a_barcode_a_divisor_above_all_gradients():
    weights = {"1": np.eye(2), "√D": np.full((2, 2), 0.5)}
    norms = {"1": [1.0, 0.1], "√D": [0.3, 0.3]}
    fig = draw.saturation(weights, [4, 16], norms, at=16)
    *barcodes, below = fig.axes
    for ax, (name, drawn) in zip(barcodes, weights.items(), strict=True):
        assert ax.get_title() == f"÷ {name}"
        np.testing.assert_array_equal(ax.images[0].get_array(), drawn)
    np.testing.assert_allclose(below.lines[0].get_ydata(), norms["1"])
    plt.close(fig)


def test_gradients_mark_the_width_and_stay_on_the_page(ax):
    norms = {"1": np.array([0.2, 1e-9]), "√D": np.array([0.3, 0.3])}
    assert draw.draw_gradients(ax, [1, 4], norms, at=4) is ax
    first, dot = ax.lines[:2]
    np.testing.assert_allclose(first.get_ydata(), [0.2, 1e-6])
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (4, 1e-6)
    assert first.get_color() == draw.INKS["1"]


def test_shares_are_one_bar_a_word(ax):
    assert draw.draw_shares(ax, [0.2, 0.8], ["it", "was"], title="÷ D", ink="#000000") is ax
    assert [bar.get_width() for bar in ax.patches] == [0.2, 0.8]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["it", "was"]


def test_losses_show_each_seed_and_their_mean(ax):
    runs = np.array([[4.0, 3.0], [4.2, 2.8]])
    assert draw.draw_losses(ax, [5, 15], {"√D": runs, "D": runs + 1}) is ax
    np.testing.assert_allclose(ax.lines[2].get_ydata(), [4.1, 2.9])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["÷ √D", "÷ D"]
