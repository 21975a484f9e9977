"""The norms against torch's modules and the oracle in float64, and their properties."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import numbers
from torch import nn

from helpers import minigpt, minillama, norms
from helpers.norms import (
    NORMS,
    NormSpec,
    normalise,
    normalise_over,
)

TIGHT = {"rtol": 0, "atol": 1e-12}
B, T, C = 3, 5, 6
SHAPES = st.tuples(st.integers(2, 4), st.integers(2, 4), st.sampled_from([2, 4, 6]))


def block(*shape, seed=0, size=2.0, level=1.0):
    return numbers(*(shape or (B, T, C)), seed=seed) * size + level


class FeaturesInTheMiddle(nn.Module):
    """A module of torch's for (B, C, T), called with (B, T, C)."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x_BTC):
        return self.module(x_BTC.transpose(1, 2)).transpose(1, 2)


# ours, torch's, and where torch's keeps its γ and β
PAIRS = {
    "layer": (minigpt.LayerNorm, nn.LayerNorm),
    "rms": (minillama.RMSNorm, lambda width: nn.RMSNorm(width, eps=1e-5)),
    "batch": (norms.BatchNorm, lambda width: FeaturesInTheMiddle(nn.BatchNorm1d(width))),
    "instance": (
        norms.InstanceNorm,
        lambda width: FeaturesInTheMiddle(nn.InstanceNorm1d(width, affine=True)),
    ),
    "group": (
        lambda width: norms.GroupNorm(width, 2),
        lambda width: FeaturesInTheMiddle(nn.GroupNorm(2, width)),
    ),
}


def pair(name):
    """Ours and torch's, with the same γ and β, neither 1 nor 0."""
    mine, theirs = (make(C).double() for make in PAIRS[name])
    theirs_inside = getattr(theirs, "module", theirs)
    with torch.no_grad():
        mine.weight.copy_(block(C, seed=1, size=0.5))
        theirs_inside.weight.copy_(mine.weight)
        if name != "rms":
            mine.bias.copy_(block(C, seed=2))
            theirs_inside.bias.copy_(mine.bias)
    return mine, theirs


def output_and_gradients(module, x):
    x = x.clone().requires_grad_()
    y = module(x)
    parameters = sorted(module.parameters(), key=lambda p: p.sum().item())
    return y.detach(), *torch.autograd.grad(y, [x, *parameters], block(seed=9))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("size", [2.0, 0.003])  # ε counts in the second
def test_train_and_eval_are_torchs_with_gradients(name, size):
    mine, theirs = pair(name)
    for mode, seeds in ((True, (3, 4)), (False, (5,)), (True, (6,)), (False, (7,))):
        mine.train(mode), theirs.train(mode)
        for seed in seeds:
            x = block(seed=seed, size=size, level=seed)
            for a, b in zip(
                output_and_gradients(mine, x), output_and_gradients(theirs, x), strict=True
            ):
                torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


def test_running_statistics_are_torchs():
    mine, theirs = pair("batch")
    for seed in range(3):
        mine(block(seed=seed)), theirs(block(seed=seed))
    torch.testing.assert_close(mine.running_mean, theirs.module.running_mean, **TIGHT)
    torch.testing.assert_close(mine.running_var, theirs.module.running_var, **TIGHT)
    before = mine.running_mean.clone()
    mine.eval()(block(seed=5))
    assert torch.equal(before, mine.running_mean)


def test_momentum_is_the_share_of_the_new():
    assert norms.BatchNorm(1).momentum == 0.1
    norm = norms.BatchNorm(2, momentum=0.25).double()
    x = torch.tensor([[[0.0, 2.0], [4.0, 2.0]]]).double()
    norm(x)
    torch.testing.assert_close(norm.running_mean, torch.tensor([0.5, 0.5]).double(), **TIGHT)
    torch.testing.assert_close(norm.running_var, torch.tensor([2.75, 0.75]).double(), **TIGHT)


@given(
    SHAPES,
    st.sampled_from([(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2), (-1,), (-3,)]),
    st.booleans(),
)
def test_normalise_is_numpys(shape, axes, centred):
    x = block(*shape, seed=sum(shape))
    found = normalise(x, axes, eps=1e-3, centred=centred)
    mean = x.numpy().mean(axes, keepdims=True) if centred else np.zeros(())
    variance = np.square(x.numpy() - mean).mean(axes, keepdims=True)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.variance, variance, atol=1e-12)
    np.testing.assert_allclose(found.output, (x.numpy() - mean) / np.sqrt(variance + 1e-3))


@pytest.mark.parametrize(
    ("norm", "axes"),
    [
        (minigpt.LayerNorm, (3, 4)),
        (minillama.RMSNorm, (3, 4)),
        (norms.BatchNorm, (0, 1)),
        (norms.InstanceNorm, (1,)),
        (partial(norms.GroupNorm, groups=2), (1, 4)),
    ],
)
def test_each_norm_adds_the_eps_that_it_is_given(norm, axes):
    x, layer = block(), norm(C, eps=0.5).double()
    centred = not isinstance(layer, minillama.RMSNorm)
    grouped = normalise(x.view(B, T, 1, 2, C // 2), axes, eps=0.5, centred=centred)
    torch.testing.assert_close(layer(x), grouped.output.view_as(x), **TIGHT)


def test_eps_is_inside_the_root():
    x = torch.tensor([-1e-3, 1e-3], dtype=torch.float64)
    out = normalise(x, (0,), eps=1e-5).output
    assert out[1].item() == pytest.approx(1e-3 / (1e-6 + 1e-5) ** 0.5)


@given(st.floats(0.1, 10), st.floats(-5, 5))
def test_layer_norm_is_scale_and_shift_invariant_rms_norm_scale(scale, shift):
    x = block()
    for changed, centred in ((scale * x + shift, True), (scale * x, False)):
        before, after = (normalise(v, (-1,), eps=0.0, centred=centred) for v in (x, changed))
        torch.testing.assert_close(after.output, before.output, rtol=0, atol=1e-9)


def by_loops(x, spec):
    """What `normalise_over` should give, one number at a time."""
    x = x.numpy()
    groups = x.shape[2] if spec.groups is None else spec.groups
    size = x.shape[2] // groups
    out = np.zeros_like(x)
    for b, t, c in np.ndindex(x.shape):
        first = c // size * size
        rows = slice(None) if "B" in spec.over else slice(b, b + 1)
        columns = slice(None) if "T" in spec.over else slice(t, t + 1)
        numbers = x[rows, columns, first : first + size].ravel()
        mean = numbers.sum() / len(numbers) if spec.centred else 0.0
        variance = ((numbers - mean) ** 2).sum() / len(numbers)
        out[b, t, c] = (x[b, t, c] - mean) / np.sqrt(variance + norms.EPS)
    return out


EVERY_POINT = [
    NormSpec(over=over, groups=groups, centred=centred)
    for over in ("", "B", "T", "BT")
    for groups in (None, 3, 1)
    for centred in (True, False)
]


@pytest.mark.parametrize("spec", EVERY_POINT, ids=str)
def test_every_norm_spec_is_the_loops(spec):
    x = block()
    found = normalise_over(x, spec)
    np.testing.assert_allclose(found.output, by_loops(x, spec), atol=1e-12)
    assert found.mean.shape == found.variance.shape == x.shape
    again = (x - found.mean) / torch.sqrt(found.variance + norms.EPS)
    torch.testing.assert_close(found.output, again, **TIGHT)


@pytest.mark.parametrize("name", PAIRS)
def test_named_norm_specs_are_their_modules(name):
    x = block()
    spec = NORMS[{"rms": "RMS"}.get(name, name)]
    torch.testing.assert_close(
        normalise_over(x, spec).output, PAIRS[name][0](C).double()(x), **TIGHT
    )


def test_a_refused_batch_leaves_running_statistics():
    norm = norms.BatchNorm(C)
    with pytest.raises(ValueError):
        norm(torch.ones(1, 1, C))
    assert (norm.running_mean == 0).all()
