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
def test_softmax_is_torchs(scores, axis):
    t = torch.from_numpy(scores)
    np.testing.assert_allclose(numerics.softmax(scores, axis), t.softmax(axis), atol=1e-14)


def test_the_last_axis_is_taken_where_none_is_named():
    scores = example(2, 3)
    np.testing.assert_array_equal(numerics.softmax(scores), numerics.softmax(scores, 1))


@given(tables, st.floats(-1e6, 1e6))
def test_softmax_ignores_a_constant(scores, constant):
    np.testing.assert_allclose(
        numerics.softmax(scores + constant), numerics.softmax(scores), atol=1e-8
    )


def test_softmax_of_huge_scores_and_integers():
    np.testing.assert_array_equal(numerics.softmax(np.array([1e308, 0.0])), [1.0, 0.0])
    assert (numerics.softmax(np.array([[0.0, 0.0], [1e4, 1e4]])) == 0.5).all()  # each row's own max
    assert (numerics.attention_weights(np.full((1, 2), 1e3), np.full((2, 2), 1e3)) == 0.5).all()
    assert numerics.softmax(np.array([1, 1], dtype=np.int8)).tolist() == [0.5, 0.5]


def test_minus_infinity_gets_no_weight():
    scores = np.array([0.0, -np.inf, 0.0])
    assert numerics.softmax(scores).tolist() == [0.5, 0.0, 0.5]


def test_entropy_of_one_row_is_a_float():
    assert isinstance(numerics.entropy(np.array([0.5, 0.5])), float)


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
        (numerics.entropy, p),
        (lambda x: numerics.attention_weights(x, x), x),
    ):
        np.testing.assert_array_equal(function(given_x), function(given_x.astype(np.float64)))
