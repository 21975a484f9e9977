"""Drawings of chapter 01: a lookup, a word's neighbours, shares; its explorer."""

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float, Num
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures import INKS

PLAIN = "#777777"


def draw_lookup(
    ax: Axes,
    table_VC: Num[np.ndarray, "V C"] | Sequence,
    ids_T: Sequence[int],
    tokens: Sequence[str],
) -> Axes:
    """Draw a table, ids, and the rows that they fetch, joined by lines; a row in use has an ink.

    tokens: the vocabulary. Shapes: table (V, C), ids (T,).
    """
    table = np.asarray(table_VC)
    size, width = table.shape
    used = {row: INKS[n % len(INKS)] for n, row in enumerate(dict.fromkeys(ids_T))}
    for row, numbers in enumerate(table):
        _row(ax, 0, -row, numbers, used.get(row, PLAIN), row in used)
        name = f"{tokens[row]}  {row}"
        ax.text(-0.35, -row, name, ha="right", va="center", color=used.get(row, PLAIN))
    right, top = width + 3.2, -(size - len(ids_T)) / 2
    for t, row in enumerate(ids_T):
        ax.plot([width + 0.05, right - 0.75], [-row, top - t], color=used[row], linewidth=1.2)
        _row(ax, right, top - t, table[row], used[row], True)
        ax.text(right - 0.4, top - t, str(row), ha="center", va="center", color=used[row])
        ax.text(right + width + 0.3, top - t, tokens[row], va="center", color=used[row])
    ax.text(width / 2, 0.9, "the table", ha="center")
    ax.text(right + width / 2, top + 0.9, "what comes out", ha="center")
    ax.text(right - 0.4, top + 0.9, "id", ha="center")
    ax.set(xlim=(-3.2, right + width + 2.4), ylim=(-size + 0.3, 1.4))
    ax.set_axis_off()
    return ax


def _row(
    ax: Axes, x: float, y: float, numbers: Num[np.ndarray, " C"], ink: str, bold: bool
) -> None:
    """A row of cells with their numbers, its left end at x and its middle at y."""
    for column, value in enumerate(numbers):
        ax.add_patch(
            Rectangle(
                (x + column, y - 0.42),
                1,
                0.84,
                facecolor="white",
                edgecolor=ink,
                linewidth=1.6 if bold else 0.6,
            )
        )
        said = f"{value:.1f}".replace("-", "−")
        ax.text(x + column + 0.5, y, said, ha="center", va="center", color=ink, fontsize=9)


def draw_neighbours(
    ax: Axes, words: Sequence[str], cosines: Sequence[float], *, title: str = ""
) -> Axes:
    """Draw the words nearest to one, the nearest on top, a bar as long as its cosine."""
    ax.barh(range(len(words)), cosines, color=INKS[0], height=0.7)
    for row, word in enumerate(words):
        ax.text(0.02, row, word, va="center", fontsize=10, color="white", fontweight="bold")
    ax.set_yticks([])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="cosine", title=title)
    return ax


def draw_shares(
    ax: Axes,
    steps: Sequence[float],
    shares: dict[str, Float[np.ndarray, "N S"]],
    *,
    chance: float,
) -> Axes:
    """Draw a share over training: a dot a seed, a line through the means, and what chance gives.

    Shapes: for each name (N, S), a row a seed and a column for each of the steps.
    """
    places = np.asarray(steps, dtype=float)
    ax.axhline(chance, color="#555555", linestyle=":", linewidth=1.2)
    ax.text(0.75 * places[-1], chance - 0.055, "chance", fontsize=9, color="#555555")
    for n, (name, runs) in enumerate(shares.items()):
        runs, ink = np.asarray(runs), INKS[n]
        ax.plot(places, runs.mean(axis=0), color=ink, label=name)
        ax.plot(np.tile(places, len(runs)), runs.ravel(), "o", color=ink, markersize=3.5, alpha=0.5)
    ax.set_xticks(places, [f"{step:g}" for step in steps])
    ax.set(ylim=(0, 1), xlabel="steps of training", ylabel="share in the right group")
    ax.legend(loc="upper left")
    return ax


def finding(
    nearest: Callable[[str, int], tuple[Sequence[str], Sequence[float]]], others: int
) -> tuple[Callable[[str, int], Figure], Callable[[str, int], str]]:
    """The picture of a word's neighbours after so many steps, and what to say of it.

    nearest: gives neighbours and their cosines, the nearest first. others: words to choose from.
    """

    def picture(word: str, step: int) -> Figure:
        fig, ax = plt.subplots(figsize=(4.6, 2.4))
        draw_neighbours(ax, *nearest(word, step), title=f"nearest to {word} after {step} steps")
        return fig

    def in_words(word: str, step: int) -> str:
        names, found = nearest(word, step)
        return (
            f"After {step} steps the nearest of {others:,} words to {word} are "
            f"{', '.join(names)}; the cosine of the first is {found[0]:.2f}."
        )

    return picture, in_words
