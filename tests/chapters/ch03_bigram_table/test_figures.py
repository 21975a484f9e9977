"""Figures of chapter 03 and the ladder: the data behind what is drawn."""

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


# ------------------------------------------------------------- letters


def test_letters_that_cannot_be_seen_get_a_mark():
    assert draw.visible("a b\nc") == "a␣b↵c"


def test_table_is_drawn_as_it_is(ax):
    assert draw.draw_table(ax, SHARE, LETTERS) is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), SHARE)
    assert ax.images[0].get_clim() == (0, 1)  # no share is cut off at the darkest shade
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "␣", "."]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("next character", "present character")


def test_surprise_stands_over_the_letter_that_surprised(ax):
    assert draw.draw_surprise(ax, "a fox", [1.0, 2.0, 3.0, 4.0], mean=2.5) is ax
    bars = {round(bar.get_center()[0]): bar.get_height() for bar in ax.patches}
    assert bars == {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}  # none over the first letter
    assert [tick.get_text() for tick in ax.get_xticklabels()] == list("a␣fox")
    assert set(ax.lines[0].get_ydata()) == {2.5}


# ------------------------------------------------------------- the pull


def test_arrows_go_from_what_was_said_to_what_happened(ax):
    p, y = np.array([0.2, 0.7, 0.1]), np.array([0.0, 0.0, 1.0])
    assert draw.draw_pull(ax, p, y, "ABC") is ax
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]
    np.testing.assert_allclose([arrow.xyann[1] for arrow in arrows], p)
    np.testing.assert_allclose([arrow.xy[1] for arrow in arrows], y)
    written = [text.get_text() for text in ax.texts if text.get_text()]
    assert written == ["−0.20", "−0.70", "+0.90"]


def test_no_pull_is_written_without_a_sign_that_misleads(ax):
    draw.draw_pull(ax, [1e-5, 1 - 1e-5], [0.0, 1.0], "AB")
    assert [text.get_text() for text in ax.texts] == ["+0.00", "+0.00"]


# ------------------------------------------------------------- the logits


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


# ------------------------------------------------------------- the ladder


def test_rungs_hang_at_their_losses_and_the_new_ones_are_lit(ax):
    rungs = {"uniform": 4.1, "unigram": 3.0, "bigram": 2.3}
    assert ladder.draw_ladder(ax, rungs, new=1) is ax
    hung = [line for line in ax.lines if line.get_linewidth() == 4]
    assert [set(line.get_ydata()) for line in hung] == [{4.1}, {3.0}, {2.3}]
    inks = [line.get_color() for line in hung]
    assert inks == [ladder.OLD, ladder.OLD, ladder.RUNG]
    assert [t.get_text() for t in ax.texts] == ["4.100  uniform", "3.000  unigram", "2.300  bigram"]


@given(st.lists(st.floats(0, 5), min_size=1, max_size=9), st.floats(0.01, 1))
def test_labels_keep_apart_and_in_order(heights, apart):
    moved = ladder.spaced(heights, apart)
    assert all(new >= old for new, old in zip(moved, heights, strict=True))
    stacked = sorted(moved)
    assert all(b - a >= apart - 1e-9 for a, b in itertools.pairwise(stacked))
    order = sorted(range(len(heights)), key=heights.__getitem__)
    assert [moved[i] for i in order] == stacked
