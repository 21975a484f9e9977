"""Checks for chapter 01, embeddings as features."""

from collections.abc import Callable

import numpy as np
import torch

from helpers.exercises import (
    Wrong,
    array,
    call,
    changes,
    close,
    diagnosed,
    exercise,
    explanation,
    numbers,
)
from helpers.exercises import check as check

BUGS = {
    "Ada": "mean over everything",
    "Ben": "mean over the sentences of the batch",
    "Cleo": "mean of the token before",
    "Dan": "mean over the tokens of the sentence",
}
OLD = ["the", "fox", "it", "wide", "stream"]
NEW = ["stream", "otter", "fox", "the", "den", "it"]


class _NoIndexing(np.ndarray):
    """An array whose rows cannot be fetched by number; what is computed from it is ordinary."""

    def __getitem__(self, at):
        raise IndexError("rows of this table cannot be fetched by number: use a product instead")

    def take(self, *args, **kwargs):
        """Refuse as above."""
        return self[args]

    def __array_wrap__(self, made, context=None, return_scalar=False):
        return np.asarray(made)


@exercise("01.1")
def _lookup(answer) -> None:
    rng = np.random.default_rng(1)
    for size, width, shape in ((7, 3, (2, 4)), (5, 6, (3, 2))):
        table, ids = rng.standard_normal((size, width)), rng.integers(0, size, shape)
        ids[0, 0], ids[-1, -1] = 0, size - 1
        if size == 5:
            ids %= size - 1  # the last row is not asked for: a one-hot counts rows, not ids
        found = numbers(call(answer, table.copy().view(_NoIndexing), ids.copy()))
        if found.shape == (*shape, size) and close(found, np.eye(size)[ids]):
            raise Wrong("These are the one-hot vectors. They are still to meet the table.")
        if found.shape == (ids.size, width):
            raise Wrong("The rows are in one long list: each sentence should keep its own.")
        found = array(found, (*shape, width), "The result")
        if close(found, table[ids]):
            continue
        if close(found, table[ids - 1]):
            raise Wrong("Each id fetches the row before its own: ids count from 0.")
        if close(found, table[(ids + 1) % size]):
            raise Wrong("Each id fetches the row after its own: ids count from 0.")
        raise Wrong("The shape is right, the numbers are not those of the rows.")


@exercise("01.2")
def _gradient(answer) -> None:
    rng = np.random.default_rng(2)
    for size, chosen in ((8, [3, 7, 7]), (6, [2, 0, 2, 5, 2])):
        ids, upstream = np.array(chosen), rng.standard_normal((len(chosen), 4))
        found = array(call(answer, ids.copy(), upstream.copy(), size), (size, 4), "The gradient")
        right = np.zeros((size, 4))
        np.add.at(right, ids, upstream)
        if close(found, right):
            continue
        last = np.zeros((size, 4))
        last[ids] = upstream
        counts = np.maximum(np.bincount(ids, minlength=size), 1)[:, None]
        if close(found, last):
            raise Wrong("An id that comes again overwrites what was there before.")
        if close(found, right / counts):
            raise Wrong("This is the mean over a row's tokens. Nudge the row: do they take turns?")
        if close(found, right / len(ids)):
            raise Wrong("This is divided by the number of tokens. Who asked for a mean?")
        if np.abs(found[np.setdiff1d(np.arange(size), ids)]).max() > 1e-9:
            raise Wrong("A row that no token fetched has a gradient other than 0.")
        raise Wrong("The right rows, but not the right numbers in them.")


def which_bug() -> dict[str, Callable]:
    """Four students' boxes, each from (B, T, C) to the same shape, each with one mistake.

    They give a tensor for a tensor, and an array for anything else.
    """
    bugs = {
        "mean over the tokens of the sentence": lambda x: x - x.mean(axis=1, keepdims=True),
        "mean over the sentences of the batch": lambda x: x - x.mean(axis=0, keepdims=True),
        "mean over everything": lambda x: x - x.mean(),
        "mean of the token before": _mean_before,
    }
    return {student: _taking_arrays(bugs[bug]) for student, bug in BUGS.items()}


def _mean_before(x):
    means = x.mean(axis=2, keepdims=True)
    return x - np.concatenate([np.zeros_like(means[:, :1]), means[:, :-1]], axis=1)


def _taking_arrays(function: Callable) -> Callable:
    def box(x):
        values = numbers(x)
        if values.ndim != 3:
            raise ValueError(f"x must have the shape (B, T, C), got {values.shape}")
        return torch.tensor(function(values)) if isinstance(x, torch.Tensor) else function(values)

    return box


@exercise("01.3")
def _which_bug(answer) -> None:
    diagnosed(
        answer,
        BUGS,
        "Poke a single number of a block of zeros. In which sentences, tokens and columns does "
        "the output move?",
    )


@exercise("01.4")
def _size(answer) -> None:
    size = array(answer, (3,), "The answer (B, T, C)")
    if (size < 1).any() or not close(size, size.round()):
        raise Wrong("B, T and C are whole numbers, at least 1.")
    b, t, c = (int(n) for n in size.round())
    a_reads, c_reads, d_reads = c, b * t, t * c
    summary = f"Here an output of A reads {a_reads} numbers, of C {c_reads}, of D {d_reads}"
    if d_reads != 5 * a_reads:
        raise Wrong(f"{summary}: D reads {d_reads / a_reads:g} times as many as A.")
    if c_reads != 2 * d_reads:
        raise Wrong(f"{summary}: C reads {c_reads / d_reads:g} times as many as D.")


@exercise("01.5")
def _optimizer(answer) -> None:
    table = torch.nn.Parameter(torch.linspace(-1, 1, 24).view(8, 3).clone())
    optimizer = call(answer, [table])
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise Wrong(f"An optimiser is asked for, this is {type(optimizer).__name__}.")
    held = [part for group in optimizer.param_groups for part in group["params"]]
    if len(held) != 1 or held[0] is not table:
        raise Wrong("The optimiser should be given the parameters that your function receives.")
    places = [table.detach().clone()]
    for ids in ([3, 7], [1]):
        optimizer.zero_grad()
        table[torch.tensor(ids)].square().sum().backward()
        optimizer.step()
        places.append(table.detach().clone())
    _, first, second = places
    if torch.equal(second[3], first[3]):
        raise Wrong(
            "With this optimiser row 3 stays where it is in the second step: the claim holds. "
            "What would move a number although its gradient is now 0?"
        )
    if not torch.isfinite(second).all():
        raise Wrong("The table holds nan or inf after two steps.")


explanation(
    "01.6",
    "An id only says which row to fetch; with the new numbering each word fetches the row of "
    "another word. The rows themselves are as good as before. So nothing needs to be trained: "
    "move each row to the new id of its word, in the output table too.",
    "An id only says which row to fetch.",
    "After the sorting each word fetches another word's row.",
    "The numbers in the rows are as good as before, so nothing needs to be trained.",
    "Move each row to the new id of its word.",
)


@exercise("01.7")
def _migration(answer) -> None:
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((len(OLD), 4))
    kept, place = [n for n, word in enumerate(NEW) if word in OLD], OLD.index
    fresh = [n for n, word in enumerate(NEW) if word not in OLD]
    value = call(answer, rows.copy(), list(OLD), list(NEW))
    if changes(answer, rows.copy(), list(OLD), list(NEW)):
        raise Wrong("Your function changes the table that it is given: work on a copy.")
    found = numbers(value)
    if found.shape == rows.shape:
        raise Wrong("The new vocabulary has one word more than the old: the table should grow.")
    found = array(found, (len(NEW), 4), "The new table")
    if close(found[: len(OLD)], rows) or close(found[: len(OLD) - 1], rows[:-1]):
        raise Wrong("The rows stand as before, so the words have other words' rows.")
    wrong = [NEW[n] for n in kept if not close(found[n], rows[place(NEW[n])])]
    if wrong:
        raise Wrong(f"{wrong[0]!r} is in both vocabularies and should keep its row.")
    if close(found[fresh], 0):
        raise Wrong("A new word's row is zero; it should be the mean of all old rows.")
    survivors = rows[[place(NEW[n]) for n in kept]].mean(axis=0)
    if close(found[fresh], survivors):
        raise Wrong("This is the mean of the rows that stay. All old rows were asked for.")
    if close(found[fresh], rows.mean()):
        raise Wrong("This is one mean of all numbers; each column has a mean of its own.")
    if not close(found[fresh], rows.mean(axis=0)):
        raise Wrong("The known words are right. The new ones do not start with the mean row.")
