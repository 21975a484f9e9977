"""Chapter 9's two orders."""

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
