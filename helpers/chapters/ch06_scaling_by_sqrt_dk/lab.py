"""Train the one-head model of chapter 06 over divisors, widths, initialisations, rates and seeds.

What is trained is attention alone, 200 or 2000 steps of Adam on the tales. The parts: ``short``,
200 steps over the whole grid (two minutes on one core); ``long``, 2000 steps at width 64 (four
minutes); ``controls``, other initial W_Q and W_K or a rate of their own (a minute); ``more``,
eight further seeds where means lie close together (two minutes).
A run keeps its validation loss, its training losses as means over ``BLOCK`` steps, and before and
after training the spread of its scores and the keys effectively read.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from helpers import corpus, interpret, numerics
from helpers.chapters.lab import (
    Part,
    TinyGPT,
    characters,
    counted_losses,
    matches,
    over_seeds,
    percent,
    rounded,
    seeded,
    spread,
    table,
    trainer,
    validation_loss,
)

BLOCK = 20  # losses are stored as means over so many steps
UNIT, SMALL = 1 / 8, 0.02  # with C = 64: undivided scores of variance D; as in GPT-2
ADAM = (0.001, 0.003, 0.01, 0.03)
LONG = (0.0003, *ADAM[:3])
DIVIDE_BY = {"1": lambda D: 1.0, "√D": lambda D: D**0.5, "D": float}
PLAIN = tuple(DIVIDE_BY)


# --- the model and its training -------------------------------------------------------------


class Head(nn.Module):
    """One causal head, queries and keys D wide, values C wide; scores divided as named."""

    def __init__(self, C, D, divisor):
        super().__init__()
        self.query = nn.Linear(C, D, bias=False)
        self.key = nn.Linear(C, D, bias=False)
        self.value = nn.Linear(C, C, bias=False)
        self.divisor = DIVIDE_BY[divisor](D)

    def scores(self, x_BTC):
        """The scores that softmax gets, and its weights."""
        q_BTD, k_BTD = self.query(x_BTC), self.key(x_BTC)
        scores_BTT = q_BTD @ k_BTD.mT / self.divisor
        future_BTT = torch.full_like(scores_BTT, -torch.inf).triu(1)
        return scores_BTT, (scores_BTT + future_BTT).softmax(dim=-1)

    def forward(self, x_BTC):
        """Each token's average of the values that it reads."""
        return self.scores(x_BTC)[1] @ self.value(x_BTC)


def one_head(divisor: str, *, D: int, start: float, seed: int, C=64) -> TinyGPT:
    """An untrained model of attention alone; start: standard deviation of W_Q and W_K."""
    with seeded(seed):
        model = TinyGPT(lambda: [Head(C, D, divisor)], C=C)
        for rows in (model.embedding, model.position):  # their sum has variance 1
            nn.init.normal_(rows.weight, std=0.5**0.5)
        for linear in (model.blocks[0].query, model.blocks[0].key):
            nn.init.normal_(linear.weight, std=start)
    return model


@cache
def some_windows() -> Tensor:
    """Thirty-two windows of the validation text, 32 characters each."""
    return next(corpus.windows(characters().validation, 32, batch_size=32))[0]


@torch.no_grad()
def scores_and_keys(model: TinyGPT) -> tuple[float, float]:
    """Standard deviation of the scores that softmax gets, and the keys effectively read."""
    embedded_BTC = interpret.stream(model, some_windows())[0]
    scores_BTT, weights_BTT = model.blocks[0].scores(embedded_BTC)
    spread = scores_BTT[:, torch.ones(32, 32).tril().bool()].std().item()
    entropy_BT = torch.special.entr(weights_BTT).sum(dim=-1)
    return spread, entropy_BT.exp().mean().item()


def adam(model: TinyGPT, lr: float, qk_rate: float) -> torch.optim.Adam:
    """Adam, in which W_Q and W_K learn at the common rate times qk_rate."""
    tables = [model.blocks[0].query.weight, model.blocks[0].key.weight]
    others = [w for w in model.parameters() if all(w is not table for table in tables)]
    groups: list[dict] = [{"params": tables, "lr": qk_rate * lr}, {"params": others}]
    return torch.optim.Adam(groups, lr=lr)


def trained(divisor: str, *, D=64, start=UNIT, lr=0.01, qk_rate=1.0, seed=0, steps=200) -> dict:
    """Train one model, and look at it before and after."""
    model = one_head(divisor, D=D, start=start, seed=seed)
    before = scores_and_keys(model)
    losses = trainer(model, seed, optimizer=adam(model, lr, qk_rate))(steps=steps)
    return {
        "losses": losses,
        "validation": validation_loss(model),
        "before": before,
        "after": scores_and_keys(model),
    }


# --- the parts ------------------------------------------------------------------------------


def one_run(seed: int, **setting) -> dict:
    """What is kept of one training."""
    run = trained(seed=seed, **setting)
    return {
        "validation": round(run["validation"], 4),
        "losses": rounded(torch.tensor(run["losses"]).view(-1, BLOCK).mean(dim=1)),
        "before": rounded(run["before"]),
        "after": rounded(run["after"]),
    }


def grid(steps: int, widths, start: float, divisors, rates, **more) -> list[dict]:
    """Every combination; start: standard deviation of the initial W_Q and W_K.

    more: ``qk_rate``, by what the learning rate of W_Q and W_K is multiplied.
    """
    return [
        {"steps": steps, "D": D, "start": start, "divisor": divisor, "lr": lr, **more}
        for D, divisor, lr in itertools.product(widths, divisors, rates)
    ]


def slower(start: float, divisor: str, power: float) -> list[dict]:
    """W_Q and W_K learn at the rate of all others times a power of D."""
    found = (grid(200, (D,), start, (divisor,), (0.01,), qk_rate=D**power) for D in (64, 256))
    return [*itertools.chain(*found)]


measured = partial(Part, chapter=6, run=one_run, more={"block": BLOCK})
PARTS = {
    part.name: part
    for part in (
        measured(
            name="short", settings=grid(200, (16, 64, 256), UNIT, PLAIN, ADAM), seeds=range(5)
        ),
        measured(name="long", settings=grid(2000, (64,), UNIT, PLAIN, LONG), seeds=range(5)),
        measured(
            name="controls",
            settings=[
                *grid(200, (64, 256), SMALL, ("1",), (0.01,)),
                *slower(UNIT, "√D", -0.25),
                *slower(UNIT, "1", -0.5),
                *slower(SMALL, "1", -0.5),
            ],
            seeds=range(5),
        ),
        measured(
            name="more",
            settings=[
                *grid(200, (16, 64, 256), UNIT, PLAIN, (0.01,)),
                *grid(200, (256,), UNIT, ("√D",), (0.006,)),
                *slower(UNIT, "√D", -0.25),
                *slower(SMALL, "1", -0.5),
            ],
            seeds=range(5, 13),
        ),
    )
}


# --- what is stored -------------------------------------------------------------------------


def stored_runs(*, divisor: str, **others) -> list[dict]:
    """All stored runs of one setting, in whichever parts they are, by seed."""
    usual = {"steps": 200, "D": 64, "start": UNIT, "lr": 0.01, "qk_rate": 1.0}
    wanted = usual | others | {"divisor": divisor}
    found = [
        run
        for part in PARTS.values()
        for setting in part.stored["settings"]
        if all(matches((usual | setting)[k], v) for k, v in wanted.items())
        for run in setting["runs"]
    ]
    return sorted(found, key=lambda run: run["seed"])


def final(**setting) -> np.ndarray:
    """Validation losses of a stored setting, one a seed."""
    return over_seeds(stored_runs(**setting))


def best(rates: Sequence[float], **setting) -> np.ndarray:
    """The losses at the rate with the lowest mean."""
    return min((final(lr=lr, **setting) for lr in rates), key=np.mean)


def loss_table(head: str, rows: Mapping[str, Sequence[np.ndarray]]) -> str:
    """A table of losses, mean and spread, with this head and a row a name."""
    return table(head, ([name, *map(spread, row)] for name, row in rows.items()))


# --- random queries and keys ----------------------------------------------------------------


def families(D: int, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Four kinds of pairs, each entry of variance 1."""
    q_ND, other_ND = np.random.default_rng([D, seed]).standard_normal((2, 200, D))
    common_ND = 0.1 * q_ND + 0.99**0.5 * other_ND  # variance 0.01 + 0.99
    return {
        "independent, mean 0": (q_ND, other_ND),
        "independent, mean 1": (q_ND + 1, other_ND + 1),
        "a tenth in common": (q_ND, common_ND),
        "the key is the query": (q_ND, q_ND),
    }


def rms(x: np.ndarray) -> float:
    """Root of the mean square, the typical size of what varies about 0."""
    return float(np.sqrt((x**2).mean()))


def typical_sizes(widths: Sequence[int]) -> dict[str, np.ndarray]:
    """Root mean square of q·k of each family, (widths, 8 seeds)."""
    drawn = [[families(D, seed) for seed in range(8)] for D in widths]
    return {
        name: np.array(
            [[rms((one[name][0] * one[name][1]).sum(axis=1)) for one in row] for row in drawn]
        )
        for name in drawn[0][0]
    }


def apart_in_a_row(D: int, mean: float, seed: int) -> tuple[float, float]:
    """Typical size of q·k, and how far the scores of one query lie apart, 100 by 100."""
    q_QD, k_KD = mean + np.random.default_rng([D, seed]).standard_normal((2, 100, D))
    scores_QK = q_QD @ k_KD.T
    return rms(scores_QK), scores_QK.std(axis=1).mean()


def weights_and_gradient(q_QD, k_KD, s: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights of queries on keys, and the norm of ∂w/∂q of each query.

    Row i of ∂w/∂q is w_i (k_i − k̄)/s, with k̄ the weighted mean of the keys.
    """
    w_QK = numerics.softmax(q_QD @ k_KD.T / s)
    mean_QD = w_QK @ k_KD
    away_QK = (k_KD**2).sum(1) - 2 * mean_QD @ k_KD.T + (mean_QD**2).sum(1)[:, None]
    return w_QK, np.sqrt(np.maximum((w_QK**2 * away_QK).sum(1), 0)) / s


@cache
def weights_and_gradients(D: int, keys: int, divisor: str) -> tuple[np.ndarray, np.ndarray]:
    """The same of 100 random queries on random keys, for each of five seeds."""
    s, found = DIVIDE_BY[divisor](D), []
    for seed in range(5):
        rng = np.random.default_rng([D, keys, seed])
        q_QD, k_KD = rng.standard_normal((100, D)), rng.standard_normal((keys, D))
        found.append(weights_and_gradient(q_QD, k_KD, s))
    weights, norms = zip(*found, strict=True)
    return np.stack(weights), np.stack(norms)


def vanishing_table(widths=(16, 64, 256, 1024), counts=(2, 16, 128, 1024)) -> tuple[dict, str]:
    """Norms of ∂w/∂q undivided, as multiples of the median with √D: (median, share that is lost).

    Lost are queries with less than a hundredth of that median.
    """
    found, rows = {}, []
    for D in widths:
        for n in counts:
            of_S = weights_and_gradients(D, n, "1")[1]
            of_S = of_S / np.median(weights_and_gradients(D, n, "√D")[1])
            found[D, n] = np.median(of_S), (of_S < 0.01).mean(axis=1)
        cells = []
        for n in counts:
            median, lost_S = found[D, n]
            said = f"{median:.2g}" if median > 0.001 else "below 0.001"
            cells.append(f"{said}; {percent(lost_S)}")
        rows.append([f"D = {D}", *cells])
    return found, table(" | ".join(["", *(f"{n:,} keys" for n in counts)]), rows)


def rungs() -> dict[str, float]:
    """Losses of counted probabilities, and of the model divided by √D after 2000 steps."""
    said = {
        "uniform": "uniform: knows nothing",
        "unigram": "unigram: how common each character is",
        "bigram": "bigram: the character before",
    }
    attention = final(steps=2000, lr=0.003, divisor="√D").mean()
    counted = {said[name]: loss for name, loss in counted_losses().items()}
    return counted | {"attention alone: up to 32 characters": attention}
