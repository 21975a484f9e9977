"""Train the reader of chapter 06 over divisors, widths, starts, learning rates and seeds.

What is trained is attention alone, 200 or 2000 steps on the tales. The parts: ``short``, 200 steps
over the whole grid (five minutes on one core); ``long``, 2000 steps at width 64 (eight minutes);
``controls``, tables of queries and keys that learn at a rate of their own, or not at all (one
minute). A run keeps its validation loss, its training losses as means over ``BLOCK`` steps, and,
before and after training, the spread of its scores and the keys effectively read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import corpus
from helpers.attention import causal_mask
from helpers.bigram import loss
from helpers.chapters import stored
from helpers.chapters.common import letters, measured, over_seeds, rounded, seeded
from helpers.training import evaluate, train

SEEDS = range(5)
BLOCK = 20  # losses are stored as means over so many steps
UNIT, DEFAULT, SMALL = 1 / 8, 1 / 192**0.5, 0.02  # with C = 64: scores of variance D; torch; GPT-2
ADAM, SGD = (0.001, 0.003, 0.01, 0.03), (0.3, 1.0, 2.0, 4.0)
LONG = (0.0003, *ADAM[:3])
PLAIN = ("1", "√D", "D")
ALL = (*PLAIN, "measured", "QK-norm")

# steps, optimiser, widths D, start, divisors, learning rates, and, where it is not 1, by what the
# learning rate of the tables of queries and keys is multiplied
GRIDS = {
    "short": (
        (200, "Adam", (64, 256), UNIT, ALL, ADAM),
        (200, "Adam", (16,), UNIT, PLAIN, ADAM),
        (200, "Adam", (64, 256), SMALL, (*PLAIN, "QK-norm"), ADAM),
        (200, "Adam", (64,), DEFAULT, PLAIN, ADAM),
        (200, "SGD", (64,), UNIT, PLAIN, SGD),
        (200, "SGD", (64,), SMALL, PLAIN, SGD),
    ),
    "long": (
        (2000, "Adam", (64,), UNIT, PLAIN, LONG),
        (2000, "Adam", (64,), SMALL, PLAIN, LONG),
    ),
    "controls": (
        (200, "Adam", (64,), 0.0, ("1",), (0.01,), 0),  # scores stay 0: a plain average
        (200, "Adam", (64, 256), UNIT, PLAIN, (0.01,), 0),  # queries and keys stay as they start
        *((200, "Adam", (D,), UNIT, ("1",), (0.01,), D**-0.5) for D in (64, 256)),
        *((200, "Adam", (D,), SMALL, ("1",), (0.01,), D**-0.5) for D in (64, 256)),
        # what makes ÷ D out of ÷ √D, by halves
        *((200, "Adam", (D,), UNIT, ("√D",), (0.01,), D**-0.25) for D in (64, 256)),
        *((200, "Adam", (D,), UNIT * D**-0.25, ("√D",), (0.01,), 1) for D in (64, 256)),
        *((200, "Adam", (D,), UNIT * D**-0.25, ("√D",), (0.01,), D**-0.25) for D in (64, 256)),
        (200, "SGD", (64,), UNIT, PLAIN, (1.5,), 1),
        (200, "SGD", (64,), SMALL, PLAIN, (1.5,), 1),
        (200, "SGD", (64,), UNIT, ("D",), (1.0,), 8),
        (200, "SGD", (64,), UNIT, ("1",), (1.0,), 1 / 8),
    ),
}


# --- the model and its training -------------------------------------------------------------


class Reader(nn.Module):
    """Embedding, positions, one head, output table: attention alone."""

    def __init__(self, V, *, D, start, divisor, C=64, T=32):
        super().__init__()
        self.token, self.place = nn.Embedding(V, C), nn.Embedding(T, C)
        self.query = nn.Linear(C, D, bias=False)
        self.key = nn.Linear(C, D, bias=False)
        self.value = nn.Linear(C, C, bias=False)
        self.output = nn.Linear(C, V)
        for table in (self.token, self.place):  # their sum has variance 1
            nn.init.normal_(table.weight, std=0.5**0.5)
        for linear in (self.query, self.key):
            nn.init.normal_(linear.weight, std=start)
        known = {"1": 1.0, "√D": D**0.5, "D": float(D), "QK-norm": D**0.5}
        self.divisor = known.get(divisor, 1.0)
        self.gain = None
        if divisor == "QK-norm":
            self.gain = nn.Parameter(torch.ones(()))

    def look(self, ids_BT):
        """The scores that softmax gets, its weights, and the values."""
        T = ids_BT.shape[1]
        x_BTC = self.token(ids_BT) + self.place.weight[:T]
        q_BTD, k_BTD = self.query(x_BTC), self.key(x_BTC)
        if self.gain is not None:  # every query and key gets length √D
            length = q_BTD.shape[-1] ** 0.5
            q_BTD = self.gain * length * F.normalize(q_BTD, dim=-1)
            k_BTD = length * F.normalize(k_BTD, dim=-1)
        scores_BTT = q_BTD @ k_BTD.mT / self.divisor
        masked_BTT = scores_BTT.masked_fill(~causal_mask(T), -torch.inf)
        weights_BTT = masked_BTT.softmax(dim=-1)
        return scores_BTT, weights_BTT, self.value(x_BTC)

    def forward(self, ids_BT):
        """The logits of the next letter."""
        _, weights_BTT, values_BTC = self.look(ids_BT)
        return self.output(weights_BTT @ values_BTC)


@cache
def some_windows() -> Tensor:
    """Thirty-two windows of the validation text, 32 letters each."""
    return next(corpus.windows(letters().validation, 32, batch_size=32))[0]


@torch.no_grad()
def scores_and_keys(reader: Reader) -> tuple[float, float]:
    """Standard deviation of the scores that softmax gets, and the keys effectively read."""
    scores_BTT, weights_BTT, _ = reader.look(some_windows())
    spread = scores_BTT[:, causal_mask(32)].std().item()
    entropy_BT = torch.special.entr(weights_BTT).sum(dim=-1)
    return spread, entropy_BT.exp().mean().item()


def trained(
    divisor: str, *, D=64, start=UNIT, lr=0.01, seed=0, steps=200, optimizer=torch.optim.Adam
) -> dict:
    """Train one reader on windows of 32 letters, 16 a step, and look at it before and after."""
    tokenizer, train_ids, validation_ids = letters()
    with seeded(seed):
        reader = Reader(len(tokenizer), D=D, start=start, divisor=divisor)
    if divisor == "measured":  # makes the spread 1 before training
        reader.divisor = scores_and_keys(reader)[0]
    before = scores_and_keys(reader)
    generator = torch.Generator().manual_seed(seed)
    batches = corpus.batches(train_ids, batch_size=16, context=32, generator=generator)
    update = optimizer(reader.parameters(), lr=lr)
    records = train(reader, loss, batches, steps=steps, optimizer=update)
    return {
        "reader": reader,
        "losses": [record.loss for record in records],
        "validation": evaluate(reader, loss, corpus.windows(validation_ids, 32)),
        "before": before,
        "after": scores_and_keys(reader),
    }


def own_rate_for_qk(factor: float, kind: Callable = torch.optim.Adam) -> Callable:
    """An optimiser in which W_q and W_k learn at the common rate times factor."""

    def optimizer(parameters, lr):
        token, place, query, key, *others = parameters
        tables = {"params": [query, key], "lr": factor * lr}
        return kind([tables, {"params": [token, place, *others]}], lr=lr)

    return optimizer


# --- the parts ------------------------------------------------------------------------------


def settings(part: str) -> list[dict]:
    """Each combination of a part that is trained."""
    found = []
    for steps, optimizer, widths, start, divisors, rates, *qk_rate in GRIDS[part]:
        for width, divisor, lr in itertools.product(widths, divisors, rates):
            setting = {"steps": steps, "optimizer": optimizer, "D": width, "start": start}
            setting |= {"divisor": divisor, "lr": lr}
            found.append(setting | ({"qk_rate": qk_rate[0]} if qk_rate else {}))
    return found


def one_run(seed: int, *, optimizer: str, divisor: str, qk_rate: float = 1, **setting) -> dict:
    """What is kept of one training; ``validation`` is None where it diverged."""
    kind = getattr(torch.optim, optimizer)
    if qk_rate != 1:
        kind = own_rate_for_qk(qk_rate, kind)
    try:
        run = trained(divisor, seed=seed, optimizer=kind, **setting)
    except FloatingPointError:
        return {"validation": None}
    return {
        "validation": round(run["validation"], 4),
        "losses": rounded(torch.tensor(run["losses"]).view(-1, BLOCK).mean(dim=1)),
        "before": rounded(run["before"]),
        "after": rounded(run["after"]),
    }


def measure(part: str) -> dict:
    """Train everything in a part."""
    return measured(one_run, settings(part), SEEDS, block=BLOCK)


PARTS = {part: partial(measure, part) for part in GRIDS}


# --- what is stored -------------------------------------------------------------------------


def stored_runs(
    *, divisor, steps=200, optimizer="Adam", D=64, start=UNIT, lr=0.01, qk_rate=1
) -> list[dict]:
    """The five stored runs of one setting, in whichever part it is."""
    wanted = {"steps": steps, "optimizer": optimizer, "D": D, "divisor": divisor, "lr": lr}
    (found,) = (
        setting["runs"]
        for part in stored(6).values()
        for setting in part["settings"]
        if all(setting[key] == value for key, value in wanted.items())
        and np.isclose(setting["start"], start, atol=1e-9)
        and np.isclose(setting.get("qk_rate", 1), qk_rate)
    )
    return found


def final(**setting) -> np.ndarray:
    """Validation losses of a stored setting, one a seed; nan where training diverged."""
    return over_seeds(stored_runs(**setting))
