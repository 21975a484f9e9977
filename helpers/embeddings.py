"""Embedding matrices: ids and lookup, a small model that trains one, and fewer bits for it."""

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


def prune_rare(
    ids: Int[Tensor, " N"], *, at_least: int
) -> tuple[Int[Tensor, " N"], Int[Tensor, " V"]]:
    """Renumber the ids, leaving out those that occur fewer than `at_least` times.

    Returns the new ids, 0..V where V stands for everything rare, and for each of 0..V-1 the
    old id. Shapes: ids (N,) give (N,) and (V,).
    """
    old, counts = ids.unique(return_counts=True)
    kept = old[counts >= at_least]
    new = torch.searchsorted(kept, ids).clamp(max=len(kept) - 1)
    return torch.where(kept[new] == ids, new, len(kept)), kept


def context_windows(
    ids: Int[Tensor, " N"], *, window: int
) -> tuple[Int[Tensor, "M W"], Int[Tensor, " M"]]:
    """The W = 2·window neighbours of each token that has them all, and the token itself.

    Shapes: ids (N,) give (N - 2·window, 2·window) and (N - 2·window,).
    """
    steps = torch.tensor([step for step in range(-window, window + 1) if step])
    at = torch.arange(window, len(ids) - window)
    return ids[at[:, None] + steps], ids[at]


class CBOW(nn.Module):
    """Predict a word from the mean of the vectors of the words around it.

    Shapes: forward (B, W) ids to (B, V) logits; `table` is nn.Embedding(V, C), `output` holds a
    row of C numbers for each word. Source: Mikolov et al. 2013, CBOW, with a full softmax.
    """

    def __init__(self, vocab_size: int, width: int, *, generator: torch.Generator):
        super().__init__()
        rows = 0.3 * torch.randn(vocab_size, width, generator=generator)
        self.table = nn.Embedding.from_pretrained(rows, freeze=False)
        self.output = nn.Parameter(torch.zeros(vocab_size, width))

    def forward(self, ids_BW: Int[Tensor, "B W"]) -> Float[Tensor, "B V"]:
        """Look up, average, take the dot product with every word's output row."""
        return self.table(ids_BW.long()).mean(dim=1) @ self.output.T


def quantised(
    table: Float[Tensor, "V C"], bits: int
) -> tuple[Int[Tensor, "V C"], Float[Tensor, "V 1"]]:
    """Whole numbers of a few bits, and a scale per row: codes · scale is close to the table.

    The largest number of a row becomes the largest code, 2^(bits-1) - 1, and no number is off by
    more than half a scale. A row of zeros gets the scale 1. Raises: ValueError unless 2 ≤ bits ≤ 8,
    or where a number is not finite. Shapes: table (V, C) gives (V, C) and (V, 1).
    """
    if not 2 <= bits <= 8 or not bool(table.isfinite().all()):
        raise ValueError(f"bits={bits} must be 2 to 8, and every number of table finite")
    table = table.to(torch.promote_types(table.dtype, torch.float32))
    largest = table.abs().amax(dim=1, keepdim=True)
    scale = torch.where(largest > 0, largest / (2 ** (bits - 1) - 1), 1.0)
    return (table / scale).round().to(torch.int8), scale
