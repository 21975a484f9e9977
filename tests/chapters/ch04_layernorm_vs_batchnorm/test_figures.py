"""Chapter 4's blocks of numbers: who reads whom, and what its explorers say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from helpers.chapters.ch04_layernorm_vs_batchnorm import figures as draw


def test_block_has_sentence_below_sentence_and_every_number(ax):
    values = np.arange(12.0).reshape(2, 3, 2) - 5
    words = [["a", "b", "c"], ["d", "e", "f"]]
    assert draw.draw_block(ax, values, words, title="x", reach=5, framed=(1, 0)) is ax
    rows = np.asarray(ax.images[0].get_array(), dtype=float)
    np.testing.assert_array_equal(rows[:3], values[0])
    np.testing.assert_array_equal(rows[4:], values[1])
    assert len(ax.texts) == 12
    assert ax.texts[0].get_text() == "−5"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list("abcdef")


def test_kinds_of_reading_tell_earlier_later_and_others():
    reads = np.array([[0.1, 0.2, 0.3], [0.0, 0.4, 0.0]])
    assert draw.kinds_of_reading(reads, (0, 1)) == [
        ["earlier", "itself", "later"],
        ["not read", "another sentence", "not read"],
    ]
    assert draw.kinds_of_reading(reads, (1, 1)) == [
        ["another sentence"] * 3,
        ["not read", "itself", "not read"],
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.0, "8"),
        (-1.2247, "−1.22"),
        (110.0, "110"),
        (-0.001, "0"),
        (12.34, "12.3"),
        (0.175, "0.17"),
        (3.2 - 3.025, "0.17"),
    ],
)
def test_short_numbers(value, text):
    assert draw.short(value) == text


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (("no", "no", "all four", "yes"), "This is layer norm. Through it a word reads nothing"),
        (("yes", "yes", "each by itself", "yes"), "reads later words and the other sentence."),
        (("no", "yes", "each by itself", "no"), "no norm with a usual name"),
        (("no", "yes", "all four", "yes"), "This is group norm with one group"),
    ],
)
def test_the_picker_names_the_norm_and_what_is_read(choice, words):
    block = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)).double()
    picture, in_words = draw.picking(block, [["a", "b", "c"]] * 2, (0, 1))
    names = ("sentences_too", "words_too", "features", "mean_off")
    setting = dict(zip(names, choice, strict=True))
    assert words in in_words(**setting)
    figure = picture(**setting)
    assert len(figure.axes) == 5
    plt.close(figure)
