"""What chapter 03 measures: tables of logits on their way, and how far they still are.

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
import torch.nn.functional as F

from helpers import bigram, minigpt
from helpers.chapters.lab import characters

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


def loss_of(logits, target, rows) -> float:
    """Expected loss in nats per letter of a table."""
    high = logits.max(axis=1, keepdims=True)
    logits = logits - high - np.log(np.exp(logits - high).sum(axis=1, keepdims=True))
    return -float((rows[:, None] * target * logits).sum())


def copying(ids: torch.Tensor, V: int) -> tuple[float, float]:
    """Train a table on what it reads as its targets: its loss, and its loss at what comes next."""
    logits = torch.zeros(V, V, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=0.05)
    for _ in range(500):
        x_BT, _ = minigpt.get_batch(ids, 32, 32)
        loss = F.cross_entropy(logits[x_BT].flatten(0, 1), x_BT.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), F.cross_entropy(logits[ids[:-1]], ids[1:]).item()


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
    V = len(tokenizer.vocab)
    counts = bigram.count_bigrams(train_ids, V)
    return Tales(
        counts,
        bigram.count_bigrams(validation_ids, V),
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
