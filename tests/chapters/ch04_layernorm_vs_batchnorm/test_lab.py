"""The measurements of chapter 04: a slice of each stored part, recomputed."""

import numpy as np
import pytest

from helpers.chapters import stored
from helpers.chapters.ch04_layernorm_vs_batchnorm import lab
from helpers.chapters.lab import max_difference, runs

SLICES = {
    "controls": (0, {"norm": "layer", "lr": 0.01, "learn": False}),
    "probes": (0, {"norm": "layer", "lr": 0.01, "probe": True}),  # and without the probe of "norms"
}
TOLERANCE = 0.02  # of losses in nats, for another processor


@pytest.mark.slow
@pytest.mark.parametrize("part", SLICES)
def test_a_run_is_the_stored_one(part):
    seed, setting = SLICES[part]
    made = {"seed": seed} | lab.one_run(seed, **setting)
    assert max_difference(made, runs(stored(4)[part], **setting)[0]) < TOLERANCE
    if part == "probes":
        then = runs(stored(4)["norms"], norm="layer", lr=0.01)[0]
        assert max_difference({key: made[key] for key in then}, then) < TOLERANCE


def test_a_norm_undone_leaves_nothing_and_a_lost_row_all():
    x = np.array([[1.0, 2], [2, 3], [3, 4]])
    columns, rows = (x - x.mean(axis=0)), (x - x.mean(axis=1, keepdims=True))
    assert lab.left_after_undoing(columns, x) == pytest.approx(0)
    assert lab.left_after_undoing(rows, x) == pytest.approx(1)
