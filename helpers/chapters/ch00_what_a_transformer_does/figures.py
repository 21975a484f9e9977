"""Drawings of chapter 0: bars of words, a text shifted by one, a sentence token by token."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from helpers.figures import INKS


def shown(tokens: Sequence[str]) -> list[str]:
    """Tokens as labels, without the space before them."""
    return [token.strip() or "␣" for token in tokens]


def draw_likeliest(ax: Axes, tokens: Sequence[str], shares: Sequence[float]) -> Axes:
    """Draw a bar for the probability of each token, with its per cent above."""
    bars = ax.bar(range(len(tokens)), shares, color=INKS[0], width=0.7)
    words = [f"{100 * share:.0f} %" if share >= 0.01 else "< 1 %" for share in shares]
    ax.bar_label(bars, words, padding=2)
    ax.set_xticks(range(len(tokens)), shown(tokens), fontsize=11)
    ax.tick_params(axis="x", length=0)
    ax.set(yticks=[], ylim=(0, 1.2 * max(shares)))
    ax.spines["left"].set_visible(False)
    return ax


def draw_shifted(ax: Axes, tokens: Sequence[str]) -> Axes:
    """Draw a text as input, and below each of its tokens the target: the token that follows."""
    rows = (("input", shown(tokens[:-1]), 1.0), ("target", shown(tokens[1:]), 0.0))
    for words, labels, y in rows:
        ax.text(-0.5, y, words, ha="right", va="center", fontsize=11)
        for x, label in enumerate(labels):
            box = {"boxstyle": "square,pad=0.35", "facecolor": "#f2f2f2", "edgecolor": "#555555"}
            ax.text(
                x, y, label, ha="center", va="center", family="monospace", fontsize=12, bbox=box
            )
    for x in range(len(tokens) - 1):
        ax.annotate("", (x, 0.34), (x, 0.66), arrowprops={"arrowstyle": "->", "color": "#555555"})
    ax.set(xlim=(-1.4, len(tokens) - 1.4), ylim=(-0.45, 1.45))
    ax.set_axis_off()
    return ax


def draw_found(ax: Axes, tokens: Sequence[str], shares: Float[np.ndarray, " T"]) -> Axes:
    """Draw, above each token of a text, the probability that it was given; nan draws no bar.

    Those that got less than one half have a colour of their own.
    """
    colours = [INKS[1] if share < 0.5 else INKS[0] for share in shares]
    ax.bar(range(len(tokens)), np.nan_to_num(shares), color=colours, width=0.7)
    ax.set_xticks(range(len(tokens)), shown(tokens), fontsize=11)
    ax.tick_params(axis="x", length=0)
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"], fontsize=11)
    ax.set(xlim=(-0.7, 6.7), ylim=(0, 1))
    return ax
