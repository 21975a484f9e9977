"""Drawings of chapter 07: heads, turned vectors, positions, losses by position, writing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float, Num
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures import INKS as HEAD_INKS

INKS = {
    "none": "#777777",
    "learned": "#D55E00",
    "sinusoidal": "#8c6d00",
    "rope": "#0072B2",
    "alibi": "#009E73",
}
DASHES = {
    "none": (0, (1, 1.5)),
    "learned": (0, (5, 2)),
    "sinusoidal": (0, (3, 1, 1, 1)),
    "rope": "-",
    "alibi": "-",
}
SAID = {"rope": "RoPE", "alibi": "ALiBi"}
GREY = "#444444"
EMPTY, KEPT, NOW = "none", "#d9d9d9", "#0072B2"


def draw_heads(ax: Axes, weights_HTT: Float[np.ndarray, "H T T"]) -> Axes:
    """Draw how a width is cut into strips, each with weights of its own, and joined again.

    Words have three numbers, heads a width of 2. Shapes: weights (H, T, T).
    """
    H, T, _ = weights_HTT.shape
    low = (H * (T + 1) - 1 - T) / 2  # of what is drawn once
    top, middle = low + T + 1.7, low + T / 2
    x, cut, weights, joined, y = 0.0, 7.5, 16.0, 25.5, 35.0
    boxes = [(x, 3, "#888888"), (y, 3, "#888888")]
    ways = [((x + 3, middle), (cut, middle)), ((joined + 2 * H, middle), (y, middle))]
    words = [(x + 1.5, low, "words"), (cut + H, low, "queries, keys,\nvalues")]
    words += [(joined + H, low, "side by side"), (y + 1.5, low, "output")]
    words += [((x + 3 + cut) / 2, top, "W_Q, W_K, W_V"), ((joined + 2 * H + y) / 2, top, "W_O")]
    for head, weights_TT in enumerate(weights_HTT):
        bottom, ink = (H - 1 - head) * (T + 1), HEAD_INKS[head]
        extent, at = (weights, weights + T, bottom, bottom + T), bottom + T / 2
        ax.imshow(weights_TT, cmap="Blues", vmin=0, vmax=1, extent=extent)
        ax.add_patch(Rectangle((weights, bottom), T, T, fill=False, ec=ink, lw=0.8))
        ax.text(weights + T + 0.4, at, f"head {head + 1}", va="center", color=ink, fontsize=9)
        boxes += [(left + 2 * head, 2, ink) for left in (cut, joined)]
        ways.append(((cut + 2 * H, middle), (weights, at)))
        ways.append(((weights + T, at + (1.6 if head else -1.6)), (joined, middle)))
    for left, width, ink in boxes:
        ax.add_patch(Rectangle((left, low), width, T, fc=(ink, 0.5), ec=GREY, lw=0.8))
    for start, end in ways:
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": GREY})
    for left, height, said in words:
        ax.text(left, height - 0.5, said, ha="center", va="top", fontsize=9)
    ax.set(xlim=(-0.5, y + 3.5), ylim=(-0.4, H * (T + 1) - 0.6))
    ax.set_axis_off()
    return ax


def draw_turned(
    ax: Axes,
    query_2: Num[np.ndarray, "2"] | Sequence,
    key_2: Num[np.ndarray, "2"] | Sequence,
    angles: tuple[float, float],
) -> Axes:
    """Draw a query and a key as they are made (thin) and as they are turned (thick).

    Shapes: query and key (2,). angles: radians by which they are turned.
    """
    reach = 1.15 * max(np.linalg.norm(query_2), np.linalg.norm(key_2))
    for vector, angle, ink, word in zip(
        (query_2, key_2), angles, ("#D55E00", "#0072B2"), ("q", "k"), strict=True
    ):
        vector = np.asarray(vector, dtype=float)
        cos, sin = np.cos(angle), np.sin(angle)
        turned = np.array([[cos, -sin], [sin, cos]]) @ vector
        for tip, style in ((vector, {"linewidth": 0.8, "alpha": 0.5}), (turned, {"linewidth": 2})):
            arrow = {"arrowstyle": "-|>", "color": ink, "shrinkA": 0, "shrinkB": 0, **style}
            ax.annotate("", tuple(tip), xytext=(0, 0), arrowprops=arrow)
        ax.annotate(word, tuple(turned * 1.08), ha="center", va="center", color=ink)
    ax.plot(0, 0, "+", color="#888888")
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    ax.set_title("turned by their positions")
    return ax


def draw_by_distance(
    ax: Axes,
    distances: Num[np.ndarray, " N"] | Sequence,
    scores: Mapping[str, Num[np.ndarray, " N"] | Sequence],
    *,
    at: float,
) -> Axes:
    """Draw scores against how far back the key stands, grey lines with a mark at one distance.

    Shapes: distances (N,), each of ``scores`` (N,).
    """
    for (name, values), line in zip(scores.items(), ("-", "--"), strict=False):
        ax.plot(distances, values, line, color=GREY, label=name)
        ax.plot(at, np.interp(at, distances, values), "o", color=GREY)
    ax.axhline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
    ax.set(xlabel="distance back to the key", ylabel="score", title="score by distance")
    ax.legend(fontsize=8)
    return ax


def draw_waves(ax: Axes, rows_TC: Num[np.ndarray, "T C"]) -> Axes:
    """Draw a table of positions, a row a position, from purple (−1) over white to brown (1).

    Shapes: rows (T, C).
    """
    ax.imshow(rows_TC, cmap="PuOr_r", vmin=-1, vmax=1, aspect="auto", interpolation="none")
    ax.set(xlabel="which of the C numbers", ylabel="position")
    return ax


def draw_positions(
    ax: Axes, losses: Mapping[str, Float[np.ndarray, "seeds T"] | Sequence], *, trained: int
) -> Axes:
    """Draw the loss at each position of a window, a thin line per seed, a thick one for their mean.

    Shapes: each of ``losses`` (seeds, T); eight positions are averaged. Positions below
    ``trained`` were met in training.
    """
    ax.axvspan(0, trained, color="#f1f1f1", zorder=0)
    for name, losses_ST in losses.items():
        losses_ST = np.asarray(losses_ST, dtype=float)
        seeds, length = losses_ST.shape
        means = losses_ST.reshape(seeds, length // 8, 8).mean(axis=2)
        middles = np.arange(length // 8) * 8 + 4
        style: dict[str, Any] = {"color": INKS[name], "linestyle": DASHES[name]}
        ax.plot(middles, means.T, linewidth=0.5, alpha=0.5, **style)
        ax.plot(middles, means.mean(axis=0), linewidth=2, label=SAID.get(name, name), **style)
    ax.set(xlabel="position in the window", ylabel="nats per character", xlim=(0, None))
    ax.legend(fontsize=8, loc="upper left", ncols=2)
    return ax


def draw_writing(ax: Axes, prompt: int, steps: int, *, cache: bool, title: str = "") -> Axes:
    """Draw which tokens go through the layers at each step of writing, and which are kept."""
    length = prompt + steps - 1
    kind = np.zeros((steps, length), dtype=int)
    for step in range(steps):
        kind[step, : prompt + step] = 2
        if cache and step:
            kind[step, : prompt + step - 1] = 1
    cells = ListedColormap([EMPTY, KEPT, NOW])
    ax.imshow(kind, cmap=cells, vmin=0, vmax=2, aspect="auto", interpolation="none")
    for edge in range(1, steps):
        ax.axhline(edge - 0.5, color="white", linewidth=1)
    for edge in range(1, length):
        ax.axvline(edge - 0.5, color="white", linewidth=1)
    ax.set(xticks=[], yticks=[], xlabel="token", ylabel="step", title=title)
    return ax


# --- what is moved --------------------------------------------------------------------------


def pair_score(
    query_2: Sequence[float],
    key_2: Sequence[float],
    distance: Num[np.ndarray, "..."] | float,
    speed: float = 1.0,
) -> Float[np.ndarray, "..."]:
    """The dot product of a pair of numbers under RoPE when the key is so far back."""
    q, k = complex(*query_2), complex(*key_2)
    return np.asarray((q * np.exp(1j * speed * np.asarray(distance)) * np.conj(k)).real)


def turning_by_position(
    query_2: Sequence[float], key_2: Sequence[float]
) -> tuple[Callable[[int, int], Figure], Callable[[int, int], str]]:
    """The picture of a pair turned by its positions and its score by distance, and what to say.

    Beside the pair stands a head of four such pairs with slower and slower hands.
    """
    distances = np.arange(25)
    speeds = 10_000.0 ** (-np.arange(4) / 4)
    one = pair_score(query_2, key_2, distances)
    four = np.sum([pair_score(query_2, key_2, distances, s) for s in speeds], axis=0)

    def picture(query: int, distance: int) -> Figure:
        fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 2.9), width_ratios=[1, 1.7])
        draw_turned(left, query_2, key_2, (float(query), float(query - distance)))
        scores = {"one pair": one, "four pairs": four}
        draw_by_distance(right, distances, scores, at=distance)
        return fig

    def in_words(query: int, distance: int) -> str:
        return (
            f"Query at position {query}, key {distance} back. The pair scores "
            f"{one[distance]:.2f}, the four pairs {four[distance]:.2f}."
        ).replace("-", "−")

    return picture, in_words
