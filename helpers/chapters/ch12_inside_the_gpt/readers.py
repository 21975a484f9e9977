"""Readers of pronouns: sentences in which one word decides whom "it" means, and GPTs of words."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.attention import SelfAttention
from helpers.chapters.ch12_inside_the_gpt.ablations import (
    stream_of,
    with_cut,
    with_patch,
)
from helpers.gpt import GPT, GPTConfig
from helpers.record import record_attention
from helpers.training import train

READER: dict[str, Any] = {"context": 18, "heads": 4, "width": 32}
TEACH: dict[str, Any] = {"steps": 500, "batch_size": 64, "lr": 0.003, "weight_decay": 0.1}

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
WHO, WHAT, IT, HOW, ASK, ANSWER = 1, 6, 8, 11, 13, 14  # places in a sentence


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


def ids_of(cases) -> Tensor:
    """The ids of the words of cases, said: a row each."""
    return _ids(cases, sentences().vocabulary)


def _ids(cases, vocabulary) -> Tensor:
    number = {word: i for i, word in enumerate(vocabulary)}
    return torch.tensor([[number[word] for word in say(*case).split()] for case in cases])


def couples() -> tuple[Tensor, Tensor]:
    """Cases that were held out, two by two alike but for the adjective, which speaks of the thing
    in the first part and of the animal in the second.
    """
    by_pair = sentences().asked_ids.unflatten(0, (-1, 2, 3))  # three adjectives of each kind
    return by_pair[:, 0].flatten(0, 1), by_pair[:, 1].flatten(0, 1)


# --- readers --------------------------------------------------------------------------------


def reader_of_words(L, *, seed, causal=True):
    """A GPT of width 32; with causal=False words read ahead, too."""
    config = GPTConfig(vocab_size=len(sentences().vocabulary), layers=L, **READER)
    reader = GPT(config, generator=torch.Generator().manual_seed(seed))
    for part in reader.modules():
        if isinstance(part, SelfAttention):
            part.causal = causal
    return reader


def question(ids_NT, causal):
    """What the reader is shown, and the place where it is asked."""
    return (ids_NT[:, :ANSWER], ASK) if causal else (ids_NT[:, : ASK - 1], IT)


def batches_of_sentences(causal, seed) -> Iterator[tuple[Tensor, Tensor]]:
    """Sentences to learn from without end, and what the reader is to say at its place."""
    learned_ids = sentences().learned_ids
    generator = torch.Generator().manual_seed(seed)
    while True:
        at = torch.randint(len(learned_ids), (TEACH["batch_size"],), generator=generator)
        ids = learned_ids[at]
        if causal:  # the loss is on the second sentence, all of which can be known
            yield ids[:, :-1], ids[:, ANSWER:]
        else:
            yield question(ids, causal)[0], ids[:, ANSWER : ANSWER + 1]


def teach(reader, *, causal, seed):
    """Train a reader on the sentences that are not held out."""
    place = ASK if causal else IT

    def loss(logits_BTV, y_BT):
        asked = logits_BTV[:, place : place + y_BT.shape[1]]
        return F.cross_entropy(asked.mT, y_BT)

    how = {name: TEACH[name] for name in ("lr", "weight_decay")}
    adam = torch.optim.AdamW(reader.parameters(), **how)
    batches = batches_of_sentences(causal, seed)
    train(reader, loss, batches, steps=TEACH["steps"], optimizer=adam)
    return reader.eval()


# --- what is measured of them ---------------------------------------------------------------


def referents(ids_NT):
    """Places of the right candidates."""
    return torch.where(ids_NT[:, ANSWER] == ids_NT[:, WHO], WHO, WHAT)


def measures(reader, causal, ids_NT):
    """All that is measured of a reader, on these sentences."""
    shown, place = question(ids_NT, causal)
    right_N = referents(ids_NT)
    with torch.no_grad(), record_attention(reader) as maps:
        logits = reader(shown)

    def share(logits_NTV):  # of sentences in which the right word is the likeliest
        hits_N = logits_NTV[:, place].argmax(dim=-1) == ids_NT[:, ANSWER]
        return hits_N.float().mean().item()

    def without(layer):
        return share(with_cut(reader, shown, layer, place, right_N))

    towards = [a[:, :, place].transpose(1, 2) for a in maps]  # (N, T, H)
    return {
        "resolved": share(logits),
        "right": [a[torch.arange(len(a)), right_N].mean(0).tolist() for a in towards],
        "lens": [share(reader.head(reader.norm(x))) for x in stream_of(reader, shown)],
        "cut right": [without(layer) for layer in range(len(maps))],
    }


def how_far(reader, here, there):
    """For each level and place, the part of the way from here to there."""
    shown_here, shown_there = here[:, :ANSWER], there[:, :ANSWER]
    options = here[:, ANSWER], there[:, ANSWER]  # the right words of the two

    def leaning(logits_NTV):
        a, b = (logits_NTV[:, ASK].gather(1, o[:, None])[:, 0] for o in options)
        return (b - a).mean().item()

    with torch.no_grad():
        start, end = leaning(reader(shown_here)), leaning(reader(shown_there))

    def part_of_the_way(level, place, x_NTC):
        patched = with_patch(reader, shown_here, level, place, x_NTC[:, place])
        return (leaning(patched) - start) / (end - start)

    levels = enumerate(stream_of(reader, shown_there))
    return np.array([[part_of_the_way(n, at, x) for at in range(ANSWER)] for n, x in levels])
