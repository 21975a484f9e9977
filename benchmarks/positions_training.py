"""Train the readers of chapter 07: through masks, with heads, and with positions told in each way.

``python benchmarks/positions_training.py [masks] [heads] [lengths] [near]`` writes these parts of
helpers/data/results/positions_training.json, all of them without arguments: what a mask lets a
reader learn and what is left of it when the future is truly absent; the loss for 1 to 16 heads of
one total width; the loss at places within and beyond the length of training, for each way to tell
positions; and the same where each layer then reads the last letters alone. The script runs the
chapter's own cells; the chapter computes a part of it again and compares.
"""

import sys
from functools import partial

import torch
import torch.nn.functional as F
from common import about, cells_of, store
from torch import nn

from helpers import corpus
from helpers.gpt import GPT, GPTConfig
from helpers.training import evaluate, train

CHAPTER = "07_heads_masks_positions"
CELLS = ("the-masks", "the-readers", "the-lengths")
SEEDS = range(5)
MASKS = (
    "causal",
    "none at all",
    "one too far",
    "causal, after softmax",
    "only what came before",
    "the last eight",
)
HEADS = (1, 2, 4, 8, 16)
POSITIONS = ("none", "learned", "sinusoidal", "rope", "alibi")
PARTS = ("masks", "heads", "lengths", "near")
STEPS = {"masks": 500, "heads": 1000, "lengths": 1000, "near": 1000}
EARLY = 100  # steps after which the chapter can compare


def chapter() -> dict:
    """Run the cells of the chapter that define masks and readers; what they define."""
    names = {"torch": torch, "nn": nn, "F": F, "partial": partial, "corpus": corpus}
    names |= {"GPT": GPT, "GPTConfig": GPTConfig, "train": train, "evaluate": evaluate}
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str) -> list[dict]:
    """What is measured in a part, each setting with every seed."""
    if part == "masks":
        return [{"mask": mask} for mask in MASKS]
    if part == "heads":
        return [{"heads": heads} for heads in HEADS]
    if part == "near":
        return [{"positions": p} for p in ("none", "sinusoidal", "rope")]
    found = [{"positions": p, "context": 32, "quiet": True} for p in POSITIONS]
    found += [{"positions": "sinusoidal", "context": 32, "quiet": False}]
    return found + [{"positions": p, "context": 128, "quiet": True} for p in ("rope",)]


def rounded(values, digits: int = 3) -> list[float]:
    """Losses as they are stored."""
    return [round(float(value), digits) for value in values]


def of_masks(names: dict, seed: int, *, mask: str) -> dict:
    """Loss on whole windows, with the future truly absent, and with one from another window."""
    reader = names["read_through"](mask, seed=seed, steps=STEPS["masks"])
    shown, honest, elsewhere = rounded(names["three_losses"](reader), 4)
    return {"shown": shown, "honest": honest, "elsewhere": elsewhere}


def of_heads(names: dict, seed: int, *, heads: int) -> dict:
    """Validation loss of a model of one layer."""
    model, go_on = names["in_training"]("learned", seed=seed, heads=heads, layers=1)
    go_on(steps=STEPS["heads"])
    windows = corpus.windows(names["validation_ids"], 32)
    return {"validation": round(evaluate(model, names["loss"], windows), 4)}


def with_summary(run: dict, places) -> dict:
    """The loss at each place, after the mean at the last 16, which the results page shows."""
    places = rounded(places)
    return {"places 112 to 127": round(sum(places[112:]) / 16, 4)} | run | {"places": places}


def of_lengths(names: dict, seed: int, **setting) -> dict:
    """Losses with the last letters alone, at each place and early; sizes of a learned table."""
    model, go_on = names["in_training"](seed=seed, **setting)
    go_on(steps=EARLY)
    early = [part.mean() for part in names["by_place"](model).split(32)]
    go_on(steps=STEPS["lengths"] - EARLY)
    run = {"sliding": round(names["sliding"](model), 4), "early": rounded(early)}
    if setting["positions"] == "learned":
        rows = model.position.rows.weight.detach().square().mean(dim=1).sqrt()
        run["sizes of rows"] = rounded(part.mean() for part in rows.split(32))
    return with_summary(run, names["by_place"](model))


def of_near(names: dict, seed: int, *, positions: str) -> dict:
    """Loss at each place of a model that then reads the last letters alone, in each layer."""
    model, go_on = names["in_training"](positions, seed=seed)
    go_on(steps=STEPS["near"])
    return with_summary({}, names["by_place"](names["near_only"](model)))


def main(parts: list[str]) -> None:
    """Measure everything in these parts, seed by seed, and store it."""
    torch.set_num_threads(1)
    names = chapter()
    measure = {"masks": of_masks, "heads": of_heads, "lengths": of_lengths, "near": of_near}
    for part in parts or PARTS:
        results = [setting | {"runs": []} for setting in settings(part)]
        for seed in SEEDS:
            for setting, result in zip(settings(part), results, strict=True):
                result["runs"].append({"seed": seed} | measure[part](names, seed, **setting))
        more = {"steps": STEPS[part]}
        store("positions_training", part, about(__file__, SEEDS, **more) | {"settings": results})


if __name__ == "__main__":
    main(sys.argv[1:])
