"""Chapter 3's cloud of logits, and labels on the ladder."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex

from helpers.chapters.ch03_bigram_table import figures as draw
from helpers.figures import ladder

LETTERS = ["a", " ", "."]
COUNTS = np.array([[2, 6, 2], [7, 0, 0], [1, 3, 0]])
SHARE = COUNTS / COUNTS.sum(axis=1, keepdims=True)
LOG = np.log(SHARE, out=np.full((3, 3), -np.inf), where=SHARE > 0)
TABLE = np.array([[0.0, 1.0, 0.5], [2.0, -1.0, -1.0], [0.5, 1.5, -2.0]])


def dots(line):
    """Where the dots of one path stand: its points before each gap."""
    return line.get_xydata()[::3]


def line_of(ax, ink, width):
    return next(
        line
        for line in ax.lines
        if to_hex(line.get_color()) == ink.lower() and line.get_linewidth() == width
    )


def test_each_seen_pair_is_a_dot_of_its_row(ax):
    assert draw.draw_logits(ax, LOG, TABLE, LETTERS, lit=["a", "."]) is ax
    for row, ink in ((0, draw.ROW_INKS[0]), (2, draw.ROW_INKS[1])):
        seen = COUNTS[row] > 0
        expected = np.stack([LOG[row, seen], TABLE[row, seen]], axis=1)
        np.testing.assert_allclose(dots(line_of(ax, ink, 4)), expected, atol=0.026)
    grey = dots(next(line for line in ax.lines if to_hex(line.get_color()) == "#cfcfcf"))
    np.testing.assert_allclose(grey, [[0.0, 2.0]], atol=0.026)


def test_the_line_of_a_row_has_slope_1_and_its_constant(ax):
    draw.draw_logits(ax, LOG, LOG + np.array([[3.0], [1.0], [-2.0]]), LETTERS, lit=["a", "."])
    for ink, constant in zip(draw.ROW_INKS, (3.0, -2.0), strict=False):
        (x0, y0), (x1, y1) = line_of(ax, ink, 0.8).get_xydata()
        assert (y1 - y0) / (x1 - x0) == pytest.approx(1)
        assert y1 - x1 == pytest.approx(constant)


def test_unseen_pairs_stand_in_the_strip_left_of_all_others(ax):
    draw.draw_logits(ax, LOG, TABLE, LETTERS, lit=["a", "."])
    low, high = ax.patches[0].get_x(), ax.patches[0].get_x() + ax.patches[0].get_width()
    assert high < LOG[COUNTS > 0].min()
    strip = [
        tuple(dot)
        for line in ax.lines
        if line.get_linewidth() in (2.6, 4)
        for dot in dots(line)
        if low <= dot[0] <= high
    ]
    # Two unseen pairs of the space with one logit are one dot; the stop has one.
    assert sorted(y for _, y in strip) == [-2.0, -1.0]


@given(st.lists(st.floats(0, 5), min_size=1, max_size=9), st.floats(0.01, 1))
def test_labels_keep_apart_and_in_order(heights, apart):
    moved = ladder.spaced(heights, apart)
    assert all(new >= old for new, old in zip(moved, heights, strict=True))
    stacked = sorted(moved)
    assert all(b - a >= apart - 1e-9 for a, b in itertools.pairwise(stacked))
    order = sorted(range(len(heights)), key=heights.__getitem__)
    assert [moved[i] for i in order] == stacked
