"""The measurements of chapter 09: a slice of each stored part is what its code makes now."""

import numpy as np
import pytest
import torch

from helpers import bigram
from helpers.bigram import loss
from helpers.chapters.ch09_prenorm_vs_postnorm import lab
from helpers.chapters.lab import characters, counted_losses


@pytest.mark.nightly
@pytest.mark.parametrize("place", lab.ORDERS)
def test_starts_are_what_is_stored(place):
    setting = {"place": place, "start": "torch", "L": 4}
    for seed, stored in enumerate(lab.PARTS["start"].runs(**setting)[:2]):
        run = {"seed": seed} | lab.one_start(seed, **setting)
        assert run.keys() == stored.keys()
        for key in run:
            assert run[key] == pytest.approx(stored[key], rel=0.02)


def test_alike_tokens_leave_no_gradient_to_queries_and_keys():
    """Of one token repeated, W_Q and W_K of every block have none, whatever the order."""
    for order in ("post", "pre"):
        model = lab.init_model(2, order).double()
        torch.nn.init.zeros_(model.position.weight)
        ids_BT = torch.full((1, 6), 3)
        found = lab.stream_and_gradients(model, ids_BT, ids_BT.roll(1) + torch.arange(6))
        values = [block.attention.qkv.weight.grad[-32:] for block in model.blocks]
        assert max(found["W_Q, W_K"]) < 1e-12 < 0.001 < min(grad.norm() for grad in values)
        assert max(found["differing"]) < 1e-12


def test_gradients_are_those_of_the_loss():
    """A step against the gradient of W_Q and W_K lowers the loss by its length times the step."""
    model, batch = lab.init_model(2, "post").double(), lab.one_batch(0)
    found = lab.stream_and_gradients(model, *batch)
    weight = model.blocks[-1].attention.qkv.weight
    direction = weight.grad.clone()
    direction[-weight.shape[1] :] = 0  # W_V stays
    losses = []
    for step in (1e-4, -1e-4):
        with torch.no_grad():
            weight += step * direction / direction.norm()
            losses.append(loss(model(batch[0]), batch[1]).item())
            weight -= step * direction / direction.norm()
    slope = (losses[0] - losses[1]) / 2e-4
    assert slope == pytest.approx(found["W_Q, W_K"][-1], rel=1e-4)


def test_a_run_learns_where_it_ends_clearly_below_the_letter_frequencies():
    level = counted_losses()["unigram"]
    pairs = bigram.count_bigrams(characters().validation, len(characters().tokenizer.vocab))
    counted = np.bincount(characters().train, minlength=len(pairs)) + 1
    frequencies = np.tile(counted / counted.sum(), (len(pairs), 1))
    assert level == pytest.approx(bigram.cross_entropy_of(frequencies, pairs))
    assert lab.learnt(level + np.array([-0.1, -0.04, 0.1])) == 1


def test_by_hand_both_orders_add_and_norm_in_their_order():
    post, pre = lab.by_hand(*np.array([[1.0, 2, -1], [0, 0, 3], [1, 1, 1]]))
    np.testing.assert_allclose(post["x + y"], [1, 2, 2])
    output = post[r"\text{output}"]
    np.testing.assert_allclose([output.mean(), output.var()], [0, 1], atol=1e-12)
    assert pre[r"f\text{ reads}"] == pytest.approx(np.array([1, 4, -5]) / 14**0.5)
    np.testing.assert_allclose(pre[r"\text{output} = x + y"], [2, 3, 0])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("part", "at"),
    [("race", 0), ("longer", -1), ("deep", 2), ("deep", -1)],
)
def test_short_runs_are_the_start_of_the_stored_ones(part, at):
    """The deep ones for a step, the others for ten, in which their losses fall by half a nat."""
    setting = lab.PARTS[part].settings[at]
    steps = 1 if part == "deep" else lab.BLOCK
    stored = lab.PARTS[part].runs(**setting)[0]
    run = lab.trained(seeds=[0], looks=(0,), **setting | {"steps": steps})
    assert run["losses"][0, 0].item() == pytest.approx(stored["first"], abs=0.01)
    if part != "deep":
        assert run["losses"].mean().item() == pytest.approx(stored["losses"][0], abs=0.03)
    if part == "longer":
        for key, values in run["looks"][0][0].items():
            assert values == pytest.approx(stored["looks"]["0"][key], rel=0.02)


@pytest.mark.nightly
def test_a_whole_run_is_what_is_stored():
    setting = {"place": "pre", "L": 2, "lr": 0.003, "warm_up": 50}
    stored = lab.PARTS["grid"].runs(**setting)[0]
    (run,) = lab.all_seeds([0], **setting)
    assert run.keys() | {"seed"} == stored.keys()
    for key in run:
        assert run[key] == pytest.approx(stored[key], abs=0.03)


def test_seeds_trained_side_by_side_are_the_seeds_trained_alone():
    together = lab.trained(2, "post", lr=0.003, seeds=range(2), steps=4)
    alone = lab.trained(2, "post", lr=0.003, seeds=[1], steps=4)
    assert torch.allclose(together["losses"][1], alone["losses"][0], atol=1e-3)


def test_warm_up_is_a_straight_ramp_to_the_rate():
    """Adam's first step moves every weight that has a gradient by the rate of that step."""
    before = lab.init_model(2, "pre", seed=0).head.weight.detach()
    moved = []
    for warm_up in (0, 4):
        run = lab.trained(2, "pre", lr=0.01, warm_up=warm_up, seeds=[0], steps=1)
        moved.append((run["models"][0].head.weight - before).abs().max().item())
    assert moved == pytest.approx([0.01, 0.0025], rel=1e-3)
