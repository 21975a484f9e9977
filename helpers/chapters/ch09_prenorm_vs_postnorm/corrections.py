"""Corrections for chapter 09: where the norm stands, and what that does to a deep stack."""

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from helpers.blocks import Block
from helpers.corrections import corrects, number, shown
from helpers.corrections.arrays import given, rms, standardised
from helpers.numerics import variance

Vector = Float[np.ndarray, " C"]

# --------------------------------------------------------- the inputs of the worked examples

PLACEMENT_X = given([1.0, 2.0, -1.0])  # what goes into the sub-layer, in both orders
PLACEMENT_Y_POST = given([0.5, 1.5, -0.5])  # what the sub-layer answers in the post-norm example
DEEP = 24  # blocks of the stacks that count as deep; the claims begin there

# ------------------------------------------------------------ what the measurements are made of


@torch.no_grad()
def _stack(placement: str, depth: int, generator: torch.Generator) -> nn.ModuleList:
    """Draw so many blocks of width 16 by Xavier's rule, scales of norms 1, all else 0."""
    with torch.device("meta"):
        blocks = nn.ModuleList(
            Block(16, placement=placement, activation="relu") for _ in range(depth)
        )
    blocks = blocks.double().to_empty(device="cpu")
    for name, parameter in blocks.named_parameters():
        if parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter, generator=generator)
        else:
            parameter.fill_(float(name.endswith("weight")))
    return blocks


def _drawn(seed: int) -> tuple[torch.Tensor, torch.Generator]:
    """Tokens of size 1 that go into a stack, (1, 8, 16), and what the stack is drawn from."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, 8, 16, generator=generator, dtype=torch.float64), generator


def _gradient(depth: int, seed: int, *, last_norm: bool) -> float:
    """Length of the gradient of the first pre-norm block's weights, from a random one on top."""
    x, generator = _drawn(seed)
    upstream = torch.randn(x.shape, generator=generator, dtype=x.dtype)
    blocks = _stack("pre", depth, generator)
    for block in blocks:
        x = block(x)
    if last_norm:
        x = nn.functional.layer_norm(x, x.shape[-1:])
    first = [p for p in blocks[0].parameters() if p.ndim > 1]
    found = torch.autograd.grad((x * upstream).sum(), first)
    return torch.cat([g.flatten() for g in found]).norm().item()


def _between(values: list[float]) -> str:
    """The smallest and the largest, with two digits."""
    low, high = (float(f"{value:.2g}") for value in (min(values), max(values)))
    return f"between {number(low)} and {number(high)}"


# ------------------------------------------------------------------------- the two examples


@corrects(
    claim="In a worked example of pre-norm (1, 2, −1) is normalised to (0.27, 1.07, −1.33).",
    says="−1.67 / 1.25 ≈ −1.33, and so (0.27, 1.07, −1.33)",
    why="Two of the three divisions are right; the last is off in its last digit, and the printed "
    "−1.67 and 1.25 do not give it either.",
)
def normed_before_the_sublayer() -> str:
    """The normed input, and what the printed division comes to."""
    return (
        f"It is {shown(standardised(PLACEMENT_X))}. The printed division gives "
        f"{number(-1.67 / 1.25)}."
    )


@corrects(
    claim="In post-norm the norm comes after the sub-layer and normalises its output.",
    says="“Normalization Location”: “After the sub-layer (e.g., self-attention or FFN)”; "
    "“Post-Norm normalizes the input after the sub-layer”",
    why="It comes after the addition and normalises the sum, as the same text says in its steps. "
    "Normalising the output of the sub-layer and adding afterwards is a third order. It gives "
    "other numbers, and a stream that is not normalised.",
)
def the_sum_is_normed() -> str:
    """The worked example in both readings."""
    of_sum = standardised(PLACEMENT_X + PLACEMENT_Y_POST)
    of_answer = PLACEMENT_X + standardised(PLACEMENT_Y_POST)
    return (
        f"For x = {shown(PLACEMENT_X)} and f(x) = {shown(PLACEMENT_Y_POST)} the norm of the sum is "
        f"{shown(of_sum)}; x plus the norm of f(x) is {shown(of_answer)}, with the variance "
        f"{number(variance(of_answer, axis=0))}."
    )


# ------------------------------------------------------------------------------ what is read


@corrects(
    claim="In post-norm the sub-layers read the raw stream, without normalisation; only pre-norm "
    "gives each sub-layer an input of a consistent scale.",
    says="“In Post-Norm, the sub-layer processes the raw input first, without normalization”, so "
    "it “operates on potentially unnormalized inputs”",
    why="Each sub-layer of post-norm reads the output of the norm before it. Only the very first "
    "reads the input of the stack as it is. In this the two orders do not differ.",
)
def what_is_read() -> str:
    """Root mean square of what 12 sub-layers read, for tokens that come in with size 3."""
    texts = []
    for placement in ("post", "pre"):
        first: list[float] = []
        others: list[float] = []
        for seed in range(3):
            x, generator = _drawn(seed)
            read = _read(_stack(placement, 6, generator), 3 * x)
            first, others = [*first, read[0]], [*others, *read[1:]]
        texts.append(
            f"in {placement}-norm the first sub-layer reads RMS {number(round(np.mean(first), 1))}"
            f", the other {len(read) - 1} read RMS {number(round(min(others), 2))}"
        )
    return f"With tokens of RMS 3, over three draws of 6 blocks: {'; '.join(texts)}."


@torch.no_grad()
def _read(blocks: nn.ModuleList, x: Float[torch.Tensor, "B T C"]) -> list[float]:
    """Root mean square of what each sub-layer reads."""
    sizes = []
    for block in blocks:
        for part in (block.attention, block.feed_forward):
            reads = part.norm(x) if part.placement == "pre" else x
            sizes.append(float(reads.square().mean().sqrt()))
            x = part(x)
    return sizes


@corrects(
    claim="In post-norm the norm comes too late to correct an output that is far too large; in "
    "pre-norm such an output does not distort the stream.",
    says="“Since normalization happens after the residual connection, it might not correct the "
    "instability introduced by the sub-layer”; in pre-norm “the residual connection doesn’t "
    "distort or destabilize the input”",
    why="It is the other way round. After the addition the norm brings any sum back to RMS 1. In "
    "pre-norm no norm follows the addition, and what was added stays on the stream.",
)
def a_loud_answer() -> str:
    """RMS of the stream after a sub-layer whose output is a hundred times too large."""
    total = PLACEMENT_X + 100 * PLACEMENT_Y_POST
    return (
        f"For x = {shown(PLACEMENT_X)} and an output of 100 · {shown(PLACEMENT_Y_POST)} the stream "
        f"has RMS {number(round(rms(standardised(total)), 4))} afterwards in post-norm and "
        f"{number(rms(total))} in pre-norm."
    )


# ---------------------------------------------------------------------------------- gradients


@corrects(
    claim="Because each sub-layer of pre-norm reads numbers of mean 0 and standard deviation 1, "
    "the gradients become neither too large nor too small.",
    says="“a mean of 0 and a standard deviation of 1, which ensures that the gradients do not "
    "become too large or too small as they flow through the layers”",
    why="The sub-layers read normalised numbers with or without the last norm, the one before the "
    "output. Without it the gradients grow with depth. With it they do not, because on the way "
    "back this norm divides them by the RMS of the stream.",
)
def the_last_norm_divides() -> str:
    """First block's gradient in a deep stack over that in 2 blocks, with a last norm or not."""
    texts = []
    for last_norm, name in ((False, "without"), (True, "with")):
        grown = [
            _gradient(DEEP, seed, last_norm=last_norm) / _gradient(2, seed, last_norm=last_norm)
            for seed in range(5)
        ]
        texts.append(f"{_between(grown)} {name} the last norm")
    return (
        f"From 2 pre-norm blocks to {DEEP} the gradient of the first block's weights changes by a "
        f"factor {'; '.join(texts)} (five draws)."
    )
