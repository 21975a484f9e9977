"""Checks for chapter 12, inside the GPT."""

import numpy as np
from jaxtyping import Float

from helpers.exercises import Wrong, array, call, changes, close, diagnosed, exercise, explanation
from helpers.exercises import check as check
from helpers.numerics import softmax

BUGS = {
    "Ada": "every third number",
    "Ben": "the wrong head",
    "Cleo": "the other heads",
    "Dan": "zeros after the table",
}


def _weights(seed: int, H: int, T: int) -> Float[np.ndarray, "H T T"]:
    """Causal weights of attention from random scores."""
    scores = np.random.default_rng(seed).standard_normal((H, T, T))
    return softmax(np.where(np.tri(T, dtype=bool), scores, -np.inf))


def _hold(found, right, others, where: str) -> None:
    """Raise Wrong with the reply to the mistake that gives these numbers, if they are not right."""
    if close(found, right, 1e-5):
        return
    for wrong, message in others:
        if np.shape(wrong) == np.shape(found) and close(found, wrong, 1e-5):
            raise Wrong(where + message)
    raise Wrong(where + "the shape is right, the numbers are not.")


@exercise("12.1")
def _previous_score(answer) -> None:
    for seed, H, T in ((1, 3, 5), (2, 1, 8), (3, 4, 2)):
        w = _weights(seed, H, T)
        t = np.arange(1, T)
        below = w[:, t, t - 1]
        found = array(call(answer, w.copy()), (H,), "The result, one number a head,")
        others = [
            (w[:, t - 1, t].mean(-1), "you took the token after; a row is a token that reads."),
            (below.sum(-1), "these are sums, not means."),
            (below.sum(-1) / T, "you divided by T; the first token does not count."),
            (np.diagonal(w, axis1=1, axis2=2).mean(-1), "this is the weight on the token itself."),
            (np.full(H, below.mean()), "this is one mean over all heads; give one a head."),
        ]
        _hold(found, below.mean(-1), others, f"For {H} heads and {T} tokens: ")


@exercise("12.2")
def _induction_score(answer) -> None:
    for seed, H, T, n in ((4, 2, 9, 4), (5, 3, 12, 3), (6, 1, 7, 5), (7, 2, 6, 2)):
        w = _weights(seed, H, T)
        t = np.arange(n, T)
        stripe = w[:, t, t - n + 1]
        found = array(call(answer, w.copy(), n), (H,), "The result, one number a head,")
        whole = np.diagonal(w, 1 - n, axis1=1, axis2=2).mean(-1)
        others = [
            (w[:, t, t - n].mean(-1), "this reads the same letter, not what followed it."),
            (whole, "a place is counted at which the word has not begun again."),
            (stripe.sum(-1), "these are sums, not means."),
            (stripe.sum(-1) / T, "you divided by T, not by the number of places that count."),
            (
                np.diagonal(w, -n - 1, axis1=1, axis2=2).mean(-1) if n + 1 < T else np.nan,
                "this reads what came before the letter, not what followed it.",
            ),
        ]
        _hold(found, stripe.mean(-1), others, f"For {T} tokens and n = {n}: ")


def which_bug() -> tuple[
    Float[np.ndarray, "3 6"], Float[np.ndarray, "6 6"], dict[str, Float[np.ndarray, "3 6"]]
]:
    """Outputs of three heads side by side, an output projection, and what four students made.

    Returns: heads_out (3, 6), table (6, 6), and a dict from the student's name to (3, 6).
    """
    rng = np.random.default_rng(12)
    out, table = rng.standard_normal((3, 6)).round(1), rng.standard_normal((6, 6)).round(1)

    def without(x, columns):
        x = x.copy()
        x[:, columns] = 0
        return x

    made = {
        "the wrong head": without(out, [4, 5]) @ table,
        "zeros after the table": without(out @ table, [2, 3]),
        "every third number": without(out, [1, 4]) @ table,
        "the other heads": without(out, [0, 1, 4, 5]) @ table,
    }
    return out, table, {student: made[bug] for student, bug in BUGS.items()}


@exercise("12.3")
def _which_bug(answer) -> None:
    diagnosed(
        answer,
        BUGS,
        "Make each mistake yourself, with zeros in other columns, and compare.",
    )


@exercise("12.4")
def _patched(answer) -> None:
    rng = np.random.default_rng(124)
    for T, C, place in ((4, 3, 2), (5, 2, 0), (3, 4, 2), (1, 2, 0)):
        here, there = rng.standard_normal((2, T, C))
        found = array(call(answer, here.copy(), there.copy(), place), (T, C), "The result")
        if changes(answer, here.copy(), there.copy(), place):
            raise Wrong("An array that was given to your function has changed. Work on a copy.")
        right, after = here.copy(), here.copy()
        right[place], after[place:] = there[place], there[place:]
        back, before, column = there.copy(), here.copy(), here.copy()
        back[place], before[: place + 1] = here[place], there[: place + 1]
        column[:, place % C] = there[:, place % C]
        others = [
            (back, "everything but this place was exchanged."),
            (there, "everything was exchanged; only one place should be."),
            (here, "nothing was exchanged."),
            (after, "the places after it were exchanged, too."),
            (before, "the places before it were exchanged, too."),
            (column, "a column was exchanged: one number of every token, not one token."),
        ]
        _hold(found, right, others, f"For T = {T} and place = {place}: ")


def _left_out(w, v, token: int):
    kept = np.delete(np.arange(3), token)
    return w[kept] @ v[kept] / w[kept].sum()


@exercise("12.5")
def _counterexample(answer) -> None:
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Wrong("Give the two as a tuple (weights, values).")
    w, v = array(answer[0], (3,), "weights"), array(answer[1], (3, 2), "values")
    if (w <= 0).any() or abs(w.sum() - 1) > 1e-5:
        raise Wrong("The three weights should be positive and sum to 1.")
    if w[0] < 0.9 - 1e-6:
        raise Wrong("The first weight should be nine tenths at least.")
    size = np.abs(v).max()
    first, second = (np.abs(w @ v - _left_out(w, v, token)).max() for token in (0, 1))
    if first > 1e-5 * max(size, 1e-12):
        raise Wrong(f"Leaving the first token out changes the output, by {first:.2g}.")
    if second <= 1e-9 * max(size, 1e-12):
        raise Wrong("Leaving the second token out changes nothing, either.")
    if second <= 100 * first:
        raise Wrong(
            "Leaving the second token out changes the output by too little to be told from "
            "rounding: make it larger."
        )


explanation(
    "12.6",
    "In a GPT the place of 'it' cannot read 'tired', which comes later, so the same attention "
    "would be there if the sentence went on with 'wide'. A map only shows where a head reads: "
    "take the head out, or patch in vectors of the other sentence, and see whether the answer "
    "changes.",
    "At the place of “it” a GPT has not read “tired”.",
    "So the attention would be the same if the sentence ended in “wide”.",
    "A map shows where a head reads, not what comes of it.",
    "Take the head out, or patch in vectors of the other sentence, and see whether the answer "
    "changes.",
)
