"""Neighbours, clouds and lengths of trained rows for chapter 02, over seeds, steps, optimisers.

The parts, some two minutes each on one core: ``lengths``, how a row's length goes with the count
of its word, after 25 to 1200 steps; ``neighbours``, the share of listed words whose nearest is of
their list, by each measure and after centring and whitening; ``cloud``, how the rows lie;
``controls``, lengths of copies that share one word's use unevenly, and of tokens strewn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.chapters import stored
from helpers.chapters.lab import (
    measured,
    over_seeds,
    percent,
    rounded,
    runs,
    spread,
    table,
    train_words,
    words,
)
from helpers.embeddings import WORD_GROUPS
from helpers.similarity import (
    MEASURES,
    centre,
    nearest,
    principal,
    rank_correlation,
    similarities,
    similarity_matrix,
    whiten,
)

SEEDS = range(8)
STEPS = 1200
LOOKS = (0, 25, 100, 400, 1200)  # the steps at which tables are looked at
TABLES = ("input rows", "output rows")
RATES = {"Adam": 0.02, "SGD": 20.0}
TOKENS = ("copies", "strewn")
SPOKEN = {"dot": "dot product", "euclid": "Euclid"}
WAYS = (*MEASURES, "centred", "whitened")
FOUND_AT = (400, 1200)  # the steps at which neighbours are counted
SEARCH = (16, 50)  # directions, length of the shortlist


# --- the words and their training -----------------------------------------------------------


def counts() -> Tensor:
    """How often each word occurs, the rare left out."""
    return torch.bincount(words().ids)[:-1]


@cache
def inspect(
    seed: int, steps: int = STEPS, optimizer: str = "Adam", controls: bool = False
) -> dict[int, dict[str, Tensor]]:
    """Train a model to guess each word from two before and two after; its tables at each look."""
    seen = {}

    def look(step, model):
        if step in LOOKS:
            both = (model.table.weight, model.output)
            seen[step] = {n: t.detach().double() for n, t in zip(TABLES, both, strict=True)}

    model = train_words(
        with_controls(seed)[0] if controls else words().ids,
        seed,
        steps=steps,
        dtype=torch.float32,
        optimizer=getattr(torch.optim, optimizer),
        lr=RATES[optimizer],
        on_step=look,
    )
    look(steps, model)
    if not controls:  # without the row of the rare
        seen = {at: {name: t[:-1] for name, t in look.items()} for at, look in seen.items()}
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


def ten_nearest(table: Tensor) -> Tensor:
    """The ten nearest of each row by distance."""
    likeness = similarity_matrix(table, measure="euclid")
    return likeness.fill_diagonal_(float("-inf")).topk(10).indices


def kept_of(table: Tensor, directions: int = 2) -> float:
    """The share of the ten nearest that is left with so many of the widest directions."""
    along = centre(table) @ principal(table)[1][:, :directions]
    truth, left = ten_nearest(table), ten_nearest(along)
    return share((truth[:, :, None] == left[:, None]).any(dim=2))


def on_the_shortlist(table: Tensor, directions: int, length: int) -> float:
    """How often the nearest by cosine is among so many that are near in the widest directions."""
    units = F.normalize(table, dim=1)
    short = units @ principal(units)[1][:, :directions]
    likeness = similarity_matrix(short, measure="euclid").fill_diagonal_(float("-inf"))
    truth = nearest(units, measure="dot")
    return share((likeness.topk(length).indices == truth[:, None]).any(dim=1))


def contrast(table: Tensor) -> float:
    """Farthest over nearest: the median over the first 200 rows."""
    distance = torch.cdist(table[:200], table)
    far = distance.max(dim=1).values
    return (far / distance.fill_diagonal_(float("inf")).min(dim=1).values).median().item()


def cloud(rows: Tensor) -> dict[str, list[float]]:
    """How rows lie: who names whom, where they lean, what few directions hold."""
    named = {m: nearest(rows, measure=m) for m in MEASURES}
    lengths, variances = rows.norm(dim=1), principal(rows)[0]
    same = named["cosine"] == named["euclid"]
    found = {
        "all three, cosine and Euclid": [
            share(same & (named["dot"] == named["cosine"])),
            share(same),
        ],
        "length of the named": [lengths[n].mean() / lengths.mean() for n in named.values()],
        "named most often": [n.bincount().max() for n in named.values()],
        "variance in two directions": [variances[:2].sum() / variances.sum()],
        "kept": [kept_of(rows)],
        "recall": [on_the_shortlist(rows, *SEARCH)],
    }
    return {name: rounded(values) for name, values in found.items()}


# --- lengths --------------------------------------------------------------------------------


def with_controls(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ids with copies and strewn tokens; the copies' ids (W, 5), the strewn ids (5,)."""
    ids, names = words()
    generator = torch.Generator().manual_seed(1000 + seed)
    order = torch.bincount(ids).argsort(descending=True, stable=True).tolist()
    common = [i for i in order if names[i].isalpha()][:20]
    shares = torch.tensor([8.0, 4.0, 2.0, 1.0, 1.0])
    new, next_id, copies = ids.clone(), len(names), []
    for word in common:
        places = (ids == word).nonzero()[:, 0]
        lot = torch.multinomial(shares, len(places), replacement=True, generator=generator)
        copies.append([word, *range(next_id, next_id + 4)])
        next_id += 4
        new[places] = torch.tensor(copies[-1])[lot]
    places = torch.randperm(len(ids), generator=generator)
    strewn = list(range(next_id, next_id + 5))
    for token, n in zip(strewn, (5, 20, 80, 320, 1280), strict=True):
        new[places[:n]] = token
        places = places[n:]
    return new, torch.tensor(copies), torch.tensor(strewn)


# --- keys -----------------------------------------------------------------------------------


def other_best(C: int, D: int, N: int, seed: int, qk_norm: bool = False) -> tuple[float, float]:
    """N inputs through LayerNorm and random tables of width D: a query asks all keys.

    Gives the share of queries whose key of the largest score is not that of the largest cosine,
    and how many times as long a long key (of 95 in 100) is as a short one (of 5 in 100).
    """
    generator = torch.Generator().manual_seed(seed)
    x = F.layer_norm(torch.randn(N, C, generator=generator), (C,))
    q, k = x @ torch.randn(2, C, D, generator=generator) / C**0.5
    if qk_norm:
        q, k = F.normalize(q, dim=1), F.normalize(k, dim=1)
    short, long = k.norm(dim=1).quantile(torch.tensor([0.05, 0.95]))
    by_score, by_cosine = ((q @ keys.T).argmax(dim=1) for keys in (k, F.normalize(k, dim=1)))
    return share(by_score != by_cosine), (long / short).item()


# --- telling --------------------------------------------------------------------------------


def kept(part: str, key: str, **wanted) -> np.ndarray:
    """What is stored under a key, a row a seed."""
    return over_seeds(runs(stored(2)[part], **wanted), key)


def right(table: str, by: str, steps: int) -> np.ndarray:
    """Shares of listed words found by a measure: (seeds, 2), among the listed and among all."""
    return kept("neighbours", "right", table=table, by=by, steps=steps)


def neighbours_table(ways: Sequence[str], less: str = "") -> str:
    """What is found in both tables at both looks, or how much more than by the measure ``less``."""

    def cells(name, way):
        for column, steps in product((0, 1), FOUND_AT):
            found = right(name, way, steps) - (right(name, less, steps) if less else 0)
            yield percent(found[:, column], unit="")

    return table(
        "rows | | listed, 400 steps | listed, 1200 | all, 400 steps | all, 1200",
        ((name, SPOKEN.get(way, way), *cells(name, way)) for name in TABLES for way in ways),
    )


def of_copies(optimizer: str) -> np.ndarray:
    """Length of the rarest copies over that of the most frequent: (seeds, looks)."""
    lengths = kept("controls", "lengths", tokens="copies", optimizer=optimizer)
    return lengths[:, :, 3:].mean(axis=2) / lengths[:, :, 0]


def scattered(optimizer: str) -> np.ndarray:
    """Lengths of the tokens strewn 5 to 1280 times: (seeds, looks, tokens)."""
    return kept("controls", "lengths", tokens="strewn", optimizer=optimizer)


def controls_at(optimizer: str, look: int) -> tuple[dict, dict]:
    """Occurrences and lengths of copies and strewn tokens at a look: a row a seed, for each."""
    said = {"copies of a word": "copies", "strewn tokens": "strewn"}
    runs_of = {name: {"tokens": t, "optimizer": optimizer} for name, t in said.items()}
    counts = {name: kept("controls", "occurrences", **run) for name, run in runs_of.items()}
    lengths = {name: kept("controls", "lengths", **run)[:, look] for name, run in runs_of.items()}
    return counts, lengths


def keys_table(shapes: Iterable[tuple[int, int]], numbers: Sequence[int]) -> str:
    """Of eight draws each: how often another key is best, and how unequal keys are."""
    rows = []
    for C, D in shapes:
        found = [np.array([other_best(C, D, N, seed) for seed in SEEDS]) for N in numbers]
        rows.append((C, D, *(percent(f[:, 0]) for f in found), spread(found[-1][:, 1])))
    asked = " | ".join(f"different winner among {N} keys" for N in numbers)
    return table(f"width | head | {asked} | long ÷ short key", rows)


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


def one_control(seed: int, *, tokens: str, optimizer: str, steps: int = STEPS) -> dict:
    """Occurrences of copies (means over words) or strewn tokens, and lengths of their input rows.

    The lengths are those at each look but the first.
    """
    new, *both = with_controls(seed)
    ids = both[TOKENS.index(tokens)].view(-1, 5)
    looks = list(inspect(seed, steps, optimizer, controls=True).values())[1:]
    lengths = (look["input rows"].norm(dim=1)[ids].mean(dim=0) for look in looks)
    times = torch.bincount(new)[ids].double().mean(dim=0)
    return {"occurrences": rounded(times, 2), "lengths": [rounded(x) for x in lengths]}


KINDS: dict[str, tuple[Callable[..., dict], dict[str, Iterable]]] = {
    "lengths": (one_length, {"table": TABLES, "optimizer": RATES}),
    "neighbours": (one_search, {"steps": FOUND_AT, "table": TABLES, "by": WAYS}),
    "cloud": (one_cloud, {"table": TABLES[:1], "steps": [400]}),
    "controls": (one_control, {"tokens": TOKENS, "optimizer": RATES}),
}


def settings(part: str) -> list[dict]:
    """What is measured in a part."""
    varied = KINDS[part][1]
    return [dict(zip(varied, values, strict=True)) for values in product(*varied.values())]


def measure(part: str) -> dict:
    """Measure everything in a part."""
    return measured(KINDS[part][0], settings(part), SEEDS, steps=STEPS, looks=list(LOOKS[1:]))


PARTS = {part: partial(measure, part) for part in KINDS}
