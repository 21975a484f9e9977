"""Models of the tales with the norm before or after each sub-layer, untrained and trained.

The parts: ``start``, stream and gradients before training (two minutes on one core, in double
precision); ``race``, 100 steps of 16 blocks at one rate with eight seeds, and the gradients on the
way (four minutes); ``longer``, 300 steps of 16 blocks with a look inside (six minutes); ``grid``,
100 steps over depth, learning rate and warm-up (eleven minutes); ``deep``, 32 and 64 blocks at one
rate (eight minutes). A run keeps its validation loss and its training losses as means over
``BLOCK`` steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from helpers import corpus, initialise
from helpers.bigram import loss
from helpers.blocks import Block
from helpers.chapters import lab, stored
from helpers.chapters.lab import (
    TinyLM,
    characters,
    counted_losses,
    differing,
    extent,
    fmt,
    gmean,
    load_weights,
    measured,
    measured_side_by_side,
    over_seeds,
    rms,
    significant,
    spread,
    stored_losses,
    table,
    train_side_by_side,
)
from helpers.norms import LayerNorm
from helpers.worked import Step, Worked, matrix, number

FIVE, EIGHT = range(5), range(8)
PLACES = {  # order in the blocks, whether there is a last norm, and small writes at the start
    "post": ("post", False, False),
    "pre": ("pre", True, False),
    "pre, no last norm": ("pre", False, False),
    "post, small writes": ("post", False, True),
}
ORDERS = ("post", "pre")
STARTS = ("Xavier", "torch")
DEPTHS = (2, 4, 8, 16, 32, 64)
RATES = (0.0003, 0.001, 0.003, 0.01)
WARM_UPS = (0, 50)
LOOKS = (0, 10, 300)
RACE_LOOKS = (0, 2, 5, 10, 20, 50, 100)
WIDE = 128  # a second width, for what is measured before training
BLOCK = 10  # losses are stored as means over so many steps


# --- the model -----------------------------------------------------------------------------


def init_model(L: int, place: str, *, start="Xavier", seed=0, C=32) -> TinyLM:
    """An untrained model of L blocks; small writes: output matrices times 1/√(2L), as in GPT-2."""
    order, last_norm, small_writes = PLACES[place]
    model = TinyLM(
        lambda: (Block(C, 2, placement=order, activation="relu") for _ in range(L)),
        C=C,
        norm=LayerNorm if last_norm else nn.Identity,
    )
    schemes = {"Xavier": initialise.XAVIER, "torch": initialise.TORCH}
    initialise.initialise(
        model,
        schemes[start],
        torch.Generator().manual_seed(seed),
        embedding=0.5**0.5,  # two tables: their sum has size 1
        residual=(2 * L) ** -0.5 if small_writes else 1.0,
    )
    return model


# --- before training ------------------------------------------------------------------------


def one_batch(seed: int) -> tuple[Tensor, Tensor]:
    """Eight windows of 32 characters, and the character after each."""
    generator = torch.Generator().manual_seed(1000 + seed)
    return next(corpus.batches(characters().train, batch_size=8, context=32, generator=generator))


def total_norm(tensors: Iterable) -> float:
    """Norm of all tensors together, taken as one long vector."""
    return torch.cat([t.flatten() for t in tensors]).norm().item()


def stream_and_gradients(model: TinyLM, ids_BT: Tensor, targets_BT: Tensor) -> dict:
    """Stream by level; by block, gradients of all matrices and of W_Q and W_K alone."""
    model.zero_grad()
    levels = model.stream(ids_BT)
    logits_BTV = model.output(model.norm(levels[-1]))
    loss(logits_BTV, targets_BT).backward()
    matrices = [[w.grad for w in block.parameters() if w.ndim == 2] for block in model.layers]
    last_map = model.layers[-1].feed_forward.sublayer.down.weight
    return {
        "sizes": [rms(x_BTC) for x_BTC in levels],
        "differing": [differing(x_BTC) for x_BTC in levels],
        "gradients": [total_norm(grads) for grads in matrices],
        "W_Q, W_K": [
            total_norm(block.attention.sublayer.qkv.weight.grad.chunk(3)[:2])  # without W_V
            for block in model.layers
        ],
        "last map": [last_map.grad.norm().item()],
    }


# --- training -------------------------------------------------------------------------------


@cache
def some_windows() -> list[tuple[Tensor, Tensor]]:
    """A part of the validation text, in windows of 32 characters."""
    return list(corpus.windows(characters().validation, 32, batch_size=66))[:4]


@torch.no_grad()
def differing_at_top(model: TinyLM, seed: int) -> dict:
    """What differs between tokens at the top."""
    return {"differing": [differing(model.stream(some_windows()[0][0])[-1])]}


def first_and_last_gradients(model: TinyLM, seed: int) -> dict:
    """Gradients of the first block and of the last."""
    found = stream_and_gradients(model, *one_batch(seed))
    model.zero_grad()
    return {key: [found[key][0], found[key][-1]] for key in ("gradients", "W_Q, W_K")}


def trained(
    L: int,
    place: str,
    *,
    lr: float,
    warm_up=0,
    start="Xavier",
    steps=100,
    seeds=FIVE,
    looks=(),
    look=differing_at_top,
) -> dict:
    """Train a model for each seed, side by side, with Adam: "losses", "weights", "looks", "models".

    look: called with a model and its seed before the steps in looks.
    """
    models = [init_model(L, place, start=start, seed=seed) for seed in seeds]
    run = train_side_by_side(
        models,
        seeds,
        lr=lr,
        steps=steps,
        warm_up=warm_up,
        looks=looks,
        look=lambda weights, _: list(map(look, load_weights(models, weights), seeds)),
    )
    return run | {"models": load_weights(models, run["weights"])}


@torch.no_grad()
def adam_at(adam: torch.optim.Adam, qkv: Tensor) -> tuple[float, float]:
    """Medians over the entries of W_Q and W_K: √v, and the next step in learning rates."""
    state, (beta_1, beta_2) = adam.state[qkv], adam.param_groups[0]["betas"]
    rows, step = slice(2 * len(qkv) // 3), int(state["step"])
    root = (state["exp_avg_sq"][rows] / (1 - beta_2**step)).sqrt()
    mean = state["exp_avg"][rows] / (1 - beta_1**step)
    taken = mean.abs() / (root + adam.param_groups[0]["eps"])
    return root.median().item(), taken.median().item()


@torch.no_grad()
def on_validation(model: TinyLM) -> float:
    """Mean loss on some of the validation text."""
    return sum(loss(model(x), y).item() for x, y in some_windows()) / len(some_windows())


# --- the parts ------------------------------------------------------------------------------

RACE = (
    ("post", "Xavier"),
    ("pre", "Xavier"),
    ("post", "torch"),
    ("pre", "torch"),
    ("post, small writes", "Xavier"),
    ("pre, no last norm", "Xavier"),
)
LONGER = (
    ("post", "Xavier", 0.001, 0),
    ("post", "Xavier", 0.001, 100),
    ("post", "Xavier", 0.0003, 0),
    ("post", "torch", 0.001, 0),
    ("post, small writes", "Xavier", 0.001, 0),
    ("pre", "Xavier", 0.001, 0),
)


def settings(part: str) -> list[dict]:
    """What is measured in a part."""
    return [dict(row) for row in SETTINGS[part]]


def rows(keys: str, values: Iterable[tuple]) -> list[dict]:
    """Settings, their keys in one string."""
    return [dict(zip(keys.split(), row, strict=True)) for row in values]


SETTINGS = {
    "start": [
        *rows("place start L", itertools.product(PLACES, STARTS, DEPTHS)),
        *rows("place start L C", itertools.product(ORDERS, STARTS[:1], DEPTHS[3:5], [WIDE])),
    ],
    "race": rows("place start L lr", ((*case, 16, RATES[1]) for case in RACE)),
    "longer": rows(
        "place start lr warm_up L steps", ((*setting, 16, max(LOOKS)) for setting in LONGER)
    ),
    "grid": rows("place L lr warm_up", itertools.product(ORDERS, DEPTHS[:4], RATES, WARM_UPS)),
    "deep": rows(
        "place start L lr warm_up",
        [
            *(
                (place, "Xavier", L, RATES[1], 0)
                for place in (*ORDERS, "post, small writes")
                for L in DEPTHS[4:]
            ),
            ("post, small writes", "Xavier", DEPTHS[5], RATES[1], WARM_UPS[1]),
        ],
    ),
}
SEEDS = {part: EIGHT if part in ("start", "race") else FIVE for part in SETTINGS}


def one_start(seed: int, **setting) -> dict:
    """Stream and gradients of an untrained model, in double precision."""
    found = stream_and_gradients(init_model(seed=seed, **setting).double(), *one_batch(seed))
    return {key: significant(values) for key, values in found.items()}


def all_seeds(seeds: list[int], **setting) -> list[dict]:
    """What is kept of the trainings of one setting."""
    found, runs = trained(seeds=seeds, **setting), []
    for at, model in enumerate(found["models"]):
        run: dict = {"validation": round(on_validation(model), 4)}
        run |= stored_losses(found["losses"][at], BLOCK)
        if found["looks"]:
            run["looks"] = {
                str(step): {key: significant(values) for key, values in seen[at].items()}
                for step, seen in found["looks"].items()
            }
        runs.append(run)
    return runs


def measure(part: str) -> dict:
    """Measure everything in a part."""
    if part == "start":
        return measured(one_start, settings(part), SEEDS[part], block=BLOCK)
    watched: dict[str, dict] = {
        "longer": {"looks": LOOKS},
        "race": {"looks": RACE_LOOKS, "look": first_and_last_gradients},
    }
    run = partial(all_seeds, **watched.get(part, {}))
    return measured_side_by_side(run, settings(part), SEEDS[part], block=BLOCK)


PARTS = {part: partial(measure, part) for part in SETTINGS}


# --- what is stored -------------------------------------------------------------------------


def runs(part: str, **wanted) -> list[dict]:
    """The stored runs of one setting of a part, one a seed."""
    return lab.runs(stored(9)[part], **wanted)


def final(part: str, **wanted) -> np.ndarray:
    """Validation losses at the end, one a seed."""
    return over_seeds(runs(part, **wanted))


def over_rates(place: str, L: int) -> np.ndarray:
    """Validation losses of the grid, (rates, warm-ups, seeds)."""
    return np.array(
        [
            [final("grid", place=place, L=L, lr=lr, warm_up=steps) for steps in WARM_UPS]
            for lr in RATES
        ]
    )


def before_training(place: str, L: int, start="Xavier", **more) -> dict[str, np.ndarray]:
    """What is stored of untrained models: by name, a row a seed and a column a level or block."""
    found = runs("start", place=place, start=start, L=L, **more)
    return {key: np.array([run[key] for run in found]) for key in found[0] if key != "seed"}


def depth_exponent(place: str, key: str) -> float:
    """The power of depth, fitted to the geometric means over the seeds at the top."""
    values = [np.log(gmean(before_training(place, L)[key][:, -1])) for L in DEPTHS]
    return np.polyfit(np.log(DEPTHS), values, 1)[0]


def on_the_way(place: str, start="Xavier") -> dict[str, np.ndarray]:
    """What the race saw at each of its looks, (looks, seeds)."""
    seen = [run["looks"] for run in runs("race", place=place, start=start)]
    found = {
        key: np.array([[look[str(step)][key] for look in seen] for step in RACE_LOOKS])
        for key in seen[0]["0"]
    }
    return {
        "first block over last": found["gradients"][..., 0] / found["gradients"][..., 1],
        "W_Q, W_K of the last block": found["W_Q, W_K"][..., 1] / found["gradients"][..., 1],
        "an entry of W_Q, W_K": found["W_Q, W_K"][..., 1] / (2 * 32 * 32) ** 0.5,
    }


# --- what the chapter shows -----------------------------------------------------------------


def by_hand(x: np.ndarray, y_post: np.ndarray, y_pre: np.ndarray) -> tuple[Worked, Worked]:
    """One sub-layer in both orders, step by step; y_post and y_pre are its outputs."""

    def normed(name: str, argument: str, s: np.ndarray) -> Step:
        centred = s - s.mean()
        working = rf"\frac{{{matrix(centred)}}}{{\sqrt{{{number(s.var())}}}}}"
        value = centred / s.std()
        return Step(name, rf"\text{{norm}}({argument}) = {working} = {matrix(value)}", value)

    def added(name: str, y: np.ndarray) -> Step:
        return Step(name, f"{matrix(x)} + {matrix(y)} = {matrix(x + y)}", x + y)

    post = added("x + y", y_post), normed(r"\text{output}", "x + y", x + y_post)
    pre = normed(r"f\text{ reads}", "x", x), added(r"\text{output} = x + y", y_pre)
    return (
        Worked("Post-norm: f reads x itself, and the output is the norm of the sum", post),
        Worked("Pre-norm: f reads the norm of x, and the output is the sum", pre),
    )


def in_words(found: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """What untrained models of both orders are like at the top."""
    (slow, apart, _), (fast, kept, grown) = (
        [fmt(gmean(order[key][:, -1])) for key in ("W_Q, W_K", "differing", "sizes")]
        for order in (found["post"], found["pre"])
    )
    return (
        f"at the top tokens differ by {apart} of the mean square in post-norm and {kept} in "
        f"pre-norm; the last block's gradient of W_Q and W_K is {slow} and {fast}; the stream of "
        f"pre-norm has RMS {grown}."
    )


MARGIN = 0.05  # nats below the unigram loss: a run that learns


def learnt(losses: np.ndarray) -> int:
    """How many of the seeds end clearly below the unigram loss."""
    return int((losses < counted_losses()["unigram"] - MARGIN).sum())


def summary(losses: np.ndarray) -> str:
    """Mean and spread of losses, and how many of the runs learn."""
    return f"{spread(losses)} ({learnt(losses)} of {len(losses)})"


def gradients_table() -> str:
    """Before training: gradients of the last block's W_Q and W_K, and of whole blocks."""
    cases: list = [(place, "Xavier", L, {}) for place in ORDERS for L in DEPTHS[3:]]
    cases += [(place, "Xavier", L, {"C": WIDE}) for place in ORDERS for L in DEPTHS[3:5]]
    cases += [(place, "torch", DEPTHS[-1], {}) for place in ORDERS]
    cases += [("post, small writes", "Xavier", DEPTHS[-1], {})]
    rows = []
    for place, start, L, more in cases:
        found = before_training(place, L, start, **more)
        blocks = found["gradients"]
        rows.append(
            [
                f"{place}, {start}" + (f", width {WIDE}" if more else ""),
                str(L),
                extent(found["W_Q, W_K"][:, -1] / blocks[:, -1]),
                extent(found["differing"][:, -2]),
                extent(blocks[:, 0] / blocks[:, -1]),
            ]
        )
    return table(
        "order, initial weights|blocks|W_Q and W_K ÷ all of the last block|differing"
        "|first block ÷ last block",
        rows,
    )


def race_table() -> str:
    """During training: gradients at three steps of the race, and where it ended."""
    rows = []
    for place, start in RACE[:-1]:
        found = on_the_way(place, start)
        steps = [RACE_LOOKS.index(step) for step in (0, 10, 100)]
        rows.append(
            [
                f"{place}, {start}",
                *(extent(found["first block over last"][at]) for at in steps),
                extent(found["W_Q, W_K of the last block"][steps[1]]),
                summary(final("race", place=place, start=start)),
            ]
        )
    return table(
        "order, initial weights|first block ÷ last, step 0|step 10|step 100"
        "|W_Q and W_K ÷ last block, step 10|loss after 100 steps (runs that learn)",
        rows,
    )


def differing_on_the_way(**setting) -> np.ndarray:
    """What differs between tokens at the top in the longer runs, (looks, seeds)."""
    seen = [run["looks"] for run in runs("longer", **setting)]
    return np.array([[look[str(step)]["differing"][-1] for look in seen] for step in LOOKS])


def longer_table() -> str:
    """Six ways through 300 steps: what the tokens lost and whether it came back."""
    rows = []
    for place, start, lr, warm_up in LONGER:
        kept = differing_on_the_way(place=place, start=start, lr=lr, warm_up=warm_up)
        name = f"{place}, {start}" + (f", rate {lr}" if lr < 0.001 else "")
        rows.append(
            [
                name + (f", warm-up {warm_up}" if warm_up else ""),
                extent(before_training(place, 16, start)["last map"][:, 0]),
                *(extent(kept[at]) for at in (0, 1, -1)),
                summary(final("longer", place=place, start=start, lr=lr, warm_up=warm_up)),
            ]
        )
    return table(
        "order, initial weights|last matrix, step 0|differing at the top, step 0|step 10|step 300"
        "|loss after 300 steps (runs that learn)",
        rows,
    )
