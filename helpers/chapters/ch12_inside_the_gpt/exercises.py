"""Checks for chapter 12, inside the GPT."""

import numpy as np
from jaxtyping import Float

from helpers import exercises as ex
from helpers.exercises import check as check
from helpers.numerics import softmax


def _weights(seed: int, H: int, T: int) -> Float[np.ndarray, "H T T"]:
    """Causal weights of attention from random scores."""
    scores = np.random.default_rng(seed).standard_normal((H, T, T))
    return softmax(np.where(np.tri(T, dtype=bool), scores, -np.inf))


def _diagonal(weights, back: int, start: int = 0):
    """Each head's weights on the token so many positions back."""
    return np.diagonal(weights, -back, axis1=1, axis2=2)[:, start:]


ex.near_misses(
    "12.1",
    lambda weights: _diagonal(weights, 1).mean(axis=1),
    [(_weights(seed, H, T),) for seed, H, T in ((1, 3, 5), (2, 1, 8), (3, 4, 2))],
    {
        "you took the token after; a row is a token that reads.": (
            lambda w: _diagonal(w, -1).mean(axis=1)
        ),
        "these are sums, not means.": lambda w: _diagonal(w, 1).sum(axis=1),
        "you divided by T; the first token does not count.": (
            lambda w: _diagonal(w, 1).sum(axis=1) / w.shape[1]
        ),
        "this is the weight on the token itself.": lambda w: _diagonal(w, 0).mean(axis=1),
        "this is one mean over all heads; give one per head.": (
            lambda w: np.full(len(w), _diagonal(w, 1).mean())
        ),
    },
    "the shape is right, the numbers are not.",
    what="The result, one number per head,",
    prefix="For {weights.shape[0]} heads and {weights.shape[1]} tokens: ",
    numpy=True,
)

ex.near_misses(
    "12.2",
    lambda weights, n: _diagonal(weights, n - 1, 1).mean(axis=1),
    [
        (_weights(seed, H, T), n)
        for seed, H, T, n in ((4, 2, 9, 4), (5, 3, 12, 3), (6, 1, 7, 5), (7, 2, 6, 2))
    ],
    {
        "this reads the same token, not what followed it.": (
            lambda w, n: _diagonal(w, n).mean(axis=1)
        ),
        "a position is counted at which the word has not begun again.": (
            lambda w, n: _diagonal(w, n - 1).mean(axis=1)
        ),
        "these are sums, not means.": lambda w, n: _diagonal(w, n - 1, 1).sum(axis=1),
        "you divided by T, not by the number of positions that count.": (
            lambda w, n: _diagonal(w, n - 1, 1).sum(axis=1) / w.shape[1]
        ),
        "this reads what came before the token, not what followed it.": (
            lambda w, n: _diagonal(w, n + 1).mean(axis=1)
        ),
    },
    "the shape is right, the numbers are not.",
    what="The result, one number per head,",
    prefix="For {weights.shape[1]} tokens and n = {n}: ",
)


def _without(x, columns):
    x = x.copy()
    x[:, columns] = 0
    return x


BUGS = {
    "Ada": ("every third number", lambda out, W_O: _without(out, [1, 4]) @ W_O),
    "Ben": ("the wrong head", lambda out, W_O: _without(out, [4, 5]) @ W_O),
    "Cleo": ("the other heads", lambda out, W_O: _without(out, [0, 1, 4, 5]) @ W_O),
    "Dan": ("zeros after the matrix", lambda out, W_O: _without(out @ W_O, [2, 3])),
}


which_bug = ex.diagnosis(
    "12.3",
    BUGS,
    "Make each mistake yourself, with zeros in other columns, and compare.",
    12,
    lambda rng: (rng.standard_normal((3, 6)).round(1), rng.standard_normal((6, 6)).round(1)),
)


def _vectors():
    rng = np.random.default_rng(124)
    for T, C, position in ((4, 3, 2), (5, 2, 0), (3, 4, 2), (1, 2, 0)):
        yield *rng.standard_normal((2, T, C)), position


def _exchanged(x_here, x_there, position):
    x = x_here.copy()
    x[position] = x_there[position]
    return x


ex.near_misses(
    "12.4",
    _exchanged,
    _vectors(),
    {
        "everything but this position was exchanged.": lambda a, b, t: _exchanged(b, a, t),
        "everything was exchanged; only one position should be.": lambda a, b, t: b,
        "nothing was exchanged.": lambda a, b, t: a,
        "the positions after it were exchanged, too.": (
            lambda a, b, t: _exchanged(a, b, slice(t, None))
        ),
        "the positions before were exchanged, too.": lambda a, b, t: _exchanged(a, b, slice(t + 1)),
        "a column was exchanged: one number of every token, not one token.": (
            lambda a, b, t: _exchanged(a, b, (slice(None), t % a.shape[1]))
        ),
    },
    "the shape is right, the numbers are not.",
    unchanged="An array that was given to your function has changed. Work on a copy.",
    prefix="For T = {x_here.shape[0]} and position = {position}: ",
)


def _left_out(w, v, token: int):
    kept = np.delete(np.arange(3), token)
    return w[kept] @ v[kept] / w[kept].sum()


@ex.exercise("12.5")
def _counterexample(answer) -> None:
    w, v = ex.unpacked(answer, 2, "Give the two as a tuple (weights, values).")
    w, v = ex.array(w, (3,), "weights"), ex.array(v, (3, 2), "values")
    if (w <= 0).any() or abs(w.sum() - 1) > 1e-5:
        raise ex.Wrong("The three weights should be positive and sum to 1.")
    if w[0] < 0.9 - 1e-6:
        raise ex.Wrong("The first weight should be nine tenths at least.")
    size = np.abs(v).max()
    first, second = (np.abs(w @ v - _left_out(w, v, token)).max() for token in (0, 1))
    if first > 1e-5 * max(size, 1e-12):
        raise ex.Wrong(f"Leaving the first token out changes the output, by {first:.2g}.")
    if second <= 1e-9 * max(size, 1e-12):
        raise ex.Wrong("Leaving the second token out changes nothing, either.")
    if second <= 100 * first:
        raise ex.Wrong(
            "Leaving the second token out changes the output by too little to be told from "
            "rounding: make it larger."
        )


ex.explanation(
    "12.6",
    "In a GPT the position of 'it' cannot read 'tired', which comes later, so the same attention "
    "would be there if the sentence went on with 'wide'. An attention pattern only shows where a "
    "head reads: take the head out, or patch in vectors of the other sentence, and see whether the "
    "answer changes.",
    "At the position of “it” a GPT has not read “tired”.",
    "So the attention would be the same if the sentence ended in “wide”.",
    "An attention pattern shows where a head reads, not what comes of it.",
    "Take the head out, or patch in vectors of the other sentence, and see whether the answer "
    "changes.",
)

ex.spoken(
    "12.3",
    "How could you tell “zeros after the matrix” without computing anything?",
    "Two of its columns are 0 and no column of the others is, since W_O mixes what is left of the "
    "heads into each of its columns. To zero a head is to zero its columns before the matrix.",
)
