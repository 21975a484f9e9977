"""Chapter 13: what learners write before they have it, and what the check should tell them."""

from helpers.chapters.ch13_tokens.exercises import WRONG_MERGED
from helpers.minillama import merged


def short(word, rank):
    """As it should be, for words of up to nine letters."""
    return merged(word, rank) if len(word) < 10 else [word.encode()]


RIGHT = {"13.2": [merged]}
WRONG = {
    "13.2": [
        *((wrong, reply) for reply, wrong in WRONG_MERGED.items()),
        (short, "a tale other ids"),
        (lambda word, rank: [token.decode("latin-1") for token in merged(word, rank)], "bytes"),
        (lambda word, rank: merged(word, rank)[:-1], "and not the word"),
    ]
}
