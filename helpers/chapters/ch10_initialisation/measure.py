"""Stacks and small GPTs by how they are started, untrained and after 300 steps on the tales.

The parts are trainings over starts and learning rates, five seeds each: ``schemes``, rules for all
weights (seven minutes on one core); ``residual``, what writes into the stream made smaller, in 4
and in 12 blocks (seven minutes); ``no norm``, the schemes without any norm (two minutes);
``embedding`` and ``both tables scaled``, the size of the tables, tied and not (three minutes and
one); ``warm``, starts that hold what counting knows (three minutes). A run keeps its validation
loss and its training losses as means over ``BLOCK`` steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import vmap

from helpers import bigram, corpus, initialise
from helpers.blocks import NORMS, Block
from helpers.chapters import common, stored
from helpers.chapters.common import (
    letters,
    measured_together,
    over_seeds,
    stored_losses,
    trained_together,
)

SEEDS = range(5)
STEPS = 300
BLOCK = 10  # losses are stored as means over so many steps
RATES = (0.001, 0.003, 0.01)
MIDDLE = (0.003,)
DEEP = {"L": 12, "C": 32, "heads": 2}
ROOT = 1 / 8  # 1/√C
LOOKS = (0, 10, 30, 100, 300)
KNOWN = {scheme.name: scheme for scheme in initialise.SCHEMES}
ACTIVATIONS = {"none": lambda x: x, "ReLU": torch.relu, "tanh": torch.tanh}
STARTS = {name: (name, "1") for name in ("LeCun", "Xavier", "He", "torch", "0.02")}
STARTS |= {"Xavier · 1/√(2L)": ("Xavier", "1/√(2L)"), "Xavier, zero start": ("Xavier", "0")}

# Settings, each with the learning rates at which it is trained.
TRAINED: dict[str, tuple] = {
    "schemes": (
        ({"scheme": "torch"}, RATES),
        ({"scheme": "Xavier"}, RATES),
        ({"scheme": "He"}, RATES),
        ({"scheme": "0.02"}, RATES),
        ({"scheme": "Xavier", "embedding": 0.02}, RATES),
        ({"scheme": "0.02", "embedding": 0.02, "residual": "1/√(2L)"}, RATES),
        ({"scheme": "LeCun"}, MIDDLE),
        ({"scheme": "orthogonal"}, MIDDLE),
        ({"scheme": 0.002}, MIDDLE),
        ({"scheme": 0.2}, MIDDLE),
    ),
    "residual": (
        ({"scheme": "Xavier", "residual": "1/√(2L)"}, RATES),
        ({"scheme": "Xavier", "residual": "0"}, RATES),
        ({"scheme": "0.02", "embedding": 0.02}, RATES),
        *(
            ({"scheme": "Xavier", "residual": residual, **DEEP}, RATES[:2])
            for residual in ("1", "1/√(2L)", "0")
        ),
    ),
    "no norm": tuple(
        ({"scheme": scheme, "norm": "none"}, RATES[:2])
        for scheme in ("torch", "Xavier", "He", "0.02")
    ),
    "embedding": (
        ({"embedding": 0.02}, MIDDLE),
        ({"embedding": 0.02, "scales": (50.0, 50.0)}, MIDDLE),
        ({"embedding": 0.02, "table_rate": 0.02}, MIDDLE),
        ({"embedding": 0.02, "residual": "0"}, MIDDLE),
        ({"embedding": 3.0}, MIDDLE),
        ({"table_rate": 0.0}, MIDDLE),
        ({"embedding": ROOT}, MIDDLE),
        ({"embedding": ROOT, "scales": (8.0, 1.0)}, MIDDLE),
        ({"tied": True}, MIDDLE),
        ({"tied": True, "embedding": ROOT}, MIDDLE),
        ({"tied": True, "embedding": ROOT, "scales": (8.0, 1.0)}, MIDDLE),
        ({"tied": True, "embedding": 0.02}, MIDDLE),
    ),
    "both tables scaled": (
        ({"embedding": ROOT, "scales": (8.0, 8.0)}, MIDDLE),
        ({"tied": True, "embedding": ROOT, "scales": (8.0, 8.0)}, MIDDLE),
    ),
    "warm": (
        ({"start": "cold", "when": LOOKS}, RATES[:2]),
        ({"start": "unigram", "when": LOOKS}, RATES[:2]),
        ({"start": "bigram", "residual": "0", "when": LOOKS}, RATES[:2]),
        ({"start": "bigram, no positions", "residual": "0", "when": LOOKS}, RATES[:2]),
        ({"start": "cold", "residual": "0", "when": LOOKS}, MIDDLE),
    ),
}


# --- stacks before training -----------------------------------------------------------------


def factor(residual: str, L: int) -> float:
    """By what the projections that write into the residual stream are multiplied."""
    return {"1": 1.0, "1/√(2L)": initialise.residual_factor(L), "0": 0.0}[residual]


def plain(
    scheme: initialise.Scheme, activation: str, seed: int, depth=24, C=64, samples=64
) -> tuple[list[float], list[float]]:
    """Sizes after each layer, and of each layer's gradient of weights."""
    generator = torch.Generator().manual_seed(seed)
    x_NC, upstream_NC = torch.randn(2, samples, C, generator=generator).double()
    weights = [
        initialise.draw(scheme, C, C, generator).double().requires_grad_() for _ in range(depth)
    ]
    sizes = []
    for W in weights:
        x_NC = ACTIVATIONS[activation](x_NC @ W.T)
        sizes.append(x_NC.detach().square().mean().sqrt().item())
    made_up_loss = (x_NC * upstream_NC).sum() / samples**0.5
    gradients = torch.autograd.grad(made_up_loss, weights)
    return sizes, [g.square().mean().sqrt().item() for g in gradients]


def transformer(
    start: str, norm: str, seed: int, depth=24, C=64, T=16
) -> tuple[list[float], list[float]]:
    """Sizes of the stream after each block, and of its gradient."""
    scheme, residual = STARTS[start]
    blocks = nn.ModuleList(Block(C, 4, norm=norm) for _ in range(depth)).double()
    generator = torch.Generator().manual_seed(seed)
    initialise.initialise(
        blocks, KNOWN[scheme], generator, embedding=1.0, residual=factor(residual, depth)
    )
    x_BTC, upstream_BTC = torch.randn(2, 1, T, C, generator=generator).double()
    sizes = []
    for block in blocks:
        x_BTC = block(x_BTC)
        sizes.append(x_BTC.detach().square().mean().sqrt().item())
    (NORMS[norm](C).double()(x_BTC) * upstream_BTC / T**0.5).sum().backward()
    tables = [
        [w.grad.flatten() for w in block.parameters() if w.ndim == 2 and w.grad is not None]
        for block in blocks
    ]
    return sizes, [torch.cat(table).square().mean().sqrt().item() for table in tables]


# --- a small GPT ----------------------------------------------------------------------------


class TinyGPT(nn.Module):
    """Embedding, positions, L blocks, a last norm, output table."""

    def __init__(self, V, *, C=64, T=32, L=4, heads=4, norm="layer"):
        super().__init__()
        self.token, self.place = nn.Embedding(V, C), nn.Embedding(T, C)
        blocks = [Block(C, heads, norm=norm) for _ in range(L)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = NORMS[norm](C)
        self.head = nn.Linear(C, V)
        self.scales: tuple[float, ...] = (1.0, 1.0)  # of token rows and of position rows

    def forward(self, ids_BT):
        """The logits of the next letter."""
        tokens_BTC = self.scales[0] * self.token(ids_BT)
        places_TC = self.scales[1] * self.place.weight[: ids_BT.shape[1]]
        return self.head(self.norm(self.blocks(tokens_BTC + places_TC)))


def started(
    seed: int,
    *,
    scheme: str | float = "torch",
    embedding=1.0,
    residual="1",
    tied=False,
    scales: Iterable[float] = (1.0, 1.0),
    start="cold",
    **sizes,
) -> TinyGPT:
    """A small GPT of one seed; scheme is a name or a standard deviation for every weight."""
    model = TinyGPT(len(letters().tokenizer), **sizes)
    model.scales = tuple(scales)
    if tied:
        model.head.weight = model.token.weight
    rule = KNOWN[scheme] if isinstance(scheme, str) else initialise.fixed(scheme)
    generator = torch.Generator().manual_seed(seed)
    smaller = factor(residual, len(model.blocks))
    initialise.initialise(model, rule, generator, embedding=embedding, residual=smaller)
    if start != "cold":
        warm(model, start, generator)
    return model


@cache
def counted() -> tuple[Tensor, Tensor]:
    """How often each letter occurs, and the smoothed bigram table, counted in the training text."""
    tokenizer, train_ids, _ = letters()
    V = len(tokenizer)
    unigram_V = (torch.bincount(train_ids, minlength=V) + 1.0) / (len(train_ids) + V)
    counts_VV = bigram.count_bigrams(train_ids, V)
    return unigram_V, torch.tensor(bigram.smoothed(counts_VV)).float()


@torch.no_grad()
def warm(model: TinyGPT, start: str, generator: torch.Generator) -> None:
    """Put what counting knows into a model: "unigram", "bigram", or "bigram, no positions"."""
    unigram_V, bigram_VV = counted()
    model.head.weight.zero_()
    model.head.bias.copy_(unigram_V.log())
    if start == "unigram":
        return
    model.head.bias.zero_()
    V, C = model.token.weight.shape
    rows_CV = torch.randn(C, V, generator=generator)
    rows_CV = rows_CV - rows_CV.mean(dim=0)  # mean 0, as the norm wants it
    rows_VC = torch.linalg.qr(rows_CV)[0].T * C**0.5  # at right angles, entries of size 1
    model.token.weight.copy_(rows_VC)
    model.head.weight.copy_(bigram_VV.log().T @ rows_VC / C)
    model.place.weight.mul_(0.0 if start == "bigram, no positions" else 0.3)


@cache
def every_window() -> list[tuple[Tensor, Tensor]]:
    """The validation text in windows of 32 letters, 66 at a time."""
    return list(corpus.windows(letters().validation, 32, batch_size=66))[:15]


def trained(
    *,
    lr=0.003,
    seeds: Iterable[int] = SEEDS,
    steps=STEPS,
    table_rate=1.0,
    when: Iterable[int] = (),
    **start,
) -> dict:
    """Several seeds side by side: losses of every step, and validation losses at some steps."""
    models = [started(seed, **start) for seed in seeds]
    tied = models[0].head.weight is models[0].token.weight

    def validation(weights, one_loss):
        with torch.no_grad():
            every = vmap(one_loss, in_dims=(0, None, None))
            return torch.stack([every(weights, x, y) for x, y in every_window()]).mean(dim=0)

    def groups(weights):
        is_table = {name: name.startswith(("token", "place")) for name in weights}
        tables = [w for name, w in weights.items() if is_table[name]]
        others = [w for name, w in weights.items() if not is_table[name]]
        return [{"params": tables, "lr": table_rate * lr}, {"params": others}]

    run = trained_together(
        models,
        seeds,
        lr=lr,
        steps=steps,
        tied={"head.weight": "token.weight"} if tied else {},
        groups=groups,
        looks=when,
        look=validation,
    )
    ends = [
        {name: w[at].detach() for name, w in run["weights"].items()} for at in range(len(models))
    ]
    return {"losses": run["losses"], "validation": run["looks"], "weights": ends}


# --- the parts ------------------------------------------------------------------------------


def settings(part: str) -> list[dict]:
    """Each combination of a part that is trained."""
    return [setting | {"lr": lr} for setting, rates in TRAINED[part] for lr in rates]


def all_seeds(seeds: list[int], when: Iterable[int] = (STEPS,), **setting) -> list[dict]:
    """What is kept of the trainings of one setting; ``validation`` is None where one diverged."""
    run, runs = trained(seeds=seeds, when=when, **setting), []
    for at, losses_K in enumerate(run["losses"]):
        looks = {str(step): found_S[at].item() for step, found_S in run["validation"].items()}
        kept = stored_losses(losses_K, BLOCK)
        end = None if None in kept["losses"] else round(looks[str(STEPS)], 4)
        result = {"first": kept["first"], "validation": end, "losses": kept["losses"]}
        if len(looks) > 1:
            result["looks"] = {step: round(x, 4) for step, x in looks.items()}
        runs.append(result)
    return runs


def measure(part: str) -> dict:
    """Train everything in a part."""
    return measured_together(all_seeds, settings(part), SEEDS, block=BLOCK)


PARTS = {part: partial(measure, part) for part in TRAINED}


# --- what is stored -------------------------------------------------------------------------

REFERENCE = {
    "scheme": "torch",
    "embedding": 1.0,
    "residual": "1",
    "tied": False,
    "scales": [1.0, 1.0],
    "start": "cold",
    "norm": "layer",
    "L": 4,
    "table_rate": 1.0,
}


def stored_runs(part: str, lr=0.003, **wanted) -> list[dict]:
    """The five stored runs of one setting; what neither it nor the stored one says is REFERENCE."""
    filled = {"settings": [REFERENCE | setting for setting in stored(10)[part]["settings"]]}
    return common.runs(filled, **REFERENCE | wanted, lr=lr)


def final(part: str, **wanted: object) -> np.ndarray:
    """Validation losses after 300 steps, one a seed; nan where training diverged."""
    return over_seeds(stored_runs(part, **wanted))
