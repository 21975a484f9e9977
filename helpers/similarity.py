"""Similarity of vectors: dot product, cosine and distance, neighbours, and the shape of a cloud."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

MEASURES = ("dot", "cosine", "euclid")


def similarities(
    query: Float[Tensor, " C"], table: Float[Tensor, "N C"], *, measure: str
) -> Float[Tensor, " N"]:
    """The similarity of a vector to each row by one of MEASURES, larger for more similar.

    "euclid" is minus the distance. Shapes: query (C,), table (N, C) give (N,).
    Raises: ValueError for another measure.

    >>> similarities(torch.tensor([1.0, 0.0]), torch.tensor([[3.0, 4.0]]), measure="cosine")
    tensor([0.6000])
    """
    return _compare(query[None], table, measure)[0]


def similarity_matrix(table: Float[Tensor, "N C"], *, measure: str) -> Float[Tensor, "N N"]:
    """The similarity of each row to each other row by one of MEASURES, larger for more similar.

    Shapes: (N, C) to (N, N). Raises: ValueError for another measure.
    """
    return _compare(table, table, measure)


def _compare(
    queries: Float[Tensor, "M C"], table: Float[Tensor, "N C"], measure: str
) -> Float[Tensor, "M N"]:
    if measure == "dot":
        return queries @ table.T
    if measure == "cosine":
        return _units(queries) @ _units(table).T
    if measure == "euclid":
        return -torch.cdist(queries, table, compute_mode="donot_use_mm_for_euclid_dist")
    raise ValueError(f"measure={measure!r} must be one of {', '.join(MEASURES)}")


def nearest(table: Float[Tensor, "N C"], *, measure: str) -> Int[Tensor, " N"]:
    """For each row the most similar other row. Shapes: (N, C) to (N,).

    Raises: ValueError for an unknown measure, or where numbers are not finite or too large.

    >>> nearest(torch.tensor([[0.0], [1.0], [5.0]]), measure="euclid")
    tensor([1, 0, 1])
    """
    scores = _comparable(similarity_matrix(table, measure=measure))
    return scores.fill_diagonal_(float("-inf")).argmax(dim=1)


def centre(table: Float[Tensor, "N C"]) -> Float[Tensor, "N C"]:
    """Each row minus the mean of all rows. (N, C) to (N, C)."""
    return table - table.mean(dim=0)


def principal(table: Float[Tensor, "N C"]) -> tuple[Float[Tensor, " C"], Float[Tensor, "C C"]]:
    """Variances of the centred rows along their principal directions, and these as columns.

    The variance divides by N; the widest direction comes first; a direction's sign is arbitrary.
    Shapes: (N, C) gives (C,) and (C, C).
    """
    centred = centre(table)
    covariance_CC = centred.T @ centred / len(table)
    variances, directions = torch.linalg.eigh(covariance_CC)
    return variances.flip(0), directions.flip(1)


def whiten(table: Float[Tensor, "N C"]) -> Float[Tensor, "N C"]:
    """Centred rows, stretched along their principal directions until every variance is 1.

    The axes are rotated back afterwards, so that only the stretching is changed (ZCA).
    Raises: ValueError where the rows do not vary in every direction.
    Source: Bell and Sejnowski 1997.
    """
    variances, directions = principal(table)
    if variances[-1] <= variances[0] * torch.finfo(table.dtype).eps * len(variances):
        raise ValueError("table does not vary in every direction, as whitening needs")
    return centre(table) @ directions / variances.sqrt() @ directions.T


def rank_correlation(
    first: Float[Tensor, " N"] | Int[Tensor, " N"], second: Float[Tensor, " N"] | Int[Tensor, " N"]
) -> float:
    """Correlation of ranks: 1 where both rise together, 0 where they are unrelated.

    Equal values share the mean of their ranks; nan where one of the two is constant.
    Raises: ValueError where a value is nan. Source: Spearman 1904.
    Shapes: both (N,).
    """
    ranks = [_ranks(_comparable(values)) for values in (first, second)]
    return float(torch.corrcoef(torch.stack(ranks))[0, 1])


def _comparable(values: Tensor) -> Tensor:
    """The same values. Raises: ValueError for nan, of which nothing is the largest."""
    if values.isnan().any():
        raise ValueError("nan cannot be compared: numbers must be finite and not too large")
    return values


def _units(vectors: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
    """Each vector divided by its length, even below the 1e-12 of `normalize`; zeros stay."""
    largest = vectors.abs().amax(dim=-1, keepdim=True)
    short = (largest > 0) & (largest < 1e-6)
    return F.normalize(vectors / torch.where(short, largest, 1.0), dim=-1)


def _ranks(values: Float[Tensor, " N"] | Int[Tensor, " N"]) -> Float[Tensor, " N"]:
    _, rank, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(dim=0).double()
    return (last - (counts - 1) / 2)[rank]
