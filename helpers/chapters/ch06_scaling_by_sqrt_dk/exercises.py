"""Checks for chapter 06, why divide by √d_k."""

import numpy as np

from helpers import numerics
from helpers.exercises import Wrong, array, call, close, diagnosed, exercise, explanation
from helpers.exercises import check as check

BUGS = {
    "Ada": "root of the number of keys",
    "Ben": "width of the head, no root",
    "Cleo": "not divided",
    "Dan": "root of the model's width",
}


@exercise("06.1")
def _typical_score(answer) -> None:
    for width, sigma in ((64, 1.0), (50, 0.5), (7, 3.0)):
        found = float(array(call(answer, width, sigma), (), "The result"))
        if close(found, sigma**2 * np.sqrt(width)):
            continue
        if close(found, sigma**4 * width):
            raise Wrong("This is the variance; the standard deviation is asked for.")
        if close(found, sigma**2 * width):
            raise Wrong(f"At D = {width} you let the terms add up as if they all had one sign.")
        if close(found, np.sqrt(width)) or close(found, sigma * np.sqrt(width)):
            raise Wrong(f"Right for σ = 1, not for σ = {sigma:g}: each product has two factors.")
        raise Wrong(f"For D = {width} and σ = {sigma:g} it gives {found:.3f}, which is not right.")


@exercise("06.2")
def _jacobian(answer) -> None:
    # The root of the number of scores must differ from the divisor, or the one passes as the other.
    for scores, divisor in (([2.0, -1.0, 0.5, 3.0], 3.0), ([0.3, 1.0, -0.6], 0.7)):
        _jacobian_of(answer, np.array(scores), divisor)
    with np.errstate(all="ignore"):
        large = np.asarray(call(answer, np.array([1000.0, 999.0]), 1.0), dtype=float)
    if not np.isfinite(large).all():
        raise Wrong("Right for small scores, but for scores near 1000 it overflows.")
    if not close(large, numerics.softmax_jacobian(numerics.softmax(np.array([1.0, 0.0])))):
        raise Wrong("Right for small scores, but for 1000 and 999 the numbers are not right.")


def _jacobian_of(answer, scores: np.ndarray, divisor: float) -> None:
    """Hold the function to one row of scores and one divisor."""
    n = len(scores)
    found = array(call(answer, scores.copy(), divisor), (n, n), "The result")
    w = numerics.softmax(scores / divisor)
    right = numerics.softmax_jacobian(w) / divisor
    if close(found, right):
        return
    if close(found, right * divisor):
        raise Wrong("These are derivatives by the divided scores. The undivided ones are asked.")
    if close(found, numerics.softmax_jacobian(numerics.softmax(scores))):
        raise Wrong("The divisor plays no part in your answer.")
    if close(found, numerics.softmax_jacobian(numerics.softmax(scores / n**0.5)) / n**0.5):
        raise Wrong("You divided by the root of the number of scores, not by the divisor.")
    if close(found, np.diag(w) / divisor) or close(found, np.diag(w * (1 - w)) / divisor):
        raise Wrong("Only the diagonal is filled, but raising one score lowers the other weights.")
    if not np.allclose(found.sum(axis=0), 0, atol=1e-6):
        raise Wrong("Each column should sum to 0, since the weights always sum to 1; yours do not.")
    if found[0, 0] and close(found * (right[0, 0] / found[0, 0]), right):
        raise Wrong("Right up to a factor, the same everywhere. What does the chain rule add?")
    raise Wrong("The columns sum to 0, as they should, but the numbers are not right.")


def which_bug():
    """Queries and keys of 25 tokens, width 16, and four students' weights, wrongly divided.

    Returns: q, k (25, 16), and a dict from the student's name to weights (25, 25).
    """
    q, k = np.random.default_rng(6).standard_normal((2, 25, 16))
    divisors = {
        "root of the model's width": np.sqrt(64),
        "width of the head, no root": 16.0,
        "root of the number of keys": np.sqrt(25),
        "not divided": 1.0,
    }
    weights = {bug: numerics.softmax(q @ k.T / divisor) for bug, divisor in divisors.items()}
    return q, k, {student: weights[bug] for student, bug in BUGS.items()}


@exercise("06.3")
def _which_bug(answer) -> None:
    diagnosed(
        answer,
        BUGS,
        "Work out the divisor that each mistake makes, and compare what it gives with the "
        "whole array of each student.",
    )


@exercise("06.4")
def _start(answer) -> None:
    start = float(array(answer, (), "The standard deviation"))
    if start <= 0:
        raise Wrong("A standard deviation is positive.")
    spread = 64 * start**2 * np.sqrt(256)
    if abs(spread - 1) > 0.05:
        message = f"With this start the scores have a spread of {spread:.3g}."
        if any(close(start, 2.0**-power) for power in (3, 4, 6, 10)):
            message += " The start enters twice, once through q and once through k."
        raise Wrong(message)


@exercise("06.5")
def _counterexample(answer) -> None:
    if tuple(getattr(answer, "shape", ())) == (2, 64):
        answer = tuple(answer)
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Wrong("Give the two vectors as a tuple (q, k).")
    q, k = (array(part, (64,), name) for part, name in zip(answer, "qk", strict=True))
    for name, vector in (("q", q), ("k", k)):
        if abs(vector.mean()) > 1e-6:
            raise Wrong(f"The entries of {name} have mean {vector.mean():.3f}, not 0.")
        if abs(vector.var() - 63 / 64) < 1e-6:
            raise Wrong(
                f"The variance of {name} is 63/64. To make it 1 you divided by n − 1 = 63, as "
                "torch does unless told otherwise; here the variance divides by n."
            )
        if abs(vector.var() - 1) > 1e-6:
            raise Wrong(f"The entries of {name} have variance {vector.var():.3f}, not 1.")
    score = q @ k / 8
    if score < 7:
        raise Wrong(f"Mean and variance are as asked, but q·k/√64 is {score:.2f}.")


explanation(
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


@exercise("06.7")
def _divisor(answer) -> None:
    rng = np.random.default_rng(7)
    for size, mean in ((1.0, 0.0), (0.5, 0.0), (1.0, 1.0)):
        q, k = mean + size * rng.standard_normal((2, 40, 64))
        value = call(answer, q.copy(), k.copy())
        if len(getattr(value, "shape", ())) == 1:
            raise Wrong("One number for all rows is asked, not one for each.")
        found = float(array(value, (), "The divisor"))
        if not close(found, np.sqrt((q @ k.T).var(axis=1).mean()), 1e-4):
            _why_not(found, q, k, f"entries of size {size:g} and mean {mean:g}")


def _why_not(found: float, q: np.ndarray, k: np.ndarray, entries: str) -> None:
    """Say what a divisor seems to have been computed from."""
    scores = q @ k.T
    variance = scores.var(axis=1).mean()
    if close(found, scores.std(axis=1).mean()):
        raise Wrong("You averaged the deviations of the rows. Average their variances.")
    if close(found, np.sqrt(scores.var(axis=1, ddof=1).mean())):
        raise Wrong(
            "You divided by n − 1, as torch does unless told otherwise: the variance over these "
            "keys divides by their number."
        )
    if close(found, np.sqrt(scores.var(axis=0).mean())):
        raise Wrong("This is the spread over the queries of a column. Softmax runs over keys.")
    if close(found, 8.0):
        raise Wrong(f"√D does not depend on the vectors; it is not right for {entries}.")
    if close(found, scores.std()) or close(found, np.sqrt((scores**2).mean())):
        raise Wrong(f"For {entries} this counts what all scores of a row share.")
    if close(found, variance):
        raise Wrong("This is the variance; to divide, its root is needed.")
    left = np.sqrt(variance) / abs(found) if found else np.inf
    if abs(left - 1) < 0.1:
        raise Wrong(
            f"Close: for {entries} the spread within a row is {left:.3f} after dividing. An "
            "estimate from the entries is not enough: compute it from the scores themselves."
        )
    raise Wrong(f"For {entries} the spread within a row is {left:.3f} after dividing, not 1.")
