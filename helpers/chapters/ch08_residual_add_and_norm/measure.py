"""Stacks with and without residual and norm, before training and trained; readers of the tales.

The parts: ``depth``, stream and gradient through up to 96 untrained blocks (a minute on one core);
``copying``, the share of letters that stacks learn to say again (a quarter of an hour); ``ladder``,
readers of the tales with and without residual, feed-forward and norm, 2000 steps, and what their
hidden neurons tell (seven minutes); ``rates``, two seeds of the same at other learning rates (four
minutes). Chapters 11 and 12 read rungs from ``ladder``.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import corpus
from helpers.attention import SelfAttention
from helpers.bigram import loss
from helpers.blocks import AddNorm, Block, FeedForward
from helpers.chapters import common, stored
from helpers.chapters.common import (
    differing,
    extent,
    letters,
    measured,
    over_seeds,
    significant,
    size,
)
from helpers.norms import LayerNorm
from helpers.training import evaluate, train

SEEDS = {
    "depth": range(5),
    "copying": range(5),
    "ladder": range(5),
    "rates": range(2),  # only whether another learning rate does better
}
DEPTHS = (1, 2, 4, 8, 12, 24, 48, 96)
SCHEMES = ("neither", "norm alone", "residual alone", "residual and norm", "norm first")
FOUR = SCHEMES[:4]
WHOLE = ("residual and norm", "residual alone", "norm alone", "neither")
PARTIAL = (
    "residual round attention only",
    "residual round feed-forward only",
    "norm alone, no attention",
    "norm alone, no feed-forward",
)
MODELS = (
    "attention alone",
    "with its residual",
    "with feed-forward",
    "with norms",
    # controls
    "feed-forward without a bend",
    "two more attentions instead",
    "feed-forward, no residuals",
    "feed-forward, no attention",
)


# --- stacks before training -----------------------------------------------------------------


def stack(L: int, scheme: str, *, seed: int, start="torch", C=32, heads=4) -> list[nn.Module]:
    """L blocks as torch starts them; "kept": maps scaled to keep sizes."""
    kind = {
        "neither": {"residual": False, "norm": "none"},
        "norm alone": {"residual": False, "norm": "layer"},
        "residual alone": {"residual": True, "norm": "none"},
        "residual and norm": {"residual": True, "norm": "layer"},
        "norm first": {"residual": True, "norm": "layer", "placement": "pre"},
    }[scheme]
    settings: dict[str, Any] = {"placement": "post", "activation": "relu", **kind}
    torch.manual_seed(seed)
    blocks: list[nn.Module] = [Block(C, heads, **settings).double() for _ in range(L)]
    if start == "kept":
        for block in blocks:
            keep_sizes(block)
    return blocks


@torch.no_grad()
def keep_sizes(block: nn.Module) -> None:
    """Draw a map with n inputs: variance 1/n, or 2/n after a ReLU."""
    for name, part in block.named_modules():
        if isinstance(part, nn.Linear):  # torch: 1/(3n)
            part.weight *= 6**0.5 if name.endswith("down") else 3**0.5


def through(blocks: list[nn.Module], *, seed: int, C=32, T=16) -> list[Tensor]:
    """The stream before the first block and after each: L + 1 tensors."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, T, C, generator=generator, dtype=torch.float64)
    stream = [x.requires_grad_()]
    for block in blocks:
        stream.append(block(stream[-1]))
    return stream


def backward(stream: list[Tensor], *, seed: int) -> tuple[Tensor, ...]:
    """Gradients at each level if random ones of size 1 come in on top."""
    generator = torch.Generator().manual_seed(1000 + seed)
    end = stream[-1]
    upstream = torch.randn(end.shape, generator=generator, dtype=end.dtype)
    return torch.autograd.grad(end, stream, upstream, retain_graph=True)


# --- copying --------------------------------------------------------------------------------


class Reader(nn.Module):
    """Embedding and positions, whatever layers are given, output table."""

    def __init__(self, V, layers, *, C, T):
        super().__init__()
        self.token, self.place = nn.Embedding(V, C), nn.Embedding(T, C)
        for table in (self.token, self.place):  # their sum has variance 1
            nn.init.normal_(table.weight, std=0.5**0.5)
        self.layers = nn.Sequential(*layers)
        self.output = nn.Linear(C, V)

    def forward(self, ids_BT):
        """The logits of the letters."""
        T = ids_BT.shape[1]
        x_BTC = self.token(ids_BT) + self.place.weight[:T]
        return self.output(self.layers(x_BTC))


def layers_that_copy(stack: str, L: int, *, C=32, heads=4) -> list[nn.Module]:
    """The sub-layers of L layers; `around` names those that get a residual."""
    both = ("attention", "feed-forward")
    norm, around, parts = {
        "residual and norm": (True, both, both),
        "residual alone": (False, both, both),
        "norm alone": (True, (), both),
        "neither": (False, (), both),
        "residual round attention only": (True, both[:1], both),
        "residual round feed-forward only": (True, both[1:], both),
        "norm alone, no attention": (True, (), both[1:]),
        "norm alone, no feed-forward": (True, (), both[:1]),
    }[stack]
    made = {
        "attention": lambda: SelfAttention(C, heads),
        "feed-forward": lambda: FeedForward(C, activation="relu"),
    }
    return [
        AddNorm(
            made[part](),
            LayerNorm(C) if norm else nn.Identity(),
            placement="post",
            residual=part in around,
        )
        for _ in range(L)
        for part in parts
    ]


def copied(stack: str, *, L: int, lr=0.001, start="torch", seed=0, steps=300) -> dict:
    """Share of letters said again rightly after some training."""
    V, C, T = 16, 32, 8
    torch.manual_seed(seed)
    reader = Reader(V, layers_that_copy(stack, L), C=C, T=T)
    if start == "kept":
        keep_sizes(reader.layers)
    generator = torch.Generator().manual_seed(seed)

    def some_letters(B):
        ids_BT = torch.randint(V, (B, T), generator=generator)
        return ids_BT, ids_BT  # the answer is the question

    batches = (some_letters(16) for _ in range(steps))
    adam = torch.optim.Adam(reader.parameters(), lr=lr)
    records = train(reader, loss, batches, steps=steps, optimizer=adam)
    ids_BT, _ = some_letters(256)
    with torch.no_grad():
        right = (reader(ids_BT).argmax(dim=-1) == ids_BT).float().mean()
    return {"right": right.item(), "losses": [r.loss for r in records], "reader": reader}


# --- readers of the tales -------------------------------------------------------------------


def layers_of(model: str, C=64) -> list[nn.Module]:
    """What stands between the embedding and the output table of one of the models."""

    def attention():
        return SelfAttention(C)  # causal, one head

    def feed_forward(activation="relu"):
        return FeedForward(C, activation=activation)

    def kept(part, norm=None):
        """The sum x + f(x), or norm(x + f(x))."""
        return AddNorm(part, norm or nn.Identity(), placement="post")

    return {
        "attention alone": lambda: [attention()],
        "with its residual": lambda: [kept(attention())],
        "with feed-forward": lambda: [kept(attention()), kept(feed_forward())],
        "with norms": lambda: [
            kept(attention(), LayerNorm(C)),
            kept(feed_forward(), LayerNorm(C)),
        ],
        # controls
        "feed-forward without a bend": lambda: [
            kept(attention()),
            kept(feed_forward(activation="none")),
        ],
        "two more attentions instead": lambda: [kept(attention()) for _ in range(3)],
        "feed-forward, no residuals": lambda: [attention(), feed_forward()],
        "feed-forward, no attention": lambda: [kept(feed_forward())],
    }[model]()


def in_training(
    model: str, *, lr=0.003, seed=0, dtype: torch.dtype = torch.float32
) -> tuple[Reader, Callable]:
    """A reader as it starts, and what trains it further, with Adam.

    As in chapter 06, a step takes 16 windows of 32 letters.
    """
    tokenizer, train_ids, _ = letters()
    torch.manual_seed(seed)
    reader = Reader(len(tokenizer), layers_of(model), C=64, T=32).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    batches = corpus.batches(train_ids, batch_size=16, context=32, generator=generator)
    adam = torch.optim.Adam(reader.parameters(), lr=lr)
    return reader, partial(train, reader, loss, batches, optimizer=adam)


def on_validation(reader: nn.Module) -> float:
    """Mean loss on the validation text, in windows of 32 letters."""
    return evaluate(reader, loss, corpus.windows(letters().validation, 32))


# --- their hidden neurons -------------------------------------------------------------------


@cache
def some_windows() -> tuple[Tensor, Tensor]:
    """200 windows of the validation text, 32 letters each, and the letter after each letter."""
    ids, many = letters().validation, 200 * 32
    return ids[:many].view(200, 32), ids[1 : many + 1].view(200, 32)


@torch.no_grad()
def looked_into(reader: Reader, ids_BT: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The stream before attention and after it, and what each hidden neuron gives."""
    x_BTC = reader.token(ids_BT) + reader.place.weight[: ids_BT.shape[1]]
    read_BTC = reader.layers[0](x_BTC)
    net = reader.layers[1].sublayer
    return x_BTC, read_BTC, net.activation(net.up(read_BTC))


def taken_out(reader: Reader) -> float:
    """Validation loss when the feed-forward is left out after training."""
    without = copy.deepcopy(reader)
    del without.layers[1:]
    return on_validation(without)


@torch.no_grad()
def told_by_letter(fired_BTN: Tensor, ids_BT: Tensor) -> Tensor:
    """Per neuron, the share of its variance that the letter under it explains."""
    fired, ids = fired_BTN.flatten(0, 1), ids_BT.flatten()
    total = (fired - fired.mean(dim=0)).square().sum(dim=0)
    within = sum(
        (fired[ids == i] - fired[ids == i].mean(dim=0)).square().sum(dim=0) for i in ids.unique()
    )
    return 1 - within / total


@torch.no_grad()
def promised_and_came(
    reader: Reader, fired_BTN: Tensor, targets_BT: Tensor
) -> tuple[Tensor, Tensor]:
    """Per neuron, the logits that it adds to, and which letters came when it fired."""
    to_logits = reader.output.weight @ reader.layers[1].sublayer.down.weight
    fired, ids = fired_BTN.flatten(0, 1), targets_BT.flatten()
    came = F.one_hot(ids, reader.output.out_features).to(fired.dtype)
    share_NV = fired.T @ came / fired.sum(dim=0)[:, None].clamp(min=1e-9)
    return to_logits.T, share_NV - came.mean(dim=0)


def correlated(a_NV: Tensor, b_NV: Tensor) -> Tensor:
    """Per neuron, the correlation of two rows."""
    a, b = (rows - rows.mean(dim=1, keepdim=True) for rows in (a_NV, b_NV))
    return F.cosine_similarity(a, b, dim=1)


def of_neurons(reader: Reader) -> dict[str, float]:
    """Medians over the neurons of one reader."""
    windows, what_came = some_windows()
    fired = looked_into(reader, windows)[2]
    promised, came = promised_and_came(reader, fired, what_came)
    return {
        "told by letter": told_by_letter(fired, windows).median().item(),
        "promise kept": correlated(promised, came).median().item(),
        "of a neighbour": correlated(promised.roll(1, 0), came).median().item(),
    }


# --- the parts ------------------------------------------------------------------------------


def settings(part: str) -> list[dict]:
    """What is measured in a part."""
    if part == "depth":
        starts = [("torch", scheme) for scheme in SCHEMES] + [("kept", scheme) for scheme in FOUR]
        return [
            {"start": start, "scheme": scheme, "L": L}
            for (start, scheme), L in itertools.product(starts, DEPTHS)
        ]
    if part == "copying":
        runs = [(stack, L, 0.001, "torch") for stack, L in itertools.product(WHOLE, (1, 2, 4, 8))]
        runs += [("norm alone", L, lr, "torch") for L in (4, 8) for lr in (0.0003, 0.003)]
        runs += [("neither", 8, lr, "torch") for lr in (0.0003, 0.003)]
        runs += [("neither", 8, 0.001, "kept")]
        runs += [(stack, 8, 0.001, "torch") for stack in PARTIAL]
        runs += [(stack, 16, 0.001, "torch") for stack in PARTIAL[2:]]  # as many sub-layers
        found = [
            {"stack": stack, "L": L, "lr": lr, "start": start, "steps": 300}
            for stack, L, lr, start in runs
        ]
        patient = {"stack": "norm alone", "L": 8, "lr": 0.0003, "start": "torch", "steps": 3000}
        return [*found, patient]
    rates = (0.003,) if part == "ladder" else (0.001, 0.01)
    models = MODELS if part == "ladder" else MODELS[:6]
    return [{"model": model, "lr": lr, "steps": 2000} for lr in rates for model in models]


def one_stack(seed: int, *, start: str, scheme: str, L: int) -> dict:
    """The gradient that reaches the input, as a power of ten; then all, level by level."""
    stream = through(stack(L, scheme, seed=seed, start=start), seed=seed)
    gradients = significant(map(size, backward(stream, seed=seed)))
    run = {"log10 gradient": round(math.log10(gradients[0]), 2), "gradients": gradients}
    if max(DEPTHS) == L:  # shallower stacks are the beginning of this one
        run["sizes"] = significant(map(size, stream))
        run["differing"] = significant(map(differing, stream))
    return run


def one_copy(seed: int, **setting) -> dict:
    """The share of letters said again rightly."""
    return {"right": round(copied(seed=seed, **setting)["right"], 4)}


def one_reader(seed: int, *, model: str, lr: float, steps: int) -> dict:
    """Validation loss at the end and half way, and what else a feed-forward tells."""
    reader, go_on = in_training(model, lr=lr, seed=seed)
    untrained = copy.deepcopy(reader)
    go_on(steps=steps // 2)
    half = on_validation(reader)
    go_on(steps=steps // 2)
    run: dict = {"validation": round(on_validation(reader), 4), "half way": round(half, 4)}
    if model == "with feed-forward":
        run["taken out"] = round(taken_out(reader), 4)
        for label, one in (("trained", reader), ("untrained", untrained)):
            run[label] = {k: round(v, 3) for k, v in of_neurons(one).items()}
    return run


ONE: dict[str, Callable[..., dict]] = {
    "depth": one_stack,
    "copying": one_copy,
    "ladder": one_reader,
    "rates": one_reader,
}
PARTS = {part: partial(measured, one, settings(part), SEEDS[part]) for part, one in ONE.items()}


# --- what is stored -------------------------------------------------------------------------


def runs(part: str, **wanted) -> list[dict]:
    """The stored runs of one setting of a part, a run a seed."""
    return common.runs(stored(8)[part], **wanted)


def at_bottom(scheme: str, L: int, start="torch") -> list[float]:
    """The stored sizes of the gradient below L blocks, one a seed."""
    return [run["gradients"][0] for run in runs("depth", start=start, scheme=scheme, L=L)]


def at_level(key: str, scheme: str, L: int, start="torch") -> list[float]:
    """What is stored of the stream ("sizes", "differing") after L of 96 blocks, one a seed."""
    return [run[key][L] for run in runs("depth", start=start, scheme=scheme, L=96)]


def said_again(stack: str, L: int, lr=0.001, start="torch", steps=300) -> np.ndarray:
    """The stored shares of letters said again rightly, one a seed."""
    found = runs("copying", stack=stack, L=L, lr=lr, start=start, steps=steps)
    return over_seeds(found, "right")


def final(model: str, lr=0.003, part="ladder") -> np.ndarray:
    """The stored validation losses of a model after 2000 steps, one a seed."""
    return over_seeds(runs(part, model=model, lr=lr))


def rung_of_chapter_06() -> np.ndarray:
    """The stored losses of attention alone as chapter 06 trained it, one a seed."""
    return over_seeds(common.runs(stored(6)["long"], divisor="√D", lr=0.003, start=0.125))


def shares(values) -> str:
    """As `extent`; what float64 cannot tell from 0 is not shown as a number."""
    return "less than 10⁻²⁰" if max(values) < 1e-20 else extent(values)


def per_cent(values: np.ndarray) -> str:
    """Mean, smallest and largest of some shares."""
    return f"{values.mean():.0%} ({values.min():.0%} … {values.max():.0%})"
