"""Corrections for chapter 16: what is said of adapters, masks and preferences."""

import numpy as np
import torch
import torch.nn.functional as F

from helpers.corrections import corrects, number
from helpers.minillama import LoRA

WIDTH, RANK = 4096, 8
"""Of a query projection in Llama 3 8B, and a usual rank."""

BEFORE, AFTER = (-10.0, -10.0), (-12.0, -20.0)
"""Log-probabilities of the better and of the worse answer, before and after preference tuning."""


@corrects(
    claim="A model fine-tuned by LoRA is smaller, so it answers faster.",
    says="LoRA is recommended for making inference cheaper.",
    why="The frozen weights are all still used. An adapter beside its layer adds work; merged into "
    "it, it adds none (Hu et al. 2021). What LoRA saves is memory in training, and storage.",
)
def work_of_an_adapter() -> str:
    """Multiplications for a token, of one layer."""
    layer, beside = WIDTH * WIDTH, RANK * (WIDTH + WIDTH)
    return (
        f"A layer of {WIDTH:,} by {WIDTH:,} multiplies {layer:,} times a token. With an adapter "
        f"of rank {RANK} beside it that is {number(100 * beside / layer)} % more, and merged it is "
        f"{layer:,} again."
    )


@corrects(
    claim="Both matrices of a LoRA begin at zero, so that it changes nothing at first.",
    says="“A and B are initialised with zeros.”",
    why="If one of them is zero, the product is. If both are, neither has a gradient, and nothing "
    "is ever learned. Hu et al. (2021) start one of them at random.",
)
def both_at_zero() -> str:
    """The gradients of both matrices, with b at zero, and with both."""
    found = []
    for both in (False, True):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            layer = LoRA(torch.nn.Linear(6, 4, bias=False).double(), 2, 2)
            if both:
                torch.nn.init.zeros_(layer.a)
            layer(torch.ones(1, 6, dtype=torch.float64)).square().sum().backward()
        found.append([float(torch.linalg.norm(p.grad)) for p in (layer.a, layer.b)])
    (a_1, b_1), (a_2, b_2) = found
    return (
        f"With only b at zero, the gradients of a and b have the norms {number(a_1)} and "
        f"{number(b_1)}. With both at zero they have {number(a_2)} and {number(b_2)}."
    )


@corrects(
    claim="DPO makes the preferred answer more probable.",
    says="The loss is said to raise the likelihood of chosen answers.",
    why="The loss depends only on the difference of two log-ratios. It falls, too, where both "
    "answers become less probable and the rejected one more so (Pal et al. 2024).",
)
def only_the_difference_counts() -> str:
    """The loss before and after, where the preferred answer became less probable."""
    losses = []
    for better, worse in (BEFORE, AFTER):
        gap = (better - BEFORE[0]) - (worse - BEFORE[1])
        losses.append(np.log1p(np.exp(-gap)))
    return (
        f"With β = 1 the loss falls from {number(losses[0])} to {number(losses[1])} while the "
        f"preferred answer becomes {number(np.exp(BEFORE[0] - AFTER[0]))} times less probable."
    )


@corrects(
    claim="Tokens with the target −100 are ignored by the model.",
    says="“Set the labels of the prompt to −100 so that the model ignores it.”",
    why="The loss ignores the prediction made of them. The model reads them as ever, and gradients "
    "reach them through attention: the answer depends on the question.",
)
def masked_tokens_are_read() -> str:
    """The gradient at two tokens, of which only the second has a target."""
    x_BTC = torch.tensor([[[1.0, 2.0], [0.5, -1.0]]], dtype=torch.float64, requires_grad=True)
    mixed = F.scaled_dot_product_attention(x_BTC, x_BTC, x_BTC, is_causal=True)
    loss = F.cross_entropy(mixed[0], torch.tensor([-100, 1]))
    [grad_BTC] = torch.autograd.grad(loss, x_BTC)
    masked, counted = grad_BTC[0].norm(dim=-1).tolist()
    return (
        f"In a small example the gradient at the masked token has the norm {number(masked)}, and "
        f"at the counted one {number(counted)}."
    )
