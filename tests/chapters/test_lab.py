"""What is stored of each chapter has the parts, settings and seeds of its ``lab`` module.

`test_stored` runs a slice of every part.
"""

import json

import numpy as np
import pytest
import torch
from support import ROOT

from helpers.chapters import CHAPTERS, stored
from helpers.chapters.lab import Part, evaluate, over_seeds, percent, runs, spread, train

MEASURED = [chapter for chapter in CHAPTERS if hasattr(chapter.module("lab"), "PARTS")]


@pytest.mark.parametrize("chapter", MEASURED, ids=lambda chapter: chapter.stem)
def test_stored_results_are_those_of_the_module(chapter):
    lab, parts = chapter.module("lab"), stored(chapter.number)
    assert set(parts) == set(lab.PARTS)
    for name, part in lab.PARTS.items():
        assert (part.chapter, part.name) == (chapter.number, name)
        found, more, settings = parts[name], *as_stored(part.more, part.settings)
        assert found["script"] == f"benchmarks/chapters.py {chapter.stem[:2]} {name}"
        assert found["seeds"] == list(part.seeds)
        assert found == found | more
        for setting, wanted in zip(found["settings"], settings, strict=True):
            assert {key: value for key, value in setting.items() if key != "runs"} == wanted
            assert [run["seed"] for run in setting["runs"]] == found["seeds"]


def as_stored(*values):
    return json.loads(json.dumps(values))


def test_results_of_a_chapter_have_a_module_that_makes_them():
    stems = {path.stem for path in (ROOT / "helpers/data/results").glob("[0-9][0-9]_*.json")}
    assert stems == {chapter.stem for chapter in MEASURED}


# --- what they share --------------------------------------------------------------------------


def test_a_part_holds_each_setting_with_its_runs():
    part = Part(
        chapter=0,
        name="sums",
        run=lambda seed, a: {"x": a + seed},
        settings=[{"a": 1}, {"a": 5}],
        seeds=range(2),
        more={"steps": 3},
    )
    assert part.measure() == {
        "seeds": [0, 1],
        "steps": 3,
        "settings": [
            {"a": 1, "runs": [{"seed": 0, "x": 1}, {"seed": 1, "x": 2}]},
            {"a": 5, "runs": [{"seed": 0, "x": 5}, {"seed": 1, "x": 6}]},
        ],
    }


def test_runs_are_those_of_the_one_setting_that_fits():
    plain, scaled, more = ({"runs": [{"seed": n}]} for n in range(3))
    part = {
        "settings": [
            {"lr": 0.1, **plain},
            {"lr": 0.1, "scales": [1, 2], **scaled},
            {"lr": 0.3, "k": 1, **more},
        ]
    }
    assert runs(part, lr=0.1) == plain["runs"], "one of just these keys comes first"
    assert runs(part, lr=0.1, scales=(1, 2)) == scaled["runs"]
    assert runs(part, lr=0.3 * (1 + 1e-12)) == more["runs"]
    for wanted in ({"lr": 0.2}, {}):
        with pytest.raises(ValueError, match="must fit one setting of the part"):
            runs(part, **wanted)


def test_a_diverged_run_counts_as_nan_a_zero_loss_does_not():
    found = over_seeds([{"validation": 0.0}, {"validation": None}, {}])
    np.testing.assert_array_equal(found, [0.0, np.nan, np.nan])


def test_spread_uses_n_minus_one_and_no_minus_zero():
    assert spread([1.0, 2.0, 3.0]) == "2.00 ± 1.00"
    assert spread([-1.0, -3.0], 1, signed=True) == "−2.0 ± 1.4"
    assert spread([0.5, 1.5], 0, signed=True) == "+1 ± 1"
    assert spread([-0.001, -0.002]) == "0.00 ± 0.00"
    assert percent([0.84, 0.86]) == "85 ± 1 %"


def test_a_step_goes_down_the_gradient_of_its_batch_and_leaves_the_mode():
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Dropout(0.0)).eval()
    model[0].weight.data.fill_(1.0)
    sgd, seen = torch.optim.SGD(model.parameters(), lr=0.1), []
    batches = [(torch.ones(1, 1), torch.full((1, 1), 3.0))] * 5
    losses = train(
        model,
        torch.nn.functional.mse_loss,
        batches,
        steps=2,
        optimizer=sgd,
        on_step=lambda step, model: seen.append((step, model.training, model[0].weight.item())),
    )
    assert losses == pytest.approx([4.0, 2.56])  # w: 1, then 1 + 0.1 · 2 · 2 = 1.4, then 1.72
    assert seen == [(0, True, 1.0), (1, True, pytest.approx(1.4))]
    assert model[0].weight.item() == pytest.approx(1.72)
    assert not model.training


def test_a_window_with_more_targets_counts_more():
    table_VV = torch.tensor([[0.0, 0.0], [np.log(3), 0.0]])  # after 1: ¾ and ¼
    model = torch.nn.Embedding.from_pretrained(table_VV).train()
    one, three = torch.tensor([[0]]), torch.tensor([[1, 1, 1]])
    windows = [(one, torch.tensor([[0]])), (three, torch.tensor([[1, 1, 1]]))]
    assert evaluate(model, windows) == pytest.approx((np.log(2) + 3 * np.log(4)) / 4)
    assert model.training
