"""Misconceptions of chapter 13: what tokens are, how a text is cut, and what losses can tell."""

import math
import re

from helpers import corpus
from helpers.chapters.ch13_tokens.exercises import longest_first
from helpers.corrections import corrects, number
from helpers.minillama import BytePairTokenizer, learn_merges


def _small() -> tuple[BytePairTokenizer, str]:
    """A tokenizer with 100 merges, and the 10,000 characters from which it was learned."""
    text = corpus.load()[:10_000]
    return BytePairTokenizer(learn_merges(text, 100)), text


@corrects(
    claim="Byte-pair encoding takes the longest tokens that fit, from the left.",
    says="“It looks for the longest known piece, again and again.”",
    why="WordPiece cuts like that. Byte-pair encoding applies its merges in the order in which "
    "they were learned (Sennrich, Haddow and Birch 2016), and that is often another cut.",
    section="How does a new word get its tokens?",
)
def the_order_decides() -> str:
    """How many of the words of a text are cut differently by the two rules."""
    tokenizer, text = _small()
    words = sorted(set(re.findall("[A-Za-z]+", text)))
    merges = [(left.decode(), right.decode()) for left, right in tokenizer.rank]
    other = 0
    for word in words:
        cut = [len(tokenizer.vocab[i]) for i in tokenizer.encode(word)]
        other += cut != longest_first(word, merges)
    return (
        f"With {len(merges)} merges learned from {len(text):,} characters of the tales, the two "
        f"rules cut {other} of the {len(words)} words differently."
    )


@corrects(
    claim="Of two language models, the one with the lower perplexity predicts the text better.",
    says="“4.5 is less than 18, so the character model wins.”",
    why="Perplexity comes from the loss per token, and one model's tokens are longer than the "
    "other's. Bits per byte can be compared (Gao et al. 2020).",
    section="How do we compare models that read different tokens?",
)
def bits_and_not_perplexity() -> str:
    """Perplexities and bits per byte of the two models of the chapter's example."""
    found = []
    for nats, length in ((1.5, 1.0), (2.9, 2.3)):  # per token, and characters of a token
        bits = nats / math.log(2) / length
        found.append(f"a perplexity of {number(math.exp(nats))} and {bits:.2f} bits per byte")
    return (
        f"A loss of 1.5 nats per character is {found[0]}. A loss of 2.9 nats per token of 2.3 "
        f"characters is {found[1]}, which is better."
    )


@corrects(
    claim="To show a text while it is written, decode each token and join the pieces.",
    says='`print(tokenizer.decode([token]), end="")`',
    why="A token can be a part of a character, since byte-pair encoding works on bytes. Join the "
    "bytes first, and decode them then.",
    section="What if a character is new?",
)
def bytes_first() -> str:
    """What becomes of two characters that are decoded token by token."""
    tokenizer, text = BytePairTokenizer([]), "狐狸"
    ids = tokenizer.encode(text)
    apart = "".join(tokenizer.decode([i]) for i in ids)
    return (
        f"{text} (fox) is {len(ids)} tokens of one byte each. One by one they give {apart}, and "
        f"together {tokenizer.decode(ids)}."
    )
