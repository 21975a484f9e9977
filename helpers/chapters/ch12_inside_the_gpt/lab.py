"""Chapter 12's measurements: a GPT on the tales, readers of pronouns, and copiers.

The parts: ``tales``, the model that ships, by the command that is stored with it (five minutes on
one core; the run is kept in runs/inside, and taken up there if it was stopped); ``pronouns``,
readers of made sentences, two of which ship (three minutes); ``copying``, models that learn to
repeat a word (three minutes). What ships is written to helpers/data/checkpoints.
"""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from helpers import corpus
from helpers import train as command
from helpers.chapters import stored
from helpers.chapters.ch12_inside_the_gpt.ablations import with_hooks, without_heads
from helpers.chapters.ch12_inside_the_gpt.copiers import (
    COPY,
    copier,
    learn_to_copy,
    look_at,
    loss_when_known,
    repeats,
)
from helpers.chapters.ch12_inside_the_gpt.readers import (
    TEACH,
    couples,
    how_far,
    measures,
    reader_of_words,
    sentences,
    teach,
)
from helpers.chapters.lab import characters, measured, runs
from helpers.record import record_attention
from helpers.training import checkpoints

SHIPPED = Path(str(files("helpers"))) / "data" / "checkpoints"
EVERY = 25  # updates between two looks at a copier
BEGIN = 10  # first losses of the run on the tales that are stored
KEPT = {(True, 3): "asked", (False, 4): "both_ways"}  # readers of seed 0 that ship
RUN = "runs/inside"
COMMAND = f"--preset tales --out {RUN}"
SETTINGS: dict[str, list[dict]] = {
    "tales": [{"preset": "tales"}],
    "pronouns": [
        *({"causal": True, "L": L} for L in (2, 3)),
        *({"causal": False, "L": L} for L in (1, 2, 3, 4)),
    ],
    "copying": [{"L": L} for L in (1, 2)],
}
SEEDS = {part: range(1 if part == "tales" else 8) for part in SETTINGS}


def settings(part: str) -> list[dict]:
    """What is trained in a part, each setting with every seed."""
    return SETTINGS[part]


def rounded(value, digits: int = 4):
    """A number, or lists of numbers, with few digits."""
    if isinstance(value, dict):
        return {key: rounded(part, digits) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part, digits) for part in value]
    return round(value, digits)


def shape_of(model: nn.Module) -> dict:
    """Each field of a model's configuration but its depth, which is a setting."""
    return {name: value for name, value in asdict(model.config).items() if name != "layers"}


# --- the model that ships -------------------------------------------------------------------


def tales() -> dict:
    """Train by the command, and ship the model without what only training needs."""
    more = ["--resume"] if checkpoints.list_checkpoints(Path(RUN)) else []
    if (status := command.main([*COMMAND.split(), "--quiet", *more])) != 0:
        raise RuntimeError(f"the command ended with status {status}")
    whole = checkpoints.load(Path(RUN))
    kept = [record for record in whole.records if record["validation"] is not None]
    ship("tales", whole.step, whole.model, whole.config, kept, whole.extra)
    run = {
        "validation": round(kept[-1]["validation"], 4),
        "after updates": [record["step"] + 1 for record in kept],
        "then": rounded([record["validation"] for record in kept]),
        "first losses": rounded([record["loss"] for record in whole.records[:BEGIN]]),
    }
    return {
        "seeds": [whole.config["seed"]],
        "command": f"python -m helpers.train {COMMAND}",
        "model": whole.extra["model"],
        "training": whole.extra["training"],
        "settings": [SETTINGS["tales"][0] | {"runs": [{"seed": whole.config["seed"]} | run]}],
    }


def ship(
    name: str, step: int, model: dict[str, Tensor], config: dict, records: list, extra: dict
) -> None:
    """Put a model into the package, as a checkpoint with the parameters alone."""
    for old in checkpoints.list_checkpoints(SHIPPED / name):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    whole = checkpoints.Checkpoint(
        step=step, model=model, config=config, records=records, extra=extra
    )
    checkpoints.save(SHIPPED / name, whole)


# --- readers of pronouns --------------------------------------------------------------------


def of_reader(seed: int, *, causal: bool, L: int) -> dict:
    """What a trained reader of words does with sentences that it never saw; some of them ship."""
    reader = teach(reader_of_words(L, seed=seed, causal=causal), causal=causal, seed=seed)
    if seed == 0 and (causal, L) in KEPT:
        config = TEACH | {"seed": seed, "causal": causal}
        extra = {"vocab": sentences().vocabulary, "model": asdict(reader.config)}
        tensors = checkpoints.model_tensors(reader)
        ship(KEPT[causal, L], TEACH["steps"], tensors, config, [], extra)
    return answers(reader, causal)


def answers(reader: nn.Module, causal: bool) -> dict:
    """What a reader of words answers; of causal ones of three layers also what patches change."""
    found = measures(reader, causal, sentences().asked_ids)
    if causal and reader.config.layers == 3:
        found["moved"] = how_far(reader, *couples()).tolist()
    return rounded(found)


# --- copiers --------------------------------------------------------------------------------


def of_copier(seed: int, *, L: int) -> dict:
    """The loss and the heads' habits of a copier in the course of its training.

    Of one of two layers also the maps, in whole percent and on one row, of the head of layer 2
    that ends up reading most what followed.
    """
    rows, length_B = repeats(128, torch.Generator().manual_seed(99))
    looks, maps = [], []

    def look(step, model):
        if step % EVERY == 0:
            looks.append(look_at(model, rows, length_B))
            with record_attention(model) as seen:
                model(rows[:1, :32])
            maps.append(seen[-1][0])

    def loss_without(layer, head):
        logits = with_hooks(without_heads(model, [(layer, head)]), model, rows[:, :-1])
        return loss_when_known(logits, rows[:, 1:], length_B).item()

    model = learn_to_copy(copier(L, seed=seed), seed=seed, on_step=look)
    run = {
        "loss": looks[-1]["loss"],
        "without": [[loss_without(layer, head) for head in range(8)] for layer in range(L)],
        "losses": [look["loss"] for look in looks],
        "before": [look["before"] for look in looks],
        "followed": [look["followed"] for look in looks],
    }
    if seed > 0 or L == 1:
        return rounded(run)
    head = int(np.argmax(looks[-1]["followed"][1]))
    return rounded(run) | {"maps": [(100 * a[head]).round().int().tolist() for a in maps]}


# --- what the chapter shows -----------------------------------------------------------------


def span(values, kind: str = ".0%") -> str:
    """The smallest and the largest, over seeds or heads."""
    low, high = (f"{f(np.ravel(values)):{kind}}".replace("-", "−") for f in (np.min, np.max))
    return low if low == high else f"{low} … {high}"


def kept(part: str, key: str, **setting) -> np.ndarray:
    """What all seeds of a setting hold under a key."""
    return np.array([run[key] for run in runs(stored(12)[part], **setting)])


def windows(every: int = 5) -> tuple[Tensor, Tensor]:
    """Windows of 64 letters of the validation text, every fifth or all, and what follows."""
    whole = list(corpus.windows(characters().validation, 64))[:-1]
    x_NT, y_NT = (torch.cat(part) for part in zip(*whole, strict=True))
    many = len(x_NT) // every // 5 * 5
    return x_NT[::every][:many], y_NT[::every][:many]


def shipped_reader() -> nn.Module:
    """The causal reader of words that ships, of three layers and seed 0."""
    reader = reader_of_words(3, seed=0)
    checkpoints.restore_model(reader, checkpoints.load(SHIPPED / KEPT[True, 3]).model)
    return reader.eval()


def look_last() -> np.ndarray:
    """Readers of two layers and more that look hardest at the referent in the last layer.

    What a cut there loses, a number each.
    """
    lost = []
    for setting in (one for one in SETTINGS["pronouns"] if one["L"] > 1):
        right, cut, whole = (
            kept("pronouns", key, **setting) for key in ("right", "cut right", "resolved")
        )
        last = right.mean(axis=2).argmax(axis=1) == setting["L"] - 1
        lost += list((whole - cut[:, -1])[last])
    return np.array(lost)


def copied() -> dict:
    """Copiers of two layers, a row a seed: in training, and what they lose without a head.

    "stripe" is the head of layer 2 that ends up reading most what followed, "previous" the one of
    layer 1 that reads the letter before; "other" are the costliest of the rest.
    """
    followed, before, losses, without = (
        kept("copying", key, L=2) for key in ("followed", "before", "losses", "without")
    )
    last, cost_SLH = followed[:, -1, 1], without - losses[:, -1, None, None]
    seeds, stripe, previous = range(len(last)), last.argmax(axis=1), before[:, -1, 0].argmax(axis=1)
    others = np.arange(8) != previous[:, None]
    return {
        "losses": losses,
        "followed": followed[:, :, 1].max(axis=2),
        "before": before[:, :, 0].max(axis=2),
        "stripe cost": cost_SLH[seeds, 1, stripe],
        "other stripe cost": np.where(last < 0.6, cost_SLH[:, 1], 0).max(axis=1),
        "stripes": (last > 0.6).sum(axis=1),
        "previous cost": cost_SLH[seeds, 0, previous],
        "other previous cost": np.where(others, cost_SLH[:, 0], 0).max(axis=1),
        "head": stripe[0],
        "maps": runs(stored(12)["copying"], L=2)[0]["maps"],
    }


def letters_known(length_B: Tensor, T: int = 48) -> float:
    """Nats where one knows which letters a repeated word has, and no more."""
    known_B = T - length_B + 1
    return ((length_B.log() * known_B).sum() / known_B.sum()).item()


# --- the parts ------------------------------------------------------------------------------

RUNS: dict[str, Callable[..., dict]] = {"pronouns": of_reader, "copying": of_copier}


def made(part: str) -> dict[str, dict]:
    """Of what and how the models of a part are made."""
    if part == "pronouns":
        return {"model": shape_of(reader_of_words(1, seed=0)), "training": TEACH}
    return {"model": shape_of(copier(1, seed=0)), "training": COPY}


def every_seed(part: str) -> dict:
    """Train and measure everything in a part."""
    return measured(RUNS[part], settings(part), SEEDS[part], **made(part))


PARTS: dict[str, Callable[[], dict]] = {
    "tales": tales,
    **{part: partial(every_seed, part) for part in RUNS},
}
