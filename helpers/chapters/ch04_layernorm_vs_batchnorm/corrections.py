"""Misconceptions of chapter 4: what a norm averages, what it divides by, what it can undo."""

import numpy as np
from jaxtyping import Float

from helpers import example
from helpers.corrections import corrects, number, vector

Array = Float[np.ndarray, "..."]

HOUSES = np.array([[1700.0, 3], [900, 2], [2400, 5]])  # square feet and rooms
CROSS = example.X[1]


def _normalised(x: Array, axis: int = -1, ddof: int = 0, eps: float = 0.0) -> Array:
    """(x - mean) / root of (variance + ε), along an axis."""
    variance = x.var(axis=axis, ddof=ddof, keepdims=True)
    return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(variance + eps)


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
    claim="LayerNorm divides by what `x.std()` gives.",
    says="`(x - x.mean()) / x.std()`, “which is what PyTorch does inside”",
    why="In PyTorch `x.std()` divides the sum of squares by n − 1, to estimate the spread of "
    "something of which x is a sample. A norm divides it by n, so that the mean square of what "
    "comes out is 1. With three numbers the difference is large, with 768 it is tiny.",
    section="What does a norm do to one word?",
)
def three_numbers_normalised() -> str:
    """Three numbers normalised with n and with n - 1."""
    x = np.array([8.0, 10, 12])
    return (
        f"`nn.LayerNorm` makes {vector(_normalised(x))} of {vector(x)}. With `x.std()` one gets "
        f"{vector(_normalised(x, ddof=1))}."
    )


@corrects(
    claim="It makes no difference whether ε is added inside the root or outside.",
    says="`(x - mean) / (std + eps)` in place of `nn.LayerNorm`",
    why="PyTorch divides by the root of variance + ε. So the usual ε damps a vector whose "
    "numbers hardly differ, and outside the root the same ε does that hundreds of times less. For "
    "an ordinary vector the two agree.",
    section="When does ε matter?",
)
def eps_outside_the_root() -> str:
    """Output for a vector of small entries, with ε inside the root and outside."""
    x, eps = 1e-4 * np.array([1.0, -1] * 4), 1e-5
    inside, outside = _normalised(x, eps=eps)[0], x[0] / (x.std() + eps)
    return (
        f"With ε = 10⁻⁵, numbers of ±0.0001 become ±{number(inside)} if ε is inside the root, and "
        f"±{number(outside)} if it is outside."
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


@corrects(
    claim="BatchNorm can't be used in a Transformer because sentences have different lengths.",
    says="“The zeros of the padding spoil the statistics of the batch.”",
    why="Zeros do, but padding can be left out of the statistics, or avoided, as when a GPT is "
    "trained on full windows. What remains is that in training the words read one another through "
    "the mean and the deviation, and earlier words read later ones.",
    section="Which words does a word read?",
)
def without_padding_it_still_leaks() -> str:
    """Movement of real words' outputs by padding and by a later word, masked and not."""
    real = np.array([[True] * 3, [True, True, False]])
    x_BTC = np.random.default_rng(0).standard_normal((2, 3, 4))
    padded, later = x_BTC.copy(), x_BTC.copy()
    padded[1, 2] += 5
    later[0, 2] += 1

    def norm(x: Array, used: Array) -> Array:
        return (x - x[used].mean(axis=0)) / x[used].std(axis=0)

    every = np.ones_like(real)
    plain, masked, leak = (
        number(np.abs(norm(x, used)[at] - norm(x_BTC, used)[at]).max())
        for x, used, at in ((padded, every, real), (padded, real, real), (later, real, (0, 0)))
    )
    return (
        f"In two sentences of up to three words, other padding moves the real words by up to "
        f"{plain}, and by {masked} if the statistics leave the padding out. But if the third word "
        f"changes, the first still moves, by up to {leak}."
    )
