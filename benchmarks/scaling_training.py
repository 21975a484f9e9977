"""Train the reader of chapter 06 over divisors, widths, starts, learning rates and seeds.

``python benchmarks/scaling_training.py [short] [long] [controls]`` writes these parts of
helpers/data/results/scaling_training.json, all of them without arguments. Chapter 06 takes from
there what would take too long in the chapter. The script runs the chapter's own cells, so what is
stored is what a reader sees; the chapter trains a part of the runs again and compares. On one core
the parts take about five, eight and one minutes.
"""

import itertools
import sys

import torch
import torch.nn.functional as F
from common import about, cells_of, store

from helpers import corpus
from helpers.attention import causal_mask
from helpers.training import evaluate, train

CHAPTER = "06_scaling_by_sqrt_dk"
CELLS = ("the-reader", "the-training", "the-controls")
SEEDS = range(5)
BLOCK = 20  # losses are stored as means over so many steps
UNIT, DEFAULT, SMALL = 1 / 8, 1 / 192**0.5, 0.02  # with C = 64: scores of variance D; torch; GPT-2
ADAM, SGD = (0.001, 0.003, 0.01, 0.03), (0.3, 1.0, 2.0, 4.0)
LONG = (0.0003, *ADAM[:3])
PLAIN = ("1", "√D", "D")
ALL = (*PLAIN, "measured", "QK-norm")

# steps, optimiser, widths D, start, divisors, learning rates, and, where it is not 1, by what the
# learning rate of the tables of queries and keys is multiplied
PARTS = {
    "short": (
        (200, "Adam", (64, 256), UNIT, ALL, ADAM),
        (200, "Adam", (16,), UNIT, PLAIN, ADAM),
        (200, "Adam", (64, 256), SMALL, (*PLAIN, "QK-norm"), ADAM),
        (200, "Adam", (64,), DEFAULT, PLAIN, ADAM),
        (200, "SGD", (64,), UNIT, PLAIN, SGD),
        (200, "SGD", (64,), SMALL, PLAIN, SGD),
    ),
    "long": (
        (2000, "Adam", (64,), UNIT, PLAIN, LONG),
        (2000, "Adam", (64,), SMALL, PLAIN, LONG),
    ),
    "controls": (
        (200, "Adam", (64,), 0.0, ("1",), (0.01,), 0),  # scores stay 0: a plain average
        (200, "Adam", (64, 256), UNIT, PLAIN, (0.01,), 0),  # queries and keys stay as they start
        *((200, "Adam", (D,), UNIT, ("1",), (0.01,), D**-0.5) for D in (64, 256)),
        *((200, "Adam", (D,), SMALL, ("1",), (0.01,), D**-0.5) for D in (64, 256)),
        # what makes ÷ D out of ÷ √D, by halves
        *((200, "Adam", (D,), UNIT, ("√D",), (0.01,), D**-0.25) for D in (64, 256)),
        *((200, "Adam", (D,), UNIT * D**-0.25, ("√D",), (0.01,), 1) for D in (64, 256)),
        *((200, "Adam", (D,), UNIT * D**-0.25, ("√D",), (0.01,), D**-0.25) for D in (64, 256)),
        (200, "SGD", (64,), UNIT, PLAIN, (1.5,), 1),
        (200, "SGD", (64,), SMALL, PLAIN, (1.5,), 1),
        (200, "SGD", (64,), UNIT, ("D",), (1.0,), 8),
        (200, "SGD", (64,), UNIT, ("1",), (1.0,), 1 / 8),
    ),
}


def chapter() -> dict:
    """Run the cells of the chapter that define the model and its training; what they define."""
    names = {"torch": torch, "nn": torch.nn, "F": F, "corpus": corpus, "causal_mask": causal_mask,
             "train": train, "evaluate": evaluate}  # fmt: skip
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str):
    """Each combination of a part that is trained, as a dict."""
    for steps, optimizer, widths, start, divisors, rates, *qk_rate in PARTS[part]:
        for width, divisor, lr in itertools.product(widths, divisors, rates):
            setting = {"steps": steps, "optimizer": optimizer, "D": width, "start": start}
            yield (
                setting
                | {"divisor": divisor, "lr": lr}
                | ({"qk_rate": qk_rate[0]} if qk_rate else {})
            )


def one_run(names: dict, seed: int, *, optimizer: str, divisor: str, qk_rate=1, **setting) -> dict:
    """Losses and measurements of one training; ``validation`` is None where it diverged."""
    kind = getattr(torch.optim, optimizer)
    if qk_rate != 1:
        kind = names["own_rate_for_qk"](qk_rate, kind)
    try:
        run = names["trained"](divisor, seed=seed, optimizer=kind, **setting)
    except FloatingPointError:
        return {"seed": seed, "validation": None}
    blocks = torch.tensor(run["losses"]).view(-1, BLOCK).mean(dim=1).tolist()
    return {
        "seed": seed,
        "validation": round(run["validation"], 4),
        "losses": [round(block, 4) for block in blocks],
        "before": [round(x, 4) for x in run["before"]],
        "after": [round(x, 4) for x in run["after"]],
    }


def main(parts: list[str]) -> None:
    """Train everything in these parts, seed by seed, and store it."""
    torch.set_num_threads(1)
    names = chapter()
    for part in parts or PARTS:
        results = [setting | {"runs": []} for setting in settings(part)]
        for seed in SEEDS:
            for setting, result in zip(settings(part), results, strict=True):
                result["runs"].append(one_run(names, seed, **setting))
        origin = about(__file__, SEEDS, block=BLOCK)
        store("scaling_training", part, origin | {"settings": results})


if __name__ == "__main__":
    main(sys.argv[1:])
