"""What chapter 03 measures: tables of logits trained in several ways, and how far they still are.

Where a table is trained on counts, ``target`` are the rows P(next | present) and ``rows`` says how
often each row is read; both together are the whole text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from helpers import bigram
from helpers.chapters.lab import characters, table
from helpers.worked import matrix

SEEDS = range(8)
MARKS = (0, 1, 3, 10, 30, 100, 300, 1000, 2000, 5000, 10000, 20000)


# ------------------------------------------------------------- training on the whole text at once


def softmax(logits: np.ndarray) -> np.ndarray:
    """Softmax along the last axis; without checks, for the inside of a training loop."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def descend(logits, target, rows, rate: float, steps: int) -> np.ndarray:
    """Train tables by plain gradient descent on the exact expected loss.

    The gradient of the loss in row i is rows[i] times (softmax of the row - target row).
    """
    for _ in range(steps):
        logits = logits - rate * rows[:, None] * (softmax(logits) - target)
    return logits


def adam(logits, target, rows, rate: float, steps: int) -> np.ndarray:
    """Train a table by Adam on the exact expected loss (Kingma and Ba 2015, algorithm 1)."""
    mean, square = np.zeros((2, *logits.shape))
    for step in range(1, steps + 1):
        gradient = rows[:, None] * (softmax(logits) - target)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        scale = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        logits = logits - rate * mean / (1 - 0.9**step) / scale
    return logits


def loss_of(logits, target, rows) -> float:
    """Expected loss in nats per letter of a table."""
    high = logits.max(axis=1, keepdims=True)
    logits = logits - high - np.log(np.exp(logits - high).sum(axis=1, keepdims=True))
    return -float((rows[:, None] * target * logits).sum())


# ------------------------------------------------------------------------------------- the tales


class Tales(NamedTuple):
    """The tales as counts (V, V) of both parts; shares and weights of rows of the first part."""

    counts: np.ndarray
    validation: np.ndarray
    share: np.ndarray
    rows: np.ndarray
    floor: float

    @property
    def zeros(self) -> np.ndarray:
        """The table in which all letters are alike."""
        return np.zeros(self.counts.shape)

    def gap(self, table) -> float:
        """Loss of a table of logits on the training part, above the floor."""
        return loss_of(table, self.share, self.rows) - self.floor

    def unseen(self, table) -> float:
        """Loss of a table of logits on the validation part."""
        return bigram.cross_entropy_of(softmax(table), self.validation)


@cache
def tales() -> Tales:
    """The tales, counted once."""
    tokenizer, train_ids, validation_ids = characters()
    counts = bigram.count_bigrams(train_ids, len(tokenizer))
    return Tales(
        counts,
        bigram.count_bigrams(validation_ids, len(tokenizer)),
        bigram.smoothed(counts, 0),
        counts.sum(axis=1) / counts.sum(),
        bigram.conditional_entropy(counts),
    )


def along(rate: float, marks: Sequence[int]) -> dict[int, np.ndarray]:
    """Tables trained from zeros by plain gradient descent, after so many steps."""
    tables = {0: tales().zeros}
    for before, after in pairwise([0, *marks]):
        steps = after - before
        tables[after] = descend(tables[before], tales().share, tales().rows, rate, steps)
    return tables


def some_pairs(n: int, rng: np.random.Generator) -> np.ndarray:
    """Counts of n pairs drawn at random from the tales."""
    counts = tales().counts
    cumulated = np.cumsum(counts.ravel()) / counts.sum()
    drawn = np.searchsorted(cumulated, rng.random(n))
    return np.bincount(drawn, minlength=counts.size).reshape(counts.shape)


class Run(NamedTuple):
    """After training: nats above the floor, the largest mean of a row, how far entries moved."""

    gap: float
    drift: float
    reach: float  # the largest entry; all began at 0
    moves: tuple[float, ...]  # mean size of an entry's step over the rate, at each step


def run(method: type, rate: float, *, steps: int = 300, batch: int = 0, seed: int = 0) -> Run:
    """Train a table from zeros with an optimiser of torch, on the whole text or on some pairs."""
    text, rng = tales(), np.random.default_rng(seed)
    table = torch.tensor(text.zeros, requires_grad=True)
    optimizer, moves = method([table], lr=rate), []
    for _ in range(steps):
        drawn = some_pairs(batch, rng) if batch else text.counts
        before = table.detach().clone()
        optimizer.zero_grad()
        (-(torch.tensor(drawn / drawn.sum()) * table.log_softmax(dim=1)).sum()).backward()
        optimizer.step()
        moves.append((table.detach() - before).abs().mean().item() / rate)
    found = table.detach().numpy()
    drift, reach = np.abs(found.mean(axis=1)).max(), np.abs(found).max()
    return Run(text.gap(found), float(drift), float(reach), tuple(moves))


def after_300() -> dict[str, list[Run]]:
    """Runs of 300 steps: gradient descent and Adam on the whole text, Adam on few pairs."""
    found: dict[str, list[Run]] = {}
    for method, name, rates in (
        (torch.optim.SGD, "gradient descent", (1, 10, 50)),
        (torch.optim.Adam, "Adam", (0.001, 0.01, 0.1)),
    ):
        found |= {f"{name}, rate {rate}": [run(method, rate)] for rate in rates}
    found["Adam, rate 0.1, but 256 pairs a step"] = [
        run(torch.optim.Adam, 0.1, batch=256, seed=seed) for seed in SEEDS
    ]
    return found


def largest_rate() -> tuple[float, str]:
    """Beyond which rate steps near the optimum overshoot by too much, and whose row decides."""
    text = tales()
    curvature = [
        n * np.linalg.eigvalsh(np.diag(s) - np.outer(s, s))[-1]
        for n, s in zip(text.rows, text.share, strict=True)
    ]
    return 2 / max(curvature), characters().tokenizer.vocab[int(np.argmax(curvature))]


def runs_in_words(runs: dict[str, list[Run]]) -> str:
    """A table of the runs of 300 steps, and how far Adam moved an entry."""
    gaps = {name: np.array([run.gap for run in found]) for name, found in runs.items()}
    shown = [
        (
            name,
            f"{g.mean():.2g}" + (f" ± {g.std(ddof=1):.1g} ({len(g)} seeds)" if g.size > 1 else ""),
        )
        for name, g in gaps.items()
    ]
    adam, slow = (runs[f"Adam, rate {rate}"][0] for rate in (0.1, 0.001))
    return table("300 steps | nats above the floor", shown) + (
        "\n\nAdam at rate 0.1 on the whole text moved an entry on average by "
        f"{adam.moves[0]:.2f} learning rates in the first step, {adam.moves[29]:.2f} in the "
        f"thirtieth and {adam.moves[99]:.2f} in the hundredth. The mean of a row drifted by up to "
        f"{adam.drift:.1f}. At rate 0.001 no entry moved by more than {slow.reach:.2f} in all."
    )


def smoothing(adds: Sequence[float]) -> dict[float, tuple[float, float]]:
    """For what is added to each count: training loss above the floor, and validation loss."""
    text = tales()
    tables = {add: bigram.smoothed(text.counts, add) for add in adds}
    return {
        add: (
            bigram.cross_entropy_of(table, text.counts) - text.floor,
            bigram.cross_entropy_of(table, text.validation),
        )
        for add, table in tables.items()
    }


# -------------------------------------------------------------------------------- a known chain


def parametrisations(rate: float = 8, steps: int = 300) -> dict[str, np.ndarray]:
    """One model made in five ways from a thousand letters of the chain: tables of logits."""
    ids = bigram.MarkovChain(bigram.ABC_TABLE).sample(1000, torch.Generator().manual_seed(0))
    x, y = ids[:-1], ids[1:]

    def by_autograd(logits_of, weight) -> np.ndarray:
        optimizer = torch.optim.SGD([weight], lr=rate)
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(logits_of(x), y).backward()
            optimizer.step()
        return weight.detach().numpy()

    def multiplied(x):
        return F.one_hot(x, 3).double() @ by_product

    by_row, by_product = (
        torch.zeros(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)
    )
    module = nn.Embedding.from_pretrained(torch.zeros(3, 3).double(), freeze=False)
    counts = bigram.count_bigrams(ids, 3)
    share, rows = bigram.smoothed(counts, 0), counts.sum(axis=1) / counts.sum()
    return {
        "counted: log of the shares": np.log(share),
        "p − y on the counts": descend(np.zeros((3, 3)), share, rows, rate, steps),
        "rows looked up, `W[x]`": by_autograd(lambda x: by_row[x], by_row),
        "one-hot vectors times W": by_autograd(multiplied, by_product),
        "`nn.Embedding(V, V)`": by_autograd(module, module.weight),
    }


def in_columns(tables: dict[str, np.ndarray]) -> str:
    """A table in Markdown: each guise with its W and the softmax of its rows."""
    rows = ((name, f"${matrix(W)}$", f"${matrix(softmax(W))}$") for name, W in tables.items())
    return table("made by | table W | softmax of its rows", rows)


def samples(lengths: Sequence[int], seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Tables trained on samples of the chain: mean error of an entry, loss above the entropy rate.

    Both have shape (seeds, lengths).
    """
    chain = bigram.MarkovChain(bigram.ABC_TABLE)
    errors, excess = np.zeros((2, len(seeds), len(lengths)))
    for a, seed in enumerate(seeds):
        ids = chain.sample(max(lengths), torch.Generator().manual_seed(seed))
        for b, length in enumerate(lengths):
            counts = bigram.count_bigrams(ids[:length], 3)
            rows = counts.sum(axis=1) / counts.sum()
            table = descend(np.zeros((3, 3)), bigram.smoothed(counts, 0), rows, 8, 500)
            errors[a, b] = np.abs(softmax(table) - chain.table).mean()
            excess[a, b] = loss_of(table, chain.table, chain.stationary) - chain.entropy_rate
    return errors, excess


def samples_in_words(lengths: Sequence[int], errors, excess) -> str:
    """The chain, a table of both errors by the length of the sample, and their slopes."""
    chain = bigram.MarkovChain(bigram.ABC_TABLE)
    rows = [
        (f"{n:,}", *(f"{v.mean():.2g} ± {v.std(ddof=1):.1g}" for v in both))
        for n, *both in zip(lengths, errors.T, excess.T, strict=True)
    ]
    slopes = [np.polyfit(np.log(lengths), np.log(x).T, 1)[0].mean() for x in (errors, excess)]
    return (
        f"The chain's table: ${matrix(chain.table)}$. "
        f"Entropy rate {chain.entropy_rate:.4f} nats.\n\n"
        + table("characters | mean error of an entry | loss above the entropy rate", rows)
        + f"\n\nSlope of the error {slopes[0]:.2f}, of the loss {slopes[1]:.2f}.".replace("-", "−")
    )
