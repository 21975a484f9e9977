"""Measure stacks with and without residual and norm, and train them and the readers of chapter 08.

``python benchmarks/residual_training.py [depth] [copying] [ladder] [rates]`` writes these parts
of helpers/data/results/residual_training.json, all of them without arguments: signal and
gradient through up to 96 layers, the copying task, and readers of the tales with and without
residual, feed-forward and norm. The script runs the chapter's own cells; the chapter computes a
part of it again and compares.
"""

import copy
import itertools
import math
import sys
from functools import partial

import torch
import torch.nn.functional as F
from common import about, cells_of, store
from torch import nn

from helpers import corpus
from helpers.attention import SelfAttention
from helpers.blocks import AddNorm, Block, FeedForward
from helpers.norms import LayerNorm
from helpers.training import evaluate, train

CHAPTER = "08_residual_add_and_norm"
CELLS = ("the-stack", "the-copying", "the-ladder", "the-neurons")
SEEDS = range(5)
DEPTHS = (1, 2, 4, 8, 12, 24, 48, 96)
SCHEMES = ("neither", "norm alone", "residual alone", "residual and norm", "norm first")
STARTS = (("torch", SCHEMES), ("kept", SCHEMES[:4]))
WHOLE = ("residual and norm", "residual alone", "norm alone", "neither")
PARTIAL = (
    "residual round attention only",
    "residual round feed-forward only",
    "norm alone, no attention",
    "norm alone, no feed-forward",
)
MODELS = (
    "attention alone",
    "with its residual",
    "with feed-forward",
    "with norms",
    "feed-forward without a bend",
    "two more attentions instead",
    "feed-forward, no residuals",
    "feed-forward, no attention",
)
PARTS = ("depth", "copying", "ladder", "rates")


def chapter() -> dict:
    """Run the cells of the chapter that define stacks, tasks and readers; what they define."""
    names = {"torch": torch, "nn": nn, "F": F, "copy": copy, "partial": partial, "corpus": corpus}
    names |= {"SelfAttention": SelfAttention, "AddNorm": AddNorm, "Block": Block}
    names |= {"FeedForward": FeedForward, "LayerNorm": LayerNorm}
    return cells_of(CHAPTER, CELLS, names | {"train": train, "evaluate": evaluate})


def settings(part: str) -> list[dict]:
    """What is measured in a part, each setting with every seed of the part."""
    if part == "depth":
        return [
            {"start": start, "scheme": scheme, "L": L}
            for start, schemes in STARTS
            for scheme, L in itertools.product(schemes, DEPTHS)
        ]
    if part == "copying":
        runs = [(stack, L, 0.001, "torch") for stack, L in itertools.product(WHOLE, (1, 2, 4, 8))]
        runs += [("norm alone", L, lr, "torch") for L in (4, 8) for lr in (0.0003, 0.003)]
        runs += [("neither", 8, lr, "torch") for lr in (0.0003, 0.003)]
        runs += [("neither", 8, 0.001, "kept")]
        runs += [(stack, 8, 0.001, "torch") for stack in PARTIAL]
        runs += [(stack, 16, 0.001, "torch") for stack in PARTIAL[2:]]  # as many sub-layers
        found = [
            {"stack": stack, "L": L, "lr": lr, "start": start, "steps": 300}
            for stack, L, lr, start in runs
        ]
        patient = {"stack": "norm alone", "L": 8, "lr": 0.0003, "start": "torch", "steps": 3000}
        return [*found, patient]
    rates = (0.003,) if part == "ladder" else (0.001, 0.01)
    models = MODELS if part == "ladder" else MODELS[:6]
    return [{"model": model, "lr": lr, "steps": 2000} for lr in rates for model in models]


def seeds(part: str) -> range:
    """Five; two for the part that only looks whether another learning rate does better."""
    return SEEDS if part != "rates" else range(2)


def short(values) -> list[float]:
    """Numbers with three digits, and nothing below what float64 can tell from 0."""
    return [float(f"{value:.3g}") for value in values]


def of_depth(names: dict, seed: int, *, start: str, scheme: str, L: int) -> dict:
    """The gradient that reaches the input, as a power of ten; then all, level by level."""
    blocks = names["stack"](L, scheme, seed=seed, start=start)
    stream = names["through"](blocks, seed=seed)
    gradients = short(map(names["size"], names["backward"](stream, seed=seed)))
    run = {"log10 gradient": round(math.log10(gradients[0]), 2), "gradients": gradients}
    deepest = max(DEPTHS)
    if deepest == L:  # shallower stacks are the beginning of this one
        run["sizes"] = short(map(names["size"], stream))
        run["differing"] = short(map(names["differing"], stream))
    return run


def of_copying(names: dict, seed: int, **setting) -> dict:
    """The share of letters said again rightly."""
    return {"right": round(names["copied"](seed=seed, **setting)["right"], 4)}


def of_tales(names: dict, seed: int, *, model: str, lr: float, steps: int) -> dict:
    """Validation loss at the end and half way, and what else a feed-forward tells."""
    reader, go_on = names["in_training"](model, lr=lr, seed=seed)
    untrained = copy.deepcopy(reader)
    go_on(steps=steps // 2)
    half = names["on_validation"](reader)
    go_on(steps=steps // 2)
    run = {"validation": round(names["on_validation"](reader), 4), "half way": round(half, 4)}
    if model == "with feed-forward":
        run["taken out"] = round(names["taken_out"](reader), 4)
        for label, one in (("trained", reader), ("untrained", untrained)):
            run[label] = {k: round(v, 3) for k, v in names["of_neurons"](one).items()}
    return run


def main(parts: list[str]) -> None:
    """Measure everything in these parts, seed by seed, and store it."""
    torch.set_num_threads(1)
    names = chapter()
    measure = {"depth": of_depth, "copying": of_copying, "ladder": of_tales, "rates": of_tales}
    for part in parts or PARTS:
        results = [setting | {"runs": []} for setting in settings(part)]
        for seed in seeds(part):
            for setting, result in zip(settings(part), results, strict=True):
                result["runs"].append({"seed": seed} | measure[part](names, seed, **setting))
        store("residual_training", part, about(__file__, seeds(part)) | {"settings": results})


if __name__ == "__main__":
    main(sys.argv[1:])
