"""Train the models of chapter 07: through masks, with heads, and with each way to tell positions.

The parts: ``masks``, what a mask lets a model learn, and what is left of it when the future is
truly absent (eight seeds, two minutes on one core); ``heads``, the loss for 1 to 16 heads of one
total width (eight seeds, four minutes); ``lengths``, the loss at positions within and beyond the
length of training, and where each layer reads the last 32 letters alone (five seeds, eight
minutes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import corpus, interpret, variants
from helpers.bigram import loss
from helpers.chapters.lab import (
    Part,
    TinyGPT,
    characters,
    counted_losses,
    parts_of,
    rounded,
    seeded,
    spread,
    table,
    trainer,
    validation_loss,
)
from helpers.worked import Step, Worked, dot_product, matrix

MASKS = (
    "causal",
    "none at all",
    "one too far",
    "causal, after softmax",
    "only what came before",
)
HEADS = (1, 2, 4, 8, 16)
POSITIONS = ("none", "learned", "sinusoidal", "rope", "alibi")
EARLY = 100  # steps after which a test can compare


# --- masks ----------------------------------------------------------------------------------


def allowed(mask: str, T: int) -> Tensor:
    """Row t: which tokens token t may read, True or False."""
    # tril(k) keeps row t up to position t + k
    if mask == "none at all":
        return torch.ones(T, T, dtype=torch.bool)
    if mask == "one too far":
        return torch.ones(T, T, dtype=torch.bool).tril(1)
    if mask == "only what came before":
        before = torch.ones(T, T, dtype=torch.bool).tril(-1)
        before[0, 0] = True  # softmax over nothing has no answer
        return before
    return torch.ones(T, T, dtype=torch.bool).tril()


def masked_weights(scaled_TT: Tensor, mask: str) -> Tensor:
    """The weights under a mask; one of the five is put on only after softmax."""
    may_TT = allowed(mask, scaled_TT.shape[-1])
    if mask == "causal, after softmax":
        return torch.softmax(scaled_TT, dim=-1) * may_TT
    return torch.softmax(scaled_TT.masked_fill(~may_TT, float("-inf")), dim=-1)


class Head(nn.Module):
    """One head of attention under a mask."""

    def __init__(self, mask, C):
        super().__init__()
        self.mask, self.qkv = mask, nn.Linear(C, 3 * C, bias=False)

    def forward(self, x_BTC):
        """Each token's average of the values that it may read."""
        q, k, v = self.qkv(x_BTC).chunk(3, dim=-1)
        scaled_BTT = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        return masked_weights(scaled_BTT, self.mask) @ v


def one_head(mask: str, *, seed: int, C=64) -> TinyGPT:
    """An untrained model of attention alone."""
    with seeded(seed):
        return TinyGPT(lambda: [Head(mask, C)], C=C)


def trained_with_mask(mask: str, *, seed: int) -> TinyGPT:
    """Train a model with this mask."""
    model = one_head(mask, seed=seed)
    trainer(model, seed)(steps=500)
    return model


@torch.no_grad()
def shown_and_honest(model: TinyGPT, windows: int = 256) -> tuple[float, float]:
    """The loss on whole windows, and letter by letter, with what comes after cut off."""
    every_window = list(corpus.windows(characters().validation, 32))[:-1]
    x, y = (torch.cat(part)[:windows] for part in zip(*every_window, strict=True))
    honest = [
        F.cross_entropy(model(x[:, : t + 1])[:, t], y[:, t]).item() for t in range(x.shape[1])
    ]
    return loss(model(x), y).item(), sum(honest) / len(honest)


# --- heads and positions --------------------------------------------------------------------


def in_training(
    positions: str, *, seed: int, context=32, heads=4, layers=2, scale=0.02
) -> tuple[variants.GPT, Callable]:
    """A small GPT as it starts, and what trains it further.

    A step is 512 letters in windows of `context`, with Adam. A learned table gets 128 rows.
    Sinusoids are multiplied by `scale`; at 0.02 they are as small as the embeddings start.
    """
    V = len(characters().tokenizer.vocab)
    with seeded(seed):
        model = variants.GPT(V, T=128, C=64, H=heads, L=layers, positions=positions)
    if positions == "sinusoidal":
        model.position.weight *= scale
    return model, trainer(model, seed, batch_size=512 // context, context=context)


@torch.no_grad()
def by_position(model: Callable, letters_read: int = 16_000) -> Tensor:
    """Mean loss at positions 0 … 127 of windows that start 32 letters apart.

    The same letters are predicted in each of the four stretches of 32; only what stands before
    gets longer.
    """
    ids = characters().validation[:letters_read]
    at = torch.arange(0, len(ids) - 128, 32)[:, None] + torch.arange(128)
    losses_NT = torch.cat(
        [
            F.cross_entropy(model(ids[some]).mT, ids[some + 1], reduction="none")
            for some in at.split(64)
        ]
    )
    N = len(losses_NT)
    stretches = (losses_NT[3 - b : N - b, 32 * b : 32 * b + 32].mean(dim=0) for b in range(4))
    return torch.cat(list(stretches))


def by_stretch(losses_T: Tensor) -> list[float]:
    """The mean in each of the four stretches."""
    return rounded((part.mean() for part in losses_T.split(32)), 3)


@contextmanager
def near_only(model: nn.Module, reach: int = 32) -> Iterator[None]:
    """For a while each layer of this model reads 32 letters back: no new distance."""

    def near(_, weights):
        near_BHTT = weights[0].triu(1 - reach)
        return near_BHTT / near_BHTT.sum(dim=-1, keepdim=True)

    dropouts = [block.attention.dropout for block in model.blocks]
    with interpret.hooked(*(dropout.register_forward_pre_hook(near) for dropout in dropouts)):
        yield


# --- the parts ------------------------------------------------------------------------------


def of_mask(seed: int, *, mask: str) -> dict:
    """Loss on whole windows, and with the future truly absent."""
    shown, honest = rounded(shown_and_honest(trained_with_mask(mask, seed=seed)))
    return {"shown": shown, "honest": honest}


def of_heads(seed: int, *, heads: int) -> dict:
    """Validation loss of a model of one layer, early and at the end."""
    model, go_on = in_training("learned", seed=seed, heads=heads, layers=1)
    run = {}
    for name, steps in (("early", EARLY), ("validation", 1000 - EARLY)):
        go_on(steps=steps)
        run[name] = round(validation_loss(model), 4)
    return run


def both_ways(model: nn.Module, letters_read: int = 16_000) -> tuple[Tensor, Tensor]:
    """The loss at each position, (128,): of the model, and of one that reads only near by."""
    with near_only(model):
        near_T = by_position(model, letters_read)
    return by_position(model, letters_read), near_T


def of_lengths(seed: int, **setting) -> dict:
    """Losses early, in each stretch, and at the end, at each position; the same near by."""
    model, go_on = in_training(seed=seed, **setting)
    go_on(steps=EARLY)
    early, early_near = map(by_stretch, both_ways(model, 4000))
    go_on(steps=1000 - EARLY)
    losses_T, near_T = both_ways(model)
    return {
        "positions 112 to 127": round(losses_T[112:].mean().item(), 4),
        "near": round(near_T[112:].mean().item(), 4),
        "early": early,
        "early near": early_near,
        "losses": rounded(losses_T, 3),
    }


LENGTHS = [
    *({"positions": way, "context": 32} for way in POSITIONS),
    {"positions": "sinusoidal", "context": 32, "scale": 0.1},
    {"positions": "rope", "context": 128},
]
PARTS = parts_of(
    7,
    {
        "masks": Part(
            run=of_mask, settings=[{"mask": mask} for mask in MASKS], more={"steps": 500}
        ),
        "heads": Part(
            run=of_heads, settings=[{"heads": heads} for heads in HEADS], more={"steps": 1000}
        ),
        "lengths": Part(run=of_lengths, settings=LENGTHS, seeds=range(5), more={"steps": 1000}),
    },
)


# --- what is stored -------------------------------------------------------------------------

SAID = {"none": "no positions", "rope": "RoPE", "alibi": "ALiBi"}


def at_positions(positions: str, *, context=32, **more) -> np.ndarray:
    """The loss at each position of a window of 128, one row per seed."""
    return PARTS["lengths"].final("losses", positions=positions, context=context, **more)


def home(losses_ST: np.ndarray) -> np.ndarray:
    """The mean loss in the second half of the first stretch: no letter is short of a past."""
    return losses_ST[:, 16:32].mean(axis=1)


def far(losses_ST: np.ndarray) -> np.ndarray:
    """The mean loss of the same letters where they stand in the last stretch."""
    return losses_ST[:, 112:].mean(axis=1)


def bigram_loss() -> float:
    """The validation loss of a table of bigrams."""
    return counted_losses()["bigram"]


def masks_table(reads: Mapping[str, np.ndarray]) -> str:
    """How many later words each mask lets be read, as `reads` (T, T) found, and the two losses."""
    rows = [
        (
            mask,
            np.triu(reads[mask], 1).sum(),
            *(spread(PARTS["masks"].final(kind, mask=mask)) for kind in ("shown", "honest")),
        )
        for mask in MASKS
    ]
    return table("mask | later words read | loss on whole windows | future cut off", rows)


def lengths() -> dict[str, np.ndarray]:
    """The loss at each position, one row per seed, for each way to tell positions."""
    return {
        **{SAID.get(way, way): at_positions(way) for way in POSITIONS},
        "sinusoidal, five times as large": at_positions("sinusoidal", scale=0.1),
        "RoPE, trained on 128": at_positions("rope", context=128),
    }


# --- positions without training -------------------------------------------------------------


def turned_by_hand(name: str, vector: list[float], degrees: int) -> Step:
    """A vector of two numbers, turned by an angle."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    result = np.array([[cos, -sin], [sin, cos]]) @ vector
    working = rf"\text{{turn }} {matrix(vector)} \text{{ by }} {degrees}° = {matrix(result)}"
    return Step(name, working, result)


def rope_by_hand() -> Worked:
    """The query (1, 0) at position 5 and the key (1, 0) at 3 and 4, at 30° per position."""
    one = [1.0, 0.0]
    q5, k3, k4 = (
        turned_by_hand(name, one, 30 * position)
        for name, position in (("q_5", 5), ("k_3", 3), ("k_4", 4))
    )
    two_back = dot_product(r"q_5 \cdot k_3", q5.value, k3.value)
    one_back = dot_product(r"q_5 \cdot k_4", q5.value, k4.value)
    return Worked(
        "A key two positions back, and one position back", (q5, k3, two_back, k4, one_back)
    )
