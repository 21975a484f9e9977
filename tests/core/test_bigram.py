"""bigram: counts by loops, the exact optimum, the known chain, and the loss."""

import itertools
import math
import warnings
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tiny import seeded
from torch.nn import functional as F

from helpers import bigram

V = 4
rows_of_ids = st.lists(st.integers(0, V - 1), min_size=2, max_size=60)
some_counts = arrays(np.int64, (V, V), elements=st.integers(0, 9)).filter(np.any)


def floor_by_loops(counts):
    """-Σ n(i, j) log(n(i, j) / n(i)) / Σ n, one pair at a time."""
    total = 0.0
    for row in counts:
        for n in row:
            if n:
                total -= n * math.log(n / sum(row))
    return total / sum(map(sum, counts))


# --------------------------------------------------------------- counts


@given(rows_of_ids)
def test_counts_are_those_of_a_loop(ids):
    pairs = Counter(itertools.pairwise(ids))
    expected = [[pairs[i, j] for j in range(V)] for i in range(V)]
    for given_ids in (torch.tensor(ids), np.array(ids), np.array(ids, dtype=np.uint8)):
        counts = bigram.count_bigrams(given_ids, V)
        assert counts.tolist() == expected
        assert counts.dtype == np.int64
    assert counts.sum() == len(ids) - 1


def test_small_integers_do_not_overflow():
    counts = bigram.count_bigrams(np.array([200, 100], dtype=np.uint8), 256)
    assert counts[200, 100] == 1
    assert counts.sum() == 1


# ---------------------------------------------------- what counts tell


@given(some_counts)
def test_conditional_entropy_is_the_loops(counts):
    floor = bigram.conditional_entropy(counts)
    assert floor == pytest.approx(floor_by_loops(counts.tolist()), abs=1e-12)
    assert 0 <= floor <= math.log(V) + 1e-12
    assert bigram.conditional_entropy(torch.from_numpy(counts)) == floor
    assert type(floor) is float  # and not NumPy's, which is shown otherwise


@given(some_counts, arrays(np.float64, (V, V), elements=st.floats(0.05, 1)))
def test_no_table_beats_the_conditional_entropy(counts, table):
    table = table / table.sum(axis=1, keepdims=True)
    floor = bigram.conditional_entropy(counts)
    assert bigram.cross_entropy_of(table, counts) >= floor - 1e-12
    most_likely = bigram.smoothed(counts, add=0)
    assert bigram.cross_entropy_of(most_likely, counts) == pytest.approx(floor, abs=1e-12)


@given(some_counts, st.sampled_from([0, 0.01, 1, 5.5]))
def test_smoothed_is_the_loops(counts, add):
    got = bigram.smoothed(counts, add)
    np.testing.assert_allclose(got.sum(axis=1), 1)
    for i in range(V):
        for j in range(V):
            total = counts[i].sum() + add * V
            expected = (counts[i, j] + add) / total if total else 1 / V
            assert got[i, j] == pytest.approx(expected, abs=1e-15)


@given(rows_of_ids, arrays(np.float64, (V, V), elements=st.floats(0.05, 1)))
def test_cross_entropy_is_torchs_over_the_text(ids, table):
    table = table / table.sum(axis=1, keepdims=True)
    ids = torch.tensor(ids)
    expected = F.nll_loss(torch.from_numpy(table).log()[ids[:-1]], ids[1:])
    got = bigram.cross_entropy_of(table, bigram.count_bigrams(ids, V))
    assert got == pytest.approx(expected.item(), abs=1e-12)
    assert type(got) is float


@pytest.mark.parametrize("row", [[1.5, -0.5], [0.7, 0.7], [0.3, 0.3]])
def test_a_row_that_is_no_distribution_is_refused(row):
    with pytest.raises(ValueError):
        bigram.cross_entropy_of(np.array([[0.5, 0.5], row]), np.eye(2))


def test_unseen_pair_costs_infinity_only_if_it_occurs():
    certain = np.eye(2)
    with warnings.catch_warnings(action="error"):
        assert bigram.cross_entropy_of(certain, np.array([[3, 0], [0, 1]])) == 0
        assert bigram.cross_entropy_of(certain, np.array([[3, 1], [0, 1]])) == math.inf


# ----------------------------------------------------------------- loss


def test_gradient_of_the_loss_is_p_minus_y_for_the_rows_in_the_batch():
    table_VV = torch.randn(V, V, dtype=torch.float64, generator=seeded()).requires_grad_()
    x_BT, y_BT = torch.tensor([[0, 2], [2, 0]]), torch.tensor([[1, 3], [3, 3]])
    found = bigram.loss(table_VV[x_BT], y_BT)
    found.backward()
    p = table_VV.detach().softmax(dim=-1)
    counts, expected = np.zeros((V, V)), torch.zeros(V, V, dtype=torch.float64)
    for x, y in zip(x_BT.flatten().tolist(), y_BT.flatten().tolist(), strict=True):
        expected[x] += (p[x] - F.one_hot(torch.tensor(y), V)) / 4
        counts[x, y] += 1
    torch.testing.assert_close(table_VV.grad, expected)
    assert found.item() == pytest.approx(bigram.cross_entropy_of(p, counts))


@pytest.mark.parametrize("kind", [np.uint64, np.uint8, np.int8])
def test_ids_and_counts_may_be_of_any_kind(kind):
    counts = bigram.count_bigrams(np.array([1, 2, 0, 2], dtype=kind), 300)
    assert counts.sum() == counts[1, 2] + counts[2, 0] + counts[0, 2] == 3
    assert bigram.conditional_entropy(torch.ones(4, 4).bfloat16()) == pytest.approx(math.log(4))


def test_targets_may_be_of_32_bits():
    logits, targets = torch.eye(3)[None], torch.tensor([[0, 1, 2]])
    assert bigram.loss(logits, targets.int()) == bigram.loss(logits, targets)
