"""Neighbours and lengths of rows over training, for chapter 02, and lengths with controls.

The parts, about a minute each on one core: ``lengths``, how a row's length goes with the count of
its word, after 25 to 1200 steps; ``neighbours``, the share of listed words whose nearest is of
their list, by each measure and after centring and whitening; ``controls``, lengths of copies that
share one word's use unevenly, and of tokens that are strewn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers import corpus
from helpers.chapters.common import rounded
from helpers.embeddings import (
    MEASURES,
    WORD_GROUPS,
    SurroundingsModel,
    centre,
    frequent,
    rank_correlation,
    similarities,
    surroundings,
    whiten,
)
from helpers.training import train

SEEDS = range(5)
STEPS = 1200
LOOKS = (0, 25, 100, 400, 1200)  # the steps at which lengths are looked at
TABLES = ("input rows", "output rows")
TOKENS = ("copies", "strewn")
WAYS = (*MEASURES, "centred", "whitened")
FOUND_AT = (400, 1200)  # the steps at which neighbours are counted


# --- the words and their training -----------------------------------------------------------


class Words(NamedTuple):
    """The tales as ids, the last of which stands for all rare words; the others, and how often."""

    ids: Tensor
    names: list[str]
    counts: Tensor


@cache
def tales() -> Words:
    """The tales, words that occur fewer than five times as one."""
    tokenizer = corpus.WordTokenizer(corpus.load())
    ids, kept = frequent(tokenizer.encode(corpus.load()), at_least=5)
    return Words(ids, [tokenizer.vocab[i] for i in kept], torch.bincount(ids)[:-1])


def trained(
    seed: int, ids: Tensor | None = None, steps: int = 400, watch: Callable | None = None
) -> SurroundingsModel:
    """Train a model to guess each word from the two before it and the two after it."""
    ids = tales().ids if ids is None else ids
    around, middle = surroundings(ids, reach=2)
    generator = torch.Generator().manual_seed(seed)
    model = SurroundingsModel(len(ids.unique()), 32, generator=generator)

    def batches():
        while True:
            at = torch.randint(len(middle), (512,), generator=generator)
            yield around[at], middle[at]

    train(
        model,
        F.cross_entropy,
        batches(),
        steps=steps,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.02),
        on_step=watch and (lambda record: watch(record.step, model)),
    )
    return model


def rows_of(model: SurroundingsModel) -> list[Tensor]:
    """Both tables without the row of the rare, in float64."""
    V = len(tales().names)
    return [t.detach()[:V].double().clone() for t in (model.table.weight, model.output)]


def looked_at(seed: int, steps: int) -> tuple[SurroundingsModel, list[list[Tensor]]]:
    """A trained model, and both tables at each of LOOKS up to the last step."""
    seen = []

    def watch(step, model):
        if step in LOOKS:
            seen.append(rows_of(model))

    model = trained(seed, steps=steps, watch=watch)
    return model, [*seen, rows_of(model)]


# --- neighbours -----------------------------------------------------------------------------


def share(hits: Tensor) -> float:
    """The share of hits."""
    return hits.double().mean().item()


@cache
def listed() -> tuple[Tensor, Tensor]:
    """The list of each word, −1 for most, and the words that are in one."""
    names = tales().names
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


def found_by(table: Tensor) -> dict[str, list[float]]:
    """What each measure finds, and cosine in the centred and in the whitened table."""
    found = {measure: found_right(table, measure) for measure in MEASURES}
    treated = {"centred": centre(table), "whitened": whiten(table)}
    return found | {how: found_right(t, "cosine") for how, t in treated.items()}


# --- lengths --------------------------------------------------------------------------------


def correlations(looks: list[list[Tensor]]) -> np.ndarray:
    """Of count and length at each look but the first, for input and output rows."""
    counts = tales().counts
    return np.array(
        [[rank_correlation(counts, rows.norm(dim=1)) for rows in look] for look in looks[1:]]
    ).T


def with_controls(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ids with copies and strewn tokens; the copies' ids (W, 5), the strewn ids (5,)."""
    ids, words, counts = tales()
    generator = torch.Generator().manual_seed(1000 + seed)
    order = counts.argsort(descending=True, stable=True).tolist()
    common = [i for i in order if words[i].isalpha()][:20]
    shares = torch.tensor([8.0, 4.0, 2.0, 1.0, 1.0])
    new, next_id, copies = ids.clone(), len(words) + 1, []
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


def controls(seed: int, steps: int) -> dict[str, tuple[Tensor, Tensor]]:
    """Occurrences of copies (means over words) and of strewn tokens; lengths of their input rows.

    The lengths are those at each of LOOKS but the first, up to the last step.
    """
    new, copies, strewn = with_controls(seed)
    seen = []

    def watch(step, model):
        if step in LOOKS[1:]:
            seen.append(model.table.weight.detach().norm(dim=1))

    model = trained(seed, ids=new, steps=steps, watch=watch)
    seen.append(model.table.weight.detach().norm(dim=1))
    times = torch.bincount(new).double()
    of_copies = torch.stack([x[copies].mean(dim=0) for x in seen])
    return {
        "copies": (times[copies].mean(dim=0), of_copies),
        "strewn": (times[strewn], torch.stack([x[strewn] for x in seen])),
    }


# --- the parts ------------------------------------------------------------------------------


def settings(part: str) -> list[dict]:
    """What is measured in a part."""
    if part == "lengths":
        return [{"table": table, "steps": STEPS} for table in TABLES]
    if part == "neighbours":
        return [
            {"table": table, "steps": steps, "by": way}
            for steps, table, way in product(FOUND_AT, TABLES, WAYS)
        ]
    return [{"tokens": tokens, "steps": STEPS} for tokens in TOKENS]


def of_looks(part: str, looks: list[list[Tensor]]) -> list[dict]:
    """What is kept of one training, for each setting of the part that its looks reach."""
    if part == "lengths":
        return [{"correlations": rounded(found)} for found in correlations(looks)]
    at = dict(zip(LOOKS, looks, strict=False))
    return [
        {"right": rounded(found[way])}
        for step in FOUND_AT
        if step in at
        for found in map(found_by, at[step])
        for way in WAYS
    ]


def of_controls(seed: int, steps: int = STEPS) -> list[dict]:
    """Occurrences and lengths of copies, and of strewn tokens."""
    return [
        {"occurrences": rounded(occurrences, 2), "lengths": [rounded(x) for x in lengths]}
        for occurrences, lengths in controls(seed, steps=steps).values()
    ]


def one_seed(part: str, seed: int) -> list[dict]:
    """The measurements of one seed, one for each setting of the part."""
    if part == "controls":
        return of_controls(seed)
    return of_looks(part, looked_at(seed, steps=STEPS)[1])


def measure(part: str) -> dict:
    """Measure everything in a part, one training a seed."""
    found = [setting | {"runs": []} for setting in settings(part)]
    for seed in SEEDS:
        for setting, run in zip(found, one_seed(part, seed), strict=True):
            setting["runs"].append({"seed": seed} | run)
    looks = {} if part == "neighbours" else {"looks": list(LOOKS[1:])}
    return {"seeds": list(SEEDS), **looks, "settings": found}


PARTS = {part: partial(measure, part) for part in ("lengths", "neighbours", "controls")}
