"""Drawings of chapter 0: bars of letters, a text shifted by one, a sentence letter by letter."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes

from helpers.figures import INKS

SPACE = "␣"


def shown(text: str) -> list[str]:
    """The characters of a text as labels: a space gets a sign of its own."""
    return [SPACE if letter == " " else letter for letter in text]


def starts_of_words(text: str) -> Bool[np.ndarray, " T"]:
    """Of each character: whether a word begins with it."""
    pairs = zip(" " + text, text, strict=False)
    return np.array([letter.isalpha() and not before.isalpha() for before, letter in pairs])


def draw_likeliest(ax: Axes, letters: str, shares: Sequence[float]) -> Axes:
    """Draw a bar for the probability of each letter, with its per cent above."""
    bars = ax.bar(range(len(letters)), shares, color=INKS[0], width=0.7)
    words = [f"{100 * share:.0f} %" if share >= 0.01 else "< 1 %" for share in shares]
    ax.bar_label(bars, words, padding=2)
    ax.set_xticks(range(len(letters)), shown(letters), family="monospace", fontsize=12)
    ax.tick_params(axis="x", length=0)
    ax.set(yticks=[], ylim=(0, 1.2 * max(shares)))
    ax.spines["left"].set_visible(False)
    return ax


def draw_shifted(ax: Axes, text: str) -> Axes:
    """Draw a text as input, and below each of its letters the target: the letter that follows."""
    rows = (("input", shown(text[:-1]), 1.0), ("target", shown(text[1:]), 0.0))
    for words, letters, y in rows:
        ax.text(-0.9, y, words, ha="right", va="center", fontsize=11)
        for x, letter in enumerate(letters):
            box = {"boxstyle": "square,pad=0.35", "facecolor": "#f2f2f2", "edgecolor": "#555555"}
            ax.text(
                x, y, letter, ha="center", va="center", family="monospace", fontsize=12, bbox=box
            )
    for x in range(len(text) - 1):
        ax.annotate("", (x, 0.34), (x, 0.66), arrowprops={"arrowstyle": "->", "color": "#555555"})
    ax.set(xlim=(-2.6, len(text) - 1.4), ylim=(-0.45, 1.45))
    ax.set_axis_off()
    return ax


def draw_found(
    ax: Axes, text: str, shares: Float[np.ndarray, " T"], starts: Bool[np.ndarray, " T"]
) -> Axes:
    """Draw, above each letter of a text, the probability that it was given; nan draws no bar.

    starts: of each letter whether a word begins with it; these bars have a colour of their own.
    """
    colours = [INKS[1] if start else INKS[0] for start in starts]
    ax.bar(range(len(text)), np.nan_to_num(shares), color=colours, width=0.8)
    ax.set_xticks(range(len(text)), shown(text), family="monospace", fontsize=12)
    ax.tick_params(axis="x", length=0)
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"], fontsize=11)
    ax.set(xlim=(-0.7, len(text) - 0.3), ylim=(0, 1))
    return ax


def numbers(values: Sequence[float]) -> str:
    """Numbers side by side, to two digits after the point and with true minus signs."""
    return " ".join(f"{value:7.2f}" for value in values).replace("-", "−")
