"""numerics against torch in float64, plain loops, and the near misses of each formula."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from torch.nn import functional as F

from helpers import numerics

finite = st.floats(-50, 50)
tables = arrays(np.float64, array_shapes(min_dims=2, max_dims=3, max_side=5), elements=finite)


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


# ---------------------------------------------------------------- softmax


@given(tables, st.sampled_from([0, 1, -1, -2]))
def test_softmax_family_is_torchs(scores, axis):
    t = torch.from_numpy(scores)
    np.testing.assert_allclose(numerics.softmax(scores, axis), t.softmax(axis), atol=1e-14)
    np.testing.assert_allclose(numerics.log_softmax(scores, axis), t.log_softmax(axis), atol=1e-12)


@pytest.mark.parametrize("function", [numerics.softmax, numerics.log_softmax])
def test_the_last_axis_is_taken_where_none_is_named(function):
    scores = example(2, 3)
    np.testing.assert_array_equal(function(scores), function(scores, 1))


@given(tables, st.floats(-1e6, 1e6))
def test_softmax_ignores_a_constant(scores, constant):
    np.testing.assert_allclose(
        numerics.softmax(scores + constant), numerics.softmax(scores), atol=1e-8
    )


def test_log_softmax_survives_where_softmax_underflows():
    np.testing.assert_array_equal(numerics.log_softmax(np.array([0.0, -1e4])), [0.0, -1e4])


def test_softmax_of_huge_scores_and_integers():
    np.testing.assert_array_equal(numerics.softmax(np.array([1e308, 0.0])), [1.0, 0.0])
    assert (numerics.softmax(np.array([[0.0, 0.0], [1e4, 1e4]])) == 0.5).all()  # each row's own max
    assert (numerics.attention_weights(np.full((1, 2), 1e3), np.full((2, 2), 1e3)) == 0.5).all()
    assert numerics.softmax(np.array([1, 1], dtype=np.int8)).tolist() == [0.5, 0.5]


def test_minus_infinity_gets_no_weight():
    scores = np.array([0.0, -np.inf, 0.0])
    assert numerics.softmax(scores).tolist() == [0.5, 0.0, 0.5]
    assert numerics.log_softmax(scores)[1] == -np.inf


def test_reductions_of_one_row_are_floats():
    assert isinstance(numerics.entropy(np.array([0.5, 0.5])), float)
    assert isinstance(numerics.mean(np.zeros(2), 0), float)


# ---------------------------------------------------------------- entropy


@given(tables)
def test_entropy_is_torchs(scores):
    p = numerics.softmax(scores)
    expected = torch.distributions.Categorical(logits=torch.from_numpy(scores)).entropy()
    got = numerics.entropy(p)
    np.testing.assert_allclose(got, expected, atol=1e-9)
    assert np.all(got >= 0)
    assert np.all(got <= math.log(p.shape[-1]) + 1e-12)


def test_entropy_is_in_nats_and_takes_an_axis():
    assert numerics.entropy(np.full(8, 1 / 8)) == pytest.approx(math.log(8))  # not 3 bits
    p = np.array([[1.0, 0.5], [0.0, 0.5]])
    np.testing.assert_allclose(numerics.entropy(p, axis=0), [0.0, math.log(2)])
    assert math.copysign(1, numerics.entropy(np.array([1, 0]))) == 1  # 0, not -0
    numerics.entropy(np.array([0.5, 0.5 + 0.9e-6]))
    with pytest.raises(ValueError):
        numerics.entropy(np.array([0.5, 0.5 + 1.1e-6]))


# ---------------------------------------------------------- cross-entropy


@given(tables, st.data())
def test_cross_entropy_is_torchs(logits, data):
    V = logits.shape[-1]
    targets = data.draw(arrays(np.int64, logits.shape[:-1], elements=st.integers(0, V - 1)))
    expected = F.cross_entropy(
        torch.from_numpy(logits).reshape(-1, V), torch.from_numpy(targets).reshape(-1)
    )
    assert numerics.cross_entropy(logits, targets) == pytest.approx(expected.item(), abs=1e-10)


def test_cross_entropy_of_one_position():
    assert numerics.cross_entropy(np.zeros(7), 3) == pytest.approx(math.log(7))


# ------------------------------------------------------ mean and variance


@given(tables, st.sampled_from([0, 1, -1, (0, 1)]))
def test_mean_and_variance_are_torchs(x, axis):
    t = torch.from_numpy(x)
    np.testing.assert_allclose(numerics.mean(x, axis), t.mean(axis), atol=1e-12)
    np.testing.assert_allclose(
        numerics.variance(x, axis), t.var(axis, correction=0), atol=1e-9, rtol=1e-9
    )


def test_variance_divides_by_n_by_default():
    x = np.array([2, 4, 4, 4, 5, 5, 7, 9])
    assert numerics.variance(x, 0) == 4.0
    assert numerics.variance(x, 0, ddof=1) == 32 / 7


def test_variance_of_numbers_far_from_zero():
    # E[x²] - E[x]² loses all digits here.
    assert numerics.variance(1e9 + np.array([0.0, 1.0, 2.0]), 0) == pytest.approx(2 / 3)


# -------------------------------------------------------------- attention


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_torchs(lead, masked):
    q, k, v = example(*lead, 4, 6), example(*lead, 5, 6, seed=1), example(*lead, 5, 2, seed=2)
    mask = np.tril(np.ones((4, 5), dtype=bool)) if masked else None
    expected = F.scaled_dot_product_attention(
        *map(torch.from_numpy, (q, k, v)),
        attn_mask=None if mask is None else torch.from_numpy(mask),
    )
    np.testing.assert_allclose(numerics.attention(q, k, v, mask), expected, atol=1e-14)


def test_attention_weights_take_a_mask_of_their_own_lead():
    q, k = example(2, 1, 3), example(2, 2, 3, seed=1)
    mask = np.array([[[True, False]], [[False, True]]])
    np.testing.assert_array_equal(numerics.attention_weights(q, k, mask), mask)


def test_computed_in_float64_for_any_dtype():
    x, p = example(2, 3).astype(np.float32), np.array([0.1, 0.9], dtype=np.float32)
    for function, given_x in (
        (numerics.softmax, x),
        (numerics.log_softmax, x),
        (numerics.entropy, p),
        (lambda x: numerics.mean(x, 0), x),
        (lambda x: numerics.variance(x, 0), x),
        (lambda x: numerics.attention_weights(x, x), x),
        (lambda x: numerics.cross_entropy(x, np.array([0, 2])), x),
    ):
        np.testing.assert_array_equal(function(given_x), function(given_x.astype(np.float64)))
