"""Chapter 7's turned pairs."""

import pytest
import torch

from helpers.chapters.ch07_heads_masks_positions import figures as draw
from helpers.minillama import rotate


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
