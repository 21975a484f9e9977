"""Train the small GPT of chapter 10 over starts, learning rates and seeds.

``python benchmarks/initialisation_training.py [schemes] [residual] …`` writes these parts of
helpers/data/results/initialisation_training.json, all of them without arguments. Chapter 10 takes
from there what would take too long in the chapter. The script runs the chapter's own cells, so what
is stored is what a reader sees; the chapter trains a part of the runs again and compares. On one
core all parts together take about twenty minutes.
"""

import sys

import torch
import torch.nn.functional as F
from common import about, cells_of, store
from torch.func import functional_call, stack_module_state, vmap

from helpers import bigram, corpus, initialise
from helpers.blocks import NORMS, Block

CHAPTER = "10_initialisation"
CELLS = ("the-schemes", "the-gpt", "the-data", "the-starts", "the-warm-start", "the-training")
SEEDS = range(5)
STEPS = 300
BLOCK = 10  # losses are stored as means over so many steps
RATES = (0.001, 0.003, 0.01)
MIDDLE = (0.003,)
DEEP = {"L": 12, "C": 32, "heads": 2}
ROOT = 1 / 8  # 1/√C
LOOKS = (0, 10, 30, 100, 300)

# Settings, each with the learning rates at which it is trained.
PARTS = {
    "schemes": (
        ({"scheme": "torch"}, RATES),
        ({"scheme": "Xavier"}, RATES),
        ({"scheme": "He"}, RATES),
        ({"scheme": "0.02"}, RATES),
        ({"scheme": "Xavier", "embedding": 0.02}, RATES),
        ({"scheme": "0.02", "embedding": 0.02, "residual": "1/√(2L)"}, RATES),
        ({"scheme": "LeCun"}, MIDDLE),
        ({"scheme": "orthogonal"}, MIDDLE),
        ({"scheme": 0.002}, MIDDLE),
        ({"scheme": 0.2}, MIDDLE),
    ),
    "residual": (
        ({"scheme": "Xavier", "residual": "1/√(2L)"}, RATES),
        ({"scheme": "Xavier", "residual": "0"}, RATES),
        ({"scheme": "0.02", "embedding": 0.02}, RATES),
        *(
            ({"scheme": "Xavier", "residual": residual, **DEEP}, RATES[:2])
            for residual in ("1", "1/√(2L)", "0")
        ),
    ),
    "no norm": tuple(
        ({"scheme": scheme, "norm": "none"}, RATES[:2])
        for scheme in ("torch", "Xavier", "He", "0.02")
    ),
    "embedding": (
        ({"embedding": 0.02}, MIDDLE),
        ({"embedding": 0.02, "scales": (50.0, 50.0)}, MIDDLE),
        ({"embedding": 0.02, "table_rate": 0.02}, MIDDLE),
        ({"embedding": 0.02, "residual": "0"}, MIDDLE),
        ({"embedding": 3.0}, MIDDLE),
        ({"table_rate": 0.0}, MIDDLE),
        ({"embedding": ROOT}, MIDDLE),
        ({"embedding": ROOT, "scales": (8.0, 1.0)}, MIDDLE),
        ({"tied": True}, MIDDLE),
        ({"tied": True, "embedding": ROOT}, MIDDLE),
        ({"tied": True, "embedding": ROOT, "scales": (8.0, 1.0)}, MIDDLE),
        ({"tied": True, "embedding": 0.02}, MIDDLE),
    ),
    "both tables scaled": (
        ({"embedding": ROOT, "scales": (8.0, 8.0)}, MIDDLE),
        ({"tied": True, "embedding": ROOT, "scales": (8.0, 8.0)}, MIDDLE),
    ),
    "warm": (
        ({"start": "cold", "when": LOOKS}, RATES[:2]),
        ({"start": "unigram", "when": LOOKS}, RATES[:2]),
        ({"start": "bigram", "residual": "0", "when": LOOKS}, RATES[:2]),
        ({"start": "bigram, no positions", "residual": "0", "when": LOOKS}, RATES[:2]),
        ({"start": "cold", "residual": "0", "when": LOOKS}, MIDDLE),
    ),
}


def chapter() -> dict:
    """Run the cells of the chapter that define the model and its training; what they define."""
    names = {"torch": torch, "nn": torch.nn, "F": F, "corpus": corpus, "bigram": bigram}
    names |= {"initialise": initialise, "Block": Block, "NORMS": NORMS, "vmap": vmap}
    names |= {"functional_call": functional_call, "stack_module_state": stack_module_state}
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str):
    """Each combination of a part that is trained, as a dict."""
    for setting, rates in PARTS[part]:
        for lr in rates:
            yield setting | {"lr": lr}


def measured(names: dict, when=(STEPS,), **setting) -> list[dict]:
    """Losses of one setting, a dict for each seed; ``validation`` is null where it diverged."""
    run = names["trained"](seeds=SEEDS, steps=STEPS, when=when, **setting)
    runs = []
    for at, seed in enumerate(SEEDS):
        looks = {str(step): run["validation"][step][at].item() for step in when}
        blocks = run["losses"][at].view(-1, BLOCK).mean(dim=1)
        finite = bool(torch.isfinite(run["losses"][at]).all())
        result = {
            "seed": seed,
            "first": round(run["losses"][at, 0].item(), 3),
            "validation": round(looks[str(STEPS)], 4) if finite else None,
            "losses": [round(x, 3) if finite else None for x in blocks.tolist()],
        }
        if len(when) > 1:
            result["looks"] = {step: round(x, 4) for step, x in looks.items()}
        runs.append(result)
    return runs


def main(parts: list[str]) -> None:
    """Train everything in these parts and store it."""
    torch.set_num_threads(1)
    names = chapter()
    for part in parts or PARTS:
        results = [s | {"runs": measured(names, **s)} for s in settings(part)]
        store("initialisation_training", part, about(__file__, SEEDS, block=BLOCK)
              | {"settings": results})  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
