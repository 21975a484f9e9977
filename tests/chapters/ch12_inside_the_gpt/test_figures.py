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
    draw.draw_heads(ax, [[0.1, 0.2]], highest=0.6, digits=1)
    assert ax.images[0].get_clim() == (0, 0.6)
    assert written(ax)[(0, 0)] == "0.1"


def test_cost_is_a_mean_with_its_range(ax):
    costs = np.array([[1.0, 0.0], [3.0, 0.2]])
    assert draw.draw_cost(ax, [0.3, 0.7], costs, ["L1 H1", ""], xlabel="share") is ax
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(dots.get_xydata(), [[0.3, 2.0], [0.7, 0.1]])
    (ranges,) = ax.collections
    np.testing.assert_allclose(
        ranges.get_segments(), [[[0.3, 1], [0.3, 3]], [[0.7, 0], [0.7, 0.2]]]
    )
    assert [text.get_text() for text in ax.texts] == ["L1 H1", ""]


def test_lens_writes_guesses_and_shades_by_the_right_one(ax):
    p = np.array([[0.1, 0.2], [0.9, 0.0]])
    assert draw.draw_lens(ax, [["a", " "], ["\n", "b"]], p, "xy") is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), p)
    assert written(ax) == {(0, 0): "a", (1, 0): draw.SPACE, (0, 1): draw.LINE_END, (1, 1): "b"}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["embedding", "layer 1"]
    assert not ax.yaxis_inverted()


def test_by_level_draws_seeds_and_their_mean(ax):
    values = np.array([[0.0, 1.0], [1.0, 2.0]])
    draw.draw_by_level(ax, {"right": values, "one": [5.0, 6.0]}, first=1, mark=0.5, ylabel="y")
    drawn = [line.get_xydata().tolist() for line in ax.lines if len(line.get_xdata()) == 2]
    assert [[1, 0.5], [2, 1.5]] in drawn
    assert [[1, 0.0], [2, 1.0]] in drawn
    assert [[1, 5.0], [2, 6.0]] in drawn
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["right", "one"]
    assert any(line.get_ydata() == [0.5, 0.5] for line in ax.lines if line.get_linestyle() == ":")


def test_patches_leave_what_is_small_unwritten(ax):
    moved = np.array([[0.0, 1.0], [-0.3, 0.02]])
    assert draw.draw_patches(ax, moved, ["it", "wide"], title="t") is ax
    assert written(ax) == {(1, 0): "1.0", (0, 1): "−0.3"}
    assert ax.images[0].get_clim() == (-1, 1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["embedding", "after layer 1"]
    assert not ax.yaxis_inverted()


def test_learning_marks_a_step(ax):
    runs = np.array([[3.0, 1.0], [5.0, 3.0]])
    assert draw.draw_learning(ax, [0, 50], {"loss": runs}, at=50, ylabel="nats") is ax
    mark, *seeds, mean = ax.lines
    assert list(mark.get_xdata()) == [50, 50]
    np.testing.assert_array_equal([seed.get_ydata() for seed in seeds], runs)
    np.testing.assert_array_equal(mean.get_ydata(), [4.0, 2.0])


def test_learning_of_one_run(ax):
    draw.draw_learning(ax, [0, 1], {"loss": [3.0, 1.0]})
    assert len(ax.lines) == 1
