"""The measurements of chapter 04: a slice of each stored part, recomputed."""

import numpy as np
import pytest

from helpers.chapters.ch04_layernorm_vs_batchnorm import lab
from helpers.chapters.lab import max_difference

SLICES = {
    "controls": lab.USUAL | {"learn": False},
    "probes": lab.USUAL | {"probe": True},  # and without the probe of "norms"
}
TOLERANCE = 0.02  # of losses in nats, for another processor


@pytest.mark.nightly
@pytest.mark.parametrize("part", SLICES)
def test_a_run_is_the_stored_one(part):
    setting = SLICES[part]
    made = {"seed": 0} | lab.one_run(0, **setting)
    assert max_difference(made, lab.PARTS[part].runs(**setting)[0]) < TOLERANCE
    if part == "probes":
        then = lab.PARTS["norms"].runs(**lab.USUAL)[0]
        assert max_difference({key: made[key] for key in then}, then) < TOLERANCE


def test_a_norm_undone_leaves_nothing_and_a_lost_row_all():
    x = np.array([[1.0, 2], [2, 3], [3, 4]])
    columns, rows = (x - x.mean(axis=0)), (x - x.mean(axis=1, keepdims=True))
    assert lab.left_after_undoing(columns, x) == pytest.approx(0)
    assert lab.left_after_undoing(rows, x) == pytest.approx(1)
