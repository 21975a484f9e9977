"""Chapter 13's boxes are its tokens."""

from matplotlib.patches import Rectangle

from helpers.chapters.ch13_tokens import figures as draw


def test_a_box_is_as_wide_as_its_token(ax):
    rows = {"characters": list("it was"), "tokens": ["it", " was"]}
    assert draw.draw_tokens(ax, rows) is ax
    boxes = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert [box.get_width() for box in boxes] == [1] * 6 + [2, 4]
    assert "".join(text.get_text() for text in ax.texts) == 2 * "it␣was"
