"""The measurements of chapter 10: a slice of each stored part is what its code makes now."""

import pytest
import torch

from helpers.chapters.ch10_initialisation import lab

TRAINED = [name for name, part in lab.PARTS.items() if part.side_by_side]


@pytest.mark.nightly
@pytest.mark.parametrize(("part", "at"), [*((part, -1) for part in TRAINED), ("elsewhere", 2)])
def test_short_runs_are_the_start_of_the_stored_ones(part, at):
    """The last setting of each part and one of twice the width, ten steps: half a nat is lost."""
    setting = lab.PARTS[part].settings[at]
    kept = lab.PARTS[part].runs(**setting)[0]
    losses, _ = lab.trained(**setting | {"seeds": [0], "steps": lab.BLOCK})
    assert losses[0, 0].item() == pytest.approx(kept["first"], abs=0.01)
    assert losses.mean().item() == pytest.approx(kept["losses"][0], abs=0.03)


@pytest.mark.nightly
def test_plain_layers_learn_as_they_did():
    setting = lab.PARTS["layers"].settings[4]
    kept = lab.PARTS["layers"].runs(**setting)[1]
    run = {"seed": 1} | lab.learns(1, **setting)
    assert run.keys() == kept.keys()
    assert run["first"] == pytest.approx(kept["first"], abs=0.01)
    assert run["last ten"] == pytest.approx(kept["last ten"], abs=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("at", [0, -2])
def test_untrained_stacks_are_those_stored(at):
    setting = lab.PARTS["stacks"].settings[at]
    kept = lab.PARTS["stacks"].runs(**setting)[3]
    run = lab.one_stack(3, **setting)
    assert run["sizes"] == pytest.approx(kept["sizes"], rel=0.02)
    assert run["gradients"] == pytest.approx(kept["gradients"], rel=0.02)


def test_stacks_are_sizes_and_gradients_of_each_seed():
    assert lab.stacks("plain layers, ReLU", "He", 6).shape == (8, 2, 6)
    blocks = lab.stacks("pre-norm blocks", "He", 6)
    assert blocks.shape == (8, 2, 6)
    assert lab.at_the_top("He", 6) == pytest.approx(blocks[:, 0, -1])
    assert "the stream ends with RMS 5.3; gradient" in lab.in_words("pre-norm blocks", 6, "He")
    assert "so this is Xavier" in lab.in_words("plain layers, ReLU", 6, "Xavier · 0")


def test_the_formula_of_the_first_loss_overshoots_where_logits_vary_much():
    assert abs(lab.formula_fails(0.5, 61).mean()) < 0.02
    assert lab.formula_fails(32.0, 61).mean() < -3


def test_a_cost_is_counted_from_the_same_width_and_length():
    small = lab.final("elsewhere", C=128, embedding=0.02)
    wide = small - lab.final("elsewhere", C=128)
    assert lab.cost("elsewhere", C=128, embedding=0.02) == pytest.approx(wide)
    plain = lab.final("embedding", embedding=0.02) - lab.final("schemes", scheme="torch")
    assert lab.cost("embedding", embedding=0.02) == pytest.approx(plain)


def test_what_is_kept_of_a_run_has_the_stored_form(monkeypatch):
    losses = torch.tensor([[4.0, 2.0] * 150, [4.0, torch.nan] * 150])
    validation = torch.tensor([2.0, torch.nan])
    monkeypatch.setattr(lab, "trained", lambda **_: (losses, validation))
    good, diverged = lab.all_seeds([0, 1])
    assert good == {"first": 4.0, "validation": 2.0, "losses": [3.0] * 30}
    assert diverged["validation"] is None
    assert diverged["losses"] == [None] * 30
    kept = lab.PARTS["eight"].runs(scheme="torch", lr=0.003)[0]
    assert good.keys() | {"seed"} == kept.keys()


def test_a_bias_makes_the_first_gradient_the_smallest():
    with_bias = lab.plain(lab.KNOWN["torch"], "ReLU", 0, bias=True)
    without = lab.plain(lab.KNOWN["torch"], "ReLU", 0)
    assert with_bias[1][0] < 1e-6 * with_bias[1][-1]
    assert 0.1 < without[1][0] / without[1][-1] < 10


def test_seeds_trained_side_by_side_are_the_seeds_trained_alone():
    together = lab.trained(seeds=range(2), steps=4)
    alone = lab.trained(seeds=[1], steps=4)
    for of_two, of_one in zip(together, alone, strict=True):
        assert torch.allclose(of_two[1], of_one[0], atol=1e-3)
