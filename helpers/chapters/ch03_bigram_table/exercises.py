"""Checks for chapter 03, the bigram table."""

from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import torch

from helpers import bigram, numerics
from helpers import exercises as ex
from helpers.chapters.ch03_bigram_table.lab import descend, tales
from helpers.exercises import check as check

IDS = [0, 1, 2, 0, 1, 0, 2, 2, 1, 0, 1, 1, 0, 1, 3]  # token 3 only ends the text
OTHER_IDS, OTHER_SIZE = [1, 0, 1, 0, 1, 1], 4  # tokens 2 and 3 never come
COUNTS = np.array([[2, 12, 6], [9, 1, 5], [3, 4, 8]])
STEPS, GOAL = 1000, 0.02  # of exercise 4


def _counts(ids, V):
    return bigram.count_bigrams(np.array(ids), V)


def _shares(ids, V, add: float = 0):
    return bigram.smoothed(_counts(ids, V), add)


def _not_shares(found, ids, V) -> str:
    right = _shares(ids, V)
    if ids == OTHER_IDS:
        row = next(token for token in range(V) if not ex.close(found[token], right[token]))
        seen = "does not come there" if row > 1 else "comes there, with others after it"
        return f"{ON_ONE_TEXT} row {row} is off; token {row} {seen}.".format(ids=ids, V=V)
    if ex.close(found[:3], right[:3]):
        off = f"it sums to {found[3].sum():g}"
        return f"Only the row of the token that nothing follows is off: {off}."
    sums = found.sum(axis=1)
    if not np.allclose(sums, 1):
        return f"Each row should sum to 1; yours sum to {', '.join(f'{s:.3g}' for s in sums)}."
    return "The rows sum to 1, but they are not the counted shares."


ON_ONE_TEXT = "Right on one text. But for ids={ids} and V={V}"
ex.near_misses(
    "03.1",
    _shares,
    [(IDS, len(set(IDS))), (OTHER_IDS, OTHER_SIZE)],
    {
        "One row is nan, because the row of the token that only ends the text was divided by 0.": (
            lambda ids, V: _counts(ids, V) / _counts(ids, V).sum(axis=1, keepdims=True)
        ),
        "These are the counts. In one more step each row becomes probabilities.": _counts,
        "Rows and columns are swapped. A row belongs to the present token.": (
            lambda ids, V: _shares(ids[::-1], V)
        ),
        "You divided by all pairs together; each row should sum to 1 by itself.": (
            lambda ids, V: _counts(ids, V) / (len(ids) - 1)
        ),
        "You added 1 to each count. The question asks for the counts as they are.": (
            lambda ids, V: _shares(ids, V, add=1)
        ),
        ON_ONE_TEXT + " the table has shape {found.shape}: V is given, not to be found.": (
            lambda ids, V: _shares(ids, max(ids) + 1)
        ),
    },
    _not_shares,
    what="The table",
    numpy=True,
)


def _gradient(table, ids, *, weights=numerics.softmax, over=None):
    """The gradient of the mean loss of the pairs, or what comes of other weights or divisors."""
    counts = _counts(ids, len(table))
    pairs = counts.sum(axis=1, keepdims=True) * weights(table) - counts
    return pairs / (counts.sum() if over is None else over)


def _each_row_alone(table, ids):
    return numerics.softmax(table) - _shares(ids, len(table))


def _last_pairs_only(table, ids):
    gradient, p = np.zeros_like(table), numerics.softmax(table)
    for present, following in pairwise(ids):
        gradient[present] = p[present] - np.eye(len(p))[following]
    return gradient


def _not_gradient(found, table, ids) -> str:
    if np.abs(found[3]).max() > 1e-9:
        return "Token 3 has nothing after it, so its row takes no part in the loss."
    return "The shape is right, the numbers are not. What does one pair add, and to which row?"


ex.near_misses(
    "03.2",
    _gradient,
    [(np.random.default_rng(5).standard_normal((4, 4)), IDS)],
    {
        "The sign is wrong: this is y − p, the way the logits go, not the gradient.": (
            lambda table, ids: -_gradient(table, ids)
        ),
        "This is the gradient of the sum of the losses; the mean is asked for.": (
            partial(_gradient, over=1)
        ),
        "You divided by the number of tokens. How many pairs do they make?": (
            partial(_gradient, over=len(IDS))
        ),
        "Each row is right up to a factor. How often was it read?": (
            _each_row_alone,
            lambda table, ids: _each_row_alone(table, ids) * (np.arange(4) < 3)[:, None],
        ),
        "You used the logits where p belongs. What turns them into probabilities?": (
            partial(_gradient, weights=lambda table: table)
        ),
        "Each pair overwrites what the pairs before it left in the row. Add them up.": (
            _last_pairs_only,
            lambda table, ids: _last_pairs_only(table, ids) / len(ids),
            lambda table, ids: _last_pairs_only(table, ids) / (len(ids) - 1),
        ),
        "Your softmax runs down the columns, but the logits of one prediction are a row.": (
            partial(_gradient, weights=partial(numerics.softmax, axis=0))
        ),
    },
    _not_gradient,
    what="The gradient",
)


def _ten_steps(counts):
    share, often = bigram.smoothed(counts, 0), counts.sum(axis=1, keepdims=True) / counts.sum()
    logits = np.zeros((3, 3))
    for _ in range(10):
        logits = logits - often * (numerics.softmax(logits) - share)
    return numerics.softmax(logits)


BUGS = {
    "Ada": ("probabilities used as logits", lambda c: numerics.softmax(bigram.smoothed(c, 0))),
    "Ben": ("rows and columns swapped", lambda c: bigram.smoothed(c.T, 0)),
    "Cleo": ("stopped after ten steps", _ten_steps),
    "Dan": ("divided by the grand total", lambda c: c / c.sum()),
}
which_bug = ex.diagnosis(
    "03.3",
    BUGS,
    "Make each mistake on purpose and compare. Which of the tables would change if you took more "
    "steps?",
    [COUNTS],
    lambda rng: [rng.permuted(rng.permuted(COUNTS, axis=1), axis=0)],
)


@ex.exercise("03.4")
def _rate(answer) -> None:
    rate = float(ex.numbers(answer))
    if not 0 < rate < np.inf:
        raise ex.Wrong(f"A learning rate is positive and finite, not {rate:g}.")
    text = tales()
    gap, at_half = (
        text.gap(descend(text.zeros, text.share, text.rows, some, STEPS))
        for some in (rate, rate / 2)
    )
    if gap < GOAL:
        return
    if at_half < gap:
        raise ex.Wrong(
            f"It ends {gap:.3g} nats above the floor, and jumps about: too large a rate."
        )
    raise ex.Wrong(f"It ends {gap:.3g} nats above the floor, still falling: too small a rate.")


@ex.exercise("03.5")
def _row_constant(answer) -> None:
    table = ex.array(answer, (3, 3), "The table")
    p = numerics.softmax(table)
    if ex.close(table, bigram.ABC_TABLE):
        raise ex.Wrong("These are the probabilities. The table asked for holds logits.")
    if not ex.close(p, bigram.ABC_TABLE, 1e-4):
        row = int(np.abs(p - bigram.ABC_TABLE).max(axis=1).argmax())
        raise ex.Wrong(
            f"Softmax of row {'ABC'[row]} gives {', '.join(f'{x:.3f}' for x in p[row])}, "
            "not the rule of the chain."
        )
    if not table[0, 1] < table[1, 1]:
        raise ex.Wrong(
            f"The probabilities are right, but W[A, B] = {table[0, 1]:.2f} is not below "
            f"W[B, B] = {table[1, 1]:.2f}."
        )


ex.explanation(
    "03.6",
    "There is no bug: one single pair that was never seen in training has probability 0, and "
    "its surprise, minus log 0, is infinite, which makes the mean infinite however well all "
    "other pairs fit. Adding a little to every count (smoothing) gives unseen pairs a small "
    "probability, at the cost of a slightly higher training loss.",
    "The counting is right: a pair that was never seen in training has probability 0.",
    "The surprise of such a pair is infinite.",
    "A single one makes the mean infinite, however well all others fit.",
    "Add a little to every count; the training loss rises slightly.",
)


@ex.exercise("03.7")
def _(answer):
    ids, batch, context = 100 + 7 * torch.arange(20) % 20, 400, 8  # no two alike
    both = "Return two tensors, the windows and their targets."
    x, y = ex.unpacked(ex.call(answer, ids, batch, context), 2, both)
    again = ex.numbers(ex.unpacked(ex.call(answer, ids, batch, context), 2, both)[0])
    x = ex.array(x, (batch, context), "The tensor of windows")
    y = ex.array(y, (batch, context), "The tensor of targets")
    if not np.isin(np.concatenate([x, y]), ids).all():
        raise ex.Wrong("There are numbers in it that the text does not have. Are these its tokens?")
    is_same, tokens = np.array_equal(x, again), ids.numpy()
    x, y = (np.argsort(tokens)[np.searchsorted(np.sort(tokens), part)] for part in (x, y))
    if (np.diff(x, axis=1) != 1).any():
        raise ex.Wrong("A window is a run of the text; yours are not.")
    if (y == x).all():
        raise ex.Wrong("The targets are what was read. They should lie one token later.")
    if (y != x + 1).any():
        raise ex.Wrong("Each target is the token after the one that was read; yours are not.")
    starts = set(x[:, 0].tolist())
    if len(starts) == 1:
        raise ex.Wrong("All windows are the same. Draw a position for each of them.")
    if is_same:
        raise ex.Wrong("Two batches are the same. Draw the positions at random.")
    if lacking := set(range(len(ids) - context)) - starts:
        raise ex.Wrong(
            f"Of {len(ids)} tokens the windows that begin at {sorted(lacking)} never come. Which "
            "are the first and the last position at which a window and its targets fit?"
        )
    at, often = Counter(x[:, 0].tolist()).most_common(1)[0]
    if often > 80:  # of 400, where 33 are to be expected
        raise ex.Wrong(f"Of {batch} windows {often} begin at {at}. Each should be equally likely.")


ex.spoken(
    "03.3",
    "Take a row of one of your tables. How did it come out of the counts?",
    "By which sum it was divided: of a row, a column or all; softmax belongs after logits.",
)
