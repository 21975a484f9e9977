"""Exported objects: what a call does to the copy is done to the original, and no more."""

import contextlib
import struct

import pytest
import torch
from torch import nn

from homework.run.remote import export, import_, returned, sync_back
from homework.run.wire import RemoteRef, WireError, decode, encode


def across(value):
    return decode(encode(value))


def call(function, *args):
    """Call a function as the sandbox does: with copies, over the wire."""
    originals, copies = [], []
    args = import_(across(export(list(args), originals)), copies)
    assert all(a is not b for a, b in zip(originals, copies, strict=True))
    return sync_back(*across(list(returned(function(*args), copies))), originals)


def test_a_module_is_changed_in_place_and_returned_as_itself():
    model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2), nn.BatchNorm1d(2))

    def start(module):
        for parameter in module.parameters():
            nn.init.constant_(parameter, 7.0)
        module[2].running_mean += 5
        return module

    assert call(start, model) is model
    assert all((parameter == 7).all() for parameter in model.parameters())
    assert (model[2].running_mean == 5).all()


def test_a_generator_goes_on_where_the_call_left_it():
    here, there = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    got = call(lambda g: torch.randn(4, generator=g), here)
    assert torch.equal(got, torch.randn(4, generator=there))
    assert torch.equal(torch.randn(4, generator=here), torch.randn(4, generator=there))


def test_what_is_returned_is_told_from_what_was_lent():
    model = nn.Linear(2, 2)
    assert call(lambda m: 5, model) == 5
    assert call(lambda x: x, [1, 2]) == [1, 2]


@pytest.mark.parametrize(
    ("make", "kind", "settings"),
    [
        (
            lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.8, 0.9)),
            torch.optim.Adam,
            {"lr": 0.1, "betas": (0.8, 0.9)},
        ),
        (torch.optim.RMSprop, torch.optim.RMSprop, {}),
        (torch.optim.SGD, torch.optim.SGD, {"lr": 1e-3}),
        (
            lambda p: torch.optim.SGD([{"params": p, "lr": 0.2}], lr=9.0),
            torch.optim.SGD,
            {"lr": 0.2},
        ),
    ],
)
def test_an_optimizer_is_made_anew_with_its_settings(make, kind, settings):
    table = nn.Parameter(torch.arange(6.0))
    optimizer = call(make, [table])
    assert type(optimizer) is kind
    (group,) = optimizer.param_groups
    assert group["params"][0] is table
    assert settings.items() <= group.items()
    twin = nn.Parameter(torch.arange(6.0))
    other = make([twin])
    for held, one in ((table, optimizer), (twin, other)):
        for factor in (1.0, 2.0):
            one.zero_grad()
            (factor * held.square().sum()).backward()
            one.step()
    assert torch.equal(table, twin)


def test_a_tie_that_is_cut_is_told():
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
    model[1].weight = model[0].weight
    call(lambda m: nn.init.zeros_(m[0].weight) is None or m, model)
    assert model[1].weight is model[0].weight

    def cut(module):
        module[1].weight = nn.Parameter(torch.ones(5, 3))
        return module

    with pytest.raises(WireError, match="shared their numbers"):
        call(cut, model)


def test_foreign_optimizers_and_parameters_are_refused():
    table = nn.Parameter(torch.zeros(2))
    with pytest.raises(WireError, match="parameters that it was not given"):
        call(lambda p: torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=1.0), [table])


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (1, []),
        (1, None),
        (1, [[[torch.zeros(3)], [0]]]),
        (1, [[[torch.zeros(2, dtype=torch.float64)], [0]]]),
        (1, [[["text"], [0]]]),
        (1, [[torch.zeros(1, 2), [0]]]),
        (1, torch.zeros(1)),
        (
            RemoteRef(-1, "optimizer", ["SGD", [{"params": [0]}, {"params": [0]}]]),
            [[[torch.zeros(2)], [0]]],
        ),
        (RemoteRef(-1, "optimizer", ["Optimizer", [{"params": [0]}]]), [[[torch.zeros(2)], [0]]]),
        (1, [5]),
        (RemoteRef(4, "same"), [[[torch.zeros(2)], [0]]]),
        (RemoteRef(0, "module", b""), [[[torch.zeros(2)], [0]]]),
        (RemoteRef(-1, "optimizer", ["load", [{"params": [0]}]]), [[[torch.zeros(2)], [0]]]),
        (RemoteRef(-1, "optimizer", None), [[[torch.zeros(2)], [0]]]),
        (
            RemoteRef(-1, "optimizer", ["SGD", [{"lr": 1, "params": [9]}]]),
            [[[torch.zeros(2)], [0]]],
        ),
    ],
)
def test_forged_returns_are_refused(value, numbers):
    with pytest.raises(WireError):
        sync_back(across(value), across(numbers), [nn.Parameter(torch.ones(2))])


STATE = torch.Generator().manual_seed(3).get_state()


def placed(left: int, given: int) -> torch.Tensor:
    """A state with other counts of numbers that are left and that were given out."""
    head = struct.pack(
        "=8si4sQ", bytes(STATE[:8].tolist()), left, bytes(STATE[12:16].tolist()), given
    )
    return torch.cat([torch.tensor(list(head), dtype=torch.uint8), STATE[24:]])


@pytest.mark.parametrize("draws", [0, 1, 2, 622, 623, 624, 625, 1248, 1249])
def test_each_state_of_a_generator_comes_back(draws):
    here, there = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    for generator in (here, there):
        for _ in range(draws):
            torch.randint(2**31, (), generator=generator)
    sync_back(1, across([[[here.get_state()], [0]]]), [other := torch.Generator()])
    assert torch.equal(torch.rand(2000, generator=other), torch.rand(2000, generator=there))


@pytest.mark.parametrize(
    "state",
    [
        torch.zeros_like(STATE),
        torch.full_like(STATE, 255),
        torch.arange(len(STATE)).to(torch.uint8),
        STATE.float(),
        None,
        torch.cat([STATE[:8], torch.full_like(STATE[8:], 255)]),
        placed(624, 624),
        placed(1, 1),
    ],
)
def test_invalid_generator_state_is_refused(state):
    generator, twin = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    with pytest.raises(WireError):
        sync_back(1, across([[[state], [0]]]), [generator])
    assert torch.equal(torch.randn(9, generator=generator), torch.randn(9, generator=twin))


def test_any_bytes_for_a_state_are_taken_or_refused():
    random = torch.Generator().manual_seed(0)
    for _ in range(300):
        state = STATE.clone()
        at = torch.randint(len(STATE), (5,), generator=random)
        state[at] = torch.randint(256, (5,), generator=random).to(torch.uint8)
        generator = torch.Generator().manual_seed(3)
        with contextlib.suppress(WireError):
            sync_back(1, across([[[state], [0]]]), [generator])
        assert torch.randn(700, generator=generator).shape == (700,)
        assert torch.randperm(7, generator=generator).sort().values.tolist() == [*range(7)]
