"""A misconception of chapter 16: what is said of preferences."""

import numpy as np

from helpers.corrections import corrects, number


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
