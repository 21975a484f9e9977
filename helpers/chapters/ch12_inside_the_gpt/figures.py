"""Drawings of chapter 12: maps, heads, what is read out on the way up, patches, and learning."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Num
from matplotlib.axes import Axes

from helpers.figures import INKS

SPACE, LINE_END = "␣", "¶"


def shown(token: str) -> str:
    """A token as a label: a space and a line end get a sign of their own."""
    return {" ": SPACE, "\n": LINE_END}.get(token, token)


def draw_map(
    ax: Axes,
    weights_TT: Float[np.ndarray, "T T"] | Sequence,
    tokens: Sequence[str],
    *,
    title: str = "",
) -> Axes:
    """Draw attention weights, a row for each token that reads, darker where it reads more.

    Shapes: weights (T, T), tokens T of them. The shading goes from 0 (white) to 1.
    """
    ax.imshow(weights_TT, cmap="Blues", vmin=0, vmax=1, interpolation="none")
    labels = [shown(token) for token in tokens]
    size = 8 if len(tokens) <= 20 else 5.5
    turned = 90 if max(map(len, labels)) > 1 else 0
    ax.set_xticks(range(len(labels)), labels, fontsize=size, rotation=turned)
    ax.set_yticks(range(len(labels)), labels, fontsize=size)
    ax.tick_params(length=0, pad=1.5)
    ax.set(xlabel="is read", ylabel="reads", title=title)
    return ax


def draw_heads(
    ax: Axes,
    values_LH: Num[np.ndarray, "L H"] | Sequence,
    *,
    title: str = "",
    digits: int = 2,
    highest: float | None = None,
) -> Axes:
    """Draw a number for each head as a table, shaded from 0 to ``highest`` (else the largest).

    Shapes: values (L, H); the last layer stands on top.
    """
    values_LH = np.asarray(values_LH, dtype=float)
    top = highest or max(values_LH.max(), 1e-12)
    ax.imshow(values_LH, cmap="Blues", vmin=0, vmax=top, origin="lower", aspect="auto")
    for (layer, head), value in np.ndenumerate(values_LH):
        ink = "white" if value > 0.6 * top else "black"
        said = f"{value:.{digits}f}".replace("-", "−")
        ax.text(head, layer, said, ha="center", va="center", fontsize=8, color=ink)
    layers, heads = values_LH.shape
    ax.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
    ax.set_xticks(range(heads), [str(head + 1) for head in range(heads)])
    ax.tick_params(length=0)
    ax.set(xlabel="head", ylabel="layer")
    ax.set_title(title, fontsize=9)
    return ax


def draw_cost(
    ax: Axes,
    shares: Num[np.ndarray, " N"] | Sequence,
    costs_SN: Num[np.ndarray, "S N"] | Sequence,
    names: Sequence[str],
    *,
    xlabel: str = "",
) -> Axes:
    """Draw what taking a head out costs against what its map shows, with the range over texts.

    Shapes: shares (N,), costs (S, N): a row for each piece of text; names N of them.
    """
    costs_SN = np.asarray(costs_SN, dtype=float)
    means = costs_SN.mean(axis=0)
    ax.axhline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
    ax.vlines(shares, costs_SN.min(axis=0), costs_SN.max(axis=0), color=INKS[0], linewidth=1)
    ax.plot(shares, means, "o", color=INKS[0], markersize=4)
    for share, cost, name in zip(shares, means, names, strict=True):
        ax.annotate(name, (share, cost), xytext=(4, 2), textcoords="offset points", fontsize=7)
    ax.set(xlabel=xlabel, ylabel="loss rises by, nats")
    return ax


def draw_lens(
    ax: Axes,
    guesses: Sequence[Sequence[str]],
    p_RT: Float[np.ndarray, "R T"] | Sequence,
    tokens: Sequence[str],
) -> Axes:
    """Draw the likeliest next token at each level (rows, the last on top) of each token.

    Shapes: guesses R rows of T tokens; p (R, T), the probability of the right one, shades.
    """
    p_RT = np.asarray(p_RT, dtype=float)
    ax.imshow(p_RT, cmap="Greens", vmin=0, vmax=1, origin="lower", aspect="auto")
    for row, line in enumerate(guesses):
        for place, guess in enumerate(line):
            ink = "white" if p_RT[row, place] > 0.6 else "black"
            ax.text(place, row, shown(guess), ha="center", va="center", fontsize=8, color=ink)
    ax.set_xticks(range(len(tokens)), [shown(token) for token in tokens], fontsize=8)
    names = ["embedding", *(f"layer {level}" for level in range(1, len(p_RT)))]
    ax.set_yticks(range(len(p_RT)), names, fontsize=8)
    ax.tick_params(length=0)
    ax.set(xlabel="letter that was read last")
    return ax


def draw_by_level(
    ax: Axes,
    lines: Mapping[str, Num[np.ndarray, "S R"] | Sequence],
    *,
    first: int = 0,
    ylabel: str = "",
    mark: float | None = None,
) -> Axes:
    """Draw numbers against the level of a model, a thin line a seed, a thick one their mean.

    Shapes: each of ``lines`` (S, R), levels ``first`` to first + R - 1. mark: a line across.
    """
    if mark is not None:
        ax.axhline(mark, color="#999999", linewidth=0.8, linestyle=":")
    for (name, values_SR), ink in zip(lines.items(), INKS, strict=False):
        values_SR = np.atleast_2d(np.asarray(values_SR, dtype=float))
        levels = np.arange(first, first + values_SR.shape[1])
        if len(values_SR) > 1:
            ax.plot(levels, values_SR.T, color=ink, linewidth=0.6, alpha=0.6)
        ax.plot(levels, values_SR.mean(axis=0), "o-", color=ink, linewidth=2, label=name)
    ax.set_xticks(levels)
    ax.set(xlabel="layer", ylabel=ylabel)
    ax.legend(fontsize=8)
    return ax


def draw_patches(
    ax: Axes, moved_RT: Num[np.ndarray, "R T"] | Sequence, words: Sequence[str], *, title: str = ""
) -> Axes:
    """Draw how far the answer moves when one place of one level is exchanged.

    Shapes: moved (R, T), 0 for no effect and 1 for the other answer; the last level on top.
    """
    moved_RT = np.asarray(moved_RT, dtype=float)
    ax.imshow(moved_RT, cmap="PuOr_r", vmin=-1, vmax=1, origin="lower", aspect="auto")
    for (level, place), value in np.ndenumerate(moved_RT):
        if abs(value) >= 0.05:
            ink = "white" if abs(value) > 0.6 else "black"
            said = f"{value:.1f}".replace("-", "−")
            ax.text(place, level, said, ha="center", va="center", fontsize=7, color=ink)
    ax.set_xticks(range(len(words)), words, fontsize=8, rotation=60, ha="right")
    names = ["embedding", *(f"after layer {level}" for level in range(1, len(moved_RT)))]
    ax.set_yticks(range(len(moved_RT)), names, fontsize=8)
    ax.tick_params(length=0)
    ax.set_title(title, fontsize=9)
    return ax


def draw_learning(
    ax: Axes,
    steps: Sequence[int],
    lines: Mapping[str, Num[np.ndarray, "S N"] | Sequence],
    *,
    at: int | None = None,
    ylabel: str = "",
) -> Axes:
    """Draw what is measured in the course of training, a thin line a seed, a thick one the mean.

    Shapes: steps (N,), each of ``lines`` (S, N). at: a step that is marked.
    """
    if at is not None:
        ax.axvline(at, color="#999999", linewidth=1)
    for (name, values_SN), ink in zip(lines.items(), INKS, strict=False):
        values_SN = np.atleast_2d(np.asarray(values_SN, dtype=float))
        if len(values_SN) > 1:
            ax.plot(steps, values_SN.T, color=ink, linewidth=0.6, alpha=0.6)
        ax.plot(steps, values_SN.mean(axis=0), color=ink, linewidth=2, label=name)
    ax.set(xlabel="updates", ylabel=ylabel)
    ax.legend(fontsize=8)
    return ax
