"""The words of chapters 1 and 2: text to ids and back."""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import torch
from jaxtyping import Int
from torch import Tensor

# A piece of text is a clitic 's, a word, digits, line ends, or any other character; joining the
# pieces restores the text.
_WORD = r"[^\W\d_]+"
_PIECE = re.compile(
    rf"(?<=[^\W\d_])['’]s\b|{_WORD}(?:(?:-|['’](?!s\b)){_WORD})*|\d+|\n+|.", re.DOTALL
)
_NO_SPACE_BEFORE = frozenset(".,;:!?)]}%”’'…") | {"'s", "’s"}
_NO_SPACE_AFTER = frozenset("([{“‘")


def _usual_gap(previous: str | None, piece: str, quoted: bool) -> str:
    """The usual separator of two pieces in English: a space or nothing.

    quoted: whether a straight double quote is open after `previous`.
    """
    if previous is None or piece in _NO_SPACE_BEFORE or previous in _NO_SPACE_AFTER:
        return ""
    if '"' in (previous, piece):
        return "" if quoted else " "
    return " "


def _tokens(text: str) -> Iterator[str]:
    previous, quoted, gap = None, False, []
    for piece in _PIECE.findall(text):
        if piece.isspace():
            gap.append(piece)
            continue
        between = "".join(gap)
        if between != _usual_gap(previous, piece, quoted):
            yield from gap or [""]
        quoted = (quoted and "\n" not in between) != (piece == '"')
        yield piece
        previous, gap = piece, []
    yield from gap


class WordTokenizer:
    r"""One token per word or punctuation mark; a space is a token only where it is unusual.

    The fox's den, said Anna: "The", "fox", "'s", "den", ",", "said", "Anna". Decoding puts
    between two tokens what English usually has there (a space, but none before a comma or
    inside a quote); only where the text differs is there a token for it: " ", "\n",
    "\n\n", or "" for no space where one is usual. So a word is the same token everywhere, the
    sequence is hardly longer than its words and marks, and `decode(encode(text)) == text` for
    every text. `vocab` lists the tokens, sorted; case is kept.
    """

    def __init__(self, text: str):
        self.vocab = sorted(set(_tokens(text)))
        self.ids = {token: i for i, token in enumerate(self.vocab)}

    def encode(self, text: str) -> Int[Tensor, " N"]:
        """Text to ids, (N,). Raises: KeyError with the first word that is not in the vocabulary."""
        return torch.tensor([self.ids[token] for token in _tokens(text)], dtype=torch.int64)

    def decode(self, ids: Int[Tensor, " N"] | list[int]) -> str:
        """Ids to the text that they came from, exactly."""
        parts, previous, quoted, gap = [], None, False, None
        for token in (self.vocab[i] for i in ids):
            if not token or token.isspace():
                gap = (gap or "") + token
                continue
            between = _usual_gap(previous, token, quoted) if gap is None else gap
            quoted = (quoted and "\n" not in between) != (token == '"')
            parts += [between, token]
            previous, gap = token, None
        return "".join(parts) + (gap or "")


# --- until helpers.gpt goes ---


class Tokenizer(ABC):
    """A vocabulary: its tokens, their ids, and text to ids and back."""

    vocab: tuple[str, ...]
    unit: str

    def __init__(self, text: str):
        self._set_vocab({token for token, _ in self._tokens(text)})

    def _set_vocab(self, tokens: Iterable[str]) -> None:
        self.vocab = tuple(sorted(tokens))
        self._id = {token: i for i, token in enumerate(self.vocab)}

    def __len__(self) -> int:
        return len(self.vocab)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} {self.unit}s)"

    def encode(self, text: str) -> Int[Tensor, " N"]:
        """Turn text into token ids, int64, each in 0..V-1.

        Raises ValueError that names the first unknown token and its position in the text.
        """
        ids = []
        for token, position in self._tokens(text):
            if token not in self._id:
                raise ValueError(
                    f"text has the {self.unit} {token!r} at position {position}, which is not "
                    f"among the {len(self)} {self.unit}s of this tokenizer"
                )
            ids.append(self._id[token])
        return torch.tensor(ids, dtype=torch.int64)

    def decode(self, ids: Int[Tensor, " N"] | list[int]) -> str:
        """Turn token ids back into the text that they came from, exactly.

        Raises ValueError where an id lies outside 0..V-1. Shapes: ids (N,).
        """
        if isinstance(ids, Tensor):
            ids = ids.tolist()
        if any(not 0 <= i < len(self) for i in ids):
            raise ValueError(f"ids must lie in 0..{len(self) - 1}")
        return self._join(self.vocab[i] for i in ids)

    @abstractmethod
    def _tokens(self, text: str) -> Iterator[tuple[str, int]]:
        """Each token of the text and its position."""

    def _join(self, tokens: Iterable[str]) -> str:
        """The text that these tokens came from."""
        return "".join(tokens)


class CharTokenizer(Tokenizer):
    """One token per character; the vocabulary is the characters of `text`, sorted.

    `vocab` is a tuple of str, `len(tokenizer)` its size V.

    >>> CharTokenizer("abc").encode("cab")
    tensor([2, 0, 1])
    """

    unit = "character"

    def _tokens(self, text: str) -> Iterator[tuple[str, int]]:
        return ((character, position) for position, character in enumerate(text))


# Marks and joiners belong to the letter before them, as vowels do in Hindi; \w lacks them.
_MARKS = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M")
_LETTERS = rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}\u200c\u200d])*"

# A word with the space before it, line ends, or any one character besides.
_SPACED = re.compile(rf" ?{_LETTERS}|\n+|.", re.DOTALL)


class PieceTokenizer(Tokenizer):
    """One token per frequent word, with the space before it; other words are spelt by characters.

    `vocab` is a tuple of str, sorted: the characters of `text`, and each word (or run of line
    ends) that occurs in it at least `least` times. So every text of these characters can be
    encoded, and joining the tokens restores it.
    """

    unit = "token"

    def __init__(self, text: str, least: int = 100):
        counts = Counter(_SPACED.findall(text))
        self._set_vocab({*text, *(piece for piece, count in counts.items() if count >= least)})

    @classmethod
    def from_vocab(cls, vocab: Iterable[str]) -> "PieceTokenizer":
        """The tokenizer that has this vocabulary."""
        tokenizer = cls.__new__(cls)
        tokenizer._set_vocab(vocab)
        return tokenizer

    def _tokens(self, text: str) -> Iterator[tuple[str, int]]:
        for match in _SPACED.finditer(text):
            known = match.group() in self._id
            for at, token in enumerate([match.group()] if known else match.group()):
                yield token, match.start() + at


TOKENIZERS: dict[str, Callable[[str], Tokenizer]] = {
    "characters": CharTokenizer,
    "words": PieceTokenizer,
}
