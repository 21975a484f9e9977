"""The measurements of chapter 09: a slice of each stored part is what its code makes now."""

import numpy as np
import pytest
import torch

from helpers.chapters.ch09_prenorm_vs_postnorm import measure

pytestmark = pytest.mark.no_shape_check  # which every step of training would wait for


@pytest.mark.parametrize("place", measure.PLACES)
def test_starts_are_what_is_stored(place):
    setting = {"place": place, "start": "torch", "L": 4}
    for seed, stored in enumerate(measure.runs("start", **setting)[:2]):
        run = {"seed": seed} | measure.one_start(seed, **setting)
        assert run.keys() == stored.keys()
        for key in run:
            assert run[key] == pytest.approx(stored[key], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "at"), [("longer", -1), ("others", 0), ("rescue", 1), ("deep", 2), ("deep", -1)]
)
def test_short_runs_are_the_start_of_the_stored_ones(part, at):
    """The deep ones for a step, the others for ten, in which their losses fall by half a nat."""
    setting = measure.settings(part)[at]
    steps = 1 if part == "deep" else measure.BLOCK
    stored = measure.runs(part, **setting)[0]
    run = measure.trained(seeds=[0], looks=(0,), **setting | {"steps": steps})
    assert run["losses"][0, 0].item() == pytest.approx(stored["first"], abs=0.01)
    if part != "deep":
        assert run["losses"].mean().item() == pytest.approx(stored["losses"][0], abs=0.03)
    if part == "longer":
        for key, values in run["looks"][0][0].items():
            assert values == pytest.approx(stored["looks"]["0"][key], rel=0.02)
        assert len(measure.without_each(run["readers"][0])) == len(stored["without"])


@pytest.mark.slow
def test_a_whole_run_is_what_is_stored():
    setting = {"place": "pre", "L": 2, "lr": 0.003, "warm_up": 50}
    stored = measure.runs("grid", **setting)[0]
    (run,) = measure.all_seeds([0], **setting)
    assert run.keys() | {"seed"} == stored.keys()
    for key in run:
        assert run[key] == pytest.approx(stored[key], abs=0.03)


def test_seeds_trained_side_by_side_are_the_seeds_trained_alone():
    together = measure.trained(2, "post", lr=0.003, seeds=range(2), steps=4)
    alone = measure.trained(2, "post", lr=0.003, seeds=[1], steps=4)
    assert torch.allclose(together["losses"][1], alone["losses"][0], atol=1e-3)


def test_warm_up_is_a_straight_ramp_to_the_rate():
    """Adam's first step moves every weight that has a gradient by the rate of that step."""
    before = measure.started(2, "pre", seed=0).output.weight.detach()
    moved = []
    for warm_up in (0, 4):
        run = measure.trained(2, "pre", lr=0.01, warm_up=warm_up, seeds=[0], steps=1)
        moved.append((run["readers"][0].output.weight - before).abs().max().item())
    assert moved == pytest.approx([0.01, 0.0025], rel=1e-3)


def test_without_each_puts_the_blocks_back():
    reader = measure.started(3, "pre", seed=0)
    before = measure.on_validation(reader)
    lost = measure.without_each(reader)
    assert len(lost) == len(reader.blocks) == 3
    assert measure.on_validation(reader) == before
    assert np.abs(np.subtract(lost, before)).min() > 1e-6
