"""Initial weights of layers and models: against torch's, the formulas, and special cases."""

import math
import pickle

import pytest
import torch
from tiny import seeded
from torch import nn

from helpers import initialise
from helpers.blocks import Block
from helpers.initialise import GPT2, HE, LECUN, SCHEMES, TORCH, XAVIER

SHAPES = ((400, 400), (800, 200), (200, 800))  # fan_out, fan_in
TORCHS = {
    "LeCun": lambda w: nn.init.kaiming_normal_(w, nonlinearity="linear"),
    "Xavier": nn.init.xavier_uniform_,
    "He": lambda w: nn.init.kaiming_normal_(w, nonlinearity="relu"),
    "torch": lambda w: w.copy_(nn.Linear(w.shape[1], w.shape[0]).weight),
    "0.02": lambda w: nn.init.normal_(w, std=0.02),
}


# --- one weight -----------------------------------------------------------------------------


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
    assert pickle.loads(pickle.dumps(scheme)) == scheme


def test_uniform_weights_stay_within_their_bound():
    bounds = {XAVIER: math.sqrt(6 / 400), TORCH: 1 / math.sqrt(100)}
    for scheme, bound in bounds.items():
        largest = initialise.draw(scheme, 300, 100, seeded()).abs().max().item()
        assert 0.999 * bound < largest <= bound * (1 + 1e-6)


def test_he_keeps_the_mean_square_through_relu_lecun_halves_it():
    x = torch.randn(2000, 512, generator=seeded(3))
    for scheme, left in ((HE, 1.0), (LECUN, 0.5)):
        w = initialise.draw(scheme, 512, 512, seeded(4))
        out = torch.relu(x @ w.T).square().mean().item()
        assert out == pytest.approx(left * x.square().mean().item(), rel=0.03)


def test_draw_is_reproducible_and_leaves_the_global_generator():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    for scheme in (HE, TORCH):
        first = initialise.draw(scheme, 3, 4, seeded(6))
        assert torch.equal(first, initialise.draw(scheme, 3, 4, seeded(6)))
        assert not torch.equal(first, initialise.draw(scheme, 3, 4, seeded(7)))
    assert torch.equal(before, torch.get_rng_state())


def test_residual_factor_counts_two_writes_a_block():
    assert initialise.residual_factor(1) == 2**-0.5
    assert initialise.residual_factor(2) == 0.5
    assert initialise.residual_factor(24) == pytest.approx(1 / math.sqrt(48))


# --- a model --------------------------------------------------------------------------------


class Model(nn.Module):
    """Holds every trap: a tied head before its table, a padding row, packed and missing parts."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(300, 500, bias=False)
        self.token = nn.Embedding(500, 300, padding_idx=7)
        self.head.weight = self.token.weight
        self.read = nn.MultiheadAttention(300, 3)
        self.other = nn.MultiheadAttention(300, 3, bias=False)
        self.block = Block(300, 3)
        self.bare = nn.LayerNorm(300, bias=False)
        self.flat = nn.LayerNorm(300, elementwise_affine=False)
        self.up = nn.Linear(300, 600, bias=False)
        self.unknown = nn.Bilinear(2, 3, 4)


def test_every_parameter_is_initialised():
    model = Model()
    unknown = [parameter.clone() for parameter in model.unknown.parameters()]
    with torch.no_grad():
        for parameter in list(model.parameters())[:-2]:
            parameter.fill_(9.0)
    initialise.initialise(model, XAVIER, seeded(), embedding=0.1)
    assert all(map(torch.equal, unknown, model.unknown.parameters()))
    assert not any((parameter == 9.0).any() for parameter in model.parameters())
    assert model.head.weight.std().item() == pytest.approx(0.1, rel=0.02)
    assert not any(p.any() for name, p in model.named_parameters() if name.endswith("in_proj_bias"))


def test_a_tied_table_is_an_embedding_whatever_the_order():
    for first in ("head", "token"):
        model = nn.Module()
        parts = {"head": nn.Linear(300, 400, bias=False), "token": nn.Embedding(400, 300)}
        for name in (first, *(other for other in parts if other != first)):
            model.add_module(name, parts[name])
        model.head.weight = model.token.weight
        initialise.initialise(model, XAVIER, seeded(), embedding=1.0)
        assert model.head.weight.std().item() == pytest.approx(1.0, rel=0.02)
        once = nn.Embedding(400, 300)
        initialise.initialise(once, XAVIER, seeded(), embedding=1.0)
        assert torch.equal(once.weight, model.token.weight)  # no random number was wasted


def test_packed_weights_have_the_fans_of_their_parts():
    model = Model()
    initialise.initialise(model, XAVIER, seeded(), embedding=1.0)
    expected = math.sqrt(2 / (300 + 300))
    for weight in (model.read.in_proj_weight, model.block.attention.sublayer.qkv.weight):
        assert weight.std().item() == pytest.approx(expected, rel=0.01)


def test_padding_row_stays_zero():
    model = Model()
    initialise.initialise(model, GPT2, seeded(), embedding=1.0)
    assert not model.token.weight[7].any()
    assert model.token.weight[8].all()


def test_residual_projections_are_scaled_and_nothing_else():
    plain, scaled = Block(64, 4), Block(64, 4)
    for block, residual in ((plain, 1.0), (scaled, 0.25)):
        initialise.initialise(block, LECUN, seeded(8), embedding=1.0, residual=residual)
    for (name, a), (_, b) in zip(plain.named_parameters(), scaled.named_parameters(), strict=True):
        writes = name.endswith(("out.weight", "down.weight"))
        assert torch.allclose(b, 0.25 * a if writes else a), name


@pytest.mark.parametrize("scheme", [HE, TORCH], ids=lambda scheme: scheme.name)
def test_zero_initialisation_makes_a_block_the_identity(scheme):
    block, x = Block(16, 2), torch.randn(2, 5, 16, generator=seeded())
    initialise.initialise(block, scheme, seeded(), embedding=1.0, residual=0.0)
    assert torch.equal(block(x), x)


def test_torchs_scheme_draws_biases_as_linear_does():
    maps = {"up": nn.Linear(100, 5000), "out": nn.Linear(100, 5000), "narrow": nn.Linear(1, 5000)}
    model = nn.ModuleDict(maps | {"read": nn.MultiheadAttention(100, 4)})
    initialise.initialise(model, TORCH, seeded(), embedding=1.0, residual=0.5)
    reach = {
        "up.bias": 0.1,
        "out.bias": 0.05,
        "narrow.bias": 1.0,
        "read.in_proj_bias": 0.1,
        "read.out_proj.bias": 0.05,
    }
    for name, a in reach.items():
        assert model.get_parameter(name).abs().max().item() == pytest.approx(a, rel=0.06)
    initialise.initialise(model, LECUN, seeded(), embedding=1.0)
    assert not any(model.get_parameter(name).any() for name in reach)


def test_own_norms_are_known_by_gamma_and_beta():
    block = Block(8)
    with torch.no_grad():
        block.attention.norm.weight.fill_(3.0)
        block.attention.norm.bias.fill_(3.0)
    initialise.initialise(block, HE, seeded(), embedding=1.0)
    assert block.attention.norm.weight.unique().tolist() == [1.0]
    assert block.attention.norm.bias.unique().tolist() == [0.0]


def test_norms_of_torch_go_back_to_one_and_zero():
    norms = nn.ModuleList(
        [nn.LayerNorm(3), nn.LayerNorm(3, bias=False), nn.BatchNorm1d(3), nn.RMSNorm(3)]
    )
    with torch.no_grad():
        for parameter in norms.parameters():
            parameter.fill_(5.0)
    initialise.initialise(norms, HE, seeded(), embedding=1.0)
    for name, parameter in norms.named_parameters():
        assert parameter.unique().tolist() == [1.0 if name.endswith("weight") else 0.0]


def test_dtype_is_the_models():
    model = nn.Linear(3, 3).double()
    initialise.initialise(model, HE, seeded(), embedding=1.0)
    assert model.weight.dtype == torch.float64
    assert model.weight.requires_grad
    assert model.weight.grad_fn is None
