"""Drawings of chapter 16: tokens and which of them count, and how likely each is."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from helpers.figures import INKS

MASKED, COUNTS = "#999999", "#ffd24d"
WHOSE = {"you type": INKS[0], "the model writes": INKS[2], "the template": "#555555"}


def draw_conversations(ax: Axes, texts: Mapping[str, Sequence[tuple[str, str, bool]]]) -> Axes:
    """Titled texts, a box for each token (whose it is, whether it counts) and a row for each line.

    A character is one unit wide, so that 66 fill a figure of five inches.
    """
    y = 0.0
    for title, tokens in texts.items():
        ax.text(0, y, title, weight="bold", va="center")
        x, y = 0.0, y - 1.1
        for token, whose, counts in tokens:
            word = token.strip() or "⏎"
            wide, ink = len(word) + 0.8, WHOSE[whose]
            if x + wide > 66:
                x, y = 0.0, y - 1.1
            if counts:
                ax.bar(x, 0.18, wide, bottom=y - 0.58, align="edge", color=COUNTS)
            ax.bar(x, 0.7, wide, bottom=y - 0.35, align="edge", color=(ink, 0.15), edgecolor=ink)
            ax.text(x + 0.4, y, word, family="monospace", fontsize=9, va="center")
            x, y = (0.0, y - 1.1) if word == "⏎" else (x + wide + 0.5, y)
        ax.text(x + 0.5, y, "stop" if "|" in word else "…", va="center", weight="bold")
        y -= 1.5
    keys = [Patch(color=(ink, 0.4), label=whose) for whose, ink in WHOSE.items()]
    keys.append(Patch(color=COUNTS, label="counts in the loss"))
    apart = {"fontsize": 8.5, "handlelength": 0.8, "handletextpad": 0.4, "columnspacing": 1}
    ax.legend(handles=keys, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 0), **apart)
    ax.set(xlim=(-0.2, 66.2), ylim=(y + 0.8, 0.6))
    ax.set_axis_off()
    return ax


def draw_losses(
    ax: Axes,
    tokens: Sequence[str],
    before: Float[np.ndarray, " T"],
    after: Float[np.ndarray, " T"],
    counted: int,
) -> Axes:
    """Nats at each token, before and after fine-tuning; the last `counted` are the answer's."""
    at = np.arange(len(tokens))
    ax.axvspan(len(tokens) - counted - 0.5, len(tokens) - 0.5, color=COUNTS, alpha=0.35)
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
