"""Checks for chapter 11, the small GPT."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

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
    "Ada": "multiplied by the temperature",
    "Ben": "divided the probabilities, not the logits",
    "Cleo": "divided by the temperature twice",
    "Dan": "kept one character too many",
}
BUG_LOGITS = np.array([1.0, 3.0, -0.5, 2.2, 0.4, 1.7])
BUG_TEMPERATURE, BUG_TOP_K = 0.5, 3
FOUR_LOGITS = np.array([2.0, 1.2, 0.3, -1.0])
WANTED, WITHIN = 0.9, 0.005


def _softmax(z: Float[np.ndarray, " V"]) -> Float[np.ndarray, " V"]:
    powers = np.exp(z - z[np.isfinite(z)].max())
    return powers / powers.sum()


def _kept(z: Float[np.ndarray, " V"], k: int) -> Float[np.ndarray, " V"]:
    return np.where(z >= np.sort(z)[-k], z, -np.inf)


@exercise("11.1")
def _next_probabilities(answer) -> None:
    z = np.array([0.5, 2.0, -1.0, 3.0, 1.0])
    for temperature, k in ((1.0, 5), (1.0, 2), (0.5, 5), (2.0, 3), (0.7, 1)):
        found = array(call(answer, z.copy(), temperature, k), z.shape, "The result")
        right = _softmax(_kept(z, k) / temperature)
        if close(found, right):
            continue
        if close(found, _softmax(z / temperature) * (right > 0)):
            raise Wrong("What is left out is gone, but the rest does not sum to 1.")
        if close(found, _softmax(z / temperature)):
            raise Wrong(f"With top_k={k} only the {k} likeliest may be drawn; yours keeps all.")
        if close(found, _softmax(_kept(z, k) * temperature)):
            raise Wrong("With a low temperature yours gets bolder. It should be the other way.")
        if close(found, _softmax(_kept(z, k))):
            raise Wrong(f"With temperature={temperature} yours is what it is with 1.")
        if close(found, _softmax(np.where(z <= np.sort(z)[k - 1], z, -np.inf) / temperature)):
            raise Wrong("Yours keeps the least likely characters.")
        raise Wrong(
            f"With temperature={temperature} and top_k={k} the probabilities are not right."
        )


@exercise("11.2")
def _count(answer) -> None:
    for V, C, L in ((61, 128, 4), (50, 64, 2), (100, 32, 3)):
        found = float(array(call(answer, V, C, L), (), "The result"))
        matrices, biases, norms, tables = 12 * L * C**2, 9 * L * C, 4 * L * C + 2 * C, 2 * V * C
        if found == matrices + biases + norms + tables:
            continue
        if found == matrices + norms + tables:
            raise Wrong("The biases of the linear maps are missing.")
        if found == matrices + biases + tables:
            raise Wrong("The norms are missing.")
        if found == matrices + biases + norms - 2 * C + tables:
            raise Wrong("One norm is missing: the one behind the last block.")
        if found == matrices + biases + norms + tables / 2:
            raise Wrong("That is the count with one table for both ends. Here there are two.")
        if found == matrices + biases + norms / 2 + tables:
            raise Wrong("That is right for RMS norm. LayerNorm has a shift, too.")
        if found == (matrices + biases + norms - 2 * C) / L + 2 * C + tables and L > 1:
            raise Wrong("Yours has one block only.")
        raise Wrong(f"For V={V}, C={C}, L={L} yours is {found:,.0f}: not right.")


def which_bug() -> dict[str, Float[np.ndarray, " V"]]:
    """The next-character probabilities of four students, from the same logits, each with a bug."""
    z, T, k = BUG_LOGITS, BUG_TEMPERATURE, BUG_TOP_K
    made = {
        "multiplied by the temperature": _softmax(_kept(z, k) * T),
        "divided the probabilities, not the logits": _softmax(_kept(z, k)),
        "divided by the temperature twice": _softmax(_kept(z, k) / T**2),
        "kept one character too many": _softmax(_kept(z, k + 1) / T),
    }
    return {student: made[bug] for student, bug in BUGS.items()}


@exercise("11.3")
def _which_bug(answer) -> None:
    diagnosed(
        answer,
        BUGS,
        "Look at the ratio of the two largest: at temperature T it is e to the difference of "
        "their logits divided by T.",
    )


@exercise("11.4")
def _nine_in_ten(answer) -> None:
    temperature = float(array(answer, (), "The temperature"))
    if temperature <= 0:
        raise Wrong("A temperature that divides logits is positive.")
    found = _softmax(FOUR_LOGITS / temperature)[0]
    if abs(found - WANTED) <= WITHIN:
        return
    if abs(_softmax(FOUR_LOGITS * temperature)[0] - WANTED) <= WITHIN:
        raise Wrong("Logits are divided by the temperature; with yours they would be multiplied.")
    raise Wrong(f"With yours the first character is drawn with probability {found:.3f}.")


@exercise("11.5")
def _loss_and_hits(answer) -> None:
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise Wrong("Give the tuple (p, q, came).")
    p, q = (numbers(part) for part in answer[:2])
    if p.ndim != 2 or p.shape != q.shape:
        raise Wrong(f"p and q should have one shape (T, V); yours have {p.shape} and {q.shape}.")
    came = array(answer[2], (len(p),), "came")
    if not ((came == came.round()) & (came >= 0) & (came < p.shape[1])).all():
        raise Wrong(f"came should hold whole numbers from 0 to {p.shape[1] - 1}.")
    for name, table in (("p", p), ("q", q)):
        if not (table >= 0).all() or not close(table.sum(axis=1), 1.0):
            raise Wrong(f"Each row of {name} should hold probabilities that sum to 1.")
    at = np.arange(len(p)), came.astype(int)
    with np.errstate(divide="ignore"):
        losses = [-np.log(table[at]).mean() for table in (p, q)]
    hits = [_hits(table, came.astype(int), tie=table is p) for table in (p, q)]
    if not losses[0] < losses[1] - 1e-9:
        raise Wrong(f"p should have the lower loss; p has {losses[0]:.3f} and q {losses[1]:.3f}.")
    if not hits[0] < hits[1]:
        raise Wrong(f"q should be right more often; p is right {hits[0]} times and q {hits[1]}.")


def _hits(table: Float[np.ndarray, "T V"], came, *, tie: bool) -> int:
    """How often what came is likelier than all else, or as likely where a tie is a hit."""
    others, at = table.copy(), (np.arange(len(came)), came)
    others[at] = -1
    least = others.max(axis=1) + (-1e-9 if tie else 1e-9)
    return int((table[at] > least).sum())


explanation(
    "11.6",
    "So low a loss can only be that of the training text: the model has learned the diary by "
    "heart, every page of it. What it knows of language shows in the loss on a validation text "
    "that it has never seen, beside the floors of counted tables on that text.",
    "So low a loss can only be that of the training text.",
    "The model has learned the diary by heart.",
    "What counts is the loss on text that it has never seen.",
    "The other model's loss is of another text; counted tables on the same text give a measure.",
)


# --- exercise 7: the loop of generation -------------------------------------------------------


def toy_model(V: int, context: int, lengths: list[int]) -> Callable:
    """A model whose next token is the sum of all it reads, modulo V; it notes how much it reads."""

    def logits_of(ids: object) -> Float[np.ndarray, "T V"]:
        row = numbers(ids)
        if row.ndim != 1 or not 1 <= len(row) <= context:
            raise ValueError(f"the model reads 1 to {context} tokens in a row, got {row.shape}")
        lengths.append(len(row))
        return np.eye(V)[row.cumsum().astype(int) % V]

    return logits_of


@exercise("11.7")
def _generate(answer) -> None:
    for ids, n, context in (([1, 2], 3, 8), ([1, 2, 3], 9, 4), ([5, 1, 1, 4, 2, 6], 2, 3)):
        lengths: list[int] = []
        found = numbers(call(answer, toy_model(7, context, lengths), list(ids), n, context))
        if changes(answer, toy_model(7, context, []), list(ids), n, context):
            raise Wrong("The list of ids that it was given has been changed.")
        right = _continued(ids, n, slice(-context, None))
        if found.shape == (n,) and (found == right[len(ids) :]).all():
            raise Wrong("Only the new tokens come back; the prompt should stand before them.")
        if found.shape != (len(ids) + n,):
            raise Wrong(f"{len(ids) + n} tokens should come back, yours have shape {found.shape}.")
        if (found == right).all():
            continue
        mistakes = {
            "The model reads the first tokens of the text. Which ones should it read?": _continued(
                ids, n, slice(context)
            ),
            "Yours goes by the last token alone, as a bigram table would.": _continued(
                ids, n, slice(-1, None)
            ),
            "Which row of the logits is about the token that comes next?": _continued(
                ids, n, slice(-context, None), row=0
            ),
            "Each new token has to be read when the next one is written.": np.array(
                [*ids, *[sum(ids[-context:]) % 7] * n]
            ),
        }
        for said, made in mistakes.items():
            if (found == made).all():
                raise Wrong(said)
        raise Wrong("Right in number, but these are not the likeliest tokens one after another.")


def _continued(ids: list[int], n: int, seen: slice, *, row: int = -1) -> Float[np.ndarray, " T"]:
    """What the toy model writes with 7 tokens, if it reads a slice and a row of logits is taken."""
    tokens = list(ids)
    for _ in range(n):
        tokens.append(int(np.cumsum(tokens[seen])[row]) % 7)
    return np.array(tokens, dtype=float)
