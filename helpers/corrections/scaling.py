"""Corrections for chapter 06: how large a dot product gets, and what that has to do with √D."""

import numpy as np
from jaxtyping import Float

from helpers.corrections.correction import Correction, collected, corrects, number

# ------------------------------------------------------------ what the measurements are made of

Vectors = Float[np.ndarray, "N D"]


def _vectors(width: int, mean: float = 0.0) -> tuple[Vectors, Vectors]:
    """Draw 400 queries and 400 keys with independent normal entries of variance 1."""
    q_ND, k_ND = mean + np.random.default_rng(width).standard_normal((2, 400, width))
    return q_ND, k_ND


def _scores(width: int, mean: float = 0.0) -> Float[np.ndarray, "N N"]:
    """Dot products of each of these queries with each key, before any scaling."""
    q_ND, k_ND = _vectors(width, mean)
    return q_ND @ k_ND.T


def _rms(x: Float[np.ndarray, "..."]) -> float:
    """Root of the mean square, the typical size of what varies about 0."""
    return float(np.sqrt((x**2).mean()))


def _dice(n: int) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Totals that n dice can show, and their exact probabilities."""
    probabilities = np.ones(1)
    for _ in range(n):
        probabilities = np.convolve(probabilities, np.full(6, 1 / 6))
    return np.arange(n, 6 * n + 1, dtype=float), probabilities


# ------------------------------------------------------------------- the argument from a mean of 1


@corrects(
    "06",
    "003",
    *(257, 258),
    claim="Dot products grow too large because the entries of query and key are around 1, each "
    "product too; dividing by √D mends that.",
    says="entries around 1, so divide by √D",
    why="Entries with a mean of 1 give a sum around D, which dividing by √D leaves growing as √D. "
    "The scaling follows only from entries with mean 0 and variance 1.",
)
def mean_one_needs_more() -> Float[np.ndarray, "2"]:
    """Mean of q·k/√D for D = 64 and D = 1024, entries of mean 1 and variance 1."""
    return np.array([_scores(d, mean=1.0).mean() / np.sqrt(d) for d in (64, 1024)])


@corrects(
    "06",
    "003",
    *(260, 261),
    claim="With D = 64 the dot product comes to something like 64, with D = 1024 to something "
    "like 1024.",
    says="(64, 1024)",
    why="For independent entries of mean 0 and variance 1 the terms have random signs and mostly "
    "cancel; the typical size is √D. D itself is reached by a vector with itself.",
)
def typical_dot_products() -> Float[np.ndarray, "2"]:
    """Root mean square of q·k for D = 64 and D = 1024."""
    return np.array([_rms(_scores(d)) for d in (64, 1024)])


@corrects(
    "06",
    "003",
    *(262, 263),
    claim="The dot product of random vectors grows in proportion to D.",
    says="growth as D to the power 1",
    why="Its variance does. Its typical size grows as the root, as the slope of log size against "
    "log D shows.",
)
def power_of_growth() -> float:
    """Slope of log root-mean-square q·k against log D, from 4 to 1024."""
    widths = (4, 16, 64, 256, 1024)
    sizes = [_rms(_scores(d)) for d in widths]
    return float(np.polyfit(np.log(widths), np.log(sizes), 1)[0])


@corrects(
    "06",
    "003",
    262,
    claim="The dot product grows in proportion to D, yet dividing it by D would make it too small.",
    says="proportional to D, but ÷ D is too much",
    why="Both cannot hold. What grows in proportion to D is exactly brought to one size by "
    "dividing by D, as for entries with mean 1. That ÷ D is too much is true, because the growth "
    "is as √D.",
)
def dividing_by_d() -> str:
    """Typical q·k/D for D = 64 and 1024, with entries of mean 1 and of mean 0."""
    sizes = {mean: [_rms(_scores(d, mean) / d) for d in (64, 1024)] for mean in (1.0, 0.0)}
    of_one, of_zero = (" and ".join(map(number, size)) for size in sizes.values())
    return (
        f"q·k/D for D = 64 and 1024: about {of_one} with entries of mean 1, which is not too "
        f"small; {of_zero} with mean 0."
    )


@corrects(
    "06",
    "003",
    263,
    claim="The divisor is √D because the length of a vector grows as √D.",
    says="length √D, so divide by √D",
    why="Two lengths of √D multiply to D, and dividing by that would leave the cosine, which "
    "shrinks as 1/√D. The divisor is √D because a sum of D independent terms varies by √D.",
)
def lengths_are_not_the_reason() -> str:
    """Lengths, their product, and typical dot product and cosine at D = 256."""
    q_ND, k_ND = _vectors(256)
    lengths = np.linalg.norm(q_ND, axis=1)[:, None], np.linalg.norm(k_ND, axis=1)[None, :]
    products, scores = lengths[0] * lengths[1], q_ND @ k_ND.T
    return (
        f"At D = 256 the lengths are about {number(_rms(lengths[0]))} and "
        f"{number(_rms(lengths[1]))}, their product about {number(products.mean())}; the dot "
        f"product is typically {number(_rms(scores))} and the cosine "
        f"{number(_rms(scores / products))}."
    )


@corrects(
    "06",
    "003",
    256,
    claim="With a larger D the dot product is larger, even if the single entries are small.",
    says="larger D, larger dot product",
    why="It depends on how small they are. Entries of size 1/√D, as in vectors of length 1, give "
    "a dot product that shrinks with D.",
)
def unit_vectors_shrink() -> Float[np.ndarray, "2"]:
    """Root mean square of q·k for vectors of length 1, D = 64 and D = 1024."""
    sizes = []
    for d in (64, 1024):
        q_ND, k_ND = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in _vectors(d))
        sizes.append(_rms(q_ND @ k_ND.T))
    return np.array(sizes)


# ----------------------------------------------------------------- the argument from the variance


@corrects(
    "06",
    "003",
    *(265, 284),
    claim="The size of the dot product follows the variance of the single entries, and that "
    "variance grows with D.",
    says="larger D, larger variance, and the magnitude in proportion",
    why="The entries keep their variance; the dot product's is the sum of D of them. Its "
    "magnitude is the root of that sum, which is why the divisor is √D and not D.",
)
def variance_and_magnitude() -> str:
    """Growth of an entry's variance, and of the dot product's variance and size, with D."""
    small, large = (_scores(d) for d in (64, 1024))
    entries = _vectors(1024)[0].var() / _vectors(64)[0].var()
    return (
        f"From D = 64 to D = 1024 the variance of an entry grows {number(round(entries, 2))} "
        f"times, that of the dot product {number(large.var() / small.var())} times, its typical "
        f"size {number(_rms(large) / _rms(small))} times."
    )


@corrects(
    "06",
    "003",
    268,
    claim="A product of two entries has expected value 0 because each entry has mean 0.",
    says="mean 0 times mean 0: expected value 0",
    why="That needs the two to be uncorrelated as well. For a key equal to its query each product "
    "is a square with expected value 1, and the dot product does grow as D.",
)
def aligned_vectors_grow_as_d() -> Float[np.ndarray, "2"]:
    """Mean of q·q for D = 64 and D = 1024, entries of mean 0 and variance 1."""
    return np.array([(_vectors(d)[0] ** 2).sum(axis=1).mean() for d in (64, 1024)])


@corrects(
    "06",
    "003",
    *(267, 271, 272),
    claim="Each product of entries has variance 1 because the entries have variance 1.",
    says="variance 1",
    why="It has if the two are independent and their means are 0. With means of 1, or with a key "
    "that equals the query, it has not.",
)
def variance_of_a_product() -> str:
    """Variance of the product of two normal entries, by quadrature, which is exact here."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()
    x, y = nodes[:, None], nodes[None, :]

    def variance(product: np.ndarray) -> float:
        mean = weights @ product @ weights
        return round(float(weights @ (product - mean) ** 2 @ weights), 9)

    independent, shifted = variance(x * y), variance((1 + x) * (1 + y))
    same = variance(np.broadcast_to(x * x, (8, 8)))
    return (
        f"Independent normal entries of mean 0: {number(independent)}; of mean 1: "
        f"{number(shifted)}; an entry with itself: {number(same)}."
    )


@corrects(
    "06",
    "003",
    *(254, 264, 285),
    claim="Dividing by √D ensures that the scores stay in a reasonable range.",
    says="after ÷ √D: always of size 1",
    why="It does for independent entries, as at the start of training. Training is free "
    "to align queries and keys, and an aligned pair still has a score that grows as √D.",
)
def aligned_after_scaling() -> Float[np.ndarray, "2"]:
    """Mean of q·q/√D for D = 64 and D = 1024."""
    return aligned_vectors_grow_as_d.right() / np.sqrt([64, 1024])


# ----------------------------------------------------------------------------------------- dice


@corrects(
    "06",
    "003",
    280,
    claim="That two dice show totals from 2 to 12 is the growth of their variance.",
    says="range 5, then 10: the spread",
    why="The range is not the variance. The range of n dice grows as n and the standard deviation "
    "as √n, and it is the second that the scores grow by.",
)
def range_is_not_spread() -> Float[np.ndarray, "3 2"]:
    """Range and standard deviation of 1, 2 and 100 dice, as rows."""
    rows = []
    for n in (1, 2, 100):
        totals, p = _dice(n)
        variance = p @ totals**2 - (p @ totals) ** 2
        rows.append([np.ptp(totals), np.sqrt(variance)])
    return np.array(rows)


@corrects(
    "06",
    "003",
    281,
    claim="The more dice, the more likely are extreme totals, very low or very high.",
    says="extremes become more likely",
    why="Totals far from the mean, counted in pips, become more likely; extreme ones become rarer. "
    "All dice would have to agree for them.",
)
def extremes_become_rarer() -> str:
    """Probability of a total in the outer tenth of the range at either end."""
    shares = {}
    for n in (1, 2, 10):
        totals, p = _dice(n)
        margin = np.ptp(totals) / 10 + 1e-9
        outer = (totals <= totals[0] + margin) | (totals >= totals[-1] - margin)
        shares[n] = p[outer].sum()
    return (
        "A total in the outer tenth of its range, at either end, has probability "
        + ", ".join(f"{number(share)} with {n}" for n, share in shares.items())
        + " dice."
    )


@corrects(
    "06",
    "003",
    *(280, 282),
    claim="A total of dice behaves as a dot product does: its expected value stays where it was "
    "and only the spread grows.",
    says="expected value unchanged",
    why="A die has mean 3.5, so the total of n dice grows in proportion to n, like the dot product "
    "of entries with mean 1. The likeness holds for the deviation from the mean.",
)
def dice_have_a_mean() -> str:
    """Expected total and standard deviation of 1, 2 and 100 dice."""
    parts = []
    for n in (1, 2, 100):
        totals, p = _dice(n)
        mean = p @ totals
        deviation = np.sqrt(p @ (totals - mean) ** 2)
        parts.append(f"{number(round(mean, 9))} ± {number(deviation)} with {n}")
    return "Expected total and standard deviation: " + ", ".join(parts) + " dice."


CORRECTIONS: tuple[Correction, ...] = collected(vars())
