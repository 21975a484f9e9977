"""Positions: the formulas by loops in float64, the properties that they were made for."""

import math

import numpy as np
import pytest

from helpers.positions import alibi, sinusoidal


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


@pytest.mark.parametrize(("H", "slopes"), [(1, [8]), (4, [2, 4, 6, 8]), (8, range(1, 9))])
def test_alibi_falls_with_distance_at_the_papers_slopes(H, slopes):
    bias_HTT = alibi(H, 5)
    assert bias_HTT.shape == (H, 5, 5)
    for h, t, s in np.ndindex(H, 5, 5):
        assert bias_HTT[h, t, s].item() == -(2.0 ** -slopes[h]) * max(t - s, 0)
