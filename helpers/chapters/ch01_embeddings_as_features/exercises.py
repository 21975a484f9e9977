"""Checks for chapter 01, embeddings as features."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from helpers import exercises as ex
from helpers.exercises import check as check


class _NoIndexing(np.ndarray):
    """An array whose rows cannot be fetched by number; what is computed from it is ordinary."""

    def __getitem__(self, at):
        raise IndexError("rows of this table cannot be fetched by number: use a product instead")

    def take(self, *args, **kwargs):
        """Refuse as above."""
        return self[args]

    def __array_wrap__(self, made, context=None, return_scalar=False):
        return np.asarray(made)


def _tables():
    """Embedding tables and ids that fetch the first row; the last is asked for in one of two."""
    rng = np.random.default_rng(1)
    for size, width, shape in ((7, 3, (2, 4)), (5, 6, (3, 2))):
        table, ids = rng.standard_normal((size, width)), rng.integers(0, size, shape)
        ids[0, 0], ids[-1, -1] = 0, size - 1
        if size == 5:
            ids %= size - 1  # a one-hot counts rows, not ids
        yield table.view(_NoIndexing), ids


def _rows(table, ids):
    return np.asarray(table)[ids % len(table)]


ex.near_misses(
    "01.1",
    _rows,
    _tables(),
    {
        "These are the one-hot vectors. They are still to meet the table.": lambda E, ids: np.eye(
            len(E)
        )[ids],
        "The rows are in one long list: each sentence should keep its own.": (
            lambda E, ids: _rows(E, ids.ravel())
        ),
        "Each id fetches the row before its own: ids count from 0.": (
            lambda E, ids: _rows(E, ids - 1)
        ),
        "Each id fetches the row after its own: ids count from 0.": (
            lambda E, ids: _rows(E, ids + 1)
        ),
    },
    "The shape is right, the numbers are not those of the rows.",
)


def _tokens_of_rows():
    rng = np.random.default_rng(2)
    for size, chosen in ((8, [3, 7, 7]), (6, [2, 0, 2, 5, 2])):
        yield np.array(chosen), rng.standard_normal((len(chosen), 4)), size


def _added(ids, upstream, V):
    gradient = np.zeros((V, upstream.shape[1]))
    np.add.at(gradient, ids, upstream)
    return gradient


def _overwritten(ids, upstream, V):
    gradient = np.zeros((V, upstream.shape[1]))
    gradient[ids] = upstream
    return gradient


def _not_gradient(found, ids, upstream, V) -> str:
    if np.abs(found[np.setdiff1d(np.arange(V), ids)]).max() > 1e-9:
        return "A row that no token fetched has a gradient other than 0."
    return "The right rows, but not the right numbers in them."


ex.near_misses(
    "01.2",
    _added,
    _tokens_of_rows(),
    {
        "An id that comes again overwrites what was there before.": _overwritten,
        "This is the mean over a row's tokens. Nudge the row: do they take turns?": (
            lambda ids, dy, V: (
                _added(ids, dy, V) / np.bincount(ids, minlength=V).clip(min=1)[:, None]
            )
        ),
        "This is divided by the number of tokens. Who asked for a mean?": (
            lambda ids, dy, V: _added(ids, dy, V) / len(ids)
        ),
    },
    _not_gradient,
    what="The gradient",
)


def _mean_before(x):
    means = x.mean(axis=2, keepdims=True)
    return np.concatenate([np.zeros_like(means[:, :1]), means[:, :-1]], axis=1)


def _without(mean: Callable, x):
    """A student's box, which gives a tensor for a tensor, and an array for anything else."""
    values = ex.numbers(x)
    if values.ndim != 3:
        raise ValueError(f"x must have the shape (B, T, C), got {values.shape}")
    values = values - mean(values)
    return torch.tensor(values) if isinstance(x, torch.Tensor) else values


BUGS: dict[str, tuple[str, Callable]] = {
    student: (bug, lambda mean=mean: partial(_without, mean))
    for student, bug, mean in (
        ("Ada", "mean over everything", lambda x: x.mean()),
        ("Ben", "mean over the sentences of the batch", lambda x: x.mean(axis=0, keepdims=True)),
        ("Cleo", "mean of the token before", _mean_before),
        ("Dan", "mean over the tokens of the sentence", lambda x: x.mean(axis=1, keepdims=True)),
    )
}
which_bug = ex.diagnosis(
    "01.3",
    BUGS,
    "Poke a single number of a block of zeros. In which sentences, tokens and columns does the "
    "output move?",
)


NUMBERS = {"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
MORE = {"twice": 2} | {f"{word} times": number for word, number in NUMBERS.items()}


@ex.exercise("01.4")
def _size(answer, times="five", more="twice") -> None:
    size = ex.array(answer, (3,), "The answer (B, T, C)")
    if (size < 1).any() or not ex.close(size, size.round()):
        raise ex.Wrong("B, T and C are whole numbers, at least 1.")
    b, t, c = (int(n) for n in size.round())
    a_reads, c_reads, d_reads = c, b * t, t * c
    summary = f"Here an output of A reads {a_reads} numbers, of C {c_reads}, of D {d_reads}"
    if d_reads != NUMBERS[times] * a_reads:
        raise ex.Wrong(f"{summary}: D reads {d_reads / a_reads:g} times as many as A.")
    if c_reads != MORE[more] * d_reads:
        raise ex.Wrong(f"{summary}: C reads {c_reads / d_reads:g} times as many as D.")


ex.values(
    "01.4",
    lambda rng: {"times": rng.choice([*NUMBERS]), "more": rng.choice([*MORE])},
    lambda times, more: (4 * MORE[more], NUMBERS[times], 4),
    "exactly {times} times as many numbers as one of box A",
    "exactly {more} as many as one of box D",
    times="five",
    more="twice",
)


@ex.exercise("01.5")
def _optimizer(answer) -> None:
    start = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
    kind, settings, is_of_table = ex.within(answer, "optimizer", start)
    made = getattr(torch.optim, str(kind), None)
    if not (isinstance(made, type) and issubclass(made, torch.optim.Optimizer)):
        raise ex.Wrong(f"An optimiser is asked for, this is {kind}.")
    if not is_of_table:
        raise ex.Wrong("The optimiser should be given the parameters that your function receives.")
    table = torch.nn.Parameter(torch.tensor(start))
    optimizer = made([{**settings, "params": [table]}], lr=settings["lr"])  # type: ignore[call-arg]
    places = [table.detach().clone()]
    for ids in ([3, 7], [1]):
        optimizer.zero_grad()
        table[torch.tensor(ids)].square().sum().backward()
        optimizer.step()
        places.append(table.detach().clone())
    _, first, second = places
    if torch.equal(second[3], first[3]):
        raise ex.Wrong(
            "With this optimiser row 3 stays where it is in the second step: the claim holds. "
            "What would move a number although its gradient is now 0?"
        )
    if not torch.isfinite(second).all():
        raise ex.Wrong("The table holds nan or inf after two steps.")


ex.explanation(
    "01.6",
    "An id only says which row to fetch; with the new numbering each word fetches the row of "
    "another word. The rows themselves are as good as before. So nothing needs to be trained: "
    "move each row to the new id of its word, in the output table too.",
    "An id only says which row to fetch.",
    "After the sorting each word fetches another word's row.",
    "The numbers in the rows are as good as before, so nothing needs to be trained.",
    "Move each row to the new id of its word.",
)

ex.spoken(
    "01.4",
    "Which of B, T and C did your two equations leave open, and why?",
    "C: the first fixes T, the second only the ratio of B to C.",
)
