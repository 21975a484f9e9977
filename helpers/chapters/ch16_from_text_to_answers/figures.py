"""Drawings of chapter 16: which tokens of a conversation count, and how likely each token is."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
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


def of_strength(found: Mapping[tuple[float, str], tuple]) -> tuple[Callable, Callable]:
    """The tokens of a right answer at a strength of the adapters, and the same in words."""

    def picture(strength, ending):
        fig, ax = plt.subplots(figsize=(5, 2.4))
        draw_token_probabilities(ax, *found[strength, ending][1:])
        return fig

    def in_words(strength, ending):
        right, _, p = found[strength, ending]
        shown = ", ".join(f"{x:.1f}" for x in p)
        return f"strength {strength}: the tokens of “{right}” have the probabilities {shown}"

    return picture, in_words
