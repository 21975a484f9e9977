"""What the corrections of chapter 09 compute, found again by another route: torch's own layers,
exact fractions, other draws."""

from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from corrected import SHOWN, by_another_route, numbers
from torch import nn

from helpers.chapters.ch09_prenorm_vs_postnorm import corrections as module


def layer_norm(*values: float) -> list[float]:
    """Torch's own layer norm of one vector, without an ε."""
    return F.layer_norm(torch.tensor(values).double(), (len(values),), eps=0.0).tolist()


def torch_stack(order: str, depth: int, seed: int) -> tuple[torch.Tensor, nn.ModuleList]:
    """Torch's own layers with Xavier's matrices, and tokens of size 1 for them."""
    generator = torch.Generator().manual_seed(seed)
    layers = nn.ModuleList(
        nn.TransformerEncoderLayer(
            16, 1, 64, 0.0, batch_first=True, norm_first=order == "pre", device="meta"
        )
        for _ in range(depth)
    )
    layers = layers.to_empty(device="cpu").double()
    with torch.no_grad():
        for name, p in layers.named_parameters():
            if p.ndim == 1:
                p.fill_(float("norm" in name and "weight" in name))
            else:
                for part in p.chunk(3) if "in_proj" in name else [p]:
                    nn.init.xavier_uniform_(part, generator=generator)
    return torch.randn(1, 8, 16, generator=generator, dtype=torch.float64), layers


def causal(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """One layer of torch's with the causal mask."""
    mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
    return layer(x, src_mask=mask, is_causal=True)


def first_gradient(order: str, depth: int, seed: int, *, last_norm: bool) -> tuple[float, float]:
    """Length of the gradient of all matrices of the first layer, and of the last."""
    x, layers = torch_stack(order, depth, seed)
    generator = torch.Generator().manual_seed(100 + seed)
    for layer in layers:
        x = causal(layer, x)
    x = F.layer_norm(x, (16,)) if last_norm else x
    (x * torch.randn(x.shape, generator=generator, dtype=x.dtype)).sum().backward()
    grads = [
        torch.cat([p.grad.flatten() for p in layers[at].parameters() if p.ndim > 1]).norm().item()
        for at in (0, -1)
    ]
    return grads[0], grads[1]


def median(values: list[float]) -> float:
    return torch.tensor(values).median().item()


# --------------------------------------------------------------------------- the worked example


def normed_before_the_sublayer():
    *right, divided = numbers("c09-normed-before-the-sublayer")
    assert right == pytest.approx(layer_norm(1.0, 2.0, -1.0), rel=SHOWN)
    assert divided == pytest.approx(float(Fraction(-167, 125)), rel=SHOWN)
    printed = [0.27, 1.07, -1.33]
    off = [abs(a - b) > 0.005 for a, b in zip(right, printed, strict=True)]
    assert off == [False, False, True]


def the_sum_is_normed():
    *given, variance = numbers("c09-the-sum-is-normed")
    x, y, of_sum, of_answer = (given[i : i + 3] for i in (0, 3, 6, 9))
    assert (x, y) == ([1, 2, -1], [0.5, 1.5, -0.5])
    assert of_sum == pytest.approx(layer_norm(1.5, 3.5, -1.5), rel=SHOWN)
    answer = [a + b for a, b in zip(x, layer_norm(*y), strict=True)]
    assert of_answer == pytest.approx(answer, rel=SHOWN)
    assert variance == pytest.approx(
        torch.tensor(answer).double().var(correction=0).item(), rel=SHOWN
    )
    assert abs(variance - 1) > 3
    torchs = nn.TransformerEncoderLayer(4, 1)  # torch's default is post-norm: the sum is normed
    assert not torchs.norm_first


# ------------------------------------------------------------------------------------- what is read


def what_is_read():
    size, blocks, first_post, n, others_post, first_pre, _, others_pre = numbers("c09-what-is-read")
    assert (size, blocks, n) == (3, 6, 11)
    assert first_post == 3
    assert first_pre == others_post == others_pre == 1
    for order in ("post", "pre"):
        read = sizes_read(order)
        assert len(read) == 12
        assert read[1:] == pytest.approx([1] * 11, abs=1e-3)
        assert read[0] == pytest.approx(3 if order == "post" else 1, rel=0.15)


def sizes_read(order: str) -> list[float]:
    """Size of what attention and the network of each of torch's layers read."""
    (x, layers), read = torch_stack(order, 6, 50), []

    def note(_, given, kwargs):
        reads = given[0] if given else kwargs["query"]
        read.append(reads.square().mean().sqrt().item())

    for layer in layers:
        for part in (layer.self_attn, layer.linear1):
            part.register_forward_pre_hook(note, with_kwargs=True)
    x = 3 * x
    for layer in layers:
        x = causal(layer, x)
    return read


def a_loud_answer():
    *given, post, pre = numbers("c09-a-loud-answer")
    assert given == [1, 2, -1, 100, 0.5, 1.5, -0.5]
    assert post == 1
    assert pre == pytest.approx(((51**2 + 152**2 + 51**2) / 3) ** 0.5, rel=SHOWN)


# -------------------------------------------------------------------------------------- gradients


def the_last_norm_divides():
    shallow, blocks, low, high, least, most = numbers("c09-the-last-norm-divides")
    assert (shallow, blocks) == (2, 24)
    grown = {
        last_norm: median(
            [
                first_gradient("pre", 24, seed, last_norm=last_norm)[0]
                / first_gradient("pre", 2, seed, last_norm=last_norm)[0]
                for seed in range(10, 13)
            ]
        )
        for last_norm in (False, True)
    }
    assert low / 1.5 < grown[False] < 1.5 * high
    assert least / 1.5 < grown[True] < 1.5 * most
    assert grown[False] > 1.5 * grown[True]
    assert low > 1.2 * most


test_corrections = by_another_route(module.CORRECTIONS, globals())


def test_what_the_example_prints_rightly():
    """Mean, variance and deviation of the pre-norm example, which no correction lists."""
    entries = [Fraction(1), Fraction(2), Fraction(-1)]
    mean = sum(entries) / 3
    variance = sum((x - mean) ** 2 for x in entries) / 3
    assert (mean, variance) == (Fraction(2, 3), Fraction(14, 9))
    assert float(variance) == pytest.approx(1.56, abs=0.005)
    assert float(variance) ** 0.5 == pytest.approx(1.25, abs=0.005)
