"""Figures of chapter 04: the data behind what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers.chapters.ch04_layernorm_vs_batchnorm import figures as draw


def test_block_has_sentence_below_sentence_and_every_number(ax):
    values = np.arange(12.0).reshape(2, 3, 2) - 5
    words = [["a", "b", "c"], ["d", "e", "f"]]
    assert draw.draw_block(ax, values, words, title="x", reach=5, framed=(1, 0)) is ax
    rows = np.asarray(ax.images[0].get_array(), dtype=float)
    np.testing.assert_array_equal(rows[:3], values[0])
    np.testing.assert_array_equal(rows[4:], values[1])
    assert len(ax.texts) == 12
    assert ax.texts[0].get_text() == "−5"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list("abcdef")
    np.testing.assert_array_equal(ax.get_yticks(), [0, 1, 2, 4, 5, 6])
    assert ax.patches[0].get_xy() == (-0.5, 3.5)


def test_kinds_of_reading_tell_earlier_later_and_others():
    reads = np.array([[0.1, 0.2, 0.3], [0.0, 0.4, 0.0]])
    assert draw.kinds_of_reading(reads, (0, 1)) == [
        ["earlier", "itself", "later"],
        ["not read", "another sentence", "not read"],
    ]
    assert draw.kinds_of_reading(reads, (1, 1)) == [
        ["another sentence"] * 3,
        ["not read", "itself", "not read"],
    ]


def test_reads_are_cells_in_the_colours_of_their_kinds(ax):
    assert draw.draw_reads(ax, np.array([[1.0, 0.0], [0.0, 2.0]]), at=(0, 0)) is ax
    assert [text.get_text() for text in ax.texts] == [
        "itself",
        "not read",
        "not read",
        "another sentence",
    ]
    np.testing.assert_allclose(ax.patches[3].get_xy(), (0, 3.5))  # under the gap between sentences


def test_a_stage_keeps_its_proportions_and_may_be_named_only():
    figure, (first, second, hidden) = plt.subplots(3, 1)
    assert draw.draw_stage(first, "x", np.array([8.0, 10, 12])) is first
    draw.draw_stage(second, "y", np.array([-2.0, 0, 2]))
    dots = [ax.lines[2].get_xdata() for ax in (first, second)]
    np.testing.assert_allclose(dots[0], dots[1])
    np.testing.assert_allclose(np.diff(dots[0]), 0.28)
    bar = first.lines[1].get_xdata()
    np.testing.assert_allclose(bar[1] - bar[0], 2 * dots[0].std())
    assert [text.get_text() for text in second.texts] == ["y", "−2", "0", "2"]
    draw.draw_stage(hidden, "z", np.array([1.0, 1, 1]), shown=False)
    assert len(hidden.lines) == 0
    draw.draw_stage(hidden, "z", np.array([1.0, 1, 1]))  # equal numbers fall on one dot
    plt.close(figure)


def test_eps_curves_run_by_powers_of_ten(ax):
    curves = {"inside": np.array([0.1, 1.0]), "outside": np.array([0.01, 1.0])}
    assert draw.draw_eps(ax, [1e-2, 1.0], curves, at=0, ylabel="y", log=True) is ax
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[-2, -1], [0, 0]])
    np.testing.assert_allclose(ax.lines[3].get_xydata(), [[-2, -2]])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.01", "1"]


def test_histogram_marks_mean_and_deviation(ax):
    values = np.array([0.0, 0, 0, 4])
    assert draw.draw_histogram(ax, values, bins=4) is ax
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [1 - values.std(), 1 + values.std()])
    assert ax.lines[1].get_xdata() == 1


def test_rates_leave_out_where_a_seed_failed_and_say_so(ax):
    losses = {"layer": [[2.0, 2.2], [2.4, 2.6]], "none": [[2.1, 2.1], [2.0, np.nan]]}
    assert draw.draw_rates(ax, [0.01, 0.1], losses) is ax
    whole, _, nothing, broken, seeds, cross = ax.lines
    np.testing.assert_allclose(whole.get_ydata(), [2.1, 2.5])
    np.testing.assert_allclose(broken.get_ydata(), [2.1])
    np.testing.assert_allclose(seeds.get_ydata(), [2.1, 2.1, 2.0, np.nan])
    assert len(nothing.get_xdata()) == 0
    assert len(cross.get_xdata()) == 1
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.01", "0.1"]


def test_gaps_show_both_losses_of_each_seed(ax):
    pairs = {"layer": (np.array([2.0, 2.1]), np.array([2.0, 2.1])), "group": ([1.9], [2.2])}
    assert draw.draw_gaps(ax, pairs) is ax
    line, together, alone = ax.lines[3:]
    np.testing.assert_allclose(line.get_xydata(), [[1.9, 1], [2.2, 1]])
    assert (together.get_fillstyle(), alone.get_fillstyle()) == ("none", "full")
    np.testing.assert_allclose(alone.get_xdata(), [2.2])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["layer", "group"]


def test_evolution_has_a_line_for_each_entry_and_their_mean(ax):
    values = np.array([[1.0, 1.0], [1.2, 0.6]])
    assert draw.draw_evolution(ax, [0, 10], values, start=1) is ax
    start, first, second, mean = ax.lines
    np.testing.assert_allclose(start.get_ydata(), [1, 1])
    np.testing.assert_allclose(first.get_ydata(), [1, 1.2])
    np.testing.assert_allclose(second.get_ydata(), [1, 0.6])
    np.testing.assert_allclose(mean.get_ydata(), [1, 0.9])


@pytest.mark.parametrize(
    ("value", "text"),
    [(8.0, "8"), (-1.2247, "−1.22"), (110.0, "110"), (-0.001, "0"), (12.34, "12.3"), (0.5, "0.5")],
)
def test_short_numbers(value, text):
    assert draw.short(value) == text


def test_short_does_not_depend_on_the_last_bits():
    assert draw.short(0.175) == draw.short(3.2 - 3.025)


@pytest.mark.parametrize(("exponent", "text"), [(-7, "10⁻⁷"), (0, "1"), (-3, "0.001"), (9, "10⁹")])
def test_powers_of_ten(exponent, text):
    assert draw.power_of_ten(exponent) == text
