"""Attention against torch and the oracle in float64, and its properties."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import numbers, seeded
from torch.nn import functional as F

from helpers import numerics
from helpers.attention import attention_steps

TIGHT = {"rtol": 0, "atol": 1e-12}
FEW = st.integers(1, 5)


def attention(q, k, v, *, mask=None):
    return attention_steps(q, k, v, mask=mask).output


def example(*lead, Tq=4, Tk=6, D=5, Dv=3, seed=0):
    """q, k, v in float64; the scores are spread enough that a wrong scale shows."""
    shapes = ((*lead, Tq, D), (*lead, Tk, D), (*lead, Tk, Dv))
    return tuple(2 * numbers(*shape, seed=3 * seed + n) for n, shape in enumerate(shapes))


def some_mask(*shape, seed=1):
    """About half of the keys allowed, and at least one for each query."""
    mask = torch.rand(shape, generator=seeded(seed)) < 0.5
    mask[..., 0] |= ~mask.any(dim=-1)
    return mask


@st.composite
def examples(draw):
    sizes = {"Tq": draw(FEW), "Tk": draw(FEW), "D": draw(FEW), "Dv": draw(FEW)}
    return example(seed=draw(st.integers(0, 10_000)), **sizes)


# ------------------------------------------------------------- the same as torch


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=["", "B", "BH"])
@pytest.mark.parametrize("masked", [False, True])
def test_output_and_gradients_are_torchs(lead, masked):
    inputs = [part.requires_grad_() for part in example(*lead)]
    mask = some_mask(*lead, 4, 6) if masked else None
    ours = attention_steps(*inputs, mask=mask).output
    torchs = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
    torch.testing.assert_close(ours, torchs, **TIGHT)
    upstream = torch.randn(ours.shape, dtype=torch.float64, generator=torch.Generator())
    for mine, theirs in zip(
        torch.autograd.grad(ours, inputs, upstream),
        torch.autograd.grad(torchs, inputs, upstream),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs, **TIGHT)


@pytest.mark.parametrize("masked", [False, True])
def test_output_and_weights_are_the_loops(masked):
    q, k, v = example(2, 2, Tq=3, Tk=4)
    mask = some_mask(2, 2, 3, 4) if masked else None
    steps = attention_steps(q, k, v, mask=mask)
    arrays = (q.numpy(), k.numpy(), v.numpy())
    mask = None if mask is None else mask.numpy()
    np.testing.assert_allclose(steps.output, numerics.attention(*arrays, mask), **TIGHT)
    loops = numerics.attention_weights(*arrays[:2], mask)
    np.testing.assert_allclose(steps.weights, loops, **TIGHT)


def test_by_hand():
    # Scores 0, √4·log 3, 0 and 0 of width 4: weights 1, 3, 1, 1 in sixths.
    q = torch.tensor([[2.0, 0, 0, 0]], dtype=torch.float64)
    k = torch.zeros(4, 4, dtype=torch.float64)
    k[1, 0] = np.log(3.0)
    steps = attention_steps(q, k, torch.eye(4, dtype=torch.float64))
    torch.testing.assert_close(steps.scores[0, 1].item(), 2 * np.log(3.0))
    torch.testing.assert_close(steps.scaled[0, 1].item(), np.log(3.0))
    torch.testing.assert_close(steps.weights, torch.tensor([[1, 3, 1, 1]], dtype=torch.float64) / 6)
    torch.testing.assert_close(steps.output, steps.weights)


@given(examples())
def test_each_step_follows_from_the_one_before(inputs):
    q, k, v = inputs
    steps = attention_steps(q, k, v)
    torch.testing.assert_close(steps.scores, torch.einsum("td,sd->ts", q, k))
    torch.testing.assert_close(steps.scaled, steps.scores / q.shape[1] ** 0.5)
    torch.testing.assert_close(steps.weights, F.softmax(steps.scaled, dim=1))
    torch.testing.assert_close(steps.output, torch.einsum("ts,sd->td", steps.weights, v))


def test_scaled_holds_no_mask():
    q, k, v = example(Tq=3, Tk=3)
    steps = attention_steps(q, k, v, mask=torch.ones(3, 3).tril().bool())
    torch.testing.assert_close(steps.scaled, attention_steps(q, k, v).scaled)


# ------------------------------------------------------------- axes


def test_leading_axes_broadcast():
    q, k, v = example(2, 3)
    one_key_head = attention(q, k[:, :1], v[:, :1])  # all heads share one key and value
    torch.testing.assert_close(one_key_head, attention(q, k[:, :1].expand_as(k), v[:, :1]), **TIGHT)
    whole, row = some_mask(4, 6), some_mask(2, 3, 1, 6)
    expanded = attention(q, k, v, mask=whole.expand(2, 3, 4, 6))
    torch.testing.assert_close(attention(q, k, v, mask=whole), expanded, **TIGHT)
    padded = attention(q, k, v, mask=row.expand(2, 3, 4, 6))
    with_ones = attention_steps(q, k, v, mask=row.expand(2, 3, 4, 6).contiguous()).output
    torch.testing.assert_close(padded, with_ones, **TIGHT)


def test_mask_without_the_leading_axes_of_keys():
    q, k, v = example()
    assert attention(q, torch.stack([k, k]), v, mask=some_mask(2, 4, 6)).shape == (2, 4, 3)


def test_inputs_are_not_modified_and_dtype_is_kept():
    q, k, v = (part.float() for part in example())
    before = [part.clone() for part in (q, k, v)]
    mask = some_mask(4, 6)
    kept = mask.clone()
    steps = attention_steps(q, k, v, mask=mask)
    assert {field.dtype for field in vars(steps).values()} == {torch.float32}
    assert all(torch.equal(a, b) for a, b in zip((q, k, v), before, strict=True))
    assert torch.equal(mask, kept)


# ------------------------------------------------------------- masks


@given(examples(), st.integers(0, 10_000))
def test_what_is_not_allowed_has_no_weight_and_no_influence(inputs, seed):
    q, k, v = inputs
    mask = some_mask(len(q), len(k), seed=seed)
    steps = attention_steps(q, k, v, mask=mask)
    assert (steps.weights[~mask] == 0).all()
    assert (steps.weights[mask] > 0).all()
    for t in range(len(q)):  # the same as if the other keys were not there
        alone = attention(q[t : t + 1], k[mask[t]], v[mask[t]])
        torch.testing.assert_close(steps.output[t : t + 1], alone)


# ------------------------------------------------------------- properties


@given(examples(), st.floats(-3, 3))
def test_a_constant_on_keys_cancels_and_on_values_is_added(inputs, c):
    q, k, v = inputs
    base = attention_steps(q, k, v)
    keys = attention_steps(q, k + c * torch.arange(1.0, k.shape[1] + 1), v)
    torch.testing.assert_close(keys.weights, base.weights)
    values = attention_steps(q, k, v + c)
    torch.testing.assert_close(values.weights, base.weights, **TIGHT)
    torch.testing.assert_close(values.output, base.output + c)


@given(examples())
def test_output_stays_between_the_values(inputs):
    q, k, v = inputs
    output = attention(q, k, v)
    assert (output <= v.max(dim=0).values + 1e-12).all()
    assert (output >= v.min(dim=0).values - 1e-12).all()
    # Along every direction, not only along the axes: that is the convex hull.
    directions = torch.randn(v.shape[1], 20, generator=torch.Generator(), dtype=torch.float64)
    along = v @ directions
    assert (output @ directions <= along.max(dim=0).values + 1e-9).all()


def test_no_overflow_for_large_scores():
    q, k, v = example()
    assert attention(1e150 * q, 1e150 * k, v).isfinite().all()
