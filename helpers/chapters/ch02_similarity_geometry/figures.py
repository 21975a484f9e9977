"""Drawings of chapter 02: who wins where, lengths, clouds, distances, and where LayerNorm leads."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from helpers.figures import INKS

GREY = "#777777"
MARKS = (("o", 8), ("s", 5), ("D", 4), ("^", 3))
LINES = {"input rows": INKS[0], "output rows": INKS[1]}  # the two tables keep their colours


def draw_plane(
    ax: Axes,
    points_N2: Num[np.ndarray, "N 2"],
    names: Sequence[str],
    winners_YX: Int[np.ndarray, "Y X"],
    agree_YX: Bool[np.ndarray, "Y X"],
    query_2: Num[np.ndarray, " 2"],
    winner: int,
    *,
    reach: float,
    title: str = "",
) -> Axes:
    """Draw the plane of queries, each place in the colour of the point that wins there.

    Where all measures agree the colour is pale, where they do not it glows. The query is the
    black dot, joined to its winner. Shapes: points (N, 2), winners and agree (Y, X) over the
    square from −reach to reach, bottom row first, query (2,).
    """
    inks = np.array([to_rgb(ink) for ink in INKS[: len(names)]])
    strength = np.where(agree_YX, 0.16, 0.62)[..., None]
    image = 1 - strength * (1 - inks[winners_YX])
    square = (-reach, reach, -reach, reach)
    ax.imshow(image, extent=square, origin="lower", interpolation="nearest")
    for point, name, ink in zip(points_N2, names, INKS, strict=False):
        ax.plot(*point, "o", color=ink, markersize=6, markeredgecolor="white")
        above = (0, 6) if point[1] >= 2 else (12, -13)
        ax.annotate(name, point, xytext=above, textcoords="offset points", ha="center", fontsize=9)
    ax.plot(0, 0, "+", color="#444444", markersize=6)
    ax.plot(*np.stack([query_2, points_N2[winner]]).T, color="black", linewidth=1.4)
    ax.plot(*query_2, "o", color="black", markersize=6, markeredgecolor="white")
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], title=title)
    return ax


def draw_lengths(
    ax: Axes,
    counts_V: Num[np.ndarray, " V"],
    norms_V: Num[np.ndarray, " V"],
    edges: Sequence[float],
    means_SE: Num[np.ndarray, "S E"],
    *,
    title: str = "",
    ink: str = INKS[0],
) -> Axes:
    """Draw a word's length against its count, a dot a word, and means between edges, a line a seed.

    Shapes: counts and norms (V,) of one seed, edges E + 1 counts, means (seeds, E).
    """
    ax.plot(counts_V, norms_V, ".", color="#bbbbbb", markersize=2)
    middles = np.sqrt(np.asarray(edges[:-1], dtype=float) * np.asarray(edges[1:], dtype=float))
    for means in means_SE:
        ax.plot(middles, means, "-o", color=ink, linewidth=1, markersize=3)
    ax.set_xscale("log")
    ax.set(xlabel="occurrences of the word", ylabel="length of its row", title=title)
    ax.set_ylim(bottom=0)
    return ax


def draw_correlations(
    ax: Axes, steps: Sequence[int], found: Mapping[str, Num[np.ndarray, "S K"]]
) -> Axes:
    """Draw a rank correlation against training steps, a line a seed, for each table.

    Shapes: steps K numbers, each of ``found`` (seeds, K).
    """
    ax.axhline(0, color=GREY, linewidth=0.8)
    for name, values_SK in found.items():
        for seed, values in enumerate(np.asarray(values_SK)):
            label = name if seed == 0 else None
            ax.plot(steps, values, "-o", color=LINES[name], linewidth=1, markersize=3, label=label)
    ax.set_xscale("log")
    ax.set_xticks(steps, [str(step) for step in steps])
    ax.minorticks_off()
    ax.set(ylim=(-1, 1), xlabel="training steps", ylabel="rank correlation", title="")
    ax.legend(fontsize=8)
    return ax


def draw_controls(
    ax: Axes,
    counts: Mapping[str, Num[np.ndarray, "S K"]],
    lengths: Mapping[str, Num[np.ndarray, "S K"]],
    *,
    start: float,
) -> Axes:
    """Draw lengths of control tokens against their occurrences, a line a seed, for each kind.

    The grey line is the length before training. Shapes: each of both mappings (seeds, K).
    """
    ax.axhline(start, color=GREY, linewidth=0.8)
    for (name, counts_SK), ink in zip(counts.items(), (INKS[2], INKS[3]), strict=False):
        for seed, (x, y) in enumerate(zip(counts_SK, lengths[name], strict=True)):
            label = name if seed == 0 else None
            ax.plot(x, y, "-o", color=ink, linewidth=1, markersize=3, label=label)
    ax.set_xscale("log")
    ax.set(xlabel="occurrences of the token", ylabel="length of its row")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8)
    return ax


def draw_cosines(ax: Axes, cosines: Mapping[str, Num[np.ndarray, " N"]]) -> Axes:
    """Draw how the cosines of pairs are spread, an outline each, with a tick at each mean."""
    edges = np.linspace(-1, 1, 61)
    for (name, values), ink in zip(cosines.items(), INKS, strict=False):
        heights, _ = np.histogram(values, edges, density=True)
        ax.stairs(heights, edges, color=ink, linewidth=1.4, label=name)
        ax.plot(np.mean(values), 0, "|", color=ink, markersize=14, markeredgewidth=2)
    ax.set(xlim=(-1, 1), yticks=[], xlabel="cosine of a pair of words")
    ax.legend(fontsize=8)
    return ax


def draw_words(
    ax: Axes,
    points_N2: Num[np.ndarray, "N 2"],
    words: Sequence[str],
    groups: Sequence[str],
    *,
    shown: Sequence[str],
    links: Sequence[tuple[int, int]] = (),
) -> Axes:
    """Draw words at their places in a plane, with links between pairs.

    The groups that are ``shown`` are written out in colour, all other words are dots.
    Shapes: points (N, 2), a word and a group for each; ``links`` join rows by number.
    """
    for a, b in links:
        ax.plot(*points_N2[[a, b]].T, color="#999999", linewidth=0.8, zorder=1)
    for point, word, group in zip(points_N2, words, groups, strict=True):
        if group in shown:
            ink = INKS[list(shown).index(group)]
            ax.annotate(word, point, ha="center", va="center", fontsize=8, color=ink)
        else:
            ax.plot(*point, ".", color="#888888", markersize=4, zorder=2)
    low, high = points_N2.min(axis=0), points_N2.max(axis=0)
    margin = 0.06 * (high - low)
    ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
    ax.set(ylim=(low[1] - margin[1], high[1] + margin[1]), xticks=[], yticks=[])
    return ax


def draw_kept(ax: Axes, directions: Sequence[int], kept_SK: Num[np.ndarray, "S K"]) -> Axes:
    """Draw which share of neighbours is kept when only so many directions are, a line a seed.

    Shapes: kept (seeds, K).
    """
    for kept in np.asarray(kept_SK):
        ax.plot(directions, kept, "-o", color=INKS[0], linewidth=1, markersize=3)
    ax.set_xticks(directions, [str(k) for k in directions])
    ax.set(ylim=(0, 1.03), xlabel="directions kept", title="share of the ten nearest that is kept")
    return ax


def draw_contrast(
    ax: Axes,
    widths: Sequence[int],
    random_SW: Num[np.ndarray, "S W"],
    marks: Mapping[str, tuple[float, Num[np.ndarray, " S"]]],
) -> Axes:
    """Draw how much farther the farthest row is than the nearest, against the width.

    Shapes: random (seeds, W); ``marks`` gives other tables, as a width and a value a seed.
    """
    for seed, values in enumerate(np.asarray(random_SW)):
        label = "random rows" if seed == 0 else None
        ax.plot(widths, values, "-o", color=INKS[0], linewidth=1, markersize=3, label=label)
    for (name, (width, values)), ink in zip(marks.items(), INKS[1:], strict=False):
        ax.plot([width] * len(values), values, "D", color=ink, markersize=4, label=name)
    ax.axhline(1, color=GREY, linewidth=0.8)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(widths, [str(width) for width in widths])
    ax.set_yticks([1, 2, 5, 10, 100], ["1", "2", "5", "10", "100"])
    ax.minorticks_off()
    ax.set(xlabel="width C", ylabel="farthest / nearest")
    ax.legend(fontsize=8)
    return ax


def draw_clusters(
    ax: Axes,
    points_N2: Num[np.ndarray, "N 2"],
    cluster_N: Int[np.ndarray, " N"],
    names: Sequence[str],
    *,
    reach: float,
    title: str = "",
) -> Axes:
    """Draw clusters in the plane, a colour and a marker each, with the origin.

    Shapes: points (N, 2), cluster (N,).
    """
    ax.plot([-reach, reach], [0, 0], color="#dddddd", linewidth=0.8, zorder=0)
    ax.plot([0, 0], [-reach, reach], color="#dddddd", linewidth=0.8, zorder=0)
    _marks(ax, points_N2, cluster_N, names)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    ax.set_title(title)
    return ax


def draw_sphere(
    ax: Axes,
    points_N3: Num[np.ndarray, "N 3"],
    cluster_N: Int[np.ndarray, " N"],
    names: Sequence[str],
    *,
    turn: float,
    reach: float,
    title: str = "",
) -> Axes:
    """Draw clusters in space, seen from a side, with the plane x + y + z = 0 and its circle.

    The axes are the thin lines, the circle has radius √3. ``turn`` is the angle, in degrees,
    through which the viewer has walked round the direction (1, 1, 1), which points up.
    Shapes: points (N, 3), cluster (N,).
    """
    round_about = np.radians(np.linspace(0, 360, 73))
    for axis in np.eye(3):
        ends = seen(np.stack([0 * axis, 3.6 * axis]), turn)
        ax.plot(*ends.T, color="#999999", linewidth=0.9, zorder=0)
        ax.annotate("xyz"[int(axis.argmax())], ends[1], fontsize=9, color="#666666")
    first, second = np.array([1, -1, 0]) / np.sqrt(2), np.array([1, 1, -2]) / np.sqrt(6)
    circle = np.outer(np.cos(round_about), first) + np.outer(np.sin(round_about), second)
    ax.fill(*seen(3.3 * circle, turn).T, color="#f1f1f1", zorder=-1)
    ax.plot(*seen(np.sqrt(3) * circle, turn).T, color="black", linewidth=0.9, zorder=0)
    _marks(ax, seen(points_N3, turn), cluster_N, names)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title=title)
    ax.set_axis_off()
    return ax


def seen(points_N3: Num[np.ndarray, "N 3"], turn: float) -> Float[np.ndarray, "N 2"]:
    """Where points in space stand in the picture: (1, 1, 1) points up, leaning to the viewer.

    Shapes: (N, 3) to (N, 2).
    """
    up = np.ones(3) / np.sqrt(3)
    first, second = np.array([1, -1, 0]) / np.sqrt(2), np.array([1, 1, -2]) / np.sqrt(6)
    angle, lean = np.radians(turn), np.radians(35)
    right = np.cos(angle) * first + np.sin(angle) * second
    away = -np.sin(angle) * first + np.cos(angle) * second
    return np.stack([points_N3 @ right, points_N3 @ (np.cos(lean) * up + np.sin(lean) * away)], 1)


def _marks(ax: Axes, points_N2, cluster_N, names: Sequence[str]) -> None:
    """Draw a kind of mark for each cluster, each smaller than the last, so that none is hidden."""
    for at, (name, (marker, size)) in enumerate(zip(names, MARKS, strict=False)):
        ax.plot(*points_N2[cluster_N == at].T, marker, color=INKS[at], markersize=size, label=name)
