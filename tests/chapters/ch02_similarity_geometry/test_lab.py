"""Chapter 2's measurements: keys of equal and unequal length."""

import pytest

from helpers.chapters.ch02_similarity_geometry import lab


def test_keys_of_equal_length_have_one_order():
    assert lab.other_best(64, 16, 32, 0, qk_norm=True) == pytest.approx((0, 1))
    other, ratio = lab.other_best(64, 4, 64, 0)
    assert other > 0.3
    assert ratio > 1.5
