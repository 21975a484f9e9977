"""Checks for chapter 07, heads, masks and positions."""

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float

from helpers import exercises as ex
from helpers import minigpt
from helpers.exercises import check as check
from helpers.exercises.pieces import drawn, piece
from helpers.numerics import softmax

Tokens = Float[np.ndarray, "T C"]


def _mask_of(function, new: int, total: int):
    mask = ex.numbers(ex.call(function, new, total))
    if mask.shape == (new, total) and not np.isin(mask, (0, 1)).all():
        raise ex.Wrong("A mask holds True and False (or 1 and 0) only, not scores.")
    return mask


ex.near_misses(
    "07.1",
    lambda n, T: np.tri(T)[T - n :],
    [(4, 4), (2, 5), (1, 6), (1, 1), (3, 4)],
    {
        "true and false are exchanged.": lambda n, T: 1 - np.tri(T)[T - n :],
        "the first new token is taken for the first of the text.": lambda n, T: np.tri(n, T),
        "a token may read itself, too.": lambda n, T: np.tri(T, k=-1)[T - n :],
        "the next token may be read. That is one too far.": lambda n, T: np.tri(T, k=1)[T - n :],
        "what comes later may be read, and not what came before.": lambda n, T: np.tri(T).T[
            T - n :
        ],
        "everything may be read.": lambda n, T: np.ones((n, T)),
    },
    "the shape is right, the entries are not.",
    what="The mask",
    run=_mask_of,
    prefix="For new = {new} and total = {total}: ",
)


def _heads(x: Tokens, W_Q, W_K, W_V, W_O, H: int, *, bug: str = "") -> Tokens:
    """Causal attention with H heads in NumPy, right or with one mistake."""
    T, C = x.shape
    D = C // H
    if bug == "every H-th column":
        W_Q, W_K, W_V = (W.reshape(C, D, H).swapaxes(1, 2).reshape(C, C) for W in (W_Q, W_K, W_V))
    if bug == "exchanged":
        W_Q, W_K = W_K, W_Q
    if bug == "axes not moved":
        q, k, v = ((x @ W).reshape(H, T, D) for W in (W_Q, W_K, W_V))
    else:
        q, k, v = ((x @ W).reshape(T, H, D).swapaxes(0, 1) for W in (W_Q, W_K, W_V))
    root = {"root of C": C, "root of H": H, "no root": 1}.get(bug, D) ** 0.5
    if bug == "D, no root":
        root = D
    mask = np.tri(T, k={"one too far": 1}.get(bug, 0), dtype=bool)
    if bug == "later only":
        mask = mask.T
    scaled = q @ k.swapaxes(1, 2) / root
    if bug == "mask after softmax":
        weights = softmax(scaled) * mask
    elif bug == "scores of 0":
        weights = softmax(scaled * mask)
    elif bug == "other axis":
        weights = softmax(np.where(mask, scaled, -np.inf).swapaxes(1, 2)).swapaxes(1, 2)
    else:
        weights = softmax(scaled if bug == "no mask" else np.where(mask, scaled, -np.inf))
    out = weights @ v
    joined = out.reshape(T, C) if bug == "axes not moved" else out.swapaxes(0, 1).reshape(T, C)
    return joined if bug == "no output projection" else joined @ W_O


HEADS = {
    "no mask": "Later tokens are read: the mask is missing.",
    "one too far": "Each token also reads the next one: the mask is one too far.",
    "later only": "The mask is the wrong way round: tokens read what comes after them.",
    "mask after softmax": "The mask comes after softmax, so the weights do not sum to 1.",
    "root of C": "You divided by the root of C. How wide is a query of one head?",
    "root of H": "You divided by the root of the number of heads.",
    "no root": "The scores are not divided.",
    "D, no root": "You divided by D and not by its root.",
    "axes not moved": "The heads are cut the wrong way: each should get numbers of every token.",
    "no output projection": "The heads are side by side, but W_O is missing.",
    "scores of 0": "A score of 0 is no weight of 0, because e to the 0 is 1. Which score gives 0?",
    "other axis": "The weights of one query should sum to 1, not the weights on one key.",
    "exchanged": "Queries and keys are exchanged. W_Q makes the queries, which belong in the rows.",
    "every H-th column": "Each head should get columns that are side by side, not every H-th.",
}


def _tokens_and_weights():
    rng = np.random.default_rng(72)
    for T, C, H in ((5, 12, 3), (4, 8, 1), (3, 8, 4), (1, 4, 2)):
        yield rng.standard_normal((T, C)), *(rng.standard_normal((4, C, C)) / C**0.25), H


ex.near_misses(
    "07.2",
    _heads,
    _tokens_and_weights(),
    {reply: partial(_heads, bug=bug) for bug, reply in HEADS.items()}
    | {
        "This is right for one head; the number of heads plays no part in it.": (
            lambda x, W_Q, W_K, W_V, W_O, H: _heads(x, W_Q, W_K, W_V, W_O, 1)
        )
    },
    "For {x.shape[0]} tokens, C = {x.shape[1]} and {H} heads the numbers are not right.",
    numpy=True,
)


def _given(rng):
    """Four tokens of width 6, and the four weight matrices of two heads."""
    x, matrices = rng.standard_normal((4, 6)).round(1), rng.standard_normal((4, 6, 6)).round(1)
    return x, dict(zip(("W_Q", "W_K", "W_V", "W_O"), matrices, strict=True))


BUGS = {
    student: (bug, lambda x, weights, bug=bug: _heads(x, **weights, H=2, bug=bug))
    for student, bug in (
        ("Ada", "mask after softmax"),
        ("Ben", "axes not moved"),
        ("Cleo", "no output projection"),
        ("Dan", "root of C"),
    )
}
which_bug = ex.diagnosis(
    "07.3",
    BUGS,
    "Compute the first token's output by hand: it reads only itself, so the divisor is no matter "
    "there.",
    _given(np.random.default_rng(7)),
    _given,
)


def scores_by_distance(query: Float[np.ndarray, " D"]) -> Float[np.ndarray, "32"]:
    """Scores under RoPE of a query with a key of ones 0, 1, … 31 positions back.

    Shapes: query (D,), with pair k its numbers k and k + D/2.
    """
    half = len(query) // 2
    angles = np.arange(32)[:, None] * 10_000.0 ** (-np.arange(half) / half)
    q, key = query[:half] + 1j * query[half:], np.full(half, 1 + 1j)
    return (q * np.conj(key * np.exp(-1j * angles))).real.sum(axis=1)


@ex.exercise("07.4")
def _so_far_back(answer, back=5) -> None:
    one_line = np.shape(answer) in ((1, 8), (8, 1))
    query = ex.array(answer, np.shape(answer) if one_line else (8,), "The query")
    scores = scores_by_distance(query.ravel())
    best = int(scores.argmax())
    if scores.max() - np.delete(scores, best).max() <= 1e-6 * np.abs(scores).max():
        raise ex.Wrong("No single position scores highest with this query.")
    if scores.argmin() == back:
        raise ex.Wrong("This query scores lowest where it should score highest.")
    if best != back:
        raise ex.Wrong(f"With this query the key {best} back scores highest.")


def _turned_back(back):
    """Eight ones, turned as those of a position so far back are."""
    rates = 10_000 ** -(np.arange(4) / 4)
    a, b = np.cos(back * rates), np.sin(back * rates)
    return np.concatenate([a + b, a - b])


ex.values(
    "07.4",
    lambda rng: {"back": rng.randint(2, 25)},
    _turned_back,
    "the key exactly {back} positions back",
    back=5,
)


def _two_layers(x: Tokens) -> Tokens:
    """Two causal layers, x + attention, whose queries, keys and values are x itself."""
    mask = np.tri(len(x), dtype=bool)
    for _ in range(2):
        weights = softmax(np.where(mask, x @ x.T / x.shape[1] ** 0.5, -np.inf))
        x = x + weights @ x
    return x


@ex.exercise("07.5")
def _counterexample(answer) -> None:
    shape = np.shape(answer)
    if len(shape) != 2 or shape[0] != 3 or shape[1] < 1:
        raise ex.Wrong(f"x should have shape (3, D), yours has {shape}.")
    x = ex.array(answer, shape, "x")
    if ex.close(x[0], x[1]):
        raise ex.Wrong("The first two rows are alike, so exchanging them changes nothing.")
    if np.abs(x).max() > 1e3:
        raise ex.Wrong("These numbers are so large that nothing can be told from the result.")
    moved = np.abs(_two_layers(x)[-1] - _two_layers(x[[1, 0, 2]])[-1]).max()
    if moved <= 0.01:
        raise ex.Wrong(
            f"Exchanging the first two rows moves the third by {moved:.1g}, not enough. How much "
            "does the third token read of the other two, and how much do those two differ?"
        )


ex.explanation(
    "07.6",
    "The person does not take anything back either: the first words stay as they were said, and"
    " the correction is appended to them, which a model that only appends can do word for word."
    " What is true is that neither can delete what is already written; whether a model goes on "
    "with such a correction depends on the probabilities it has learned.",
    "The person's first words stay as they were said; the correction is appended.",
    "A model that only appends can write the very same words.",
    "It is true that what has been written cannot be deleted.",
)


def _new_tokens():
    """A new token, keys and values of those before it, and three weight matrices."""
    rng = np.random.default_rng(77)
    for before, C, D in ((3, 6, 4), (0, 5, 3), (1, 4, 4)):
        x, (W_Q, W_K, W_V) = rng.standard_normal((before + 1, C)), rng.standard_normal((3, C, D))
        yield x[-1], x[:-1] @ W_K, x[:-1] @ W_V, W_Q, W_K, W_V


def _step(x, keys, values, W_Q, W_K, W_V, *, itself=True, root=None):
    """Keys and values with those of the new token, and its output."""
    k, v = np.vstack([keys, x @ W_K]), np.vstack([values, x @ W_V])
    seen = slice(None) if itself or len(k) == 1 else slice(-1)
    scores = k[seen] @ (x @ W_Q) / (W_Q.shape[1] ** 0.5 if root is None else root)
    return softmax(scores) @ v[seen], k, v


def _run_step(function, *case):
    """Keys, values and output; the output may be of shape (1, D)."""
    request = "Return the three things as a tuple (output, keys, values)."
    output, keys, values = ex.unpacked(ex.call(function, *case), 3, request)
    return keys, values, ex.numbers(output).ravel()


ex.near_misses(
    "07.7",
    _step,
    _new_tokens(),
    {
        "The keys that you return lack the row of the new token.": lambda *given: given[:3],
        "The values that you return lack the row of the new token.": lambda *given: (
            *_step(*given)[:2],
            given[2],
        ),
        "The new row of the keys comes first; it belongs after the rest.": lambda *given: [
            np.roll(part, 1, axis=0) for part in _step(*given)
        ],
        "The new row of the values comes first; it belongs after the rest.": lambda *given: (
            *_step(*given)[:2],
            np.roll(_step(*given)[2], 1, axis=0),
        ),
        "The new token reads those before it, but not itself.": partial(_step, itself=False),
        "The scores are not divided.": partial(_step, root=1),
        "You divided by the root of C; the query has another width.": (
            lambda x, *given: _step(x, *given, root=len(x) ** 0.5)
        ),
    },
    (
        "The keys that you return are not right.",
        "The values that you return are not right.",
        "Keys and values are right, the output is not.",
    ),
    what=("The keys", "The values", "The output"),
    run=_run_step,
    numpy=True,
)


def _causal(
    *,
    diagonal=1,
    divisor=lambda D, C: D**0.5,
    axis=-1,
    heads=2,
    exchanged=False,
    dropout=lambda self, weights: weights,
    cut=lambda x_BTC, heads: x_BTC.unflatten(-1, (heads, -1)).transpose(1, 2),
    join=lambda mixed: mixed.transpose(1, 2).flatten(2),
):
    """The heads of CausalSelfAttention side by side, or with a mistake."""

    def mixed(self, x_BTC):
        q, k, v = (cut(part_BTC, heads) for part_BTC in self.qkv(x_BTC).chunk(3, dim=-1))
        if exchanged:
            q, k = k, q
        scores_BHTT = q @ k.mT / divisor(q.shape[-1], x_BTC.shape[-1])
        future_BHTT = torch.full_like(scores_BHTT, -torch.inf).triu(diagonal)
        weights_BHTT = (scores_BHTT + future_BHTT).softmax(dim=axis)
        return join(dropout(self, weights_BHTT) @ v)

    return mixed


def _joined(**mistake):
    return lambda self, x_BTC: self.out(_causal(**mistake)(self, x_BTC))


piece(
    "07.8",
    minigpt.CausalSelfAttention,
    [
        *(drawn(minigpt.CausalSelfAttention, (6, 2, p), 2, 5, 6) for p in (0.0, 1.0)),
        ("evaluation", *drawn(minigpt.CausalSelfAttention, (6, 2, 1.0), 2, 5, 6)),
        # An `out` that changes nothing shows what a head has read.
        (
            "dropout",
            *drawn(minigpt.CausalSelfAttention, (6, 2, 0.5), 8, 5, 6)[:-2],
            np.eye(6),
            np.zeros(6),
        ),
    ],
    {
        "Dropout is at work in evaluation, too.": _joined(
            dropout=lambda self, weights: F.dropout(weights, self.dropout.p)
        ),
        "Dropout sets some of the weights to 0. In yours it comes later, on what was read.": (
            lambda self, x_BTC: self.out(self.dropout(_causal()(self, x_BTC)))
        ),
        "Dropout sets some of the weights to 0. In yours it comes last, on what `out` gives.": (
            lambda self, x_BTC: self.dropout(_joined()(self, x_BTC))
        ),
        "Dropout is missing: in training it sets some of the weights to 0.": _joined(),
        "There is no mask, so a token reads those after it.": _joined(diagonal=9),
        "The mask comes after softmax, so the weights of a token don't sum to 1.": _joined(
            diagonal=9, dropout=lambda self, weights: self.dropout(weights.tril())
        ),
        "The axis C is to be cut into heads. Your reshaping cuts the tokens, too.": _joined(
            cut=lambda x_BTC, heads: x_BTC.reshape(len(x_BTC), heads, x_BTC.shape[1], -1)
        ),
        "What you give to `out` mixes tokens. Which axes does the reshaping join?": _joined(
            join=lambda mixed: mixed.reshape(len(mixed), mixed.shape[2], -1)
        ),
        "The mask is off by one, so a token reads the one after it.": _joined(diagonal=2),
        "The scores are divided by √C; the D of √D is the width of one head.": _joined(
            divisor=lambda D, C: C**0.5
        ),
        "The scores are not divided by √D.": _joined(divisor=lambda D, C: 1.0),
        "The scores are divided by D and not by its root.": _joined(divisor=lambda D, C: D),
        "Softmax runs over the queries; the weights of one query sum to 1.": _joined(axis=-2),
        "Queries and keys are exchanged.": _joined(exchanged=True),
        "The heads lie side by side, but `out` does not join them.": _causal(),
        "There is one head of width C; H heads of width C / H are wanted.": _joined(heads=1),
    },
)

ex.spoken(
    "07.4",
    "Why is your query turned that way, and not the other?",
    "Scores depend on the difference of two positions; it points where that key has turned to.",
)
