"""What chapter 1's explorer draws and says, and the rows that a lookup joins."""

import matplotlib.pyplot as plt
import numpy as np

from helpers.chapters.ch01_embeddings_as_features import figures as draw


def test_lookup_joins_each_id_to_its_row(ax):
    table = np.arange(15.0).reshape(5, 3) / 10
    assert draw.draw_lookup(ax, table, [1, 4, 4], "vwxyz") is ax
    starts = [line.get_ydata()[0] for line in ax.lines]
    assert starts == [-1, -4, -4]
    written = [text.get_text() for text in ax.texts]
    assert written.count("1.2") == 3  # row 4 in the table and twice beside it
    assert written.count("0.3") == 2
    assert written.count("0.0") == 1
    assert len(ax.patches) == (5 + 3) * 3


def test_finding_draws_and_tells_the_neighbours():
    picture, in_words = draw.finding(lambda word, step: (["cried", "asked"], [0.9, 0.5]), 1419)
    assert in_words("said", 25) == (
        "After 25 steps the nearest of 1,419 words to said are cried, asked; the cosine of the "
        "first is 0.90."
    )
    (ax,) = picture("said", 25).axes
    assert [bar.get_width() for bar in ax.patches] == [0.9, 0.5]
    plt.close("all")
