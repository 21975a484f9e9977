"""What a GPT of the valley's tales is asked: how a sentence ends, and whose name comes next."""

from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from helpers import corpus, interpret, minigpt, valley
from helpers.chapters.lab import Split

CROSSING = "The {} did not cross the {} because {} was too"
WATER, IT, TOO = 6, 8, 10  # positions
HELP = (
    "After the harvest {} the {} lost {} red scarf.\n\n"
    'Soon Ben the miller came by with a song. "Can I help you,'
)
NAME, AFTER_NAME, ASK = 3, 4, 29


def facts(*names: str) -> list[dict[str, str]]:
    """The rows of the tales' grammar that hold these names."""
    for columns, rows in valley.grammar()["facts"].items():
        found = [dict(zip(columns.split(", "), row.split(", "), strict=True)) for row in rows]
        if set(names) <= set(found[0]):
            return found
    raise ValueError(f"no row holds {names}")


@cache
def tales() -> Split:
    """The valley's tales in words, read and split once."""
    tokenizer = minigpt.Tokenizer(valley.text(), minigpt.WORDS)
    return Split(tokenizer, *corpus.split(tokenizer.encode(valley.text())))


def windows(n: int = 128, T: int = 64) -> tuple[Tensor, Tensor]:
    """Evenly spaced windows of tales that no model has seen, and what follows, (n, T) each."""
    ids = tales().validation
    at_NT = torch.linspace(0, len(ids) - T - 1, n).long()[:, None] + torch.arange(T)
    return ids[at_NT], ids[at_NT + 1]


def crossings(pronoun: str = "") -> tuple[Int[Tensor, "N T"], Int[Tensor, " N"]]:
    """Every hero at every water, and the word that the tales end the sentence with.

    pronoun: "it" unless given; "they" is the hero's own, she or he.
    """
    tokenizer = tales().tokenizer
    cases = [(who, what) for who in facts("kind") for what in facts("water")]
    texts = [
        CROSSING.format(who["kind"], what["water"], who.get(pronoun, "it")) for who, what in cases
    ]
    ends = torch.tensor([tokenizer.ids[" " + what["too"]] for _, what in cases])
    return torch.stack([tokenizer.encode(text) for text in texts]), ends


def named() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ben offers help to each other hero; the same with the next one's name; and the two names."""
    tokenizer, here, there, names = tales().tokenizer, [], [], []
    for they in ("she", "he"):
        heroes = [row for row in facts("hero") if row["they"] == they and row["hero"] != "Ben"]
        for who, other in zip(heroes, heroes[1:] + heroes[:1], strict=True):
            pair = who["hero"], other["hero"]
            texts = (HELP.format(name, who["kind"], who["their"]) for name in pair)
            here_T, there_T = map(tokenizer.encode, texts)
            here.append(here_T)
            there.append(there_T)
            names.append([tokenizer.ids[" " + name] for name in pair])
    return torch.stack(here), torch.stack(there), *torch.tensor(names).T


@torch.no_grad()
def how_far(
    model: torch.nn.Module, here_NT: Tensor, there_NT: Tensor, a_N: Tensor, b_N: Tensor
) -> Float[Tensor, "R T"]:
    """How far the answer moves from a to b when one vector of one level is exchanged, (L + 1, T).

    The answer is the logit of b minus that of a after the last token; 0 is the run here, 1 there.
    """

    def lead(ids_NT: Tensor) -> Tensor:
        logits_NV = model(ids_NT)[:, -1]
        return (logits_NV.gather(1, b_N[:, None]) - logits_NV.gather(1, a_N[:, None])).mean()

    levels = interpret.stream(model, there_NT)
    start, end = lead(here_NT), lead(there_NT)
    moved_RT = torch.zeros(len(levels), here_NT.shape[1])
    for level, position in np.ndindex(*moved_RT.shape):
        with interpret.patched(model, level, position, levels[level][:, position]):
            moved_RT[level, position] = (lead(here_NT) - start) / (end - start)
    return moved_RT
