"""Drawings of chapter 01: a lookup, blocks, a word's neighbours, shares; its explorers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float, Int, Num
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures import INKS

MARKS = {0: "white", 1: "#4a7fb5", -1: "#e8a33d"}  # untouched; read, or moved up; moved down
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


def draw_block(
    ax: Axes,
    marks_BTC: Int[np.ndarray, "B T C"] | Sequence,
    *,
    at: tuple[int, int, int] | None = None,
    title: str = "",
    labels: bool = True,
) -> Axes:
    """Draw a (B, T, C) block as B sheets of T rows, a cell filled by its mark: 1, 0 or -1.

    ``at`` names a cell (b, t, c) to be outlined. Shapes: marks (B, T, C).
    """
    marks = np.asarray(marks_BTC).astype(int)
    sheets, rows, columns = marks.shape
    step = rows + 0.8
    for (b, t, c), mark in np.ndenumerate(marks):
        cell = (c, -b * step - t)
        ax.add_patch(
            Rectangle(cell, 0.94, 0.94, facecolor=MARKS[mark], edgecolor="#999999", linewidth=0.6)
        )
    if at is not None:
        b, t, c = at
        ax.add_patch(
            Rectangle((c, -b * step - t), 0.94, 0.94, fill=False, edgecolor="black", linewidth=2.4)
        )
    for b in range(sheets if labels else 0):
        middle = -b * step - (rows - 2) / 2
        ax.text(-0.25, middle, f"sentence {b}", ha="right", va="center", rotation=90, fontsize=8)
    ax.set(xlim=(-0.9, columns + 0.1), ylim=(-(sheets - 1) * step - rows + 0.9, 1.1))
    ax.set(aspect="equal", title=title)
    ax.set_axis_off()
    return ax


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


def poking(
    boxes: Mapping[str, Callable], x_BTC: Any, poke: Callable
) -> tuple[Callable[..., Figure], Callable[..., str]]:
    """The picture of a poke (which outputs of a box move, and which way), and what to say of it.

    poke: called with a box, the block and a place in it; gives how each output moves.
    """

    def moved(box: str, *at: int) -> np.ndarray:
        by = np.asarray(poke(boxes[box], x_BTC, *at))
        return (np.sign(by) * (np.abs(by) > 1e-9)).astype(int)

    def picture(box: str, sentence: int, token: int, number: int) -> Figure:
        fig, (left, right) = plt.subplots(1, 2, figsize=(4.6, 3.4))
        at, nothing = (sentence, token, number), np.zeros(tuple(x_BTC.shape), dtype=int)
        draw_block(left, nothing, at=at, title="input")
        draw_block(right, moved(box, *at), title=f"output of box {box}", labels=False)
        return fig

    def in_words(box: str, sentence: int, token: int, number: int) -> str:
        marks = moved(box, sentence, token, number) != 0
        tokens, columns = marks.any(axis=2).sum(), marks.any(axis=(0, 1)).sum()
        sentences = marks.any(axis=(1, 2)).sum()
        B, T, C = marks.shape
        return (
            f"Box {box}: {marks.sum()} of {marks.size} outputs move. They lie in {tokens} of "
            f"{B * T} tokens, {columns} of {C} columns, {sentences} of {B} sentences."
        )

    return picture, in_words


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
