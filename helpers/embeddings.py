"""Tables of vectors: lookup, a small model that trains one, and measures of likeness."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

# Words of the tales that belong together by use, so that neighbours can be counted as right.
WORD_GROUPS = {
    name: tuple(words.split())
    for name, words in {
        "numbers": "two three four five six seven eight nine ten twelve",
        "pronouns": "I you he she it we they",
        "forms of to be": "am is are was were",
        "verbs of saying": "said asked cried called shouted whispered answered told",
        "modal verbs": "can could will would must might should",
        "words before a noun": "the a his her my your their",
        "words of place": "in on at under into over through behind across from",
        "times": "morning evening afternoon night day winter spring summer autumn",
        "colours": "red white green black blue yellow brown",
        "family": "mother father brother sister grandmother",
        "names": "Anna Sam Tom Daisy Peter Mary",
    }.items()
}
MEASURES = ("dot", "cosine", "euclid")


# ------------------------------------------------------------------ a table, and what trains it


def frequent(
    ids: Int[Tensor, " N"], *, at_least: int
) -> tuple[Int[Tensor, " N"], Int[Tensor, " V"]]:
    """Number the ids anew, leaving out what is rarer than `at_least`.

    Returns the new ids, 0..V where V stands for everything rare, and for each of 0..V-1 the
    old id. Raises ValueError where at_least is below 1, or no id is that frequent.
    """
    if at_least < 1:
        raise ValueError(f"at_least={at_least} must be at least 1")
    old, counts = ids.unique(return_counts=True)
    kept = old[counts >= at_least]
    if not len(kept):
        raise ValueError(f"no id comes at_least={at_least} times; the most frequent {counts.max()}")
    place = torch.searchsorted(kept, ids).clamp(max=len(kept) - 1)
    return torch.where(kept[place] == ids, place, len(kept)), kept


def surroundings(
    ids: Int[Tensor, " N"], *, reach: int
) -> tuple[Int[Tensor, "M W"], Int[Tensor, " M"]]:
    """The W = 2·reach neighbours of each token that has them all, and the token itself.

    Shapes: ids (N,) give (N - 2·reach, 2·reach) and (N - 2·reach,).
    Raises: ValueError where reach is below 1 or ids are too few.
    """
    if reach < 1 or len(ids) <= 2 * reach:
        raise ValueError(f"reach={reach} must be at least 1 and fit twice into {len(ids)} ids")
    steps = torch.tensor([step for step in range(-reach, reach + 1) if step])
    at = torch.arange(reach, len(ids) - reach)
    return ids[at[:, None] + steps], ids[at]


class SurroundingsModel(nn.Module):
    """Guess a word from the mean of the vectors of the words around it.

    Shapes: forward (B, W) ids to (B, V) logits; `table` is nn.Embedding(V, C), `output` holds a
    row of C numbers a word. Source: Mikolov et al. 2013, CBOW, with a full softmax.
    """

    def __init__(self, vocab_size: int, width: int, *, generator: torch.Generator):
        super().__init__()
        rows = 0.3 * torch.randn(vocab_size, width, generator=generator)
        self.table = nn.Embedding.from_pretrained(rows, freeze=False)
        self.output = nn.Parameter(torch.zeros(vocab_size, width))

    def forward(self, ids_BW: Int[Tensor, "B W"]) -> Float[Tensor, "B V"]:
        """Look up, average, compare with every word's output row."""
        return self.table(ids_BW).mean(dim=1) @ self.output.T


# --------------------------------------------------------------------------- measures of likeness


def similarities(
    query: Float[Tensor, " C"], table: Float[Tensor, "N C"], *, measure: str
) -> Float[Tensor, " N"]:
    """How alike a vector is to each row, the larger the more, by one of MEASURES.

    "euclid" is minus the distance. Shapes: query (C,), table (N, C) give (N,).
    Raises: ValueError for another measure.
    """
    if measure == "dot":
        return table @ query
    if measure == "cosine":
        return nn.functional.normalize(table, dim=1) @ nn.functional.normalize(query, dim=0)
    if measure == "euclid":
        return -torch.linalg.vector_norm(table - query, dim=1)
    raise ValueError(f"measure={measure!r} must be one of {', '.join(MEASURES)}")


def neighbours(table: Float[Tensor, "N C"], row: int, k: int, *, measure: str) -> list[int]:
    """The k rows most alike to one row of the table, itself left out, the nearest first.

    Raises: ValueError where k or row does not fit the table, and for an unknown measure.
    """
    if not 0 < k < len(table) or not 0 <= row < len(table):
        raise ValueError(f"row={row} and k={k} must fit a table of {len(table)} rows")
    likeness = similarities(table[row], table, measure=measure).clone()
    likeness[row] = float("-inf")
    return likeness.topk(k).indices.tolist()
