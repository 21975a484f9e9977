"""Drawings of chapter 05: keys and a query, values, the whole way; its explorer."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float, Num
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from helpers import numerics
from helpers.figures import INKS as TOKEN_INKS


def draw_keys(
    ax: Axes,
    keys_TD: Num[np.ndarray, "T 2"] | Sequence,
    query_D: Num[np.ndarray, "2"] | Sequence,
    tokens: Sequence[str],
    *,
    names: tuple[str, str] = ("", ""),
    scale: float = 1.0,
) -> Axes:
    """Draw keys in the plane with a query, and lines of equal score, one unit of q·k/√D apart.

    The query's arrow is drawn at ``scale`` times its length. Shapes: keys (T, 2), query (2,).
    """
    keys_TD, query_D = np.asarray(keys_TD), np.asarray(query_D)
    reach = 1.5 * max(np.abs(keys_TD).max(), 1.0)
    length = float(np.linalg.norm(query_D))
    if length > 0:
        along = query_D / length
        across = np.array([-along[1], along[0]]) * 3 * reach
        apart = np.sqrt(2) / length  # one unit of q·k/√D, with D = 2
        for level in np.arange(-int(1.5 * reach / apart), int(1.5 * reach / apart) + 1):
            ends = np.stack([along * level * apart - across, along * level * apart + across])
            ax.plot(*ends.T, color="#c4c4c4", linewidth=0.7, zorder=0)
        tip = along * length * scale
        arrow = {
            "arrowstyle": "-|>",
            "color": "black",
            "linewidth": 1.8,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate("", tuple(tip), xytext=(0, 0), arrowprops=arrow)
    for token, key, ink in zip(tokens, keys_TD, TOKEN_INKS, strict=False):
        ax.plot(*key, "o", color=ink, markersize=7)
        ax.annotate(token, key, textcoords="offset points", xytext=(6, 6), color=ink, fontsize=9)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title="keys and the query")
    ax.plot(0, 0, "+", color="#888888")
    ax.set(xticks=[], yticks=[], xlabel=names[0], ylabel=names[1])
    return ax


def draw_values(
    ax: Axes,
    values_TD: Num[np.ndarray, "T 2"] | Sequence,
    weights_T: Num[np.ndarray, " T"] | Sequence,
    output_D: Num[np.ndarray, "2"] | Sequence,
    tokens: Sequence[str],
) -> Axes:
    """Draw the values sized by weight, the output, and the hull that it cannot leave.

    Shapes: values (T, 2), weights (T,), output (2,).
    """
    values_TD, weights_T = np.asarray(values_TD), np.asarray(weights_T)
    ax.add_patch(Polygon(hull(values_TD), closed=True, facecolor="#f0f0f0", edgecolor="#bbbbbb"))
    for token, value, weight, ink in zip(tokens, values_TD, weights_T, TOKEN_INKS, strict=False):
        ax.plot(*value, "o", color=ink, markersize=5, fillstyle="none")
        ax.scatter(value[0], value[1], s=500 * weight, color=ink, alpha=0.85, linewidths=0)
        ax.annotate(
            token, tuple(value), textcoords="offset points", xytext=(7, 7), color=ink, fontsize=9
        )
    ax.plot(*output_D, marker="*", color="black", markersize=13)
    reach = 1.4 * max(np.abs(values_TD).max(), 1.0)
    ax.set(
        xlim=(-reach, reach),
        ylim=(-reach, reach),
        aspect="equal",
        xticks=[-1, 0, 1],
        yticks=[-1, 0, 1],
    )
    ax.set_title("values and the output (star)")
    return ax


def draw_weights(
    ax: Axes, weights_T: Num[np.ndarray, " T"] | Sequence, tokens: Sequence[str]
) -> Axes:
    """Draw the weights of one query as bars, the first token on top. Shapes: weights (T,)."""
    ax.barh(range(len(tokens)), weights_T, color=TOKEN_INKS[: len(tokens)])
    for row, weight in enumerate(weights_T):
        ax.text(weight + 0.02, row, f"{weight:.2f}", va="center")
    ax.set_yticks(range(len(tokens)), tokens)
    ax.set(xlim=(0, 1), ylim=(len(tokens) - 0.5, -0.5), xticks=[], title="weights")
    return ax


FLOW = {  # left edge and top of each matrix
    "X": (0, 0),
    "Q": (5.6, 0),
    "K": (8.4, 0),
    "V": (0.5, 9),
    "scores": (12.6, 0),
    "weights": (12.6, 9),
    "output": (7, 9),
}
STEPS = {  # where an arrow begins and ends, and where its words go
    "$W_Q$, $W_K$": ((3.2, 2.5), (5.4, 2.5), (4.3, 2.1)),
    "$W_V$": ((1.5, 5.3), (1.5, 8), (2.2, 6.6)),
    "$QK^T$": ((10.6, 2.5), (12.4, 2.5), (11.5, 2.1)),
    "divide by √2,\nsoftmax along a row": ((12.2, 5.3), (12.2, 8.7), (15.2, 6.1)),
    "weights": ((12.4, 11.5), (9.2, 11.5), (10.8, 11.2)),
    "times $V$": ((2.7, 11.5), (6.8, 11.5), (4.8, 11.2)),
}


def draw_flow(
    ax: Axes, matrices: Mapping[str, Num[np.ndarray, "T entries"]], words: Sequence[str], row: int
) -> Axes:
    """Draw the way from X to the output, each matrix with its numbers, one word's row framed.

    Shapes: matrices (T, entries), by the names of FLOW.
    """
    for name, (left, top) in FLOW.items():
        matrix, wide = matrices[name], matrices[name].shape[1]
        square = wide == len(words)
        ax.text(left + wide / 2, top - (1.6 if square else 0.3), name, ha="center", fontsize=10)
        for (t, n), value in np.ndenumerate(matrix):
            face = TOKEN_INKS[0], 0.6 * max(value, 0) / matrix.max()
            ax.add_patch(Rectangle((left + n, top + t), 1, 1, facecolor=face, edgecolor="#999999"))
            at = left + n + 0.5, top + t + 0.5
            ax.text(*at, f"{value:.2f}".replace("-", "−"), ha="center", va="center", fontsize=8)
        for t, word in enumerate(words):
            if name in ("X", "V"):
                ax.text(left - 0.3, top + t + 0.5, word, ha="right", va="center", fontsize=9)
            if square:
                ax.text(left + t + 0.3, top - 0.2, word, rotation=35, fontsize=8)
        if name not in ("X", "K", "V"):
            frame = Rectangle(
                (left, top + row), wide, 1, fill=False, edgecolor="black", linewidth=2
            )
            ax.add_patch(frame)
    for said, (start, end, at) in STEPS.items():
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#777777"})
        ax.text(*at, said, ha="center", va="center", fontsize=9, color="#555555")
    ax.set(xlim=(-2.2, 18.6), ylim=(14.1, -2.4))
    ax.set_axis_off()
    return ax


def query_at(angle: float, length: float) -> Float[np.ndarray, "2"]:
    """The query of a length that points to an angle in degrees: 0 right, 90 up."""
    turned = np.radians(angle)
    return length * np.array([np.cos(turned), np.sin(turned)])


def turning(
    keys_TD: Num[np.ndarray, "T 2"], values_TD: Num[np.ndarray, "T 2"], tokens: Sequence[str]
) -> tuple[Callable[[float, float], Figure], Callable[[float, float], str]]:
    """The picture of a query at an angle and length over keys and values, and what to say of it.

    Shapes: keys and values (T, 2).
    """

    def picture(angle: float, length: float) -> Figure:
        query = query_at(angle, length)
        (weights,) = numerics.attention_weights(query[None], keys_TD)
        fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.2))
        names = ("alive →", "size →")
        draw_keys(left, keys_TD, query, tokens, names=names, scale=0.2)
        labels = [f"{t} {w:.2f}" for t, w in zip(tokens, weights, strict=True)]
        draw_values(right, values_TD, weights, weights @ values_TD, labels)
        return fig

    def in_words(angle: float, length: float) -> str:
        (weights,) = numerics.attention_weights(query_at(angle, length)[None], keys_TD)
        x, y = weights @ values_TD
        best = int(weights.argmax())
        return (
            f"The query reads {tokens[best]} most, with weight {weights[best]:.2f}; "
            f"the output is ({x:.2f}, {y:.2f})."
        ).replace("-", "−")

    return picture, in_words


def hull(points_N2: Num[np.ndarray, "N 2"] | Sequence) -> Float[np.ndarray, "corners 2"]:
    """Corners of the convex hull of points in the plane, in order around it.

    Shapes: points (N, 2); returns (corners, 2).
    Source: Andrew 1979, the monotone chain.
    """
    points = sorted(map(tuple, np.asarray(points_N2, dtype=float)))
    chains = []
    for run in (points, points[::-1]):
        chain: list[tuple] = []
        for point in run:
            while len(chain) >= 2 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains.append(chain[:-1])
    return np.array(chains[0] + chains[1])


def inside(
    corners_N2: Num[np.ndarray, "corners 2"] | Sequence,
    point_2: Num[np.ndarray, "2"] | Sequence,
    tolerance: float = 1e-9,
) -> bool:
    """Whether a point lies in the convex region with these corners, given in order around it.

    Shapes: corners (N, 2) as from ``hull``, point (2,).
    """
    corners = np.asarray(corners_N2)
    following = np.roll(corners, -1, axis=0)
    turns = [_turn(a, b, point_2) for a, b in zip(corners, following, strict=True)]
    return bool(min(turns) >= -tolerance)


def _turn(a, b, c) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
