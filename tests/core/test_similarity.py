"""Measures of similarity: each against torch's or a plain loop, and what holds of any vectors."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import numbers, seeded

from helpers.similarity import (
    MEASURES,
    centre,
    nearest,
    principal,
    rank_correlation,
    similarities,
    similarity_matrix,
    whiten,
)

seeds = st.integers(0, 10_000)


def rows(seed: int, n: int = 12, width: int = 4, *, shift: float = 1.0) -> torch.Tensor:
    """Random rows of different lengths that do not lie around the origin."""
    lengths = 0.5 + torch.rand(n, 1, generator=seeded(seed), dtype=torch.float64)
    return (numbers(n, width, seed=seed + 1) + shift) * lengths


# ------------------------------------------------------------- one vector against a table


@given(seeds)
def test_similarities_are_torchs(seed):
    table = rows(seed)
    query = rows(seed + 1, 1)[0]
    cosine = torch.nn.functional.cosine_similarity(table, query[None], dim=1)
    distance = torch.nn.functional.pairwise_distance(table, query[None], eps=0)
    expected = {"dot": (table * query).sum(dim=1), "cosine": cosine, "euclid": -distance}
    for measure in MEASURES:
        found = similarities(query, table, measure=measure)
        torch.testing.assert_close(found, expected[measure], rtol=0, atol=1e-12)


def test_three_measures_can_name_three_rows():
    stream = torch.tensor([4.0, 2.0])
    table = torch.tensor([[2.0, 1.0], [4.0, 4.0], [8.0, 6.0]])  # brook, pond, river
    best = {m: int(similarities(stream, table, measure=m).argmax()) for m in MEASURES}
    assert best == {"dot": 2, "cosine": 0, "euclid": 1}


@given(seeds, st.sampled_from([1e-9, 1e-20, 1e-42, 1e12]))
def test_cosines_are_scale_invariant(seed, length):
    """Vectors shorter than what `normalize` takes for 0; of 1e-42 float32 has three digits left."""
    table = rows(seed).float()
    small, close = table * length, {"rtol": 0, "atol": 1e-5 if length > 1e-40 else 0.02}
    with_zeros = torch.cat([small, torch.zeros(1, 4)])
    wanted = similarity_matrix(table, measure="cosine")
    torch.testing.assert_close(similarity_matrix(small, measure="cosine"), wanted, **close)
    found = similarities(small[0], with_zeros, measure="cosine")
    torch.testing.assert_close(found[:-1], wanted[0], **close)
    assert found[-1] == 0
    apart = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    assert nearest(apart * length, measure="cosine").tolist() == [2, 2, 0]


# ------------------------------------------------------------- all against all


@given(seeds)
def test_matrix_is_torchs(seed):
    table = rows(seed)
    torch.testing.assert_close(similarity_matrix(table, measure="dot"), table @ table.T)
    far = (table[:, None] - table[None]).square().sum(dim=-1).sqrt()
    torch.testing.assert_close(similarity_matrix(table, measure="euclid"), -far)
    cosines = torch.nn.functional.cosine_similarity(table[:, None], table[None], dim=-1)
    torch.testing.assert_close(similarity_matrix(table, measure="cosine"), cosines)


@pytest.mark.parametrize("measure", MEASURES)
def test_nearest_is_the_most_similar_other_row(measure):
    table = rows(7, 20)
    order = similarity_matrix(table, measure=measure).argsort(descending=True).tolist()
    expected = [next(i for i in row if i != at) for at, row in enumerate(order)]
    assert nearest(table, measure=measure).tolist() == expected


# ------------------------------------------------------------- the cloud


def test_centre_takes_the_mean_of_the_rows():
    table = torch.tensor([[1.0, 10.0], [3.0, 10.0]])
    assert centre(table).tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert table.tolist() == [[1.0, 10.0], [3.0, 10.0]], "the argument is as it was"


@given(seeds)
def test_principal_is_numpys(seed):
    table = rows(seed, 30)
    variances, directions = principal(table)
    singular = np.linalg.svd(table.numpy() - table.numpy().mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(variances, singular**2 / 30, rtol=1e-9)
    torch.testing.assert_close(directions.T @ directions, torch.eye(4, dtype=torch.float64))
    along = (centre(table) @ directions).var(dim=0, correction=0)
    torch.testing.assert_close(along, variances)


@given(seeds)
def test_whitened_rows_have_the_identity_as_covariance(seed):
    white = whiten(rows(seed, 30))
    covariance = torch.cov(white.T, correction=0)
    torch.testing.assert_close(covariance, torch.eye(4, dtype=torch.float64))
    torch.testing.assert_close(white.mean(dim=0), torch.zeros(4, dtype=torch.float64))


@pytest.mark.parametrize(("in_eps", "stretched"), [(3.0, True), (1.5, False)])
def test_whitening_raises_for_a_variance_within_rounding_error(in_eps, stretched):
    """Of two directions, from two units of rounding on."""
    small = math.sqrt(in_eps * torch.finfo(torch.float64).eps)
    rows = [[1, small], [-1, small], [1, -small], [-1, -small]]
    table = torch.tensor(rows, dtype=torch.float64)
    if stretched:
        torch.testing.assert_close(whiten(table)[:, 1].abs(), torch.ones(4).double())
    else:
        with pytest.raises(ValueError):
            whiten(table)


def test_whitening_scales_each_axis_where_axes_are_principal():
    table = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 4.0], [0.0, -4.0]], dtype=torch.float64)
    expected = torch.tensor([[1, 0], [-1, 0], [0, 1], [0, -1]], dtype=torch.float64) * 2**0.5
    torch.testing.assert_close(whiten(table), expected)


# ------------------------------------------------------------- ranks


def test_rank_correlation_by_hand():
    # Ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4: the covariance is 4.5, the sums of squares 4.5 and 5.
    first, second = torch.tensor([1, 5, 5, 9]), torch.tensor([0.1, 0.4, 0.3, 7.0])
    assert rank_correlation(first, second) == pytest.approx(4.5 / (4.5 * 5) ** 0.5, abs=1e-14)


@given(seeds)
def test_rank_correlation_depends_on_order_alone(seed):
    x, y = rows(seed, 15, 2).T
    assert rank_correlation(x, x.exp()) == pytest.approx(1)
    assert rank_correlation(x, -x) == pytest.approx(-1)
    assert rank_correlation(x, y) == pytest.approx(rank_correlation(x.exp(), y**3))
