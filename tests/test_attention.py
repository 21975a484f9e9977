"""attention against torch and the oracle in float64, its properties, and its refusals."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from helpers import numerics
from helpers.attention import AttentionSteps, attention_steps, causal_mask, depends_on

TIGHT = {"rtol": 0, "atol": 1e-12}
FEW = st.integers(1, 5)


def attention(q, k, v, *, allowed=None):
    return attention_steps(q, k, v, allowed=allowed).output


def example(*lead, Tq=4, Tk=6, D=5, Dv=3, seed=0):
    """q, k, v in float64; the scores are spread enough that a wrong scale shows."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((*lead, Tq, D), (*lead, Tk, D), (*lead, Tk, Dv))
    return tuple(
        torch.randn(shape, generator=generator, dtype=torch.float64) * 2 for shape in shapes
    )


def some_mask(*shape, seed=1):
    """About half of the keys allowed, and at least one for each query."""
    generator = torch.Generator().manual_seed(seed)
    allowed = torch.rand(shape, generator=generator) < 0.5
    allowed[..., 0] |= ~allowed.any(dim=-1)
    return allowed


@st.composite
def examples(draw):
    sizes = {"Tq": draw(FEW), "Tk": draw(FEW), "D": draw(FEW), "Dv": draw(FEW)}
    return example(seed=draw(st.integers(0, 10_000)), **sizes)


# ------------------------------------------------------------- the same as torch


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=["", "B", "BH"])
@pytest.mark.parametrize("masked", [False, True])
def test_output_and_gradients_are_torchs(lead, masked):
    inputs = [part.requires_grad_() for part in example(*lead)]
    allowed = some_mask(*lead, 4, 6) if masked else None
    ours = attention_steps(*inputs, allowed=allowed).output
    torchs = F.scaled_dot_product_attention(*inputs, attn_mask=allowed)
    torch.testing.assert_close(ours, torchs, **TIGHT)
    upstream = torch.randn(ours.shape, dtype=torch.float64, generator=torch.Generator())
    for mine, theirs in zip(
        torch.autograd.grad(ours, inputs, upstream),
        torch.autograd.grad(torchs, inputs, upstream),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs, **TIGHT)


def test_causal_attention_is_torchs():
    q, k, v = example(2, Tq=5, Tk=5)
    ours = attention(q, k, v, allowed=causal_mask(5))
    torch.testing.assert_close(
        ours, F.scaled_dot_product_attention(q, k, v, is_causal=True), **TIGHT
    )


@pytest.mark.parametrize("masked", [False, True])
def test_output_and_weights_are_the_loops(masked):
    q, k, v = example(2, 2, Tq=3, Tk=4)
    allowed = some_mask(2, 2, 3, 4) if masked else None
    steps = attention_steps(q, k, v, allowed=allowed)
    arrays = (q.numpy(), k.numpy(), v.numpy())
    mask = None if allowed is None else allowed.numpy()
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
    steps = attention_steps(q, k, v, allowed=causal_mask(3))
    torch.testing.assert_close(steps.scaled, attention_steps(q, k, v).scaled)


# ------------------------------------------------------------- axes


def test_leading_axes_ride_along():
    q, k, v = example(2, 3)
    steps = attention_steps(q, k, v)
    assert steps.scores.shape == steps.scaled.shape == steps.weights.shape == (2, 3, 4, 6)
    assert steps.output.shape == (2, 3, 4, 3)
    for b in range(2):
        for h in range(3):
            alone = attention(q[b, h], k[b, h], v[b, h])
            torch.testing.assert_close(steps.output[b, h], alone, **TIGHT)


def test_leading_axes_broadcast():
    q, k, v = example(2, 3)
    one_key_head = attention(q, k[:, :1], v[:, :1])  # all heads share one key and value
    torch.testing.assert_close(one_key_head, attention(q, k[:, :1].expand_as(k), v[:, :1]), **TIGHT)
    whole, row = some_mask(4, 6), some_mask(2, 3, 1, 6)
    expanded = attention(q, k, v, allowed=whole.expand(2, 3, 4, 6))
    torch.testing.assert_close(attention(q, k, v, allowed=whole), expanded, **TIGHT)
    padded = attention(q, k, v, allowed=row.expand(2, 3, 4, 6))
    with_ones = attention_steps(q, k, v, allowed=row.expand(2, 3, 4, 6).contiguous()).output
    torch.testing.assert_close(padded, with_ones, **TIGHT)


def test_inputs_are_left_alone_and_dtype_kept():
    q, k, v = (part.float() for part in example())
    before = [part.clone() for part in (q, k, v)]
    allowed = some_mask(4, 6)
    kept = allowed.clone()
    steps = attention_steps(q, k, v, allowed=allowed)
    assert {field.dtype for field in vars(steps).values()} == {torch.float32}
    assert all(torch.equal(a, b) for a, b in zip((q, k, v), before, strict=True))
    assert torch.equal(allowed, kept)


def test_steps_are_frozen_and_named():
    assert [f.name for f in dataclasses.fields(AttentionSteps)] == [
        "scores", "scaled", "weights", "output",
    ]  # fmt: skip
    with pytest.raises(dataclasses.FrozenInstanceError):
        attention_steps(*example()).output = None


# ------------------------------------------------------------- masks


@pytest.mark.parametrize("length", [1, 2, 5])
def test_causal_mask_is_what_it_says(length):
    mask = causal_mask(length)
    assert mask.shape == (length, length)
    assert mask.dtype == torch.bool
    for t in range(length):
        for s in range(length):
            assert mask[t, s] == (s <= t), f"token {t} reading token {s}"


@given(examples(), st.integers(0, 10_000))
def test_what_is_not_allowed_has_no_weight_and_no_influence(inputs, seed):
    q, k, v = inputs
    allowed = some_mask(len(q), len(k), seed=seed)
    steps = attention_steps(q, k, v, allowed=allowed)
    assert (steps.weights[~allowed] == 0).all()
    assert (steps.weights[allowed] > 0).all()
    for t in range(len(q)):  # the same as if the other keys were not there
        alone = attention(q[t : t + 1], k[allowed[t]], v[allowed[t]])
        torch.testing.assert_close(steps.output[t : t + 1], alone)


def test_a_mask_of_all_true_is_no_mask():
    q, k, v = example()
    ones = torch.ones(4, 6, dtype=torch.bool)
    torch.testing.assert_close(attention(q, k, v, allowed=ones), attention(q, k, v), **TIGHT)


# ------------------------------------------------------------- properties


@given(examples())
def test_rows_of_weights_sum_to_one(inputs):
    weights = attention_steps(*inputs).weights
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(len(weights), dtype=torch.float64))
    assert (weights >= 0).all()


@given(examples(), st.randoms(use_true_random=False))
def test_order_of_keys_and_values_does_not_matter(inputs, random):
    q, k, v = inputs
    order = list(range(len(k)))
    random.shuffle(order)
    torch.testing.assert_close(attention(q, k[order], v[order]), attention(q, k, v))


@given(examples())
def test_order_of_queries_is_the_order_of_outputs(inputs):
    q, k, v = inputs
    torch.testing.assert_close(attention(q.flip(0), k, v), attention(q, k, v).flip(0))


@given(examples(), st.floats(-3, 3))
def test_a_constant_on_keys_changes_nothing_and_on_values_comes_through(inputs, c):
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


def test_one_key_is_read_whatever_is_asked():
    q, k, v = example(Tk=1)
    torch.testing.assert_close(attention(q, k, v), v.expand(4, 3), **TIGHT)


def test_a_long_query_reads_the_best_key_alone():
    q, k, v = example()
    best = (q @ k.T).argmax(dim=1)
    torch.testing.assert_close(attention(1e4 * q, k, v), v[best])


def test_no_overflow_for_large_scores():
    q, k, v = example()
    assert attention(1e150 * q, 1e150 * k, v).isfinite().all()


# ------------------------------------------------------------- refusals


@pytest.mark.no_shape_check
@pytest.mark.parametrize(
    ("q", "k", "v", "says"),
    [
        ((4, 5), (6, 4), (6, 3), r"same width D.*q is \(4, 5\), k is \(6, 4\)"),
        ((4, 5), (6, 5), (5, 3), r"one row per key.*k is \(6, 5\), v is \(5, 3\)"),
        ((5,), (6, 5), (6, 3), r"q must have at least two axes.*\(5,\)"),
        ((4, 5), (5,), (6, 3), r"k must have at least two axes.*\(5,\)"),
        ((4, 5), (6, 5), (6,), r"v must have at least two axes.*\(6,\)"),
        ((4, 5), (0, 5), (0, 3), r"must not be empty"),
        ((4, 0), (6, 0), (6, 3), r"must not be empty"),
        ((2, 4, 5), (3, 6, 5), (3, 6, 3), r"leading.*must fit.*\(2, 4, 5\).*\(3, 6, 5\)"),
    ],
)
def test_shapes_that_do_not_fit(q, k, v, says):
    with pytest.raises(ValueError, match=says):
        attention_steps(torch.ones(q), torch.ones(k), torch.ones(v))


@pytest.mark.no_shape_check
@pytest.mark.parametrize(
    ("allowed", "says"),
    [
        (torch.ones(6, 4, dtype=torch.bool), r"must fit the scores' shape \(4, 6\)"),
        (torch.ones(2, 4, 6, dtype=torch.bool), r"must fit the scores' shape \(4, 6\)"),
        (torch.ones(4, 6), "must be boolean.*float32"),
        (torch.ones(4, 6, dtype=torch.bool).tril(-1), r"query \[0\] read no key"),
    ],
)
def test_masks_that_do_not_fit(allowed, says):
    with pytest.raises(ValueError, match=says):
        attention_steps(*example(), allowed=allowed)


@pytest.mark.no_shape_check
@pytest.mark.parametrize("length", [0, -1])
def test_causal_mask_needs_a_length(length):
    with pytest.raises(ValueError, match=f"at least 1, got {length}"):
        causal_mask(length)


# ------------------------------------------------------------- what depends on what


def test_a_projection_stays_in_its_token_and_attention_does_not():
    x, w_q, w_k = (part / 4 for part in example(Tq=3, Tk=4, D=4, Dv=4))  # no weight rounds to 0
    within = depends_on(lambda x_TC: x_TC @ w_q.T, x)
    assert within.shape == (3, 4, 3, 4)
    for t in range(3):
        for s in range(3):
            assert within[t, :, s].all() == within[t, :, s].any() == (t == s)
    assert depends_on(lambda x_TC: attention(x_TC @ w_q.T, x_TC @ w_k, x_TC), x).all()


def test_causal_attention_depends_on_no_later_token():
    x = example(Tq=4, D=3)[0]
    reads = depends_on(lambda x_TC: attention(x_TC, x_TC, x_TC, allowed=causal_mask(4)), x)
    # Token 0 reads itself alone: its weight is 1 and its entries do not mix.
    assert torch.equal(reads.any(dim=3).any(dim=1), causal_mask(4))
    assert torch.equal(reads[0, :, 0], torch.eye(3, dtype=torch.bool))


def test_shapes_may_change_on_the_way():
    x = example(Tq=3, D=4)[0]
    reads = depends_on(lambda x_TC: x_TC[:2, :1] * 5, x)
    assert reads.shape == (2, 1, 3, 4)
    assert reads.nonzero().tolist() == [[0, 0, 0, 0], [1, 0, 1, 0]]


@pytest.mark.no_shape_check
def test_depends_on_needs_two_axes():
    with pytest.raises(ValueError, match=r"x must have shape \(T, C\), got \(4,\)"):
        depends_on(lambda x: x, torch.ones(4))
    with pytest.raises(ValueError, match=r"\(T_out, C_out\), it returned \(3,\)"):
        depends_on(lambda x: x.sum(dim=1), torch.ones(3, 4))
