"""Train the model of chapter 04 with each norm, over learning rates and seeds.

The parts, twenty minutes on one core together: ``norms``, each norm at three learning rates;
``pairs``, layer and RMS norm with ten more seeds; ``controls``, layer norm with γ, β held
still, beside runs without; ``probes``, what no γ, β would bring back; ``drift``, how
far features move in training; ``longer``, five times as many steps. A run keeps its losses, all
letters at once and one at a time. What the chapter's laboratory reads of them stands at the end.
"""

from __future__ import annotations

import copy
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
    load_weights,
    measured,
    measured_side_by_side,
    over_seeds,
    rounded,
    runs,
    seeded,
    spread,
    table,
    train_side_by_side,
    trainer,
    validation_loss,
)
from helpers.training import evaluate

SEEDS = {
    "norms": range(5),
    "pairs": range(5, 15),
    "controls": range(8),
    "probes": range(5),
    "drift": range(8),
    "longer": range(8),
}
RATES = (0.003, 0.01, 0.03)
LONGER = {"layer": (0.003, 0.01), "none": (0.003, 0.005, 0.0065, 0.01)}  # rates of longer runs
C, T = 32, 32  # width and window

# norms, learning rates, and what else is set
GRIDS: dict[str, tuple] = {
    "norms": (
        (("layer", "rms", "batch", "none"), RATES, {}),
        (("instance", "group"), (0.01,), {}),
    ),
    "pairs": ((("layer", "rms"), (0.01,), {}),),
    "controls": (
        (("layer",), (0.01,), {}),
        (("layer",), (0.01,), {"learn": False}),
    ),
    "probes": ((("layer",), (0.01,), {"probe": True}),),
    "drift": ((("layer", "batch", "none"), RATES, {"drift_in_training": True}),),
    "longer": ((("layer",), LONGER["layer"], {}), (("none",), LONGER["none"], {})),
}
LOOKS = (300, 600, 1000, 1500)  # steps of the longer runs at which they are looked at


# --- the model ------------------------------------------------------------------------------


def model_with(norm: str) -> TinyLM:
    """Characters and positions, two blocks with the norm of this name, output weights."""
    return TinyLM(lambda: (Block(C, 2, norm=norm) for _ in range(2)), C=C, T=T, norm=NORMS[norm])


# --- what is measured of it -----------------------------------------------------------------


@cache
def some_windows() -> tuple[Tensor, Tensor]:
    """Sixty-four windows of the validation text, and the letters that follow."""
    generator = torch.Generator().manual_seed(0)
    return next(
        corpus.batches(characters().validation, batch_size=64, context=T, generator=generator)
    )


def together(model: TinyLM) -> float:
    """Loss on 64 windows, all letters of a window at once, as usual."""
    x_BT, y_BT = some_windows()
    with torch.no_grad():
        return loss(model(x_BT), y_BT).item()


def alone(model: TinyLM) -> float:
    """The same letters, each from a window that ends before it."""
    x_BT, y_BT = some_windows()
    with torch.no_grad():
        losses = [loss(model(x_BT[:, : t + 1])[:, -1:], y_BT[:, t : t + 1]) for t in range(T)]
    return torch.stack(losses).mean().item()


def feature(model: TinyLM) -> tuple[Tensor, Tensor]:
    """Mean and deviation of what the second block's attention reads, in train mode."""
    met, looked_at = [], copy.deepcopy(model).train()  # so that no memory moves
    reader = looked_at.layers[1].attention.sublayer
    reader.register_forward_pre_hook(lambda _, x: met.append(x[0].flatten(0, 1)))
    together(looked_at)
    return met[0].mean(dim=0), met[0].std(dim=0)


def drift(seen: list[tuple[Tensor, Tensor]]) -> float:
    """How far a feature's mean moves between looks, in its deviations."""
    moves = [((m2 - m1).abs() / s1).mean() for (m1, s1), (m2, _) in itertools.pairwise(seen)]
    return torch.stack(moves).mean().item()


def left_after_undoing(normed_NC: np.ndarray, x_NC: np.ndarray) -> float:
    """Share of x's variance that no γ, β per feature brings back."""
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


def trained(norm: str, *, seed, lr, learn=True, probe=False, drift_in_training=False) -> dict:
    """Train one model; its losses, and what else is asked for."""
    with seeded(seed):
        model = model_with(norm)
    for name, parameter in model.named_parameters():
        if not learn and name.endswith(("norm.weight", "norm.bias")):
            parameter.requires_grad_(False)
    seen = []

    def look(record):
        if drift_in_training and record.step % 50 == 0:
            seen.append(feature(model))

    trainer(model, seed, lr=lr)(steps=300, on_step=look)
    model.eval()
    run = {
        "validation": validation_loss(model),
        "together": together(model),
        "alone": alone(model),
    }
    run |= {"drift": drift(seen[1:])} if drift_in_training else {}
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


def longer(seeds, norm: str, lr: float) -> list[dict]:
    """Validation losses on the way through a longer training, eight windows a step."""
    models = []
    for seed in seeds:
        with seeded(seed):
            models.append(model_with(norm))
    windows = list(corpus.windows(characters().validation, T))

    def look(weights, one_loss):
        return [evaluate(model, loss, windows) for model in load_weights(models, weights)]

    steps = LOOKS[-1]
    run = train_side_by_side(models, seeds, lr=lr, steps=steps, looks=LOOKS, look=look)
    return [{"validation": rounded(way)} for way in zip(*run["looks"].values(), strict=True)]


def measure(part: str) -> dict:
    """Train everything in a part."""
    if part == "longer":
        return measured_side_by_side(longer, settings(part), SEEDS[part], steps=LOOKS)
    return measured(one_run, settings(part), SEEDS[part])


PARTS = {part: partial(measure, part) for part in GRIDS}


# --- what is stored -------------------------------------------------------------------------


def stored_runs(part: str = "norms", lr: float = 0.01, **setting) -> list[dict]:
    """The stored runs of one setting, a run a seed."""
    return runs(stored(4)[part], lr=lr, **setting)


def over_runs(key: str, **setting) -> np.ndarray:
    """What the runs of one setting hold under a key, a seed each."""
    return over_seeds(stored_runs(**setting), key)


# --- what the laboratory reads of it --------------------------------------------------------


def by_rate(norm: str, key: str = "validation", part: str = "norms") -> np.ndarray:
    """What the runs with a norm hold under a key (rates, seeds)."""
    return np.array([over_runs(key, part=part, norm=norm, lr=lr) for lr in RATES])


def over_steps(norm: str, lr: float) -> np.ndarray:
    """Validation losses of the longer runs (seeds, looks)."""
    return np.array([run["validation"] for run in stored_runs("longer", norm=norm, lr=lr)])


def ahead() -> np.ndarray:
    """By how much layer norm leads in the longer runs, best rates at each look (seeds, looks)."""

    def best(norm: str) -> np.ndarray:
        by_rate = np.array([over_steps(norm, lr) for lr in LONGER[norm]])  # (rates, seeds, looks)
        rates = by_rate.mean(axis=1).argmin(axis=0)
        return np.stack([by_rate[rate, :, look] for look, rate in enumerate(rates)], axis=1)

    return best("none") - best("layer")


def longer_table() -> str:
    """The losses of the longer runs on the way."""
    rows = [
        [f"{norm}, rate {lr:g}", *(spread(losses, 3) for losses in over_steps(norm, lr).T)]
        for norm, rates in LONGER.items()
        for lr in rates
    ]
    rows.append(["none − layer, best rates", *(spread(gap, 3, signed=True) for gap in ahead().T)])
    return table("loss after | " + " | ".join(f"{steps} steps" for steps in LOOKS), rows)
