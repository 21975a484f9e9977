"""Chapter 8's block, and its levels by depth."""

import numpy as np

from helpers.chapters.ch08_residual_add_and_norm import figures as draw


def test_levels_lie_on_the_page_and_keep_their_ends(ax):
    values = np.geomspace(1, 1e-20, 97)
    assert draw.draw_levels(ax, "neither", np.array([values, values**0]), title="a") is ax
    falling, flat = ax.lines
    x, y = falling.get_data()
    assert (x[0], x[-1]) == (0, 96)
    assert (y[0], y[-1]) == (0, -12)
    np.testing.assert_allclose(flat.get_ydata(), 0)
    assert ax.get_yticklabels()[0].get_text() == "≤ 10⁻¹²"
    assert ax.get_yticklabels()[-1].get_text() == "≥ 10¹²"


def test_block_has_sum_and_norm_on_the_stream_behind_each_sub_layer(ax):
    assert draw.draw_block(ax) is ax
    boxes = sorted(
        (*text.get_position(), text.get_text()) for text in ax.texts if text.get_bbox_patch()
    )
    assert [words for *_, words in boxes] == ["attention", "+", "norm", "feed-forward", "+", "norm"]
    assert [height for _, height, _ in boxes] == [1, 0, 0, 1, 0, 0]
    stream = ax.texts[-1]
    assert stream.xy[0] > boxes[-1][0] > boxes[0][0] > stream.get_position()[0]
