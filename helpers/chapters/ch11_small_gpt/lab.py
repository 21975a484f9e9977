"""Chapter 11's measurements: counted tables, what a trained model writes, and stored runs.

The parts: ``levers``, a smaller minigpt with one choice changed, 400 steps; ``whole``, twice the
blocks and steps of the chapter's run, on the tales and on tiny Shakespeare; ``counted``, tables of
both texts; ``decoding``, in the module of that name. Tiny Shakespeare is looked for in the folder
that BOOK_DATA_DIR names, or else in the current one; save it there first.
"""

import importlib.resources
import json
import warnings
from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers import corpus, minigpt, variants
from helpers.chapters.ch11_small_gpt import decoding
from helpers.chapters.lab import Part, evaluate, rounded, seeded, spread, table

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


def count_losses(train_ids, ids, V, orders=7):
    """Losses of tables of 1, 2, … characters on a text, by name; k is chosen in training text."""
    cut = int(0.9 * len(train_ids))
    fit_ids, held_ids = train_ids[:cut], train_ids[cut:]
    p_held = np.full(len(held_ids) - 1, 1 / V)
    p, losses = np.full(len(ids) - 1, 1 / V), {}
    for n, name in enumerate(NAMES[:orders], start=1):
        counts = tally(fit_ids, n, V)
        tried = {k: along(p_held, counts, held_ids, n, V, k) for k in (1, 2, 5, 10, 20, 50)}
        k = min(tried, key=lambda k: -np.log(tried[k]).mean())
        p_held = tried[k]
        p = along(p, tally(train_ids, n, V), ids, n, V, k)
        losses[name] = float(-np.log(p).mean())
    return losses


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


def bits(model, tokenizer, ids, windows=64):
    """The loss in bits per character of the text, on so many windows."""
    ids = ids[: windows * model.T + 1]
    nats = costs_of(model, ids).sum().item()
    return nats / np.log(2) / len(tokenizer.decode(ids[1:]))


def forward_steps(model):
    """The tensors that forward makes of tokens 0, 1, 2, …, by the line that makes them."""
    with torch.no_grad():
        ids_T1 = torch.arange(model.T)[:, None].float()
        embedded_TC = model.embedding.weight[: model.T]
        x_TC = embedded_TC + model.position.weight
        read_TC = model.norm(model.blocks(x_TC[None]))[0]
        made = {
            "ids\n(T)": ids_T1,
            "embedding\n(T, C)": embedded_TC,
            "+ position\n(T, C)": x_TC,
            "blocks, norm\n(T, C)": read_TC,
            "head: logits\n(T, V)": model.head(read_TC),
        }
    return {name: tensor.detach().numpy() for name, tensor in made.items()}


def watched(run, model, ids, at=(1, 50, 100, 200, 400, 600)):
    """The losses of a training as it runs, and at some steps the loss on another text."""
    losses, elsewhere = [], {}
    for step, loss in run:
        losses.append(loss)
        if step in at:
            elsewhere[step] = costs_of(model, ids).mean().item()
    return losses, elsewhere


def holds(claim: bool, usual: bool, words: str) -> None:
    """Assert a claim in the settings of the page; in others say where it does not hold."""
    assert claim or not usual, words
    if not claim:
        warnings.warn(f"With your settings this does not hold: {words}.", stacklevel=2)


# --- the parts ------------------------------------------------------------------------------

SMALL = {"T": 64, "C": 64, "H": 4, "L": 2}
SHORT = {"steps": 400, "batch": 12}
CHANGES: dict[str, dict[str, Any]] = {  # measured in three settings
    "nothing": {},
    "no positions": {"positions": "none"},
    "no norms": {"norm": "none"},
    "no activation": {"activation": "none"},
}
LEVERS = CHANGES | {
    "RoPE": {"positions": "rope"},
    "RMSNorm": {"norm": "rms"},
    "norm after the sum": {"placement": "post"},
    "squared ReLU": {"activation": "relu2"},
    "one head": {"H": 1},
    "context 16": {"T": 16, "batch": 48},
    "output tied to the embedding": {"tied": True},
    "rate held, not let fall": {"held": True},
}
USUAL: dict[str, Any] = {"start": "gpt2", "lr": 0.01}
ELSEWHERE = {"twice the rate": USUAL | {"lr": 0.02}, "1/√fan-in": USUAL | {"start": "fan_in"}}


def held(step: int, steps: int, peak: float) -> float:
    """Minigpt's learning rate without its fall."""
    return peak * min((step + 1) / 20, 1)


@torch.no_grad()
def widen(model: nn.Module) -> None:
    """Bring the initial matrices from a standard deviation of 0.02 to 1/√fan-in."""
    for parameter in model.parameters():
        if parameter.ndim == 2:
            parameter.mul_(parameter.shape[1] ** -0.5 / 0.02)


@cache
def tokens(text: str) -> tuple[int, torch.Tensor, torch.Tensor]:
    """How many different characters a text has, its ids to train on, and those to validate with."""
    tokenizer = minigpt.Tokenizer(corpus.load(text))
    return len(tokenizer.vocab), *corpus.split(tokenizer.encode(corpus.load(text)))


def short(seed: int, *, lever: str, start: str, lr: float) -> dict:
    """Validation loss of a smaller model, trained for a short while with one choice changed.

    Models of one seed see the same batches.
    """
    how = SMALL | SHORT | LEVERS[lever]
    steps, batch, rate = how.pop("steps"), how.pop("batch"), minigpt.lr_at
    if how.pop("held", False):
        rate = held
    V, train_N, validation_N = tokens("tales")
    with seeded(seed):
        model = variants.GPT(V, **how)
    if start == "fan_in":
        widen(model)
    with seeded(100 + seed), patch.object(minigpt, "lr_at", rate):
        list(minigpt.train(model, train_N, steps, batch, lr))
    return {"validation": round(evaluate(model, corpus.windows(validation_N, model.T)), 4)}


WHOLE = {"T": 64, "C": 128, "H": 4, "L": 4}


def of_whole(seed: int, *, text: str, steps: int, halt: int | None = None) -> dict:
    """The validation loss at the end, or after so many steps, and the first losses."""
    V, train_N, validation_N = tokens(text)
    with seeded(seed):
        model = minigpt.GPT(V, **WHOLE)
        run = minigpt.train(model, train_N, steps, batch=12, lr=0.006)
        losses = [loss for _, loss in islice(run, halt)]
    found = evaluate(model, corpus.windows(validation_N, model.T))
    return {"validation": round(found, 4), "first losses": rounded(losses[:BEGIN])}


def counted(seed: int, *, text: str) -> dict:
    """The losses of counted tables of 1, 2, … characters on a text, in nats; no seed is needed."""
    V, train_N, validation_N = tokens(text)
    return {"losses": rounded(count_losses(train_N.numpy(), validation_N.numpy(), V).values())}


TEXTS = ("tales", "tinyshakespeare")
PARTS = {
    part.name: part
    for part in (
        Part(
            chapter=11,
            name="levers",
            run=short,
            settings=[{"lever": lever} | USUAL for lever in LEVERS]
            + [{"lever": lever} | there for there in ELSEWHERE.values() for lever in CHANGES],
            more={"model": SMALL, "training": SHORT, "moved": LEVERS},
        ),
        Part(
            chapter=11,
            name="whole",
            run=of_whole,
            settings=[{"text": text, "steps": 2000} for text in TEXTS],
            seeds=range(2),
            more={"model": WHOLE},
        ),
        Part(
            chapter=11,
            name="counted",
            run=counted,
            settings=[{"text": text} for text in TEXTS],
            seeds=[0],
        ),
        Part(
            chapter=11,
            name="decoding",
            run=decoding.run,
            settings=decoding.SETTINGS,
            seeds=decoding.TALES,
        ),
    )
}


# --- tables of what is stored ---------------------------------------------------------------

STORIES = importlib.resources.files("helpers") / "data" / "results" / "minigpt.json"


def stories() -> dict:
    """What `benchmarks/minigpt.py` found of the checkpoint that it ships."""
    return json.loads(STORIES.read_text("utf-8"))


def moved(lever: str, there: Mapping[str, Any] = USUAL) -> np.ndarray:
    """By how much a change raises the stored loss, seed by seed."""
    levers = PARTS["levers"]
    return levers.final(lever=lever, **there) - levers.final(lever="nothing", **there)


SHOWN = (
    *("RoPE", "weights of 1/√fan-in", "context 16", "norm after the sum", "one head"),
    *("no norms", "no activation", "no positions"),
)


def levers_moved() -> dict[str, np.ndarray]:
    """The same for every change, wider initial weights among them, the smallest first."""
    found = {name: moved(name) for name in LEVERS if name != "nothing"}
    start = PARTS["levers"].final(lever="nothing", **ELSEWHERE["1/√fan-in"])
    found["weights of 1/√fan-in"] = start - PARTS["levers"].final(lever="nothing", **USUAL)
    return dict(sorted(found.items(), key=lambda item: item[1].mean()))


def elsewhere_table() -> str:
    """The changes that were measured in three settings."""
    levers, settings = PARTS["levers"], [USUAL, *ELSEWHERE.values()]
    first = [spread(levers.final(lever="nothing", **there)) for there in settings]
    rows = [["none: the loss itself", *first]]
    rows += [
        [name, *(spread(moved(name, there), signed=True) for there in settings)]
        for name in CHANGES
        if name != "nothing"
    ]
    return table("change|as above|" + "|".join(ELSEWHERE), rows)


def surprises() -> dict[str, np.ndarray]:
    """The stored surprise of each tale by each rule of decoding."""
    return {s["rule"]: PARTS["decoding"].final("surprise", **s) for s in decoding.SETTINGS}


def decoding_table() -> str:
    """How surprised the model is by what each rule of decoding adds to held-out tales."""
    found = surprises()
    tale = found["the tale itself"]
    rows = [
        [rule, spread(x, 3), f"{(x < tale).sum()} of {len(x)}" if x is not tale else ""]
        for rule, x in found.items()
    ]
    return table("rule|nats per token|less surprising than the tale", rows)
