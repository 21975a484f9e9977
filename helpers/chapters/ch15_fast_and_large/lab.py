"""Chapter 15's measurements: a scaling law of minigpt, drafts, blocks of few bits, a roofline.

The parts: ``scaling``, minigpt of seven widths on the tales, at three rates, all on equal data
(six minutes on one core); ``drafts``, the storyteller of chapter 11 with n-gram tables as its
drafts (a minute); ``race``, how fast SmolLM2 reads and writes, and llama.cpp (two minutes).
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from helpers import checkpoint, corpus, fast, minigpt, minillama, valley
from helpers.chapters.ch15_fast_and_large import serving
from helpers.chapters.lab import Part, characters, parts_of, rounded, seeded

# --- a scaling law ---------------------------------------------------------------------------

WIDTHS = (8, 12, 16, 24, 32, 48, 64)  # the reader predicts the last
RATES = (0.2, 0.4, 0.8)  # divided by the width
BLOCKS, CONTEXT, BATCH, STEPS = 2, 32, 16, 400


def parameters(C: int) -> int:
    """Entries of the matrices in the blocks, 12 L C²: what Kaplan and others count."""
    return 12 * BLOCKS * C**2


def scaled(seed: int, C: int, rate: float, steps: int = STEPS) -> dict:
    """Train one minigpt of width C at rate / C, and keep its losses, nats a character."""
    tokenizer, train, unseen = characters()
    windows = unseen.unfold(0, CONTEXT + 1, CONTEXT)
    with seeded(seed):
        model = minigpt.GPT(len(tokenizer.vocab), CONTEXT, C, max(1, C // 16), BLOCKS)
        losses = [loss for _, loss in minigpt.train(model, train, steps, BATCH, rate / C)]
    with torch.no_grad():
        logits = model.eval()(windows[:, :-1])
        loss = F.cross_entropy(logits.mT, windows[:, 1:]).item()
    return {"first": rounded(losses[:5]), "validation": round(loss, 4)}


def best_rate(C: int) -> tuple[float, np.ndarray]:
    """The rate with the lowest mean loss, and its losses, one a seed."""
    found = {rate: PARTS["scaling"].final(C=C, rate=rate) for rate in RATES}
    best = min(found, key=lambda rate: found[rate].mean())
    return best, found[best]


def power_law(N: Iterable[float], losses: Iterable[float]) -> Callable[[float], float]:
    """The line through log loss against log N, by least squares, as a function of N."""
    slope, start = np.polyfit(np.log(list(N)), np.log(list(losses)), 1)
    return lambda n: float(np.exp(start + slope * np.log(n)))


# --- drafts ----------------------------------------------------------------------------------

PROMPT, WRITTEN = 8, 120  # tokens of a held-out story, and tokens written after them
DRAFTS = ((1, 4), (3, 1), (3, 2), (3, 4), (3, 8))  # n of the n-gram table, drafted at once


class Storyteller(NamedTuple):
    """The GPT of chapter 11 that ships, its tokenizer, and stories that it did and didn't read."""

    model: minigpt.GPT
    tokenizer: minigpt.Tokenizer
    train: torch.Tensor
    unseen: torch.Tensor


@cache
def storyteller() -> Storyteller:
    """Loaded once."""
    model, tokenizer = checkpoint.load()
    return Storyteller(model, tokenizer, *corpus.split(tokenizer.encode(valley.text())))


@cache
def ngram_draft(n: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Ids (T,) to the probabilities (V,) of the next token, counted after the last n - 1 tokens.

    Where those were never met, all tokens are equally likely.
    """
    _, tokenizer, train, _ = storyteller()
    counts: dict[tuple, Counter] = defaultdict(Counter)
    for *before, after in zip(*(train[at:].tolist() for at in range(n)), strict=False):
        counts[tuple(before)][after] += 1

    def probabilities(ids_T: torch.Tensor) -> torch.Tensor:
        found = counts.get(tuple(ids_T[len(ids_T) - n + 1 :].tolist()))
        if found is None:
            return torch.full((len(tokenizer.vocab),), 1 / len(tokenizer.vocab))
        q_V = torch.zeros(len(tokenizer.vocab))
        q_V[list(found)] = torch.tensor(list(found.values()), dtype=torch.float32)
        return q_V / q_V.sum()

    return probabilities


@torch.no_grad()
def target(ids_T: torch.Tensor) -> torch.Tensor:
    """The storyteller's probabilities after every position, (T, V)."""
    return storyteller().model(ids_T[None, -192:])[0].softmax(dim=-1)


def keep_or_replace(token: int, p_V: torch.Tensor, q_V: torch.Tensor) -> tuple[int, bool]:
    """A token drawn from q, kept or replaced so that what results is drawn from p."""
    if torch.rand(()) < p_V[token] / q_V[token]:
        return token, True
    return int((p_V - q_V).clamp(min=0).multinomial(1)), False


def speculative_round(target, draft, ids_T: torch.Tensor, k: int) -> tuple[torch.Tensor, int]:
    """The ids and one to k + 1 more, by one call of the target; and how many drafts were kept."""
    drafted_T, qs = ids_T, []
    for _ in range(k):
        qs.append(draft(drafted_T))
        drafted_T = torch.cat([drafted_T, qs[-1].multinomial(1)])
    p_TV = target(drafted_T)[-k - 1 :]
    for kept, (p_V, q_V) in enumerate(zip(p_TV, qs, strict=False)):
        token, same = keep_or_replace(int(drafted_T[len(ids_T)]), p_V, q_V)
        ids_T = torch.cat([ids_T, torch.tensor([token])])
        if not same:
            return ids_T, kept
    return torch.cat([ids_T, p_TV[-1].multinomial(1)]), k


def drafted(seed: int, n: int, k: int, written: int = WRITTEN) -> dict:
    """Write with a draft; keep how many tokens a call gave, and the share of drafts accepted."""
    unseen = storyteller().unseen
    start = 500 * seed
    ids_T, calls, kept, judged = unseen[start : start + PROMPT], 0, 0, 0
    with seeded(seed):
        while len(ids_T) < PROMPT + written:
            ids_T, now = speculative_round(target, ngram_draft(n), ids_T, k)
            calls, kept, judged = calls + 1, kept + now, judged + min(now + 1, k)
    tokens = len(ids_T) - PROMPT
    return {"tokens a call": round(tokens / calls, 4), "accepted": round(kept / judged, 4)}


def one_round(text: str, seed: int, n: int = 3, k: int = 4) -> tuple[list[str], list[str]]:
    """The tokens that the target reads, its newest and k drafts, and those that are written."""
    asked_T, seen = storyteller().tokenizer.encode(text), list[torch.Tensor]()

    def seeing(ids_T: torch.Tensor) -> torch.Tensor:
        seen.append(ids_T)
        return target(ids_T)

    with seeded(seed):
        ids_T, _ = speculative_round(seeing, ngram_draft(n), asked_T, k)
    vocab, T = storyteller().tokenizer.vocab, len(asked_T)
    return [vocab[i] for i in seen[0][T - 1 :]], [vocab[i] for i in ids_T[T:]]


# --- what the chapter measures as it runs ----------------------------------------------------


def least_seconds(function: Callable, rounds: int = 6) -> float:
    """The shortest time of a function in one thread, so that processor time tells it."""
    threads, taken = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        for _ in range(rounds):
            began = time.process_time()
            function()
            taken.append(time.process_time() - began)
    finally:
        torch.set_num_threads(threads)
    return min(taken)


def levels_of_others(x_N: np.ndarray, levels: np.ndarray, largest: int) -> tuple[int, float]:
    """Of all numbers but one: on how many levels they are, and the relative RMS of rounding."""
    others = np.delete(x_N, largest)
    nearest = np.abs(others[:, None] - levels).argmin(axis=1)
    error = levels[nearest] - others
    return len(set(nearest)), float(np.sqrt((error**2).mean() / (others**2).mean()))


def rounded_weights(w: torch.Tensor, bits: int, block: int | None = 32) -> torch.Tensor:
    """A matrix with each block of numbers rounded to 2^bits levels, from its least to its largest.

    block: numbers in a block; None for the whole matrix as one.
    """
    x = w.reshape(-1, block or w.numel())
    least = x.amin(dim=1, keepdim=True)
    scale = (x.amax(dim=1, keepdim=True) - least) / (2**bits - 1)
    codes = ((x - least) / scale.clamp(min=1e-12)).round()
    return (least + codes * scale).view_as(w)


@torch.no_grad()
def loss_of_bits(
    model: torch.nn.Module,
    ids_BT: torch.Tensor,
    bits: int,
    block: int | None = 32,
) -> float:
    """Loss of a model, nats a token, with all of its matrices rounded."""
    kept = {name: w.clone() for name, w in model.state_dict().items()}
    low = {name: w if w.ndim != 2 else rounded_weights(w, bits, block) for name, w in kept.items()}
    try:
        model.load_state_dict(low)
        return F.cross_entropy(model(ids_BT[:, :-1]).mT, ids_BT[:, 1:]).item()
    finally:
        model.load_state_dict(kept)


# --- SmolLM2: a page to read, and one step for many ------------------------------------------


def page() -> str:
    """2,000 characters of the tales, from the tenth that chapter 13 holds out."""
    text = corpus.load()
    return text[len(text) * 9 // 10 :][:2000]


def seconds_of_step(model: torch.nn.Module, users: int = 1, T: int = 64, new: int = 1) -> float:
    """Seconds of one core in which so many users' new tokens are read, after T others."""
    ids_BT = torch.arange(T).repeat(users, 1)
    _, cache = minillama.read(model, ids_BT, None)
    return least_seconds(lambda: minillama.read(model, ids_BT[:, :new], cache))


def seconds_of_matrices(modules: Sequence[torch.nn.Module], users: int = 1) -> float:
    """Seconds of one core for the products with all their matrices, and nothing else."""
    dtype, linear = next(modules[0].parameters()).dtype, (torch.nn.Linear, fast.Int4Linear)
    layers = [layer for m in modules for layer in m.modules() if isinstance(layer, linear)]
    xs = [torch.randn(users, layer.in_features).to(dtype) for layer in layers]
    with torch.no_grad():
        return least_seconds(lambda: [f(x) for f, x in zip(layers, xs, strict=True)])


def seconds_of_prefill(model: torch.nn.Module, T: int = 256) -> float:
    """Seconds of one core for each token of a prompt of T."""
    return least_seconds(lambda: minillama.read(model, torch.arange(T)[None], None)) / T


# --- the parts -------------------------------------------------------------------------------

PARTS = parts_of(
    15,
    {
        "scaling": Part(
            run=scaled,
            settings=[{"C": C, "rate": rate} for C in WIDTHS for rate in RATES],
            seeds=range(3),
        ),
        "drafts": Part(run=drafted, settings=[{"n": n, "k": k} for n, k in DRAFTS]),
        "race": Part(run=serving.race, settings=[{}], seeds=range(3)),
    },
)
