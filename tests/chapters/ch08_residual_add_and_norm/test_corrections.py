"""What the corrections of chapter 08 compute, found again by another route: exact fractions and
torch's own layers where they use NumPy or a block of ours."""

import math
from fractions import Fraction

import pytest
import torch
from corrected import SHOWN, by_another_route, numbers
from torch import nn
from torch.nn import functional as F

from helpers.chapters.ch08_residual_add_and_norm import corrections as module


def exact_spread(values: list[str]) -> tuple[Fraction, Fraction]:
    """Mean and variance of decimals, in exact fractions."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return mean, sum((value - mean) ** 2 for value in exact) / len(exact)


def layer_norm(*values: float) -> torch.Tensor:
    """Torch's own layer norm of one vector, without an ε."""
    return F.layer_norm(torch.tensor(values, dtype=torch.float64), (len(values),), eps=0.0)


def torch_layer(width: int, heads: int = 1, **options) -> nn.TransformerEncoderLayer:
    """Torch's own layer, in float64 and with nothing in it yet; in training mode, no dropout."""
    layer = nn.TransformerEncoderLayer(
        width, heads, 4 * width, 0.0, batch_first=True, device="meta", **options
    )
    return layer.to_empty(device="cpu").double()


# --------------------------------------------------------------------------- the worked example


def normalised_after_attention():
    variance, deviation, *found = numbers("c08-normalised-after-attention")
    right, squares, divided, printed_variance = found[:3], found[3], found[4:7], found[7]
    _, exact = exact_spread(["1.5", "3.5", "-1.5"])
    assert exact == Fraction(38, 9)
    assert (variance, deviation) == pytest.approx((38 / 9, math.sqrt(38) / 3), rel=SHOWN)
    assert abs(variance - 4.89) > 0.6
    assert abs(deviation - 2.21) > 0.15
    of_print = (Fraction("0.11") + Fraction("5.43") + Fraction("7.13")) / 3
    assert squares == pytest.approx(float(of_print), rel=SHOWN)
    assert right == pytest.approx(layer_norm(1.5, 3.5, -1.5).tolist(), rel=SHOWN)
    assert right == pytest.approx([x / math.sqrt(38) for x in (1, 7, -8)], rel=SHOWN)
    _, exact = exact_spread(["0.15", "1.06", "-1.19"])
    assert printed_variance == pytest.approx(float(exact), rel=SHOWN)
    assert divided == pytest.approx([0.33 / 2.21, 2.33 / 2.21, -2.67 / 2.21], rel=SHOWN)
    printed = (0.15, 1.06, -1.19)
    off = [abs(a - b) > 0.005 for a, b in zip(divided, printed, strict=True)]
    assert off == [False, True, True]  # two of the three divisions, and more than rounding
    assert all(abs(a) > abs(b) for a, b in zip(right, printed, strict=True))


def output_of_add_and_norm():
    variance, deviation, *found = numbers("c08-output-of-add-and-norm")
    of_printed, through, printed_variance = found[:3], found[3:6], found[6]
    _, exact = exact_spread(["0.40", "1.86", "-2.19"])
    assert (variance, deviation) == pytest.approx((float(exact), math.sqrt(exact)), rel=SHOWN)
    assert of_printed == pytest.approx(layer_norm(0.40, 1.86, -2.19).tolist(), rel=SHOWN)
    second = layer_norm(1.5, 3.5, -1.5) + torch.tensor([0.25, 0.80, -1.0]).double()
    assert through == pytest.approx(layer_norm(*second.tolist()).tolist(), rel=SHOWN)
    _, exact = exact_spread(["0.26", "1.25", "-1.50"])
    assert printed_variance == pytest.approx(float(exact), rel=SHOWN)
    assert variance - 2.15 > 0.6
    assert printed_variance - 1 > 0.25
    # the error of the step before hardly shows
    assert max(abs(a - b) for a, b in zip(of_printed, through, strict=True)) < 0.002


# --------------------------------------------------------------------------------- the residual


def the_sum_is_all_there_is():
    found = numbers("c08-the-sum-is-all-there-is")
    tenths = [15, 20, -5], [8, 12, -1]
    assert found[:6] == [x / 10 for x in tenths[0] + tenths[1]]
    assert found[6:9] == [(x + y) / 10 for x, y in zip(*tenths, strict=True)] == [2.3, 3.2, -0.6]
    assert found[9:] == [0, 0]
    undoing = nn.Linear(3, 3, bias=False, dtype=torch.float64)
    with torch.no_grad():
        undoing.weight.copy_(-torch.eye(3))
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.equal(x + undoing(x), torch.zeros(5, 3, dtype=torch.float64))


@torch.no_grad()
def torch_sizes(seed: int, placement: str) -> tuple[float, float]:
    """Size of the stream after 12 and 48 of torch's own layers with random matrices."""
    generator = torch.Generator().manual_seed(seed)
    layer = torch_layer(16, norm_first=placement != "post")
    if placement == "none":
        layer.norm1 = layer.norm2 = nn.Identity()
    x = torch.randn(1, 8, 16, generator=generator, dtype=torch.float64)
    x, sizes = F.layer_norm(x, (16,)), []
    for _ in range(48):
        for name, parameter in layer.named_parameters():
            if parameter.ndim == 2:
                narrow = "in_proj" in name or "out_proj" in name
                std = (2 / (32 if narrow else 80)) ** 0.5
                nn.init.normal_(parameter, std=std, generator=generator)
            else:
                parameter.fill_(float("norm" in name and "weight" in name))
        x = layer(x)
        sizes.append(x.square().mean().sqrt().item())
    return sizes[11], sizes[47]


def the_stream_grows():
    found = numbers("c08-the-stream-grows")
    start, pre12, _, low, high, _, post12, _, post48, _, none12, _, least, most, _ = found
    assert start == 1
    assert post12 == post48 == 1  # the mean square of a normalised vector
    runs = torch.tensor([torch_sizes(seed, "pre") for seed in range(10, 14)]).median(dim=0).values
    assert pre12 == pytest.approx(float(runs[0]), rel=0.2)
    assert low * 0.8 < float(runs[1]) < high * 1.2
    assert 2 < pre12 < low < high < 48
    assert high / 1 < least / 1e6
    unnormed = [torch_sizes(seed, "none") for seed in range(10, 14)]
    middle = torch.tensor(unnormed).log10().median(dim=0).values
    assert math.log10(none12) == pytest.approx(float(middle[0]), abs=0.6)
    assert math.log10(least) - 1.5 < float(middle[1]) < math.log10(most) + 1.5
    assert torch_sizes(10, "post") == pytest.approx((1, 1), abs=1e-3)


# ---------------------------------------------------------------------------- what is not linear


def second_difference(layer, a: torch.Tensor, b: torch.Tensor) -> float:
    """How far f(a + b) - f(a) - f(b) + f(0) is from 0, in per cent of f(a + b)."""
    with torch.no_grad():
        difference = layer(a + b) - layer(a) - layer(b) + layer(torch.zeros_like(a))
        return 100 * float(difference.norm() / layer(a + b).norm())


def products_without_activation():
    least, most, linear, grown = numbers("c08-products-without-activation")[1:]  # after f(0)
    assert linear == 0
    assert grown == 2 * 2 * 2  # q, k and v each twice as long
    found, alone = [], []
    for seed in range(5):
        generator, block = (
            torch.Generator().manual_seed(seed),
            module._block(8, norm="none", activation="none", causal=False),
        )
        module._fill(block, generator)
        layer = torch_layer(8, activation=nn.Identity())
        layer.norm1 = layer.norm2 = nn.Identity()
        drawn = list(block.parameters())
        with torch.no_grad():
            for mine, theirs in zip(layer.parameters(), drawn, strict=True):
                mine.copy_(theirs)
        a, b = torch.randn(2, 1, 6, 8, generator=generator, dtype=torch.float64)
        found.append(second_difference(layer, a, b))
        alone.append(second_difference(layer, a[:, :1], b[:, :1]))
    assert (least, most) == pytest.approx((min(found), max(found)), rel=SHOWN)
    assert least > 5
    assert max(alone) < 1e-10  # one token by itself meets no bend


test_corrections = by_another_route(module.CORRECTIONS, globals())


def test_what_the_examples_print_rightly():
    """The additions and the means, which no correction lists."""
    assert (module.RESIDUAL_X + module.RESIDUAL_Y).tolist() == pytest.approx([2.3, 3.2, -0.6])
    first = module.ADD_NORM_X + module.ADD_NORM_Y1
    assert first.tolist() == [1.5, 3.5, -1.5]
    assert first.mean() == pytest.approx(module.ADD_NORM_PRINTED_MEAN, abs=0.005)
    second = module.ADD_NORM_PRINTED_X2 + module.ADD_NORM_Y2
    assert second.tolist() == pytest.approx([0.40, 1.86, -2.19])
    assert second.mean() == pytest.approx(0.023, abs=0.0005)
