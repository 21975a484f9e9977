"""Chapter 12's measurements: small GPTs on the valley's tales, readers of pronouns, and copiers.

The parts: ``storytellers``, smaller GPTs of the shipped one's kind, which are asked what it is
asked (nine minutes); ``pronouns``, readers of made sentences (five minutes); ``copying``, models
that learn to repeat a word (five minutes).
"""

from itertools import islice
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import interpret, minigpt
from helpers.chapters.ch12_inside_the_gpt import copiers, probes, readers
from helpers.chapters.ch12_inside_the_gpt.probes import IT, TOO, WATER
from helpers.chapters.lab import Part, parts_of, seeded

STORYTELLER: dict[str, Any] = {"T": 64, "C": 64, "H": 4, "L": 4}
TELL: dict[str, Any] = {"steps": 1000, "batch": 16, "lr": 0.003}
BEGIN = 5  # losses of a storyteller that are stored
EVERY = 20  # updates between two looks at a copier


def rounded(value: Any, digits: int = 3) -> Any:
    """A number, or lists of numbers, with few digits."""
    if isinstance(value, dict):
        return {key: rounded(part, digits) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part, digits) for part in value]
    return round(value, digits)


# --- storytellers ---------------------------------------------------------------------------


@torch.no_grad()
def nats(model: nn.Module, x_NT: Tensor, y_NT: Tensor) -> float:
    """The mean loss at all positions."""
    return F.cross_entropy(model(x_NT).mT, y_NT).item()


def costs(model: nn.Module, x_NT: Tensor, y_NT: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """How much the loss rises without each head (L, H), and without all heads of a layer (L,)."""
    whole, L, H = nats(model, x_NT, y_NT), len(model.blocks), model.blocks[0].attention.H

    def without(heads) -> float:
        with interpret.without_heads(model, heads):
            return nats(model, x_NT, y_NT) - whole

    each = [[without([(n, h)]) for h in range(1, H + 1)] for n in range(1, L + 1)]
    together = [without([(n, h) for h in range(1, H + 1)]) for n in range(1, L + 1)]
    return np.array(each), np.array(together)


@torch.no_grad()
def ending(model: nn.Module, ids_NT: Tensor, end_N: Tensor) -> float:
    """The mean probability of these words after these texts."""
    return model(ids_NT)[:, -1].softmax(-1).gather(1, end_N[:, None]).mean().item()


def unread(model: nn.Module, ids_NT: Tensor, end_N: Tensor, position: int, read: int) -> list:
    """The same where one position can't read another, layer by layer."""
    found = []
    for layer in range(1, len(model.blocks) + 1):
        with interpret.without_reading(model, layer, position, read):
            found.append(ending(model, ids_NT, end_N))
    return found


def by_level(model: nn.Module, ids_NT: Tensor, end_N: Tensor) -> list:
    """The same by the lens, level by level."""
    logits = [interpret.lens(model, x_NTC[:, -1:]) for x_NTC in interpret.stream(model, ids_NT)]
    return [x[:, 0].softmax(-1).gather(1, end_N[:, None]).mean().item() for x in logits]


def answers(model: nn.Module) -> dict:
    """What a GPT of the valley's tales does with texts that it never saw."""
    x_NT, y_NT = probes.windows()
    cost_LH, together_L = costs(model, x_NT, y_NT)
    crossing, end_N = probes.crossings()
    tired_N = torch.full_like(end_N, probes.tales().tokenizer.ids[" tired"])
    help_NT, _, name_N, _ = probes.named()
    found = {
        "validation": nats(model, x_NT, y_NT),
        "cost": cost_LH.tolist(),
        "together": together_L.tolist(),
        "crossing": ending(model, crossing, end_N),
        "crossing by level": by_level(model, crossing, end_N),
        "without water": unread(model, crossing, end_N, TOO, WATER),
        "without it": unread(model, crossing, end_N, TOO, IT),
        "tired": ending(model, crossing, tired_N),
        "tired without it": unread(model, crossing, tired_N, TOO, IT),
        "name": ending(model, help_NT, name_N),
    }
    return rounded(found)


def storyteller(seed: int, stop: int | None = None) -> tuple[minigpt.GPT, list[float]]:
    """A smaller GPT of the shipped one's kind, trained on the valley's tales, and its losses.

    stop: the update after which its training is broken off.
    """
    tokenizer, train_N, _ = probes.tales()
    with seeded(seed):
        model = minigpt.GPT(len(tokenizer.vocab), **STORYTELLER)
        losses = [loss for _, loss in islice(minigpt.train(model, train_N, **TELL), stop)]
    return model.eval(), losses


def of_storyteller(seed: int) -> dict:
    """How its training begins, and what it answers in the end."""
    model, losses = storyteller(seed)
    return {"first losses": rounded(losses[:BEGIN])} | answers(model)


# --- readers and copiers --------------------------------------------------------------------


def of_reader(seed: int, *, L: int) -> dict:
    """What a trained reader of words does with sentences that it never saw."""
    reader = readers.teach(readers.reader_of_words(L, seed=seed), seed=seed)
    return rounded(readers.measures(reader, readers.sentences().asked_ids))


def of_copier(seed: int, *, L: int) -> dict:
    """A copier in the course of its training, and its loss without each head in the end.

    Of seed 0 with two layers also the weights, in whole percent and on one row, of the head of
    layer 2 that ends up reading most what followed.
    """
    looks: list[dict] = []

    def look(step: int, model: nn.Module) -> None:
        if step % EVERY == 0:
            looks.append(copiers.look_at(model))

    model = copiers.learn_to_copy(copiers.copier(L, seed=seed), seed=seed, look=look)
    looks.append(copiers.look_at(model))
    without = np.zeros((L, copiers.SIZES["H"]))
    for layer, head in np.ndindex(*without.shape):
        with interpret.without_heads(model, [(layer + 1, head + 1)]):
            without[layer, head] = copiers.look_at(model)["loss"]
    run = {"without": without.tolist(), "loss": looks[-1]["loss"]}
    run |= {f"{key} by update": [x[key] for x in looks] for key in ("loss", "before", "followed")}
    if seed > 0 or L == 1:
        return rounded(run)
    head = int(np.argmax(looks[-1]["followed"][1]))
    return rounded(run) | {
        "maps": [(100 * x["map"][1, head]).round().int().tolist() for x in looks]
    }


# --- what the chapter shows -----------------------------------------------------------------


def span(values, kind: str = ".0%") -> str:
    """The smallest and the largest, over seeds or heads."""
    low, high = (f"{f(np.ravel(values)):{kind}}".replace("-", "−") for f in (np.min, np.max))
    return low if low == high else f"{low} … {high}"


@torch.no_grad()
def likeliest(logits_V: Tensor, n: int = 3) -> str:
    """The likeliest tokens of the valley's tales, with their probabilities."""
    p_V, vocab = logits_V.softmax(dim=-1), probes.tales().tokenizer.vocab
    return ", ".join(f"{vocab[i].strip()} {p_V[i]:.2f}" for i in p_V.topk(n).indices.tolist())


@torch.no_grad()
def seen_by_the_lens(model: nn.Module, ids_1T: Tensor, end: str, n: int = 5) -> tuple:
    """Of the last n tokens: the likeliest next ones by level, p of the right ones, and the tokens.

    end: the right one after the last.
    """
    tokenizer = probes.tales().tokenizer
    right_T = torch.cat([ids_1T[0, 1:], torch.tensor([tokenizer.ids[end]])])[-n:]
    levels = interpret.stream(model, ids_1T)
    p_RTV = torch.stack([interpret.lens(model, x)[0, -n:] for x in levels]).softmax(dim=-1)
    words = [
        [tokenizer.vocab[i].strip() for i in row]
        for row in [*p_RTV.argmax(dim=-1).tolist(), ids_1T[0, -n:].tolist()]
    ]
    return words[:-1], p_RTV[:, range(n), right_T].numpy(), words[-1]


def copied_row() -> list[int]:
    """A word of the longest kind, twice."""
    generator = torch.Generator().manual_seed(99)
    return copiers.repeats(1, generator, low=copiers.LONGEST)[0][0, :32].tolist()


def kept(part: str, key: str, **setting) -> np.ndarray:
    """What all seeds of a setting hold under a key."""
    return np.array([run[key] for run in PARTS[part].runs(**setting)])


def copied() -> dict:
    """Copiers of two layers, a row a seed: in training, and what they lose without a head.

    "stripe" is the head of layer 2 that ends up reading most what followed, "previous" the one of
    layer 1 that reads the letter before; "other" are the costliest of the rest, in layer 2 of those
    with less than half of their weight on the stripe.
    """
    followed, before, losses, without = (
        kept("copying", key, L=2)
        for key in ("followed by update", "before by update", "loss by update", "without")
    )
    cost_SLH = without - losses[:, -1, None, None]
    stripe, previous = followed[:, -1, 1].argmax(axis=1), before[:, -1, 0].argmax(axis=1)
    seeds, last = range(len(losses)), followed[:, -1, 1]
    others = np.arange(cost_SLH.shape[2]) != previous[:, None]
    return {
        "losses": losses,
        "followed": followed[:, :, 1].max(axis=2),
        "before": before[:, :, 0].max(axis=2),
        "stripe cost": cost_SLH[seeds, 1, stripe],
        "other stripe cost": np.where(last < 0.5, cost_SLH[:, 1], 0).max(axis=1),
        "stripes": (last > 0.5).sum(axis=1),
        "previous cost": cost_SLH[seeds, 0, previous],
        "other previous cost": np.where(others, cost_SLH[:, 0], 0).max(axis=1),
        "head": stripe[0] + 1,
        "maps": PARTS["copying"].runs(L=2)[0]["maps"],
    }


PARTS = parts_of(
    12,
    {
        "storytellers": Part(
            run=of_storyteller, settings=[{}], more={"model": STORYTELLER, "training": TELL}
        ),
        "pronouns": Part(
            run=of_reader,
            settings=[{"L": L} for L in (1, 2, 3, 4)],
            more={"model": readers.SIZES, "training": readers.TEACH},
        ),
        "copying": Part(
            run=of_copier,
            settings=[{"L": L} for L in (1, 2)],
            more={"model": copiers.SIZES, "training": copiers.COPY},
        ),
    },
)
