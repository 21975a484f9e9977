"""The long measurement of chapter 09: it runs the chapter's cells; what is stored is its own."""

import json

import numpy as np
import pytest
import torch
from chapters import ROOT, script

RESULTS = ROOT / "helpers" / "data" / "results" / "placement_training.json"
PARTS = ("start", "longer", "grid", "others", "rescue", "deep")


@pytest.fixture(scope="module")
def placement():
    return script(ROOT / "benchmarks" / "placement_training.py")


@pytest.fixture(scope="module")
def names(placement):
    return placement.chapter()


def stored(part: str) -> dict:
    return json.loads(RESULTS.read_text("utf-8"))[part]


def test_cells_of_the_chapter_that_is_measured_are_there(placement, names):
    assert set(placement.PLACES) == set(names["PLACES"])
    assert set(placement.STARTS) == set(names["STARTS"])
    assert names["SEEDS"] == placement.SEEDS


def test_parts_are_those_of_the_script(placement):
    assert set(json.loads(RESULTS.read_text("utf-8"))) == set(placement.PARTS) == set(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_stored_results_are_those_of_the_script(placement, part):
    found = stored(part)
    assert found["script"] == "benchmarks/placement_training.py"
    assert found["seeds"] == list(placement.SEEDS)
    bare = [
        {key: value for key, value in setting.items() if key != "runs"}
        for setting in found["settings"]
    ]
    assert bare == placement.settings(part)
    for setting in found["settings"]:
        assert [run["seed"] for run in setting["runs"]] == found["seeds"]
        if part != "start":
            steps = setting.get("steps", 100)
            assert {len(run["losses"]) for run in setting["runs"]} == {steps // placement.BLOCK}


def test_a_start_measured_again_is_the_stored_one(placement, names):
    setting = {"place": "post, small writes", "start": "torch", "L": 4}
    (was,) = (
        s["runs"]
        for s in stored("start")["settings"]
        if {k: v for k, v in s.items() if k != "runs"} == setting
    )
    for run, before in zip(placement.of_start(names, **setting), was, strict=True):
        for key in ("sizes", "differing", "gradients", "last map"):
            assert run[key] == pytest.approx(before[key], rel=0.02)


def test_a_short_run_is_the_start_of_the_stored_one(names):
    setting = {"place": "pre", "L": 2, "lr": 0.003, "warm_up": 50}
    (was,) = (
        s["runs"]
        for s in stored("grid")["settings"]
        if {k: v for k, v in s.items() if k != "runs"} == setting
    )
    losses = names["trained"](seeds=range(2), steps=10, **setting)["losses"]
    assert np.allclose(losses[:, 0], [run["first"] for run in was[:2]], atol=0.01)
    assert np.allclose(losses.mean(dim=1), [run["losses"][0] for run in was[:2]], atol=0.03)


def test_the_first_loss_of_a_deep_run_is_the_stored_one(names):
    setting = {"place": "pre", "start": "Xavier", "L": 32, "lr": 0.001, "warm_up": 0}
    (was,) = (
        s["runs"]
        for s in stored("deep")["settings"]
        if {k: v for k, v in s.items() if k != "runs"} == setting
    )
    losses = names["trained"](seeds=range(2), steps=1, **setting)["losses"]
    assert np.allclose(losses[:, 0], [run["first"] for run in was[:2]], atol=0.01)


def test_seeds_trained_side_by_side_are_the_seeds_trained_alone(names):
    together = names["trained"](2, "post", lr=0.003, seeds=range(2), steps=4)
    alone = names["trained"](2, "post", lr=0.003, seeds=[1], steps=4)
    assert torch.allclose(together["losses"][1], alone["losses"][0], atol=1e-3)


def test_warm_up_is_a_straight_ramp_to_the_rate(names):
    """Adam's first step moves every weight that has a gradient by the rate of that step."""
    moved = []
    for warm_up in (0, 4):
        before = names["started"](2, "pre", seed=0).output.weight.detach()
        (after,) = names["trained"](
            2, "pre", lr=0.01, warm_up=warm_up, seeds=[0], steps=1
        )["readers"]  # fmt: skip
        moved.append((after.output.weight - before).abs().max().item())
    assert moved == pytest.approx([0.01, 0.0025], rel=1e-3)


def test_without_each_puts_the_blocks_back(names):
    reader = names["started"](3, "pre", seed=0)
    before = names["on_validation"](reader)
    lost = names["without_each"](reader)
    assert len(lost) == len(reader.blocks) == 3
    assert names["on_validation"](reader) == before
    assert all(abs(x - before) > 1e-6 for x in lost)
