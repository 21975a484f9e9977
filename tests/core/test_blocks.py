"""Feed-forward, Add & Norm and the block, held to torch's own modules, and their properties."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import numbers, seeded
from torch import nn

from helpers.attention import SelfAttention
from helpers.blocks import ACTIVATIONS, NORMS, PLACEMENTS, AddNorm, Block, FeedForward
from helpers.ngrams import NGrams
from helpers.positions import Learned, Sinusoidal
from helpers.probes import depends_on

EXACT = {"rtol": 0, "atol": 1e-12}


def shaken(module, seed=0):
    """The module in float64 with every parameter drawn anew, so that none is 0 or 1."""
    generator = seeded(seed)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator).double()
    return module


def gradients(module, x, upstream):
    x = x.clone().requires_grad_()
    out = module(x)
    return out.detach(), torch.autograd.grad(out, [x, *module.parameters()], upstream)


def torchs(block: Block, width: int, heads: int, activation: str) -> nn.TransformerEncoderLayer:
    """PyTorch's own layer with the weights of a block, norms of gamma and beta included."""
    theirs = nn.TransformerEncoderLayer(
        width,
        heads,
        dim_feedforward=4 * width,
        dropout=0.0,
        batch_first=True,
        activation=activation,
        norm_first=block.attention.placement == "pre",
    ).double()
    ours, net = block.attention.sublayer, block.feed_forward.sublayer
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(ours.qkv.weight)
        theirs.self_attn.in_proj_bias.copy_(ours.qkv.bias)
        for to, source in (
            (theirs.self_attn.out_proj, ours.out),
            (theirs.linear1, net.up),
            (theirs.linear2, net.down),
        ):
            to.load_state_dict(source.state_dict())
        for to, norm in (
            (theirs.norm1, block.attention.norm),
            (theirs.norm2, block.feed_forward.norm),
        ):
            to.weight.copy_(norm.weight)
            to.bias.copy_(norm.bias)
    return theirs


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("causal", [False, True])
def test_block_is_torchs_layer_forward_and_gradient(placement, activation, causal):
    block = shaken(Block(12, 3, placement=placement, activation=activation, causal=causal))
    theirs = torchs(block, 12, 3, activation)
    hidden = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    mask = hidden if causal else None
    x, upstream = numbers(2, 5, 12), numbers(2, 5, 12, seed=1)
    ours_out, ours = gradients(block, x, upstream)
    x_in = x.clone().requires_grad_()
    out = theirs(x_in, src_mask=mask)
    torch.testing.assert_close(ours_out, out.detach(), **EXACT)
    (by_x,) = torch.autograd.grad(out, x_in, upstream, retain_graph=True)
    torch.testing.assert_close(ours[0], by_x, **EXACT)
    theirs_by_name = dict(
        zip(
            dict(theirs.named_parameters()),
            torch.autograd.grad(out, list(theirs.parameters()), upstream),
            strict=True,
        )
    )
    ours_by_name = dict(zip(dict(block.named_parameters()), ours[1:], strict=True))
    for mine, torchs_name in {
        "attention.sublayer.qkv.weight": "self_attn.in_proj_weight",
        "attention.sublayer.out.bias": "self_attn.out_proj.bias",
        "attention.norm.weight": "norm1.weight",
        "feed_forward.sublayer.up.weight": "linear1.weight",
        "feed_forward.sublayer.down.weight": "linear2.weight",
        "feed_forward.norm.bias": "norm2.bias",
    }.items():
        torch.testing.assert_close(ours_by_name[mine], theirs_by_name[torchs_name], **EXACT)


@pytest.mark.parametrize(
    ("activation", "bend"), [("relu", nn.ReLU()), ("gelu", nn.GELU()), ("none", nn.Identity())]
)
def test_feed_forward_is_torchs_sequential(activation, bend):
    net = shaken(FeedForward(3, 7, activation=activation))
    theirs = nn.Sequential(nn.Linear(3, 7), bend, nn.Linear(7, 3)).double()
    theirs[0].load_state_dict(net.up.state_dict())
    theirs[2].load_state_dict(net.down.state_dict())
    x, upstream = numbers(2, 4, 3), numbers(2, 4, 3, seed=1)
    (out, mine), (wanted, torch_s) = gradients(net, x, upstream), gradients(theirs, x, upstream)
    torch.testing.assert_close(out, wanted, **EXACT)
    for a, b in zip(mine, torch_s, strict=True):
        torch.testing.assert_close(a, b, **EXACT)


def test_squared_relu_is_its_formula():
    net = shaken(FeedForward(3, 7, activation="relu2"))
    x = numbers(4, 3)
    hidden = (x @ net.up.weight.T + net.up.bias).clamp(min=0)
    wanted = (hidden * hidden) @ net.down.weight.T + net.down.bias
    torch.testing.assert_close(net(x), wanted, **EXACT)


def test_feed_forward_is_four_times_as_wide_by_default():
    assert FeedForward(6).up.out_features == 24
    assert FeedForward(6, 5).up.out_features == 5


@given(tokens=st.integers(1, 5), seed=st.integers(0, 1000))
def test_feed_forward_takes_each_token_by_itself(tokens, seed):
    net, x = shaken(FeedForward(4)), numbers(tokens, 4, seed=seed)
    one_by_one = torch.stack([net(token) for token in x])
    torch.testing.assert_close(net(x), one_by_one, **EXACT)


def test_without_activation_it_is_one_linear_layer():
    net = shaken(FeedForward(4, activation="none"))
    a, b = numbers(2, 4)
    torch.testing.assert_close(net(a) + net(b), net(a + b) + net(torch.zeros_like(a)), **EXACT)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_add_norm_is_its_formula(placement, residual):
    part, norm = shaken(nn.Linear(5, 5), seed=1), shaken(nn.LayerNorm(5), seed=2)
    x = numbers(3, 5)
    kept = x if residual else torch.zeros_like(x)
    wanted = kept + part(norm(x)) if placement == "pre" else norm(kept + part(x))
    found = AddNorm(part, norm, placement=placement, residual=residual)(x)
    torch.testing.assert_close(found, wanted, **EXACT)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_dropout_of_a_block_is_torchs(placement):
    block = shaken(Block(8, 2, placement=placement, dropout=0.3))
    theirs = torchs(block, 8, 2, "gelu").train()
    theirs.self_attn.dropout = theirs.dropout1.p = theirs.dropout2.p = 0.3
    x, mask = numbers(1, 5, 8), torch.ones(5, 5).triu(1).bool()
    torch.manual_seed(0)
    wanted = theirs(x, src_mask=mask)
    torch.manual_seed(0)
    torch.testing.assert_close(block(x), wanted, **EXACT)
    torch.testing.assert_close(block.eval()(x), theirs.eval()(x, src_mask=mask), **EXACT)


MODULES = [*NORMS.values(), SelfAttention, FeedForward, Block]
MODULES += [Sinusoidal, partial(Learned, 6), partial(NGrams, 5, longest=2)]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_modules_take_device_and_dtype_as_torchs_do(module):
    made = module(8, device="meta", dtype=torch.float64)
    held = [*made.parameters(), *made.buffers()]
    assert {(tensor.device.type, tensor.dtype) for tensor in held} <= {("meta", torch.float64)}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_dropout_acts_on_the_sublayer_in_training_only(placement):
    part = AddNorm(nn.Sigmoid(), nn.Identity(), placement=placement, dropout=0.5).double()
    x = numbers(50, 4)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = part(x)
    added = (dropped - x) / x.sigmoid()
    assert ((added.abs() < 1e-9) | ((added - 2).abs() < 1e-9)).all()
    assert 0.3 < (added < 1).double().mean() < 0.7
    torch.testing.assert_close(part.eval()(x), x + x.sigmoid(), **EXACT)


def test_block_uses_the_given_attention():
    part = nn.Linear(4, 4)
    assert Block(4, attention=part).attention.sublayer is part
    usual = Block(4).attention.sublayer
    assert (usual.heads, usual.causal) == (1, True)


def test_a_block_with_zero_outputs_is_the_identity():
    block = Block(8, 2, placement="pre").double()
    for linear in (block.attention.sublayer.out, block.feed_forward.sublayer.down):
        nn.init.zeros_(linear.weight)
        nn.init.zeros_(linear.bias)
    x, upstream = numbers(1, 4, 8), numbers(1, 4, 8, seed=1)
    out, (by_x, *_) = gradients(block, x, upstream)
    assert torch.equal(out, x)
    assert torch.equal(by_x, upstream)


def test_post_norm_output_is_normalised():
    out = Block(8, 2, placement="post").double()(numbers(2, 4, 8))
    torch.testing.assert_close(out.mean(dim=-1), torch.zeros(2, 4).double(), **EXACT)
    torch.testing.assert_close(
        out.var(dim=-1, correction=0), torch.ones(2, 4).double(), rtol=0, atol=1e-3
    )


@pytest.mark.parametrize("causal", [True, False])
def test_block_reads_ahead_only_when_it_may(causal):
    block = Block(4, 2, causal=causal).double()
    reads = depends_on(lambda x: block(x[None])[0], numbers(5, 4)).any(dim=3).any(dim=1)
    expected = torch.ones(5, 5, dtype=torch.bool)
    assert torch.equal(reads, expected.tril() if causal else expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_name_makes_a_block(norm, activation):
    x = numbers(2, 3, 4)
    assert Block(4, norm=norm, activation=activation).double()(x).shape == x.shape
