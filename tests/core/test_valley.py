"""The tales of the grammar: sense, variety, and an exact entropy."""

import hashlib
import math
import re
from collections import Counter

import pytest

from helpers import checkpoint, corpus, minigpt, valley

GRAMMAR = valley.grammar()
(HERO_COLUMNS,) = (names for names in GRAMMAR["facts"] if names.startswith("hero"))
HEROES = [row.split(", ") for row in GRAMMAR["facts"][HERO_COLUMNS]]
KIND = {name: kind for name, kind, *_ in HEROES}


@pytest.fixture(scope="module")
def tales() -> list[str]:
    return [tale for tale, _ in valley.tales(400)]


def named(tale: str) -> list[str]:
    """The heroes of a tale, in the order in which they are named."""
    return list(dict.fromkeys(word for word in re.findall(r"[A-Z]\w+", tale) if word in KIND))


# --- tales ------------------------------------------------------------------------------------


def test_the_text_is_the_one_that_the_model_read():
    text = corpus.load("valley")
    assert text.split(valley.BETWEEN)[:400] == [tale for tale, _ in valley.tales(400)]
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "ca2022ce54507c6c808a2b5073594beeaf7eddc4f772484ac534b8d73130125e"
    assert minigpt.Tokenizer(text, minigpt.WORDS).vocab == checkpoint.load()[1].vocab


def test_other_seeds_give_other_tales(tales):
    assert not set(tales) & {tale for tale, _ in valley.tales(400, seed=1)}
    assert len(set(tales)) == len(tales)


def test_a_tale_keeps_to_its_heroes(tales):
    """Two or three of them; each has their own kind, and no pronoun is that of nobody there."""
    they = {name: they for name, _, they, *_ in HEROES}
    for tale in tales:
        heroes = named(tale)
        assert 2 <= len(heroes) <= 3, tale
        assert tale.count(heroes[0]) >= 2, tale
        for name, kind in re.findall(r"([A-Z]\w+) the (\w+)", tale):
            assert KIND.get(name, kind) == kind, tale
        if len({they[name] for name in heroes}) == 1:
            (wrong,) = {"he", "she"} - {they[heroes[0]]}
            assert not re.search(rf"\b{wrong}\b", tale, re.IGNORECASE), tale


def test_the_tales_are_clean_english(tales):
    for tale in tales:
        assert not re.search(r"[{}|]|  | [.,!?]|\n\n\n|\s$", tale), tale
        assert tale.count('"') % 2 == 0, tale
        for article, word in re.findall(r"\b([Aa]n?) (\w+)", tale):
            assert (article.lower() == "an") == (word[0] in "aeiou" or word == "hour"), (
                article,
                word,
            )


def test_there_is_variety(tales):
    assert len(GRAMMAR["plots"]) >= 10
    assert len(HEROES) >= 20
    lines = [line for plot in GRAMMAR["plots"].values() for step in plot for line in step if line]
    assert len(lines) + sum(map(len, GRAMMAR["lines"].values())) >= 250
    firsts = Counter(named(tale)[0] for tale in tales)
    assert firsts.most_common(1)[0][1] < 0.1 * len(tales)
    sentences = Counter(s for tale in tales for s in re.split(r"(?<=[.!?]) |\n\n", tale))
    assert len(sentences) > 0.4 * sentences.total()


# --- entropy ----------------------------------------------------------------------------------


def small(monkeypatch, **plots) -> valley.StoryGrammar:
    """A teller of a world with two heroes."""
    world = {
        "facts": {"hero, kind": ["Ann, cat", "Bob, dog"]},
        "lines": {"walk": ["ran", "{went|came}"]},
        "plots": plots,
    }
    monkeypatch.setattr(valley, "grammar", lambda: world)
    return valley.StoryGrammar()


def test_nats_are_those_of_the_text(monkeypatch):
    """All tales of a small world, each with exp(-nats), are a whole."""
    teller = small(
        monkeypatch,
        one=[["{Hero} {walk}{.| to {hero2}{,| and} the {kind2}.}", "No."]],
        two=[["The {kind} {walk}."], [""], ["{She|It} slept."]],
    )
    shares: dict[str, set[float]] = {}
    for _ in range(1500):
        shares.setdefault(teller.tale(), set()).add(round(math.exp(-teller.nats), 12))
    assert all(len(found) == 1 for found in shares.values())
    assert sum(found.pop() for found in shares.values()) == pytest.approx(1)
    assert "Ann went to Bob, the dog." in shares
    assert "The cat ran.\n\nIt slept." in shares


def test_no_choice_is_between_things_that_read_the_same():
    def options(text: str):
        while (at := text.find("{")) >= 0:
            found, text = valley._cut(text[at + 1 :])
            yield found
            for option in found:
                yield from options(option)

    steps = [step for plot in GRAMMAR["plots"].values() for step in plot]
    groups = [*steps, *GRAMMAR["lines"].values(), *GRAMMAR["facts"].values()]
    groups += [found for group in list(groups) for line in group for found in options(line)]
    for group in groups:
        assert len(set(group)) == len(group), group
    for names, rows in GRAMMAR["facts"].items():
        assert {len(row.split(", ")) for row in rows} == {len(names.split(", "))}
