"""How corrections are tested: a function of the correction's own name finds it by another route."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np
import pytest

from helpers.chapters import corrections
from helpers.corrections import Correction

SHOWN = 5.1e-4  # the rounding to four digits
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(r"(?<![\w/.,-])(−?\d+(?:\.\d+)?|∞)(?: × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?")


@cache
def said(slug: str) -> str:
    """What a correction shows, computed once."""
    (found,) = (correction for correction in corrections() if correction.slug == slug)
    return found.shown()


def numbers(slug: str) -> list[float]:
    """Read the numbers in what a correction shows, in order; 50,000 reads as 50000."""
    return [
        (math.inf if digits == "∞" else float(digits.replace("−", "-")))
        * 10.0 ** int((power or "0").translate(SUPERSCRIPTS))
        for digits, power in NUMBER.findall(said(slug).replace(",000", "000"))
    ]


def by_another_route(
    found: Iterable[Correction],
    routes: Mapping[str, Callable],
    numeric: Mapping[str, tuple] | None = None,
) -> Callable:
    """Make a test of each correction; the name of its `right` is that of the function in routes.

    numeric: by that name, for those that show numbers alone: what is printed and what is right.
    """
    numeric = numeric or {}

    @pytest.mark.parametrize("correction", found, ids=lambda correction: correction.slug)
    def test_another_route_finds_it(correction):
        name = correction.right.__name__
        if name in numeric:
            is_right_and_the_printed_is_not(correction.slug, *numeric[name])
        else:
            routes[name]()

    return test_another_route_finds_it


def is_right_and_the_printed_is_not(slug: str, printed, expected) -> None:
    """The numbers shown are the expected ones, and differ from the printed ones."""
    printed, expected = (np.asarray(value, dtype=float) for value in (printed, expected))
    right = np.array(numbers(slug))
    assert right.shape == expected.shape
    np.testing.assert_allclose(right, expected, rtol=SHOWN, atol=1e-8)
    assert np.abs(np.broadcast_to(printed, right.shape) - right).max() > 0.006
