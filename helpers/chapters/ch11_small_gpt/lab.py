"""Chapter 11's measurements: counted tables, what a trained model writes, and stored runs.

The parts: ``levers``, a smaller model with one choice changed, 240 steps; ``rates``, the same at a
grid of learning rates, one seed; ``whole``, the run of the preset "cpu" on the tales and on tiny
Shakespeare; ``longer``, the same on the tales with three times the steps; ``decoding``, in the
module of that name.
Tiny Shakespeare is looked for in the folder that BOOK_DATA_DIR names, else downloaded.
"""

import importlib.resources
import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from helpers import corpus, tokenizers
from helpers.chapters import stored
from helpers.chapters.ch11_small_gpt import decoding
from helpers.chapters.lab import (
    measured,
    over_seeds,
    rounded,
    spread,
    table,
)
from helpers.chapters.lab import runs as runs_of
from helpers.gpt import GPT, GPTConfig
from helpers.train import PRESETS, every_field, training_config
from helpers.training import fit

SEEDS = {
    "levers": range(8),
    "rates": [8],
    "whole": range(2),
    "longer": range(3),
    "decoding": decoding.TALES,
}
TIMES = 3  # how many times longer the longer run is
NAMES = ("unigram", "bigram", "trigram", "4-gram", "5-gram", "6-gram", "7-gram")
BEGIN = 10  # first losses of a run that are stored


# --- counted tables -------------------------------------------------------------------------


def tally(ids, n, V):
    """How often each run of n characters occurs, and each run of the n − 1 before its last."""
    runs = np.lib.stride_tricks.sliding_window_view(ids, n)
    codes = runs @ (V ** np.arange(n)[::-1])  # a run as one number
    return (
        np.unique(codes, return_counts=True),
        np.unique(codes // V, return_counts=True),
        codes,
    )


def look_up(found, codes):
    """How often runs with these codes were found."""
    known, times = found
    at = np.searchsorted(known, codes).clip(max=len(known) - 1)
    return np.where(known[at] == codes, times[at], 0)


def longer(p, counts, codes, V, k):
    """One character more of context: the counts, and k counts' worth of the shorter table."""
    runs, heads, _ = counts
    return (look_up(runs, codes) + k * p) / (look_up(heads, codes // V) + k)


def along(p, counts, ids, n, V, k):
    """The same for every character of a text but the first; p is the shorter table's."""
    codes = tally(ids, n, V)[2][1 if n == 1 else 0 :]
    better = p.copy()  # the first few have too little before them
    better[len(p) - len(codes) :] = longer(p[len(p) - len(codes) :], counts, codes, V, k)
    return better


class Counted(NamedTuple):
    """Counted tables of 1, 2, … characters: their losses on a text, their k, and the counts."""

    losses: list[float]
    ks: list[int]
    tallies: list


def count_losses(train_ids, ids, V, orders=7):
    """Tables of 1, 2, … characters, and their losses on a text; k is chosen in training text."""
    cut = int(0.9 * len(train_ids))
    fit_ids, held_ids = train_ids[:cut], train_ids[cut:]
    p_held = np.full(len(held_ids) - 1, 1 / V)
    p, found = np.full(len(ids) - 1, 1 / V), Counted([], [], [])
    for n in range(1, orders + 1):
        counts = tally(fit_ids, n, V)
        tried = {k: along(p_held, counts, held_ids, n, V, k) for k in (1, 2, 5, 10, 20, 50)}
        k = min(tried, key=lambda k: -np.log(tried[k]).mean())
        p_held, whole = tried[k], tally(train_ids, n, V)
        p = along(p, whole, ids, n, V, k)
        found.losses.append(float(-np.log(p).mean()))
        found.ks.append(k)
        found.tallies.append(whole)
    return found


def tables_along(counted, x_BT, V, first=8):
    """What each counted table gives every character at the places from `first` on: (B, T, V)."""
    B, T = x_BT.shape
    p_BTV, found = np.full((B, T - first, V), 1 / V), {}
    for n, name in enumerate(NAMES, start=1):
        heads_BT = np.zeros((B, T - first), dtype=np.int64)
        for back in range(n - 1):
            heads_BT += x_BT[:, first - back : T - back] * V**back
        codes_BTV = heads_BT[..., None] * V + np.arange(V)
        p_BTV = longer(p_BTV, counted.tallies[n - 1], codes_BTV, V, counted.ks[n - 1])
        found[name] = p_BTV
    return found


def resemblance(gpts, ids, counted):
    """How much probability lies elsewhere in a model than in each table; and a control.

    The control, under "flattened", is the 7-gram table, made less sure of itself in the way that
    brings it nearest to the bigram table.
    """
    one = next(iter(gpts.values()))
    x_BT, _ = next(corpus.windows(ids, one.T, batch_size=32))
    tables = tables_along(counted, x_BT.numpy(), one.head.out_features)

    def apart(p_BTV):
        return {n: np.abs(p_BTV - q_BTV).sum(-1).mean() / 2 for n, q_BTV in tables.items()}

    with torch.no_grad():
        found = {s: apart(gpt(x_BT)[:, 8:].softmax(-1).numpy()) for s, gpt in gpts.items()}
    powers = (tables["7-gram"] ** power for power in np.linspace(0, 1, 21))
    flat = (apart(p_BTV / p_BTV.sum(-1, keepdims=True)) for p_BTV in powers)
    return found | {"flattened": min(flat, key=lambda distances: distances["bigram"])}


# --- what a model costs and writes ----------------------------------------------------------


def costs_of(model, ids):
    """−log p of each character, in windows of a minigpt's context: (windows, T)."""
    whole = (len(ids) - 1) // model.T * model.T
    with torch.no_grad():
        return torch.cat(
            [
                F.cross_entropy(model.eval()(x_BT).mT, y_BT, reduction="none")
                for x_BT, y_BT in corpus.windows(ids[: whole + 1], model.T)
            ]
        )


def repeats(text, n=20):
    """The share of a text's runs of n characters that stand in it earlier on."""
    every = [text[i : i + n] for i in range(len(text) - n + 1)]
    return 1 - len(set(every)) / len(every)


def holds(claim: bool, usual: bool, words: str) -> None:
    """Assert a claim in the settings of the page; in others say where it does not hold."""
    assert claim or not usual, words
    if not claim:
        warnings.warn(f"With your settings this does not hold: {words}.", stacklevel=2)


# --- the parts ------------------------------------------------------------------------------

SMALL = {
    "context": 64,
    "layers": 2,
    "heads": 4,
    "width": 64,
    "norm": "rms",
    "placement": "pre",
    "positions": "rope",
    "qk_norm": True,
    "tied": False,
    "activation": "gelu",
    "start": "gpt2",  # weights begin at 0.02
}
SHORT = {
    "steps": 240,
    "batch_size": 12,
    "optimizer": "muon",
    "matrix_lr": 0.02,
    "lr": 0.01,
    "warmup": 10,
    "final": 0.0,
}
CHANGES: dict[str, dict] = {  # measured from both starts
    "positions: none": {"positions": "none"},
    "norm: none": {"norm": "none"},
    "activation: none": {"activation": "none"},
}
START, OTHER = {"start": "fan_in"}, "1/√fan-in; "
LEVERS: dict[str, dict] = {
    "nothing": {},
    **CHANGES,
    "positions: learned": {"positions": "learned"},
    "norm: LayerNorm": {"norm": "layer"},
    "norm after the sum": {"placement": "post"},
    "no QK norm": {"qk_norm": False},
    "output tied to the embedding": {"tied": True},
    "activation: squared ReLU": {"activation": "relu2"},
    "one head": {"heads": 1},
    "context 16": {"context": 16, "batch_size": 48},
    "rate held, not let fall": {"final": 1.0},
    "weights of 1/√fan-in": START,
} | {OTHER + name: START | moved for name, moved in CHANGES.items()}
RATES = {"adamw": (0.003, 0.01, 0.03), "muon": (0.01, 0.02, 0.04)}  # of the matrices
GRID: list[dict] = [
    {"optimizer": optimizer, "start": start, "lr": lr, "matrix_lr": matrix_lr}
    for optimizer, rates in RATES.items()
    for start in ("gpt2", "fan_in")
    for lr in (0.01, 0.02, 0.04, 0.08)  # of the tables and vectors
    for matrix_lr in rates
]


class Halt(Exception):
    """A run is to end before its last step."""


def recipe(part: str, **moved) -> dict[str, dict]:
    """Each field of the model and of the training of a part, with some moved; no seed."""
    model, how = PRESETS["cpu"]["model"], PRESETS["cpu"]["training"]
    looks = 1 if part in ("levers", "rates") else 4
    if looks == 1:
        model, how = SMALL, SHORT
    model, how = ({name: moved.get(name, v) for name, v in one.items()} for one in (model, how))
    steps = how["steps"] * (TIMES if part == "longer" else 1)
    found = every_field(model, how | {"steps": steps, "evaluate_every": steps // looks})
    del found["training"]["seed"]
    return found


def trained(recipe: Mapping, text: str, seed: int, *, halt: int | None = None):
    """Train a GPT on a text by a recipe, to its end or so many steps, and give the records."""
    tokenizer = tokenizers.CharTokenizer(corpus.load(text))
    train_ids, validation_ids = corpus.split(tokenizer.encode(corpus.load(text)))
    shape = GPTConfig(vocab_size=len(tokenizer), **recipe["model"])
    config = training_config(recipe["training"] | {"seed": seed}, context=shape.context)
    model = GPT(shape, generator=torch.Generator().manual_seed(seed))
    records = []

    def keep(record):
        records.append(record)
        if len(records) == halt:
            raise Halt

    with suppress(Halt):
        fit(model, train_ids, validation_ids, config, on_record=keep, progress=False)
    return records


def short(seed: int, *, lever: str = "nothing", **moved) -> dict:
    """Validation loss of a smaller model, trained for a short while with some fields moved."""
    records = trained(recipe("levers", **LEVERS[lever] | moved), "tales", seed)
    return {"validation": round(records[-1].validation, 4)}


def of_whole(seed: int, *, text: str, steps: int) -> dict:
    """The validation loss at the end, and the first losses."""
    part = "whole" if recipe("whole")["training"]["steps"] == steps else "longer"
    records = trained(recipe(part), text, seed)
    return {
        "validation": round(records[-1].validation, 4),
        "first losses": rounded(record.loss for record in records[:BEGIN]),
        "seconds": round(records[-1].seconds),
    }


def counted(text: str) -> list[float]:
    """The losses of counted tables of 1, 2, … characters on a text, in nats."""
    tokenizer = tokenizers.CharTokenizer(corpus.load(text))
    train_ids, ids = (ids.numpy() for ids in corpus.split(tokenizer.encode(corpus.load(text))))
    return rounded(count_losses(train_ids, ids, len(tokenizer)).losses)


def settings(part: str) -> list[dict]:
    """What is measured in a part, each setting with every seed of the part."""
    if part == "rates":
        return GRID
    if part == "levers":
        return [{"lever": lever} for lever in LEVERS]
    if part == "decoding":
        return decoding.SETTINGS
    steps = recipe(part)["training"]["steps"]
    texts = ("tales", "tinyshakespeare") if part == "whole" else ("tales",)
    return [{"text": text, "steps": steps} for text in texts]


def many_short(part: str, **more) -> dict:
    """Short runs of the smaller model, in every setting of a part."""
    return measured(short, settings(part), SEEDS[part], **recipe(part), **more)


def whole(part: str) -> dict:
    """The run of the preset, or the longer one, and beside it what counting gives."""
    found = measured(of_whole, settings(part), SEEDS[part], **recipe(part))
    for setting in found["settings"]:
        setting["counted"] = counted(setting["text"])
    return found


PARTS: dict[str, Callable[[], dict]] = {
    "levers": partial(many_short, "levers", moved=LEVERS),
    "rates": partial(many_short, "rates"),
    "whole": partial(whole, "whole"),
    "longer": partial(whole, "longer"),
    "decoding": lambda: measured(decoding.run, settings("decoding"), SEEDS["decoding"]),
}


# --- tables of what is stored ---------------------------------------------------------------

STORIES = importlib.resources.files("helpers") / "data" / "results" / "minigpt.json"


def stories() -> dict:
    """What `benchmarks/minigpt.py` found of the checkpoint that it ships."""
    return json.loads(STORIES.read_text("utf-8"))


def ends(part: str, what: str = "validation", **setting) -> np.ndarray:
    """A number of each stored run of a setting."""
    return over_seeds(runs_of(stored(11)[part], **setting), what)


def moved(lever: str, start: str = "") -> np.ndarray:
    """By how much a change raises the stored loss, seed by seed, from either initialisation."""
    from_there = "weights of 1/√fan-in" if start else "nothing"
    return ends("levers", lever=start + lever) - ends("levers", lever=from_there)


def levers_moved() -> dict[str, np.ndarray]:
    """The same for every change from the first initialisation, the smallest first."""
    found = {name: moved(name) for name in LEVERS if name != "nothing" and ";" not in name}
    return dict(sorted(found.items(), key=lambda item: item[1].mean()))


def starts_table() -> str:
    """The changes that were measured from both initialisations."""
    both = ["nothing", "weights of 1/√fan-in"]
    rows = [["none: the loss itself", *(spread(ends("levers", lever=name)) for name in both)]]
    rows += [
        [name, *(spread(moved(name, start), signed=True) for start in ("", OTHER))]
        for name in CHANGES
    ]
    return table("change|from 0.02|from 1/√fan-in", rows)


def decoding_table() -> str:
    """How surprised the model is by what each rule of decoding adds to held-out tales."""
    found = {s["rule"]: ends("decoding", "surprise", **s) for s in settings("decoding")}
    tale = found["the tale itself"]
    rows = [
        [rule, spread(x, 3), f"{(x < tale).sum()} of {len(x)}" if x is not tale else ""]
        for rule, x in found.items()
    ]
    return table("rule|nats per token|less surprising than the tale", rows)


def resemblance_table(found: Mapping[object, Mapping[str, float]]) -> str:
    """What `resemblance` found, the nearest table in bold."""
    rows = []
    for label, apart in found.items():
        least = min(apart.values())
        rows.append(
            [label, *(f"**{d:.2f}**" if d == least else f"{d:.2f}" for d in apart.values())]
        )
    return table("after steps|" + "|".join(NAMES), rows)
