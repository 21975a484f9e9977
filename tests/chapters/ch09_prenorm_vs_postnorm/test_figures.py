"""Figures of chapter 09: the data behind what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from helpers.chapters.ch09_prenorm_vs_postnorm import figures as draw


def boxes(ax) -> list[tuple[float, float, str]]:
    """Place, height and words of what stands in the drawing, from left to right."""
    return sorted((*text.get_position(), text.get_text()) for text in ax.texts)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_orders_put_the_norm_on_the_stream_or_beside_it(ax, order):
    assert draw.draw_orders(ax, order) is ax
    found = boxes(ax)
    names = [name for _, _, name in found]
    assert names == (["f", "+", "norm"] if order == "post" else ["norm", "f", "+"]) * 2
    assert {height for _, height, name in found if name == "norm"} == {order == "pre"}
    assert {height for _, height, name in found if name == "f"} == {1}
    assert {height for _, height, name in found if name == "+"} == {0}
    lit = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    assert len(lit) == 6
    stream = max(
        (p for p in ax.patches if isinstance(p, FancyArrowPatch)), key=lambda p: p.get_linewidth()
    )
    assert stream.get_edgecolor()[:3] == pytest.approx(
        plt.matplotlib.colors.to_rgb(draw.INKS[order])
    )


def test_by_block_shows_every_seed_and_keeps_to_the_page(ax):
    values = np.array([[1.0, 1e-9, 100.0], [4.0, 1e-9, 100.0]])
    assert draw.draw_by_block(ax, {"post": values}, limits=(1e-3, 10.0), title="a") is ax
    *seeds, mean = (line.get_ydata() for line in ax.lines)
    np.testing.assert_allclose(seeds, [[0, -3, 1], [np.log10(4), -3, 1]])
    np.testing.assert_allclose(mean, [np.log10(2), -3, 1])
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3]
    assert ax.lines[-1].get_color() == draw.INKS["post"]
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["10⁻³", "10⁻²"]
    assert ax.get_xlabel() == "block"


def test_by_block_counts_from_what_is_given_and_thins_long_lines(ax):
    draw.draw_by_block(ax, {"pre": np.ones((2, 65))}, limits=(0.1, 10.0), first=0)
    x = ax.lines[-1].get_xdata()
    assert (x[0], x[-1]) == (0, 64)
    assert len(x) <= draw.MAX_POINTS
    assert ax.get_xlabel() == "after block"


def test_before_has_a_panel_a_quantity():
    fig, axes = plt.subplots(1, 3)
    kept = {key: np.full((2, 3), 0.1) for key, _, _ in draw.BEFORE.values()}
    draw.panels_before(axes, {"post": kept, "pre": kept})
    assert [ax.get_title() for ax in axes] == list(draw.BEFORE)
    assert [ax.get_xlabel() for ax in axes] == ["after block", "after block", "block"]
    assert all(len(ax.lines) == 2 * 3 for ax in axes)
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["post", "pre"]
    plt.close(fig)


def test_alike_is_the_cosines_under_their_letters(ax):
    cosines = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert draw.draw_alike(ax, cosines, "a ", title="t") is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), cosines)
    assert ax.images[0].get_clim() == (0, 1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "·"]
