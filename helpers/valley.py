"""Tales sampled from a grammar: as many as you like, with known entropy.

Each choice is among n equally likely options, and costs log n nats. So the sum over a tale's
choices is its exact information, and their mean per character is the entropy of the text: the
lowest loss that any model of its characters can have.
"""

import importlib.resources
import math
import random
import re
import tomllib
from functools import cache

COUNT = 8000  # tales of the text that corpus.load("valley") gives
BETWEEN = "\n\n\n"  # tales


@cache
def grammar() -> dict:
    """Give the heroes, facts, lines and plots of helpers/data/valley.toml."""
    where = importlib.resources.files("helpers") / "data" / "valley.toml"
    return tomllib.loads(where.read_text("utf-8"))


class StoryGrammar:
    """Samples tales, the same for the same seed, and counts the nats of its choices."""

    def __init__(self, seed: int = 0):
        self.random = random.Random(seed)
        self.nats = 0.0
        self.facts: dict[str, str] = {}
        self.used: set[str] = set()

    def choose(self, options):
        """One of the options, each equally likely."""
        self.nats += math.log(len(options))
        return options[int(len(options) * self.random.random())]

    def tale(self) -> str:
        """A whole tale, its paragraphs separated by empty lines; `nats` counts it alone."""
        self.nats, self.facts, self.used = 0.0, {}, set()
        steps = self.choose(list(grammar()["plots"].values()))
        lines = [self.expand(self.choose(step)) or "\n\n" for step in steps]
        return " ".join(lines).replace(" \n\n ", "\n\n")

    def expand(self, text: str) -> str:
        """A line with its choices made and its facts filled in."""
        before, brace, rest = text.partition("{")
        if not brace:
            return text
        options, after = _cut(rest)
        inside = self.choose(options) if len(options) > 1 else self.fact(options[0])
        return before + self.expand(inside) + self.expand(after)

    def fact(self, name: str) -> str:
        """The text for a name: a line, or a fact, which is chosen at its first use."""
        key = name.lower()
        if key in grammar()["lines"]:
            found = self.expand(self.choose(grammar()["lines"][key]))
        else:
            if key not in self.facts:
                self.choose_row(key)
            found = self.facts[key]
        return found[0].upper() + found[1:] if name[0].isupper() else found

    def choose_row(self, key: str) -> None:
        """Choose a row of facts; {hero2} and {kind2} are from one row, {hero} from another."""
        stem = key.rstrip("23")
        for names, rows in grammar()["facts"].items():
            columns = names.split(", ")
            if stem in columns:
                row = self.choose([row for row in rows if row not in self.used])
                self.used.add(row)
                named = (column + key[len(stem) :] for column in columns)
                self.facts |= dict(zip(named, row.split(", "), strict=True))
                return
        raise ValueError(f"{{{key}}} is neither a line nor a fact of the grammar")


def _cut(text: str) -> tuple[list[str], str]:
    """The options up to the closing brace, and the rest."""
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
    """`count` tales, each with the nats of its choices."""
    sampler = StoryGrammar(seed)
    return [(sampler.tale(), sampler.nats) for _ in range(count)]


@cache
def text() -> str:
    """The tales that corpus.load("valley") gives, 4.4 million characters."""
    return BETWEEN.join(tale for tale, _ in tales()) + "\n"
