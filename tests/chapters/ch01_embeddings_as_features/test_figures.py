"""Figures of chapter 01: the data behind what is drawn."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from helpers.chapters.ch01_embeddings_as_features import figures as draw
from helpers.figures import INKS


def test_lookup_joins_each_id_to_its_row(ax):
    table = np.arange(15.0).reshape(5, 3) / 10
    assert draw.draw_lookup(ax, table, [1, 4, 4]) is ax
    starts = [line.get_ydata()[0] for line in ax.lines]
    assert starts == [-1, -4, -4]
    assert [line.get_color() for line in ax.lines] == [INKS[0], INKS[1], INKS[1]]
    written = [text.get_text() for text in ax.texts]
    assert written.count("1.2") == 3  # row 4 in the table and twice beside it
    assert written.count("0.3") == 2
    assert written.count("0.0") == 1
    assert len(ax.patches) == (5 + 3) * 3


def test_block_fills_each_cell_by_its_mark(ax):
    marks = np.zeros((2, 3, 4), dtype=int)
    marks[0, 1, 2], marks[1, 0, 3] = 1, -1
    assert draw.draw_block(ax, marks, at=(0, 1, 2), title="output") is ax
    *cells, outline = ax.patches
    assert len(cells) == marks.size
    inks = np.array([to_hex(cell.get_facecolor()) for cell in cells]).reshape(marks.shape)
    assert inks[0, 1, 2] == draw.MARKS[1]
    assert inks[1, 0, 3] == draw.MARKS[-1]
    assert (inks == "#ffffff").sum() == marks.size - 2
    assert outline.get_xy() == cells[1 * 4 + 2].get_xy() == (2, -1)
    assert [text.get_text() for text in ax.texts] == ["sentence 0", "sentence 1"]
    places = {cell.get_xy() for cell in cells}
    assert len(places) == marks.size


def test_block_without_a_place_or_labels_has_neither(ax):
    draw.draw_block(ax, np.ones((1, 2, 2), dtype=int), labels=False)
    assert (len(ax.patches), len(ax.texts)) == (4, 0)


def test_block_refuses_other_marks(ax):
    with pytest.raises(ValueError, match="marks must be 1, 0 or -1, got"):
        draw.draw_block(ax, np.full((1, 1, 1), 2))


def test_neighbours_are_bars_as_long_as_the_cosine(ax):
    assert draw.draw_neighbours(ax, ["cried", "asked"], [0.9, 0.5], title="said") is ax
    assert [bar.get_width() for bar in ax.patches] == [0.9, 0.5]
    assert [text.get_text() for text in ax.texts] == ["cried", "asked"]
    assert ax.yaxis_inverted()


def test_shares_show_every_seed_their_mean_and_chance(ax):
    runs = np.array([[0.1, 0.8], [0.2, 0.6]])
    shares = {"the tales": runs, "shuffled": runs / 2}
    assert draw.draw_shares(ax, [0, 400], shares, chance=0.08) is ax
    level, mean, dots, other, _ = ax.lines
    np.testing.assert_allclose(level.get_ydata(), [0.08, 0.08])
    np.testing.assert_allclose(mean.get_ydata(), [0.15, 0.7])
    np.testing.assert_allclose(dots.get_xydata(), [[0, 0.1], [400, 0.8], [0, 0.2], [400, 0.6]])
    np.testing.assert_allclose(other.get_ydata(), [0.075, 0.35])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "400"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(shares)
