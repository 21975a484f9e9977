"""Chapter 10's measurements: stacks in words, costs of a start, and gradients."""

import pytest

from helpers.chapters.ch10_initialisation import lab


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


def test_a_bias_makes_the_first_gradient_the_smallest():
    with_bias = lab.plain(lab.KNOWN["torch"], "ReLU", 0, bias=True)
    without = lab.plain(lab.KNOWN["torch"], "ReLU", 0)
    assert with_bias[1][0] < 1e-6 * with_bias[1][-1]
    assert 0.1 < without[1][0] / without[1][-1] < 10
