"""Hashed n-gram embeddings: more than one token of context from tables alone."""

from typing import Any

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

NGRAM_ROWS = 8191  # at most, of each table of n-grams: a prime


class NGrams(nn.Module):
    """A row for the last n tokens at each position, n = 2, …, longest, added up; rows start at 0.

    The last n tokens are the digits of a number in base V + 1, with 0 for what lies before the
    first token, and that number is the row. Where there are more such numbers than NGRAM_ROWS,
    the remainder by it is the row, and several n-grams share one. (The base is one or two more
    where its own remainder is 0 or 1, with which a token's position would not count.)
    Shapes: forward (..., T) ids below V to (..., T, C).
    Source: the hash n-gram embeddings of Pagnoni et al. 2024, section 3.2.1.
    """

    def __init__(self, vocab_size: int, width: int, *, longest: int, **factory: Any):
        super().__init__()
        rows = (min((vocab_size + 1) ** n, NGRAM_ROWS) for n in range(2, longest + 1))
        remainder = (vocab_size + 1) % NGRAM_ROWS
        self.base = vocab_size + 1 + max(0, 2 - remainder)
        self.tables = nn.ModuleList(nn.Embedding(count, width, **factory) for count in rows)
        for table in self.tables:
            nn.init.zeros_(table.weight)

    def forward(self, ids: Int[Tensor, "*batch T"]) -> Float[Tensor, "*batch T C"]:
        """Add up the rows of the n-grams that end at each token."""
        total: Any = 0.0
        row, digit, power = ids.long() + 1, ids.long() + 1, 1
        for table in self.tables:
            digit = F.pad(digit[..., :-1], (1, 0))  # one token further back
            power = power * self.base % NGRAM_ROWS
            row = (row + digit * power) % NGRAM_ROWS
            total = total + table(row)
        return total
