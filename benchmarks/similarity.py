"""Neighbours and lengths of rows over training, for chapter 02, and lengths with controls.

``python benchmarks/similarity.py [lengths] [neighbours] [controls]`` writes these parts of
helpers/data/results/similarity.json, all without arguments. The script runs the chapter's own
cells; the chapter trains up to step 400, and the first run of the controls up to step 100, again
and compares. On one core each part takes about one minute.
"""

import sys
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from common import about, cells_of, store

from helpers import corpus
from helpers.embeddings import (
    MEASURES,
    WORD_GROUPS,
    SurroundingsModel,
    centre,
    frequent,
    rank_correlation,
    similarities,
    surroundings,
    whiten,
)
from helpers.training import train

CHAPTER = "02_similarity_geometry"
CELLS = ("the-corpus", "the-training", "the-tools", "the-groups", "the-lengths", "the-copies")
SEEDS = range(5)
STEPS = 1200
TABLES = ("input rows", "output rows")
TOKENS = ("copies", "strewn")
PARTS = ("lengths", "neighbours", "controls")
WAYS = (*MEASURES, "centred", "whitened")
FOUND_AT = (400, 1200)  # the steps at which neighbours are counted


def chapter() -> dict:
    """Run the cells of the chapter that train and measure; what they define."""
    names = {"torch": torch, "np": np, "F": F, "corpus": corpus, "frequent": frequent,
             "surroundings": surroundings, "SurroundingsModel": SurroundingsModel,
             "rank_correlation": rank_correlation, "train": train, "MEASURES": MEASURES,
             "WORD_GROUPS": WORD_GROUPS, "similarities": similarities, "centre": centre,
             "whiten": whiten}  # fmt: skip
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str) -> list[dict]:
    """What is measured in a part, each as a dict to which its runs are added."""
    if part == "lengths":
        return [{"table": table, "steps": STEPS} for table in TABLES]
    if part == "neighbours":
        return [
            {"table": table, "steps": steps, "by": way}
            for steps, table, way in product(FOUND_AT, TABLES, WAYS)
        ]
    return [{"tokens": tokens, "steps": STEPS} for tokens in TOKENS]


def one_seed(names: dict, part: str, seed: int) -> list[dict]:
    """The measurements of one seed, one for each setting of the part."""
    if part == "lengths":
        _, looks = names["looked_at"](seed, steps=STEPS)
        return [
            {"seed": seed, "correlations": [round(float(x), 4) for x in found]}
            for found in names["correlations"](looks)
        ]
    if part == "neighbours":
        _, looks = names["looked_at"](seed, steps=STEPS)
        at = dict(zip(names["LOOKS"], looks, strict=True))
        return [
            {"seed": seed, "right": [round(share, 4) for share in found[way]]}
            for steps in FOUND_AT
            for found in map(names["found_by"], at[steps])
            for way in WAYS
        ]
    return [
        {
            "seed": seed,
            "occurrences": [round(x, 2) for x in occurrences.tolist()],
            "lengths": [[round(x, 4) for x in look] for look in lengths.tolist()],
        }
        for occurrences, lengths in names["controls"](seed, steps=STEPS).values()
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
        looks = {} if part == "neighbours" else {"looks": list(names["LOOKS"][1:])}
        store("similarity", part, about(__file__, SEEDS, **looks) | {"settings": results})


if __name__ == "__main__":
    main(sys.argv[1:])
