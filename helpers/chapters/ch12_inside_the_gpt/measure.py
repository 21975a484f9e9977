"""Chapter 12's measurements: a GPT on the tales, readers of pronouns, and copiers.

The parts: ``tales``, the model that ships, by the command that is stored with it (five minutes on
one core; the run is kept in runs/inside, and taken up there if it was stopped); ``pronouns``,
readers of made sentences, two of which ship (three minutes); ``copying``, models that learn to
repeat a word (three minutes); ``patching`` and ``edges``, the same readers and copiers trained
again, by the same seeds, and tested in further ways (two minutes). What ships is written to
helpers/data/checkpoints.
"""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path

import torch
from torch import Tensor, nn

from helpers import train as command
from helpers.attention import watching
from helpers.chapters.ch12_inside_the_gpt.ablations import with_hooks, without_heads, without_part
from helpers.chapters.ch12_inside_the_gpt.copiers import (
    COPY,
    copier,
    learn_to_copy,
    look_at,
    loss_when_known,
    repeats,
)
from helpers.chapters.ch12_inside_the_gpt.readers import (
    HOW,
    TEACH,
    couples,
    how_far,
    measures,
    question,
    reader_of_words,
    resolved,
    sentences,
    teach,
    verb_passed_over,
)
from helpers.chapters.common import measured
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
        *({"causal": True, "L": L} for L in (1, 2, 3)),
        *({"causal": False, "L": L} for L in (1, 2, 3, 4)),
    ],
    "copying": [{"L": L} for L in (1, 2)],
    "patching": [{"causal": True, "L": 3}],
    "edges": [{"L": 2}],
}
SEEDS = {part: range(1 if part == "tales" else 5) for part in SETTINGS}


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
    more = ["--resume"] if checkpoints.every(Path(RUN)) else []
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
    for old in checkpoints.every(SHIPPED / name):
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
        ship_reader(KEPT[causal, L], reader, seed, causal)
    return rounded(measures(reader, causal, sentences().asked_ids))


def ship_reader(name: str, reader: nn.Module, seed: int, causal: bool) -> None:
    """Put a reader into the package, with all that it was made of and by."""
    config = TEACH | {"seed": seed, "causal": causal}
    extra = {"vocab": sentences().vocabulary, "model": asdict(reader.config)}
    ship(name, TEACH["steps"], checkpoints.model_tensors(reader), config, [], extra)


def of_patched(seed: int, *, causal: bool, L: int) -> dict:
    """What patches do to a reader of words."""
    reader = teach(reader_of_words(L, seed=seed, causal=causal), causal=causal, seed=seed)
    return patches(reader, causal)


def patches(reader: nn.Module, causal: bool) -> dict:
    """How far patches move the answer of a reader of words, and what it makes of the verb."""
    shown, place = question(sentences().asked_ids, causal)
    with torch.no_grad(), watching(reader) as maps:
        logits = reader(shown)
    run = {
        "resolved": resolved(logits, sentences().asked_ids, place),
        "moved": how_far(reader, *couples()).tolist(),
        "adjective": [a[:, :, place, HOW].mean(0).tolist() for a in maps],
        "verb passed over": verb_passed_over(reader, causal),
    }
    return rounded(run)


# --- copiers --------------------------------------------------------------------------------


def of_copier(seed: int, *, L: int) -> dict:
    """The loss and the heads' habits of a copier in the course of its training."""
    rows, length_B = repeats(128, torch.Generator().manual_seed(99))
    looks, shown = [], []

    def look(step, model):
        if step % EVERY:
            return
        looks.append(look_at(model, rows, length_B))
        if seed == 0 and L == 2:
            with watching(model) as maps:
                model(rows[:1, :32])
            shown.append(maps)

    model = learn_to_copy(copier(L, seed=seed), seed=seed, on_step=look)
    without = [
        [loss_without(model, rows, length_B, (layer, head)) for head in range(8)]
        for layer in range(L)
    ]
    longer, longer_B = repeats(128, torch.Generator().manual_seed(98), low=17, high=24)
    with torch.no_grad():
        logits = model(longer[:, :-1])
    run = {
        "loss": looks[-1]["loss"],
        "longer": loss_when_known(logits, longer[:, 1:], longer_B).item(),
        "without": without,
        "losses": [look["loss"] for look in looks],
        "before": [look["before"] for look in looks],
        "followed": [look["followed"] for look in looks],
    }
    return rounded(run) | (of_two_heads(looks[-1], shown) if shown else {})


def loss_without(model, rows, length_B, head: tuple[int, int]) -> float:
    """What a copier loses with one head, (layer, head) counted from 0, silenced."""
    logits = with_hooks(without_heads(model, [head]), model, rows[:, :-1])
    return loss_when_known(logits, rows[:, 1:], length_B).item()


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


def of_edge(seed: int, *, L: int) -> dict:
    """What a copier loses without one reading of its first layer."""
    return edges(learn_to_copy(copier(L, seed=seed), seed=seed))


def edges(model: nn.Module) -> dict:
    """What a copier loses without one reading of the head of layer 1 that reads the letter before.

    Without the weights on the letter before, and without all others.
    """
    rows, length_B = repeats(128, torch.Generator().manual_seed(99))
    look = look_at(model, rows, length_B)
    head = (0, int(torch.tensor(look["before"][0]).argmax()))
    ids, T = rows[:, :-1], rows.shape[1] - 1
    before_TT = torch.diag(torch.ones(T - 1), -1)
    losses = [
        loss_when_known(without_part(model, head, at_TT, ids), rows[:, 1:], length_B).item()
        for at_TT in (before_TT, 1 - before_TT)
    ]
    run = {"loss": look["loss"], "without before": losses[0], "before alone": losses[1]}
    return {"head": list(head)} | rounded(run)


# --- the parts ------------------------------------------------------------------------------

RUNS: dict[str, Callable[..., dict]] = {
    "pronouns": of_reader,
    "patching": of_patched,
    "copying": of_copier,
    "edges": of_edge,
}


def made(part: str) -> dict[str, dict]:
    """Of what and how the models of a part are made."""
    if part in ("pronouns", "patching"):
        return {"model": shape_of(reader_of_words(1, seed=0)), "training": TEACH}
    return {"model": shape_of(copier(1, seed=0)), "training": COPY}


def every_seed(part: str) -> dict:
    """Train and measure everything in a part."""
    return measured(RUNS[part], settings(part), SEEDS[part], **made(part))


PARTS: dict[str, Callable[[], dict]] = {
    "tales": tales,
    **{part: partial(every_seed, part) for part in RUNS},
}
