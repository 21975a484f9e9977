"""Chapter 03: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers import bigram, minigpt
from helpers.bigram import ABC_TABLE
from helpers.chapters import judges
from helpers.numerics import softmax

shares, gradient = (judges()[name].right for name in ("03.1", "03.2"))
shifted = np.log(ABC_TABLE) + np.array([[0.0], [5.0], [0.0]])


def counted(ids, V, uniform=None):
    """Shares of the pairs, with a row set to be uniform; rows that were not seen are 0."""
    table = bigram.count_bigrams(np.array(ids), V).astype(float)
    if uniform is not None:
        table[uniform] = 1
    return table / table.sum(axis=1, keepdims=True).clip(min=1)


def batch_of(windows, *, targets=1, stride=1, last=0):
    """A get_batch that draws `windows` positions, with the targets so many tokens later."""

    def get_batch(ids, batch, context):
        first = torch.randint(len(ids) - context - last, (windows or batch, 1))
        at = (first + stride * torch.arange(context)).expand(batch, -1) % len(ids)
        return ids[at], ids[(at + targets) % len(ids)]

    return get_batch


RIGHT = {
    "03.7": [minigpt.get_batch],
    "03.4": [40],
    "03.5": [shifted],
}


def every_window(ids, batch, context):
    """One window after another, and from the first again: none is drawn."""
    starts = torch.arange(batch)[:, None] % (len(ids) - context) + torch.arange(context)
    return ids[starts], ids[starts + 1]


def clamped(ids, batch, context):
    starts = torch.randint(len(ids), (batch, 1)).clamp(max=len(ids) - context - 1)
    starts = starts + torch.arange(context)
    return ids[starts], ids[starts + 1]


WRONG = {
    "03.1": [
        (counted, "it sums to 0"),
        (lambda ids, V: 2 * shares(ids, V), "Each row should sum to 1; yours sum to"),
        (lambda ids, V: shares(ids, V, add=0.5), "not the counted shares"),
        (lambda ids, V: counted(ids, V, uniform=ids[-1]), "comes there, with others after it"),
        (lambda ids, V: counted(ids, V, uniform=V - 1), "token 2 does not come there"),
    ],
    "03.2": [
        (lambda table, ids: softmax(table), "Token 3 has nothing after it"),
        (lambda table, ids: gradient(table, ids) ** 2, "What does one pair add"),
    ],
    "03.4": [
        (1, "too small a rate"),
        (20, "too small a rate"),
        (90, "too large a rate"),
        (200, "too large a rate"),
        (-3, "positive and finite"),
        ("40", "Real numbers"),
    ],
    "03.5": [
        (ABC_TABLE, "These are the probabilities"),
        (np.log(ABC_TABLE), "is not below"),
        (shifted.T, "not the rule of the chain"),
        (np.log(ABC_TABLE) + np.array([0.0, 5.0, 0.0]), "not the rule of the chain"),
        (shifted[:2], "should have shape (3, 3)"),
    ],
    "03.7": [
        (batch_of(None, targets=0), "are what was read"),
        (batch_of(None, targets=2), "Each target is the token after"),
        (batch_of(None, stride=2), "is a run of the text"),
        (batch_of(1), "All windows are the same"),
        (lambda *given: [(x := minigpt.get_batch(*given)[0]), x + 1], "does not have"),
        (every_window, "Two batches are the same"),
        (batch_of(None, last=1), "never come"),
        (clamped, "begin at 11. Each should be equally likely"),
        (lambda ids, batch, context: minigpt.get_batch(ids, batch, context)[0], "two tensors"),
        (
            lambda ids, batch, context: minigpt.get_batch(ids, context, batch),
            "Your function raised",
        ),
        (lambda *given: [part.T for part in minigpt.get_batch(*given)], "have shape (400, 8)"),
        (lambda *given: [part - 100 for part in minigpt.get_batch(*given)], "does not have"),
    ],
}
