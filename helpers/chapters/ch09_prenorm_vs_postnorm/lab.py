"""Models of the tales with the norm before or after each sub-layer, untrained and trained.

The parts: ``start``, stream and gradients before training (two minutes on one core, in double
precision); ``race``, 100 steps of 16 blocks from torch's weights with eight seeds (two minutes);
``longer``, 300 steps of 16 blocks with a look inside (ten minutes); ``grid``,
100 steps over depth, learning rate and warm-up (17 minutes); ``deep``, 32 and 64 blocks at one
rate (nine minutes). A run keeps its validation loss and its training losses as means over
``BLOCK`` steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from helpers import corpus, example, initialise, interpret
from helpers.bigram import loss
from helpers.chapters.lab import (
    Part,
    TinyGPT,
    characters,
    counted_losses,
    differing,
    evaluate,
    extent,
    fmt,
    gmean,
    rms,
    significant,
    spread,
    stored_losses,
    table,
    trainer,
)
from helpers.minigpt import LayerNorm
from helpers.variants import Block
from helpers.worked import Step, Worked, matrix, number

PLACES = {  # order in the blocks, whether there is a last norm, and small writes at the start
    "post": ("post", False, False),
    "pre": ("pre", True, False),
    "post, small writes": ("post", False, True),
}
ORDERS = ("post", "pre")
STARTS = ("Xavier", "torch")
DEPTHS = (2, 4, 8, 16, 32, 64)
RATES = (0.0003, 0.001, 0.003, 0.01)
WARM_UPS = (0, 50)
LOOKS = (0, 10, 300)
BLOCK = 10  # losses are stored as means over so many steps


# --- the model -----------------------------------------------------------------------------


def init_model(L: int, place: str, *, start="Xavier", seed=0, C=32) -> TinyGPT:
    """An untrained model of L blocks; small writes: output matrices times 1/√(2L), as in GPT-2."""
    order, last_norm, small_writes = PLACES[place]
    model = TinyGPT(
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


def stack(order: str, L: int, seed: int = 0, C: int = 32) -> nn.Sequential:
    """Embedding, L of chapter 8's blocks, in either order by Xavier's rule, a norm and a head."""
    torch.manual_seed(seed)
    blocks = nn.Sequential(*(Block(C, 2, placement=order) for _ in range(L)))
    for weight in blocks.parameters():
        if weight.ndim == 2:
            nn.init.xavier_uniform_(weight)
    V = len(characters().tokenizer.vocab)
    return nn.Sequential(nn.Embedding(V, C), blocks, LayerNorm(C), nn.Linear(C, V))


def chapter_8(block: nn.Module) -> nn.Module:
    """A block of width 3 with the matrices of chapter 8; its norms keep γ = 1 and β = 0."""
    block.attention.qkv = example.linear(example.qkv())
    block.attention.out = example.linear(example.W_O)
    block.feed_forward.up = example.linear(example.W_1)
    block.feed_forward.down = example.linear(example.W_2)
    return block.double()


# --- before training ------------------------------------------------------------------------


def one_batch(seed: int) -> tuple[Tensor, Tensor]:
    """Eight windows of 32 characters, and the character after each."""
    generator = torch.Generator().manual_seed(1000 + seed)
    return next(corpus.batches(characters().train, batch_size=8, context=32, generator=generator))


def stream_and_gradients(model: TinyGPT, ids_BT: Tensor, targets_BT: Tensor) -> dict:
    """Stream by level; by block, the gradient of W_Q and W_K together."""
    model.zero_grad()
    loss(model(ids_BT), targets_BT).backward()
    levels = interpret.stream(model, ids_BT)
    return {
        "sizes": [rms(x_BTC) for x_BTC in levels],
        "differing": [differing(x_BTC) for x_BTC in levels],
        "W_Q, W_K": [
            torch.cat(block.attention.qkv.weight.grad.chunk(3)[:2]).norm().item()
            for block in model.blocks
        ],
    }


def queries_over_values(order: str, L: int, seed: int) -> float:
    """Of an untrained stack's last block, in float64, the length of W_Q's gradient over W_V's."""
    model, (x_BT, y_BT) = stack(order, L, seed).double(), one_batch(seed)
    loss(model(x_BT), y_BT).backward()
    *_, last = model[1].children()
    queries, _, values = last.attention.qkv.weight.grad.chunk(3)
    return (queries.norm() / values.norm()).item()


# --- training -------------------------------------------------------------------------------


@cache
def some_windows() -> list[tuple[Tensor, Tensor]]:
    """A part of the validation text, in windows of 32 characters."""
    return list(corpus.windows(characters().validation, 32, batch_size=66))[:4]


# --- the parts ------------------------------------------------------------------------------


def one_start(seed: int, **setting) -> dict:
    """Stream and gradients of an untrained model, in double precision."""
    found = stream_and_gradients(init_model(seed=seed, **setting).double(), *one_batch(seed))
    return {key: significant(values) for key, values in found.items()}


def one_training(
    seed: int, *, L: int, place: str, lr: float, warm_up=0, start="Xavier", steps=100, looks=()
) -> dict:
    """What is kept of a training with Adam.

    looks: steps before which it is measured what differs between tokens at the top.
    """
    model, seen = init_model(L, place, start=start, seed=seed), {}
    adam = torch.optim.Adam(model.parameters(), lr=lr)

    def before(step: int, model: TinyGPT) -> None:
        if warm_up:  # a straight ramp
            adam.param_groups[0]["lr"] = lr * min(1, (step + 1) / warm_up)
        if step in looks:
            top_BTC = interpret.stream(model, some_windows()[0][0])[-1]
            seen[str(step)] = {"differing": significant([differing(top_BTC)])}

    further = trainer(model, 100 + seed, batch_size=8, optimizer=adam)
    losses = further(steps=steps, on_step=before)
    before(steps, model)
    run = {"validation": round(evaluate(model, some_windows()), 4)}
    return run | stored_losses(losses, BLOCK) | ({"looks": seen} if looks else {})


def rows(keys: str, values: Iterable[tuple]) -> list[dict]:
    """Settings, their keys in one string."""
    return [dict(zip(keys.split(), row, strict=True)) for row in values]


LONGER = (
    ("post", "Xavier", 0.001, 0),
    ("post", "Xavier", 0.001, 100),
    ("post", "Xavier", 0.0003, 0),
    ("post", "torch", 0.001, 0),
    ("post, small writes", "Xavier", 0.001, 0),
    ("pre", "Xavier", 0.001, 0),
)
DEEP = [
    *((place, "Xavier", L, 0.001, 0) for place in PLACES for L in (32, 64)),
    ("post, small writes", "Xavier", 64, 0.001, 50),
]
measured = partial(Part, chapter=9, more={"block": BLOCK})
trainings = partial(measured, run=one_training, seeds=range(5))
PARTS = {
    part.name: part
    for part in (
        measured(
            name="start",
            run=one_start,
            settings=rows("place start L", itertools.product(ORDERS, STARTS, DEPTHS)),
        ),
        trainings(
            name="race",
            settings=rows("place start L lr", ((place, "torch", 16, 0.001) for place in ORDERS)),
            seeds=range(8),
        ),
        trainings(
            name="longer",
            run=partial(one_training, looks=LOOKS),
            settings=rows("place start lr warm_up L steps", ((*row, 16, 300) for row in LONGER)),
        ),
        trainings(
            name="grid",
            settings=rows(
                "place L lr warm_up", itertools.product(ORDERS, DEPTHS[:4], RATES, WARM_UPS)
            ),
        ),
        trainings(name="deep", settings=rows("place start L lr warm_up", DEEP)),
    )
}


# --- what is stored -------------------------------------------------------------------------


def over_rates(place: str, L: int) -> np.ndarray:
    """Validation losses of the grid, (rates, warm-ups, seeds)."""
    return np.array(
        [
            [PARTS["grid"].final(place=place, L=L, lr=lr, warm_up=steps) for steps in WARM_UPS]
            for lr in RATES
        ]
    )


def before_training(place: str, L: int, start="Xavier", **more) -> dict[str, np.ndarray]:
    """What is stored of untrained models: by name, a row a seed and a column a level or block."""
    found = PARTS["start"].runs(place=place, start=start, L=L, **more)
    return {key: np.array([run[key] for run in found]) for key in found[0] if key != "seed"}


# --- what the chapter shows -----------------------------------------------------------------


def by_hand(x: np.ndarray, y_post: np.ndarray, y_pre: np.ndarray) -> tuple[Worked, Worked]:
    """One sub-layer in both orders, step by step; y_post and y_pre are its outputs."""

    def normed(name: str, s: np.ndarray) -> Step:
        value = (s - s.mean()) / s.std()
        lines = (
            rf"\frac{{{matrix(s - s.mean())}}}{{\sqrt{{{number(s.var())}}}}} \\ &= {matrix(value)}"
        )
        return Step(name, rf"\begin{{aligned}}[t] & {lines} \end{{aligned}}", value)

    def added(name: str, y: np.ndarray) -> Step:
        return Step(name, matrix(x + y), x + y)

    post = added("x + y", y_post), normed(r"\text{output}", x + y_post)
    pre = normed(r"f\text{ reads}", x), added(r"\text{output} = x + y", y_pre)
    return (
        Worked("Post-norm: f reads x itself, and the output is the norm of the sum", post),
        Worked("Pre-norm: f reads the norm of x, and the output is the sum", pre),
    )


WEIGHTS = {"Xavier's": "Xavier", "smaller": "torch"}


def untrained(blocks: int, weights: str) -> dict[str, dict[str, np.ndarray]]:
    """What untrained models are like, by order."""
    return {place: before_training(place, blocks, WEIGHTS[weights]) for place in ORDERS}


def in_words(blocks: int, weights: str) -> str:
    """What untrained models of both orders are like at the top."""
    (slow, apart, _), (fast, kept, grown) = (
        [fmt(gmean(order[key][:, -1])) for key in ("W_Q, W_K", "differing", "sizes")]
        for order in untrained(blocks, weights).values()
    )
    return (
        f"{blocks} blocks, {weights} weights: at the top tokens differ by {apart} of the mean "
        f"square in post-norm and {kept} in pre-norm; the last block's gradient of W_Q and W_K is "
        f"{slow} and {fast}; the stream of pre-norm has RMS {grown}."
    )


MARGIN = 0.05  # nats below the unigram loss: a run that learns


def learnt(losses: np.ndarray) -> int:
    """How many of the seeds end clearly below the unigram loss."""
    return int((losses < counted_losses()["unigram"] - MARGIN).sum())


def summary(losses: np.ndarray) -> str:
    """Mean and spread of losses, and how many of the runs learn."""
    return f"{spread(losses)} ({learnt(losses)} of {len(losses)})"


def differing_on_the_way(**setting) -> np.ndarray:
    """What differs between tokens at the top in the longer runs, (looks, seeds)."""
    seen = [run["looks"] for run in PARTS["longer"].runs(**setting)]
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
                *(extent(kept[at]) for at in (0, 1, -1)),
                summary(PARTS["longer"].final(place=place, start=start, lr=lr, warm_up=warm_up)),
            ]
        )
    return table(
        "order, initial weights|differing at the top, step 0|step 10|step 300"
        "|loss after 300 steps (runs that learn)",
        rows,
    )
