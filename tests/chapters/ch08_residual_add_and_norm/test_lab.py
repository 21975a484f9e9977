"""The measurements of chapter 08: a slice of each stored part is what its code makes now."""

import numpy as np
import pytest
import torch

from helpers.chapters.ch08_residual_add_and_norm import lab


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("start", "scheme", "L"),
    [("torch", "norm alone", 4), ("kept", "residual alone", 4), ("torch", "norm first", 96)],
)
def test_depth_is_what_is_stored(start, scheme, L):
    run = lab.one_stack(1, start=start, scheme=scheme, L=L)
    stored = lab.PARTS["depth"].runs(start=start, scheme=scheme, L=L)[1]
    assert run.keys() | {"seed"} == stored.keys()
    for key in run:
        assert run[key] == pytest.approx(stored[key], rel=0.02)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("part", "model", "lr"),
    [("ladder", "with its residual", 0.003), ("rates", "attention alone", 0.01)],
)
def test_readers_half_way_are_what_is_stored(part, model, lr):
    lm, go_on = lab.in_training(model, lr=lr, seed=1)
    go_on(steps=1000)
    stored = lab.PARTS[part].runs(model=model, lr=lr)[1]["half way"]
    assert lab.validation_loss(lm) == pytest.approx(stored, abs=0.02)


@pytest.mark.nightly
def test_neurons_before_training_are_what_is_stored():
    lm, _ = lab.in_training("with feed-forward", seed=2)
    stored = lab.PARTS["ladder"].runs(model="with feed-forward")[2]["untrained"]
    assert lab.of_neurons(lm) == pytest.approx(stored, abs=0.002)


def test_taken_out_leaves_the_reader_as_it_was():
    lm, _ = lab.in_training("with feed-forward")
    before = lab.validation_loss(lm)
    assert lab.taken_out(lm) != before
    assert len(lm.blocks) == 2
    assert lab.validation_loss(lm) == before


def test_steps_by_hand_are_torch_s_layers():
    x, y = np.array([1.0, 2.0, -1.0]), np.array([0.5, 1.5, -0.5])
    gamma, beta = np.array([1.0, 2.0, 0.5]), np.array([0.1, 0.0, -1.0])
    *_, normalised = lab.add_norm_steps(x, y, 1, "x_2", gamma, beta)
    x_3, *affine = map(torch.tensor, (x + y, gamma, beta))
    right = torch.nn.functional.layer_norm(x_3, (3,), *affine, eps=0.0)
    np.testing.assert_allclose(normalised.value, right)
    W_1, W_2 = np.array([[-1, 1], [1, -1], [0, 0]]), np.array([[0, 0, 1], [0, 0, 1]])
    *_, output = lab.network_steps(x, W_1, W_2, "y_2")
    np.testing.assert_allclose(output.value, [0, 0, 0.682689], atol=1e-6)  # Φ(1) − Φ(−1)
