"""Figures of chapter 01: the data behind what is drawn."""

import matplotlib.pyplot as plt
import numpy as np

from helpers.chapters.ch01_embeddings_as_features import figures as draw
from helpers.figures import INKS


def test_lookup_joins_each_id_to_its_row(ax):
    table = np.arange(15.0).reshape(5, 3) / 10
    assert draw.draw_lookup(ax, table, [1, 4, 4], "vwxyz") is ax
    starts = [line.get_ydata()[0] for line in ax.lines]
    assert starts == [-1, -4, -4]
    assert [line.get_color() for line in ax.lines] == [INKS[0], INKS[1], INKS[1]]
    written = [text.get_text() for text in ax.texts]
    assert written.count("1.2") == 3  # row 4 in the table and twice beside it
    assert written.count("0.3") == 2
    assert written.count("0.0") == 1
    assert len(ax.patches) == (5 + 3) * 3


def test_lookup_names_the_rows_of_a_vocabulary(ax):
    draw.draw_lookup(ax, np.zeros((3, 2)), [2, 0], ["a", "fox", "the"])
    written = [text.get_text() for text in ax.texts]
    assert [name for name in written if name[-1].isdigit() and len(name) > 3] == [
        "a  0",
        "fox  1",
        "the  2",
    ]
    assert (written.count("the"), written.count("a"), written.count("fox")) == (1, 1, 0)


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


def test_finding_draws_and_tells_the_neighbours():
    picture, in_words = draw.finding(lambda word, step: (["cried", "asked"], [0.9, 0.5]), 1419)
    assert in_words("said", 25) == (
        "After 25 steps the nearest of 1,419 words to said are cried, asked; the cosine of the "
        "first is 0.90."
    )
    (ax,) = picture("said", 25).axes
    assert [bar.get_width() for bar in ax.patches] == [0.9, 0.5]
    plt.close("all")
