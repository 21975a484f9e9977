"""Drawings of chapter 02: who wins where, and lengths."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float, Num
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from helpers.figures import INKS

GREY = "#777777"
REACH = 11.5  # of the plane of queries
LINES = {"input rows": INKS[0], "output rows": INKS[1]}  # the two tables keep their colours


def draw_plane(
    ax: Axes,
    points_N2: Num[np.ndarray, "N 2"],
    names: Sequence[str],
    lands: Sequence[Float[np.ndarray, "_ 2"]],
    shared: Sequence[Float[np.ndarray, "_ 2"]],
    query_2: Num[np.ndarray, " 2"],
    winner: int,
    *,
    reach: float,
    title: str = "",
) -> Axes:
    """Draw the plane of queries, each place in the colour of the point that wins there.

    lands: for each point the corners of where it wins by this measure, in order; shared: of where
    it wins by all, in which the colour is pale. The query is the black dot, joined to its winner.
    Shapes: points (N, 2), lands and shared N times (corners, 2), query (2,).
    """
    for ink, land, by_all in zip(INKS, lands, shared, strict=False):
        corners = [loop for loop in (land, by_all[::-1]) if len(loop) > 2]  # the second is a hole
        rest = [Path(np.concatenate([loop, loop[:1]]), closed=True) for loop in corners]
        for paths, strength in ((rest[1:], 0.12), (rest, 0.48)):
            if paths:  # the page's ground shows through, light or dark
                whole = Path.make_compound_path(*paths)
                ax.add_patch(PathPatch(whole, facecolor=ink, edgecolor="none", alpha=strength))
    for point, name, ink in zip(points_N2, names, INKS, strict=False):
        ax.plot(*point, "o", color=ink, markersize=6, markeredgecolor="white")
        above = (0, 6) if point[1] >= 2 else (12, -13)
        ax.annotate(name, point, xytext=above, textcoords="offset points", ha="center", fontsize=9)
    ax.plot(0, 0, "+", color="#444444", markersize=6)
    ax.plot(*np.stack([query_2, points_N2[winner]]).T, color="black", linewidth=1.4)
    ax.plot(*query_2, "o", color="black", markersize=6, markeredgecolor="white")
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], title=title)
    ax.set_aspect("equal")
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
    ax.legend(fontsize=9)
    return ax


# --- explorers ------------------------------------------------------------------------------


def _where(
    lead_K: Float[np.ndarray, " K"], corners_K2: Float[np.ndarray, "K 2"]
) -> Float[np.ndarray, "L 2"]:
    """The part of a polygon in which a lead, linear in the place, is not below 0."""
    kept = []
    following = np.roll(corners_K2, -1, axis=0), np.roll(lead_K, -1)
    for here, a, there, b in zip(corners_K2, lead_K, *following, strict=True):
        if a >= 0:
            kept.append(here)
        if a * b < 0:
            kept.append(here + a / (a - b) * (there - here))
    return np.array(kept).reshape(-1, 2)


def who_wins(
    points_N2: Num[np.ndarray, "N 2"], names: Sequence[str], spoken: Mapping[str, str]
) -> tuple[Callable[..., Figure], Callable[..., str]]:
    """The picture and the sentence of an explorer: a query by angle and length, three measures."""
    sizes_N = np.linalg.norm(points_N2, axis=1)

    def scores(query):
        dots = query @ points_N2.T
        left = (dots, dots / sizes_N, dots - sizes_N**2 / 2)
        return dict(zip(spoken, left, strict=True))

    def land(n, measures):
        corners = REACH * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
        for m, other in product(measures, range(len(names))):
            left_KN = scores(corners)[m]
            corners = _where(left_KN[:, n] - left_KN[:, other], corners)
        return corners

    lands = {m: [land(n, [m]) for n in range(len(names))] for m in spoken}
    shared = [land(n, spoken) for n in range(len(names))]

    def at(angle, length):
        return length * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])

    def best(angle, length):
        return {m: int(x.argmax()) for m, x in scores(at(angle, length)).items()}

    def picture(angle, length):
        fig, axes = plt.subplots(1, 3, figsize=(8.4, 3.0), layout="none")
        fig.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.91, wspace=0.04)
        for ax, (m, won) in zip(axes, best(angle, length).items(), strict=True):
            draw_plane(
                ax,
                points_N2,
                names,
                lands[m],
                shared,
                at(angle, length),
                won,
                reach=REACH,
                title=f"{spoken[m]}: {names[won]}",
            )
        return fig

    def in_words(angle, length):
        won = [names[n] for n in best(angle, length).values()]
        verdict = ("All three agree", "Two of three agree", "All three disagree")[len(set(won)) - 1]
        said = ", ".join(f"by {s} {name}" for s, name in zip(spoken.values(), won, strict=True))
        return f"B{said[1:]}. {verdict}."

    return picture, in_words
