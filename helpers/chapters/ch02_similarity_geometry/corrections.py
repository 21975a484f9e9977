"""Corrections for chapter 02: dot product, cosine and distance, and what normalising does."""

import numpy as np
from jaxtyping import Float

from helpers.corrections import corrects, number, shown
from helpers.corrections.arrays import standardised
from helpers.numerics import cross_entropy, softmax

Vector = Float[np.ndarray, " C"]
Rows = Float[np.ndarray, "N C"]

# ------------------------------------------------------------ what the measurements are made of


def _unit(x: Rows) -> Rows:
    """Each row over its length."""
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _cosine(u: Vector, v: Vector) -> float:
    """Dot product over both lengths, cleared of float noise."""
    return round(float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)), 12)


def _percent(shares: list[float]) -> str:
    """Write mean, least and largest of several shares."""
    mean, least, most = (number(100 * f(shares)) for f in (np.mean, min, max))
    return f"{mean} % ({least} to {most} %)"


# ------------------------------------------------------------------------ what normalising does


def _keys_and_choices(seed: int) -> tuple[Float[np.ndarray, " N"], float]:
    """For 32 normalised inputs: lengths of their keys, share of queries where cosine differs.

    Inputs of width 64 and one head of width 16, all drawn at random.
    """
    rng = np.random.default_rng(seed)
    x_NC = standardised(rng.standard_normal((32, 64)))
    w_q, w_k = rng.standard_normal((2, 64, 16)) / 8
    q, k = x_NC @ w_q, x_NC @ w_k
    by_score, by_cosine = ((q @ keys.T).argmax(axis=1) for keys in (k, _unit(k)))
    return np.linalg.norm(k, axis=1), float((by_score != by_cosine).mean())


@corrects(
    claim="With normalised embeddings, attention compares directions and no longer lengths, much "
    "like cosine.",
    says="“so attention focuses on directional similarity (cosine-like), not arbitrary length "
    "differences”; “make attention compare directions rather than magnitudes”",
    why="LayerNorm makes the inputs alike in length, but attention compares their queries and "
    "keys, and W_Q and W_K stretch some directions more than others. For scores that are cosines "
    "the queries and keys themselves have to be normalised.",
)
def keys_have_lengths_again() -> str:
    """Ratio of longest to shortest key, and how often score and cosine prefer another key."""
    lengths, shares = zip(*(_keys_and_choices(seed) for seed in range(20)), strict=True)
    ratios = [length.max() / length.min() for length in lengths]
    return (
        "32 inputs of one length (width 64), one head of width 16, random W_Q and W_K, 20 trials: "
        f"the longest key is {number(min(ratios))} to {number(max(ratios))} times as long as the "
        f"shortest, and the key of the largest score is not that of the largest cosine for "
        f"{_percent(list(shares))} of the queries."
    )


@corrects(
    claim="A toy example in two dimensions shows well what LayerNorm does to clusters of "
    "embeddings, direction as against magnitude.",
    says="“illustrate visually (with a 2D toy example) how embeddings form a cluster structure "
    "before and after normalization — it makes the ‘direction vs magnitude’ intuition very clear”",
    why="LayerNorm first subtracts the mean of the entries, which changes the direction, and with "
    "two entries leaves only their difference, so nothing but its sign survives. It takes three "
    "dimensions to see a circle; dividing by the length alone works in two.",
)
def two_dimensions_become_two_points() -> str:
    """Number of points that random points of the plane become, and a right angle that vanishes."""
    points = np.random.default_rng(0).standard_normal((1000, 2))
    left = len(np.unique(np.round(standardised(points), 9), axis=0))
    pair = np.array([[3.0, 1.0], [1.0, -3.0]])
    angle = np.degrees(np.arccos(_cosine(*pair)))
    a, b = standardised(pair)
    return (
        f"LayerNorm turns {len(points)} random points of the plane into {left}. {shown(pair[0])} "
        f"and {shown(pair[1])}, at an angle of {number(round(angle, 9))}°, become {shown(a)} and "
        f"{shown(b)}."
    )


# --------------------------------------------------- formulas that stand under another's heading


@corrects(
    claim="The formula of the dot product is "
    r"$\langle u, v\rangle / (\lVert u\rVert\,\lVert v\rVert)$, that of cosine similarity "
    r"$-\log\,(\exp(h^\top w_y) / \sum_j \exp(h^\top w_j))$, and that of Euclidean distance "
    r"$(p_j - \mathbf{1}\{j=y\})\,h$.",
    says="These formulas stand under “Dot product” (“magnitude-sensitive alignment”), “Cosine "
    "similarity” (“angle-only semantic comparison”) and “Euclidean distance”; several other "
    "headings of the lesson have a formula of another subject, too.",
    why=r"The first is the cosine. The dot product is $\sum_i u_i v_i$ and grows with either "
    r"vector, which cosine divides out; the distance is $\lVert u - v\rVert$. The other two are "
    "the loss of a prediction and its gradient: both depend on every row of the table, and the "
    "gradient is a vector.",
)
def formulas_and_their_headings() -> str:
    """The three measures when one vector doubles; loss and gradient where state and row agree."""
    u, v = np.array([1.0, 2.0, 2.0]), np.array([2.0, 1.0, 2.0])
    once, twice = (
        f"{number(w @ v)}, {number(_cosine(w, v))} and {number(np.linalg.norm(w - v))}"
        for w in (u, 2 * u)
    )
    h, rows = np.array([1.0, 1.0]), np.array([[1.0, 1.0], [0.0, 1.0], [-1.0, 0.0]])
    gradient = (softmax(rows @ h)[0] - 1) * h
    return (
        f"Dot product, cosine and distance of u = {shown(u)} and v = {shown(v)} are {once}, and "
        f"{twice} with u doubled. For h = {shown(h)} and the rows "
        f"{', '.join(map(shown, rows))}, the first being right, the cosine with that row is "
        f"{number(_cosine(h, rows[0]))} and the distance from it "
        f"{number(np.linalg.norm(h - rows[0]))}, but the loss is "
        f"{number(cross_entropy(rows @ h, 0))} and the gradient {shown(gradient)}."
    )
