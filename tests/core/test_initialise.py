"""Initial weights of layers and of a GPT: against torch's, the formulas, and special cases."""

import math

import pytest
import torch
from tiny import seeded
from torch import nn

from helpers import initialise, minigpt
from helpers.initialise import GPT2, HE, LECUN, SCHEMES, TORCH, XAVIER

SHAPES = ((400, 400), (800, 200), (200, 800))  # fan_out, fan_in
TORCHS = {
    "LeCun": lambda w: nn.init.kaiming_normal_(w, nonlinearity="linear"),
    "Xavier": nn.init.xavier_uniform_,
    "He": lambda w: nn.init.kaiming_normal_(w, nonlinearity="relu"),
    "torch": lambda w: w.copy_(nn.Linear(w.shape[1], w.shape[0]).weight),
    "0.02": lambda w: nn.init.normal_(w, std=0.02),
}


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize(("fan_out", "fan_in"), SHAPES)
def test_draw_is_distributed_as_torchs(scheme, fan_out, fan_in):
    torch.manual_seed(1)
    theirs = torch.empty(fan_out, fan_in)
    with torch.no_grad():
        TORCHS[scheme.name](theirs)
    ours = initialise.draw(scheme, fan_out, fan_in, seeded())
    assert ours.shape == theirs.shape
    assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.01)
    assert abs(ours.mean().item()) < 4 * theirs.std().item() / ours.numel() ** 0.5
    grid = torch.linspace(0.01, 0.99, 99)
    quantiles = [torch.quantile(w.flatten()[:100_000], grid) for w in (ours, theirs)]
    assert torch.allclose(*quantiles, rtol=0, atol=0.05 * theirs.std().item())


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (LECUN, 1 / math.sqrt(48)),
        (XAVIER, math.sqrt(2 / (48 + 12))),
        (HE, math.sqrt(2 / 48)),
        (TORCH, 1 / math.sqrt(3 * 48)),
        (GPT2, 0.02),
    ],
)
def test_spread_is_the_formula(scheme, expected):
    assert scheme.std(48, 12) == pytest.approx(expected)


def test_uniform_weights_stay_within_their_bound():
    bounds = {XAVIER: math.sqrt(6 / 400), TORCH: 1 / math.sqrt(100)}
    for scheme, bound in bounds.items():
        largest = initialise.draw(scheme, 300, 100, seeded()).abs().max().item()
        assert 0.999 * bound < largest <= bound * (1 + 1e-6)


# --- a model --------------------------------------------------------------------------------


def initialised(scheme, *, tied=False, **factors):
    """A GPT in which every number was 9 but those of the norms."""
    gpt = minigpt.GPT(V=500, T=40, C=96, H=3, L=2)
    if tied:
        gpt.head.weight = gpt.embedding.weight
    with torch.no_grad():
        for name, parameter in gpt.named_parameters():
            if "norm" not in name:
                parameter.fill_(9.0)
    initialise.initialise(gpt, scheme, seeded(), **{"embedding": 1.0} | factors)
    return gpt


@pytest.mark.parametrize("tied", [False, True])
def test_every_number_is_drawn_by_its_rule(tied):
    gpt = initialised(XAVIER, tied=tied, embedding=0.1)
    for name, parameter in gpt.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name
        else:
            fans = 2 * 96 if "qkv" in name else sum(parameter.shape)  # q, k and v each by itself
            std = 0.1 if name.startswith(("embedding", "position")) else math.sqrt(2 / fans)
            assert parameter.std().item() == pytest.approx(std, rel=0.03), name


def test_residual_layers_are_scaled_and_nothing_else():
    plain, scaled = (initialised(TORCH, residual=factor) for factor in (1.0, 0.25))
    for (name, a), (_, b) in zip(plain.named_parameters(), scaled.named_parameters(), strict=True):
        writes = ".out." in name or ".down." in name
        assert torch.allclose(b, 0.25 * a if writes else a), name


def test_zero_initialisation_makes_a_block_the_identity():
    block, x = initialised(TORCH, residual=0.0).blocks[0], torch.randn(2, 5, 96)
    assert torch.equal(block(x), x)


def test_torchs_scheme_draws_biases_as_linear_does():
    block = initialised(TORCH).blocks[0]
    for linear in (block.attention.qkv, block.feed_forward.down):
        reach = linear.in_features**-0.5
        assert 0.9 * reach < linear.bias.abs().max().item() <= reach


def test_dtype_is_the_models():
    model = nn.Linear(3, 3).double()
    initialise.initialise(model, HE, seeded(), embedding=1.0)
    assert model.weight.dtype == torch.float64
    assert model.weight.requires_grad
    assert model.weight.grad_fn is None
