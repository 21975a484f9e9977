"""Chapter 13: what learners write before they have it, and what the check should tell them."""

from helpers.chapters.ch13_tokens.exercises import WRONG_MERGED
from helpers.minillama import join, merged


def short(word, rank):
    """As it should be, for words of up to nine letters."""
    return merged(word, rank) if len(word) < 10 else [word.encode()]


def characters(word, rank):
    """Right where each character is one byte."""
    tokens = [character.encode() for character in word]
    for pair in rank:
        tokens = join(tokens, pair)
    return tokens


RIGHT = {"13.2": [merged]}


def as_text(ids, pair, new):
    """With the pair replaced in what the list looks like."""
    left, right = pair
    return eval(str(ids).replace(f"{left}, {right}", str(new)))


WRONG = {
    "13.1": [(as_text, "should have shape (6,)")],
    "13.3": [(lambda code: len(chr(code).encode()), "UnicodeEncodeError")],
    "13.2": [
        *((wrong, reply) for reply, wrong in WRONG_MERGED.items()),
        (short, "a tale other ids"),
        (characters, "For the word ü中"),
        (lambda word, rank: [token.decode("latin-1") for token in merged(word, rank)], "bytes"),
        (lambda word, rank: merged(word, rank)[:-1], "and not the word"),
    ],
}
