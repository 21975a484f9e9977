"""Measure and train the readers of chapter 09, with the norm before or after each sub-layer.

``python benchmarks/placement_training.py [start] [longer] [grid] [others] [rescue] [deep]``
writes these parts of helpers/data/results/placement_training.json, all of them without arguments:
gradients before training, 300 steps with a look inside, losses after 100 steps over depth,
learning rate and warm-up, other starts and placements, these with warm-up, and 32 and 64 blocks
at one rate. The script runs the chapter's own cells; the chapter computes a part of it again and
compares. On one core all parts together take about half an hour.
"""

import itertools
import sys

import torch
import torch.nn.functional as F
from common import about, cells_of, store
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from helpers import corpus, initialise
from helpers.blocks import Block
from helpers.norms import LayerNorm

CHAPTER = "09_prenorm_vs_postnorm"
CELLS = ("the-reader", "the-starts", "the-measures", "the-training")
SEEDS = range(5)
PLACES = ("post", "pre", "pre, no last norm", "post, small writes")
STARTS = ("Xavier", "torch", "0.02")
DEPTHS = (2, 4, 8, 16, 32, 64)
RATES = (0.0003, 0.001, 0.003, 0.01)
WARM_UPS = (0, 50)
LOOKS = (0, 10, 30, 100, 300)
POSTS = ("post", "post, small writes")
BLOCK = 10  # losses are stored as means over so many steps
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
PARTS = ("start", "longer", "grid", "others", "rescue", "deep")


def chapter() -> dict:
    """Run the cells of the chapter that define readers and training; what they define."""
    names = {"torch": torch, "nn": nn, "F": F, "corpus": corpus, "initialise": initialise}
    names |= {"Block": Block, "LayerNorm": LayerNorm, "vmap": vmap}
    names |= {"functional_call": functional_call, "stack_module_state": stack_module_state}
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str) -> list[dict]:
    """What is measured in a part, each setting with every seed."""
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
        rows += [("post, small writes", "Xavier", DEPTHS[5], RATES[1], WARM_UPS[1])]
    elif part == "rescue":
        keys = ("place", "start", "L", "lr", "warm_up")
        rows = ((*other, 16, RATES[2], WARM_UPS[1]) for other in OTHERS if other[0] in POSTS)
    else:
        keys = ("place", "start", "L", "lr")
        rows = ((*other, 16, lr) for other in OTHERS for lr in RATES[1:3])
    return [dict(zip(keys, row, strict=True)) for row in rows]


def short(values) -> list[float]:
    """Numbers with three digits."""
    return [float(f"{value:.3g}") for value in values]


def of_start(names: dict, **setting) -> list[dict]:
    """Stream and gradients before training, a dict a seed."""
    runs = []
    for seed in SEEDS:
        found = names["at_the_start"](seed=seed, **setting)
        last = float(f"{found.pop('last map'):.3g}")
        runs.append({"seed": seed, "last map": last} | {k: short(v) for k, v in found.items()})
    return runs


def of_training(names: dict, looks=(), **setting) -> list[dict]:
    """Losses of one setting, a dict a seed; ``validation`` is null where it diverged."""
    found, runs = names["trained"](seeds=SEEDS, looks=looks, **setting), []
    for at, (seed, reader) in enumerate(zip(SEEDS, found["readers"], strict=True)):
        losses = found["losses"][at]
        finite = bool(torch.isfinite(losses).all())
        means = losses.view(-1, BLOCK).mean(dim=1).tolist()
        end = names["looked_at"](reader)
        run = {
            "seed": seed,
            "first": round(losses[0].item(), 3),
            "validation": round(names["on_validation"](reader), 4) if finite else None,
            "losses": [round(x, 3) if finite else None for x in means],
            "size": float(f"{end['sizes'][-1]:.3g}") if finite else None,
            "differing": float(f"{end['differing'][-1]:.3g}") if finite else None,
        }
        if looks:
            run["looks"] = {
                str(step): {k: short(v) for k, v in seen[at].items()}
                for step, seen in found["looks"].items()
            }
            run["without"] = [round(x, 4) for x in names["without_each"](reader)]
        runs.append(run)
    return runs


def main(parts: list[str]) -> None:
    """Measure everything in these parts and store it, part by part."""
    torch.set_num_threads(1)
    names = chapter()
    for part in parts or PARTS:
        measure, looks = of_training, {"looks": LOOKS} if part == "longer" else {}
        if part == "start":
            measure = of_start
        results = [s | {"runs": measure(names, **looks, **s)} for s in settings(part)]
        store("placement_training", part, about(__file__, SEEDS, block=BLOCK)
              | {"settings": results})  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
