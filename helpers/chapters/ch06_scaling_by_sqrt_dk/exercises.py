"""Checks for chapter 06, why divide by √d_k."""

import numpy as np

from helpers import exercises as ex
from helpers.exercises import check as check
from helpers.numerics import softmax

ex.near_misses(
    "06.1",
    lambda D, sigma: sigma**2 * D**0.5,
    [(50, 0.5), (64, 1.0), (7, 3.0)],
    {
        "This is the variance; the standard deviation is asked for.": (
            lambda D, s: s**4 * D,
            lambda D, s: D,
        ),
        "At D = {D} you let the terms add up as if they all had one sign.": lambda D, s: s**2 * D,
        "Right for σ = 1, not for σ = {sigma:g}: each product has two factors.": (
            lambda D, s: D**0.5,
            lambda D, s: s * D**0.5,
        ),
    },
    "For D = {D} and σ = {sigma:g} it gives {found:.3f}, which is not right.",
)


def _jacobian(scores, divisor):
    w = softmax(scores / divisor)
    return (np.diag(w) - np.outer(w, w)) / divisor


def _not_jacobian(found, scores, divisor) -> str:
    right = _jacobian(scores, divisor)
    if not np.allclose(found.sum(axis=0), 0, atol=1e-6):
        return "Each column should sum to 0, since the weights always sum to 1; yours do not."
    if found[0, 0] and ex.close(found * (right[0, 0] / found[0, 0]), right):
        return "Right up to a factor, the same everywhere. What does the chain rule add?"
    return "The columns sum to 0, as they should, but the numbers are not right."


ex.near_misses(
    "06.2",
    _jacobian,
    # The root of the number of scores must differ from the divisor, or one passes as the other.
    [(np.array([2.0, -1.0, 0.5, 3.0]), 3.0), (np.array([0.3, 1.0, -0.6]), 0.7)],
    {
        "These are derivatives by the divided scores. The undivided ones are asked.": (
            lambda s, d: _jacobian(s, d) * d
        ),
        "The divisor plays no part in your answer.": lambda s, d: _jacobian(s, 1),
        "You divided by the root of the number of scores, not by the divisor.": (
            lambda s, d: _jacobian(s, len(s) ** 0.5)
        ),
        "Only the diagonal is filled, but raising one score lowers the other weights.": (
            lambda s, d: np.diag(softmax(s / d)) / d,
            lambda s, d: np.diag(np.diag(_jacobian(s, d))),
        ),
    },
    _not_jacobian,
)


BUGS = {
    "Ada": ("root of the number of keys", lambda q, k: softmax(q @ k.T / 5)),
    "Ben": ("width of the head, no root", lambda q, k: softmax(q @ k.T / 16)),
    "Cleo": ("not divided", lambda q, k: softmax(q @ k.T)),
    "Dan": ("root of the model's width", lambda q, k: softmax(q @ k.T / 8)),
}


which_bug = ex.diagnosis(
    "06.3",
    BUGS,
    "Work out the divisor that each mistake makes, and compare what it gives with the whole array "
    "of each student.",
    6,
    lambda rng: rng.standard_normal((2, 25, 16)),
)

SPREAD = "The scores then begin with a standard deviation of {effect:.3g}."


def _spread(C, D):
    return {
        "right": C**-0.5 * D**-0.25,
        "effect": lambda std: C * std**2 * D**0.5,
        "within": (0.95, 1.05),
        "replies": {
            f"{SPREAD} Your number enters twice, once through q and once through k.": (
                C**-0.5,
                D**-0.5,
                1 / C,
                1 / (C * D**0.5),
            )
        },
        "otherwise": SPREAD,
        "what": "The standard deviation",
        "positive": "A standard deviation is positive.",
    }


ex.numeric_near_misses(
    "06.4",
    _spread,
    lambda rng: {"C": 8 * rng.randint(3, 40), "D": rng.choice([16, 81, 144, 400, 625, 1296])},
    "width C = {C}",
    "width D = {D}",
    C=64,
    D=256,
)


@ex.exercise("06.5")
def _counterexample(answer) -> None:
    q, k = ex.unpacked(answer, 2, "Give the two vectors as a tuple (q, k).")
    q, k = ex.array(q, (64,), "q"), ex.array(k, (64,), "k")
    for name, vector in (("q", q), ("k", k)):
        if abs(vector.mean()) > 1e-6:
            raise ex.Wrong(f"The entries of {name} have mean {vector.mean():.3f}, not 0.")
        if abs(vector.var() - 63 / 64) < 1e-6:
            raise ex.Wrong(
                f"The variance of {name} is 63/64. To make it 1 you divided by n − 1 = 63, as "
                "torch does unless told otherwise; here the variance divides by n."
            )
        if abs(vector.var() - 1) > 1e-6:
            raise ex.Wrong(f"The entries of {name} have variance {vector.var():.3f}, not 1.")
    score = q @ k / 8
    if score < 7:
        raise ex.Wrong(f"Mean and variance are as asked, but q·k/√64 is {score:.2f}.")


ex.explanation(
    "06.6",
    "The standard deviation of the total grows as the root of the number of dice, but the range"
    " of possible totals grows in proportion to it. So the ratio of the two shrinks, and totals"
    " near the ends of the range become less likely. Scores behave alike: for entries of ±1 "
    "their spread grows as √D, while the largest possible score is D and becomes ever rarer.",
    "The spread of the total grows as the root of the number of dice.",
    "The range of possible totals grows in proportion to that number.",
    "So totals near the ends of the range become less likely.",
    "In the same way scores spread as √D, while the largest possible one grows as D.",
)

ex.spoken(
    "06.4",
    "Where do your two widths come in, and with which powers?",
    "C adds up in each entry (−1/2); D adds products of two entries, each with σ (−1/4).",
)
