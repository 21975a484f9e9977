"""Corrections for chapter 06: how large a dot product gets, and what that has to do with √D."""

import numpy as np
from jaxtyping import Float

from helpers.chapters.ch06_scaling_by_sqrt_dk.lab import weights_and_gradient
from helpers.corrections import corrects, number
from helpers.corrections.arrays import rms

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


def _of_itself(width: int) -> Float[np.ndarray, " N"]:
    """Dot products of each of these queries with itself, before any scaling."""
    return (_vectors(width)[0] ** 2).sum(axis=1)


def _dice(n: int) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Totals that n dice can show, and their exact probabilities."""
    probabilities = np.ones(1)
    for _ in range(n):
        probabilities = np.convolve(probabilities, np.full(6, 1 / 6))
    return np.arange(n, 6 * n + 1, dtype=float), probabilities


# ------------------------------------------------------------------- the argument from a mean of 1


@corrects(
    claim="Dot products grow too large because the components of query and key are around 1, and "
    "so is each product; dividing by √D mends that.",
    says="“each component of these vectors is on average around 1 … the sum will roughly be D … "
    "Thus, dividing by √D appropriately adjusts the scale”",
    why="Entries with a mean of 1 give a sum around D, which dividing by √D leaves growing as √D. "
    "The divisor √D follows from independent entries of mean 0 and variance 1.",
)
def mean_one_needs_more() -> str:
    """Mean of q·k/√D for D = 64 and D = 1024, entries of mean 1 and variance 1."""
    small, large = (_scores(d, mean=1.0).mean() / np.sqrt(d) for d in (64, 1024))
    return (
        f"With entries of mean 1 and variance 1, q·k/√D is {number(small)} on average at D = 64, "
        f"{number(large)} at D = 1024."
    )


@corrects(
    claim="The dot product of random vectors grows in proportion to D.",
    says="“The dot product scales linearly with D”: something like 64 at D = 64, like 1024 at "
    "D = 1024.",
    why="That holds for entries with a mean other than 0. With independent entries of mean 0 and "
    "variance 1 the terms have random signs and mostly cancel: the variance grows in proportion "
    "to D, and the typical size as √D.",
)
def power_of_growth() -> str:
    """Typical q·k, and the slope of its log against log D from 4 to 1024."""
    widths = (4, 16, 64, 256, 1024)
    sizes = [rms(_scores(d)) for d in widths]
    power = np.polyfit(np.log(widths), np.log(sizes), 1)[0]
    return (
        f"With mean 0 and variance 1, q·k is typically {number(sizes[2])} at D = 64 and "
        f"{number(sizes[4])} at D = 1024; from D = 4 to D = 1024 it grows as D to the power "
        f"{number(power)}."
    )


@corrects(
    claim="The dot product grows in proportion to D, yet dividing it by D would make it too small.",
    says="“the dot product grows proportionally to D … But dividing by D itself would "
    "overcompensate, making the values too small”",
    why="What grows in proportion to D is brought to one size at every width by dividing by D: "
    "with entries of mean 1, to about 1, which is not too small. Where ÷ D makes the scores "
    "smaller and smaller as D grows, as with entries of mean 0, the growth was as √D.",
)
def dividing_by_d() -> str:
    """Typical q·k/D for D = 64 and 1024, with entries of mean 1 and of mean 0."""
    sizes = {mean: [rms(_scores(d, mean) / d) for d in (64, 1024)] for mean in (1.0, 0.0)}
    of_one, of_zero = (" and ".join(map(number, size)) for size in sizes.values())
    return (
        f"q·k/D for D = 64 and 1024: about {of_one} with entries of mean 1, which is not too "
        f"small; {of_zero} with mean 0."
    )


@corrects(
    claim="The divisor is √D because the length of a vector grows as √D.",
    says="“the magnitude (or norm) of a vector scales with the square root of the number of "
    "dimensions … Thus, dividing by √D”",
    why="Two lengths of √D multiply to D, and dividing by that would leave the cosine, which for "
    "random vectors shrinks as 1/√D. The divisor is √D because the sum of D independent products "
    "of mean 0 and variance 1 varies by √D.",
)
def lengths_are_not_the_reason() -> str:
    """Lengths, their product, and typical dot product and cosine at D = 256."""
    q_ND, k_ND = _vectors(256)
    lengths = np.linalg.norm(q_ND, axis=1)[:, None], np.linalg.norm(k_ND, axis=1)[None, :]
    products, scores = lengths[0] * lengths[1], q_ND @ k_ND.T
    return (
        f"At D = 256 the lengths are about {number(rms(lengths[0]))} and "
        f"{number(rms(lengths[1]))}, their product about {number(products.mean())}; the dot "
        f"product is typically {number(rms(scores))} and the cosine "
        f"{number(rms(scores / products))}."
    )


# ----------------------------------------------------------------- the argument from the variance


@corrects(
    claim="The size of the dot product follows the variance of the individual components, which "
    "grows with D.",
    says="“the magnitude of the dot product is more influenced by the variance of the individual "
    "components, and variance grows with D”",
    why="The components keep their variance. The variance that grows is that of the dot product, "
    "a sum of D products; its typical size is the root of that, which is why the divisor is √D "
    "and not D.",
)
def variance_and_magnitude() -> str:
    """Growth of an entry's variance, and of the dot product's variance and size, with D."""
    small, large = (_scores(d) for d in (64, 1024))
    entries = round(_vectors(1024)[0].var() / _vectors(64)[0].var(), 2)
    return (
        f"From D = 64 to D = 1024 the measured variance of a component changes by a factor of "
        f"{number(entries)}, that of the dot product by {number(large.var() / small.var())}, and "
        f"its typical size by {number(rms(large) / rms(small))}."
    )


@corrects(
    claim="Without the division softmax saturates, and the gradient no longer flows.",
    says="“to prevent large values when d_k is large, which could lead to extremely high softmax "
    "outputs and thus poor gradient flow during training”",
    why="That depends on two numbers, D and how many keys there are. At D = 64 undivided scores "
    "leave a typical untrained query more gradient than divided ones do, with 16 keys and with "
    "1024. At D = 1024 most queries get next to nothing if there are 16 keys; with 1024 keys the "
    "typical query still gets more than with √D.",
)
def gradient_without_division() -> str:
    """Median norm of ∂w/∂q over 400 queries, undivided and ÷ √D, for two widths and key counts."""
    parts = []
    for d, keys in ((64, 16), (64, 1024), (1024, 16), (1024, 1024)):
        medians = (number(_typical_gradient(d, keys, s)) for s in (1.0, np.sqrt(d)))
        parts.append(f"{' and '.join(medians)} at D = {d} with {keys} keys")
    return f"Median norm of ∂w/∂q, undivided and divided by √D: {', '.join(parts)}."


def _typical_gradient(width: int, keys: int, divisor: float) -> float:
    """Median over 400 queries, on the same random keys, of the norm of a query's ∂w/∂q."""
    rng = np.random.default_rng([width, keys])
    q_ND, k_KD = rng.standard_normal((400, width)), rng.standard_normal((keys, width))
    return float(np.median(weights_and_gradient(q_ND, k_KD, divisor)[1]))


@corrects(
    claim="Dividing by √D ensures that the scores stay in a reasonable range.",
    says="“Dividing by √D ensures that the dot product remains in a reasonable range”",
    why="For independent entries of mean 0 and variance 1 it does. Training may start like that, "
    "but it is free to align queries and keys; mean 0 is not enough, since the two must be "
    "uncorrelated as well. For an aligned pair of such vectors the score grows as √D even after "
    "the division.",
)
def aligned_after_scaling() -> str:
    """Mean of q·q/√D for D = 64 and D = 1024."""
    small, large = (_of_itself(d).mean() / np.sqrt(d) for d in (64, 1024))
    return (
        f"For a key equal to its query, q·k/√D is {number(small)} on average at D = 64 and "
        f"{number(large)} at D = 1024."
    )


# ----------------------------------------------------------------------------------------- dice


@corrects(
    claim="The more dice, the more likely are extreme totals, very low or very high.",
    says="“the spread of possible outcomes (the variance) increases: you could roll a 2 (two 1s) "
    "or a 12 (two 6s) … the extremes (very low or very high sums) become more likely”",
    why="The range is not the variance: the range of n dice grows as n, their standard deviation "
    "as √n. With many dice a total is almost sure to be further from the mean than some given "
    "number of pips. But one near either end of its range becomes rarer, since nearly all the "
    "dice would have to be low, or high, together.",
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
    claim="A total of dice is like a dot product, in that the expected value stays and the spread "
    "grows.",
    says="“the expected sum per die remains the same … Similarly, in the dot product, … the "
    "expected value remains near zero”",
    why="Per die it does, but a dot product is a total. A die has mean 3.5, so the total of n dice "
    "grows in proportion to n, like the dot product of entries with mean 1. The likeness holds "
    "for the deviation from the mean.",
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
