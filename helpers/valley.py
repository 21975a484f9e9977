"""Tales of a valley, told by a grammar: as many as one likes, and how much each holds is known.

Each choice on the way is among n that are equally likely, and costs log n nats. So the sum over a
tale's choices is its exact information, and their mean, by the letter, is the entropy of the text:
the loss below which no model of the letters can come.
"""

import importlib.resources
import math
import random
import re
import tomllib
from functools import cache

COUNT = 8000  # tales of the text that corpus.load("valley") gives
BETWEEN = "\n\n\n"  # two tales


@cache
def grammar() -> dict:
    """Give the heroes, facts, lines and plots of helpers/data/valley.toml."""
    where = importlib.resources.files("helpers") / "data" / "valley.toml"
    return tomllib.loads(where.read_text("utf-8"))


class StoryGrammar:
    """Tells tales, the same for the same seed, and counts the nats of its choices."""

    def __init__(self, seed: int = 0):
        self.random = random.Random(seed)
        self.nats = 0.0
        self.facts: dict[str, str] = {}
        self.taken: set[str] = set()

    def choose(self, options):
        """One of the options, each equally likely."""
        self.nats += math.log(len(options))
        return options[int(len(options) * self.random.random())]

    def tale(self) -> str:
        """A whole tale, its paragraphs with an empty line between; `nats` counts it alone."""
        self.nats, self.facts, self.taken = 0.0, {}, set()
        steps = self.choose(list(grammar()["plots"].values()))
        lines = [self.say(self.choose(step)) or "\n\n" for step in steps]
        return " ".join(lines).replace(" \n\n ", "\n\n")

    def say(self, text: str) -> str:
        """A line with its choices made and its facts in place."""
        before, brace, rest = text.partition("{")
        if not brace:
            return text
        options, after = _cut(rest)
        inside = self.choose(options) if len(options) > 1 else self.fact(options[0])
        return before + self.say(inside) + self.say(after)

    def fact(self, name: str) -> str:
        """What a name stands for: a line, told now, or a fact, chosen where it is first needed."""
        key = name.lower()
        if key in grammar()["lines"]:
            found = self.say(self.choose(grammar()["lines"][key]))
        else:
            if key not in self.facts:
                self.learn(key)
            found = self.facts[key]
        return found[0].upper() + found[1:] if name[0].isupper() else found

    def learn(self, key: str) -> None:
        """Choose a row with this fact; {hero2} and {kind2} are of one row, {hero} of another."""
        stem = key.rstrip("23")
        for names, rows in grammar()["facts"].items():
            columns = names.split(", ")
            if stem in columns:
                row = self.choose([row for row in rows if row not in self.taken])
                self.taken.add(row)
                named = (column + key[len(stem) :] for column in columns)
                self.facts |= dict(zip(named, row.split(", "), strict=True))
                return
        raise ValueError(f"{{{key}}} is no line and no fact of the tales of the valley")


def _cut(text: str) -> tuple[list[str], str]:
    """The choices up to the brace that closes them, and what follows it."""
    depth, begin, options = 0, 0, []
    for found in re.finditer(r"[{|}]", text):
        sign, at = found.group(), found.start()
        if depth == 0 and sign in "|}":
            options.append(text[begin:at])
            begin = at + 1
            if sign == "}":
                return options, text[begin:]
        depth += {"{": 1, "}": -1, "|": 0}[sign]
    raise ValueError(f"a brace is not closed in {text!r}")


def tales(count: int = COUNT, seed: int = 0) -> list[tuple[str, float]]:
    """So many tales, each with the nats of its choices."""
    teller = StoryGrammar(seed)
    return [(teller.tale(), teller.nats) for _ in range(count)]


@cache
def text() -> str:
    """The tales that corpus.load("valley") gives, 2.2 million letters."""
    return BETWEEN.join(tale for tale, _ in tales()) + "\n"
