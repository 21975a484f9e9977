"""SelfAttention, held to torch's MultiheadAttention; heads, causality and errors."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from helpers.attention import (
    SelfAttention,
    attention_steps,
    causal_mask,
    depends_on,
    remembering,
    watching,
)

EXACT = {"rtol": 0, "atol": 1e-12}


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def pair(width, heads, *, causal, bias=True):
    """Ours and PyTorch's with the same random weights, biases that are not 0 included."""
    ours = SelfAttention(width, heads, causal=causal, bias=bias).double()
    theirs = nn.MultiheadAttention(width, heads, bias=bias, batch_first=True).double()
    with torch.no_grad():
        for seed, parameter in enumerate(ours.parameters()):
            parameter.copy_(numbers(*parameter.shape, seed=seed) / width**0.5)
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.out_proj.load_state_dict(ours.out.state_dict())
        if bias:
            theirs.in_proj_bias.copy_(ours.qkv.bias)
    return ours, theirs


@pytest.mark.parametrize(("width", "heads"), [(6, 1), (12, 3), (8, 8)])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_output_and_gradients_are_torchs(width, heads, causal, bias):
    ours, theirs = pair(width, heads, causal=causal, bias=bias)
    x = numbers(2, 5, width, seed=9).requires_grad_()
    upstream = numbers(2, 5, width, seed=10)
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1) if causal else None
    wanted, _ = theirs(x, x, x, attn_mask=hidden, need_weights=False)
    found = ours(x)
    torch.testing.assert_close(found, wanted, **EXACT)
    mine = torch.autograd.grad(found, [x, *ours.parameters()], upstream)
    by_name = dict(theirs.named_parameters())
    order = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    same = [by_name[name] for name in order if by_name.get(name) is not None]
    torchs = torch.autograd.grad(wanted, [x, *same], upstream)
    for a, b in zip(mine, torchs, strict=True):
        torch.testing.assert_close(a, b, **EXACT)


def test_one_head_is_attention_between_its_projections():
    layer = SelfAttention(4, causal=False).double()
    x = numbers(1, 3, 4)
    q, k, v = layer.qkv(x).split(4, dim=-1)
    torch.testing.assert_close(layer(x), layer.out(attention_steps(q, k, v).output), **EXACT)


@given(length=st.integers(1, 6), heads=st.sampled_from([1, 2, 4]))
def test_causal_reads_itself_and_what_came_before(length, heads):
    layer, _ = pair(4, heads, causal=True)
    reads = depends_on(lambda x: layer(x[None])[0], numbers(length, 4, seed=3))
    between = reads.any(dim=3).any(dim=1)
    assert torch.equal(between, torch.ones(length, length, dtype=torch.bool).tril())


def test_without_a_mask_everybody_reads_everybody():
    layer, _ = pair(4, 2, causal=False)
    assert depends_on(lambda x: layer(x[None])[0], numbers(4, 4, seed=3)).any(dim=(1, 3)).all()


def test_sequences_of_a_batch_do_not_read_each_other():
    layer, _ = pair(4, 2, causal=False)
    x = numbers(3, 5, 4)
    torch.testing.assert_close(layer(x)[1], layer(x[1:2])[0], **EXACT)


def test_a_lone_token_is_turned_by_one_matrix():
    layer, _ = pair(6, 2, causal=True, bias=False)
    x = numbers(1, 1, 6)
    matrix = layer.qkv.weight[12:].T @ layer.out.weight.T
    torch.testing.assert_close(layer(x)[0], x[0] @ matrix, **EXACT)


@pytest.mark.no_shape_check
@pytest.mark.parametrize(("width", "heads"), [(5, 2), (4, 0), (0, 1), (4, -2)])
def test_width_must_be_a_multiple_of_heads(width, heads):
    with pytest.raises(ValueError, match=f"width={width} must be a positive multiple"):
        SelfAttention(width, heads)


def test_watching_notes_the_weights_of_each_layer():
    first, second = (SelfAttention(8, 2).double() for _ in range(2))
    x = numbers(3, 5, 8)
    with watching(nn.Sequential(first, second)) as maps:
        y = second(first(x))
    assert [tuple(m.shape) for m in maps] == [(3, 2, 5, 5)] * 2
    for layer, into, found in ((first, x, maps[0]), (second, first(x), maps[1])):
        q, k, v = layer.qkv(into).view(3, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        wanted = attention_steps(q, k, v, allowed=causal_mask(5))
        torch.testing.assert_close(found, wanted.weights, **EXACT)
        assert not found.requires_grad
    assert torch.equal(y, second(first(x)))  # nothing is noted any more
    assert len(maps) == 2


def test_watching_while_remembering_sees_all_keys():
    layer = SelfAttention(4).double()
    with remembering(layer), watching(layer) as maps:
        for token in range(3):
            layer(numbers(1, 3, 4)[:, token : token + 1])
    assert [tuple(m.shape) for m in maps] == [(1, 1, 1, 1), (1, 1, 1, 2), (1, 1, 1, 3)]
