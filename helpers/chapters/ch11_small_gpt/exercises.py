"""Checks for chapter 11, the small GPT."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float

from helpers import exercises as ex
from helpers import minigpt
from helpers.exercises import check as check
from helpers.exercises.pieces import drawn, piece


def _softmax(z: Float[np.ndarray, " V"]) -> Float[np.ndarray, " V"]:
    powers = np.exp(z - z[np.isfinite(z)].max())
    return powers / powers.sum()


def _kept(z: Float[np.ndarray, " V"], k: int) -> Float[np.ndarray, " V"]:
    return np.where(z >= np.sort(z)[-k], z, -np.inf)


def _probabilities(logits, temperature, top_k):
    return _softmax(_kept(logits, top_k) / temperature)


ex.near_misses(
    "11.1",
    _probabilities,
    [
        (np.array([0.5, 2.0, -1.0, 3.0, 1.0]), temperature, top_k)
        for temperature, top_k in ((1.0, 5), (1.0, 2), (0.5, 5), (2.0, 3), (0.7, 1))
    ],
    {
        "What is left out is gone, but the rest does not sum to 1.": (
            lambda z, T, k: _softmax(z / T) * np.isfinite(_kept(z, k))
        ),
        "A logit of 0 is not a probability of 0.": (
            lambda z, T, k: _softmax(np.where(z >= np.sort(z)[-k], z, 0) / T)
        ),
        "With top_k={top_k} the {top_k} likeliest may be drawn; yours keeps one fewer.": (
            lambda z, T, k: _softmax(np.where(z > np.sort(z)[-k], z, -np.inf) / T)
        ),
        "With top_k={top_k} only the {top_k} likeliest may be drawn; yours keeps all.": (
            lambda z, T, k: _softmax(z / T)
        ),
        "With a low temperature yours gets bolder. It should be the other way.": (
            lambda z, T, k: _probabilities(z, 1 / T, k)
        ),
        "With temperature={temperature} yours is what it is with 1.": (
            lambda z, T, k: _probabilities(z, 1, k)
        ),
        "Yours keeps the least likely characters.": (
            lambda z, T, k: _softmax(np.where(z <= np.sort(z)[k - 1], z, -np.inf) / T)
        ),
    },
    "With temperature={temperature} and top_k={top_k} the probabilities are not right.",
)


def _parameters(V, C, L, *, biases=1, of_norm=2, last=1, tables=2):
    return L * (12 * C**2 + 9 * C * biases + 2 * C * of_norm) + C * of_norm * last + tables * V * C


ex.near_misses(
    "11.2",
    _parameters,
    [(61, 128, 4), (50, 64, 2), (100, 32, 3)],
    {
        "The biases of the linear layers are missing.": partial(_parameters, biases=0),
        "The norms are missing.": partial(_parameters, of_norm=0),
        "One norm is missing: the one after the last block.": partial(_parameters, last=0),
        "That is the count with one matrix for embedding and head. Here there are two.": (
            partial(_parameters, tables=1)
        ),
        "That is right for RMS norm. LayerNorm has a shift, too.": partial(_parameters, of_norm=1),
        "These are the matrices of the blocks. What else does the class hold?": (
            lambda V, C, L: 12 * C**2 * L
        ),
        "The biases and the norms are missing.": lambda V, C, L: 12 * C**2 * L + 2 * V * C,
        "Yours has one block only.": lambda V, C, L: _parameters(V, C, 1),
    },
    "For V={V}, C={C}, L={L} yours is {found:,.0f}: not right.",
    tolerance=1e-9,
)


BUGS = {  # at temperature 0.5 and with the 3 likeliest
    "Ada": ("multiplied by the temperature", lambda z: _probabilities(z, 2, 3)),
    "Ben": ("divided the probabilities, not the logits", lambda z: _probabilities(z, 1, 3)),
    "Cleo": ("divided by the temperature twice", lambda z: _probabilities(z, 0.25, 3)),
    "Dan": ("kept one character too many", lambda z: _probabilities(z, 0.5, 4)),
}


which_bug = ex.diagnosis(
    "11.3",
    BUGS,
    "Look at the ratio of the two largest: at temperature T it is e to the difference of their "
    "logits divided by T.",
    [np.array([1.0, 3.0, -0.5, 2.2, 0.4, 1.7])],
    lambda rng: [rng.choice(np.arange(-10, 31), 6, replace=False) / 10],  # no two alike
)


def _short(g: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return g / max(1.0, np.linalg.norm(g))


def _trained(gradient, w, steps, peak, *, clip=_short, lr_at=minigpt.lr_at, fresh=True):
    start = w
    for step in range(steps):
        w = w - lr_at(step, steps, peak) * clip(gradient(w if fresh else start))
    return w


def _slope(stretch: float) -> Callable:
    """The gradient of a bowl that is steeper along some axes than along others."""
    return lambda w: stretch * np.array([1.0, 0.5, 4.0]) * (np.asarray(w) - [1.0, -2.0, 0.5])


ex.near_misses(
    "11.4",
    _trained,
    [
        (_slope(stretch), np.array([3.0, 0.0, -1.0]), steps, peak)
        for stretch, steps, peak in ((1.0, 30, 0.3), (0.1, 60, 0.2), (0.05, 10, 0.5))
    ],
    {
        "The gradients are not clipped.": partial(_trained, clip=lambda g: g),
        "Each number is clipped by itself. The length of them all should be at most 1.": (
            partial(_trained, clip=lambda g: g.clip(-1, 1))
        ),
        "Every gradient gets the length 1. A shorter one should stay as it is.": (
            partial(_trained, clip=lambda g: g / np.linalg.norm(g))
        ),
        "The learning rate is the same at all steps.": (
            partial(_trained, lr_at=lambda step, steps, peak: peak)
        ),
        "There is no warm-up.": (
            partial(_trained, lr_at=lambda step, steps, peak: peak * (1 - step / steps))
        ),
        "The learning rate never falls.": (
            partial(_trained, lr_at=lambda step, steps, peak: peak * min((step + 1) / 20, 1))
        ),
        "The first step has the rate 0, and so changes nothing.": (
            partial(_trained, lr_at=lambda step, *given: minigpt.lr_at(step - 1, *given))
        ),
        "It goes up the gradient, and should go down.": partial(
            _trained, clip=lambda g: -_short(g)
        ),
        "All its gradients are those of the first w.": partial(_trained, fresh=False),
    },
    "For {steps} steps at a peak of {peak} the last w is not right.",
    unchanged="The array w that was given has been changed.",
)


@ex.exercise("11.5")
def _loss_and_hits(answer) -> None:
    p, q, came = map(ex.numbers, ex.unpacked(answer, 3, "Give the tuple (p, q, came)."))
    if p.ndim != 2 or p.shape != q.shape:
        raise ex.Wrong(f"p and q should have one shape (T, V); yours have {p.shape} and {q.shape}.")
    came = ex.array(came, (len(p),), "came")
    if not ((came == came.round()) & (came >= 0) & (came < p.shape[1])).all():
        raise ex.Wrong(f"came should hold whole numbers from 0 to {p.shape[1] - 1}.")
    for name, table in (("p", p), ("q", q)):
        if not (table >= 0).all() or not ex.close(table.sum(axis=1), 1.0):
            raise ex.Wrong(f"Each row of {name} should hold probabilities that sum to 1.")
    at = np.arange(len(p)), came.astype(int)
    with np.errstate(divide="ignore"):
        losses = [-np.log(table[at]).mean() for table in (p, q)]
    hits = [_hits(table, came.astype(int), tie=table is p) for table in (p, q)]
    if not losses[0] < losses[1] - 1e-9:
        raise ex.Wrong(
            f"p should have the lower loss; p has {losses[0]:.3f} and q {losses[1]:.3f}."
        )
    if not hits[0] < hits[1]:
        raise ex.Wrong(f"q should be right more often; p is right {hits[0]} times and q {hits[1]}.")


def _hits(table: Float[np.ndarray, "T V"], came, *, tie: bool) -> int:
    """How often what came is likelier than all else, or as likely where a tie is a hit."""
    others, at = table.copy(), (np.arange(len(came)), came)
    others[at] = -1
    least = others.max(axis=1) + (-1e-9 if tie else 1e-9)
    return int((table[at] > least).sum())


ex.explanation(
    "11.6",
    "So low a loss can only be that of the training text: the model has learned the diary by "
    "heart, every page of it. What it knows of language shows in the loss on a validation text "
    "that it has never seen, beside the losses of counted tables on that text.",
    "So low a loss can only be that of the training text.",
    "The model has learned the diary by heart.",
    "What counts is the loss on text that it has never seen.",
    "The other model's loss is of another text; counted tables on the same text give a measure.",
)


# --- exercise 7: the loop of generation -------------------------------------------------------


def toy_model(V: int, context: int) -> Callable:
    """A model whose next token is the sum of all it reads, modulo V."""

    def logits_of(ids: object) -> Float[np.ndarray, "T V"]:
        row = ex.numbers(ids)
        if row.ndim != 1 or not 1 <= len(row) <= context:
            raise ValueError(f"the model reads 1 to {context} tokens in a row, got {row.shape}")
        return np.eye(V)[row.cumsum().astype(int) % V]

    return logits_of


def _generated(logits_of, ids, n, context, *, seen=None, row=-1):
    """The ids continued by n tokens, reading what `seen` leaves of them."""
    tokens = list(ids)
    for _ in range(n):
        read = tokens[-context:] if seen is None else seen(tokens)
        tokens.append(int(np.argmax(logits_of(read)[row])))
    return tokens


ex.near_misses(
    "11.7",
    _generated,
    [
        (toy_model(7, context), ids, n, context)
        for ids, n, context in (([1, 2], 3, 8), ([1, 2, 3], 9, 4), ([5, 1, 1, 4, 2, 6], 2, 3))
    ],
    {
        "Only the new tokens come back; the prompt should come before them.": (
            lambda f, ids, n, c: _generated(f, ids, n, c)[len(ids) :]
        ),
        "{right.size} tokens should come back, yours have shape {found.shape}.": (
            lambda f, ids, n, c: _generated(f, ids, n + 1, c),
            lambda f, ids, n, c: _generated(f, ids, n - 1, c),
        ),
        "The model reads the first tokens of the text. Which ones should it read?": (
            lambda *given: _generated(*given, seen=lambda tokens: tokens[: given[3]])
        ),
        "Yours goes by the last token alone, as a bigram table would.": (
            lambda *given: _generated(*given, seen=lambda tokens: tokens[-1:])
        ),
        "Which row of the logits is about the token that comes next?": partial(_generated, row=0),
        "Each new token has to be read when the next one is written.": (
            lambda *given: _generated(*given, seen=lambda _: given[1][-given[3] :])
        ),
    },
    "Right in number, but these are not the likeliest tokens one after another.",
    unchanged="The list of ids that it was given has been changed.",
)


def _logits(*, positions=True, blocks=True, norm=True):
    """GPT's forward, or one that leaves a part out."""

    def forward(self, ids_BT):
        x_BTC = self.embedding(ids_BT)
        if positions:
            x_BTC = x_BTC + self.position.weight[: ids_BT.shape[1]]
        if blocks:
            x_BTC = self.blocks(x_BTC)
        return self.head(self.norm(x_BTC) if norm else x_BTC)

    return forward


piece(
    "11.8",
    minigpt.GPT,
    [
        (sizes, np.array([[1, 2, 6, 0], [3, 3, 5, 4]]), *parameters)
        for sizes, _, *parameters in [drawn(minigpt.GPT, (7, 5, 6, 2, 2))]
    ],
    {
        "Positions play no part.": _logits(positions=False),
        "The blocks play no part.": _logits(blocks=False),
        "The last norm is missing.": _logits(norm=False),
        "These are probabilities; logits are asked for.": (
            lambda self, ids_BT: _logits()(self, ids_BT).softmax(dim=-1)
        ),
        "Only the first block is used.": (
            lambda self, ids_BT: self.head(
                self.norm(
                    self.blocks[0](self.embedding(ids_BT) + self.position.weight[: ids_BT.shape[1]])
                )
            )
        ),
    },
)

ex.spoken(
    "11.3",
    "Which of your students did you find first, and by which numbers?",
    "The ratio of the two largest, e to their difference over T; or how many are not 0.",
)
