"""Stacks and small GPTs by how they are started, untrained and after some hundred steps.

The parts: ``layers``, plain layers trained for 60 steps; ``stacks``, sizes and gradients of
untrained blocks (each a minute or two on one core). The others are trainings of a small GPT on the
tales over starts and learning rates, half a minute a setting: ``schemes``, rules for all weights;
``no norm``, the same without any norm; ``embedding``, the size of the tables;
``eight``, starts that end close together, with eight seeds, in 4 and in 12 blocks; ``elsewhere``,
twice the width, and 1000 steps. A run keeps its validation loss and its training losses as means
over ``BLOCK`` steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from helpers import corpus, initialise, minigpt
from helpers.bigram import loss
from helpers.chapters.lab import (
    Part,
    TinyGPT,
    characters,
    evaluate,
    fmt,
    gmean,
    parts_of,
    significant,
    spread,
    stored_losses,
    table,
    trainer,
)
from helpers.variants import NORMS, Block

EIGHT, THREE = range(8), range(3)
STEPS = 300
BLOCK = 10  # losses are stored as means over so many steps
RATES = (0.001, 0.003, 0.01)
DEEP = {"L": 12, "C": 32, "heads": 2}
ROOT = 1 / 8  # 1/√C
DEPTHS = (6, 24)
NETS = {"plain layers, ReLU": "", "blocks without norm": "none", "pre-norm blocks": "layer"}
KNOWN = {scheme.name: scheme for scheme in initialise.SCHEMES}
ACTIVATIONS = {"ReLU": torch.relu, "sigmoid": torch.sigmoid}
STARTS = {name: (name, "1") for name in ("LeCun", "Xavier", "He", "torch", "0.02")}
STARTS |= {"Xavier · 1/√(2L)": ("Xavier", "1/√(2L)"), "Xavier · 0": ("Xavier", "0")}


# --- stacks before training -----------------------------------------------------------------


def factor(residual: str, L: int) -> float:
    """By what the projections that write into the residual stream are multiplied."""
    return {"1": 1.0, "1/√(2L)": (2 * L) ** -0.5, "0": 0.0}[residual]


def plain(
    scheme: initialise.Scheme, activation: str, seed: int, depth=24, C=64, bias=False
) -> tuple[list[float], list[float]]:
    """Sizes after each layer, and of each layer's gradient of weights; bias: as torch draws it."""
    generator = torch.Generator().manual_seed(seed)
    x_NC, upstream_NC = torch.randn(2, 64, C, generator=generator).double()
    weights = [
        initialise.draw(scheme, C, C, generator).double().requires_grad_() for _ in range(depth)
    ]
    shifts = [bias * initialise.draw(initialise.TORCH, C, C, generator)[:, 0] for _ in weights]
    sizes = []
    for W, shift_C in zip(weights, shifts, strict=True):
        x_NC = ACTIVATIONS[activation](x_NC @ W.T + shift_C)
        sizes.append(x_NC.detach().square().mean().sqrt().item())
    made_up_loss = (x_NC * upstream_NC).sum() / 8
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


def learns(seed: int, sigma: float, lr: float, steps=60, depth=24, C=64) -> dict:
    """Train plain ReLU layers between a table and a head, each letter to predict the next."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(len(characters().tokenizer.vocab), C), *[(C, C)] * depth]
    table_VC, *layers = (torch.randn(shape, generator=generator) for shape in shapes)
    head_VC = torch.randn(table_VC.shape, generator=generator) / C**0.5
    weights = [table_VC, *(sigma * W for W in layers), head_VC]
    adam = torch.optim.Adam([w.requires_grad_() for w in weights], lr=lr)
    batches = corpus.batches(characters().train, batch_size=8, context=32, generator=generator)
    losses = torch.zeros(steps)
    for step, (ids_BT, targets_BT) in zip(range(steps), batches, strict=False):
        x_BTC = table_VC[ids_BT]
        for W in weights[1:-1]:
            x_BTC = torch.relu(x_BTC @ W.T)
        value = loss(x_BTC @ head_VC.T, targets_BT)
        adam.zero_grad()
        value.backward()
        adam.step()
        losses[step] = value.detach()
    return {"first": round(losses[0].item(), 3), "last ten": round(losses[-10:].mean().item(), 3)}


def after_ten(seed: int) -> float:
    """The RMS after ten layers of width 64 with weights from N(0, 0.02²) and no activation."""
    rng = np.random.default_rng(seed)
    x_C = rng.standard_normal(64)
    for _ in range(10):
        x_C = 0.02 * rng.standard_normal((64, 64)) @ x_C
    return np.sqrt(np.mean(x_C**2))


def one_stack(seed: int, net: str, start: str, depth: int) -> dict:
    """Sizes and gradients by block, as they are stored."""
    sizes, gradients = transformer(start, NETS[net], seed, depth)
    return {"sizes": significant(sizes), "gradients": significant(gradients)}


# --- a small GPT ----------------------------------------------------------------------------


def gpt(sigma: float) -> minigpt.GPT:
    """Minigpt's GPT of four blocks of width 64, all matrices from N(0, sigma²)."""
    torch.manual_seed(0)
    model = minigpt.GPT(len(characters().tokenizer.vocab), T=32, C=64, H=4, L=4)
    for weight in model.parameters():
        if weight.ndim == 2:
            nn.init.normal_(weight, std=sigma)
    return model


def tied_gpt(sigma: float, seed: int = 0, width: int = 64) -> minigpt.GPT:
    """The same from GPT-2's initial weights, its head tied to an embedding from N(0, sigma²)."""
    torch.manual_seed(seed)
    model = minigpt.GPT(len(characters().tokenizer.vocab), T=32, C=width, H=4, L=4)
    nn.init.normal_(model.embedding.weight, std=sigma)
    model.head.weight = model.embedding.weight
    return model


@torch.no_grad()
def first_loss(model: nn.Module) -> float:
    """The loss on sixteen windows."""
    x_BT, y_BT = (part[:16] for part in every_window()[0])
    return loss(model(x_BT), y_BT).item()


@torch.no_grad()
def parrots(sigma: float, full_writes: bool, seed: int, width: int) -> float:
    """How often a tied GPT's likeliest next character is the present one.

    full_writes: without 1/√(2L).
    """
    model, (x_BT, _) = tied_gpt(sigma, seed, width), every_window()[0]
    for name, weight in model.named_parameters():
        if full_writes and name.endswith(("out.weight", "down.weight")):
            weight.mul_((2 * len(model.blocks)) ** 0.5)
    return (model(x_BT[:16]).argmax(dim=-1) == x_BT[:16]).float().mean().item()


class ScaledGPT(TinyGPT):
    """The rows of characters and positions are multiplied before they are added."""

    def __init__(self, *blocks, scales: Sequence[float], **sizes):
        super().__init__(*blocks, **sizes)
        self.scales = scales

    def forward(self, ids_BT: Tensor) -> Tensor:
        """(B, T) ids to (B, T, V) logits."""
        of_character, of_position = self.scales
        rows_TC = self.position.weight[: ids_BT.shape[1]]
        x_BTC = of_character * self.embedding(ids_BT) + of_position * rows_TC
        return self.head(self.norm(self.blocks(x_BTC)))


def init_model(
    seed: int,
    *,
    scheme="torch",
    embedding=1.0,
    residual="1",
    tied=False,
    scales: Sequence[float] = (1.0, 1.0),
    C=64,
    L=4,
    heads=4,
    norm="layer",
) -> ScaledGPT:
    """A small GPT of one seed."""
    blocks = partial(Block, C, heads, norm=norm)
    model = ScaledGPT(lambda: (blocks() for _ in range(L)), C=C, norm=NORMS[norm], scales=scales)
    if tied:
        model.head.weight = model.embedding.weight
    generator, smaller = torch.Generator().manual_seed(seed), factor(residual, L)
    initialise.initialise(model, KNOWN[scheme], generator, embedding=embedding, residual=smaller)
    return model


@cache
def every_window() -> list[tuple[Tensor, Tensor]]:
    """The validation text in windows of 32 letters, 66 at a time."""
    return list(corpus.windows(characters().validation, 32, batch_size=66))[:15]


# --- the parts ------------------------------------------------------------------------------


def one_training(seed: int, *, lr=0.003, steps=STEPS, table_rate=1.0, **start) -> dict:
    """What is kept of a training with Adam; ``validation`` is None where it diverged."""
    model = init_model(seed, **start)
    tables = [model.embedding.weight, model.position.weight]
    others = [w for w in model.parameters() if all(w is not table for table in tables)]
    groups: list[dict] = [{"params": tables, "lr": table_rate * lr}, {"params": others}]
    adam = torch.optim.Adam(groups, lr=lr)
    losses = trainer(model, 100 + seed, batch_size=8, optimizer=adam)(steps=steps)
    kept = stored_losses(losses, BLOCK)
    end = None if None in kept["losses"] else round(evaluate(model, every_window()), 4)
    return kept | {"validation": end}


def at_rates(rates: Iterable[float], *starts: dict) -> list[dict]:
    """Each of some initialisations at each of some learning rates."""
    return [start | {"lr": lr} for start in starts for lr in rates]


FOUR = [{"scheme": name} for name in ("torch", "Xavier", "He", "0.02")]
TORCH, XAVIER, _, SMALL = FOUR
SIGMAS = {"0.02": 0.02, "He": 2**0.5 / 8, "0.3": 0.3}  # at width 64
PLAIN_RATES = (0.0003, 0.001, 0.003)

trainings = partial(Part, run=one_training, seeds=range(5), more={"block": BLOCK})
PARTS = parts_of(
    10,
    {
        "layers": Part(
            run=learns,
            settings=at_rates(PLAIN_RATES, *({"sigma": sigma} for sigma in SIGMAS.values())),
            seeds=THREE,
        ),
        "stacks": Part(
            run=one_stack,
            settings=[
                {"net": net, "start": start, "depth": depth}
                for net, start, depth in itertools.product(list(NETS)[1:], STARTS, DEPTHS)
            ],
        ),
        "schemes": trainings(
            settings=at_rates(
                RATES,
                *FOUR,
                XAVIER | {"embedding": 0.02},
                SMALL | {"embedding": 0.02, "residual": "1/√(2L)"},
            )
        ),
        "no norm": trainings(
            settings=at_rates(RATES[:2], *(start | {"norm": "none"} for start in FOUR))
        ),
        "embedding": trainings(
            settings=at_rates(
                (0.003,),
                {"embedding": 0.02},
                {"embedding": 0.02, "scales": (50.0, 50.0)},
                {"embedding": 0.02, "table_rate": 0.02},
            )
        ),
        "eight": trainings(
            settings=at_rates(
                (0.003,),
                *(TORCH, XAVIER, TORCH | {"norm": "none"}),
                *(XAVIER | {"residual": factor} for factor in ("1/√(2L)", "0")),
                XAVIER | DEEP,
                *(XAVIER | {"residual": factor} | DEEP for factor in ("1/√(2L)", "0")),
            ),
            seeds=EIGHT,
        ),
        "elsewhere": trainings(
            settings=at_rates(
                (0.003,),
                *(start | {"C": 128} for start in ({}, {"embedding": 0.02}, SMALL)),
                *(start | {"steps": 1000} for start in ({}, {"embedding": 0.02}, SMALL)),
            ),
            seeds=THREE,
        ),
    },
)


# --- what is stored -------------------------------------------------------------------------


def final(part: str, key="validation", lr=0.003, **wanted) -> np.ndarray:
    """Validation losses after training, or what else a run keeps, one a seed; nan for None."""
    return PARTS[part].final(key, lr=lr, **wanted)


@cache
def stacks(net: str, start: str, depth: int) -> np.ndarray:
    """Sizes and gradients by layer, (seeds, 2, layers); plain layers are run, blocks are stored."""
    if not NETS[net]:
        scheme = KNOWN[STARTS[start][0]]
        return np.array([plain(scheme, "ReLU", seed, depth) for seed in EIGHT])
    found = PARTS["stacks"].runs(net=net, start=start, depth=depth)
    return np.array([[run["sizes"], run["gradients"]] for run in found])


def at_the_top(start: str, depth: int, net="pre-norm blocks") -> np.ndarray:
    """Size of the stream after the last block, one a seed."""
    return stacks(net, start, depth)[:, 0, -1]


# --- what the chapter shows -----------------------------------------------------------------


def signed(values) -> str:
    """Mean ± standard deviation over the seeds, with its sign."""
    return spread(values, signed=True)


def in_words(net: str, depth: int, start: str) -> str:
    """A frame of the explorer as a sentence."""
    sizes_SL, gradients_SL = stacks(net, start, depth).transpose(1, 0, 2)
    first, last = (fmt(gmean(gradients_SL[:, at])) for at in (0, -1))
    same = not NETS[net] and STARTS[start][1] != "1"
    layer = "block" if NETS[net] else "layer"
    return (
        f"{net}, {depth} deep, {start}: the {'stream' if NETS[net] else 'vector'} ends with RMS "
        f"{fmt(gmean(sizes_SL[:, -1]))}; gradient {first} in the first {layer}, {last} in the "
        "last." + " There are no residual projections here, so this is Xavier." * same
    )


FORMULAS = {
    "LeCun": "1/√fan-in",
    "Xavier": "√(2/(fan-in + fan-out))",
    "He": "√(2/fan-in)",
    "torch": "1/√(3·fan-in)",
    "0.02": "0.02",
}


SIDES = {
    "ReLU, LeCun": ("LeCun", "ReLU"),
    "ReLU, 0.02": ("0.02", "ReLU"),
    "sigmoid, LeCun": ("LeCun", "sigmoid"),
    "sigmoid, 0.02": ("0.02", "sigmoid"),
    "ReLU, torch with its biases": ("torch", "ReLU"),
}


@cache
def sides(name: str, C: int) -> np.ndarray:
    """Gradient of the first of 24 plain layers over that of the last, one a seed."""
    rule, activation = SIDES[name]
    runs = (plain(KNOWN[rule], activation, seed, C=C, bias=rule == "torch") for seed in THREE)
    return np.array([up[0] / up[-1] for _, up in runs])


FIRST: dict[str, dict] = {
    "torch": {},
    "Xavier": {"scheme": "Xavier"},
    "He": {"scheme": "He"},
    "0.02": {"scheme": "0.02"},
    "tied, embeddings N(0, 1)": {"tied": True},
    "tied, embeddings N(0, 1), He": {"tied": True, "scheme": "He"},
    "tied, embeddings N(0, 1/C)": {"tied": True, "embedding": ROOT},
    "the same, × √C on the way in": {"tied": True, "embedding": ROOT, "scales": (8.0, 1.0)},
    "tied, embeddings N(0, 0.02²)": {"tied": True, "embedding": 0.02},
}


@cache
@torch.no_grad()
def first_looks(name: str) -> np.ndarray:
    """(seeds, 3): first loss, what the formula says, probability of the present letter again."""
    x_BT, y_BT = (part[:16] for part in every_window()[0])
    looks = []
    for seed in EIGHT:
        model = init_model(seed, **FIRST[name])
        logits_BTV = model(x_BT)
        V, C = model.head.weight.shape
        again = logits_BTV.softmax(dim=-1).gather(-1, x_BT[..., None]).mean().item()
        formula = np.log(V) + C * model.head.weight.var().item() / 2
        looks.append((loss(logits_BTV, y_BT).item(), formula, again))
    return np.array(looks)


def first_table() -> str:
    """First losses by start, beside the formula."""
    columns = (
        "initial weights|first loss|log V + C·σ²/2|probability of the present character once more"
    )
    rows = []
    for name in FIRST:
        found_S, formula_S, again_S = first_looks(name).T
        digits = 2 if found_S.mean() < 10 else 0
        formula = f"{formula_S.mean():.{digits}f}"
        rows.append([name, spread(found_S, digits), formula, spread(again_S)])
    return table(columns, rows)


def formula_fails(variance: float, V: int) -> np.ndarray:
    """First losses less the formula, one a seed, where logits know nothing and vary so much."""
    drawn = (np.random.default_rng(seed).standard_normal((400, V)) for seed in EIGHT)
    found = (np.log(np.exp(variance**0.5 * z).sum(axis=1)).mean() for z in drawn)
    return np.array(list(found)) - np.log(V) - variance / 2


ROWS: dict[str, dict] = {
    "torch": {"scheme": "torch"},
    "Xavier": {"scheme": "Xavier"},
    "He": {"scheme": "He"},
    "0.02": {"scheme": "0.02"},
    "Xavier,\nembeddings 0.02": {"scheme": "Xavier", "embedding": 0.02},
    "GPT-2: 0.02, 1/√(2L),\nembeddings 0.02": {
        "scheme": "0.02",
        "embedding": 0.02,
        "residual": "1/√(2L)",
    },
}


def by_rate() -> dict[str, dict[float, np.ndarray]]:
    """Losses after 300 steps from each of the starts of ROWS, by learning rate."""
    return {
        name: {lr: final("schemes", lr=lr, **start) for lr in RATES} for name, start in ROWS.items()
    }


def cost(part: str, **start) -> np.ndarray:
    """Final loss less that of torch's start with the same seeds, width and length."""
    same: dict = {key: start[key] for key in ("C", "steps") if key in start}
    part_of_torch = part if same or part == "eight" else "schemes"
    return final(part, **start) - final(part_of_torch, **same or {"scheme": "torch"})


def bare_table() -> str:
    """With and without norms."""
    columns = "initial weights|first loss, no norm|final, no norm, rate 0.001|0.003"
    columns += "|final, with norms, rate 0.001|0.003"
    rows = []
    for name in ("torch", "Xavier", "He", "0.02"):
        first = final("no norm", "first", scheme=name).mean()
        losses = [final(p, lr=lr, scheme=name) for p in ("no norm", "schemes") for lr in RATES[:2]]
        ends = (spread(found, 0 if found.mean() > 10 else 2) for found in losses)
        rows.append([name, fmt(first), *ends])
    return table(columns, rows)


def writes(residual: str, **sizes) -> np.ndarray:
    """What small writes change in the loss after 300 steps, one a seed."""
    small = final("eight", scheme="Xavier", residual=residual, **sizes)
    return small - final("eight", scheme="Xavier", **sizes)
