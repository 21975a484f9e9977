"""The measurements of chapter 04: a slice of each stored part, recomputed."""

import pytest

from helpers.chapters import stored
from helpers.chapters.ch04_layernorm_vs_batchnorm import measure
from helpers.chapters.common import furthest, runs

SLICES = {
    "pairs": (5, {"norm": "rms", "lr": 0.01}),
    "batches": (0, {"norm": "batch", "lr": 0.01, "batch_size": 1}),
    "controls": (0, {"norm": "layer", "lr": 0.01, "learn": False}),
    "probes": (0, {"norm": "layer", "lr": 0.01, "probe": True}),  # and without the probe of "norms"
}
TOLERANCE = 0.02  # of losses in nats, for another processor


@pytest.mark.slow
@pytest.mark.parametrize("part", SLICES)
def test_a_run_is_the_stored_one(part):
    seed, setting = SLICES[part]
    made = {"seed": seed} | measure.one_run(seed, **setting)
    assert furthest(made, runs(stored(4)[part], **setting)[0]) < TOLERANCE
    if part == "probes":
        then = runs(stored(4)["norms"], norm="layer", lr=0.01)[0]
        assert furthest({key: made[key] for key in then}, then) < TOLERANCE
