"""It raises where a learner is likely to slip, or the number would be wrong in silence."""

import math

import numpy as np
import pytest
import torch
from tiny import seeded

from helpers import bigram, corpus, embeddings, numerics, similarity
from helpers.attention import attention_steps
from helpers.norms import BatchNorm, GroupNorm, InstanceNorm, normalise
from helpers.positions import sinusoidal

IDS, ROWS, X = torch.arange(6), torch.eye(3), torch.ones(2, 3, 4)
CLOSED = torch.tensor([[True, False], [False, False]])
CALLS = {
    "a query without a key": lambda: attention_steps(*torch.ones(3, 2, 4), mask=CLOSED),
    "sines and cosines of an odd width": lambda: sinusoidal(4, 3),
    "groups that do not divide the width": lambda: GroupNorm(6, 4),
    "no axes to average over": lambda: normalise(X, ()),
    "a batch of one token": lambda: BatchNorm(4)(torch.ones(1, 1, 4)),
    "a sequence of one token": lambda: InstanceNorm(4)(torch.ones(1, 1, 4)),
    "an id to count outside the vocabulary": lambda: bigram.count_bigrams(IDS, 5),
    "negative counts": lambda: bigram.smoothed(-np.ones((2, 2))),
    "counts of nothing": lambda: bigram.conditional_entropy(np.zeros((2, 2))),
    "negative smoothing": lambda: bigram.smoothed(np.ones((2, 2)), -1.0),
    "rows that do not sum to 1": lambda: bigram.cross_entropy_of(np.ones((2, 2)), np.eye(2)),
    "bits that int8 cannot hold": lambda: embeddings.quantised(ROWS, 9),
    "an embedding of nan": lambda: embeddings.quantised(ROWS * math.nan, 8),
    "an unknown measure": lambda: similarity.similarities(ROWS[0], ROWS, measure="euclidean"),
    "a neighbour of nan": lambda: similarity.nearest(ROWS * math.nan, measure="dot"),
    "a rank of nan": lambda: similarity.rank_correlation(ROWS[0], ROWS[1] * math.nan),
    "rows that do not vary": lambda: similarity.whiten(torch.ones(4, 3)),
    "scores that are all masked": lambda: numerics.softmax(np.full(3, -np.inf)),
    "probabilities that do not sum to 1": lambda: numerics.entropy(np.ones(3)),
    "a split that leaves nothing": lambda: corpus.split(IDS, 1.0),
    "a text shorter than the context": lambda: corpus.batches(
        IDS, batch_size=1, context=6, generator=seeded()
    ),
    "an unknown text": lambda: corpus.load("shakespeare"),
}


@pytest.mark.parametrize("slip", CALLS)
def test_it_raises_a_value_error(slip):
    with pytest.raises(ValueError) as raised:
        CALLS[slip]()
    assert not isinstance(raised.value, np.exceptions.AxisError)  # which is NumPy's, of our slip
