"""Corrections for chapter 13: what tokens are, how a text is cut, and what losses can tell."""

import math
import re

from helpers import corpus
from helpers.chapters.ch13_tokens.exercises import EIGHT, longest_first
from helpers.corrections import corrects, number
from helpers.minillama import BytePairTokenizer, learn_merges

CHARACTERS, MERGES = 10_000, 100
"""So much of the tales is read here, and so many merges are learned from it."""

CHARACTER_LOSS, TOKEN_LOSS, TOKEN_LENGTH = 1.5, 2.9, 2.3
"""Nats per character, nats per token, and characters per token, in the chapter's example."""


def _small() -> tuple[BytePairTokenizer, str]:
    """A small tokenizer, and the text from which it was learned."""
    text = corpus.load()[:CHARACTERS]
    return BytePairTokenizer(learn_merges(text, MERGES)), text


@corrects(
    claim="Byte-pair encoding cuts a word into the longest tokens that its vocabulary has, from "
    "the left.",
    says="Encoding is described as taking the longest known piece again and again.",
    why="That is how WordPiece cuts. Byte-pair encoding applies its merges in the order in which "
    "they were learned (Sennrich, Haddow and Birch 2016), which is often another cut.",
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
        f"With {MERGES} merges learned from the first {CHARACTERS:,} characters of the tales, "
        f"{other} of their {len(words)} words are cut differently by the two rules."
    )


@corrects(
    claim="A token is about four characters, or three quarters of a word.",
    says="The rule of thumb for one tokenizer and for English is passed on without either.",
    why="That holds for English, and for vocabularies of tens of thousands of tokens. It depends "
    "on the text from which the merges were learned, and in other languages the same content "
    "takes up to fifteen times as many tokens (Petrov et al. 2023).",
)
def characters_of_a_token() -> str:
    """Characters of a token in the tales and in a Chinese sentence."""
    tokenizer, text = _small()
    chinese = "人人生而自由,在尊严和权利上一律平等。"
    rates = [len(one) / len(tokenizer.encode(one)) for one in (text, chinese)]
    return (
        f"With {MERGES} merges of the tales a token is {number(rates[0])} characters of the tales "
        f"and {number(rates[1])} of a Chinese sentence."
    )


@corrects(
    claim="Of two language models, the one with the lower perplexity on a text predicts it better.",
    says="Tables rank models with different tokenizers by their perplexity.",
    why="Perplexity is e to the power of the loss per token, and a token of one model is longer "
    "than a token of another. Bits per byte can be compared (Gao et al. 2020).",
)
def bits_and_not_perplexity() -> str:
    """Perplexities and bits per byte of the two models of the chapter's example."""
    bits = (CHARACTER_LOSS / math.log(2), TOKEN_LOSS / math.log(2) / TOKEN_LENGTH)
    perplexities = map(math.exp, (CHARACTER_LOSS, TOKEN_LOSS))
    characters, tokens = (
        f"a perplexity of {number(perplexity)} and {number(each)} bits per byte."
        for perplexity, each in zip(perplexities, bits, strict=True)
    )
    return (
        f"A loss of {CHARACTER_LOSS} nats per character is {characters} {TOKEN_LOSS} nats per "
        f"token of {TOKEN_LENGTH} characters are {tokens}"
    )


@corrects(
    claim="To read what a model has written so far, decode each of its tokens and join the texts.",
    says="Loops that stream an answer decode each id by itself and print it.",
    why="With bytes underneath, a token can be a part of a character. Join the bytes first, and "
    "decode them afterwards.",
)
def bytes_first() -> str:
    """What becomes of two characters that are decoded token by token."""
    tokenizer, text = BytePairTokenizer([]), "狐狸"
    ids = tokenizer.encode(text)
    apart = "".join(tokenizer.decode([i]) for i in ids)
    together = tokenizer.decode(ids)
    return (
        f"{text} is {len(ids)} tokens of one byte each. Decoded one by one they are {apart}, "
        f"decoded together {together}."
    )


@corrects(
    claim="To a given vocabulary a text is one row of tokens and no other.",
    says="Tokenizing is called a one-to-one translation between texts and rows of ids.",
    why="Encoding gives one row, but many rows decode to the same text, and a model can write any "
    "of them. The probability of a text is the sum over all of its rows.",
)
def rows_of_one_text() -> str:
    """In how many ways the eight merges of the chapter can spell a word."""
    word, vocabulary = "tired", {left + right for left, right in EIGHT}
    ways = [1]
    for end in range(1, len(word) + 1):
        last = [word[at:end] for at in range(end)]
        fits = [at for at, token in enumerate(last) if len(token) == 1 or token in vocabulary]
        ways.append(sum(ways[at] for at in fits))
    return (
        f"With the eight merges of the chapter's ten words {word} can be spelt in {ways[-1]} ways, "
        "of which encoding gives one."
    )
