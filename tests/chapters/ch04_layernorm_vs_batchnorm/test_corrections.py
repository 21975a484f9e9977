"""Each correction of chapter 04 is a regression test: what it computes is found again by another
route (torch's modules where it uses NumPy, exact fractions, a formula where it measures), and
differs from what is claimed by more than rounding."""

import math
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
import torch
from corrected import SHOWN, by_another_route, numbers, said
from torch import nn
from torch.nn import functional as F

from helpers.chapters.ch04_layernorm_vs_batchnorm import corrections as norms


def close(values, rel=SHOWN):
    """Compare with the values, to four digits."""
    return pytest.approx([float(v) for v in values], rel=rel, abs=1e-8)


def exact(*entries: str, ddof: int = 0) -> tuple[Fraction, Fraction, list[float]]:
    """Mean, variance and normalised entries of decimal numbers, the first two as fractions."""
    x = [Fraction(entry) for entry in entries]
    mean = sum(x) / len(x)
    variance = sum((v - mean) ** 2 for v in x) / (len(x) - ddof)
    return mean, variance, [float(v - mean) / math.sqrt(variance) for v in x]


# -------------------------------------------------------------------------- why one normalises


def shift_over_time():
    found = numbers("c04-shift-over-time")
    moved = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, y = (torch.tensor(rng.standard_normal((64, 16))) for _ in range(2))
        start = torch.tensor(rng.standard_normal((9, 16, 16)) / 4)
        stack = nn.Sequential()
        for w in start[:-1]:
            layer = nn.Linear(16, 16, bias=False, dtype=torch.float64)
            layer.weight.data = w.T.clone()
            norm = nn.LayerNorm(16, dtype=torch.float64, elementwise_affine=False)
            stack.extend([layer, nn.ReLU(), norm])
        last = nn.Parameter(start[-1].clone())
        before, optimizer = stack(x).detach(), torch.optim.SGD([*stack.parameters(), last], lr=0.5)
        first = ((before @ last - y) ** 2).mean().item()
        for _ in range(50):
            optimizer.zero_grad()
            loss = ((stack(x) @ last - y) ** 2).mean()
            loss.backward()
            optimizer.step()
        assert loss.item() < first - 0.5  # it does learn
        after = stack(x).detach()
        assert after.std(dim=1, correction=0).numpy() == pytest.approx(1, abs=0.01)
        shift = (after.mean(dim=0) - before.mean(dim=0)) / before.std(dim=0, correction=0)
        moved.append(shift.square().mean().sqrt().item())
    halving = math.sqrt(0.5) ** 8  # each ReLU keeps half of the mean square
    depth, size, low, high, steps, least, most, seeds = found
    assert (depth, size, steps, seeds) == (8, 1, 50, 5)
    assert halving / 3 < low < high < 3 * halving
    assert (least, most) == pytest.approx((min(moved), max(moved)), abs=0.006)
    assert least > 0.3


def rows_are_not_columns():
    found = np.reshape(numbers("c04-rows-are-not-columns"), (3, 3, 2))
    houses, by_column, by_row = found
    x = torch.tensor(houses)
    np.testing.assert_allclose(by_column, F.batch_norm(x, None, None, training=True), atol=0.0051)
    np.testing.assert_allclose(by_row, F.layer_norm(x, (2,)), atol=0.0051)
    assert (by_row == by_row[0]).all()
    assert len(np.unique(by_column[:, 0])) == 3


# ------------------------------------------------------------------------------ axis by axis


def one_feature_vanishes():
    assert numbers("c04-one-feature-vanishes") == [150, 180, 120, 0, 0, 0]
    assert not nn.LayerNorm(1)(torch.tensor([[150.0], [180.0], [120.0]])).any()


# ------------------------------------------------------------------- what a norm divides by


def three_numbers_normalised():
    r = math.sqrt(1.5)
    found = numbers("c04-three-numbers-normalised")
    assert found[:9] == close([0, r, -r, -r, 0, r, -r, r, 0])
    assert found[9] == 1
    assert found[10] == pytest.approx(2 / 3, rel=SHOWN)
    assert (found[12], found[14]) == (3, 8)
    assert found[11] == pytest.approx(100 * (math.sqrt(3 / 2) - 1), abs=0.06)
    assert found[13] == pytest.approx(100 * (math.sqrt(8 / 7) - 1), abs=0.06)
    with_n = nn.LayerNorm(3)(torch.tensor([[100.0, 110, 90], [8, 10, 12], [2, 4, 3]]))
    np.testing.assert_allclose(found[:9], with_n.detach().flatten(), atol=1e-3)
    x = torch.tensor([8.0, 10.0, 12.0])
    assert ((x - x.mean()) / x.std()).tolist() == [-1, 0, 1]  # what is claimed has n − 1


def eps_outside_the_root():
    power, width, entry, own, torchs, zeros, steep_own, steep_torchs = numbers(
        "c04-eps-outside-the-root"
    )
    assert (power, width, zeros, entry) == (10, 8, 8, 0.0001)
    assert own == pytest.approx(1e-4 / (1e-4 * math.sqrt(8 / 7) + 1e-5), rel=SHOWN)
    assert torchs == pytest.approx(1e-4 / math.sqrt(1e-8 + 1e-5), rel=SHOWN)
    assert steep_own == pytest.approx(7 / 8 / 1e-5, rel=SHOWN)
    assert steep_torchs == pytest.approx(7 / 8 / math.sqrt(1e-5), rel=SHOWN)
    assert 300 < steep_own / steep_torchs < 330


def gamma_and_beta_come_after():
    gamma, beta, width, mean, deviation, *small, power = numbers("c04-gamma-and-beta-come-after")
    assert (width, mean, deviation) == (8, beta, gamma) == (8, 1, 2)
    assert (small[:2], power) == ([0.001, 0], 10)
    assert small[2:] == close([s / math.sqrt(s**2 + 1e-5) for s in small[:2]])
    assert small[2] < 0.5


# -------------------------------------------------------------------- worked examples by hand


def variance_of_the_third_feature():
    _, variance, entries = exact("-1", "0.5", "1.5")
    assert numbers("c04-variance-of-the-third-feature") == close([variance, *entries])
    assert variance == Fraction(19, 18)
    assert abs(float(variance) - 1.11) > 0.05
    assert min(abs(entries[0] + 1.26), abs(entries[2] - 1.10)) > 0.03
    assert entries[1] == pytest.approx(0.16, abs=0.005)  # this one is printed rightly


def values_beyond_one():
    *column, least, n, low, high, seeds, same, spike = numbers("c04-values-beyond-one")
    assert (column, n, seeds, same) == ([4.1, 3.7, 4.2], 512, 5, 511)
    assert least == pytest.approx(-3 / math.sqrt(14 / 3), rel=SHOWN)
    share = 100 * 2 * NormalDist().cdf(-1)
    assert share - 5 < low <= high < share + 5
    assert spike == pytest.approx(math.sqrt(511), rel=SHOWN)


def the_word_three_five_two():
    mean, _, entries = exact("3", "5", "2")
    with_less = exact("3", "5", "2", ddof=1)[2]
    found = numbers("c04-the-word-three-five-two")
    assert found[:4] == close([mean, *entries])
    assert found[5:] == close(with_less)
    for given in (entries, with_less):
        assert np.abs(np.array(given) - [0.2, 1.2, -1.4]).max() > 0.3
        assert given[0] < 0
        assert abs(given[1]) > abs(given[2])


def the_word_of_eight():
    mean, variance, entries = exact(*(str(x) for x in norms.WORD))
    found = numbers("c04-the-word-of-eight")
    assert found[:2] == close([mean, math.sqrt(variance)])
    assert found[2:10] == [round(x, 2) for x in entries]
    assert found[10] == 1.34 == float(sum(Decimal(str(x)) for x in norms.WORD_PRINTED))
    assert (norms.WORD_PRINTED - entries > 0.1).all()  # every entry too high
    by_print = (norms.WORD - 3.0) / 0.15  # where the printed ones come from
    assert np.abs(norms.WORD_PRINTED - by_print).max() < 0.01


def one_line_through_a_vector():
    found = numbers("c04-one-line-through-a-vector")
    assert found[:2] == [-3.2, 0]
    assert (found[2], found[5]) == pytest.approx(((0.5 - 0.1) / 3.2, (0.2 + 0.1) / 3.2))
    assert found[2] > found[5]
    # Nor does any line come within rounding of all five: the best largest miss is above 0.05.
    misses = [
        (lambda off: np.ptp(off) / 2)(norms.CAT_PRINTED_AFTER - slope * norms.CAT_BEFORE)
        for slope in np.linspace(0, 0.5, 5001)
    ]
    assert min(misses) > 0.051


def shape_stays():
    found = numbers("c04-shape-stays")
    deviations = [Fraction(x - 3) for x in (1, 1, 1, 1, 11)]
    square, cube = (sum(d**k for d in deviations) / 5 for k in (2, 3))
    assert found[:5] == [1, 1, 1, 1, 11]
    assert found[5:10] == [float(d) / math.sqrt(square) for d in deviations]
    assert found[10:] == [float(cube) / math.sqrt(square) ** 3] * 2 == [1.5, 1.5]


def nothing_to_see():
    _, low, high, least, most, moved, seeds = numbers("c04-nothing-to-see")
    x = torch.tensor([np.random.default_rng(s).standard_normal(512).tolist() for s in range(5)])
    assert seeds == 5
    means = x.mean(dim=1).tolist()
    assert (low, high) == pytest.approx((min(means), max(means)), abs=0.001)
    assert max(-low, high) < 4 / math.sqrt(512)
    assert 1 - 4 / math.sqrt(1024) < least <= most < 1 + 4 / math.sqrt(1024)
    assert moved == pytest.approx(float((F.layer_norm(x, (512,)) - x).abs().max()), abs=0.001)


# -------------------------------------------------------------------------- γ and β, and undoing


def gamma_and_beta_undo():
    found = numbers("c04-gamma-and-beta-undo")
    assert found[:6] == [3, 5, 2, 9, 13, 7]
    assert (found[6], found[-1]) == (0, 0)
    pair = torch.tensor([found[:3], found[3:6]], dtype=torch.float64)
    a, b = nn.LayerNorm(3, eps=1e-15, dtype=torch.float64)(pair)
    torch.testing.assert_close(a, b)
    x = torch.tensor(norms.TABLE)
    norm = nn.BatchNorm1d(3, dtype=torch.float64)
    norm.weight.data = (x.var(dim=0, correction=0) + norm.eps).sqrt()
    norm.bias.data = x.mean(dim=0)
    torch.testing.assert_close(norm(x), x)
    assert (norm(2 * x) - 2 * x).abs().max() > 1  # for this batch only
    torch.testing.assert_close(norm(2 * x + 1), x, atol=1e-4, rtol=0)


# --------------------------------------------------------------------- batches, padding, and use


def without_padding_it_still_leaks():
    found = numbers("c04-without-padding-it-still-leaks")
    plain, masked, leak = found[4], found[5], found[7]
    x = torch.tensor(np.random.default_rng(0).standard_normal((2, 3, 4)) + 1).view(6, 4)
    norm = nn.BatchNorm1d(4, eps=1e-15, dtype=torch.float64)
    real, quiet, loud, later = x[:5], x.clone(), x.clone(), x[:5].clone()
    quiet[5], loud[5] = 0, 5
    later[2] += 1
    with torch.no_grad():
        by_padding = (norm(loud)[:5] - norm(quiet)[:5]).abs().max().item()
        by_later = (norm(later)[0] - norm(real)[0]).abs().max().item()
    assert plain == pytest.approx(by_padding, rel=1e-3)
    assert leak == pytest.approx(by_later, rel=SHOWN)
    assert masked == 0
    assert min(plain, leak) > 0.3


def padding_needs_a_mask():
    norm, free, masked, low, high = numbers("c04-padding-needs-a-mask")
    x, other = torch.tensor(np.random.default_rng(0).standard_normal((2, 4, 8)))
    layer = nn.LayerNorm(8, dtype=torch.float64)
    with torch.no_grad():
        h, g = layer(x), layer(torch.cat([x[:3], other[3:]]))
        zeros = layer(torch.cat([x[:3], torch.zeros(1, 8)]))
    assert (norm, masked) == (0, 0)
    attend = F.scaled_dot_product_attention
    moved = (attend(h, h, h) - attend(g, g, g))[:3].abs().max().item()
    assert free == pytest.approx(moved, rel=SHOWN)
    assert free > 0.05
    mask = torch.tensor([True, True, True, False])
    torch.testing.assert_close(*(attend(t, t, t, attn_mask=mask)[:3] for t in (h, g)))
    assert not zeros[3].any()
    last = torch.eye(4, dtype=torch.float64)[:, 3:]  # a value of 1 for the padding alone
    shares = 100 * attend(zeros, zeros, last)[:3]
    assert (low, high) == pytest.approx((shares.min().item(), shares.max().item()), rel=SHOWN)
    assert low > 1


def one_sample_can_do():
    features, positions, variance, in_training, in_evaluation = numbers("c04-one-sample-can-do")
    text = said("c04-one-sample-can-do")
    assert "refuses one sample" in text
    x = torch.tensor(np.random.default_rng(0).standard_normal((3, 4, 5)))
    assert (features, positions, variance, in_evaluation) == (4, 5, 1, 0)
    together = (x - x.mean(dim=(0, 2), keepdim=True)) / x.std(
        dim=(0, 2), correction=0, keepdim=True
    )
    alone = (x - x.mean(dim=2, keepdim=True)) / x.std(dim=2, correction=0, keepdim=True)
    assert in_training == pytest.approx((together[0] - alone[0]).abs().max().item(), rel=1e-3)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.BatchNorm1d(4)(torch.ones(1, 4))


def rms_norm_in_its_place():
    found = numbers("c04-rms-norm-in-its-place")
    root = math.sqrt(7.5)
    assert found[:4] == close([k / root for k in (1, 2, 3, 4)])
    assert found[8] == pytest.approx(2.5 / root, rel=SHOWN)
    assert found[9:13] == close([k / math.sqrt(5) for k in (-3, -1, 1, 3)])
    assert found[13] == 0


test_corrections = by_another_route(norms.CORRECTIONS, globals())
