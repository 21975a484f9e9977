"""training.optimizers: AdamW's groups, Muon against torch's, and both combined."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import TRAIN, Tiny, config, seeded
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from helpers.gpt import GPT, GPTConfig
from helpers.training.loop import cross_entropy
from helpers.training.optimizers import (
    NEWTON_SCHULZ,
    CombinedOptimizer,
    Muon,
    adamw,
    hidden_matrices,
    make_optimizer,
    newton_schulz,
)

# ------------------------------------------------------------- orthogonalising


def by_singular_values(matrix, steps=5):
    """What the iteration does, said in another way: to each singular value, by itself."""
    a, b, c = NEWTON_SCHULZ
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    s = s / matrix.norm()
    for _ in range(steps):
        s = a * s + b * s**3 + c * s**5
    return u @ torch.diag(s) @ vh


@given(rows=st.integers(1, 7), columns=st.integers(1, 7), seed=st.integers(0, 99))
def test_newton_schulz_keeps_singular_vectors(rows, columns, seed):
    matrix = torch.randn(rows, columns, generator=seeded(seed), dtype=torch.float64)
    found = newton_schulz(matrix, dtype=torch.float64)
    torch.testing.assert_close(found, by_singular_values(matrix), rtol=0, atol=1e-9)


def test_singular_values_come_near_1():
    wide = torch.linspace(0.01, 1, 400, dtype=torch.float64)
    for s in wide.tolist():  # the last entry has the norm be 1
        pair = torch.diag(torch.tensor([s, math.sqrt(1 - s * s)], dtype=torch.float64))
        values = newton_schulz(pair, dtype=torch.float64).diagonal().abs()
        if s < 0.9999:
            assert 0.67 < values[0] < 1.21, s


def test_newton_schulz_of_a_batch():
    matrices = torch.randn(3, 5, 4, generator=seeded())
    together = newton_schulz(matrices, dtype=torch.float32)
    for found, matrix in zip(together, matrices, strict=True):
        torch.testing.assert_close(found, newton_schulz(matrix, dtype=torch.float32))
    assert newton_schulz(matrices).dtype == torch.bfloat16
    assert not newton_schulz(torch.zeros(2, 3)).any()


def test_a_tall_matrix_costs_what_a_wide_one_does():
    costs = []
    for shape in ((2, 9, 3), (2, 3, 9), (2, 9, 9)):
        with FlopCounterMode(display=False) as counter:
            newton_schulz(torch.ones(shape))
        costs.append(counter.get_total_flops())
    assert 0 < costs[0] == costs[1] < costs[2] / 4  # by the smaller of the two products


# ---------------------------------------------------------------------- Muon


def muon_by_hand(weight, gradients, *, lr, momentum, decay):
    """The published update, with the singular values in place of the iteration."""
    buffer = torch.zeros_like(weight)
    for gradient in gradients:
        buffer = momentum * buffer + (1 - momentum) * gradient
        ahead = momentum * buffer + (1 - momentum) * gradient
        scale = max(1, weight.shape[0] / weight.shape[1]) ** 0.5
        weight = (1 - lr * decay) * weight - lr * scale * by_singular_values(ahead)
    return weight


def run(optimizer, parameters, gradients):
    for step in gradients:
        for parameter, gradient in zip(parameters, step, strict=True):
            parameter.grad = gradient.clone()
        optimizer.step()


SHAPES = [(6, 4), (4, 6), (6, 4), (5, 5)]


def some(dtype=torch.float64, steps=4):
    start = [torch.randn(s, generator=seeded(i), dtype=dtype) for i, s in enumerate(SHAPES)]
    gradients = [
        [torch.randn(s, generator=seeded(10 * k + i), dtype=dtype) for i, s in enumerate(SHAPES)]
        for k in range(1, steps + 1)
    ]
    return start, gradients


def test_muon_is_the_published_update():
    start, gradients = some()
    parameters = [nn.Parameter(w.clone()) for w in start]
    options = {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.3}
    run(Muon(parameters, dtype=torch.float64, **options), parameters, gradients)
    for i, (parameter, weight) in enumerate(zip(parameters, start, strict=True)):
        mine = [step[i] for step in gradients]
        wanted = muon_by_hand(weight, mine, lr=0.05, momentum=0.9, decay=0.3)
        torch.testing.assert_close(parameter.detach(), wanted, rtol=0, atol=1e-9)


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")
def test_muon_is_torchs():
    start, gradients = some(torch.float32)
    ours = [nn.Parameter(w.clone()) for w in start]
    theirs = [nn.Parameter(w.clone()) for w in start]
    options = {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.3}
    run(Muon(ours, **options), ours, gradients)
    run(torch.optim.Muon(theirs, **options), theirs, gradients)
    for mine, other, first in zip(ours, theirs, start, strict=True):
        way = (other - first).norm()
        assert (mine - other).norm() < 0.05 * way  # both in bfloat16, and rounded otherwise
        assert way > 0.05


def test_muon_skips_parameters_without_gradient():
    parameter = nn.Parameter(torch.ones(2, 2))
    Muon([parameter]).step()
    assert torch.equal(parameter, torch.ones(2, 2))


# -------------------------------------------------- who gets which optimiser


def test_hidden_matrices():
    assert hidden_matrices(Tiny()) == {"hidden.weight"}
    assert hidden_matrices(Tiny(tied=True)) == {"hidden.weight"}
    assert hidden_matrices(nn.Embedding(3, 4)) == set()
    model = nn.ModuleDict({"table": nn.Embedding(3, 4), "out": nn.Linear(4, 3)})
    assert hidden_matrices(model) == {"out.weight"}
    model["out"].weight = model["table"].weight
    assert hidden_matrices(model) == set()


@pytest.mark.parametrize("tied", [True, False])
def test_hidden_matrices_of_the_gpt(tied):
    shape = GPTConfig(vocab_size=11, context=8, layers=2, heads=2, width=8, tied=tied)
    model = GPT(shape, generator=seeded())
    found = hidden_matrices(model)
    assert len(found) == 4 * shape.layers  # q, k and v in one; out; up; down
    assert all(name.startswith("blocks.") and name.endswith("weight") for name in found)
    optimizer = make_optimizer(model, config(optimizer="muon"))
    owned = [p for part in optimizer.parts for g in part.param_groups for p in g["params"]]
    assert len(owned) == len(list(model.parameters()))


def test_only_matrices_decay():
    model = Tiny()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = adamw(dict(model.named_parameters()), lr=0.1, weight_decay=0.5)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for name, parameter in model.named_parameters():
        left = 1 - 0.1 * 0.5 if parameter.ndim == 2 else 1.0
        torch.testing.assert_close(parameter.detach(), left * before[name])


def test_adamw_is_the_published_update():
    parameter = nn.Parameter(torch.tensor([[2.0, -1.0]], dtype=torch.float64))
    optimizer = adamw({"w": parameter}, lr=0.1, betas=(0.8, 0.9), weight_decay=0.5)
    w, m, v = parameter.detach().clone(), 0, 0
    for k in range(1, 4):
        gradient = torch.tensor([[0.3 * k, -2.0]], dtype=torch.float64)
        parameter.grad = gradient.clone()
        optimizer.step()
        m, v = 0.8 * m + 0.2 * gradient, 0.9 * v + 0.1 * gradient**2
        step = m / (1 - 0.8**k) / ((v / (1 - 0.9**k)).sqrt() + 1e-8)
        w = w - 0.1 * 0.5 * w - 0.1 * step
    torch.testing.assert_close(parameter.detach(), w)


# ------------------------------------------------------------- both as one


def stepped(model, optimizer, *, times, first=0):
    for k in range(first, first + times):
        x = TRAIN[None, k : k + 20]
        optimizer.zero_grad()
        cross_entropy(model(x), TRAIN[None, k + 1 : k + 21]).backward()
        optimizer.step()


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_state_dict_round_trip(kind):
    model = Tiny()
    optimizer = make_optimizer(model, config(optimizer=kind))
    assert optimizer.state_dict() == {}
    stepped(model, optimizer, times=3)
    other = copy.deepcopy(model)
    fresh = make_optimizer(other, config(optimizer=kind))
    state = {name: tensor.clone() for name, tensor in optimizer.state_dict().items()}
    kept = {name: tensor.clone() for name, tensor in state.items()}
    fresh.load_state_dict(state)
    for one, its in ((model, optimizer), (other, fresh)):
        stepped(one, its, times=3, first=3)
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
    assert all(torch.equal(state[name], kept[name]) for name in kept)  # what came is untouched
    names = {name.partition(":")[0] for name in state}
    assert names == dict(model.named_parameters()).keys()


def test_learning_rates_are_fractions_of_each_peak():
    optimizer = make_optimizer(Tiny(), config(optimizer="muon", lr=0.1, matrix_lr=0.4))
    for share in (0.5, 0.25):
        optimizer.scale(share)
        rates = [{g["lr"] for g in part.param_groups} for part in optimizer.parts]
        assert rates == [{0.1 * share}, {0.4 * share}]
    usual = make_optimizer(Tiny(), config(optimizer="muon", lr=0.1))
    assert [part.defaults["lr"] for part in usual.parts] == [0.1, 0.02]


def test_muon_orthogonalises_in_bfloat16_unless_told():
    def stepped(**options):
        parameter = nn.Parameter(torch.zeros(4, 6))
        parameter.grad = torch.randn(4, 6, generator=seeded(1))
        Muon([parameter], **options).step()
        return parameter.detach()

    assert torch.equal(stepped(), stepped(dtype=torch.bfloat16))
    assert not torch.equal(stepped(), stepped(dtype=torch.float32))


def test_hidden_matrices_have_a_rate_of_their_own_with_adamw():
    optimizer = make_optimizer(Tiny(), config(lr=0.1, matrix_lr=0.4))
    rates = {
        id(p): g["lr"] for part in optimizer.parts for g in part.param_groups for p in g["params"]
    }
    for name, p in optimizer.named.items():
        assert rates[id(p)] == (0.4 if name == "hidden.weight" else 0.1)
    assert len(make_optimizer(Tiny(), config(lr=0.1)).parts) == 1


def test_one_rate_for_both_is_one_optimizer():
    ends = []
    for matrix_lr in (None, 0.1):
        model = Tiny()
        stepped(model, make_optimizer(model, config(lr=0.1, matrix_lr=matrix_lr)), times=3)
        ends.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    assert torch.equal(*ends)


def test_zero_grad_drops_them():
    model = Tiny()
    optimizer = make_optimizer(model, config(optimizer="muon"))
    model(TRAIN[None]).sum().backward()
    optimizer.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def without(state, key):
    return {name: tensor for name, tensor in state.items() if name != key}


def test_each_parameter_has_one_optimizer():
    named = dict(Tiny().named_parameters())
    some_of_them = adamw({k: v for k, v in named.items() if k != "head.weight"}, lr=0.1)
    with pytest.raises(ValueError):
        CombinedOptimizer(named, some_of_them)
    with pytest.raises(ValueError):
        CombinedOptimizer(named, some_of_them, adamw(named, lr=0.1))
    with pytest.raises(ValueError):
        make_optimizer(nn.Embedding(3, 3), config(optimizer="muon"))
