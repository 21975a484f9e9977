"""What the corrections of chapter 10 compute, found again by another route: draws where they use
a formula, closed forms where they draw."""

import math
import re

import pytest
import torch
from corrected import SHOWN, by_another_route, numbers, said
from torch import nn

from helpers.chapters.ch10_initialisation import corrections as module


def xavier(outputs: int, inputs: int) -> torch.Tensor:
    """A matrix drawn by torch's own Xavier rule."""
    generator = torch.Generator().manual_seed(7)
    return nn.init.xavier_uniform_(torch.empty(outputs, inputs), generator=generator)


def xavier_is_another_recipe():
    *found, gpt = numbers("c10-xavier-is-another-recipe")
    triples = [found[i : i + 3] for i in (0, 3, 6)]
    assert [(i, o) for _, i, o in triples] == [(768, 768), (768, 3072), (64, 64)]
    for std, inputs, outputs in triples:
        assert std == pytest.approx(xavier(int(outputs), int(inputs)).std().item(), rel=0.02)
        assert std > 1.1 * gpt
    assert gpt == 0.02


def scaling_drowns_the_positions():
    C, plain, _, factor, original, _ = numbers("c10-scaling-drowns-the-positions")
    assert C == 768
    assert plain == pytest.approx(50, rel=0.01)
    assert factor == pytest.approx(100 / (768 + 1), rel=0.01)
    half = 0.5  # the mean of sin² and cos²
    assert original == pytest.approx(100 * half / (1 + half), rel=0.01)


def tied_and_drawn_twice():
    V, C, last, first, rule, _, _, large = numbers("c10-tied-and-drawn-twice")
    assert (V, C) == (65, 384)
    assert last == pytest.approx(xavier(65, 384).std().item(), rel=0.01)
    assert first == pytest.approx(0.02, rel=0.02)
    assert rule == pytest.approx(math.sqrt(6 / (65 + 384)) / math.sqrt(3), rel=SHOWN)
    assert large == pytest.approx(math.sqrt(6 / (50257 + 768)) / math.sqrt(3), rel=SHOWN)
    assert last > 3 * first > 9 * large
    for head_last in (True, False):
        model = module._Tied(5, 3, head_last=head_last)
        assert model.embedding.weight is model.head.weight
        assert [name for name, _ in model.named_children()][-1] == ("embedding", "head")[head_last]
        # torch lists one parameter, and yet walks through two modules that hold it
        assert len(list(model.parameters())) == 1
        assert sum(hasattr(part, "weight") for part in model.modules()) == 2


def what_the_hook_passes_over():
    _, share, held, _, _, rule = numbers("c10-what-the-hook-passes-over")
    shown = said("c10-what-the-hook-passes-over")
    assert re.findall(r"`(in_proj_\w+)`", shown) == ["in_proj_weight", "in_proj_bias"]
    assert share == 100 * (3 * 64 * 64 + 3 * 64) / (4 * 64 * 64 + 4 * 64) == 75
    assert held == pytest.approx(xavier(3 * 64, 64).std().item(), rel=0.02)  # three in one
    assert rule == pytest.approx(xavier(64, 64).std().item(), rel=0.02)
    assert held < 0.75 * rule
    linear = [m for m in nn.MultiheadAttention(64, 4).modules() if isinstance(m, nn.Linear)]
    assert len(linear) == 1  # the output projection

    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = nn.Parameter(torch.full((4, 2), 7.0))

    bare = Bare()
    module._hook(bare)
    assert bool((bare.positions == 7).all())


def mixed_precision_keeps_fp32():
    shown = said("c10-mixed-precision-keeps-fp32")
    assert re.findall(r"\b(float32|bfloat16)\b", shown) == [
        "bfloat16",
        "float32",
        "float32",
        "float32",
        "bfloat16",
        "bfloat16",
    ]
    std, share, step = numbers("c10-mixed-precision-keeps-fp32")
    assert (std, step) == (0.02, pytest.approx(1e-5))
    # bfloat16 has 8 significant bits: between 2ᵉ and 2ᵉ⁺¹ its numbers are 2ᵉ⁻⁷ apart, and a step
    # of less than half of that is lost.
    lost_from = 2.0 ** math.ceil(math.log2(step) + 8)
    assert share == pytest.approx(100 * math.erfc(lost_from / std / math.sqrt(2)), abs=1.5)
    weights = nn.Embedding(2, 2)
    optimizer_sees = []
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (weights(torch.arange(2)) @ torch.ones(2, 2)).sum().backward()
        optimizer_sees += [weights.weight.dtype, weights.weight.grad.dtype]
    assert optimizer_sees == [torch.float32] * 2


test_corrections = by_another_route(module.CORRECTIONS, globals())


def test_the_hook_does_what_it_says_where_nothing_is_in_its_way():
    with module._seeded(0):
        parts = nn.ModuleList([nn.Embedding(500, 60), nn.Linear(60, 240), nn.LayerNorm(60)])
        nn.init.constant_(parts[2].bias, 3.0)
        module._hook(parts)
    assert parts[0].weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert parts[1].weight.abs().max().item() == pytest.approx(math.sqrt(6 / 300), rel=0.01)
    assert not parts[1].bias.any()
    assert not parts[2].bias.any()


def test_seeded_draws_leave_the_global_generator_alone():
    before = torch.get_rng_state()
    with module._seeded(3):
        one = torch.rand(2)
    with module._seeded(3):
        two = torch.rand(2)
    assert torch.equal(one, two)
    assert torch.equal(torch.get_rng_state(), before)
