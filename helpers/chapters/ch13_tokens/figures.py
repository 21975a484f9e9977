"""Drawings of chapter 13: texts cut into tokens, and the counts of pairs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

FILLS = ("#cfe3f2", "#f7e3b5")  # of tokens that follow one another
EDGE, BAR, OTHER = "#777777", "#0072B2", "#9cc3de"
SHOWN = str.maketrans(" \n", "␣⏎")


def draw_tokens(ax: Axes, rows: Mapping[str, Sequence[str]], *, size: float = 9) -> Axes:
    """Draw a row of boxes for each text: its tokens, a character as wide as any other.

    rows: from what is written before a row to its tokens. A space is shown as ␣.
    """
    for y, tokens in enumerate(rows.values()):
        x = 0
        for n, token in enumerate(tokens):
            box = Rectangle(
                (x, y - 0.4), len(token), 0.8, facecolor=FILLS[n % 2], edgecolor=EDGE, linewidth=0.8
            )
            ax.add_patch(box)
            for at, character in enumerate(token.translate(SHOWN)):
                ax.text(
                    x + at + 0.5,
                    y,
                    character,
                    ha="center",
                    va="center",
                    fontsize=size,
                    family="monospace",
                    color="#102a43",
                )
            x += len(token)
    longest = max(sum(map(len, tokens)) for tokens in rows.values())
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set(xlim=(-0.2, longest + 0.2), ylim=(len(rows) - 0.4, -0.6), xticks=[])
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    return ax


def draw_counts(ax: Axes, counts: Mapping[str, int], *, most: int) -> Axes:
    """Draw how often pairs occur as bars, the first of them marked as the one that is joined."""
    names = list(counts)[:6]
    colours = [BAR] + [OTHER] * 5
    ax.barh(range(len(names)), [counts[name] for name in names], color=colours[: len(names)])
    ax.set_yticks(range(len(names)), names, family="monospace")
    ax.set(xlim=(0, most), ylim=(5.6, -0.6), xlabel="how often")
    ax.tick_params(axis="y", length=0)
    return ax


def of_merges(states: Sequence, often: Counter, after: Callable) -> Callable:
    """Words after some merges, a new one below, and the pairs of the next round."""

    def picture(merges, new):
        fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), width_ratios=(3, 2))
        rows, counts = after(states, often, merges, new)
        draw_tokens(axes[0], rows, size=11)
        draw_counts(axes[1], counts, most=6)
        axes[1].set_title("the pairs of the next round", fontsize=9)
        return fig

    return picture
