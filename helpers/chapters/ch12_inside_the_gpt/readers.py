"""Readers of pronouns: sentences in which one word decides whom "it" means, and GPTs of words.

They have no causal mask, so that "it" can read the word that decides.
"""

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import interpret, variants
from helpers.chapters.ch12_inside_the_gpt.copiers import learn
from helpers.chapters.lab import seeded

SIZES: dict[str, Any] = {"T": 12, "C": 32, "H": 4}
TEACH: dict[str, Any] = {"steps": 500, "batch_size": 64, "lr": 0.003}

# --- sentences ------------------------------------------------------------------------------

ANIMALS = (
    "fox goat bear donkey otter hare hedgehog mouse owl crow cow dog "
    "horse cat hen lamb frog duck goose pig"
)
STORY = {  # verb: things, adjectives that speak of the thing, of the animal
    "cross": ("stream bridge field road river", "wide deep cold", "tired weak small"),
    "pass": ("gate door gap barn hole", "narrow low small", "wide big fat"),
    "lift": ("sack stone log bucket basket", "heavy big wide", "weak tired small"),
    "reach": ("apple nest shelf branch map", "high far deep", "short small old"),
}
WHO, WHAT, IT, HOW, ANSWER = 1, 6, 8, 11, 14  # positions in a sentence

Case = tuple[str, str, str, str, str]


class Sentences(NamedTuple):
    """Every case (animal, verb, thing, adjective, referent), and how they are dealt out.

    One pair in five of animal and thing is held out, and asked about; from the others the readers
    learn. A row of ids is one case, said.
    """

    every_case: list[Case]
    held_out: set[tuple[str, str]]
    vocabulary: list[str]
    learned_ids: Tensor
    asked_cases: list[Case]
    asked_ids: Tensor


def say(animal, verb, thing, adjective, referent):
    """Say it: what was not done and why, and whom the adjective is about."""
    return (
        f"the {animal} did not {verb} the {thing} because it was too "
        f"{adjective} . the {referent} was too {adjective} ."
    )


@cache
def sentences() -> Sentences:
    """All sentences that can be made of ANIMALS and STORY."""
    cases = [
        (animal, verb, thing, adjective, referent)
        for animal, verb in product(ANIMALS.split(), STORY)
        for thing in STORY[verb][0].split()
        for adjectives, referent in zip(STORY[verb][1:], (thing, animal), strict=True)
        for adjective in adjectives.split()
    ]
    pairs = list(dict.fromkeys((case[0], case[2]) for case in cases))
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))
    held_out = {pairs[i] for i in order[: len(pairs) // 5].tolist()}
    vocabulary = sorted({word for case in cases for word in say(*case).split()})
    learned = [case for case in cases if (case[0], case[2]) not in held_out]
    asked = [case for case in cases if (case[0], case[2]) in held_out]
    ids = (_ids(part, vocabulary) for part in (learned, asked))
    return Sentences(cases, held_out, vocabulary, next(ids), asked, next(ids))


def _ids(cases, vocabulary) -> Tensor:
    number = {word: i for i, word in enumerate(vocabulary)}
    return torch.tensor([[number[word] for word in say(*case).split()] for case in cases])


# --- readers --------------------------------------------------------------------------------


def reader_of_words(L: int, *, seed: int) -> variants.GPT:
    """A GPT of width 32 without a mask, untrained."""
    with seeded(seed):
        return variants.GPT(len(sentences().vocabulary), L=L, causal=False, **SIZES)


def question(ids_NT: Tensor) -> tuple[Tensor, Tensor]:
    """The first sentence up to its adjective, and the word that the second one names."""
    return ids_NT[:, : HOW + 1], ids_NT[:, ANSWER]


def teach(reader: nn.Module, *, seed: int) -> nn.Module:
    """Train a reader on the sentences that are not held out: at "it" it names the referent."""
    generator, learned_ids = torch.Generator().manual_seed(seed), sentences().learned_ids

    def batches():
        while True:
            at = torch.randint(len(learned_ids), (TEACH["batch_size"],), generator=generator)
            yield question(learned_ids[at])

    def loss(logits_BTV, answer_B):
        return F.cross_entropy(logits_BTV[:, IT], answer_B)

    return learn(reader, loss, batches(), steps=TEACH["steps"], lr=TEACH["lr"])


def referents(ids_NT: Tensor) -> Tensor:
    """Positions of the right candidates."""
    return torch.where(ids_NT[:, ANSWER] == ids_NT[:, WHO], WHO, WHAT)


@torch.no_grad()
def measures(reader: nn.Module, ids_NT: Tensor) -> dict[str, Any]:
    """What a reader does with these sentences.

    "resolved": how many it gets right; "right" (L, H): the weight of "it" on the right word;
    "lens" (L + 1): right by the lens; "cut right" (L): right where a layer can't read that word.
    """
    (shown, answer_N), right_N = question(ids_NT), referents(ids_NT)

    def fraction(logits_NTV: Tensor) -> float:
        return (logits_NTV[:, IT].argmax(dim=-1) == answer_N).float().mean().item()

    with interpret.record_attention(reader) as weights:
        resolved = fraction(reader(shown))
    cut = []
    for layer in range(1, len(weights) + 1):
        with interpret.without_reading(reader, layer, IT, right_N):
            cut.append(fraction(reader(shown)))
    rows = torch.arange(len(right_N))
    return {
        "resolved": resolved,
        "right": [a[rows, :, IT, right_N].mean(0).tolist() for a in weights],
        "lens": [fraction(interpret.lens(reader, x)) for x in interpret.stream(reader, shown)],
        "cut right": cut,
    }
