"""Train the word table of chapter 01 over seeds, on the tales and on the shuffled tales.

The one part, ``neighbours``, some four minutes on one core: ten seeds on either text, with the
share of grouped words whose nearest neighbour is of their group, during training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers import corpus, variants
from helpers.chapters.lab import Part, rounded, seeded, table, train_words, words
from helpers.embeddings import CBOW, WORD_GROUPS

MOMENTS = (0, 25, 50, 100, 200, 400)  # steps after which the table is kept
TEXTS = ("the tales", "shuffled")
WATCHED = ("said", "two", "she", "wide", "fox", "king")
GROUPED = tuple(word for group in WORD_GROUPS.values() for word in group)
GROUP_OF = {word: name for name, group in WORD_GROUPS.items() for word in group}


# --- the words ------------------------------------------------------------------------------


@cache
def grouped() -> Tensor:
    """The ids of the words in groups."""
    return torch.tensor([words().names.index(word) for word in GROUPED])


def shuffled(ids: Tensor, seed: int) -> Tensor:
    """The same words in another order."""
    draws = torch.Generator().manual_seed(seed)
    return ids[torch.randperm(len(ids), generator=draws)]


# --- neighbours -----------------------------------------------------------------------------


def cosines(table_VC: Tensor) -> Tensor:
    """Of each row with each; with itself −2, since no row is its own neighbour."""
    # each row divided by its length, so that dot products are cosines
    unit = F.normalize(table_VC, dim=1)
    return (unit @ unit.T).fill_diagonal_(-2)


def nearest_grouped(table_VC: Tensor) -> list[str]:
    """For each grouped word, the grouped word nearest to it."""
    return [GROUPED[n] for n in cosines(table_VC[grouped()]).argmax(dim=1)]


def share_right(table_VC: Tensor) -> float:
    """Share of grouped words whose nearest neighbour is of their group."""
    pairs = zip(GROUPED, nearest_grouped(table_VC), strict=True)
    return float(np.mean([GROUP_OF[a] == GROUP_OF[b] for a, b in pairs]))


def rank(table_VC: Tensor, word: str, other: str) -> int:
    """Which neighbour of a word another is: 1 for the nearest of all words."""
    at, neighbour = (words().names.index(name) for name in (word, other))
    cosines_V = cosines(table_VC)[at]
    return int((cosines_V > cosines_V[neighbour]).sum()) + 1


def five_nearest(table_VC: Tensor, word: str) -> tuple[list[str], list[float]]:
    """The five nearest neighbours of a word among all words, and their cosines."""
    names = words().names
    best = cosines(table_VC)[names.index(word)].topk(5)
    return [names[i] for i in best.indices], best.values.tolist()


def chance() -> float:
    """The share of grouped words whose nearest would be of their group by luck alone."""
    sizes = [len(WORD_GROUPS[GROUP_OF[word]]) for word in GROUPED]
    return float(np.mean([(size - 1) / (len(GROUPED) - 1) for size in sizes]))


def random_shares(tables: int = 100) -> np.ndarray:
    """Shares right in so many random tables."""
    draws = [torch.Generator().manual_seed(seed) for seed in range(tables)]
    made = (torch.randn(len(words().names), 32, generator=draw) for draw in draws)
    return np.array([share_right(table_VC) for table_VC in made])


# --- training -------------------------------------------------------------------------------


def train_and_keep(
    ids: Tensor, seed: int, steps: int = MOMENTS[-1]
) -> tuple[CBOW, dict[int, Tensor]]:
    """The trained model, and its table after so many steps."""
    kept = {}

    def keep(step, model):
        if step in (*MOMENTS, steps):
            kept[step] = model.table.weight.detach().clone()

    model = train_words(ids, seed, steps=steps, on_step=keep)
    keep(steps, model)
    return model, kept


# --- which rows learn -----------------------------------------------------------------------


def rows_that_learn(tied: bool, optimizer: str, steps: int = 50) -> list[float]:
    """Shares of a GPT's rows in the last of some steps: looked up, with a gradient, moved."""
    ids, names = words()
    with seeded(0):
        gpt = variants.GPT(len(names), T=32, C=32, H=4, L=1, tied=tied)
    table, made = gpt.embedding.weight, getattr(torch.optim, optimizer)(gpt.parameters(), lr=0.003)
    draws = torch.Generator().manual_seed(0)
    batches = corpus.batches(ids, batch_size=8, context=32, generator=draws)
    for _ in range(steps):
        x_BT, y_BT = next(batches)
        before = table.detach().clone()
        made.zero_grad()
        F.cross_entropy(gpt(x_BT).flatten(0, 1), y_BT.flatten()).backward()
        made.step()
    read = torch.isin(torch.arange(len(names)), x_BT)
    with_gradient = table.grad.ne(0).any(dim=1)  # type: ignore[union-attr]
    some = (read, with_gradient, table.ne(before).any(dim=1))
    return [rows.double().mean().item() for rows in some]


# --- what the chapter says of them ----------------------------------------------------------


def in_the_starts(found: list[dict]) -> dict[str, Counter]:
    """Who is among a word's five nearest, and in how many starts."""
    return {
        word: Counter(name for run in found for name in run["five nearest"][word])
        for word in WATCHED
    }


def starts_in_words(found: Mapping[str, Counter], starts: int) -> str:
    """The same as a table."""
    rows = [
        [word, ", ".join(f"{name} ({n})" for name, n in counted.most_common(5))]
        for word, counted in found.items()
    ]
    return table(f"word | most often among its five nearest (in how many of {starts} models)", rows)


# --- the parts ------------------------------------------------------------------------------


def of_the_tales(table_VC: Tensor) -> dict:
    """What is measured of a table that was trained on the tales."""
    return {
        "rank of queen": rank(table_VC, "king", "queen"),
        "rank of evening": rank(table_VC, "morning", "evening"),
        "five nearest": {word: five_nearest(table_VC, word)[0] for word in WATCHED},
    }


def one_training(seed: int, *, text: str) -> dict:
    """Shares right over training, and what is measured in the end."""
    ids = words().ids
    if text == "shuffled":
        ids = shuffled(ids, seed)
    _, tables = train_and_keep(ids, seed)
    run = {"shares": rounded(share_right(tables[step]) for step in MOMENTS)}
    return run if text == "shuffled" else run | of_the_tales(tables[MOMENTS[-1]])


NEIGHBOURS = Part(
    chapter=1,
    name="neighbours",
    run=one_training,
    settings=[{"text": text} for text in TEXTS],
    seeds=range(10),
)
PARTS = {NEIGHBOURS.name: NEIGHBOURS}
