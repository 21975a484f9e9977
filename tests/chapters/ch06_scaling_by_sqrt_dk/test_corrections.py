"""What the corrections of chapter 06 compute, found again by another route: closed forms, and
counting where they measure."""

import math
from statistics import NormalDist

import numpy as np
import pytest
import torch
from corrected import by_another_route, numbers

from helpers.chapters.ch06_scaling_by_sqrt_dk import corrections as module


def mean_one_needs_more():
    found = numbers("c06-mean-one-needs-more")
    assert [found[i] for i in (0, 1, 3, 5)] == [1, 1, 64, 1024]
    assert [found[2], found[4]] == pytest.approx([8, 32], rel=0.02) != [1, 1]


def power_of_growth():
    _, _, small, d, large, more, *fit = numbers("c06-power-of-growth")
    assert (d, more, *fit[:2]) == (64, 1024, 4, 1024)
    assert (small, large) == pytest.approx((8, 32), rel=0.02)
    assert fit[2] == pytest.approx(0.5, abs=0.02)


def gradient_without_division():
    found = np.reshape(numbers("c06-gradient-without-division"), (4, 4))
    assert found[:, 2:].tolist() == [[64, 16], [64, 1024], [1024, 16], [1024, 1024]]
    narrow_few, narrow_many, wide_few, wide_many = found[:, 0] / found[:, 1]
    assert narrow_few > 2
    assert narrow_many > 20
    assert wide_few < 0.01
    assert wide_many > 1.5
    # by autograd, one query at a time, on other keys
    again = []
    for d, keys in ((64, 16), (1024, 1024)):
        generator = torch.Generator().manual_seed(d)
        k, q = (torch.randn(n, d, generator=generator).double() for n in (keys, 40))
        for s in (1, d**0.5):
            norms = [
                torch.func.jacrev(lambda q, k=k, s=s: torch.softmax(k @ q / s, 0))(one).norm()
                for one in q
            ]
            again.append(float(torch.stack(norms).median()))
    assert found[0, :2] == pytest.approx(again[:2], rel=0.5)
    assert found[3, 1] == pytest.approx(again[3], rel=0.1)
    assert again[2] > again[3]


def aligned_after_scaling():
    assert numbers("c06-aligned-after-scaling")[1::2] == [64, 1024]
    assert numbers("c06-aligned-after-scaling")[::2] == pytest.approx([8, 32], rel=0.02)


def dividing_by_d():
    found = numbers("c06-dividing-by-d")
    assert found[:2] == [64, 1024]
    assert found[2:4] == pytest.approx([1, 1], abs=0.05)  # the mean of 1; found[4] is that mean
    assert found[5:7] == pytest.approx([64**-0.5, 1024**-0.5], rel=0.05)


def lengths_are_not_the_reason():
    width, *found = numbers("c06-lengths-are-not-the-reason")
    assert width == 256
    assert found == pytest.approx([16, 16, 256, 16, 1 / 16], rel=0.05)


def variance_and_magnitude():
    assert numbers("c06-variance-and-magnitude") == pytest.approx([64, 1024, 1, 16, 4], rel=0.05)


def extremes_become_rarer():
    shares = numbers("c06-extremes-become-rarer")[::2]
    outer_ten = 2 * sum(math.comb(k + 9, k) for k in range(6)) / 6**10  # totals 10 to 15, twice
    assert shares == pytest.approx([2 / 6, 6 / 36, outer_ten], rel=1e-3)
    assert shares[0] > shares[1] > shares[2]
    by_the_normal_law = 2 * NormalDist(35, math.sqrt(10 * 35 / 12)).cdf(15.5)
    assert shares[2] == pytest.approx(by_the_normal_law, rel=4)


def dice_have_a_mean():
    found = numbers("c06-dice-have-a-mean")
    for n, (mean, deviation, dice) in zip((1, 2, 100), np.reshape(found, (3, 3)), strict=True):
        assert (mean, dice) == (3.5 * n, n)
        assert deviation == pytest.approx(math.sqrt(n * 35 / 12), rel=1e-3)


test_corrections = by_another_route(module.CORRECTIONS, globals())
