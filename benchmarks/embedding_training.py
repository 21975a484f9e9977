"""Train the word table of chapter 01 over seeds, on the tales and shuffled; let its words grow.

``python benchmarks/embedding_training.py [neighbours] [growth]`` writes these parts of
helpers/data/results/embedding_training.json, both without arguments. The script runs the chapter's
own cells; the chapter trains seed 0 again and compares. On one core about five minutes in all.
"""

import sys

import numpy as np
import torch
import torch.nn.functional as F
from common import about, cells_of, store

from helpers import corpus
from helpers.embeddings import WORD_GROUPS, SurroundingsModel, frequent, quantised, surroundings
from helpers.training import train

CHAPTER = "01_embeddings_as_features"
CELLS = ("the-count", "the-word-model", "the-keeping", "the-shuffling", "the-badness",
         "the-growth", "the-rounding")  # fmt: skip
SEEDS = range(10)
GROWTH_SEEDS = range(5)
TEXTS = ("the tales", "shuffled")
STARTS = ("zero", "random", "mean", "as (rare)")
BITS = (8, 4, 3, 2)
WATCHED = ("said", "two", "she", "wide", "fox", "king")


def chapter() -> dict:
    """Run the cells of the chapter that define the model and its measurements."""
    text = corpus.load()
    names = {"torch": torch, "F": F, "np": np, "train": train, "text": text,
             "tokenizer": corpus.WordTokenizer(text), "WORD_GROUPS": WORD_GROUPS,
             "SurroundingsModel": SurroundingsModel, "frequent": frequent,
             "quantised": quantised, "surroundings": surroundings}  # fmt: skip
    return cells_of(CHAPTER, CELLS, names)


def rank(names: dict, table, word: str, other: str) -> int:
    """Which neighbour of a word another is: 1 for the nearest of all words."""
    unit = F.normalize(table, dim=1)
    at, of = names["words"].index(word), names["words"].index(other)
    cosines = unit @ unit[at]
    cosines[at] = -2
    return int((cosines > cosines[of]).sum()) + 1


def five_nearest(names: dict, table, word: str) -> list[str]:
    """The five nearest neighbours of a word among all words."""
    unit = F.normalize(table, dim=1)
    cosines = unit @ unit[names["words"].index(word)]
    cosines[names["words"].index(word)] = -2
    return [names["words"][i] for i in cosines.topk(5).indices]


def of_the_tales(names: dict, table) -> dict:
    """What is measured of a table that was trained on the tales."""
    right = [names["share_right"](names["rounded"](table, bits)) for bits in BITS]
    kept = names["kept_neighbours"]
    return {
        "rank of queen": rank(names, table, "king", "queen"),
        "rank of evening": rank(names, table, "morning", "evening"),
        "five nearest": {word: five_nearest(names, table, word) for word in WATCHED},
        "kept": [round(kept(table, bits), 4) for bits in BITS],
        "kept among five": [round(kept(table, bits, among=5), 4) for bits in BITS],
        "right": [round(share, 4) for share in right],
    }


def one_training(names: dict, seed: int, text: str) -> dict:
    """Shares right over training, and what is measured in the end."""
    ids = names["frequent_ids"]
    if text == "shuffled":
        ids = names["shuffled"](ids, seed)
    model, tables = names["train_and_keep"](ids, seed)
    shares = [round(names["share_right"](tables[step]), 4) for step in names["moments"]]
    run = {"seed": seed, "shares": shares}
    if text == "shuffled":
        both = names["seen_and_unseen"](model, seed)
        return run | {"seen and unseen": [round(value, 4) for value in both]}
    return run | of_the_tales(names, tables[names["moments"][-1]])


def neighbours(names: dict) -> dict:
    """Both texts, every seed."""
    settings = [
        {"text": text, "runs": [one_training(names, seed, text) for seed in SEEDS]}
        for text in TEXTS
    ]
    return about(__file__, SEEDS, settings=settings)


def growth(names: dict) -> dict:
    """Every start of the new rows, from one trained table a seed."""
    settings = [{"start": start, "runs": []} for start in STARTS]
    for seed in GROWTH_SEEDS:
        base = names["train_words"](names["ids_before"], seed, steps=200)
        before = round(names["old_and_new"](base, names["ids_before"])[0], 4)
        for setting in settings:
            badness = np.round(names["grow"](base, setting["start"], seed), 4).tolist()
            setting["runs"].append({"seed": seed, "old before": before, "badness": badness})
    return about(__file__, GROWTH_SEEDS, settings=settings)


PARTS = {"neighbours": neighbours, "growth": growth}


def main(parts: list[str]) -> None:
    """Measure these parts, or all, and store them."""
    torch.set_num_threads(1)
    names = chapter()
    for part in parts or PARTS:
        store("embedding_training", part, PARTS[part](names))


if __name__ == "__main__":
    main(sys.argv[1:])
