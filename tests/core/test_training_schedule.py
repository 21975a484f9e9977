"""training.schedule: warm-up and decay against values by hand and torch's own schedulers."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.training.schedule import lr_factor


def test_by_hand():
    shares = [lr_factor(k, steps=8, warmup=4) for k in range(9)]
    # Up in quarters to the peak at update 3, then down in fifths to 0 at update 8.
    assert shares == pytest.approx([0.25, 0.5, 0.75, 1, 0.8, 0.6, 0.4, 0.2, 0])
    shares = [lr_factor(k, steps=8, warmup=4, final=0.5) for k in range(9)]
    assert shares == pytest.approx([0.25, 0.5, 0.75, 1, 0.9, 0.8, 0.7, 0.6, 0.5])
    shares = [lr_factor(k, steps=4, decay="cosine", final=0.1) for k in range(5)]
    half, root = 0.45, math.sqrt(0.5)
    wanted = [1, 0.55 + half * root, 0.55, 0.55 - half * root, 0.1]
    assert shares == pytest.approx(wanted)


def torchs(make, steps):
    """The learning rates of a scheduler of torch, from a peak of 1."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler, rates = make(optimizer), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def test_decay_is_torchs():
    schedulers = torch.optim.lr_scheduler

    def cosine(optimizer):
        return schedulers.CosineAnnealingLR(optimizer, T_max=20, eta_min=0.1)

    def linear(optimizer):
        return schedulers.LinearLR(optimizer, 1.0, 0.1, total_iters=20)

    for decay, make in (("cosine", cosine), ("linear", linear)):
        ours = [lr_factor(k, steps=20, final=0.1, decay=decay) for k in range(20)]
        assert ours == pytest.approx(torchs(make, 20)), decay


@given(
    steps=st.integers(1, 50),
    warm=st.floats(0, 1),
    final=st.floats(0, 1),
    decay=st.sampled_from(["linear", "cosine"]),
)
def test_lr_factor_rises_to_1_and_decays_to_final(steps, warm, final, decay):
    warmup = int(warm * steps)
    shares = [
        lr_factor(k, steps=steps, warmup=warmup, final=final, decay=decay) for k in range(steps + 1)
    ]
    peak = max(warmup - 1, 0)
    assert shares[peak] == 1
    assert shares[: peak + 1] == sorted(shares[: peak + 1])
    falling = shares[peak:]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(falling))
    assert shares[-1] == pytest.approx(final, abs=1e-12)
    assert all(s > 0 for s in shares[:-1])  # no update is lost
