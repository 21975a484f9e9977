"""Variants of minigpt's pieces, held to torch's own layer and to NumPy in float64."""

import numpy as np
import pytest
import torch
from tiny import numbers, seeded
from torch import nn

from helpers import minigpt
from helpers.positions import sinusoidal
from helpers.variants import GPT, NORMS, Block, SelfAttention

EXACT = {"rtol": 0, "atol": 1e-12}
TORCHS = {"relu": "relu", "gelu": "gelu", "relu2": lambda x: x.clamp(min=0) ** 2}


def shaken(module):
    """In float64, with every parameter changed, so that none is 0 or 1."""
    module, generator = module.double(), seeded()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator).double()
    return module


def in_torchs_order(block: Block) -> list[nn.Parameter]:
    parts = block.attention, block.feed_forward, block.norm_1, block.norm_2
    return [parameter for part in parts for parameter in part.parameters()]


def torchs(block: Block, activation="gelu", dropout=0.0) -> nn.TransformerEncoderLayer:
    """PyTorch's own layer with the weights of a block, norms included."""
    C = block.attention.out.in_features
    options = {"batch_first": True, "norm_first": block.placement == "pre"}
    theirs = nn.TransformerEncoderLayer(
        C, block.attention.H, 4 * C, activation=activation, dropout=dropout, **options
    ).double()
    theirs.dropout.p = 0.0  # of its hidden neurons, which ours has not
    with torch.no_grad():
        for other, mine in zip(theirs.parameters(), in_torchs_order(block), strict=True):
            other.copy_(mine)
    return theirs


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "relu2"])
@pytest.mark.parametrize("causal", [False, True])
def test_block_is_torchs_layer_forward_and_gradient(placement, activation, causal):
    block = shaken(Block(12, 3, placement=placement, activation=activation, causal=causal))
    theirs, hidden = torchs(block, TORCHS[activation]), torch.ones(5, 5).triu(1).bool()
    x, upstream = numbers(2, 5, 12).requires_grad_(), numbers(2, 5, 12, seed=1)
    found, wanted = block(x), theirs(x, src_mask=hidden if causal else None)
    torch.testing.assert_close(found, wanted, **EXACT)
    pairs = (found, [x, *in_torchs_order(block)]), (wanted, [x, *theirs.parameters()])
    for mine, other in zip(*(torch.autograd.grad(y, to, upstream) for y, to in pairs), strict=True):
        torch.testing.assert_close(mine, other, **EXACT)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_dropout_of_a_block_is_torchs(placement):
    block = shaken(Block(8, 2, dropout=0.3, placement=placement))
    theirs, outputs = torchs(block, dropout=0.3), []
    for layer in (block, lambda x: theirs(x, src_mask=torch.ones(5, 5).triu(1).bool())):
        torch.manual_seed(0)
        outputs.append(layer(numbers(1, 5, 8)))
    torch.testing.assert_close(*outputs, **EXACT)


def test_without_a_change_it_is_minigpt_draws_included():
    models = []
    for make in (minigpt.GPT, GPT):
        torch.manual_seed(0)
        models.append(make(V=11, T=8, C=12, H=3, L=2).double())
    torch.testing.assert_close(*(model.state_dict() for model in models), rtol=0, atol=0)
    ids_BT = torch.randint(11, (2, 8), generator=seeded())
    torch.testing.assert_close(*(model(ids_BT) for model in models), **EXACT)


@pytest.mark.parametrize("positions", ["rope", "alibi"])
@pytest.mark.parametrize("causal", [False, True])
def test_positions_in_the_scores_are_numpys(positions, causal):
    attention, x_TC = shaken(SelfAttention(8, 2, causal=causal, positions=positions)), numbers(5, 8)
    qkv_T = attention.qkv(x_TC).detach().numpy().reshape(5, 3, 2, 4)
    scores_HTT = np.zeros((2, 5, 5))
    for h, t, s in np.ndindex(2, 5, 5):
        q, k = qkv_T[t, 0, h], qkv_T[s, 1, h]
        if positions == "rope":  # two entries are a complex number, turned by the distance
            q, k = q[::2] + 1j * q[1::2], k[::2] - 1j * k[1::2]
            k = k * np.exp(1j * (t - s) * np.array([1, 0.01]))
        bias = -max(t - s, 0) * 2.0 ** (-4 * (h + 1)) if positions == "alibi" else 0
        scores_HTT[h, t, s] = (q @ k).real / 2 + bias
    weights_HTT = np.exp(scores_HTT) * (np.tri(5) if causal else 1)
    weights_HTT /= weights_HTT.sum(axis=-1, keepdims=True)
    read_THD = np.einsum("hts,shd->thd", weights_HTT, qkv_T[:, 2])
    wanted = attention.out(torch.tensor(read_THD).flatten(1))
    atol = 1e-6 if positions == "rope" else 1e-12  # its angles have 32 bits
    torch.testing.assert_close(attention(x_TC[None])[0], wanted, rtol=0, atol=atol)


def test_rows_that_are_not_trained_are_sines_or_nothing():
    ids_BT = torch.randint(11, (2, 6), generator=seeded())
    for positions, rows_TC in (("sinusoidal", sinusoidal(8, 12)), ("none", torch.zeros(8, 12))):
        gpt, learned = GPT(11, 8, 12, 3, 1, positions=positions), GPT(11, 8, 12, 3, 1)
        learned.load_state_dict(gpt.state_dict() | {"position.weight": rows_TC})
        torch.testing.assert_close(gpt(ids_BT), learned(ids_BT))
        assert "position.weight" not in dict(gpt.named_parameters())


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_norms_and_sums_are_left_out_as_told(placement):
    x, block = numbers(1, 4, 8), shaken(Block(8, norm="none", residual=False, placement=placement))
    torch.testing.assert_close(block(x), block.feed_forward(block.attention(x)), **EXACT)


@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_makes_a_model(norm):
    gpt = GPT(11, 8, 12, 3, 1, norm=norm, tied=True)
    assert gpt(torch.zeros(2, 8, dtype=torch.long)).isfinite().all()
    assert gpt.head.weight is gpt.embedding.weight
