"""Lengths of rows and how often words occur, for chapter 02: over training, and with controls.

``python benchmarks/similarity.py [lengths] [controls]`` writes these parts of
helpers/data/results/similarity.json, both without arguments. The script runs the chapter's own
cells; the chapter trains up to step 400, and the first run of the controls, again and compares.
On one core the parts take about one minute and half a minute.
"""

import sys

import numpy as np
import torch
import torch.nn.functional as F
from common import about, cells_of, store

from helpers import corpus
from helpers.embeddings import SurroundingsModel, frequent, rank_correlation, surroundings
from helpers.training import train

CHAPTER = "02_similarity_geometry"
CELLS = ("the-corpus", "the-training", "the-lengths", "the-copies")
SEEDS = range(5)
STEPS = 1200
TABLES = ("input rows", "output rows")
TOKENS = ("copies", "strewn")
PARTS = ("lengths", "controls")


def chapter() -> dict:
    """Run the cells of the chapter that train and measure; what they define."""
    names = {"torch": torch, "np": np, "F": F, "corpus": corpus, "frequent": frequent,
             "surroundings": surroundings, "SurroundingsModel": SurroundingsModel,
             "rank_correlation": rank_correlation, "train": train}  # fmt: skip
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str) -> list[dict]:
    """What is measured in a part, each as a dict to which its runs are added."""
    if part == "lengths":
        return [{"table": table, "steps": STEPS} for table in TABLES]
    return [{"tokens": tokens, "steps": 400} for tokens in TOKENS]


def one_seed(names: dict, part: str, seed: int) -> list[dict]:
    """The measurements of one seed, one for each setting of the part."""
    if part == "lengths":
        _, looks = names["looked_at"](seed, steps=STEPS)
        return [
            {"seed": seed, "correlations": [round(float(x), 4) for x in found]}
            for found in names["correlations"](looks)
        ]
    return [
        {
            "seed": seed,
            "occurrences": [round(x, 2) for x in occurrences.tolist()],
            "lengths": [round(x, 4) for x in lengths.tolist()],
        }
        for occurrences, lengths in names["controls"](seed).values()
    ]


def main(parts: list[str]) -> None:
    """Train everything in these parts, seed by seed, and store it."""
    torch.set_num_threads(1)
    names = chapter()
    for part in parts or PARTS:
        results = [setting | {"runs": []} for setting in settings(part)]
        for seed in SEEDS:
            for result, run in zip(results, one_seed(names, part, seed), strict=True):
                result["runs"].append(run)
        looks = {"looks": list(names["LOOKS"][1:])} if part == "lengths" else {}
        store("similarity", part, about(__file__, SEEDS, **looks) | {"settings": results})


if __name__ == "__main__":
    main(sys.argv[1:])
