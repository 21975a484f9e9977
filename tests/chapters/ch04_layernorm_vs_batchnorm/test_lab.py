"""Chapter 4's measurements: what a norm leaves that γ and β bring back."""

import numpy as np
import pytest

from helpers.chapters.ch04_layernorm_vs_batchnorm import lab


def test_a_norm_undone_leaves_nothing_and_a_lost_row_all():
    x = np.array([[1.0, 2], [2, 3], [3, 4]])
    columns, rows = (x - x.mean(axis=0)), (x - x.mean(axis=1, keepdims=True))
    assert lab.left_after_undoing(columns, x) == pytest.approx(0)
    assert lab.left_after_undoing(rows, x) == pytest.approx(1)
