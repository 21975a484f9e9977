"""Corrections for chapter 08: Add & Norm by hand, what a residual keeps, what a network adds."""

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from helpers.blocks import Block
from helpers.corrections import corrects, number, shown
from helpers.corrections.arrays import given, standardised
from helpers.numerics import softmax, variance

Vector = Float[np.ndarray, " C"]

# --------------------------------------------------------- the inputs of the worked examples

# What goes into the sub-layer of the first example, and is added to what comes out.
RESIDUAL_X = given([1.5, 2.0, -0.5])
RESIDUAL_Y = given([0.8, 1.2, -0.1])  # what that sub-layer puts out
ADD_NORM_X = given([1.0, 2.0, -1.0])  # what goes into the layer of the second example
ADD_NORM_Y1 = given([0.5, 1.5, -0.5])  # what its attention puts out
ADD_NORM_Y2 = given([0.25, 0.80, -1.0])  # what its feed-forward network puts out
ADD_NORM_PRINTED_MEAN = 1.17  # what is printed as the mean of the first sum; right to two decimals
# What is printed as the squared deviations of the first sum; right to two hundredths.
ADD_NORM_PRINTED_SQUARES = given([0.11, 5.43, 7.13])
ADD_NORM_PRINTED_DEVIATION = 2.21  # what is printed as its standard deviation
# What is printed as the first sum normalised, and goes into the feed-forward network.
ADD_NORM_PRINTED_X2 = given([0.15, 1.06, -1.19])
# What is printed as the second sum normalised, the output of the layer.
ADD_NORM_PRINTED_OUTPUT = given([0.26, 1.25, -1.50])

# ------------------------------------------------------------ what the measurements are made of


def _spread(x: Vector) -> tuple[float, float]:
    """Variance and standard deviation of a vector, dividing by the number of its entries."""
    of_x = float(variance(x, axis=0))
    return of_x, of_x**0.5


@torch.no_grad()
def _fill(module: nn.Module, generator: torch.Generator) -> None:
    """Draw all matrices by Xavier's rule; set scales of norms to 1, and all else to 0."""
    for name, parameter in module.named_parameters():
        if parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter, generator=generator)
        else:
            parameter.fill_(float(name.endswith("weight")))


def _block(width: int, **options) -> Block:
    """Make a block with memory for its parameters and nothing in it yet, in float64."""
    with torch.device("meta"):
        block = Block(width, **options)
    return block.double().to_empty(device="cpu")


Streams = Float[np.ndarray, "S T C"]


def _matrices(rng: np.random.Generator, inputs: int, outputs: int) -> Streams:
    """Five random matrices, one a draw, with the variance of Xavier's rule."""
    return rng.standard_normal((5, inputs, outputs)) * np.sqrt(2 / (inputs + outputs))


def _attention(x_STC: Streams, rng: np.random.Generator) -> Streams:
    """Random self-attention of one head, another in each draw."""
    C = x_STC.shape[-1]
    q, k, v = (x_STC @ _matrices(rng, C, C) for _ in range(3))
    return softmax(q @ k.swapaxes(1, 2) / np.sqrt(C)) @ v @ _matrices(rng, C, C)


def _network(x_STC: Streams, rng: np.random.Generator) -> Streams:
    """A random feed-forward network with ReLU and 4 C hidden features, another in each draw."""
    C = x_STC.shape[-1]
    hidden = np.maximum(x_STC @ _matrices(rng, C, 4 * C), 0)
    return hidden @ _matrices(rng, 4 * C, C)


def _sizes(placement: str, depths: tuple[int, ...]) -> Float[np.ndarray, "depths S"]:
    """Root mean square of 8 tokens of width 16 after so many random layers, in five draws.

    placement: "pre", "post" or "none", which leaves the norm out. Tokens start with size 1.
    """
    rng = np.random.default_rng(0)
    x_STC, sizes = standardised(rng.standard_normal((5, 8, 16))), {}
    for depth in range(1, max(depths) + 1):
        for sublayer in (_attention, _network):
            x_STC = x_STC + sublayer(standardised(x_STC) if placement == "pre" else x_STC, rng)
            x_STC = standardised(x_STC) if placement == "post" else x_STC
        sizes[depth] = np.sqrt((x_STC**2).mean(axis=(1, 2)))
    return np.array([sizes[depth] for depth in depths])


# ------------------------------------------------------------------------ Add & Norm by hand


@corrects(
    claim="In a worked example of Add & Norm the sum after attention, (1.5, 3.5, −1.5), has the "
    "variance 4.89 and is normalised to (0.15, 1.06, −1.19).",
    says="(0.11 + 5.43 + 7.13) / 3 ≈ 4.89 and √4.89 ≈ 2.21; with “a mean of 0 and a variance of "
    "1”: (0.15, 1.06, −1.19)",
    why="The squares are right but for the rounding; it is the division of their sum by 3 that "
    "went wrong. So the standard deviation is too large and the entries are too small, and two of "
    "the three divisions are off besides. The result can be checked without repeating anything: "
    "its squares must have the mean 1.",
)
def normalised_after_attention() -> str:
    """Variance of the first sum, the sum normalised, and what the printed steps come to."""
    total = ADD_NORM_X + ADD_NORM_Y1
    of_sum, deviation = _spread(total)
    divided = (total - ADD_NORM_PRINTED_MEAN) / ADD_NORM_PRINTED_DEVIATION
    return (
        f"The variance is {number(of_sum)}, the standard deviation {number(deviation)}, the result "
        f"{shown(standardised(total))}. The printed squares themselves have the mean "
        f"{number(ADD_NORM_PRINTED_SQUARES.mean())}, the printed divisions give {shown(divided)}, "
        f"and the printed result has the variance {number(_spread(ADD_NORM_PRINTED_X2)[0])}."
    )


@corrects(
    claim="In a worked example of Add & Norm the sum after the feed-forward network, "
    "(0.40, 1.86, −2.19), has the variance 2.15, so that the layer's output is "
    "(0.26, 1.25, −1.50).",
    says="Variance ≈ 2.15, standard deviation ≈ 1.47, output ≈ (0.26, 1.25, −1.50)",
    why="This time the standard deviation is too small and the output too long: the variance of "
    "what is printed is not 1. The error of the step before hardly shows in the end, since the "
    "second norm brings whatever comes to the same size.",
)
def output_of_add_and_norm() -> str:
    """Variance and normalised second sum, as printed and carried through from the inputs."""
    total = ADD_NORM_PRINTED_X2 + ADD_NORM_Y2
    of_sum, deviation = _spread(total)
    through = standardised(standardised(ADD_NORM_X + ADD_NORM_Y1) + ADD_NORM_Y2)
    return (
        f"The variance of this sum is {number(of_sum)}, the standard deviation "
        f"{number(deviation)}, and the output {shown(standardised(total))}; carried through from "
        f"the inputs without an error, it is {shown(through)}. The printed output has the "
        f"variance {number(_spread(ADD_NORM_PRINTED_OUTPUT)[0])}."
    )


# ------------------------------------------------------------------------ what a residual keeps


@corrects(
    claim="With a residual connection the next step has both the input X and the sub-layer's "
    "output Y at hand, which ensures that nothing of X is lost.",
    says="“ensures you have both the summary (Y) and the original notes (X) available for the "
    "next step”",
    why="The next step sees one vector, the sum, from which X and Y cannot be told apart. The "
    "connection makes it easy to keep X, since a sub-layer that adds little keeps it, but a "
    "sub-layer may also take something of X away.",
)
def the_sum_is_all_there_is() -> str:
    """The sum with X and Y exchanged, and what is left of X if the sub-layer puts out minus X."""
    swapped = RESIDUAL_Y + RESIDUAL_X
    same = np.abs(swapped - (RESIDUAL_X + RESIDUAL_Y)).max()
    left = np.linalg.norm(RESIDUAL_X + -np.eye(len(RESIDUAL_X)) @ RESIDUAL_X)
    return (
        f"X = {shown(RESIDUAL_X)} and Y = {shown(RESIDUAL_Y)} pass on {shown(swapped)}; with X and "
        f"Y exchanged the sum differs by {number(same)}. If the sub-layer is the linear map to −X, "
        f"what is passed on has length {number(left)}."
    )


@corrects(
    claim="Layer normalisation keeps the residual signals of a deep stack of layers bounded.",
    says="“LayerNorm keeps those residual signals at a predictable magnitude” and will “keep "
    "residuals bounded”.",
    why="It does so where it stands after each addition, as in post-norm layers. In pre-norm "
    "layers, such as GPT's, it stands on the branch: what each sub-layer reads has one size, but "
    "the sum is not normalised and grows with each layer. That is far slower than with no norm.",
)
def the_stream_grows() -> str:
    """Root mean square of the stream after 12 and 48 random layers, over five draws."""
    depths, parts = (12, 48), []
    names = {"pre": "pre-norm", "post": "post-norm", "none": "no norm at all"}
    for placement, name in names.items():
        sizes = np.round(_sizes(placement, depths), 2)
        low, high = number(sizes[1].min()), number(sizes[1].max())
        parts.append(
            f"{number(np.median(sizes[0]))} after {depths[0]} and "
            + (high if low == high else f"between {low} and {high}")
            + f" after {depths[1]} with {name}"
        )
    return (
        "Over five draws of random layers the root mean square, 1 at the start, comes to "
        + "; ".join(parts)
        + "."
    )


# ------------------------------------------------------------------- what the network adds


@corrects(
    claim="Without the non-linearity of the feed-forward network a Transformer could model linear "
    "relationships only.",
    says="“Without non-linearity, the model would only be able to model linear relationships”.",
    why="Attention multiplies the tokens with one another, so that a layer without an activation "
    "is not linear, not even if the softmax is left out too. What such a layer lacks, unless it "
    "has a norm, is a non-linearity in what it does with each token by itself.",
)
def products_without_activation() -> str:
    """Second difference of layers with no activation and no norm, and the degree without softmax.

    f(a + b) - f(a) - f(b) + f(0) is 0 for every linear map f, with a constant added or without.
    """
    misses = []
    block = _block(8, norm="none", activation="none", causal=False)
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        _fill(block, generator)
        a, b = torch.randn(2, 1, 6, 8, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            both = block(a + b)
            difference = both - block(a) - block(b) + block(torch.zeros_like(a))
        misses.append(100 * (difference.norm() / both.norm()).item())
    q, k, v, x_TC = np.random.default_rng(0).standard_normal((4, 8, 8))
    once, twice = ((s * x_TC @ q) @ (s * x_TC @ k).T @ (s * x_TC @ v) for s in (1, 2))
    grown = np.linalg.norm(twice) / np.linalg.norm(once)
    return (
        f"In five draws of a layer without activation and norm, f(a + b) − f(a) − f(b) + f(0) is "
        f"between {number(min(misses))} % and {number(max(misses))} % of the length of f(a + b); "
        "for a linear f it is 0. With the softmax left out too, twice the input gives "
        f"{number(round(grown, 9))} times the attention."
    )
