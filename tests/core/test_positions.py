"""Positions: the formulas by loops in float64, the properties that they were made for."""

import math

import numpy as np
import pytest
import torch

from helpers.positions import alibi, alibi_slopes, sinusoidal


def test_sinusoidal_is_the_formula_entry_by_entry():
    table = sinusoidal(50, 12)
    assert table.shape == (50, 12)
    for t in (0, 1, 7, 49):
        for k in range(6):
            angle = t / 10_000 ** (2 * k / 12)
            assert table[t, 2 * k].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[t, 2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_a_shift_is_the_same_rotation_at_every_position():
    table = sinusoidal(40, 8, base=50.0).double().numpy()  # no wave too long for 40 positions
    moved, _, rank, _ = np.linalg.lstsq(table[:30], table[7:37], rcond=None)
    assert rank == 8
    np.testing.assert_allclose(table[:30] @ moved, table[7:37], atol=1e-5)
    np.testing.assert_allclose(moved @ moved.T, np.eye(8), atol=1e-4)


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
