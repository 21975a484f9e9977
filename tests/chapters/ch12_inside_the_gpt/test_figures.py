"""Figures of chapter 12: the data behind what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers.chapters.ch12_inside_the_gpt import figures as draw


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def written(ax):
    return {tuple(map(int, text.get_position())): text.get_text() for text in ax.texts}


def test_map_has_readers_as_rows_and_shows_spaces(ax):
    weights = np.array([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.2, 0.3, 0.5]])
    assert draw.draw_map(ax, weights, "a b", title="layer 1") is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), weights)
    assert ax.images[0].get_clim() == (0, 1)
    shades = ax.images[0].to_rgba(ax.images[0].get_array())
    np.testing.assert_allclose(shades[..., 3], weights, atol=0.01)  # what is not read is not drawn
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert [label.get_text() for label in labels] == ["a", draw.SPACE, "b"]
    assert ax.yaxis_inverted()  # the first token on top
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("is read", "reads")


def test_words_are_turned_and_letters_are_not(ax):
    draw.draw_map(ax, np.eye(2), ["fox", "it"])
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90}
    draw.draw_map(ax, np.eye(2), ["f", "i"])
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {0}


def test_heads_are_counted_from_one_with_the_last_layer_on_top(ax):
    values = np.array([[0.1, 0.25, 0.0], [0.9, -0.04, 0.5]])
    assert draw.draw_heads(ax, values, title="itself") is ax
    assert written(ax)[(1, 0)] == "0.25"
    assert written(ax)[(1, 1)] == "−0.04"
    assert not ax.yaxis_inverted()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]
    assert ax.images[0].get_clim() == (0, 0.9)


def test_heads_can_share_a_scale(ax):
    draw.draw_heads(ax, [[0.1, 0.2]], highest=0.6)
    assert ax.images[0].get_clim() == (0, 0.6)
    assert written(ax)[(0, 0)] == "0.10"


def test_lens_writes_guesses_and_shades_by_the_right_one(ax):
    p = np.array([[0.1, 0.2], [0.9, 0.0]])
    assert draw.draw_lens(ax, [["a", " "], ["\n", "b"]], p, "xy") is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), p)
    assert written(ax) == {(0, 0): "a", (1, 0): draw.SPACE, (0, 1): draw.LINE_END, (1, 1): "b"}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["embedding", "layer 1"]
    assert not ax.yaxis_inverted()


def test_patches_leave_what_is_small_unwritten(ax):
    moved = np.array([[0.0, 1.0], [-0.3, 0.02]])
    assert draw.draw_patches(ax, moved, ["it", "wide"]) is ax
    assert written(ax) == {(1, 0): "1.0", (0, 1): "−0.3"}
    assert ax.images[0].get_clim() == (-1, 1)
    np.testing.assert_array_equal(ax.images[0].get_array().mask, [[True, False], [False, True]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["embedding", "after layer 1"]
    assert not ax.yaxis_inverted()


def test_lines_are_seeds_and_their_mean_and_marks_are_drawn(ax):
    runs = np.array([[3.0, 1.0], [5.0, 3.0]])
    drawn = draw.draw_lines(ax, [0, 50], {"loss": runs}, at=50, xlabel="updates")
    assert drawn is ax
    mark, *seeds, mean = ax.lines
    assert list(mark.get_xdata()) == [50, 50]
    np.testing.assert_array_equal([seed.get_ydata() for seed in seeds], runs)
    np.testing.assert_array_equal(mean.get_ydata(), [4.0, 2.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["loss"]
    assert ax.get_xlabel() == "updates"


def test_explorer_of_heads_says_what_the_last_row_reads_most():
    weights = [np.stack([np.eye(3), np.eye(3, k=-1)])] * 2
    picture, in_words = draw.of_heads(weights, ["it", "was", "too"])
    assert "“too” reads “too” most, 100%" in in_words(2, 1)
    assert "“too” reads “was” most, 100%" in in_words(1, 2)
    figure = picture(2, 2)
    assert figure.axes[0].get_title() == "layer 2, head 2"
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["it", "was", "too"]
    plt.close(figure)


def test_explorer_of_copying_reads_the_update_that_is_chosen():
    curves = np.array([[3.0, 1.0], [9.0, 9.0]])
    found = {"losses": curves, "followed": curves / 10, "maps": [np.eye(2)] * 2, "head": 5}
    picture, in_words = draw.of_copying(found, [0, 25], [0, 27])
    assert "loss 1.00 nats; the best head of layer 2 gives 10%" in in_words(25)
    figure = picture(25)
    assert figure.axes[1].get_title() == "layer 2, head 5"
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == ["A", "b"]
    plt.close(figure)
