"""Tables of vectors: lookup, a small model that trains one, and measures of likeness."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from helpers.checks import at_least, check_finite, check_same_dtype, checked, within

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
NGRAM_ROWS = 8191  # at most, of each table of n-grams: a prime


# ------------------------------------------------------------------ a table, and what trains it


@checked
def prune_rare(
    ids: Int[Tensor, " N"], *, at_least: int
) -> tuple[Int[Tensor, " N"], Int[Tensor, " V"]]:
    """Number the ids anew, leaving out what is rarer than `at_least`.

    Returns the new ids, 0..V where V stands for everything rare, and for each of 0..V-1 the
    old id. Raises ValueError where at_least is below 1, or no id is that frequent.
    """
    if at_least < 1:
        raise ValueError(f"at_least={at_least} must be at least 1")
    if not len(ids):
        raise ValueError("ids are empty")
    old, counts = ids.unique(return_counts=True)
    kept = old[counts >= at_least]
    if not len(kept):
        raise ValueError(f"no id comes at_least={at_least} times; the most frequent {counts.max()}")
    place = torch.searchsorted(kept, ids).clamp(max=len(kept) - 1)
    return torch.where(kept[place] == ids, place, len(kept)), kept


@checked
def context_windows(
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


@checked
class CBOW(nn.Module):
    """Guess a word from the mean of the vectors of the words around it.

    Shapes: forward (B, W) ids to (B, V) logits; `table` is nn.Embedding(V, C), `output` holds a
    row of C numbers a word. Source: Mikolov et al. 2013, CBOW, with a full softmax.
    """

    def __init__(self, vocab_size: int, width: int, *, generator: torch.Generator):
        super().__init__()
        at_least(1, vocab_size=vocab_size, width=width)
        rows = 0.3 * torch.randn(vocab_size, width, generator=generator)
        self.table = nn.Embedding.from_pretrained(rows, freeze=False)
        self.output = nn.Parameter(torch.zeros(vocab_size, width))

    @checked
    def forward(self, ids_BW: Int[Tensor, "B W"]) -> Float[Tensor, "B V"]:
        """Look up, average, compare with every word's output row."""
        within(self.table.num_embeddings, ids_BW=ids_BW)
        if not ids_BW.shape[1]:
            raise ValueError(f"ids_BW of shape {tuple(ids_BW.shape)} must have a word a row")
        return self.table(ids_BW.long()).mean(dim=1) @ self.output.T


@checked
class NGrams(nn.Module):
    """A row for the last n tokens at each place, n = 2, …, longest, added up: more than one token
    of context from tables alone. Rows start at 0.

    The last n tokens are the digits of a number in base V + 1, with 0 for what lies before the
    first token, and that number is the row. Where there are more such numbers than NGRAM_ROWS,
    the remainder by it is the row, and several groups share one. (The base is one or two more
    where its own remainder is 0 or 1, with which a token's place would not count.)
    Shapes: forward (..., T) ids below V to (..., T, C).
    Raises: ValueError where longest is below 2, or an id lies outside 0..V-1.
    Source: the hash n-gram embeddings of Pagnoni et al. 2024, section 3.2.1.
    """

    def __init__(self, vocab_size: int, width: int, *, longest: int):
        super().__init__()
        at_least(1, vocab_size=vocab_size, width=width)
        at_least(2, longest=longest)
        self.vocab_size = vocab_size
        rows = (min((vocab_size + 1) ** n, NGRAM_ROWS) for n in range(2, longest + 1))
        left = (vocab_size + 1) % NGRAM_ROWS
        self.base = vocab_size + 1 + max(0, 2 - left)
        self.tables = nn.ModuleList(nn.Embedding(count, width) for count in rows)
        for table in self.tables:
            nn.init.zeros_(table.weight)

    @checked
    def forward(self, ids: Int[Tensor, "*batch T"]) -> Float[Tensor, "*batch T C"]:
        """Add up the rows of the groups that end at each token."""
        total: Any
        within(self.vocab_size, ids=ids)
        row, digit, place, total = ids.long() + 1, ids.long() + 1, 1, 0.0
        for table in self.tables:
            digit = F.pad(digit[..., :-1], (1, 0))  # one token further back
            place = place * self.base % NGRAM_ROWS
            row = (row + digit * place) % NGRAM_ROWS
            total = total + table(row)
        return total


@checked
def one_hot(ids: Integer[Tensor, "*batch"], vocab_size: int) -> Float[Tensor, "*batch V"]:
    """A row of V numbers for each id: 1 at the id's place, 0 elsewhere.

    Shapes: ids (...) give (..., V). Raises: ValueError where vocab_size is below 1, or an id lies
    outside 0..V-1.
    """
    at_least(1, vocab_size=vocab_size)
    within(vocab_size, ids=ids)
    places = torch.arange(vocab_size, device=ids.device)
    return (ids.long()[..., None] == places).to(torch.get_default_dtype())


@checked
def table_bytes(vocab_size: int, width: int, bits: int) -> int:
    """How many bytes V rows of C numbers take, at so many bits a number.

    Raises: ValueError where one of them is below 1.
    """
    at_least(1, vocab_size=vocab_size, width=width, bits=bits)
    return -(-vocab_size * width * bits // 8)


@checked
def remap_vocabulary(
    rows: Float[Tensor, "V C"],
    old_words: Sequence[str],
    new_words: Sequence[str],
    start: Float[Tensor, " C"],
) -> Float[Tensor, "V_new C"]:
    """The rows in the order of a new vocabulary: a known word keeps its row, a new one gets start.

    Raises: ValueError where rows and old words differ in number, or a vocabulary repeats a word or
    has none.
    """
    if len(rows) != len(old_words):
        raise ValueError(f"rows are {len(rows)}; one is needed for each of {len(old_words)} words")
    for name, words in (("old_words", old_words), ("new_words", new_words)):
        if not words or len(set(words)) < len(words):
            raise ValueError(f"{name} must name a word at least, and none twice")
    if start.shape != rows.shape[1:]:
        raise ValueError(f"start has {len(start)} numbers; rows have {rows.shape[1]}")
    place = {word: row for row, word in enumerate(old_words)}
    return torch.stack([rows[place[word]] if word in place else start for word in new_words])


@checked
def quantised(
    table: Float[Tensor, "V C"], bits: int
) -> tuple[Int[Tensor, "V C"], Float[Tensor, "V 1"]]:
    """Whole numbers of so many bits, and a scale a row: codes · scale is close to the table.

    The largest number of a row becomes the largest code, 2^(bits-1) - 1, and no number is off by
    more than half a scale. A row of zeros gets the scale 1. Raises: ValueError unless 2 ≤ bits ≤ 8,
    where a number is not finite, and where a row is so small that its scale has lost digits.
    """
    if not 2 <= bits <= 8:
        raise ValueError(f"bits={bits} must be 2 to 8")
    check_finite(table=table)
    largest = table.abs().amax(dim=1, keepdim=True)
    scale = torch.where(largest > 0, largest / (2 ** (bits - 1) - 1), 1.0)
    if bool((scale < (least := torch.finfo(table.dtype).tiny)).any()):
        raise ValueError(f"table has a row whose scale is {scale.min():.1e}, below {least:.1e}")
    return (table / scale).round().to(torch.int8), scale


# --------------------------------------------------------------------------- measures of likeness


@checked
def similarities(
    query: Float[Tensor, " C"], table: Float[Tensor, "N C"], *, measure: str
) -> Float[Tensor, " N"]:
    """How alike a vector is to each row, the larger the more, by one of MEASURES.

    "euclid" is minus the distance. Shapes: query (C,), table (N, C) give (N,).
    Raises: ValueError for another measure, and where a number is not finite or too large.
    """
    _squarable(query=query, table=table)
    check_same_dtype(query=query, table=table)
    if query.shape != table.shape[1:]:
        raise ValueError(f"query has {len(query)} numbers; a row of table has {table.shape[1]}")
    if measure == "dot":
        return table @ query
    if measure == "cosine":
        return _units(table) @ _units(query)
    if measure == "euclid":
        return -torch.linalg.vector_norm(table - query, dim=1)
    raise ValueError(f"measure={measure!r} must be one of {', '.join(MEASURES)}")


@checked
def neighbours(table: Float[Tensor, "N C"], row: int, k: int, *, measure: str) -> list[int]:
    """The k rows most alike to one row of the table, itself left out, the nearest first.

    Raises: ValueError where k or row does not fit the table, a number is not finite, and for an
    unknown measure.
    """
    if not 0 < k < len(table) or not 0 <= row < len(table):
        raise ValueError(f"row={row} and k={k} must fit a table of {len(table)} rows")
    _squarable(table=table)
    likeness = similarities(table[row], table, measure=measure)
    likeness[row] = float("-inf")
    return likeness.topk(k).indices.tolist()


@checked
def similarity_matrix(table: Float[Tensor, "N C"], *, measure: str) -> Float[Tensor, "N N"]:
    """How alike each row is to each other row, the larger the more, by one of MEASURES.

    Shapes: (N, C) to (N, N). Raises: ValueError as `similarities` does.
    """
    _squarable(table=table)
    if measure == "dot":
        return table @ table.T
    if measure == "cosine":
        units = _units(table)
        return units @ units.T
    if measure == "euclid":
        return -torch.cdist(table, table, compute_mode="donot_use_mm_for_euclid_dist")
    raise ValueError(f"measure={measure!r} must be one of {', '.join(MEASURES)}")


@checked
def nearest(table: Float[Tensor, "N C"], *, measure: str) -> Int[Tensor, " N"]:
    """For each row the most alike of the other rows.

    Shapes: (N, C) to (N,). Raises: ValueError for fewer than two rows, numbers that are not
    finite, or an unknown measure.
    """
    if len(table) < 2:
        raise ValueError(f"table has {len(table)} rows; a neighbour needs at least 2")
    return similarity_matrix(table, measure=measure).fill_diagonal_(float("-inf")).argmax(dim=1)


@checked
def centre(table: Float[Tensor, "N C"]) -> Float[Tensor, "N C"]:
    """Each row less the mean of all rows.

    Raises: ValueError where table is empty, a number is not finite, as what follows does too, or
    the rows are too large to be added up.
    """
    check_finite(table=table)
    centred = table - table.mean(dim=0)
    if not bool(centred.isfinite().all()):
        raise ValueError("table holds numbers too large to be added up")
    return centred


@checked
def principal(table: Float[Tensor, "N C"]) -> tuple[Float[Tensor, " C"], Float[Tensor, "C C"]]:
    """Variances of the centred rows along their principal directions, and these as columns.

    The variance divides by N; the widest direction comes first; a direction's sign is arbitrary.
    """
    _squarable(table=table)
    centred = centre(table)
    covariance_CC = centred.T @ centred / len(table)
    variances, directions = torch.linalg.eigh(covariance_CC)
    return variances.flip(0), directions.flip(1)


@checked
def whiten(table: Float[Tensor, "N C"]) -> Float[Tensor, "N C"]:
    """Centred rows, stretched along their principal directions until every variance is 1.

    The axes are turned back afterwards, so that nothing but the stretching is changed (ZCA).
    Raises: ValueError where the rows do not vary in every direction.
    Source: Bell and Sejnowski 1997.
    """
    variances, directions = principal(table)
    if variances[-1] <= variances[0] * torch.finfo(table.dtype).eps * len(variances):
        raise ValueError(
            f"table of shape {tuple(table.shape)} is flat in some direction: whitening needs rows "
            "that vary in all of them"
        )
    return centre(table) @ directions / variances.sqrt() @ directions.T


@checked
def anisotropy(table: Float[Tensor, "N C"]) -> float:
    """Mean cosine of two different rows: 0 where directions balance, 1 where all are one.

    Raises: ValueError for fewer than two rows. Source: Ethayarajh 2019.
    """
    if len(table) < 2:
        raise ValueError(f"table has {len(table)} rows; a pair needs at least 2")
    _squarable(table=table)
    units, n = _units(table), len(table)
    squared = units.sum(dim=0).square().sum()  # all pairs, and each row with itself
    return float((squared - units.square().sum()) / (n * (n - 1)))


@checked
def rank_correlation(
    first: Float[Tensor, " N"] | Int[Tensor, " N"], second: Float[Tensor, " N"] | Int[Tensor, " N"]
) -> float:
    """Correlation of ranks: 1 where both rise together, 0 where they have nothing in common.

    Equal values share the mean of their ranks. Raises: ValueError where lengths differ, there are
    fewer than two values, one of the two is constant, or a value is not finite. Source: Spearman
    1904.
    """
    if len(first) != len(second):
        raise ValueError(f"first has {len(first)} values, second {len(second)}")
    check_finite(first=first, second=second)
    if len(first) < 2:
        raise ValueError("first and second have one value; ranks need at least two")
    ranks = torch.stack([_ranks(first), _ranks(second)])
    if bool((ranks.std(dim=1) == 0).any()):
        raise ValueError("first and second must not be constant")
    return float(torch.corrcoef(ranks)[0, 1])


def _squarable(**tables: Tensor) -> None:
    """Raise ValueError unless all are check_finite, and so are sums of their squares."""
    check_finite(**tables)
    for name, table in tables.items():
        if not bool((2 * table).square().sum().isfinite()):
            raise ValueError(f"{name} holds numbers too large to be squared")


def _units(vectors: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
    """Each vector divided by its length, be it below the 1e-12 of `normalize`; zeros stay."""
    largest = vectors.abs().amax(dim=-1, keepdim=True)
    short = (largest > 0) & (largest < 1e-6)
    return F.normalize(vectors / torch.where(short, largest, 1.0), dim=-1)


def _ranks(values: Float[Tensor, " N"] | Int[Tensor, " N"]) -> Float[Tensor, " N"]:
    _, place, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(dim=0).double()
    return (last - (counts - 1) / 2)[place]
