"""Tokenizers from files: byte-pair encodings as SmolLM2, Qwen 2 and Llama 2 have them."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import regex
import torch
from torch import Tensor

from helpers.minillama import SPLIT, BytePairTokenizer


class PretrainedTokenizer(BytePairTokenizer):
    """A tokenizer from a file, which splits as that says and joins one pair at a time.

    Drops characters without a token (in SmolLM2 six control characters), as Hugging Face's.
    """

    split, composes = SPLIT, False

    def normal(self, text: str) -> str:
        """The text that is split, where the file says so in Unicode's form NFC."""
        return unicodedata.normalize("NFC", text) if self.composes else text

    def begin(self, character: str) -> list[bytes]:
        """The tokens of a character before any are joined."""
        parts = [bytes([byte]) for byte in character.encode()]
        return parts if parts[0] in self.ids else []

    def joined(self, word: str) -> list[int]:
        """A word's ids. Files made of other formats may name a pair before one of its parts."""
        tokens = [token for character in word for token in self.begin(character)]
        while len(tokens) > 1:
            ranks = [self.rank.get(pair, len(self.rank)) for pair in pairwise(tokens)]
            at = ranks.index(least := min(ranks))
            if least == len(self.rank):
                break
            tokens[at : at + 2] = [tokens[at] + tokens[at + 1]]
        return [self.ids[token] for token in tokens]

    def encode(self, text: str) -> Tensor:
        """Text to ids, (N,)."""
        words = [match.group() for match in regex.finditer(self.split, self.normal(text))]
        ids = {word: self.joined(word) for word in set(words)}
        return torch.tensor([i for word in words for i in ids[word]], dtype=torch.int64)


class SentencePieceTokenizer(PretrainedTokenizer):
    """Joins characters, ▁ for a space; one without a token is written in bytes, as in Llama 2."""

    split = "▁*[^▁]+|▁+"

    def normal(self, text: str) -> str:
        """▁ for each space and at the beginning."""
        return "▁" + text.replace(" ", "▁") if text else ""

    def begin(self, character: str) -> list[bytes]:
        """The character, or <0x…> for each of its bytes."""
        parts = character.encode()
        return [parts] if parts in self.ids else [b"<0x%02X>" % byte for byte in parts]

    def decode(self, ids: Iterable) -> str:
        """Ids to text, without the space that `normal` put in front."""
        parts = [
            bytes([int(token[3:5], 16)]) if re.fullmatch(b"<0x..>", token) else token
            for token in (self.vocab[i] for i in ids)
        ]
        text = b"".join(parts).decode(errors="replace").replace("▁", " ")
        return text.removeprefix(" ")


# GPT-2's letter for each byte: its own if that can be printed, else one from 256 on.
LETTERS = {byte: chr(byte) for byte in (*range(33, 127), *range(161, 173), *range(174, 256))}
LETTERS |= {b: chr(256 + n) for n, b in enumerate(b for b in range(256) if b not in LETTERS)}


def byte_pair_tokenizer(
    tokens: list[str],
    merges: list[list[str]],
    kind: type[PretrainedTokenizer] = PretrainedTokenizer,
) -> PretrainedTokenizer:
    """A tokenizer from tokens by id and pairs that merge, all in GPT-2's letters for bytes.

    SentencePiece's tokens are text as it is.
    """
    byte_of = {letter: byte for byte, letter in LETTERS.items()}

    def as_bytes(token: str) -> bytes:
        known = all(letter in byte_of for letter in token)
        known &= kind is not SentencePieceTokenizer
        return bytes(byte_of[letter] for letter in token) if known else token.encode()

    tokenizer = kind([(as_bytes(left), as_bytes(right)) for left, right in merges])
    tokenizer.vocab = [as_bytes(token) for token in tokens]
    tokenizer.ids = {token: i for i, token in enumerate(tokenizer.vocab)}
    return tokenizer


DIGITS = [  # the pre-tokenizers that split where minillama.SPLIT does
    {"type": "Digits", "individual_digits": True},
    {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
]
PATTERN = [  # those of a file that brings its own regular expression
    {"type": "Split", "behavior": "Isolated", "invert": False},
    {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
]
SPACES = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "content": "▁"}]


def tokenizer_from(words: dict[str, Any]) -> PretrainedTokenizer | None:
    """The tokenizer of a tokenizer.json, or None for a kind that isn't known here."""

    def are(steps: list[dict], known: list[dict]) -> bool:
        same = [step | of_book for step, of_book in zip(steps, known, strict=False)]
        return same == steps and len(steps) == len(known)

    pairs, normalizer = words["model"], words["normalizer"] or {}
    splits = (words["pre_tokenizer"] or {}).get("pretokenizers", [])
    is_spaced = not words["pre_tokenizer"] and are(normalizer.get("normalizers", []), SPACES)
    if is_spaced:  # where no token has ▁ after another character
        is_known = pairs.get("byte_fallback") and not re.search("[^▁ ]▁", " ".join(pairs["vocab"]))
    else:
        is_known = normalizer.get("type") in (None, "NFC")
        is_known &= are(splits, DIGITS) or are(splits, PATTERN)
    if not is_known or pairs["type"] != "BPE" or pairs.get("ignore_merges"):
        return None
    ids = pairs["vocab"] | {token["content"]: token["id"] for token in words["added_tokens"]}
    tokens = [""] * (1 + max(ids.values()))  # some files leave ids out
    for token, i in ids.items():
        tokens[i] = token
    merges = [m.split(" ") if isinstance(m, str) else m for m in pairs["merges"]]
    kind = SentencePieceTokenizer if is_spaced else PretrainedTokenizer
    tokenizer = byte_pair_tokenizer(tokens, merges, kind)
    tokenizer.composes = bool(normalizer)
    if are(splits, PATTERN):
        tokenizer.split = splits[0]["pattern"]["Regex"]
    return tokenizer
