"""Positions: the formulas by loops in float64, the properties that they were made for."""

import math

import numpy as np
import pytest
import torch
from tiny import seeded

from helpers import positions
from helpers.positions import Learned, Rotary, Sinusoidal, alibi, alibi_slopes, sinusoidal


@pytest.fixture
def rng():
    return seeded(0)


def test_sinusoidal_is_the_formula_entry_by_entry():
    table = sinusoidal(50, 12)
    assert table.shape == (50, 12)
    for t in (0, 1, 7, 49):
        for k in range(6):
            angle = t / 10_000 ** (2 * k / 12)
            assert table[t, 2 * k].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[t, 2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_sinusoidal_module_starts_at_position_0_by_default():
    module, learned = Sinusoidal(12, base=50.0), Learned(5, 4)
    assert torch.equal(module(5), sinusoidal(5, 12, base=50.0))
    assert torch.equal(module(5, 3), sinusoidal(8, 12, base=50.0)[3:])
    assert module.double()(1).dtype == torch.float64
    assert torch.equal(learned(3), learned.rows.weight[:3])


def test_a_shift_is_the_same_rotation_at_every_position():
    table = sinusoidal(40, 8, base=50.0).double().numpy()  # no wave too long for 40 positions
    moved, _, rank, _ = np.linalg.lstsq(table[:30], table[7:37], rcond=None)
    assert rank == 8
    np.testing.assert_allclose(table[:30] @ moved, table[7:37], atol=1e-5)
    np.testing.assert_allclose(moved @ moved.T, np.eye(8), atol=1e-4)


def test_rotary_rotates_each_pair_by_its_angle(rng):
    x = torch.randn(2, 3, 5, 6, generator=rng)
    turned = Rotary(6)(x, offset=4)
    for t in range(5):
        for k in range(3):
            angle = (4 + t) / 10_000 ** (2 * k / 6)
            as_complex = (x[..., t, k] + 1j * x[..., t, k + 3]) * np.exp(1j * angle)
            torch.testing.assert_close(turned[..., t, k], as_complex.real.float())
            torch.testing.assert_close(turned[..., t, k + 3], as_complex.imag.float())


def test_rotary_scores_depend_on_the_distance_alone(rng):
    q, k = torch.randn(2, 1, 8, generator=rng, dtype=torch.float64)
    rotary = Rotary(8).double()
    scores = [(rotary(q, offset=s + 3) @ rotary(k, offset=s).T).item() for s in (0, 1, 10, 50)]
    assert scores == pytest.approx([scores[0]] * 4, rel=1e-5)
    assert (rotary(q, offset=4) @ rotary(k, offset=0).T).item() != pytest.approx(
        scores[0], rel=1e-2
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rotary_of_16_bits_still_knows_late_positions(rng, dtype):
    """Angles in 16 bits would be off by whole radians there."""
    x, rotary = torch.randn(2048, 32, generator=rng).to(dtype), Rotary(32)
    wanted = rotary(x.double())
    turned = rotary.to(dtype)(x)
    assert turned.dtype == dtype
    assert (turned - wanted).abs().max() < 6 * torch.finfo(dtype).eps


def test_rotary_keeps_lengths_and_leaves_position_0(rng):
    x = torch.randn(9, 10, generator=rng)
    turned = Rotary(10)(x)
    torch.testing.assert_close(turned[0], x[0])
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))


@pytest.mark.parametrize("kind", [Sinusoidal, Rotary])
def test_there_is_nothing_to_train_or_to_store(kind):
    assert list(kind(2).parameters()) == []
    assert kind(2).state_dict() == {}


def test_sinusoidal_rows_are_made_on_the_given_device(monkeypatch):
    """Nothing is made on the CPU and copied: `meta` has shapes alone, and takes no part of it."""
    assert sinusoidal(3, 4, device="meta").device.type == "meta"
    module, made = Sinusoidal(4).to("meta"), []
    monkeypatch.setattr(
        positions, "sinusoidal", lambda *a, **k: made.append(k["device"]) or sinusoidal(*a, **k)
    )
    assert module(3, 2).device.type == made[0].type == "meta"


def test_alibi_slopes_are_those_of_the_paper():
    assert alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]
    assert alibi_slopes(1).tolist() == [2.0**-8]
    assert alibi_slopes(4).tolist() == [2.0 ** (-2 * h) for h in range(1, 5)]


def test_alibi_falls_with_distance():
    bias = alibi(2, 3, 5)
    assert bias.shape == (2, 3, 5)
    slopes = alibi_slopes(2)
    for h in range(2):
        for row, t in enumerate((2, 3, 4)):
            for s in range(5):
                wanted = -slopes[h].item() * (t - s) if s <= t else 0
                assert bias[h, row, s].item() == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("heads", "powers"),
    [
        (1, [8]),
        (3, [4, 8, 2]),
        (6, [2, 4, 6, 8, 1, 3]),
        (12, [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5]),
    ],
)
def test_alibi_slopes_for_head_counts_between_powers_of_2(heads, powers):
    """Worked out by hand from the rule: the next power below, then every other one above."""
    wanted = torch.tensor([0.5**power for power in powers])
    torch.testing.assert_close(alibi_slopes(heads), wanted)
