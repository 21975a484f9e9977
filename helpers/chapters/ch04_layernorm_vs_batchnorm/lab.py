"""Train nets and the model of chapter 04 with each norm, over learning rates and seeds.

The parts, five minutes on one core together: ``norms``, each norm at up to three learning rates;
``controls``, layer norm with γ, β held still, beside runs without; ``probes``, what no γ, β would
bring back. A run keeps its losses, all characters at once and one at a time.
"""

from __future__ import annotations

import itertools
from functools import cache, partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers import corpus, minigpt, norms, variants
from helpers.bigram import loss
from helpers.chapters.lab import (
    Part,
    TinyGPT,
    characters,
    rounded,
    seeded,
    trainer,
    validation_loss,
)

RATES = (0.003, 0.01, 0.03)
C, T = 32, 32  # width and window


# --- the first reading: a deep net, and what is averaged ------------------------------------------


def losses_of_nets(x, y, std: float, normed: bool, nets: int = 8) -> Tensor:
    """Losses of nets of ten layers, their weights of one deviation, after 100 steps at rate 0.01.

    Shapes: x (N, 2), y (N,); losses (nets,).
    """
    x, y = torch.tensor(x).float(), torch.tensor(y).float()
    random = torch.Generator().manual_seed(0)
    shapes = [(2, 16)] + [(16, 16)] * 9 + [(16, 1)]
    weights = [torch.randn(nets, *s, generator=random) for s in shapes]
    weights = [(std * weight).requires_grad_() for weight in weights]
    sgd = torch.optim.SGD(weights, lr=0.01)
    for _ in range(100):
        hidden = x
        for weight in weights[:-1]:
            hidden = torch.relu(hidden @ weight)
            if normed:
                hidden = F.layer_norm(hidden, hidden.shape[-1:])
        loss_S = ((hidden @ weights[-1])[..., 0] - y).square().mean(dim=-1)
        sgd.zero_grad()
        loss_S.sum().backward()  # the nets do not touch one another
        sgd.step()
    return loss_S.detach()


def averaged_with(norm: str, x_BTC: Tensor, at: tuple[int, int, int]) -> Tensor:
    """Which numbers of a block count in the mean that a norm takes for the one ``at``."""

    def mean(x_BTC):
        return norms.normalise_over(x_BTC, norms.NORMS[norm]).mean[at]

    return torch.autograd.functional.jacobian(mean, x_BTC) != 0


# --- the model ------------------------------------------------------------------------------


def model_with(norm: str) -> TinyGPT:
    """An untrained GPT of two blocks, with the norm of this name."""
    return TinyGPT(
        lambda: [variants.Block(C, 2, norm=norm) for _ in range(2)],
        C=C,
        T=T,
        norm=variants.NORMS[norm],
    )


# --- what is measured of it -----------------------------------------------------------------


@cache
def some_windows() -> tuple[Tensor, Tensor]:
    """Sixty-four windows of the validation text, and the characters that follow."""
    generator = torch.Generator().manual_seed(0)
    return next(
        corpus.batches(characters().validation, batch_size=64, context=T, generator=generator)
    )


def together(model: TinyGPT) -> float:
    """Loss on 64 windows, all characters of a window at once, as usual."""
    x_BT, y_BT = some_windows()
    with torch.no_grad():
        return loss(model(x_BT), y_BT).item()


def alone(model: TinyGPT) -> float:
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


def lost_by_each(model: TinyGPT) -> list[float]:
    """For each layer norm, from the first to the last: what no γ, β would bring back."""
    met = []
    hooks = [
        part.register_forward_pre_hook(lambda _, x: met.append(x[0].flatten(0, 1)))
        for part in model.modules()
        if isinstance(part, minigpt.LayerNorm)
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
        if not learn and "norm" in name:
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


def one_run(seed: int, *, norm: str, **setting) -> dict:
    """What is kept of one training."""
    run = trained(norm, seed=seed, **setting)
    return {key: rounded(x) if key == "left" else round(x, 4) for key, x in run.items()}


USUAL = {"norm": "layer", "lr": 0.01}
EVERY = [*itertools.product(("layer", "rms", "batch", "none"), RATES)]
measured = partial(Part, chapter=4, run=one_run)
PARTS = {
    part.name: part
    for part in (
        measured(
            name="norms",
            settings=[
                {"norm": norm, "lr": lr}
                for norm, lr in (*EVERY, ("instance", 0.01), ("group", 0.01))
            ],
            seeds=range(5),
        ),
        measured(name="controls", settings=[USUAL, USUAL | {"learn": False}]),
        measured(name="probes", settings=[USUAL | {"probe": True}], seeds=range(5)),
    )
}
