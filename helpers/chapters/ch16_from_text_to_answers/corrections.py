"""Misconceptions of chapter 16: what is said of adapters and preferences."""

import numpy as np

from helpers.corrections import corrects, number


@corrects(
    claim="Both matrices of LoRA begin at zero, so that it changes nothing at first.",
    says="“A and B are initialised with zeros.”",
    why="One of them is enough to make the product zero. If both are, neither has a gradient, and "
    "nothing is ever learned. So one of them begins at random (Hu et al. 2021).",
    section="Our GPT so far: LoRA",
)
def both_at_zero() -> str:
    """Norms of the gradients of both matrices, with b at zero, and with both."""
    x_C, a_RC, b_CR = np.ones(6), np.random.default_rng(0).standard_normal((2, 6)), np.zeros((4, 2))
    upstream_C = np.ones(4)  # the gradient of what comes out
    found = [
        (np.outer(b_CR.T @ upstream_C, x_C), np.outer(upstream_C, a @ x_C))
        for a in (a_RC, np.zeros_like(a_RC))
    ]
    one, both = (" and ".join(number(np.linalg.norm(g)) for g in grads) for grads in found)
    return (
        f"In a small layer, with only b at zero, the gradients of a and b have the norms {one}. "
        f"With both at zero they have the norms {both}."
    )


@corrects(
    claim="DPO makes the preferred answer more probable.",
    says="“The loss raises the likelihood of the chosen answer and lowers that of the rejected.”",
    why="The loss depends only on the difference of two log-ratios. It also falls where both "
    "answers become less probable, and the rejected one more so (Pal et al. 2024).",
    section="What does preference tuning do to a score, and to the answers?",
)
def only_the_difference_counts() -> str:
    """The loss before and after, where the preferred answer became less probable."""
    before, losses = np.array([-10.0, -10.0]), []  # log-probabilities: preferred, rejected
    for now in (before, np.array([-12.0, -20.0])):
        better, worse = now - before
        losses.append(number(np.log1p(np.exp(worse - better))))
    return (
        f"With β = 1 the loss falls from {losses[0]} to {losses[1]}, while the preferred answer "
        f"becomes {number(np.exp(2))} times less probable."
    )
