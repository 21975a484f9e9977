"""Readers of the tales with the norm before or after each sub-layer, untrained and trained.

The parts: ``start``, stream and gradients before training (a minute on one core); ``longer``, 300
steps of 16 blocks with a look inside (six minutes); ``grid``, 100 steps over depth, learning rate
and warm-up (eleven minutes); ``others`` and ``rescue``, other starts and placements, without and
with warm-up (three minutes and one); ``deep``, 32 and 64 blocks at one rate (eight minutes). A run
keeps its validation loss, its training losses as means over ``BLOCK`` steps, and the stream at the
end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from helpers import corpus, initialise
from helpers.bigram import loss
from helpers.blocks import Block
from helpers.chapters import common, stored
from helpers.chapters.common import (
    differing,
    letters,
    measured,
    measured_together,
    over_seeds,
    rounded,
    significant,
    size,
    stored_losses,
    trained_together,
)
from helpers.norms import LayerNorm

SEEDS = range(5)
PLACES = ("post", "pre", "pre, no last norm", "post, small writes")
STARTS = ("Xavier", "torch", "0.02")
DEPTHS = (2, 4, 8, 16, 32, 64)
RATES = (0.0003, 0.001, 0.003, 0.01)
WARM_UPS = (0, 50)
LOOKS = (0, 10, 30, 100, 300)
BLOCK = 10  # losses are stored as means over so many steps


# --- the reader -----------------------------------------------------------------------------


def placement(place: str) -> tuple[str, bool, bool]:
    """Order in the blocks, whether there is a last norm, and small writes at the start."""
    return {
        "post": ("post", False, False),
        "pre": ("pre", True, False),
        "pre, no last norm": ("pre", False, False),
        "post, small writes": ("post", False, True),
    }[place]


class Reader(nn.Module):
    """Letters and positions, L blocks in either order, output table."""

    def __init__(self, V, L, place, *, C=32, T=32, heads=2):
        super().__init__()
        order, last_norm, _ = placement(place)
        self.token, self.place = nn.Embedding(V, C), nn.Embedding(T, C)
        self.blocks = nn.ModuleList(
            Block(C, heads, placement=order, activation="relu") for _ in range(L)
        )
        self.norm = LayerNorm(C) if last_norm else nn.Identity()
        self.output = nn.Linear(C, V)

    def stream(self, ids_BT):
        """The stream before block 1 and after each: L + 1 tensors."""
        places_TC = self.place.weight[: ids_BT.shape[1]]
        levels = [self.token(ids_BT) + places_TC]
        for block in self.blocks:
            levels.append(block(levels[-1]))
        return levels

    def forward(self, ids_BT):
        """The logits of the next letter."""
        return self.output(self.norm(self.stream(ids_BT)[-1]))


def started(L: int, place: str, *, start="Xavier", seed=0) -> Reader:
    """An untrained reader; small writes: maps times 1/√(2L)."""
    reader = Reader(len(letters().tokenizer), L, place)
    schemes = {"Xavier": initialise.XAVIER, "torch": initialise.TORCH, "0.02": initialise.GPT2}
    _, _, small_writes = placement(place)
    initialise.initialise(
        reader,
        schemes[start],
        torch.Generator().manual_seed(seed),
        embedding=0.5**0.5,  # two tables: their sum has size 1
        residual=(2 * L) ** -0.5 if small_writes else 1.0,
    )
    return reader


# --- before training ------------------------------------------------------------------------


def one_batch(seed: int) -> tuple[Tensor, Tensor]:
    """Eight stretches of 32 letters, and the letter after each."""
    generator = torch.Generator().manual_seed(1000 + seed)
    return next(corpus.batches(letters().train, batch_size=8, context=32, generator=generator))


def length(tensors: Iterable[Tensor]) -> float:
    """Length of all numbers together, taken as one long vector."""
    return torch.cat([t.flatten() for t in tensors]).norm().item()


def at_the_start(L: int, place: str, *, start="Xavier", seed=0) -> dict:
    """Stream and gradients of an untrained reader, level by level."""
    reader = started(L, place, start=start, seed=seed)
    ids_BT, targets_BT = one_batch(seed)
    levels = reader.stream(ids_BT)
    logits_BTV = reader.output(reader.norm(levels[-1]))
    loss(logits_BTV, targets_BT).backward()
    last_map = reader.blocks[-1].feed_forward.sublayer.down.weight
    return {
        "sizes": [size(x_BTC) for x_BTC in levels],
        "differing": [differing(x_BTC) for x_BTC in levels],
        "gradients": [
            length([w.grad for w in block.parameters() if w.ndim == 2 and w.grad is not None])
            for block in reader.blocks
        ],
        "last map": last_map.grad.norm().item(),
    }


# --- training -------------------------------------------------------------------------------


def trained(
    L: int, place: str, *, lr: float, warm_up=0, start="Xavier", steps=100, seeds=SEEDS, looks=()
) -> dict:
    """Train seeds side by side with Adam: losses, and what they became."""
    models = [started(L, place, start=start, seed=seed) for seed in seeds]
    run = trained_together(
        models,
        seeds,
        lr=lr,
        steps=steps,
        warm_up=warm_up,
        looks=looks,
        look=lambda weights, _: [looked_at(reader) for reader in readers(models, weights)],
    )
    return run | {"readers": readers(models, run["weights"])}


def readers(models: list[Reader], weights: dict[str, Tensor]) -> list[Reader]:
    """Put each seed's weights into its model."""
    for at, model in enumerate(models):
        model.load_state_dict({name: w[at] for name, w in weights.items()})
    return models


@cache
def some_windows() -> list[tuple[Tensor, Tensor]]:
    """A part of the validation text, in windows of 32 letters."""
    return list(corpus.windows(letters().validation, 32, batch_size=66))[:4]


@torch.no_grad()
def looked_at(reader: Reader) -> dict:
    """Size of the stream, and what differs between tokens, by level."""
    levels = reader.stream(some_windows()[0][0])
    return {"sizes": list(map(size, levels)), "differing": list(map(differing, levels))}


@torch.no_grad()
def on_validation(reader: Reader) -> float:
    """Mean loss on some of the validation text."""
    return sum(loss(reader(x), y).item() for x, y in some_windows()) / len(some_windows())


def without_each(reader: Reader) -> list[float]:
    """Validation loss with one block taken out, for each block."""
    blocks = list(reader.blocks)
    found = []
    for at in range(len(blocks)):
        reader.blocks = nn.ModuleList(blocks[:at] + blocks[at + 1 :])
        found.append(on_validation(reader))
    reader.blocks = nn.ModuleList(blocks)
    return found


# --- the parts ------------------------------------------------------------------------------

OTHERS = (
    ("post", "torch"),
    ("pre", "torch"),
    ("post, small writes", "Xavier"),
    ("pre, no last norm", "Xavier"),
)
LONGER = (
    ("post", "Xavier", 0.001, 0),
    ("post", "Xavier", 0.001, 100),
    ("post", "Xavier", 0.0003, 0),
    ("post", "torch", 0.001, 0),
    ("post, small writes", "Xavier", 0.001, 0),
    ("pre", "Xavier", 0.001, 0),
)


def settings(part: str) -> list[dict]:
    """What is measured in a part."""
    keys: tuple[str, ...]
    rows: Iterable[tuple]
    if part == "start":
        keys, rows = ("place", "start", "L"), itertools.product(PLACES, STARTS, DEPTHS)
    elif part == "longer":
        keys = ("place", "start", "lr", "warm_up", "L", "steps")
        rows = ((*setting, 16, max(LOOKS)) for setting in LONGER)
    elif part == "grid":
        keys = ("place", "L", "lr", "warm_up")
        rows = itertools.product(PLACES[:2], DEPTHS[:4], RATES, WARM_UPS)
    elif part == "deep":
        keys = ("place", "start", "L", "lr", "warm_up")
        depths = itertools.product(("post", "pre", "post, small writes"), DEPTHS[4:])
        rows = [(place, "Xavier", L, RATES[1], 0) for place, L in depths]
        rows = [*rows, ("post, small writes", "Xavier", DEPTHS[5], RATES[1], WARM_UPS[1])]
    elif part == "rescue":
        keys = ("place", "start", "L", "lr", "warm_up")
        rows = (
            (*other, 16, RATES[2], WARM_UPS[1]) for other in OTHERS if other[0].startswith("post")
        )
    elif part == "others":
        keys = ("place", "start", "L", "lr")
        rows = ((*other, 16, lr) for other in OTHERS for lr in RATES[1:3])
    else:
        raise ValueError(f"part={part!r} must be one of {', '.join(PARTS)}")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def one_start(seed: int, **setting) -> dict:
    """Stream and gradients before training."""
    found = at_the_start(seed=seed, **setting)
    (last_map,) = significant([found.pop("last map")])
    return {"last map": last_map} | {key: significant(values) for key, values in found.items()}


def all_seeds(seeds: list[int], looks=(), **setting) -> list[dict]:
    """What is kept of the trainings of one setting; ``validation`` is None where one diverged."""
    found, runs = trained(seeds=seeds, looks=looks, **setting), []
    for at, reader in enumerate(found["readers"]):
        finite = bool(found["losses"][at].isfinite().all())
        kept = stored_losses(found["losses"][at], BLOCK)
        end = looked_at(reader)
        run = {
            "first": kept["first"],
            "validation": round(on_validation(reader), 4) if finite else None,
            "losses": kept["losses"],
            "size": significant(end["sizes"])[-1] if finite else None,
            "differing": significant(end["differing"])[-1] if finite else None,
        }
        if looks:
            run["looks"] = {
                str(step): {key: significant(values) for key, values in seen[at].items()}
                for step, seen in found["looks"].items()
            }
            run["without"] = rounded(without_each(reader))
        runs.append(run)
    return runs


def measure(part: str) -> dict:
    """Measure everything in a part."""
    if part == "start":
        return measured(one_start, settings(part), SEEDS, block=BLOCK)
    run = partial(all_seeds, looks=LOOKS) if part == "longer" else all_seeds
    return measured_together(run, settings(part), SEEDS, block=BLOCK)


PARTS = {
    part: partial(measure, part) for part in ("start", "longer", "grid", "others", "rescue", "deep")
}


# --- what is stored -------------------------------------------------------------------------


def runs(part: str, **wanted) -> list[dict]:
    """The five stored runs of one setting of a part."""
    return common.runs(stored(9)[part], **wanted)


def before_training(place: str, L: int, start="Xavier") -> list[dict]:
    """What is stored of untrained readers, a run a seed."""
    return runs("start", place=place, start=start, L=L)


def top(key: str, place: str, L: int, start="Xavier") -> np.ndarray:
    """One number a seed: what was measured after the last block."""
    return np.array([run[key][-1] for run in before_training(place, L, start)])


def first_to_last(place: str, L: int, start="Xavier") -> np.ndarray:
    """First block's gradient over the last block's, one a seed."""
    found = before_training(place, L, start)
    return np.array([run["gradients"][0] / run["gradients"][-1] for run in found])


def final(part: str, **wanted) -> np.ndarray:
    """Validation losses at the end, one a seed; nan: it diverged."""
    return over_seeds(runs(part, **wanted))


def by_depth(place: str, L: int, lr=0.001, warm_up=0) -> np.ndarray:
    """Validation losses after 100 steps; beyond 16 blocks they are stored for one rate only."""
    part = "deep" if L > 16 else "grid"
    return final(part, place=place, L=L, lr=lr, warm_up=warm_up)


def typical(values) -> float:
    """Geometric mean."""
    return np.exp(np.log(values).mean())
