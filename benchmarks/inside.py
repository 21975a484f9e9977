"""Train what chapter 12 opens: a GPT on the tales, readers of pronouns, and copiers.

``python benchmarks/inside.py [tales] [pronouns] [copying] [patching] [edges]`` writes these parts
of helpers/data/results/inside.json, all of them without arguments, and the checkpoints in
helpers/data/checkpoints: ``tales`` by the command that is stored with it (its run is kept in
runs/inside, and taken up there if it was stopped), ``asked`` and ``both_ways`` of the readers
with seed 0. ``patching`` and ``edges`` train readers and copiers again, by the same seeds, and
test them in further ways. For all but the tales the script runs the chapter's own cells; the
chapter computes a part of it again and compares.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from common import ROOT, about, cells_of, store

from helpers import train as command
from helpers.attention import SelfAttention, watching
from helpers.gpt import GPT, GPTConfig
from helpers.training import checkpoints, train

CHAPTER = "12_inside_the_gpt"
CELLS = ("the-habits", "the-ablation", "the-hooks", "the-part", "the-lens", "the-stream",
         "the-sentences", "the-readers", "the-cut", "the-measures", "the-patching", "the-grid",
         "the-repeats", "the-copiers")  # fmt: skip
SHIPPED = ROOT / "helpers" / "data" / "checkpoints"
RUN = ROOT / "runs" / "inside"
SEEDS = range(5)
STEPS = {"pronouns": 500, "copying": 500}
EVERY = 25  # updates between two looks at a copier
KEPT = {(True, 3): "asked", (False, 4): "both_ways"}
TALES = {"text": "tales", "steps": 2500, "dropout": 0.15, "seed": 0, "evaluate-every": 250,
         "checkpoint-every": 500}  # fmt: skip
PARTS = ("tales", "pronouns", "copying", "patching", "edges")


def chapter() -> dict:
    """Run the cells of the chapter that define sentences, models and measures."""
    names = {"torch": torch, "F": F, "product": product, "GPT": GPT, "GPTConfig": GPTConfig}
    names["np"] = np
    names |= {"SelfAttention": SelfAttention, "watching": watching, "train": train}
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str) -> list[dict]:
    """What is trained in a part, each setting with every seed of the part."""
    if part == "pronouns":
        depths = [(True, L) for L in (1, 2, 3)] + [(False, L) for L in (1, 2, 3, 4)]
        return [{"causal": causal, "L": L} for causal, L in depths]
    if part == "copying":
        return [{"L": L} for L in (1, 2)]
    if part == "patching":
        return [{"causal": True, "L": 3}]
    if part == "edges":
        return [{"L": 2}]
    return [{"model": "the preset cpu"}]


def seeds(part: str) -> range:
    """Five; the model of the tales is one."""
    return SEEDS if part != "tales" else range(1)


def rounded(value, digits: int = 4):
    """A number, or lists of numbers, with few digits."""
    if isinstance(value, dict):
        return {key: rounded(part, digits) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part, digits) for part in value]
    return round(value, digits)


def options(folder: Path) -> list[str]:
    """What the command that trains the model of the tales is called with."""
    given = [word for name, value in TALES.items() for word in (f"--{name}", str(value))]
    return [*given, "--out", str(folder)]


def of_tales(names: dict, seed: int, *, model: str) -> dict:
    """Train by the command, ship the model without what only training needs; its losses."""
    more = ["--resume"] if checkpoints.every(RUN) else []
    if (status := command.main([*options(RUN), "--quiet", *more])) != 0:
        raise RuntimeError(f"the command ended with status {status}")
    whole = checkpoints.load(RUN)
    measured = [record for record in whole.records if record["validation"] is not None]
    ship("tales", whole.step, whole.model, whole.config, measured, whole.extra)
    return {
        "validation": round(measured[-1]["validation"], 4),
        "after updates": [record["step"] + 1 for record in measured],
        "then": [round(record["validation"], 4) for record in measured],
    }


def ship(name: str, step: int, model: dict, config: dict, records: list, extra: dict) -> None:
    """Put a model into the package, as a checkpoint with the parameters alone."""
    checkpoint = checkpoints.Checkpoint(
        step=step, model=model, config=config, records=records, extra=extra
    )
    for old in checkpoints.every(SHIPPED / name):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    checkpoints.save(SHIPPED / name, checkpoint)


def of_pronouns(names: dict, seed: int, *, causal: bool, L: int) -> dict:
    """What a trained reader of words does with sentences that it never saw."""
    reader = names["reader_of_words"](L, seed=seed, causal=causal)
    names["teach"](reader, causal=causal, seed=seed, steps=STEPS["pronouns"])
    if seed == 0 and (causal, L) in KEPT:
        how = {"steps": STEPS["pronouns"], "seed": seed, "causal": causal}
        tensors = checkpoints.model_tensors(reader)
        extra = {"vocab": names["vocabulary"], "layers": L}
        ship(KEPT[causal, L], STEPS["pronouns"], tensors, how, [], extra)
    return rounded(names["measures"](reader, causal, names["asked_ids"]))


def of_copying(names: dict, seed: int, *, L: int) -> dict:
    """The loss and the heads' habits of a copier in the course of its training."""
    rows, length_B = names["repeats"](128, torch.Generator().manual_seed(99))
    looks, shown = [], []

    def look(step, model):
        if step % EVERY:
            return
        looks.append(names["look_at"](model, rows, length_B))
        if seed == 0 and L == 2:
            with watching(model) as maps:
                model(rows[:1, :32])
            shown.append(maps)

    model = names["copier"](L, seed=seed)
    names["learn_to_copy"](model, seed=seed, steps=STEPS["copying"], on_step=look)
    without = [
        [loss_without(names, model, rows, length_B, (layer, head)) for head in range(8)]
        for layer in range(L)
    ]
    longer = names["repeats"](128, torch.Generator().manual_seed(98), low=17, high=24)
    with torch.no_grad():
        logits = model(longer[0][:, :-1])
    run = {
        "loss": looks[-1]["loss"],
        "longer": names["loss_when_known"](logits, longer[0][:, 1:], longer[1]).item(),
        "without": without,
        "losses": [look["loss"] for look in looks],
        "before": [look["before"] for look in looks],
        "followed": [look["followed"] for look in looks],
    }
    return rounded(run) | (of_two_heads(looks[-1], shown) if shown else {})


def loss_without(names: dict, model, rows, length_B, head: tuple[int, int]) -> float:
    """What a copier loses with one head, (layer, head) counted from 0, silenced."""
    hooks = names["without_heads"](model, [head])
    logits = names["with_hooks"](hooks, model, rows[:, :-1])
    return names["loss_when_known"](logits, rows[:, 1:], length_B).item()


def of_two_heads(last: dict, shown: list) -> dict:
    """Maps on one row, in whole percent, of two heads, and which heads they are.

    In the first layer the one that ends up reading the letter before most, in the second the one
    that ends up reading most what followed.
    """
    chosen = [
        int(torch.tensor(last[habit][layer]).argmax())
        for layer, habit in enumerate(("before", "followed"))
    ]
    maps = [
        [(100 * a[0, head]).round().int().tolist() for a, head in zip(look, chosen, strict=True)]
        for look in shown
    ]
    return {"heads": chosen, "maps": maps}


def of_patching(names: dict, seed: int, *, causal: bool, L: int) -> dict:
    """How far patches move the answer of a reader of words, and what it makes of the verb."""
    reader = names["reader_of_words"](L, seed=seed, causal=causal)
    names["teach"](reader, causal=causal, seed=seed, steps=STEPS["pronouns"])
    shown, place = names["question"](names["asked_ids"], causal)
    with torch.no_grad(), watching(reader) as maps:
        logits = reader(shown)
    run = {
        "resolved": names["resolved"](logits, names["asked_ids"], place),
        "moved": names["how_far"](reader, names["of_thing"], names["of_animal"]).tolist(),
        "adjective": [a[:, :, place, names["HOW"]].mean(0).tolist() for a in maps],
        "verb passed over": names["verb_passed_over"](reader, causal),
    }
    return rounded(run)


def of_edges(names: dict, seed: int, *, L: int) -> dict:
    """What a copier loses without one reading of the head of layer 1 that reads the letter before.

    Without the weights on the letter before, and without all others.
    """
    rows, length_B = names["repeats"](128, torch.Generator().manual_seed(99))
    model = names["copier"](L, seed=seed)
    names["learn_to_copy"](model, seed=seed, steps=STEPS["copying"])
    look = names["look_at"](model, rows, length_B)
    head = (0, int(torch.tensor(look["before"][0]).argmax()))
    ids, T = rows[:, :-1], rows.shape[1] - 1
    before_TT = torch.diag(torch.ones(T - 1), -1)
    losses = [
        names["loss_when_known"](
            names["without_part"](model, head, at_TT, ids), rows[:, 1:], length_B
        ).item()
        for at_TT in (before_TT, 1 - before_TT)
    ]
    run = {"loss": look["loss"], "without before": losses[0], "before alone": losses[1]}
    return {"head": list(head)} | rounded(run)


def main(parts: list[str]) -> None:
    """Train and measure everything in these parts, seed by seed, and store it."""
    torch.set_num_threads(1)
    names = chapter()
    measure = {"tales": of_tales, "pronouns": of_pronouns, "copying": of_copying,
               "patching": of_patching, "edges": of_edges}  # fmt: skip
    for part in parts or PARTS:
        results = [setting | {"runs": []} for setting in settings(part)]
        for seed in seeds(part):
            for setting, result in zip(settings(part), results, strict=True):
                result["runs"].append({"seed": seed} | measure[part](names, seed, **setting))
        more = {"command": f"python -m helpers.train {' '.join(options(Path('runs/inside')))}"}
        head = about(__file__, seeds(part), **(more if part == "tales" else {}))
        store("inside", part, head | {"settings": results})


if __name__ == "__main__":
    main(sys.argv[1:])
