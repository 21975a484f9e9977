"""Drawings of chapter 16: which tokens of a conversation count, and how likely each token is."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from helpers.figures import INKS

MASKED = "#999999"


def draw_losses(
    ax: Axes,
    tokens: Sequence[str],
    before: Float[np.ndarray, " T"],
    after: Float[np.ndarray, " T"],
    counted: int,
) -> Axes:
    """Nats at each token, before and after fine-tuning; the last `counted` are the answer's."""
    at = np.arange(len(tokens))
    ax.axvspan(len(tokens) - counted - 0.5, len(tokens) - 0.5, color="#ffd24d", alpha=0.35)
    ax.bar(at - 0.2, before, 0.4, color=MASKED, label="before")
    ax.bar(at + 0.2, after, 0.4, color=INKS[0], label="after")
    ax.set_xticks(at, tokens, rotation=90, fontsize=7)
    ax.set(ylabel="loss (nats)", xlim=(-0.6, len(tokens) - 0.4))
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return ax


def draw_token_probabilities(ax: Axes, tokens: Sequence[str], p: Float[np.ndarray, " T"]) -> Axes:
    """A bar for each token of an answer, as high as its probability."""
    ax.bar(range(len(tokens)), p, color=INKS[0])
    ax.set_xticks(range(len(tokens)), tokens)
    ax.set(ylabel="probability", ylim=(0, 1))
    return ax
