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
    assert draw.draw_orders(ax, order, sublayers=3) is ax
    found = boxes(ax)
    names = [name for _, _, name in found]
    assert names == (["f", "+", "norm"] if order == "post" else ["norm", "f", "+"]) * 3
    assert {height for _, height, name in found if name == "norm"} == {order == "pre"}
    assert {height for _, height, name in found if name == "f"} == {1}
    assert {height for _, height, name in found if name == "+"} == {0}
    lit = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    assert len(lit) == 9
    stream = max(
        (p for p in ax.patches if isinstance(p, FancyArrowPatch)), key=lambda p: p.get_linewidth()
    )
    assert stream.get_edgecolor()[:3] == pytest.approx(
        plt.matplotlib.colors.to_rgb(draw.INKS[order])
    )


def test_orders_are_two(ax):
    with pytest.raises(ValueError, match="order='middle' must be one of post, pre"):
        draw.draw_orders(ax, "middle")


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
    assert len(x) <= draw.MOST_POINTS
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


def test_race_has_losses_and_ratios_by_step():
    fig, axes = plt.subplots(1, 2)
    draw.panels_race(axes, {"post": np.array([[3.5, 1.0], [3.0, 0.1]])}, 3.02)
    level, losses = axes[0].lines
    assert set(level.get_ydata()) == {3.02}
    np.testing.assert_allclose(losses.get_ydata(), [3.5, 3.0])
    (ratios,) = axes[1].lines
    np.testing.assert_allclose(ratios.get_ydata(), [1.0, 0.1])
    assert [ax.get_yscale() for ax in axes] == ["linear", "log"]
    plt.close(fig)


def test_by_depth_draws_dots_and_means(ax):
    values = {"post": [[1.0, 4.0], [10.0, 10.0]], "pre": [[2.0, 2.0], [1.0, 9.0]]}
    assert draw.draw_by_depth(ax, (2, 64), values, label="l") is ax
    post, dots, pre, _ = ax.lines
    np.testing.assert_allclose(post.get_ydata(), [2, 10])  # geometric
    np.testing.assert_allclose(pre.get_ydata(), [2, 3])
    np.testing.assert_allclose(dots.get_ydata(), [1, 4, 10, 10])
    assert post.get_xdata()[0] < pre.get_xdata()[0]
    assert ax.get_yscale() == "log"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["2", "64"]


def test_by_depth_without_logs_has_plain_means(ax):
    draw.draw_by_depth(ax, (2,), {"post": [[1.0, 4.0]]}, label="l", log=False, along="step")
    assert ax.get_xlabel() == "step"
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [2.5])
    assert ax.get_yscale() == "linear"


def test_map_has_the_highest_rate_on_top_and_says_what_it_shows(ax):
    losses, learnt = np.array([[3.0, 2.9], [2.5, 2.4]]), np.array([[0, 1], [4, 5]])
    axes = draw.draw_map(
        ax, losses, learnt, rates=(0.001, 0.01), warm_ups=(0, 50), limits=(2.4, 3.2), title="t"
    )
    assert axes is ax
    assert ax.get_ylim()[0] < ax.get_ylim()[1]
    np.testing.assert_array_equal(ax.images[0].get_array(), losses)
    assert [t.get_text() for t in ax.texts] == [
        "3.00\n0 of 5", "2.90\n1 of 5", "2.50\n4 of 5", "2.40\n5 of 5"
    ]  # fmt: skip
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0.001", "0.01"]


@pytest.mark.no_shape_check
def test_map_needs_a_cell_a_setting(ax):
    with pytest.raises(ValueError, match=r"learnt_RW has shape \(1, 2\); here it must be \(2, 2\)"):
        draw.draw_map(
            ax, np.ones((2, 2)), np.ones((1, 2)), rates=(1, 2), warm_ups=(0, 5), limits=(0, 1)
        )


def test_maps_stand_by_order_and_depth():
    fig, axes = plt.subplots(2, 1)
    losses = np.array([[[3.0, 3.0], [2.0, 3.0]]])  # one rate, two warm-ups, two seeds
    grid = {("post", 2): losses, ("pre", 2): losses - 1}
    draw.panels_of_maps(
        axes[:, None], grid, (0.1,), (0, 5), lambda values: int((values < 2.9).sum())
    )
    assert [ax.get_title() for ax in axes] == ["post-norm, 2 blocks", "pre-norm, 2 blocks"]
    assert [t.get_text() for t in axes[0].texts] == ["3.00\n0 of 5", "2.50\n1 of 5"]
    assert axes[1].get_xlabel() == "warm-up"
    plt.close(fig)


def test_alike_is_the_cosines_under_their_letters(ax):
    cosines = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert draw.draw_alike(ax, cosines, "a ", title="t") is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), cosines)
    assert ax.images[0].get_clim() == (0, 1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "·"]
    with pytest.raises(ValueError, match=r"it must be \(3, 3\)"):
        draw.draw_alike(ax, cosines, "abc")
