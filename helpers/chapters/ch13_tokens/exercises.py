"""Checks for chapter 13, tokens."""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from helpers import corpus, minillama
from helpers import exercises as ex
from helpers.exercises import check as check

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


ex.near_misses(
    "13.1",
    _joined,
    [
        ([1, 2, 3, 1, 2], (1, 2), 9),
        ([5, 5, 5], (5, 5), 8),
        ([4, 2, 1, 7], (1, 2), 9),
        ([1, 1, 2], (1, 2), 9),
        ([11, 2, 1, 21, 1, 2, 3], (1, 2), 9),  # as text, 1, 2 is in 11, 2 as well
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
)


def longest_first(word: str, merges: Sequence[tuple[str, str]]) -> list[int]:
    """Always the longest token that fits, from the left."""
    vocabulary, lengths = {left + right for left, right in merges}, list[int]()
    while word:
        fits = [n for n in range(len(word), 0, -1) if n == 1 or word[:n] in vocabulary]
        lengths.append(fits[0])
        word = word[fits[0] :]
    return lengths


def _one_by_one(word: str, merges: Iterable[tuple[bytes, bytes]], *, once: bool = False) -> list:
    """Each merge in turn, at all places or at its first one."""
    tokens = [bytes([b]) for b in word.encode()]
    for pair in merges:
        places = [at for at, found in enumerate(pairwise(tokens)) if found == pair]
        if once and places:
            tokens[places[0] : places[0] + 2] = [pair[0] + pair[1]]
        elif not once:
            tokens = minillama.join(tokens, pair)
    return tokens


def _longest_fits(word: str, rank: dict) -> list[bytes]:
    pairs = [(left.decode("latin-1"), right.decode("latin-1")) for left, right in rank]
    ends = [0, *accumulate(longest_first(word.encode().decode("latin-1"), pairs))]
    return [word.encode()[first:end] for first, end in pairwise(ends)]


def _leftmost(word: str, rank: dict) -> list[bytes]:
    """The first pair that has a merge, again and again."""
    tokens = [bytes([b]) for b in word.encode()]
    while pair := next((pair for pair in pairwise(tokens) if pair in rank), None):
        tokens = minillama.join(tokens, pair)
    return tokens


OF_BYTES = [(left.encode(), right.encode()) for left, right in EIGHT]
WORDS = (
    ("wired", OF_BYTES),
    ("widewider", OF_BYTES),
    ("fox", OF_BYTES),
    ("abc", [(b"b", b"c"), (b"a", b"b")]),
    ("abc", [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc")]),
    ("Süden", [(b"\xc3", b"\xbc"), (b"S", b"\xc3\xbc")]),
    ("ü中", [(b"\xbc", b"\xe4"), (b"\xb8", b"\xad")]),
)
WRONG_MERGED = {
    "You joined the first pair that is in the list. Which pair was learned first?": _leftmost,
    "You took the longest token that fits. Which merge was learned first?": _longest_fits,
    "You began with the merge that was learned last.": (
        lambda word, rank: _one_by_one(word, [*rank][::-1])
    ),
    "Each merge was used once only; a word may have its pair twice.": (
        lambda word, rank: _one_by_one(word, rank, once=True)
    ),
    "These are the bytes. Which of their pairs are in the list?": (
        lambda word, rank: _one_by_one(word, [])
    ),
    "That is one token for the whole word, whatever the merges are.": (
        lambda word, rank: [word.encode()]
    ),
}


WORDS_AND_RANKS = [(word, {pair: i for i, pair in enumerate(merges)}) for word, merges in WORDS]


@ex.exercise("13.2")
def _merged(answer) -> None:
    for word, rank in WORDS_AND_RANKS:
        found = ex.call(answer, word, rank)
        if not isinstance(found, list) or not all(isinstance(token, bytes) for token in found):
            raise ex.Wrong("Return a list of tokens, each of them of the type bytes, as b'wi' is.")
        if b"".join(found) != word.encode():
            raise ex.Wrong(f"Your tokens together are {b''.join(found)!r} and not the word {word}.")
        if found != minillama.merged(word, rank):
            for reply, wrong in WRONG_MERGED.items():
                if all(ex.call(answer, *one) == wrong(*one) for one in WORDS_AND_RANKS):
                    raise ex.Wrong(reply)
            raise ex.Wrong(f"For the word {word} yours is not right.")
    text = corpus.load()[:2000]
    tokenizer = minillama.BytePairTokenizer(minillama.learn_merges(text, 60))
    wanted, pieces = tokenizer.encode(text).tolist(), vars(minillama)
    of_book, pieces["merged"] = pieces["merged"], lambda word, rank: ex.call(answer, word, rank)
    try:
        found = tokenizer.encode(text).tolist()
    except KeyError:  # what is no token
        found = []
    finally:
        pieces["merged"] = of_book
    if found != wanted:
        raise ex.Wrong(
            "It is right for short words. But with it the tokenizer gives a tale other ids."
        )


def _by_bounds(*bounds: int):
    return lambda code: 1 + sum(code >= bound for bound in bounds)


ex.near_misses(
    "13.3",
    _by_bounds(128, 2048, 65536),
    # 55,296 is no character, so that `encode` has no bytes for it.
    [(n,) for n in (233, 29392, 129418, 65, 127, 128, 2047, 2048, 65535, 65536, 55296)],
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

ex.near_misses(
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


def _balanced(layers, width, **_):
    """Of the vocabulary whose head costs as much as so many blocks of a width."""
    right = 12 * layers * width
    return {
        "right": right,
        "effect": lambda V: V / right,
        "within": (0.99, 1.01),
        "replies": {
            f"The cost of one block was counted; there are {layers}.": (12 * width,),
            "You counted the head twice. Looking up a row of the embedding multiplies nothing.": (
                6 * layers * width,
            ),
            "That is the cost of the blocks. Each token of the vocabulary costs C in the head.": (
                right * width,
            ),
            "That is the vocabulary which GPT-2 has.": (50257,),
        },
        "otherwise": "With yours the head costs {effect:.3g} times as much as the blocks.",
        "what": "The size of the vocabulary",
        "positive": "A vocabulary has a positive number of tokens.",
    }


ex.numeric_near_misses(
    "13.5",
    _balanced,
    lambda rng: {
        "model": "A model",
        "layers": rng.randint(8, 40),
        "width": 64 * rng.randint(6, 40),
        "note": "",
    },
    "{model} has {layers} blocks of width {width}.",
    "as all blocks together?{note}",
    model="GPT-2 small",
    layers=12,
    width=768,
    note=" Its own has 50,257.",
)

ex.explanation(
    "13.6",
    "Its tokens are not words but pieces of text. The first 256 are the bytes, so every word, in "
    "any script, can be written as a row of tokens, and nothing needs to be replaced. A word that "
    "is rare takes several tokens, and the model reads and writes them one after the other.",
    "Tokens are pieces of words, not words only.",
    "The 256 bytes are among the tokens, so nothing is unknown.",
    "A rare word is read and written as several tokens.",
)

ex.spoken(
    "13.5",
    "Somebody doubles the width of your model. What happens to your number, and why?",
    "It doubles. A token costs the blocks 12 L C² and the head V C, so the head grows with the "
    "width, the blocks with its square, and equal costs need V = 12 L C.",
)
