"""Stacks with and without residual and norm, before training; models of the tales.

The parts: ``depth``, stream and gradient through up to 96 untrained blocks (a minute on one core);
``ladder``, models of the tales with and without residual, feed-forward and norm, 2000 steps (six
minutes); ``rates``, two seeds of the same at other learning rates (four minutes). Chapter 11 and
the front page read rungs from ``ladder``.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.chapters.lab import (
    Part,
    TinyGPT,
    counted_losses,
    differing,
    extent,
    fmt,
    parts_of,
    rms,
    significant,
    spread,
    table,
    trainer,
    validation_loss,
)
from helpers.minigpt import CausalSelfAttention, LayerNorm
from helpers.variants import Block, FeedForward
from helpers.worked import Step, matrix, number

DEPTHS = (1, 2, 4, 8, 12, 24, 48, 96)
SCHEMES = ("neither", "norm alone", "residual alone", "residual and norm", "norm first")
FOUR = SCHEMES[:4]
MODELS = (
    "attention alone",
    "with its residual",
    "with feed-forward",
    "with norms",
    # controls
    "feed-forward without a non-linearity",
    "two more attentions instead",
)


# --- stacks before training -----------------------------------------------------------------


def stack(L: int, scheme: str, *, seed: int, start="torch") -> list[nn.Module]:
    """L blocks with torch's initial weights; "kept": scaled so that layers keep the RMS."""
    kind = {
        "neither": {"residual": False, "norm": "none"},
        "norm alone": {"residual": False, "norm": "layer"},
        "residual alone": {"residual": True, "norm": "none"},
        "residual and norm": {"residual": True, "norm": "layer"},
        "norm first": {"residual": True, "norm": "layer", "placement": "pre"},
    }[scheme]
    settings: dict[str, Any] = {"placement": "post", "activation": "relu", **kind}
    torch.manual_seed(seed)
    blocks: list[nn.Module] = [Block(32, 4, **settings).double() for _ in range(L)]
    if start == "kept":
        for block in blocks:
            keep_sizes(block)
    return blocks


@torch.no_grad()
def keep_sizes(block: nn.Module) -> None:
    """A linear layer with n inputs gets variance 1/n, or 2/n after a ReLU."""
    for name, part in block.named_modules():
        if isinstance(part, nn.Linear):  # torch: 1/(3n)
            part.weight *= 6**0.5 if name.endswith("down") else 3**0.5


def through(blocks: list[nn.Module], *, seed: int) -> list[Tensor]:
    """The stream before the first block and after each: L + 1 tensors."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 16, 32, generator=generator, dtype=torch.float64)
    stream = [x.requires_grad_()]
    for block in blocks:
        stream.append(block(stream[-1]))
    return stream


def backward(stream: list[Tensor], *, seed: int) -> tuple[Tensor, ...]:
    """Gradients at each level if random ones of RMS 1 arrive at the top."""
    generator = torch.Generator().manual_seed(1000 + seed)
    end = stream[-1]
    upstream = torch.randn(end.shape, generator=generator, dtype=end.dtype)
    return torch.autograd.grad(end, stream, upstream, retain_graph=True)


def alone(part: str, L: int) -> list[nn.Module]:
    """L attentions or L networks, each with a norm and without a residual connection."""
    made = {
        "attention": lambda: CausalSelfAttention(32, 4, 0.0),
        "feed-forward": lambda: FeedForward(32, "relu"),
    }[part]
    return [nn.Sequential(made(), LayerNorm(32)).double() for _ in range(L)]


# --- models of the tales -------------------------------------------------------------------


class AddNorm(nn.Module):
    """norm(x + f(x)), or without a norm the sum."""

    def __init__(self, sublayer: nn.Module, norm: nn.Module | None = None):
        super().__init__()
        self.sublayer, self.norm = sublayer, norm or nn.Identity()

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        return self.norm(x_BTC + self.sublayer(x_BTC))


def blocks_of(model: str, C=64) -> list[nn.Module]:
    """What is between embedding and head of one of the models."""

    def attention():
        return CausalSelfAttention(C, 1, 0.0)

    def feed_forward(activation="relu"):
        return FeedForward(C, activation)

    return {
        "attention alone": lambda: [attention()],
        "with its residual": lambda: [AddNorm(attention())],
        "with feed-forward": lambda: [AddNorm(attention()), AddNorm(feed_forward())],
        "with norms": lambda: [
            AddNorm(attention(), LayerNorm(C)),
            AddNorm(feed_forward(), LayerNorm(C)),
        ],
        # controls
        "feed-forward without a non-linearity": lambda: [
            AddNorm(attention()),
            AddNorm(feed_forward("none")),
        ],
        "two more attentions instead": lambda: [AddNorm(attention()) for _ in range(3)],
    }[model]()


def in_training(model: str, *, lr=0.003, seed=0) -> tuple[TinyGPT, Callable]:
    """An untrained model, and what trains it further, as in chapter 06."""
    torch.manual_seed(seed)
    blocks = blocks_of(model)
    lm = TinyGPT(lambda: blocks, C=64, std=0.5**0.5)  # character plus position has variance 1
    return lm, trainer(lm, seed, lr=lr)


def taken_out(lm: TinyGPT) -> float:
    """Validation loss when the feed-forward is left out after training."""
    without = copy.deepcopy(lm)
    del without.blocks[1:]
    return validation_loss(without)


# --- by hand, and in torch ------------------------------------------------------------------


def in_lines(*parts: str) -> str:
    """A step's working on lines of their own, each of which fits on a telephone."""
    lines = r" \\ &".join(parts)
    return rf"\begin{{aligned}}[t] & {lines} \end{{aligned}}"


def add_norm_steps(x, y, k: int, out: str, gamma, beta) -> list[Step]:
    """The steps of norm(x + y) without ε, for the k-th sub-layer."""
    s = np.asarray(x) + np.asarray(y)
    away, variance = s - s.mean(), s.var()
    squares = " + ".join(number(square) for square in away**2)
    total = " + ".join(f"({number(n)})" if n < 0 else number(n) for n in s)
    normalised = away / variance**0.5
    over_root = rf"\frac{{{matrix(away)}}}{{\sqrt{{{number(variance)}}}}}"
    scaled = gamma * normalised + beta
    return [
        Step(f"x_{k} + y_{k}", in_lines(matrix(x), f"+ {matrix(y)}", f"= {matrix(s)}"), s),
        Step(rf"\mu_{k}", rf"\frac{{{total}}}{{{len(s)}}} = {number(s.mean())}", s.mean()),
        Step(rf"\sigma_{k}^2", rf"\frac{{{squares}}}{{{len(s)}}} = {number(variance)}", variance),
        Step(f"n_{k}", in_lines(over_root, f"= {matrix(normalised)}"), normalised),
        Step(out, rf"\gamma \odot n_{k} + \beta = {matrix(scaled)}", scaled),
    ]


def network_steps(x, W_1, W_2, out: str) -> list[Step]:
    """The steps of a feed-forward network without biases."""
    first = np.asarray(x) @ W_1
    hidden = F.gelu(torch.tensor(first)).numpy()
    gelu, y = rf"\text{{GELU}}\,{matrix(first)}", hidden @ W_2
    return [
        Step("x_2 W_1", in_lines(matrix(x), rf"\cdot {matrix(W_1)}", f"= {matrix(first)}"), first),
        Step("h", in_lines(gelu, f"= {matrix(hidden)}"), hidden),
        Step(out, in_lines(matrix(hidden), rf"\cdot {matrix(W_2)}", f"= {matrix(y)}"), y),
    ]


def in_torch(block: nn.Module) -> nn.TransformerEncoderLayer:
    """Torch's own block with the weights of ours, in float64."""
    attention, network = block.attention, block.feed_forward
    C, hidden = network.up.in_features, network.up.out_features
    more: dict[str, Any] = {"dropout": 0.0, "activation": "gelu", "batch_first": True}
    theirs = nn.TransformerEncoderLayer(C, attention.H, hidden, **more).double()
    parts = (attention.qkv, attention.out, network.up, network.down, block.norm_1, block.norm_2)
    weights = [weight for part in parts for weight in part.state_dict().values()]
    theirs.load_state_dict(dict(zip(theirs.state_dict(), weights, strict=True)))
    return theirs


# --- the parts ------------------------------------------------------------------------------


def one_stack(seed: int, *, start: str, scheme: str, L: int) -> dict:
    """The gradient at each level; of the deepest stack also the stream."""
    stream = through(stack(L, scheme, seed=seed, start=start), seed=seed)
    run = {"gradients": significant(map(rms, backward(stream, seed=seed)))}
    if max(DEPTHS) == L:  # shallower stacks are the beginning of this one
        run["sizes"] = significant(map(rms, stream))
        run["differing"] = significant(map(differing, stream))
    return run


def one_model(seed: int, *, model: str, lr: float, steps: int) -> dict:
    """Validation loss at the end, half way, and with the feed-forward taken out in the end."""
    lm, go_on = in_training(model, lr=lr, seed=seed)
    go_on(steps=steps // 2)
    half = validation_loss(lm)
    go_on(steps=steps // 2)
    run: dict = {"validation": round(validation_loss(lm), 4), "half way": round(half, 4)}
    if model == "with feed-forward":
        run["taken out"] = round(taken_out(lm), 4)
    return run


starts = [("torch", scheme) for scheme in SCHEMES] + [("kept", scheme) for scheme in FOUR]
PARTS = parts_of(
    8,
    {
        "depth": Part(
            run=one_stack,
            settings=[
                {"start": start, "scheme": scheme, "L": L}
                for (start, scheme), L in itertools.product(starts, DEPTHS)
            ],
            seeds=range(5),
        ),
        "ladder": Part(
            run=one_model,
            settings=[{"model": model, "lr": 0.003, "steps": 2000} for model in MODELS],
            seeds=range(5),
        ),
        "rates": Part(
            run=one_model,
            settings=[
                {"model": model, "lr": lr, "steps": 2000}
                for lr in (0.001, 0.01)
                for model in MODELS
            ],
            seeds=range(2),
        ),
    },
)


# --- what is stored -------------------------------------------------------------------------


def at_bottom(scheme: str, L: int, start="torch") -> list[float]:
    """The stored sizes of the gradient below L blocks, one a seed."""
    return [run["gradients"][0] for run in PARTS["depth"].runs(start=start, scheme=scheme, L=L)]


def at_level(key: str, scheme: str, L: int, start="torch") -> list[float]:
    """What is stored of the stream ("sizes", "differing") after L of 96 blocks, one a seed."""
    return [run[key][L] for run in PARTS["depth"].runs(start=start, scheme=scheme, L=96)]


def final(model: str) -> np.ndarray:
    """The stored validation losses of a model after 2000 steps, one a seed."""
    return PARTS["ladder"].final(model=model)


def levels(scheme: str, start: str, L: int) -> dict[str, np.ndarray]:
    """The stored stream and gradients of L blocks from the bottom to the top, a row a seed."""
    deepest = PARTS["depth"].runs(start=start, scheme=scheme, L=96)  # L blocks are its beginning
    mine = PARTS["depth"].runs(start=start, scheme=scheme, L=L)
    return {
        "RMS of the stream": np.array([run["sizes"] for run in deepest])[:, : L + 1],
        "RMS of the gradient": np.array([run["gradients"] for run in mine]),
        "how different the tokens are": np.array([run["differing"] for run in deepest])[:, : L + 1],
    }


def in_words(blocks: int) -> str:
    """The gradient at the input of so many blocks, a median for each of the four."""
    said = (f"{fmt(np.median(at_bottom(scheme, blocks)))} with {scheme}" for scheme in FOUR)
    return f"The gradient at the input of {blocks} has RMS {', '.join(said)}: medians of five."


def is_bounded(scheme: str) -> bool:
    """Whether stream and gradient stay within a factor of 1000 of 1 in all that is stored."""
    ends = [
        end
        for start, L in itertools.product(("torch", "kept"), DEPTHS)
        for end in at_bottom(scheme, L, start) + at_level("sizes", scheme, L, start)
    ]
    return min(ends) > 1e-3 and max(ends) < 1e3


def shares(values) -> str:
    """As `extent`; what float64 cannot tell from 0 is not shown as a number."""
    return "less than 10⁻²⁰" if max(values) < 1e-20 else extent(values)


# --- tables ---------------------------------------------------------------------------------


def without_sums() -> dict[str, tuple[list[float], list[float]]]:
    """24 sub-layers without residual: gradient at the input, difference of tokens at the top.

    The blocks are those that are stored; stacks of one kind are measured here.
    """
    found = {}
    for named, part in (("attentions", "attention"), ("networks", "feed-forward")):
        streams = []
        for seed in PARTS["depth"].seeds:
            torch.manual_seed(seed)
            streams.append(through(alone(part, 24), seed=seed))
        found[f"norm, 24 {named}"] = (
            [rms(backward(s, seed=seed)[0]) for seed, s in enumerate(streams)],
            [differing(s[-1]) for s in streams],
        )
    for said, scheme, start in (
        ("norm, 12 attentions and 12 networks in turn", "norm alone", "torch"),
        ("no norm, in turn", "neither", "torch"),
        ("no norm, in turn, larger initial weights", "neither", "kept"),
    ):
        found[said] = at_bottom(scheme, 12, start), at_level("differing", scheme, 12, start)
    return found


def less(model: str, other: str) -> np.ndarray:
    """Stored losses of a model less those of another, seed by seed."""
    return final(model) - final(other)


def parameters(model: str) -> int:
    """How many parameters a model has."""
    return sum(p.numel() for p in in_training(model)[0].parameters())


def added(model: str) -> str:
    """How many parameters a model has more than attention with its residual."""
    return f"{parameters(model) - parameters(MODELS[1]):,}"


def ladder_table() -> str:
    """Each model's parameters and its loss, at 0.003 and at the other rates."""
    rows = []
    for model in MODELS:
        rates = (PARTS["rates"].final(model=model, lr=lr) for lr in (0.001, 0.01))
        others = [f"{losses.mean():.2f}" for losses in rates]
        behind = "0" if model == MODELS[1] else spread(less(model, MODELS[1]), 3, signed=True)
        rows.append((model, f"{parameters(model):,}", spread(final(model), 3), behind, *others))
    return table(
        "model|parameters|validation loss|difference from “with its residual”|rate 0.001|rate 0.01",
        rows,
    )


def rungs() -> dict[str, float]:
    """The ladder so far: tables of characters and of pairs, then models."""
    names = ("attention alone", "attention with its residual", *MODELS[2:4])
    models = {n: final(m).mean() for n, m in zip(names, MODELS, strict=False)}
    return counted_losses() | models
