"""Neighbours, clouds and lengths of trained rows for chapter 02, over seeds, steps, optimisers.

The parts, some two minutes each on one core: ``lengths``, how a row's length goes with the count
of its word, after 25 to 1200 steps; ``neighbours``, the share of listed words whose nearest is of
their list, by each measure and after centring and whitening; ``cloud``, how the rows lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.chapters.lab import (
    Part,
    parts_of,
    percent,
    rounded,
    table,
    train_words,
    words,
)
from helpers.embeddings import WORD_GROUPS
from helpers.similarity import (
    MEASURES,
    centre,
    nearest,
    rank_correlation,
    similarities,
    whiten,
)

STEPS = 1200
LOOKS = (0, 25, 100, 400, 1200)  # the steps at which tables are looked at
TABLES = ("input rows", "output rows")
RATES = {"Adam": 0.02, "SGD": 20.0, "Adam at 0.005": 0.005, "SGD at 5": 5.0}
SPOKEN = {"dot": "dot product", "euclid": "Euclid"}
WAYS = (*MEASURES, "centred", "whitened")
FOUND_AT = (400, 1200)  # the steps at which neighbours are counted


# --- the words and their training -----------------------------------------------------------


def counts() -> Tensor:
    """How often each word occurs, the rare left out."""
    return torch.bincount(words().ids)[:-1]


@cache
def inspect(seed: int, steps: int = STEPS, optimizer: str = "Adam") -> dict[int, dict[str, Tensor]]:
    """Train a model to guess each word from two before and two after; its tables at each look."""
    seen = {}

    def look(step, model):
        if step in (*LOOKS, steps):
            both = (model.table.weight[:-1], model.output[:-1])  # without the row of the rare
            seen[step] = {n: t.detach().double() for n, t in zip(TABLES, both, strict=True)}

    model = train_words(
        words().ids,
        seed,
        steps=steps,
        dtype=torch.float32,
        optimizer=getattr(torch.optim, optimizer.split()[0]),
        lr=RATES[optimizer],
        on_step=look,
    )
    look(steps, model)
    return seen


# --- neighbours and clouds ------------------------------------------------------------------


def share(hits: Tensor) -> float:
    """The share of hits."""
    return hits.double().mean().item()


@cache
def listed() -> tuple[Tensor, Tensor]:
    """The list of each word, −1 for most, and the words that are in one."""
    names = words().names[:-1]
    member = torch.full((len(names),), -1)
    for label, group in enumerate(WORD_GROUPS.values()):
        for word in group:
            member[names.index(word)] = label
    return member, (member >= 0).nonzero()[:, 0]


def found_right(table: Tensor, measure: str) -> list[float]:
    """Shares of listed words whose nearest, among the listed and among all, is of their list."""
    member, asked = listed()
    likeness = torch.stack([similarities(table[row], table, measure=measure) for row in asked])
    likeness[torch.arange(len(asked)), asked] = float("-inf")  # not the word itself
    among_listed = asked[likeness[:, asked].argmax(dim=1)]
    among_all = likeness.argmax(dim=1)
    return [share(member[near] == member[asked]) for near in (among_listed, among_all)]


def by_measure(table: Tensor, way: str) -> list[float]:
    """What a measure finds, or cosine in the centred or the whitened table."""
    treated = {"centred": centre, "whitened": whiten}
    return found_right(treated[way](table), "cosine") if way in treated else found_right(table, way)


def cloud(rows: Tensor) -> dict[str, list[float]]:
    """How rows lie: who names whom, and how long the named are."""
    named = {m: nearest(rows, measure=m) for m in MEASURES}
    lengths = rows.norm(dim=1)
    same = named["cosine"] == named["euclid"]
    found = {
        "all three, cosine and Euclid": [
            share(same & (named["dot"] == named["cosine"])),
            share(same),
        ],
        "length of the named": [lengths[n].mean() / lengths.mean() for n in named.values()],
        "named most often": [n.bincount().max() for n in named.values()],
    }
    return {name: rounded(values) for name, values in found.items()}


# --- keys -----------------------------------------------------------------------------------


def other_best(C: int, D: int, N: int, seed: int, qk_norm: bool = False) -> tuple[float, float]:
    """N inputs through LayerNorm and random tables of width D: a query asks all keys.

    Gives the share of queries whose key of the largest score is not that of the largest cosine,
    and how many times as long a long key (of 95 in 100) is as a short one (of 5 in 100).
    """
    draws: dict = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float64}
    x = F.layer_norm(torch.randn(N, C, **draws), (C,))
    q, k = x @ torch.randn(2, C, D, **draws) / C**0.5
    if qk_norm:
        q, k = F.normalize(q, dim=1), F.normalize(k, dim=1)
    short, long = k.norm(dim=1).quantile(torch.tensor([0.05, 0.95], dtype=torch.float64))
    by_score, by_cosine = ((q @ keys.T).argmax(dim=1) for keys in (k, F.normalize(k, dim=1)))
    return share(by_score != by_cosine), (long / short).item()


# --- telling --------------------------------------------------------------------------------


def right(table: str, by: str, steps: int) -> np.ndarray:
    """Shares of listed words found by a measure: (seeds, 2), among the listed and among all."""
    return PARTS["neighbours"].final("right", table=table, by=by, steps=steps)


def neighbours_table(ways: Sequence[str]) -> str:
    """What is found in both tables at both looks."""

    def cells(name, way):
        for column, steps in product((0, 1), FOUND_AT):
            yield percent(right(name, way, steps)[:, column], unit="")

    return table(
        "rows | | listed, 400 steps | listed, 1200 | all, 400 steps | all, 1200",
        ((name, SPOKEN.get(way, way), *cells(name, way)) for name in TABLES for way in ways),
    )


# --- the parts ------------------------------------------------------------------------------


def one_length(seed: int, *, table: str, optimizer: str, steps: int = STEPS) -> dict:
    """Rank correlations of count and length at each look but the first."""
    looks = list(inspect(seed, steps, optimizer).values())[1:]
    found = (rank_correlation(counts(), look[table].norm(dim=1)) for look in looks)
    return {"correlations": rounded(found)}


def one_search(seed: int, *, table: str, by: str, steps: int, until: int = STEPS) -> dict:
    """Shares of listed words whose nearest is of their list."""
    return {"right": rounded(by_measure(inspect(seed, until, "Adam")[steps][table], by))}


def one_cloud(seed: int, *, table: str, steps: int, until: int = STEPS) -> dict:
    """How a table's rows lie."""
    return cloud(inspect(seed, until, "Adam")[steps][table])


def varied(**values: Iterable) -> list[dict]:
    """Every combination of these values, a setting each."""
    return [dict(zip(values, some, strict=True)) for some in product(*values.values())]


MORE = {"steps": STEPS, "looks": LOOKS[1:]}
PARTS = parts_of(
    2,
    {
        "lengths": Part(run=one_length, settings=varied(table=TABLES, optimizer=RATES), more=MORE),
        "neighbours": Part(
            run=one_search, settings=varied(steps=FOUND_AT, table=TABLES, by=WAYS), more=MORE
        ),
        "cloud": Part(run=one_cloud, settings=varied(table=TABLES[:1], steps=[400]), more=MORE),
    },
)
