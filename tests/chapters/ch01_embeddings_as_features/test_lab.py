"""Chapter 1's measurements: neighbours, and which rows learn."""

import torch

from helpers.chapters.ch01_embeddings_as_features import lab
from helpers.similarity import nearest


def test_rank_counts_the_neighbours_that_are_nearer():
    table = torch.randn(len(lab.words().names), 32, generator=torch.Generator().manual_seed(0))
    five, cosines = lab.five_nearest(table, "king")
    assert cosines == sorted(cosines, reverse=True)
    names = lab.words().names
    assert five[0] == names[nearest(table, measure="cosine")[names.index("king")]]
    assert [lab.rank(table, "king", word) for word in five] == [1, 2, 3, 4, 5]


def test_rows_that_learn_are_told_apart():
    """Plain gradient descent moves what has a gradient; a tied table has one everywhere."""
    read, with_gradient, moved = lab.rows_that_learn(False, "SGD", steps=3)
    assert read == with_gradient < 0.2
    assert with_gradient - 2 / 1420 < moved <= with_gradient  # float32 may lose a tiny step
    read, with_gradient, _ = lab.rows_that_learn(True, "SGD", steps=3)
    assert read < with_gradient == 1
    _, with_gradient, moved = lab.rows_that_learn(False, "Adam", steps=1)
    assert with_gradient == moved
    _, with_gradient, moved = lab.rows_that_learn(False, "Adam", steps=3)
    assert with_gradient < moved < 1
