"""A misconception of chapter 17: what is said of a reward."""

import numpy as np

from helpers.corrections import corrects, vector


def _push(p: list[float], drawn: list[int], advantages: np.ndarray) -> np.ndarray:
    """What REINFORCE adds to each logit of a softmax, at the learning rate 1."""
    apart = np.eye(len(p))[drawn] - p
    return advantages @ apart / len(drawn)


@corrects(
    claim="A reward of 0 is a punishment: it makes a wrong answer less probable.",
    says="“The model gets 1 for right and 0 for wrong, so wrong answers are pushed down.”",
    why="An answer's push is multiplied by its reward. With 0 there is none, and a wrong answer "
    "loses only what right ones gain. Only once a baseline is subtracted, as the mean of a group, "
    "does 0 become a negative advantage.",
    section="How can a reward change a probability?",
)
def zero_is_no_punishment() -> str:
    """The push on two logits by a wrong answer, without a baseline and with one."""
    reward = np.array([0.0])
    bare, against = (vector(_push([0.5, 0.5], [0], reward - mean)) for mean in (0, 0.5))
    return (
        f"Of two answers, each of probability ½, the first is drawn and gets 0. The logits move by "
        f"{bare} without a baseline, and by {against} against a mean of ½."
    )
