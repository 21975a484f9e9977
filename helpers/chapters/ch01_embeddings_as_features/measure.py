"""Train the word table of chapter 01 over seeds, on the tales and shuffled; let its words grow.

The parts, some eight minutes on one core together: ``neighbours``, ten seeds on the tales and on
the shuffled tales, with the share of grouped words whose nearest neighbour is of their group,
during training, and what rounding the table changes; ``growth``, twelve new words in a trained
table, with four starts for their rows; ``nudges``, whether words of a group are nudged alike.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.chapters.common import measured, rounded, train_words, words
from helpers.embeddings import WORD_GROUPS, SurroundingsModel, quantised, surroundings

SEEDS = {"neighbours": range(10), "growth": range(8), "nudges": range(8)}
MOMENTS = (0, 25, 50, 100, 200, 400)  # steps after which the table is kept
TEXTS = ("the tales", "shuffled")
STARTS = ("zero", "random", "mean", "as (rare)")
BITS = (8, 4, 3, 2)
WATCHED = ("said", "two", "she", "wide", "fox", "king")
NEWCOMERS = "seven nine said whispered would she morning green Tom father over their"
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
    """Of each row with each; with itself −2, since nobody is their own neighbour."""
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
    at, of = (words().names.index(name) for name in (word, other))
    cosines_V = cosines(table_VC)[at]
    return int((cosines_V > cosines_V[of]).sum()) + 1


def five_nearest(table_VC: Tensor, word: str) -> list[str]:
    """The five nearest neighbours of a word among all words."""
    names = words().names
    return [names[i] for i in cosines(table_VC)[names.index(word)].topk(5).indices]


def to_bits(table_VC: Tensor, bits: int) -> Tensor:
    """The table, each number rounded to so many bits."""
    codes, scale = quantised(table_VC, bits)
    return codes * scale


def kept_neighbours(table_VC: Tensor, bits: int, among: int = 1) -> float:
    """The share of all words whose nearest stays among the nearest so many."""
    best = cosines(table_VC).argmax(dim=1)
    after = cosines(to_bits(table_VC, bits)).topk(among).indices
    return (after == best[:, None]).any(dim=1).double().mean().item()


# --- training -------------------------------------------------------------------------------


def train_and_keep(
    ids: Tensor, seed: int, steps: int = MOMENTS[-1]
) -> tuple[SurroundingsModel, dict[int, Tensor]]:
    """The trained model, and its table after so many steps."""
    kept = {}

    def keep(step, model):
        if step in MOMENTS:
            kept[step] = model.table.weight.detach().clone()

    model = train_words(ids, seed, steps=steps, on_step=keep)
    keep(steps, model)
    return model, kept


def badness(model: SurroundingsModel, ids: Tensor) -> float:
    """How bad the guesses are, on every eighth covered word of a text."""
    around, covered = surroundings(ids, reach=2)
    parts = zip(around[::8].split(2000), covered[::8].split(2000), strict=True)
    with torch.no_grad():
        sums = [F.cross_entropy(model(a), c, reduction="sum") for a, c in parts]
    return float(sum(sums)) / len(covered[::8])


def seen_and_unseen(model: SurroundingsModel, seed: int) -> list[float]:
    """On the shuffled text of train_words(shuffled(…)), and on another."""
    return [badness(model, shuffled(words().ids, of)) for of in (seed, 1000 + seed)]


# --- new words ------------------------------------------------------------------------------


@cache
def newcomers() -> tuple[Tensor, Tensor, Tensor]:
    """The ids of the twelve words, whether a word is one, and the text with all of them rare."""
    ids, names = words()
    new = torch.tensor([names.index(word) for word in NEWCOMERS.split()])
    is_new = torch.isin(torch.arange(len(names)), new)
    return new, is_new, torch.where(is_new[ids], len(names) - 1, ids)


def started(base: SurroundingsModel, kind: str, seed: int) -> SurroundingsModel:
    """A copy of a model, the newcomers' rows in both tables begun anew."""
    new, is_new, _ = newcomers()
    draws = torch.Generator().manual_seed(seed)
    grown = SurroundingsModel(len(is_new), 32, generator=draws).double()
    with torch.no_grad():
        for copy, rows in zip(grown.parameters(), base.parameters(), strict=True):
            noise = torch.randn(len(new), 32, generator=draws, dtype=rows.dtype)
            starts = {
                "zero": torch.zeros(32, dtype=rows.dtype),
                "random": rows[~is_new].std(dim=0) * noise,
                "mean": rows[~is_new].mean(dim=0),
                "as (rare)": rows[-1],
            }
            copy.copy_(rows)
            copy[new] = starts[kind]
    return grown


def old_and_new(model: SurroundingsModel, seen_as: Tensor | None = None) -> list[float]:
    """How bad the guesses of old words and of newcomers are."""
    ids, is_new = words().ids, newcomers()[1]
    around = surroundings(ids if seen_as is None else seen_as, reach=2)[0][::8]
    covered = surroundings(ids, reach=2)[1][::8]
    with torch.no_grad():
        each = F.cross_entropy(model(around), covered, reduction="none")
    return [each[chosen[covered]].mean().item() for chosen in (~is_new, is_new)]


def grow(base: SurroundingsModel, kind: str, seed: int) -> list[list[float]]:
    """At the start, after 20 and after 100 steps: badness for old and new."""
    grown, badnesses = started(base, kind, seed), []
    for steps in (0, 20, 80):
        if steps:
            train_words(words().ids, seed, steps=steps, model=grown)
        badnesses.append(old_and_new(grown))
    return badnesses


# --- the parts ------------------------------------------------------------------------------


def settings(part: str) -> list[dict]:
    """What is measured in a part."""
    if part == "neighbours":
        return [{"text": text} for text in TEXTS]
    if part == "nudges":
        return [{"text": text, "steps": steps} for text in TEXTS for steps in (50, 200)]
    return [{"start": start} for start in STARTS]


def of_the_tales(table_VC: Tensor) -> dict:
    """What is measured of a table that was trained on the tales."""
    return {
        "rank of queen": rank(table_VC, "king", "queen"),
        "rank of evening": rank(table_VC, "morning", "evening"),
        "five nearest": {word: five_nearest(table_VC, word) for word in WATCHED},
        "kept": rounded(kept_neighbours(table_VC, bits) for bits in BITS),
        "kept among five": rounded(kept_neighbours(table_VC, bits, among=5) for bits in BITS),
        "right": rounded(share_right(to_bits(table_VC, bits)) for bits in BITS),
    }


def one_training(seed: int, *, text: str) -> dict:
    """Shares right over training, and what is measured in the end."""
    ids = words().ids
    if text == "shuffled":
        ids = shuffled(ids, seed)
    model, tables = train_and_keep(ids, seed)
    run = {"shares": rounded(share_right(tables[step]) for step in MOMENTS)}
    if text == "shuffled":
        return run | {"seen and unseen": rounded(seen_and_unseen(model, seed))}
    return run | of_the_tales(tables[MOMENTS[-1]])


def one_growth(seed: int, *, start: str) -> dict:
    """What the old words cost before, and what both cost once the new ones are there."""
    base, before = without_newcomers(seed)
    badness = [rounded(both) for both in grow(base, start, seed)]
    return {"old before": round(before, 4), "badness": badness}


def one_nudging(seed: int, *, text: str, steps: int) -> dict:
    """Mean cosine of the gradients of two rows, for two words of a group and of two groups."""
    ids = words().ids if text != "shuffled" else shuffled(words().ids, seed)
    young = train_words(ids, seed, steps=steps)
    around, covered = (part[::8] for part in surroundings(ids, reach=2))
    loss = F.cross_entropy(young(around), covered)
    (nudges_VC,) = torch.autograd.grad(loss, young.table.weight)
    alike = cosines(nudges_VC[grouped()])
    group = np.array([GROUP_OF[word] for word in GROUPED])
    same = torch.tensor(group[:, None] == group)
    pairs = (same.clone().fill_diagonal_(False), ~same)
    return dict(zip(("inside", "outside"), rounded(alike[of].mean() for of in pairs), strict=True))


@cache
def without_newcomers(seed: int) -> tuple[SurroundingsModel, float]:
    """A model trained while the twelve words were rare; how badly it guesses the others."""
    seen_as = newcomers()[2]
    base = train_words(seen_as, seed, steps=200)
    return base, old_and_new(base, seen_as)[0]


def neighbours() -> dict:
    """Both texts, every seed."""
    return measured(one_training, settings("neighbours"), SEEDS["neighbours"])


def growth() -> dict:
    """Every start of the new rows, from one trained table a seed."""
    return measured(one_growth, settings("growth"), SEEDS["growth"])


def nudges() -> dict:
    """Both texts, early and later in training."""
    return measured(one_nudging, settings("nudges"), SEEDS["nudges"])


PARTS = {"neighbours": neighbours, "growth": growth, "nudges": nudges}
