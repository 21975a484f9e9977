"""Checks for chapter 13, tokens."""

import math
from collections.abc import Sequence

from helpers.exercises import check as check
from helpers.exercises import explanation, near_misses, numeric_near_misses
from helpers.minillama import join

EIGHT = [
    ("w", "i"),
    ("wi", "d"),
    ("wid", "e"),
    ("r", "e"),
    ("i", "re"),
    ("t", "ire"),
    ("wide", "r"),
    ("tire", "d"),
]
"""The merges of the chapter's ten words."""


def _joined(ids: Sequence, pair: tuple, new: int, *, step: int = 2, most: int = 99) -> list:
    """The ids from the left, with a pair's second id skipped (step 2) or kept (step 1)."""
    out, at = list[int](), 0
    while at < len(ids):
        found = tuple(ids[at : at + 2]) == tuple(pair) and most > 0
        out.append(new if found else ids[at])
        at, most = (at + step, most - 1) if found else (at + 1, most)
    return out


near_misses(
    "13.1",
    _joined,
    [
        ([1, 2, 3, 1, 2], (1, 2), 9),
        ([5, 5, 5], (5, 5), 8),
        ([4, 2, 1, 7], (1, 2), 9),
        ([1, 1, 2], (1, 2), 9),
    ],
    {
        "The second id of a pair is still there after the new one.": (
            lambda ids, pair, new: _joined(ids, pair, new, step=1)
        ),
        "Only the first pair was joined; there may be several.": (
            lambda ids, pair, new: _joined(ids, pair, new, most=1)
        ),
        "You joined from the right. In 5, 5, 5 the first two belong together.": (
            lambda ids, pair, new: _joined(ids[::-1], pair[::-1], new)[::-1]
        ),
        "The pair was joined in the other order, too.": (
            lambda ids, pair, new: _joined(_joined(ids, pair, new), pair[::-1], new)
        ),
        "Nothing was joined.": lambda ids, pair, new: list(ids),
    },
    "For ids={ids} and pair={pair} yours is not right.",
    unchanged="Your function changes the list that it is given; it should make a new one.",
)


def _lengths(word: str, merges: Sequence[tuple[str, str]]) -> list[int]:
    tokens = list(word)
    for pair in merges:
        tokens = join(tokens, tuple(pair))
    return [len(token) for token in tokens]


def longest_first(word: str, merges: Sequence[tuple[str, str]]) -> list[int]:
    """Always the longest token that fits, from the left."""
    vocabulary, lengths = {left + right for left, right in merges}, list[int]()
    while word:
        fits = [n for n in range(len(word), 0, -1) if n == 1 or word[:n] in vocabulary]
        lengths.append(fits[0])
        word = word[fits[0] :]
    return lengths


def _once_each(word: str, merges: Sequence[tuple[str, str]]) -> list[int]:
    """Each merge at its first place only."""
    tokens = list(word)
    for left, right in merges:
        for at in range(len(tokens) - 1):
            if (tokens[at], tokens[at + 1]) == (left, right):
                tokens[at : at + 2] = [left + right]
                break
    return [len(token) for token in tokens]


near_misses(
    "13.2",
    _lengths,
    [
        ("wired", EIGHT),
        ("widewider", EIGHT),
        ("fox", EIGHT),
        ("abc", [("b", "c"), ("a", "b")]),
    ],
    {
        "You took the longest token that fits. Which merge was learned first?": longest_first,
        "You began with the merge that was learned last.": (
            lambda word, merges: _lengths(word, merges[::-1])
        ),
        "Each merge was used once only; a word may have its pair twice.": _once_each,
        "These are the characters. Which of their pairs are in the list?": (
            lambda word, merges: [1] * len(word)
        ),
        "That is one token for the whole word, whatever the merges are.": (
            lambda word, merges: [len(word)]
        ),
    },
    "For the word {word} yours is not right.",
)


def _by_bounds(*bounds: int):
    return lambda code: 1 + sum(code >= bound for bound in bounds)


near_misses(
    "13.3",
    _by_bounds(128, 2048, 65536),
    [(n,) for n in (233, 29392, 129418, 65, 127, 128, 2047, 2048, 65535, 65536)],
    {
        "A bound itself belongs to the longer form: 127 is the last of one byte.": _by_bounds(
            129, 2049, 65537
        ),
        "Is two bytes enough for every character that is not English?": _by_bounds(128),
        "An emoji has a code point above 65,535. How many bytes does it take?": _by_bounds(
            128, 2048
        ),
        "A byte holds eight bits, but not all of them are free for the character.": _by_bounds(
            256, 65536, 16777216
        ),
    },
    "For the code point {code} yours is {found:g}: not right.",
)

near_misses(
    "13.4",
    lambda nats, tokens, size: nats * tokens / size / math.log(2),
    [(2.0, 100, 400), (1.5, 64, 64), (5.0, 30, 90)],
    {
        "These are nats per byte.": lambda nats, tokens, size: nats * tokens / size,
        "To go from nats to bits, divide by log 2.": (
            lambda nats, tokens, size: nats * tokens / size * math.log(2)
        ),
        "These are bits per token.": lambda nats, tokens, size: nats / math.log(2),
        "These are bits for the whole text.": lambda nats, tokens, size: (
            nats * tokens / math.log(2)
        ),
        "Tokens and bytes have changed places.": (
            lambda nats, tokens, size: nats * size / tokens / math.log(2)
        ),
    },
    "For nats={nats}, tokens={tokens} and size={size} yours is {found:.4g}: not right.",
)

numeric_near_misses(
    "13.5",
    right=12 * 12 * 768,
    effect=lambda V: V / (12 * 12 * 768),
    within=(0.995, 1.005),
    replies={
        "The cost of one block was counted; there are twelve.": (12 * 768,),
        "You counted the head twice. Looking up a row of the embedding multiplies nothing.": (
            6 * 12 * 768,
        ),
        "That is the cost of the blocks. Each token of the vocabulary costs C in the head.": (
            12 * 12 * 768**2,
        ),
        "That is the vocabulary which GPT-2 has.": (50257,),
    },
    otherwise="With yours the head costs {effect:.3g} times as much as the blocks.",
    what="The size of the vocabulary",
    positive="A vocabulary has a positive number of tokens.",
)

explanation(
    "13.6",
    "Its tokens are not words but pieces of text. The first 256 are the bytes, so every word, in "
    "any script, can be written as a row of tokens, and nothing needs to be replaced. A word that "
    "is rare takes several tokens, and the model reads and writes them one after the other.",
    "Tokens are pieces of words, not words only.",
    "The 256 bytes are among the tokens, so nothing is unknown.",
    "A rare word is read and written as several tokens.",
)
