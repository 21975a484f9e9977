"""Train the model of chapter 04 with each norm, over learning rates and seeds.

The parts, five minutes on one core together: ``norms``, each norm at up to three learning rates;
``controls``, layer norm with γ, β held still, beside runs without; ``probes``, what no γ, β would
bring back. A run keeps its losses, all characters at once and one at a time.
"""

from __future__ import annotations

import itertools
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor

from helpers import corpus, norms
from helpers.bigram import loss
from helpers.blocks import NORMS, Block
from helpers.chapters import stored
from helpers.chapters.lab import (
    TinyLM,
    characters,
    measured,
    over_seeds,
    rounded,
    runs,
    seeded,
    trainer,
    validation_loss,
)

SEEDS = {"norms": range(5), "controls": range(8), "probes": range(5)}
RATES = (0.003, 0.01, 0.03)
C, T = 32, 32  # width and window

# norms, learning rates, and what else is set
GRIDS: dict[str, tuple] = {
    "norms": (
        (("layer", "rms", "batch", "none"), RATES, {}),
        (("instance", "group"), (0.01,), {}),
    ),
    "controls": (
        (("layer",), (0.01,), {}),
        (("layer",), (0.01,), {"learn": False}),
    ),
    "probes": ((("layer",), (0.01,), {"probe": True}),),
}


# --- the model ------------------------------------------------------------------------------


def model_with(norm: str) -> TinyLM:
    """Characters and positions, two blocks with the norm of this name, output weights."""
    return TinyLM(lambda: (Block(C, 2, norm=norm) for _ in range(2)), C=C, T=T, norm=NORMS[norm])


# --- what is measured of it -----------------------------------------------------------------


@cache
def some_windows() -> tuple[Tensor, Tensor]:
    """Sixty-four windows of the validation text, and the characters that follow."""
    generator = torch.Generator().manual_seed(0)
    return next(
        corpus.batches(characters().validation, batch_size=64, context=T, generator=generator)
    )


def together(model: TinyLM) -> float:
    """Loss on 64 windows, all characters of a window at once, as usual."""
    x_BT, y_BT = some_windows()
    with torch.no_grad():
        return loss(model(x_BT), y_BT).item()


def alone(model: TinyLM) -> float:
    """The same characters, each from a window that ends before it."""
    x_BT, y_BT = some_windows()
    with torch.no_grad():
        losses = [loss(model(x_BT[:, : t + 1])[:, -1:], y_BT[:, t : t + 1]) for t in range(T)]
    return torch.stack(losses).mean().item()


def left_after_undoing(normed_NC: np.ndarray, x_NC: np.ndarray) -> float:
    """Fraction of x's variance that no γ, β per feature brings back."""
    left = 0.0
    for y_N, x_N in zip(normed_NC.T, x_NC.T, strict=True):
        columns = np.stack([y_N, np.ones_like(y_N)], axis=1)
        gamma_beta = np.linalg.lstsq(columns, x_N, rcond=None)[0]
        left += np.sum((columns @ gamma_beta - x_N) ** 2)
    return float(left / np.sum((x_NC - x_NC.mean(axis=0)) ** 2))


def lost_by_each(model: TinyLM) -> list[float]:
    """For each layer norm, from the first to the last: what no γ, β would bring back."""
    met = []
    hooks = [
        part.register_forward_pre_hook(lambda _, x: met.append(x[0].flatten(0, 1)))
        for part in model.modules()
        if isinstance(part, norms.LayerNorm)
    ]
    together(model)
    for hook in hooks:
        hook.remove()
    return [left_after_undoing(norms.normalise(x, (-1,)).output.numpy(), x.numpy()) for x in met]


def trained(norm: str, *, seed, lr, learn=True, probe=False) -> dict:
    """Train one model; its losses, and what else is asked for."""
    with seeded(seed):
        model = model_with(norm)
    for name, parameter in model.named_parameters():
        if not learn and name.endswith(("norm.weight", "norm.bias")):
            parameter.requires_grad_(False)
    trainer(model, seed, lr=lr)(steps=300)
    model.eval()
    run = {
        "validation": validation_loss(model),
        "together": together(model),
        "alone": alone(model),
    }
    return run | ({"left": lost_by_each(model)} if probe else {})


# --- the parts ------------------------------------------------------------------------------


def settings(part: str) -> list[dict]:
    """Each combination of a part that is trained."""
    return [
        {"norm": norm, "lr": lr, **more}
        for kinds, rates, more in GRIDS[part]
        for norm, lr in itertools.product(kinds, rates)
    ]


def one_run(seed: int, *, norm: str, **setting) -> dict:
    """What is kept of one training."""
    run = trained(norm, seed=seed, **setting)
    return {key: rounded(x) if key == "left" else round(x, 4) for key, x in run.items()}


def measure(part: str) -> dict:
    """Train everything in a part."""
    return measured(one_run, settings(part), SEEDS[part])


PARTS = {part: partial(measure, part) for part in GRIDS}


# --- what is stored -------------------------------------------------------------------------


def over_runs(key: str, part: str = "norms", lr: float = 0.01, **setting) -> np.ndarray:
    """What the stored runs of one setting hold under a key, a seed each."""
    return over_seeds(runs(stored(4)[part], lr=lr, **setting), key)
