"""What the corrections of chapter 07 compute, found again by another route: torch's own attention
and modules where they use NumPy, closed forms and plain counting where they measure."""

import itertools
import math
import re
from collections import Counter

import pytest
import torch
from corrected import SHOWN, by_another_route, numbers, said
from torch import nn
from torch.nn import functional as F

from helpers import corpus, positions
from helpers.chapters.ch07_heads_masks_positions import corrections as module


def randn(*shape: int, seed: int = 1) -> torch.Tensor:
    """Other random numbers than the corrections draw."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layer(x: torch.Tensor, tables: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """One head of torch's own attention, added to its input."""
    return x + F.scaled_dot_product_attention(*(x @ table for table in tables), is_causal=causal)


# --------------------------------------------------------------------------------- heads


def the_output_projection():
    heads, width, without, with_it, share = numbers("c07-the-output-projection")
    theirs = nn.MultiheadAttention(int(heads * width), int(heads), bias=False).double()
    x = randn(5, 1, 512)
    for expected, projection in ((without, torch.eye(512)), (with_it, randn(512, 512))):
        reached = 0
        with torch.no_grad():
            theirs.out_proj.weight.copy_(projection)
            before = theirs(x, x, x)[0][0, 0, 0]
            for head in range(8):  # move the values of one head at a time
                rows = slice(1024 + 64 * head, 1024 + 64 * (head + 1))
                kept = theirs.in_proj_weight[rows].clone()
                theirs.in_proj_weight[rows] += randn(64, 512, seed=head)
                reached += bool((theirs(x, x, x)[0][0, 0, 0] - before).abs() > 1e-9)
                theirs.in_proj_weight[rows] = kept
        assert reached == expected
    sizes = {name: p.numel() for name, p in theirs.named_parameters()}
    assert share == 100 * sizes["out_proj.weight"] / sum(sizes.values())
    assert (without, with_it) == (1, 8)


# ------------------------------------------------------------------------- who reads whom


def a_token_reads_itself():
    *own, divisor = numbers("c07-a-token-reads-itself")
    weights = nn.MultiheadAttention(4, 1, bias=False)
    nn.init.zeros_(weights.in_proj_weight)
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    found = weights(*[torch.ones(4, 1, 4)] * 3, attn_mask=later)[1][0]
    assert own == pytest.approx(found.diagonal().tolist(), rel=SHOWN)
    assert own == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4], rel=SHOWN)
    assert divisor == 0
    strict = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu().bool(), -torch.inf)
    assert strict.softmax(dim=1)[0].isnan().all()
    assert not strict.softmax(dim=1)[1:].isnan().any()


def what_else_a_gpt_has():
    every, layers, tables, share, norms = (n for n in numbers("c07-what-else-a-gpt-has") if n != 2)
    with torch.device("meta"):
        block = nn.TransformerEncoderLayer(768, 12, 4 * 768)
        parts = nn.ModuleList([nn.Embedding(50257, 768), nn.Embedding(1024, 768)])
        final = nn.LayerNorm(768)
    counted = {name: p.numel() for name, p in block.named_parameters()}
    in_norms = sum(n for name, n in counted.items() if "norm" in name)
    assert norms == 12 * in_norms + sum(p.numel() for p in final.parameters())
    assert layers == 12 * (sum(counted.values()) - in_norms)
    assert tables == sum(p.numel() for p in parts.parameters())
    assert every == norms + layers + tables == 124_439_808  # as published
    assert share == pytest.approx(100 * tables / every, abs=0.05)
    assert share > 25


# ------------------------------------------------------------------------------- order


def order_from_the_mask():
    bag, once, twice = numbers("c07-order-from-the-mask")
    assert (bag, once) == (0, 0)
    x, tables = randn(6, 8), randn(2, 3, 8, 8, seed=2) / math.sqrt(8)
    for causal, layers, moves in ((False, 2, False), (True, 1, False), (True, 2, True)):
        ours, theirs = x, x[[1, 0, 2, 3, 4, 5]]
        for of_layer in tables[:layers]:
            ours, theirs = (layer(a, of_layer, causal=causal) for a in (ours, theirs))
        moved = float((ours[-1] - theirs[-1]).abs().max())
        assert moved > 0.01 if moves else moved < 1e-12
    assert twice > 0.01


def numbers_a_position_has():
    width, heads, sinusoidal, angles, slopes = numbers("c07-numbers-a-position-has")
    assert positions.sinusoidal(1, int(width)).shape[1] == sinusoidal == 64
    assert positions.Learned(1, int(width)).rows.weight.shape[1] == width
    assert positions.Rotary(int(width // heads)).frequencies.numel() == angles == 8
    assert positions.alibi_slopes(int(heads)).numel() == slopes == 4


def formulas_in_the_wrong_place():
    places, width, low, high, vectors, changed = numbers("c07-formulas-in-the-wrong-place")
    lengths = positions.sinusoidal(int(places), int(width)).norm(dim=1)
    assert lengths.tolist() == pytest.approx([math.sqrt(width / 2)] * 100, rel=1e-5)
    assert low == high == pytest.approx(math.sqrt(32), rel=SHOWN)
    x = randn(int(vectors), 8)
    rotary = positions.Rotary(8)
    turned = torch.cat([rotary(row[None], offset=7) for row in x.float()]).double()
    assert (torch.cdist(x, x) - torch.cdist(turned, turned)).abs().max() < 1e-5
    assert changed == 0
    # the identity, which is printed rightly: (R_p q)·(R_s k) = q·(R_(s−p) k)
    q, k = x[:1].float(), x[1:2].float()
    assert float(rotary(q, 3) @ rotary(k, 11).T) == pytest.approx(
        float(q @ rotary(k, 8).T), abs=1e-5
    )


# ------------------------------------------------------------------------------- writing


def the_likeliest_runs_in_circles():
    shown = said("c07-the-likeliest-runs-in-circles")
    path = re.search("“(.*)”", shown).group(1).replace("␣", " ")
    (length,) = numbers("c07-the-likeliest-runs-in-circles")
    text = corpus.load()
    for this, following in itertools.pairwise(path):
        seen = Counter(b for a, b in itertools.pairwise(text) if a == this)
        assert seen.most_common(1)[0][0] == following
    assert path[-1] == path[-1 - int(length)]
    assert len(set(path[:-1])) == len(path) - 1


def a_correction_is_appended():
    before, kept, whole = numbers("c07-a-correction-is-appended")
    assert module.CORRECTED_SPEECH.startswith(module.BEFORE_THE_CORRECTION)
    assert before == kept == len(module.BEFORE_THE_CORRECTION)
    assert whole == len(module.CORRECTED_SPEECH) > before


def what_the_mask_fixes():
    masked, unmasked = numbers("c07-what-the-mask-fixes")
    x, tables = randn(7, 8), randn(3, 8, 8, seed=2) / math.sqrt(8)
    for causal in (True, False):
        moved = layer(x, tables, causal=causal)[:6] - layer(x[:6], tables, causal=causal)
        assert moved.abs().max() < 1e-12 if causal else moved.abs().max() > 0.01
    assert masked == 0
    assert unmasked > 0.01


test_corrections = by_another_route(module.CORRECTIONS, globals())


def test_what_the_examples_print_rightly():
    """Eight heads of (5, 64) make (5, 512); the sinusoids as they are printed."""
    heads = [torch.zeros(module.TOKENS, module.HEAD_WIDTH)] * module.HEADS
    assert torch.cat(heads, dim=-1).shape == (5, 512)
    printed = torch.tensor(module._sinusoids(50, 16)).float()
    assert torch.allclose(printed, positions.sinusoidal(50, 16), atol=1e-5)
