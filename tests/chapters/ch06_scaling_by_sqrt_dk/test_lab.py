"""The measurements of chapter 06: a slice of each stored part, recomputed."""

import pytest

from helpers.chapters.ch06_scaling_by_sqrt_dk import lab
from helpers.chapters.lab import max_difference

TOLERANCE = 0.01  # of losses in nats and of spreads, at small rates, for another processor
SMALL_RATE = {"steps": 200, "divisor": "√D", "start": lab.UNIT, "lr": 0.001}
SLOW = {"steps": 200, "divisor": "1", "start": lab.SMALL, "lr": 0.01, "D": 64, "qk_rate": 1 / 8}
SLICES = {"short": (0, SMALL_RATE | {"D": 16}), "controls": (0, SLOW), "more": (5, SLOW)}


@pytest.mark.nightly
@pytest.mark.parametrize("part", SLICES)
def test_a_run_is_the_stored_one(part):
    seed, setting = SLICES[part]
    made = {"seed": seed} | lab.one_run(seed, **setting)
    assert max_difference(made, lab.PARTS[part].runs(**setting)[0]) < TOLERANCE


@pytest.mark.nightly
def test_a_long_run_begins_as_the_stored_one():
    setting = SMALL_RATE | {"D": 64}
    made = lab.one_run(0, **setting)["losses"]
    then = lab.PARTS["long"].runs(**setting | {"steps": 2000})[0]["losses"]
    assert max_difference(made, then[: len(made)]) < TOLERANCE
