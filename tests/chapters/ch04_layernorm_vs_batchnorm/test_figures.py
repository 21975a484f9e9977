"""Figures of chapter 04: the data behind what is drawn."""

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
    np.testing.assert_array_equal(ax.get_yticks(), [0, 1, 2, 4, 5, 6])
    assert ax.patches[0].get_xy() == (-0.5, 3.5)


def test_block_fills_cells_and_leaves_the_others_clear(ax):
    shade = np.zeros((2, 3, 2), dtype=bool)
    shade[1, 0, 1] = True
    draw.draw_block(ax, np.zeros((2, 3, 2)), None, shade_BTC=shade)
    assert not ax.images
    [filled] = [cell.get_xy() for cell in ax.patches if cell.get_facecolor()[3]]
    assert filled == (0.5, 3.5)
    assert len(ax.patches) == 12


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


def test_reads_are_cells_in_the_colours_of_their_kinds(ax):
    assert draw.draw_reads(ax, np.array([[1.0, 0.0], [0.0, 2.0]]), at=(0, 0)) is ax
    assert [text.get_text() for text in ax.texts] == [
        "itself",
        "not read",
        "not read",
        "another sentence",
    ]
    np.testing.assert_allclose(ax.patches[3].get_xy(), (0, 3.5))  # under the gap between sentences


def test_block_frames_a_word_or_a_number(ax):
    draw.draw_block(ax, np.zeros((2, 3, 4)), None, framed=(1, 0))
    draw.draw_block(ax, np.zeros((2, 3, 4)), None, framed=(1, 0, 2))
    word, number = ax.patches
    assert (word.get_xy(), word.get_width()) == ((-0.5, 3.5), 4)
    assert (number.get_xy(), number.get_width()) == ((1.5, 3.5), 1)


def test_poking_shows_what_moves_and_says_where():
    def poke(box, x_BTC, *at):
        poked_BTC = x_BTC.clone()
        poked_BTC[at] += 0.5
        return box(poked_BTC) - box(x_BTC)

    boxes = {
        "row": lambda x: x - x.sum(dim=2, keepdim=True),
        "column": lambda x: x + x.sum(dim=(0, 1)),
    }
    picture, in_words = draw.poking(boxes, torch.zeros(2, 3, 4), poke)
    assert in_words("row", 0, 1, 2) == (
        "Box row: 3 of 24 outputs move. They lie in 1 of 6 tokens, 3 of 4 columns, "
        "1 of 2 sentences."
    )
    assert "6 of 24 outputs move. They lie in 6 of 6 tokens, 1 of 4" in in_words("column", 0, 1, 2)
    figure = picture("row", 0, 1, 2)
    moved = np.asarray(figure.axes[1].images[0].get_array(), dtype=float)
    np.testing.assert_array_equal(moved[1], [-1, -1, 0, -1])
    plt.close(figure)


def test_gaps_show_both_losses_of_each_seed(ax):
    pairs = {"layer": (np.array([2.0, 2.1]), np.array([2.0, 2.1])), "group": ([1.9], [2.2])}
    assert draw.draw_gaps(ax, pairs) is ax
    line, together, alone = ax.lines[3:]
    np.testing.assert_allclose(line.get_xydata(), [[1.9, 1], [2.2, 1]])
    assert (together.get_fillstyle(), alone.get_fillstyle()) == ("none", "full")
    np.testing.assert_allclose(alone.get_xdata(), [2.2])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["layer", "group"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(8.0, "8"), (-1.2247, "−1.22"), (110.0, "110"), (-0.001, "0"), (12.34, "12.3"), (0.5, "0.5")],
)
def test_short_numbers(value, text):
    assert draw.short(value) == text


def test_short_does_not_depend_on_the_last_bits():
    assert draw.short(0.175) == draw.short(3.2 - 3.025)


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
