"""Chapter 15's passes, tiles and levels."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from helpers.chapters.ch15_fast_and_large import figures as draw


@pytest.mark.parametrize(("cache", "lit"), [(False, 3 + 4 + 5), (True, 3 + 1 + 1)])
def test_with_a_cache_only_new_tokens_are_lit(ax, cache, lit):
    draw.draw_passes(ax, list("abcdef"), 3, cache=cache)
    colours = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert colours.count(draw.NOW) == lit
    assert f" {lit} tokens" in ax.get_title(loc="left") + ax.get_title()
    assert len(colours) == 4 + 5 + 6  # one is written in each pass


def test_tiles_that_are_done_come_before_the_one_at_work(ax):
    assert draw.draw_tiles(ax, T=12, tile=3, row=2, column=1) is ax
    tiles = {
        patch.get_xy(): to_hex(patch.get_facecolor())
        for patch in ax.patches
        if isinstance(patch, Rectangle) and patch.get_x() < 12
    }
    assert len(tiles) == 16
    assert [at for at, colour in tiles.items() if colour == draw.NOW] == [(3, 6)]
    done = {at for at, colour in tiles.items() if colour == draw.DONE}
    assert done == {(0, 0), (0, 3), (3, 3), (0, 6)}
    assert {at for at, colour in tiles.items() if colour == draw.NEVER} == {
        (x, y) for x in range(0, 12, 3) for y in range(0, 12, 3) if x > y
    }


def test_block_shows_each_number_and_how_far_its_level_is(ax):
    x_N, levels = np.array([0.1, 0.9, -0.3]), np.array([-0.5, 0.0, 0.5, 1.0])
    assert draw.draw_block(ax, x_N, levels) is ax
    np.testing.assert_allclose(ax.lines[0].get_ydata(), x_N)
    moves = [segment[:, 1] for segment in ax.collections[-1].get_segments()]
    np.testing.assert_allclose(moves, [[0.1, 0.0], [0.9, 1.0], [-0.3, -0.5]])


def test_pages_hold_each_token_of_those_who_are_there(ax):
    requests = {"a": (range(2), 4), "b": (range(6), 9), "c": (range(4), 8), "d": (range(4), 3)}
    draw.draw_pages(ax, requests, users=2)
    held = sum(p.get_width() for p in ax.patches if p.get_linewidth() == 0)
    assert held == (2 + 6) + (10 + 4) + (9 + 4) + (11 + 6)  # when c and d join, and at the end
