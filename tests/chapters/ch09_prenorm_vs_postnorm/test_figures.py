"""Chapter 9's two orders, and its panels."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers.chapters.ch09_prenorm_vs_postnorm import figures as draw


@pytest.mark.parametrize("order", ["post", "pre"])
def test_orders_put_the_norm_on_the_stream_or_beside_it(ax, order):
    assert draw.draw_orders(ax, order) is ax
    found = sorted((*text.get_position(), text.get_text()) for text in ax.texts)
    names = [name for _, _, name in found]
    assert names == (["f", "+", "norm"] if order == "post" else ["norm", "f", "+"]) * 2
    assert {height for _, height, name in found if name == "norm"} == {order == "pre"}
    assert {height for _, height, name in found if name == "f"} == {1}
    assert {height for _, height, name in found if name == "+"} == {0}


def test_before_has_a_panel_a_quantity():
    fig, axes = plt.subplots(1, 3)
    kept = {key: np.full((2, 3), 0.1) for key, _, _ in draw.BEFORE.values()}
    draw.panels_before(axes, {"post": kept, "pre": kept})
    assert [ax.get_title() for ax in axes] == list(draw.BEFORE)
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["post", "pre"]
    plt.close(fig)
