"""The cover is drawn by hand; its numbers and positions are those that attention gives."""

import re
from pathlib import Path

import numpy as np
import pytest

from helpers.numerics import softmax

SVG = (Path(__file__).parents[2] / "book/_assets/cover.svg").read_text("utf-8")
UNIT, KEY_ORIGIN, VALUE_ORIGIN = 55, np.array([120, 165]), np.array([560, 170])  # pixels


def circles() -> np.ndarray:
    """Centres and radii of all circles, in the order in which they are drawn."""
    found = re.findall(r'<circle cx="(\d+)" cy="(\d+)" r="(\d+)"', SVG)
    return np.array(found, dtype=float)


def plane(pixels: np.ndarray, origin: np.ndarray) -> np.ndarray:
    return (pixels - origin) / [UNIT, -UNIT]


@pytest.fixture(scope="module")
def weights() -> np.ndarray:
    keys = plane(circles()[:3, :2], KEY_ORIGIN)
    tip = re.search(r"M120 165 (\d+) (\d+)\" stroke=\"#222\"", SVG).groups()
    query = plane(np.array(tip, dtype=float), KEY_ORIGIN)
    return softmax(keys @ query / np.sqrt(2))


def test_printed_shares_are_the_softmax_of_what_is_drawn(weights):
    printed = [int(share) for share in re.findall(r">(\d+) %<", SVG)]
    assert sum(printed) == 100
    np.testing.assert_allclose(printed, 100 * weights, atol=1.0)


def test_bars_are_as_long_as_the_shares(weights):
    bars = [float(w) for w in re.findall(r'<rect x="270"[^>]*? width="(\d+)"', SVG)]
    np.testing.assert_allclose(bars / np.sum(bars), weights, atol=0.015)


def test_output_stands_where_the_values_are_mixed_to(weights):
    values, output = circles()[3:6, :2], circles()[6, :2]
    np.testing.assert_allclose(output, weights @ values, atol=2.5)
