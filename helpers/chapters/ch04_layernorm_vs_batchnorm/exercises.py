"""Checks for chapter 04, LayerNorm and BatchNorm, axis by axis."""

from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from helpers import exercises as ex
from helpers import minigpt
from helpers.exercises import check as check
from helpers.exercises.pieces import drawn, piece

BUG_EPS = 0.5


def _layer_norm(x, *, axis=-1, ddof=0, eps=1e-5, outside=False, centred=True):
    """The right answer to exercise 1 before γ and β, and what its near misses give."""
    axis = tuple(range(x.ndim)) if axis == "all" else axis
    n = np.size(x) if isinstance(axis, tuple) else x.shape[axis]
    mean = x.mean(axis=axis, keepdims=True) if centred else 0.0
    variance = ((x - mean) ** 2).sum(axis=axis, keepdims=True) / (n - ddof)
    return (x - mean) / (np.sqrt(variance) + eps if outside else np.sqrt(variance + eps))


def _affine(**choice: Any):
    """Layer norm with γ and β."""

    def norm(x, gamma, beta, eps):
        return gamma * _layer_norm(x, **{"eps": eps} | choice) + beta

    return norm


def _tokens():
    rng = np.random.default_rng(41)
    gamma, beta = rng.uniform(0.5, 2, 6), rng.normal(size=6)
    for shape, size in (((6,), 1.0), ((4, 6), 3.0), ((2, 6, 6), 1.0), ((4, 6), 0.01)):
        yield size * rng.standard_normal(shape) + 1, gamma, beta, 1e-3


ex.near_misses(
    "04.1",
    _affine(),
    _tokens(),
    {
        "You divided by n − 1, as x.std() does in torch.": _affine(ddof=1),
        "You added ε outside the root. The question asks for inside.": _affine(outside=True),
        "ε plays no part in your answer.": _affine(eps=0.0),
        "The mean was not subtracted.": _affine(centred=False),
        "You took one mean for the whole array, but each token has its own.": _affine(axis="all"),
        "You averaged down the columns, over the tokens.": lambda x, *given: _affine(
            axis=-2 if x.ndim > 1 else -1
        )(x, *given),
        "You normalised rightly, but γ and β play no part.": lambda x, g, b, e: _layer_norm(
            x, eps=e
        ),
        "In your answer γ multiplies β too. The shift comes last.": (
            lambda x, g, b, e: g * (_layer_norm(x, eps=e) + b)
        ),
        "One of γ and β plays no part.": (
            lambda x, g, b, e: g * _layer_norm(x, eps=e),
            lambda x, g, b, e: _layer_norm(x, eps=e) + b,
        ),
    },
    "For x of shape {x.shape} the numbers are not right.",
    what="For x of shape {x.shape} the result",
    numpy=True,
)


def _batches():
    rng = np.random.default_rng(42)
    for rows, momentum, size in ((5, 0.1, 3), (4, 0.25, 3), (5, 0.1, 0.01)):  # in the last, ε shows
        x = size * rng.standard_normal((rows, 3)) + 2
        yield x, rng.normal(size=3), rng.uniform(0.5, 2, 3), momentum


def _batch_norm(x, mean, variance, momentum, *, of_mean=None, of_variance=None, ddof=1, **choice):
    """Output and running statistics, each with a momentum of its own if it is to be wrong."""
    of_mean, of_variance = (momentum if m is None else m(momentum) for m in (of_mean, of_variance))
    return (
        _layer_norm(x, **{"axis": 0} | choice),
        (1 - of_mean) * mean + of_mean * x.mean(axis=0),
        (1 - of_variance) * variance + of_variance * x.var(axis=0, ddof=ddof),
    )


def _run_batch_norm(function, *case):
    request = (
        "Give three things back, the output, the new running mean and the new running variance."
    )
    return ex.unpacked(ex.call(function, *case), 3, request)


MOMENTA = {
    "has not moved.": lambda momentum: 0,
    "has forgotten all earlier batches.": lambda momentum: 1,
    "keeps a share of momentum and should keep the rest.": lambda momentum: 1 - momentum,
}
ex.near_misses(
    "04.2",
    _batch_norm,
    _batches(),
    {
        "The output was divided with n − 1; that variance is for the memory only.": lambda *given: (
            _layer_norm(given[0], axis=0, ddof=1),
            *_batch_norm(*given)[1:],
        ),
        "The output is normalised along the rows. That is layer norm.": (
            partial(_batch_norm, axis=1)
        ),
        "The output uses the running statistics. In train mode it is the batch's own.": (
            lambda x, mean, variance, momentum: (
                (x - mean) / np.sqrt(variance + 1e-5),
                *_batch_norm(x, mean, variance, momentum)[1:],
            )
        ),
        "The output is nearly right: is ε 0.00001, and inside the root?": (
            partial(_batch_norm, outside=True),
            partial(_batch_norm, eps=0.0),
        ),
        "The running variance is moved towards the one divided by n; torch keeps the one divided "
        "by n − 1.": partial(_batch_norm, ddof=0),
    }
    | {
        f"The running {what} {reply}": partial(_batch_norm, **{f"of_{what}": momentum})
        for what in ("mean", "variance")
        for reply, momentum in MOMENTA.items()
    },
    (
        "The numbers of the output are not right.",
        "The new running mean is not right.",
        "The new running variance is not right.",
    ),
    what=("The output", "The running mean", "The running variance"),
    run=_run_batch_norm,
)


BUGS = {
    "Ada": ("mean not subtracted", partial(_layer_norm, eps=BUG_EPS, centred=False)),
    "Ben": ("divided by n - 1", partial(_layer_norm, eps=BUG_EPS, ddof=1)),
    "Cleo": ("columns in place of rows", partial(_layer_norm, eps=BUG_EPS, axis=0)),
    "Dan": ("eps outside the root", partial(_layer_norm, eps=BUG_EPS, outside=True)),
}


which_bug = ex.diagnosis(
    "04.3",
    BUGS,
    "Which sums along rows and columns must be 0? Where both fit, make each mistake on purpose and "
    "compare.",
    43,
    lambda rng: [rng.standard_normal((4, 5)) * 2 + 1],
)

REACHED = "With this deviation of the input the output has {effect:.3g}."
PARTS = {"one half": 1 / 2, "one third": 1 / 3, "one quarter": 1 / 4, "three quarters": 3 / 4}


def _half_way(eps, part):
    """For ε inside the root, as a decimal, and a part of PARTS."""
    number, share = float(eps), PARTS[part]
    square = number * share**2 / (1 - share**2)
    return {
        "right": square**0.5,
        "effect": lambda sigma: sigma / np.sqrt(sigma**2 + number),
        # σ within a percent: the effect moves by 1 − share² of it
        "within": tuple(share * (1 + sign * 0.0106 * (1 - share**2)) for sign in (-1, 1)),
        "replies": {
            f"{REACHED} You solved it for ε outside the root.": (number * share / (1 - share),),
            f"{REACHED} Is this a deviation, or its square?": (square,),
        },
        "otherwise": lambda reached: (
            f"{REACHED} That is near. It should be within a percent."
            if abs(reached - share) <= 0.05
            else REACHED
        ),
        "what": "The deviation",
        "positive": "A deviation is positive.",
    }


ex.numeric_near_misses(
    "04.4",
    _half_way,
    lambda rng: {
        "eps": f"0.{'0' * rng.choice([2, 3, 4])}{rng.randint(1, 9)}",
        "part": rng.choice([*PARTS]),
    },
    "With ε = {eps} inside",
    "a standard deviation of {part}?",
    eps="0.00001",
    part="one half",
)


@ex.exercise("04.5")
def _far_out(answer) -> None:
    x = ex.array(answer, (16,), "The vector")
    if np.ptp(x) == 0:
        raise ex.Wrong("All numbers are equal: after the norm all are 0.")
    largest = np.abs(_layer_norm(x)).max()
    if largest <= 3.5:
        message = f"The largest number after LayerNorm has size {largest:.2f}."
        if np.abs(_layer_norm(x, eps=0.0)).max() > 3.5:
            message += " The proportions are right, but the numbers are so small that ε decides."
        raise ex.Wrong(message)


ex.explanation(
    "04.6",
    "A child has only one number, so its mean is that number itself, and what is left after "
    "subtracting it is 0. Every child comes out as 0, tall or short: all differences in height "
    "are lost. The analogy needs several measurements of each child.",
    "Layer norm averages over one number, so a child's mean is its own height.",
    "Every child comes out as 0.",
    "So the differences between children are lost, and nothing is left to compare.",
)


def _of_the_past(**choice: Any):
    """A layer norm of each token over all features of the tokens up to it."""

    def norm(x):
        rows = (_layer_norm(x[: t + 1], **{"axis": "all"} | choice)[t] for t in range(len(x)))
        return np.stack(list(rows))

    return norm


def _in_place(x):
    found = x.copy()
    for t in range(len(x)):
        found[t] = _layer_norm(found[: t + 1], axis="all")[t]
    return found


def _long_texts():
    rng = np.random.default_rng(47)
    for T, C, size in ((5, 3, 2.0), (4, 6, 1.0), (3, 2, 0.01)):
        yield (size * rng.standard_normal((T, C)) + np.arange(T)[:, None] * size,)


def _without_leak(function, x):
    """The result, if no output moves when later tokens change."""
    found = ex.array(ex.call(function, x.copy()), x.shape, "The result")
    for t in range(len(x) - 1):
        poked = x.copy()
        poked[t + 1 :] = x.std() * np.random.default_rng(t).standard_normal(poked[t + 1 :].shape)
        after = ex.array(ex.call(function, poked), x.shape, "The result")
        if not ex.close(after[: t + 1], found[: t + 1], 1e-9):
            raise ex.Wrong("It leaks: when later tokens change, earlier outputs move.")
    return found


ex.near_misses(
    "04.7",
    _of_the_past(),
    _long_texts(),
    {
        "This is layer norm: each token by itself. The tokens before it count too.": _layer_norm,
        "You added ε outside the root. The question asks for inside.": _of_the_past(outside=True),
        "ε plays no part in your answer.": _of_the_past(eps=0.0),
        "You divided by n − 1.": _of_the_past(ddof=1),
        "Each feature was averaged by itself. All features of those tokens count.": (
            _of_the_past(axis=0)
        ),
        "The tokens before count as they came, not as you have normalised them.": _in_place,
        "You subtracted the mean but did not divide.": (
            lambda x: np.stack([x[t] - x[: t + 1].mean() for t in range(len(x))])
        ),
    },
    "It does not leak, but the numbers are not right. Does a token count itself?",
    run=_without_leak,
)


def _forward(*, axis=-1, correction=0, centred=True, rooted=True, inside=True):
    """LayerNorm's forward, or one with a mistake."""

    def forward(self, x_BTC):
        mean = x_BTC.mean(dim=axis, keepdim=True) if centred else 0.0
        square = ((x_BTC - mean) ** 2).sum(dim=axis, keepdim=True)
        variance = square / (x_BTC.shape[axis] - correction)
        below = torch.sqrt(variance + self.eps) if inside else torch.sqrt(variance) + self.eps
        return self.weight * (x_BTC - mean) / (below if rooted else below**2) + self.bias

    return forward


piece(
    "04.8",
    minigpt.LayerNorm,
    [drawn(minigpt.LayerNorm, sizes, 2, 3, 6, scale=0.01) for sizes in ((6,), (6, 0.1))],  # ε shows
    {
        "Mean and variance run over the batch, and not over one token.": _forward(axis=0),
        "Mean and variance run over the positions, and not over one token.": _forward(axis=1),
        "Your variance divides by C − 1; that of LayerNorm divides by C.": _forward(correction=1),
        "The mean is not subtracted.": _forward(centred=False),
        "You divided by the variance and not by its root.": _forward(rooted=False),
        "ε stands outside the root. For small numbers that shows.": _forward(inside=False),
        "The eps that it is given plays no part.": (
            lambda self, x: F.layer_norm(x, (6,), self.weight, self.bias)
        ),
        "weight and bias play no part.": lambda self, x: F.layer_norm(x, (6,), eps=self.eps),
        "The bias is added before the weight multiplies.": (
            lambda self, x: self.weight * (F.layer_norm(x, (6,), eps=self.eps) + self.bias)
        ),
    },
)

ex.spoken(
    "04.4",
    "How did you get from your part to σ, and why does ε matter there?",
    "Squared and solved for σ²; at this σ the variance is about as small as ε.",
)
