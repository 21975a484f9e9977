"""Misconceptions of chapter 4: what a norm averages, what it can undo."""

import numpy as np
from jaxtyping import Float

from helpers import example
from helpers.corrections import corrects, number, vector

Array = Float[np.ndarray, "..."]

HOUSES = np.array([[1700.0, 3], [900, 2], [2400, 5]])  # square feet and rooms
CROSS = example.X[1]


def _normalised(x: Array, axis: int = -1) -> Array:
    """(x - mean) / deviation, along an axis."""
    return (x - x.mean(axis=axis, keepdims=True)) / x.std(axis=axis, keepdims=True)


@corrects(
    claim="LayerNorm normalises each feature over the batch, as one standardises the columns of a "
    "table.",
    says="“It is feature standardisation, as in any data set.”",
    why="LayerNorm goes along the row and compares the different features of one token. Along a "
    "row of two features only the sign of their difference is left. Going down the columns, over "
    "the batch, is what BatchNorm does.",
    section="The mean of what?",
)
def rows_are_not_columns() -> str:
    """Three houses with two features, normalised by column and by row."""
    by_column, by_row = (
        ", ".join(map(vector, _normalised(HOUSES, axis).round(2))) for axis in (0, 1)
    )
    return (
        f"Three houses with size and rooms {', '.join(map(vector, HOUSES))} become {by_column} if "
        f"we go by column, but {by_row} if we go by row."
    )


@corrects(
    claim="With γ and β, LayerNorm can undo its own normalisation.",
    says="“The two parameters let the network restore the original activations if it needs them.”",
    why="γ and β are the same for all tokens, but each token was normalised by a mean and a "
    "deviation of its own, and those are gone. The sentence comes from BatchNorm, which has one "
    "mean and one deviation for each feature, so that γ and β can give them back.",
    section="What does a norm forget?",
)
def gamma_and_beta_undo() -> str:
    """Two tokens LayerNorm makes equal, and a table that BatchNorm's γ and β give back."""
    other, X = 10 * CROSS + 3, example.X
    apart = np.abs(_normalised(CROSS) - _normalised(other)).max()
    restored = _normalised(X, axis=0) * X.std(axis=0) + X.mean(axis=0)
    return (
        f"{vector(CROSS)} and {vector(other)} differ by {number(apart.round(9))} after LayerNorm "
        f"without ε, so no γ and β can tell them apart. After BatchNorm, γ = σ and β = μ give "
        f"the five words back with an error of {number(np.abs(restored - X).max().round(9))}."
    )
