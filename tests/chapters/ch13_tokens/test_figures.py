"""Figures of chapter 13: the boxes are the tokens."""

from matplotlib.patches import Rectangle

from helpers.chapters.ch13_tokens import figures as draw


def test_a_box_is_as_wide_as_its_token(ax):
    rows = {"characters": list("it was"), "tokens": ["it", " was"]}
    assert draw.draw_tokens(ax, rows) is ax
    boxes = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert [box.get_width() for box in boxes] == [1] * 6 + [2, 4]
    assert "".join(text.get_text() for text in ax.texts) == 2 * "it␣was"


def test_the_next_pair_is_marked_and_the_bars_are_counts(ax):
    draw.draw_counts(ax, {"w+i": 6, "i+d": 5}, most=6)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == [6, 5]
    assert ax.patches[0].get_facecolor() != ax.patches[1].get_facecolor()
