"""Train the writer of chapter 04 with each norm, over learning rates, batch sizes and seeds.

``python benchmarks/norm_training.py [norms] [pairs] [batches] [controls] [probes]`` writes these
parts of helpers/data/results/norm_training.json, all of them without arguments. Chapter 04 takes
from there what would take too long in the chapter. The script runs the chapter's own cells, so what
is stored is what a reader sees; the chapter trains a part of the runs again and compares. On one
core all parts together take about eight minutes.
"""

import copy
import itertools
import sys

import numpy as np
import torch
import torch.nn.functional as F
from common import about, cells_of, store

from helpers import corpus, norms
from helpers.blocks import NORMS, Block
from helpers.training import evaluate, train

CHAPTER = "04_layernorm_vs_batchnorm"
CELLS = ("the-undoing", "the-model", "the-training")
SEEDS = {"norms": range(5), "pairs": range(5, 15), "batches": range(5), "controls": range(5),
         "probes": range(5)}  # fmt: skip
RATES = (0.003, 0.01, 0.03, 0.1)
KEPT = ("validation", "together", "alone", "own", "swapped", "drift")

# norms, learning rates, and what else is set
PARTS = {
    "norms": (
        (("layer", "rms", "batch", "none"), RATES, {}),
        (("instance", "group"), (0.01,), {}),
    ),
    "pairs": ((("layer", "rms"), (0.01,), {}),),
    "batches": (
        (("layer", "batch"), (0.01,), {"batch_size": 1}),
        (("layer", "batch"), (0.01,), {"batch_size": 4}),
    ),
    "controls": (
        (("layer", "none"), (0.01,), {"shake": 0.1}),
        (("layer", "batch"), (0.01,), {"learn": False}),
    ),
    "probes": (
        (("layer", "batch", "instance", "group"), (0.01,), {"probe": True}),
        (("batch",), (0.01,), {"batch_size": 1, "probe": True}),
        (("batch",), (0.01,), {"batch_size": 4, "probe": True}),
    ),
}


def chapter() -> dict:
    """Run the cells of the chapter that define the model and its training; what they define."""
    tokenizer = corpus.CharTokenizer(corpus.load())
    train_ids, validation_ids = corpus.split(tokenizer.encode(corpus.load()))
    names = {"np": np, "torch": torch, "nn": torch.nn, "F": F, "copy": copy, "itertools": itertools,
             "corpus": corpus, "norms": norms, "NORMS": NORMS, "Block": Block, "train": train,
             "evaluate": evaluate, "tokenizer": tokenizer, "train_ids": train_ids,
             "validation_ids": validation_ids}  # fmt: skip
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str):
    """Each combination of a part that is trained, as a dict."""
    for kinds, rates, more in PARTS[part]:
        for norm, lr in itertools.product(kinds, rates):
            yield {"norm": norm, "lr": lr, **more}


def one_run(names: dict, seed: int, *, norm: str, **setting) -> dict:
    """What is kept of one training; ``validation`` is None where it diverged."""
    try:
        run = names["trained"](norm, seed=seed, **setting)
    except FloatingPointError:
        return {"seed": seed, "validation": None}
    kept = {key: round(run[key], 4) for key in KEPT if key in run}
    if "left" in run:
        kept["left"] = [round(share, 4) for share in run["left"]]
    gamma = torch.tensor(run["gamma"])
    if len(gamma):
        kept["gamma"] = [round(x.item(), 3) for x in (gamma.mean(), gamma.std(), gamma.min())]
    return {"seed": seed} | kept


def main(parts: list[str]) -> None:
    """Train everything in these parts, seed by seed, and store it."""
    torch.set_num_threads(1)
    names = chapter()
    for part in parts or PARTS:
        results = [setting | {"runs": []} for setting in settings(part)]
        for seed in SEEDS[part]:
            for setting, result in zip(settings(part), results, strict=True):
                result["runs"].append(one_run(names, seed, **setting))
        store("norm_training", part, about(__file__, SEEDS[part]) | {"settings": results})


if __name__ == "__main__":
    main(sys.argv[1:])
