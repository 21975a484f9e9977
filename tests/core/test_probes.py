"""Probes against perturbation: change an input, and see which outputs change."""

import numpy as np
import pytest
import torch
from tiny import numbers
from torch import nn

from helpers import minigpt, minillama, norms
from helpers.attention import attention_steps
from helpers.norms import NORMS, NormSpec, normalise_over
from helpers.probes import depends_on, leaks, reads
from helpers.variants import SelfAttention

B, T, C = 3, 5, 6


def drawn(*shape, seed=0, level=0.0):
    return 2 * numbers(*shape, seed=seed) + level


def block():
    return drawn(B, T, C, level=1.0)


def attention(q, k, v, *, mask=None):
    return attention_steps(q, k, v, mask=mask).output


# --- which entry depends on which -----------------------------------------------------------


def test_a_projection_stays_in_its_token_and_attention_does_not():
    x, w_q, w_k = (drawn(n, 4, seed=n) / 4 for n in (3, 4, 4))  # no weight rounds to 0
    within = depends_on(lambda x_TC: x_TC @ w_q.T, x)
    assert within.shape == (3, 4, 3, 4)
    for t in range(3):
        for s in range(3):
            assert within[t, :, s].all() == within[t, :, s].any() == (t == s)
    assert depends_on(lambda x_TC: attention(x_TC @ w_q.T, x_TC @ w_k, x_TC), x).all()


def test_causal_attention_depends_on_no_later_token():
    x, mask = drawn(4, 3), torch.ones(4, 4).tril().bool()
    reads = depends_on(lambda x_TC: attention(x_TC, x_TC, x_TC, mask=mask), x)
    # Token 0 reads itself alone: its weight is 1 and its entries do not mix.
    assert torch.equal(reads.any(dim=3).any(dim=1), mask)
    assert torch.equal(reads[0, :, 0], torch.eye(3, dtype=torch.bool))


def test_shapes_may_change_on_the_way():
    x = drawn(3, 4)
    reads = depends_on(lambda x_TC: x_TC[:2, :1] * 5, x)
    assert reads.shape == (2, 1, 3, 4)
    assert reads.nonzero().tolist() == [[0, 0, 0, 0], [1, 0, 1, 0]]


# --- how strongly a token reads another, and whether it may ----------------------------------


def poked(function, x, change):
    """Which tokens' outputs move, (B, T), when one token (b, t) is changed."""
    y = x.clone()
    y[change] += torch.linspace(-1, 2, x.shape[-1], dtype=x.dtype) ** 2
    return ((function(y) - function(x)).abs().amax(dim=-1) > 1e-9).tolist()


# But for the spec where each number is its own mean: what is always 0 depends on nothing.
@pytest.mark.parametrize("spec", NORMS.values(), ids=str)
def test_reads_agrees_with_perturbing_the_input(spec):
    x = drawn(2, 3, 6, level=1.0)

    def function(v):
        return normalise_over(v, spec).output

    found = {at: reads(function, x, at=at) for at in np.ndindex(2, 3)}
    for change in np.ndindex(2, 3):
        moved = poked(function, x, change)
        for at in np.ndindex(2, 3):
            assert (found[at][change] > 1e-9).item() == moved[at[0]][at[1]]


@pytest.mark.parametrize(
    ("function", "future", "others"),
    [
        (minigpt.LayerNorm(C).double(), False, False),
        (minillama.RMSNorm(C).double(), False, False),
        (norms.BatchNorm(C).double().train(), True, True),
        (norms.BatchNorm(C).double().eval(), False, False),
        (norms.InstanceNorm(C).double(), True, False),
        (norms.GroupNorm(C, 3).double(), True, False),
        (lambda x: normalise_over(x, NormSpec(over="B", groups=None)).output, False, True),
        (nn.LayerNorm((T, C)).double(), True, False),
        (lambda x: x.cumsum(dim=1), False, False),
        (lambda x: x.flip(1).cumsum(dim=1).flip(1), True, False),
        (lambda x: x.roll(1, dims=0), False, True),
        (lambda x: torch.cat([x[:1] + x[1:2], x[1:]]), False, True),
        (lambda x: torch.cat([x[:, :-2], x[:, -1:], x[:, -1:]], dim=1), True, False),
        (SelfAttention(C).double(), False, False),
        (SelfAttention(C, causal=False).double(), True, False),
    ],
)
def test_leaks_finds_what_leaks(function, future, others):
    found = leaks(function, block())
    assert (found.future > 0, found.others > 0) == (future, others)


def test_strength_is_the_largest_derivative():
    found = reads(lambda x: x + 3 * x.roll(-1, dims=1), block(), at=(0, 1))
    assert found[0].tolist() == [0, 1, 3, 0, 0]
    assert found[1:].sum() == 0


def test_nan_derivatives_raise():
    """At 0 the root's slope is infinite, and 0 times infinity is no number."""
    broken = lambda x: (0 * x).sqrt()  # noqa: E731
    for probe in (leaks, lambda f, x: reads(f, x, at=(0, 0))):
        with pytest.raises(ValueError):
            probe(broken, torch.zeros(1, 2, 3))
    with pytest.raises(ValueError):
        depends_on(broken, torch.zeros(2, 3))


def through_numpy(x):
    return torch.from_numpy(x.detach().numpy()[..., ::-1, :].copy())


@pytest.mark.parametrize("probe", [leaks, lambda f, x: depends_on(lambda y: f(y[None])[0], x[0])])
@pytest.mark.parametrize(
    "function",
    [
        through_numpy,
        torch.no_grad()(lambda x: x.flip(-2)),
        torch.inference_mode()(lambda x: x.flip(-2)),
        lambda x: nn.functional.linear(x.detach(), nn.Parameter(torch.eye(C).double())),
    ],
)
def test_a_dependence_hidden_from_autograd_raises(probe, function):
    with pytest.raises(RuntimeError):
        probe(function, block())


def test_what_is_constant_leaks_nothing():
    assert leaks(torch.round, block()) == leaks(nn.Identity(), block())
