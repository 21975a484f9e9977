"""It raises where a learner is likely to slip, or the number would be wrong in silence."""

import math

import numpy as np
import pytest
import torch
from tiny import seeded

from helpers import bigram, corpus, embeddings, numerics, similarity, tokenizers
from helpers.attention import SelfAttention, attention_steps, causal_mask
from helpers.blocks import AddNorm, Block
from helpers.gpt import GPT, GPTConfig
from helpers.norms import BatchNorm, GroupNorm, InstanceNorm, masked_statistics, normalise
from helpers.positions import Rotary, sinusoidal
from helpers.to_hf import to_hf
from helpers.training import TrainingConfig

IDS, ROWS, X = torch.arange(6), torch.eye(3), torch.ones(2, 3, 4)
CLOSED = torch.tensor([[True, False], [False, False]])
MODEL = GPT(GPTConfig(vocab_size=5, context=4, layers=1, heads=1, width=4), generator=seeded())
CALLS = {
    "a query without a key": lambda: attention_steps(*torch.ones(3, 2, 4), mask=CLOSED),
    "a query biased away from every key": lambda: attention_steps(
        *torch.ones(3, 2, 4), attn_bias=torch.where(CLOSED, 0.0, -math.inf)
    ),
    "a mask and a bias that leave no key together": lambda: attention_steps(
        *torch.ones(3, 2, 4), mask=~CLOSED, attn_bias=torch.where(~CLOSED, -math.inf, 0.0)
    ),
    "more queries than tokens": lambda: causal_mask(3, 4),
    "width not divisible by heads": lambda: SelfAttention(8, 3),
    "width of a model not divisible by heads": lambda: GPTConfig(vocab_size=5, width=8, heads=3),
    "rotary pairs of an odd head": lambda: Rotary(3),
    "rotary pairs in a model": lambda: GPTConfig(vocab_size=5, width=6, heads=2, positions="rope"),
    "sines and cosines of an odd width": lambda: sinusoidal(4, 3),
    "groups that do not divide the width": lambda: GroupNorm(6, 4),
    "no axes to average over": lambda: normalise(X, ()),
    "a batch of one token": lambda: BatchNorm(4)(torch.ones(1, 1, 4)),
    "a sequence of one token": lambda: InstanceNorm(4)(torch.ones(1, 1, 4)),
    "only padding": lambda: masked_statistics(X, torch.zeros(2, 3, dtype=torch.bool)),
    "an unknown norm": lambda: Block(8, norm="layernorm"),
    "an unknown placement": lambda: AddNorm(Block(8), Block(8), placement="middle"),
    "an unknown choice of a model": lambda: GPTConfig(vocab_size=5, positions="rotary"),
    "no layers": lambda: GPTConfig(vocab_size=5, layers=0),
    "a model that GPT-2 cannot be": lambda: to_hf(
        GPT(GPTConfig(vocab_size=5, positions="rope"), generator=seeded()), "never-written"
    ),
    "an id outside the vocabulary": lambda: MODEL(torch.tensor([[5]])),
    "a negative id": lambda: MODEL(torch.tensor([[-1]])),
    "a text longer than the context": lambda: MODEL(torch.zeros(1, 5).long()),
    "a temperature below 0": lambda: MODEL.generate(
        IDS[None, :3], 2, generator=seeded(), temperature=-0.1
    ),
    "top-k of 0": lambda: MODEL.generate(IDS[None, :3], 2, generator=seeded(), top_k=0),
    "top-p as a percentage": lambda: MODEL.generate(IDS[None, :3], 2, generator=seeded(), top_p=90),
    "an id to count outside the vocabulary": lambda: bigram.count_bigrams(IDS, 5),
    "negative counts": lambda: bigram.smoothed(-np.ones((2, 2))),
    "counts of nothing": lambda: bigram.conditional_entropy(np.zeros((2, 2))),
    "negative smoothing": lambda: bigram.smoothed(np.ones((2, 2)), -1.0),
    "rows that do not sum to 1": lambda: bigram.cross_entropy_of(np.ones((2, 2)), np.eye(2)),
    "a target outside the vocabulary": lambda: bigram.loss(X, torch.full((2, 3), -1)),
    "bits that int8 cannot hold": lambda: embeddings.quantised(ROWS, 9),
    "an embedding of nan": lambda: embeddings.quantised(ROWS * math.nan, 8),
    "an unknown measure": lambda: similarity.similarities(ROWS[0], ROWS, measure="euclidean"),
    "a neighbour of nan": lambda: similarity.nearest(ROWS * math.nan, measure="dot"),
    "a rank of nan": lambda: similarity.rank_correlation(ROWS[0], ROWS[1] * math.nan),
    "rows that do not vary": lambda: similarity.whiten(torch.ones(4, 3)),
    "scores that are all masked": lambda: numerics.softmax(np.full(3, -np.inf)),
    "probabilities that do not sum to 1": lambda: numerics.entropy(np.ones(3)),
    "a negative target": lambda: numerics.cross_entropy(np.ones((1, 3)), np.array([-1])),
    "a variance of one number by n - 1": lambda: numerics.variance(np.ones(1), 0, ddof=1),
    "an unknown character": lambda: tokenizers.CharTokenizer("ab").encode("c"),
    "an unknown id": lambda: tokenizers.CharTokenizer("ab").decode([-1]),
    "a split that leaves nothing": lambda: corpus.split(IDS, 1.0),
    "a text shorter than the context": lambda: corpus.batches(
        IDS, batch_size=1, context=6, generator=seeded()
    ),
    "an unknown text": lambda: corpus.load("shakespeare"),
    "no steps": lambda: TrainingConfig(steps=0),
    "a negative learning rate": lambda: TrainingConfig(steps=1, lr=-0.1),
    "more warm-up than steps": lambda: TrainingConfig(steps=1, warmup=2),
    "an unknown optimiser": lambda: TrainingConfig(steps=1, optimizer="adam"),
    "a batch that cannot be cut": lambda: TrainingConfig(steps=1, batch_size=3, accumulate=2),
}


@pytest.mark.parametrize("slip", CALLS)
def test_it_raises_a_value_error(slip):
    with pytest.raises(ValueError) as raised:
        CALLS[slip]()
    assert not isinstance(raised.value, np.exceptions.AxisError)  # which is NumPy's, of our slip
