"""Figures of chapter 07: the data behind what is drawn."""

import numpy as np
import pytest
import torch

from helpers.chapters.ch07_heads_masks_positions import figures as draw
from helpers.minillama import rotate


def test_turned_arrows_point_where_the_angle_says(ax):
    assert draw.draw_turned(ax, [1.0, 0.0], [0.0, 2.0], (np.pi / 2, np.pi)) is ax
    tips = [text.xy for text in ax.texts if text.arrow_patch is not None]
    np.testing.assert_allclose(tips, [[1, 0], [0, 1], [0, 2], [0, -2]], atol=1e-12)


def test_by_distance_marks_the_score_at_a_distance_and_names_the_lines(ax):
    scores = {"a": [4.0, 3.0, 1.0], "b": [2.0, 1.0, 0.0]}
    assert draw.draw_by_distance(ax, [0, 1, 2], scores, at=1) is ax
    dots = [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "o"]
    assert dots == [[[1, 3.0]], [[1, 1.0]]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_waves_are_drawn_as_they_are(ax):
    rows = np.array([[0.0, 1.0], [-1.0, 0.5]])
    assert draw.draw_waves(ax, rows) is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), rows)
    assert ax.images[0].get_clim() == (-1, 1)


def test_positions_are_taken_together_and_averaged_over_seeds(ax):
    losses = np.stack([np.arange(16.0), np.arange(16.0) + 2])
    assert draw.draw_positions(ax, {"rope": losses}, trained=8) is ax
    first, second, mean = (line.get_xydata() for line in ax.lines)
    np.testing.assert_allclose(first, [[4, 3.5], [12, 11.5]])
    np.testing.assert_allclose(second, [[4, 5.5], [12, 13.5]])
    np.testing.assert_allclose(mean, [[4, 4.5], [12, 12.5]])


@pytest.mark.parametrize(("cache", "now"), [(False, [3, 4, 5]), (True, [3, 1, 1])])
def test_writing_counts_what_goes_through_the_layers(ax, cache, now):
    assert draw.draw_writing(ax, 3, 3, cache=cache) is ax
    kind = np.asarray(ax.images[0].get_array())
    assert (kind == 2).sum(axis=1).tolist() == now
    assert (kind > 0).sum(axis=1).tolist() == [3, 4, 5]
    assert kind.shape == (3, 5)


def test_a_pair_scores_as_it_does_when_both_vectors_are_turned():
    pair = torch.tensor([[1.0, 0.3]]), torch.tensor([[0.8, -0.5]])
    for query, distance in ((24, 0), (27, 3), (36, 12)):
        q, k = (
            rotate(x, at, 10_000)[0] for x, at in zip(pair, (query, query - distance), strict=True)
        )
        found = draw.pair_score([1.0, 0.3], [0.8, -0.5], distance).item()
        assert (q @ k).item() == pytest.approx(found, abs=1e-5)


def test_what_is_said_of_a_turned_pair():
    _, in_words = draw.turning_by_position([1.0, 0.0], [1.0, 0.0])
    assert in_words(24, 0).endswith("The pair scores 1.00, the four pairs 4.00.")
