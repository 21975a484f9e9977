"""The words of chapters 1 and 2: text to ids and back."""

import re
from collections.abc import Iterator

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
