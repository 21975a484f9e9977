"""Chapter 11's measurements: counted tables, the run of a minute, and one lever moved at a time.

The parts: ``levers``, a smaller model with one choice changed, 240 steps (ten minutes on one core);
``whole``, the run of the preset "cpu" on the tales and on tiny Shakespeare (four minutes);
``longer``, the same on the tales with three times the steps (six minutes). Tiny Shakespeare is
looked for in the folder that BOOK_DATA_DIR names, else downloaded.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from helpers import corpus
from helpers.chapters.common import measured, rounded
from helpers.gpt import GPT, GPTConfig
from helpers.train import PRESETS, every_field, training_config
from helpers.training import fit

SEEDS = {"levers": range(5), "whole": range(2), "longer": range(3)}
TIMES = 3  # how many times longer the longer run is
TEMPERATURES = (0.5, 0.8, 1.0)
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


def kneser_ney(train_ids, ids, V, orders, discounts):
    """−log p of each character but the first, a row for each discount, after Kneser and Ney."""
    D = np.array(discounts)[:, None]
    p = np.full((len(discounts), len(ids) - 1), 1 / V)
    for n in range(1, orders + 1):
        if n == orders:
            runs, times = tally(train_ids, n, V)[0]
        else:  # not how often a run occurs, but after how many characters
            further = tally(train_ids, n + 1, V)[0][0]
            runs, times = np.unique(further % V**n, return_counts=True)
        heads, first = np.unique(runs // V, return_index=True)
        total = np.add.reduceat(times, first)
        kinds = np.diff([*first, len(runs)])  # how many may come next
        codes = tally(ids, n, V)[2][1 if n == 1 else 0 :]
        seen = look_up((heads, total), codes // V)
        left = look_up((runs, times), codes) - D
        spare = D * look_up((heads, kinds), codes // V)
        shorter = p[:, -len(codes) :]
        better = left.clip(min=0) + spare * shorter
        p[:, -len(codes) :] = np.where(seen > 0, better / seen.clip(min=1), shorter)
    return -np.log(p)


def count_losses(train_ids, ids, V, orders=7):
    """The loss of counted tables of 1, 2, … characters, and the k of each."""
    cut = int(0.9 * len(train_ids))  # k is chosen on training text alone
    fit_ids, held_ids = train_ids[:cut], train_ids[cut:]
    p_held = np.full(len(held_ids) - 1, 1 / V)
    p, losses, chosen = np.full(len(ids) - 1, 1 / V), [], []
    for n in range(1, orders + 1):
        counts = tally(fit_ids, n, V)
        tried = {k: along(p_held, counts, held_ids, n, V, k) for k in (1, 2, 5, 10, 20, 50)}
        k = min(tried, key=lambda k: -np.log(tried[k]).mean())
        p_held = tried[k]
        p = along(p, tally(train_ids, n, V), ids, n, V, k)
        losses.append(float(-np.log(p).mean()))
        chosen.append(k)
    return losses, chosen


# --- what a model costs and writes ----------------------------------------------------------


def costs_of(model, ids):
    """−log p of each character, in windows of the model's context: (windows, context)."""
    context = model.config.context
    whole = (len(ids) - 1) // context * context
    with torch.no_grad():
        return torch.cat(
            [
                F.cross_entropy(model(x_BT).transpose(1, 2), y_BT, reduction="none")
                for x_BT, y_BT in corpus.windows(ids[: whole + 1], context)
            ]
        )


def words_of(text):
    """The words of a text, but for the last, which may have been cut off."""
    return re.findall("[a-z]+(?=[^a-z])", text.lower())


def real(texts, known):
    """The share of the words written that are words of the known text."""
    found = [word in known for text in texts for word in words_of(text)]
    return float(np.mean(found)) if found else 0.0


def write(model, prompts_BT, n, *, temperature, generator, top_k=None):
    """Write n characters after each prompt; a full context is read afresh from its last half."""
    half, ids_BT = model.config.context // 2, prompts_BT
    while (missing := prompts_BT.shape[1] + n - ids_BT.shape[1]) > 0:
        read_BT = ids_BT[:, -half:]
        longer_BT = model.generate(
            read_BT,
            min(half, missing),
            temperature=temperature,
            top_k=top_k,
            generator=generator,
        )
        ids_BT = torch.cat([ids_BT, longer_BT[:, read_BT.shape[1] :]], 1)
    return ids_BT


def written(model, tokenizer, temperature, *, seed, texts=16, n=240):
    """So many texts by a model, each begun from the end of a line."""
    device = next(model.parameters()).device
    start_BT = tokenizer.encode("\n").to(device).repeat(texts, 1)
    generator = torch.Generator().manual_seed(seed)
    ids_BT = write(model, start_BT, n, temperature=temperature, generator=generator)
    return [tokenizer.decode(ids_T[1:]) for ids_T in ids_BT.cpu()]


# --- the parts ------------------------------------------------------------------------------

SMALL = {
    "context": 64, "layers": 2, "heads": 4, "width": 64, "norm": "rms", "placement": "pre",
    "positions": "rope", "qk_norm": True, "tied": False, "activation": "gelu",
    "start": "gpt2",  # weights begin at 0.02
}  # fmt: skip
SHORT = {
    "steps": 240, "batch_size": 12, "optimizer": "muon", "matrix_lr": 0.02, "lr": 0.01,
    "warmup": 10, "final": 0.0,
}  # fmt: skip
ADAMW = {"optimizer": "adamw", "matrix_lr": None}  # one rate for all
TWO_RATES = {"optimizer": "adamw", "lr": 0.04, "matrix_lr": 0.01}
START = {"start": "fan_in"}
LEVERS: dict[str, dict] = {
    "nothing": {},
    "positions: learned": {"positions": "learned"},
    "positions: none": {"positions": "none"},
    "norm: LayerNorm": {"norm": "layer"},
    "norm: none": {"norm": "none"},
    "norm after the sum": {"placement": "post"},
    "no QK norm": {"qk_norm": False},
    "output tied to the embedding": {"tied": True},
    "activation: squared ReLU": {"activation": "relu2"},
    "activation: none": {"activation": "none"},
    "one head": {"heads": 1},
    "context 16": {"context": 16, "batch_size": 48},
    "rate held, not let fall": {"final": 1.0},
    "Muon at 0.005": {"matrix_lr": 0.005},
    "Muon at 0.08": {"matrix_lr": 0.08},
    "AdamW at 0.001": ADAMW | {"lr": 0.001},
    "AdamW at 0.003": ADAMW | {"lr": 0.003},
    "AdamW at 0.01": ADAMW | {"lr": 0.01},
    "AdamW at 0.04, matrices at 0.01": TWO_RATES,
    "start at 1/√fan-in": START,
}
FROM_START: dict[str, dict] = {  # once more, from the other start
    "positions: none": {"positions": "none"},
    "norm: none": {"norm": "none"},
    "activation: none": {"activation": "none"},
    "AdamW at 0.04, matrices at 0.01": TWO_RATES,
}
LEVERS |= {f"1/√fan-in; {name}": START | moved for name, moved in FROM_START.items()}


class Halt(Exception):
    """A run is to end before its last step."""


def recipe(part: str, lever: str = "nothing") -> dict[str, dict]:
    """Each field of the model and of the training of a part, with one lever moved; no seed."""
    model, how, looks = PRESETS["cpu"]["model"], PRESETS["cpu"]["training"], 4
    if part == "levers":
        model, how = (
            {name: LEVERS[lever].get(name, usual) for name, usual in of.items()}
            for of in (SMALL, SHORT)
        )
        looks = 1
    steps = how["steps"] * (TIMES if part == "longer" else 1)
    how = how | {"steps": steps, "evaluate_every": steps // looks}
    found = every_field(model, how)
    del found["training"]["seed"]
    return found


def trained(recipe: Mapping, text: str, seed: int, *, halt: int | None = None):
    """Train a GPT on a text by a recipe, to its end or so many steps: model, tokenizer, records."""
    tokenizer = corpus.CharTokenizer(corpus.load(text))
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
    return model.eval(), tokenizer, records


def with_lever(lever: str, seed: int) -> float:
    """Validation loss of a smaller model, trained for a short while with one lever moved."""
    return trained(recipe("levers", lever), "tales", seed)[2][-1].validation


def of_whole(seed: int, *, text: str, steps: int) -> dict:
    """The validation losses on the way, and how many of the words that it writes are real.

    Windows of the validation text begin with nothing before them, so the loss of their second
    halves is measured, too.
    """
    part = next(part for part in ("whole", "longer") if recipe(part)["training"]["steps"] == steps)
    model, tokenizer, records = trained(recipe(part), text, seed)
    train_ids, validation_ids = corpus.split(tokenizer.encode(corpus.load(text)))
    losses = {r.step + 1: round(r.validation, 4) for r in records if r.validation}
    known = set(words_of(tokenizer.decode(train_ids)))
    late_NT = costs_of(model, validation_ids)[:, model.config.context // 2 :]
    texts = {t: written(model, tokenizer, t, seed=seed) for t in TEMPERATURES}
    return {
        "validation": losses[steps],
        "second half of windows": round(late_NT.mean().item(), 4),
        "on the way": losses,
        "first losses": rounded(record.loss for record in records[:BEGIN]),
        "real words": {str(t): round(real(texts[t], known), 4) for t in TEMPERATURES},
        "sample": texts[0.8][0],
    }


def counted(text: str) -> list[float]:
    """The losses of counted tables of 1, 2, … characters on a text, in nats."""
    tokenizer = corpus.CharTokenizer(corpus.load(text))
    train_ids, ids = (ids.numpy() for ids in corpus.split(tokenizer.encode(corpus.load(text))))
    return rounded(count_losses(train_ids, ids, len(tokenizer))[0])


def settings(part: str) -> list[dict]:
    """What is measured in a part, each setting with every seed of the part."""
    if part == "levers":
        return [{"lever": lever} for lever in LEVERS]
    steps = recipe(part)["training"]["steps"]
    texts = ("tales", "tinyshakespeare") if part == "whole" else ("tales",)
    return [{"text": text, "steps": steps} for text in texts]


def levers() -> dict:
    """Every lever; what each of them moves is stored with the losses."""
    return measured(
        lambda seed, lever: {"validation": round(with_lever(lever, seed), 4)},
        settings("levers"), SEEDS["levers"], **recipe("levers"), moved=LEVERS,
    )  # fmt: skip


def whole(part: str) -> dict:
    """The run of the preset, or the longer one, and beside it what counting gives."""
    found = measured(of_whole, settings(part), SEEDS[part], **recipe(part))
    for setting in found["settings"]:
        setting["counted"] = counted(setting["text"])
    return found


PARTS: dict[str, Callable[[], dict]] = {
    "levers": levers,
    "whole": partial(whole, "whole"),
    "longer": partial(whole, "longer"),
}
