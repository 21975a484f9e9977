"""Chapter 12's measurements: a GPT on the tales, readers of pronouns, and copiers.

The parts: ``tales``, the model that ships, by the command that is stored with it (five minutes on
one core; the run is kept in runs/inside, and taken up there if it was stopped); ``pronouns``,
readers of made sentences, two of which ship (three minutes); ``copying``, models that learn to
repeat a word (three minutes); ``patching`` and ``edges``, the same readers and copiers trained
again, by the same seeds, and tested in further ways (two minutes). What ships is written to
helpers/data/checkpoints.
"""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import bigram, corpus
from helpers import train as command
from helpers.attention import watching
from helpers.chapters import stored
from helpers.chapters.ch12_inside_the_gpt.ablations import with_hooks, without_heads, without_part
from helpers.chapters.ch12_inside_the_gpt.copiers import (
    COPY,
    copier,
    learn_to_copy,
    look_at,
    loss_when_known,
    repeats,
)
from helpers.chapters.ch12_inside_the_gpt.readers import (
    HOW,
    OWN,
    TEACH,
    couples,
    how_far,
    measures,
    question,
    reader_of_words,
    resolved,
    sentences,
    teach,
    verb_passed_over,
)
from helpers.chapters.common import letters, measured, runs
from helpers.training import checkpoints

SHIPPED = Path(str(files("helpers"))) / "data" / "checkpoints"
EVERY = 25  # updates between two looks at a copier
BEGIN = 10  # first losses of the run on the tales that are stored
KEPT = {(True, 3): "asked", (False, 4): "both_ways"}  # readers of seed 0 that ship
RUN = "runs/inside"
COMMAND = f"--preset tales --out {RUN}"
SETTINGS: dict[str, list[dict]] = {
    "tales": [{"preset": "tales"}],
    "pronouns": [
        *({"causal": True, "L": L} for L in (1, 2, 3)),
        *({"causal": False, "L": L} for L in (1, 2, 3, 4)),
    ],
    "copying": [{"L": L} for L in (1, 2)],
    "patching": [{"causal": True, "L": 3}],
    "edges": [{"L": 2}],
}
SEEDS = {part: range(1 if part == "tales" else 8) for part in SETTINGS}


def settings(part: str) -> list[dict]:
    """What is trained in a part, each setting with every seed."""
    return SETTINGS[part]


def rounded(value, digits: int = 4):
    """A number, or lists of numbers, with few digits."""
    if isinstance(value, dict):
        return {key: rounded(part, digits) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part, digits) for part in value]
    return round(value, digits)


def shape_of(model: nn.Module) -> dict:
    """Each field of a model's configuration but its depth, which is a setting."""
    return {name: value for name, value in asdict(model.config).items() if name != "layers"}


# --- the model that ships -------------------------------------------------------------------


def tales() -> dict:
    """Train by the command, and ship the model without what only training needs."""
    more = ["--resume"] if checkpoints.every(Path(RUN)) else []
    if (status := command.main([*COMMAND.split(), "--quiet", *more])) != 0:
        raise RuntimeError(f"the command ended with status {status}")
    whole = checkpoints.load(Path(RUN))
    kept = [record for record in whole.records if record["validation"] is not None]
    ship("tales", whole.step, whole.model, whole.config, kept, whole.extra)
    run = {
        "validation": round(kept[-1]["validation"], 4),
        "after updates": [record["step"] + 1 for record in kept],
        "then": rounded([record["validation"] for record in kept]),
        "first losses": rounded([record["loss"] for record in whole.records[:BEGIN]]),
    }
    return {
        "seeds": [whole.config["seed"]],
        "command": f"python -m helpers.train {COMMAND}",
        "model": whole.extra["model"],
        "training": whole.extra["training"],
        "settings": [SETTINGS["tales"][0] | {"runs": [{"seed": whole.config["seed"]} | run]}],
    }


def ship(
    name: str, step: int, model: dict[str, Tensor], config: dict, records: list, extra: dict
) -> None:
    """Put a model into the package, as a checkpoint with the parameters alone."""
    for old in checkpoints.every(SHIPPED / name):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    whole = checkpoints.Checkpoint(
        step=step, model=model, config=config, records=records, extra=extra
    )
    checkpoints.save(SHIPPED / name, whole)


# --- readers of pronouns --------------------------------------------------------------------


def of_reader(seed: int, *, causal: bool, L: int) -> dict:
    """What a trained reader of words does with sentences that it never saw; some of them ship."""
    reader = teach(reader_of_words(L, seed=seed, causal=causal), causal=causal, seed=seed)
    if seed == 0 and (causal, L) in KEPT:
        ship_reader(KEPT[causal, L], reader, seed, causal)
    return rounded(measures(reader, causal, sentences().asked_ids))


def ship_reader(name: str, reader: nn.Module, seed: int, causal: bool) -> None:
    """Put a reader into the package, with all that it was made of and by."""
    config = TEACH | {"seed": seed, "causal": causal}
    extra = {"vocab": sentences().vocabulary, "model": asdict(reader.config)}
    ship(name, TEACH["steps"], checkpoints.model_tensors(reader), config, [], extra)


def of_patched(seed: int, *, causal: bool, L: int) -> dict:
    """What patches do to a reader of words."""
    reader = teach(reader_of_words(L, seed=seed, causal=causal), causal=causal, seed=seed)
    return patches(reader, causal)


def patches(reader: nn.Module, causal: bool) -> dict:
    """How far patches move the answer of a reader of words, and what it makes of the verb."""
    shown, place = question(sentences().asked_ids, causal)
    with torch.no_grad(), watching(reader) as maps:
        logits = reader(shown)
    run = {
        "resolved": resolved(logits, sentences().asked_ids, place),
        "moved": how_far(reader, *couples()).tolist(),
        "adjective": [a[:, :, place, HOW].mean(0).tolist() for a in maps],
        "verb passed over": verb_passed_over(reader, causal),
    }
    return rounded(run)


# --- copiers --------------------------------------------------------------------------------


def of_copier(seed: int, *, L: int) -> dict:
    """The loss and the heads' habits of a copier in the course of its training."""
    rows, length_B = repeats(128, torch.Generator().manual_seed(99))
    looks, shown = [], []

    def look(step, model):
        if step % EVERY:
            return
        looks.append(look_at(model, rows, length_B))
        if seed == 0 and L == 2:
            with watching(model) as maps:
                model(rows[:1, :32])
            shown.append(maps)

    model = learn_to_copy(copier(L, seed=seed), seed=seed, on_step=look)
    without = [
        [loss_without(model, rows, length_B, (layer, head)) for head in range(8)]
        for layer in range(L)
    ]
    longer, longer_B = repeats(128, torch.Generator().manual_seed(98), low=17, high=24)
    with torch.no_grad():
        logits = model(longer[:, :-1])
    run = {
        "loss": looks[-1]["loss"],
        "longer": loss_when_known(logits, longer[:, 1:], longer_B).item(),
        "without": without,
        "losses": [look["loss"] for look in looks],
        "before": [look["before"] for look in looks],
        "followed": [look["followed"] for look in looks],
    }
    return rounded(run) | (of_two_heads(looks[-1], shown) if shown else {})


def loss_without(model, rows, length_B, head: tuple[int, int]) -> float:
    """What a copier loses with one head, (layer, head) counted from 0, silenced."""
    logits = with_hooks(without_heads(model, [head]), model, rows[:, :-1])
    return loss_when_known(logits, rows[:, 1:], length_B).item()


def of_two_heads(last: dict, shown: list) -> dict:
    """Maps on one row, in whole percent, of two heads, and which heads they are.

    In the first layer the one that ends up reading the letter before most, in the second the one
    that ends up reading most what followed.
    """
    chosen = [
        int(torch.tensor(last[habit][layer]).argmax())
        for layer, habit in enumerate(("before", "followed"))
    ]
    maps = [
        [(100 * a[0, head]).round().int().tolist() for a, head in zip(look, chosen, strict=True)]
        for look in shown
    ]
    return {"heads": chosen, "maps": maps}


def of_edge(seed: int, *, L: int) -> dict:
    """What a copier loses without one reading of its first layer."""
    return edges(learn_to_copy(copier(L, seed=seed), seed=seed))


def edges(model: nn.Module) -> dict:
    """What a copier loses without one reading of the head of layer 1 that reads the letter before.

    Without the weights on the letter before, and without all others.
    """
    rows, length_B = repeats(128, torch.Generator().manual_seed(99))
    look = look_at(model, rows, length_B)
    head = (0, int(torch.tensor(look["before"][0]).argmax()))
    ids, T = rows[:, :-1], rows.shape[1] - 1
    before_TT = torch.diag(torch.ones(T - 1), -1)
    losses = [
        loss_when_known(without_part(model, head, at_TT, ids), rows[:, 1:], length_B).item()
        for at_TT in (before_TT, 1 - before_TT)
    ]
    run = {"loss": look["loss"], "without before": losses[0], "before alone": losses[1]}
    return {"head": list(head)} | rounded(run)


# --- what the chapter shows -----------------------------------------------------------------


def span(values, kind: str = ".0%") -> str:
    """The smallest and the largest, over seeds or heads."""
    low, high = (f"{f(np.ravel(values)):{kind}}".replace("-", "−") for f in (np.min, np.max))
    return low if low == high else f"{low} … {high}"


def kept(part: str, key: str, **setting) -> np.ndarray:
    """What all seeds of a setting hold under a key."""
    return np.array([run[key] for run in runs(stored(12)[part], **setting)])


def windows(every: int = 5) -> tuple[Tensor, Tensor]:
    """Windows of 64 letters of the validation text, every fifth or all, and what follows."""
    whole = list(corpus.windows(letters().validation, 64))[:-1]
    x_NT, y_NT = (torch.cat(part) for part in zip(*whole, strict=True))
    many = len(x_NT) // every // 5 * 5
    return x_NT[::every][:many], y_NT[::every][:many]


def bigram_loss() -> float:
    """What the bigram table loses on the validation text."""
    V = len(letters().tokenizer)
    of_train, of_validation = (
        bigram.count_bigrams(ids, V) for ids in (letters().train, letters().validation)
    )
    return bigram.cross_entropy_of(bigram.smoothed(of_train), of_validation)


def shipped_reader(causal: bool, L: int) -> nn.Module:
    """A reader of words that ships, of seed 0."""
    reader = reader_of_words(L, seed=0, causal=causal)
    checkpoints.restore_model(reader, checkpoints.load(SHIPPED / KEPT[causal, L]).model)
    return reader.eval()


def even_map(T: int) -> Tensor:
    """The map of a head that reads evenly all that it may read: (1, 1, T, T)."""
    return torch.ones(1, 1, T, T).tril() / torch.arange(1, T + 1)[:, None]


def this_word(x_NT: Tensor) -> Tensor:
    """1 where a letter reads the word that is being spelt, or the space before it: (N, T, T)."""
    opens = torch.tensor([not c.isalpha() for c in letters().tokenizer.vocab])
    word_NT = opens[x_NT].cumsum(dim=1)
    return (word_NT[:, :, None] == word_NT[:, None, :]).tril()


def costs(model, x_NT, y_NT, instead=torch.zeros_like, pieces: int = 5) -> np.ndarray:
    """How much the loss of each piece of text rises without each head: (pieces, heads)."""

    def of_pieces(heads):
        logits = with_hooks(without_heads(model, heads, instead), model, x_NT)
        nats_NT = F.cross_entropy(logits.mT, y_NT, reduction="none")
        return nats_NT.view(pieces, -1).mean(dim=1).numpy()

    intact = of_pieces([])
    every = product(range(model.config.layers), range(model.config.heads))
    return np.stack([of_pieces([head]) - intact for head in every], axis=1)


def neighbours(levels: list[Tensor], x_NT: Tensor, y_NT: Tensor) -> dict:
    """Of four random places a window: what their nearest neighbour shares with them, by level.

    "sharing": how often two places agree in the next letter that share one letter, two, and so on.
    """
    shuffled = torch.rand(len(x_NT), 48, generator=torch.Generator().manual_seed(0))
    at_N4 = 16 + shuffled.argsort(dim=1)[:, :4]
    this, following = (of.gather(1, at_N4).flatten() for of in (x_NT, y_NT))
    other_PP = ~torch.eye(len(this), dtype=torch.bool)
    same_PP = (this[:, None] == this) & other_PP
    agree_PP = (following[:, None] == following).double()

    def agreeing(which_PP):
        marked = which_PP.sum(dim=1)
        return ((which_PP * agree_PP).sum(dim=1) / marked)[marked > 0].mean().item()

    def of_level(x_NTC):
        v_PC = x_NTC.gather(1, at_N4[..., None].expand(-1, -1, x_NTC.shape[-1])).flatten(0, 1)
        v_PC = F.normalize(v_PC - v_PC.mean(dim=0), dim=1)
        cosine_PP = v_PC @ v_PC.T
        nearest = cosine_PP.masked_fill(~other_PP, -2).argmax(dim=1)
        same = [(of[nearest] == of).double().mean().item() for of in (this, following)]
        return *same, cosine_PP[same_PP].mean().item()

    shared_PP, sharing = same_PP, [agreeing(same_PP)]
    for back in (1, 2, 3):
        there = x_NT.gather(1, at_N4 - back).flatten()
        shared_PP = shared_PP & (there[:, None] == there)
        sharing.append(agreeing(shared_PP))
    same_letter, same_next, cosine = map(list, zip(*map(of_level, levels), strict=True))
    same_next[0] = sharing[0]  # one letter, one vector: all of them are equally near
    return {
        "neighbour has the same letter": same_letter,
        "neighbour has the same next letter": same_next,
        "cosine, same letter, other context": cosine,
        "sharing": sharing,
        "random": (torch.bincount(x_NT.flatten()) / x_NT.numel()).square().sum().item(),
        "row": (levels[0].norm(dim=-1) / levels[-1].norm(dim=-1)).mean().item(),
        "without row": of_level(levels[-1] - levels[0])[0],
    }


def own_pronouns(model) -> np.ndarray:
    """How much a GPT of letters prefers the right candidate in OWN: with the reason, without."""

    @torch.no_grad()
    def log_p(before, word):
        ids = letters().tokenizer.encode(f"{before}. The {word} ")[None]
        nats = F.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:], reduction="none")[0]
        return -nats[-len(word) - 1 :].sum().item()

    def preferences(said, right, wrong):
        befores = (said, said.split(" because")[0])
        return [log_p(before, right) - log_p(before, wrong) for before in befores]

    return np.array([preferences(*line.split("|")) for line in OWN.strip().splitlines()])


def at_least(k: int, p: float, n: int = 20) -> float:
    """The chance of k or more hits in n trials."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def by_adjective() -> tuple[float, list[str]]:
    """How many answers the adjective alone would give, and the adjectives that fit both."""
    speaks: dict[str, list[bool]] = {}
    for animal, _, thing, adjective, referent in sentences().every_case:
        if (animal, thing) not in sentences().held_out:
            speaks.setdefault(adjective, []).append(referent == thing)
    right = [
        (np.mean(speaks[adjective]) >= 0.5) == (referent == thing)
        for _, _, thing, adjective, referent in sentences().asked_cases
    ]
    return np.mean(right).item(), sorted(a for a, of in speaks.items() if len(set(of)) > 1)


def looks_and_costs() -> dict[str, np.ndarray]:
    """How each head of causal readers of three layers looks, and its cost: a row a seed."""
    of = {"causal": True, "L": 3}
    right, wrong, without = (
        kept("pronouns", key, **of).reshape(len(SEEDS["pronouns"]), -1)
        for key in ("right", "wrong", "without")
    )
    return {
        "prefers": right - wrong,
        "nouns": right + wrong,
        "adjective": kept("patching", "adjective").reshape(right.shape),
        "cost": kept("pronouns", "resolved", **of)[:, None] - without,
    }


def looks_by_depth() -> tuple[list, list]:
    """For readers of two layers and more: rows of a table, and what a last cut loses by reader."""
    rows: list[tuple] = []
    readers: list[tuple] = []
    for setting in SETTINGS["pronouns"]:
        if setting["L"] == 1:
            continue
        last = kept("pronouns", "right", **setting).mean(axis=2).argmax(axis=1) == setting["L"] - 1
        cut = kept("pronouns", "cut right", **setting)[:, -1]
        lost = kept("pronouns", "resolved", **setting) - cut
        kind = "causal" if setting["causal"] else "both ways"
        said = span(lost[last]) if last.any() else "−"
        rows.append((f"{kind}, {setting['L']} layers", f"{last.sum()} of {len(last)}", said))
        readers += zip(last, lost, strict=True)
    return rows, readers


def copied() -> dict:
    """Copiers of two layers, a row a seed: in training, and what they lose without a head.

    "stripe" and "previous" are the heads that end up reading most what followed, in layer 2, and
    the letter before, in layer 1.
    """
    followed, before, losses, without = (
        kept("copying", key, L=2) for key in ("followed", "before", "losses", "without")
    )
    last, cost_SLH = followed[:, -1, 1], without - losses[:, -1, None, None]
    seeds, stripe, previous = range(len(last)), last.argmax(axis=1), before[:, -1, 0].argmax(axis=1)
    cut, alone = (
        kept("edges", key) - kept("edges", "loss") for key in ("without before", "before alone")
    )
    return {
        "losses": losses,
        "followed": followed[:, :, 1].max(axis=2),
        "before": before[:, :, 0].max(axis=2),
        "stripe cost": cost_SLH[seeds, 1, stripe],
        "previous cost": cost_SLH[seeds, 0, previous],
        "other cost": [cost[at < 0.6].max() for cost, at in zip(cost_SLH[:, 1], last, strict=True)],
        "stripes": (last > 0.6).sum(axis=1),
        "before cut": cut,
        "all but before cut": alone,
        **{key: runs(stored(12)["copying"], L=2)[0][key] for key in ("maps", "heads")},
    }


def said_twice(model) -> dict[str, float]:
    """What a GPT of letters gains where 32 letters of the tales stand twice in its window."""
    validation = letters().validation
    generator = torch.Generator().manual_seed(1)
    starts = torch.randint(len(validation) - 128, (200,), generator=generator)
    said, unlike = (validation[starts[:, None] + torch.arange(32) + off] for off in (0, 64))

    def late(first):
        rows = torch.cat([first, said], 1)
        with torch.no_grad(), watching(model) as maps:
            logits = model(rows[:, :-1])
        return F.cross_entropy(logits.mT, rows[:, 1:], reduction="none")[:, 35:].mean(1), maps

    (again_N, maps), (anew_N, _) = late(said), late(unlike)
    t, gain_N = torch.arange(36, 63), anew_N - again_N
    return {
        "again": again_N.mean().item(),
        "anew": anew_N.mean().item(),
        "gain": gain_N.mean().item(),
        "error": (gain_N.std() / len(gain_N) ** 0.5).item(),
        "looks": max(a[:, :, t, t - 31].mean((0, 2)).max().item() for a in maps),
        "evenly": (1 / (t + 1)).mean().item(),
    }


def letters_known(length_B: Tensor, T: int = 48) -> float:
    """Nats where one knows which letters a repeated word has, and no more."""
    known_B = T - length_B + 1
    return ((length_B.log() * known_B).sum() / known_B.sum()).item()


# --- the parts ------------------------------------------------------------------------------

RUNS: dict[str, Callable[..., dict]] = {
    "pronouns": of_reader,
    "patching": of_patched,
    "copying": of_copier,
    "edges": of_edge,
}


def made(part: str) -> dict[str, dict]:
    """Of what and how the models of a part are made."""
    if part in ("pronouns", "patching"):
        return {"model": shape_of(reader_of_words(1, seed=0)), "training": TEACH}
    return {"model": shape_of(copier(1, seed=0)), "training": COPY}


def every_seed(part: str) -> dict:
    """Train and measure everything in a part."""
    return measured(RUNS[part], settings(part), SEEDS[part], **made(part))


PARTS: dict[str, Callable[[], dict]] = {
    "tales": tales,
    **{part: partial(every_seed, part) for part in RUNS},
}
