"""The measurements of chapter 06: a slice of each stored part, recomputed."""

import pytest

from helpers.chapters import stored
from helpers.chapters.ch06_scaling_by_sqrt_dk import lab
from helpers.chapters.lab import max_difference, runs

TOLERANCE = 0.01  # of losses in nats and of spreads, at small rates, for another processor
SMALL_RATE = {"steps": 200, "divisor": "√D", "lr": 0.001}
SLICES = {
    "short": SMALL_RATE | {"D": 16, "start": lab.UNIT},
    "controls": {
        "steps": 200,
        "D": 64,
        "start": lab.UNIT,
        "divisor": "√D",
        "lr": 0.01,
        "qk_rate": 0,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("part", SLICES)
def test_a_run_is_the_stored_one(part):
    made = {"seed": 0} | lab.one_run(0, **SLICES[part])
    assert max_difference(made, runs(stored(6)[part], **SLICES[part])[0]) < TOLERANCE


@pytest.mark.slow
def test_a_run_of_more_seeds_is_the_stored_one():
    setting = {"steps": 200, "D": 64, "start": lab.SMALL, "divisor": "√D", "lr": 0.01}
    made = {"seed": 5} | lab.one_run(5, steps_too=True, **setting)
    assert max_difference(made, runs(stored(6)["more"], **setting)[0]) < TOLERANCE


@pytest.mark.slow
def test_a_long_run_begins_as_the_stored_one():
    setting = SMALL_RATE | {"D": 64, "start": lab.SMALL}
    made = lab.one_run(0, **setting)["losses"]
    then = runs(stored(6)["long"], **setting | {"steps": 2000})[0]["losses"]
    assert max_difference(made, then[: len(made)]) < TOLERANCE
