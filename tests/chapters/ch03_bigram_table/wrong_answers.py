"""Chapter 03: what learners write before they have it, and what the check should tell them."""

from itertools import pairwise

import numpy as np

from helpers import bigram, corpus, tokenizers
from helpers.bigram import ABC_TABLE
from helpers.chapters.ch03_bigram_table.exercises import ADDS, BUGS, little_text
from helpers.numerics import softmax

SIZE = 61


def counted(ids, V):
    table = np.zeros((V, V))
    for present, following in pairwise(ids):
        table[present, following] += 1
    return table


def shares(ids, V):
    table = counted(ids, V)
    table[table.sum(axis=1) == 0] = 1
    return table / table.sum(axis=1, keepdims=True)


def nan_rows(ids, V):
    table = counted(ids, V)
    with np.errstate(invalid="ignore"):
        return table / table.sum(axis=1, keepdims=True)


def overflowing(logits, axis=1):
    with np.errstate(all="ignore"):
        return np.exp(logits) / np.exp(logits).sum(axis=axis, keepdims=True)


def gradient(table, ids, axis=1, softmax=softmax):
    counts = counted(ids, len(table))
    return (counts.sum(axis=1, keepdims=True) * softmax(table, axis=axis) - counts) / counts.sum()


def last_row_uniform(ids, V):
    table = counted(ids, V)
    table[ids[-1]] = 1
    return table / np.maximum(table.sum(axis=1, keepdims=True), 1)


def last_number_uniform(ids, V):
    table = counted(ids, V)
    table[V - 1] = 1
    return table / np.maximum(table.sum(axis=1, keepdims=True), 1)


def overwritten(table, ids):
    found = np.zeros_like(table)
    for present, following in pairwise(ids):
        found[present] = softmax(table)[present]
        found[present, following] -= 1
    return found / (len(ids) - 1)


def logits_as_p(table, ids):
    counts = counted(ids, len(table))
    return (counts.sum(axis=1, keepdims=True) * table - counts) / counts.sum()


def row_by_row(table, ids):
    found = shares(ids, len(table))
    found[3] = 0
    return np.where(found.sum(axis=1, keepdims=True) > 0, softmax(table) - found, 0)


def few_shares():
    """Absolute discounting of the little text; the mass taken goes to what follows many letters."""
    ids, _ = little_text()
    few = counted(ids.tolist(), SIZE)
    rows = few.sum(axis=1, keepdims=True)
    many = (few > 0).sum(axis=0) + 0.3
    taken = np.minimum(few, 0.5)
    left = few - taken + taken.sum(axis=1, keepdims=True) * many / many.sum()
    return np.where(rows > 0, left / np.maximum(rows, 1), many / many.sum())


def best_constant():
    counts = bigram.count_bigrams(little_text()[0], SIZE)
    return [bigram.smoothed(counts, add) for add in ADDS]


def counted_elsewhere(add, letters=None, validation=False):
    text = corpus.load()
    parts = corpus.split(tokenizers.CharTokenizer(text).encode(text))
    return bigram.smoothed(bigram.count_bigrams(parts[validation][:letters], SIZE), add)


def by_frequency():
    ids, _ = little_text()
    few = counted(ids.tolist(), SIZE)
    common = np.bincount(ids, minlength=SIZE) + 0.3
    mixed = few + 5 * common / common.sum()
    return mixed / mixed.sum(axis=1, keepdims=True)


shifted = np.log(ABC_TABLE) + np.array([[0.0], [5.0], [0.0]])

RIGHT = {
    "03.1": shares,
    "03.2": gradient,
    "03.3": dict(BUGS),
    "03.4": 40,
    "03.5": shifted,
    "03.7": few_shares(),
}

WRONG = {
    "03.1": [
        (nan_rows, "One row is nan"),
        (counted, "These are the counts"),
        (lambda ids, V: shares(ids[::-1], V), "swapped"),
        (lambda ids, V: counted(ids, V) / (len(ids) - 1), "all pairs together"),
        (lambda ids, V: bigram.smoothed(counted(ids, V), 1), "1 was added"),
        (lambda ids, V: np.nan_to_num(nan_rows(ids, V)), "it sums to 0"),
        (lambda ids, V: counted(ids, V) / 3, "Each row should sum to 1; yours sum to"),
        (lambda ids, V: bigram.smoothed(counted(ids, V), 0.5), "not the counted shares"),
        (lambda ids, V: shares(ids, V)[:, :2], "should have shape (4, 4)"),
        (last_row_uniform, "comes there, with others after it"),
        (last_number_uniform, "token 2 does not come there"),
        (lambda ids, V: shares(ids, max(ids) + 1), "V is given, not to be found"),
    ],
    "03.2": [
        (lambda table, ids: gradient(table, ids, softmax=overflowing), "Right for small logits"),
        (lambda table, ids: -gradient(table, ids), "The sign is wrong"),
        (lambda table, ids: gradient(table, ids) * (len(ids) - 1), "sum of the losses"),
        (lambda table, ids: gradient(table, ids) * (1 - 1 / len(ids)), "How many pairs"),
        (lambda table, ids: softmax(table) - shares(ids, len(table)), "how often it was read"),
        (row_by_row, "how often it was read"),
        (overwritten, "overwrites what the pairs before it left"),
        (lambda table, ids: overwritten(table, ids) * (len(ids) - 1), "overwrites"),
        (logits_as_p, "What makes probabilities of them"),
        (lambda table, ids: gradient(table, ids, axis=0), "Softmax runs down the columns"),
        (lambda table, ids: softmax(table), "Token 3 has nothing after it"),
        (lambda table, ids: gradient(table, ids) ** 2, "What does one pair add"),
        (lambda table, ids: gradient(table, ids)[0], "should have shape (4, 4)"),
    ],
    "03.3": [
        (dict.fromkeys(BUGS, "rows and columns swapped"), "1 of the 4 are right"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "0 of the 4 are right"),
        ({**BUGS, "Ada": BUGS["Cleo"], "Cleo": BUGS["Ada"]}, "if you took more steps"),
        ({**BUGS, "Cleo": "", "Dan": " "}, "Still open: Cleo, Dan."),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
        (list(BUGS.values()), "an entry for each of Ada, Ben, Cleo, Dan"),
    ],
    "03.4": [
        (1, "too small a rate"),
        (20, "too small a rate"),
        (90, "too large a rate"),
        (200, "too large a rate"),
        (-3, "positive and finite"),
    ],
    "03.5": [
        (ABC_TABLE, "These are the probabilities"),
        (np.log(ABC_TABLE), "is not below"),
        (shifted.T, "not the rule of the chain"),
        (np.log(ABC_TABLE) + np.array([0.0, 5.0, 0.0]), "not the rule of the chain"),
        (shifted[:2], "should have shape (3, 3)"),
    ],
    "03.7": [
        (best_constant()[0], "the best constant gives"),
        (best_constant()[-1], "the best constant gives"),
        (bigram.smoothed(bigram.count_bigrams(little_text()[0], SIZE), 0), "infinite"),
        (by_frequency(), "common after one letter only"),
        (counted_elsewhere(0.03), "Use the 5,000 letters only"),
        (counted_elsewhere(3), "Use the 5,000 letters only"),
        (counted_elsewhere(0.05, letters=10_000), "Use the 5,000 letters only"),
        (counted_elsewhere(1, validation=True), "Use the 5,000 letters only"),
        (2 * few_shares(), "each should sum to 1"),
        (few_shares() - np.eye(SIZE) + np.roll(np.eye(SIZE), 1, axis=1), "is negative"),
        (few_shares()[0], "should have shape (61, 61)"),
    ],
}
