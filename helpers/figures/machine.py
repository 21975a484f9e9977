"""The machine map: the whole Transformer as one small drawing, with the chapter's part lit."""

import itertools
from collections.abc import Collection

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# name of a part: (x, y, width, words)
PARTS = {
    "ids": (0.0, 0.0, 0.9, "token\nids"),
    "embedding": (1.2, 0.0, 1.25, "embedding"),
    "position": (1.2, -1.0, 1.25, "position"),
    "norm 1": (3.05, 0.0, 0.75, "norm"),
    "attention": (4.1, 0.0, 1.15, "attention"),
    "add 1": (5.6, 0.0, 0.45, "+"),
    "norm 2": (6.4, 0.0, 0.75, "norm"),
    "feed-forward": (7.45, 0.0, 1.15, "feed-\nforward"),
    "add 2": (8.95, 0.0, 0.45, "+"),
    "norm 3": (9.95, 0.0, 0.75, "norm"),
    "output table": (11.05, 0.0, 0.95, "output\ntable"),
    "probabilities": (12.35, 0.0, 1.45, "next-token\nprobabilities"),
}
FLOW = [name for name in PARTS if name != "position"]
LIT, BUILT, DIM = "#ffd24d", "#ece0b8", "#f2f2f2"


def draw_machine(ax: Axes, *, lit: Collection[str] = (), built: Collection[str] = ()) -> Axes:
    """Draw the whole Transformer, the parts in ``lit`` highlighted, those ``built`` before pale.

    Raises: ValueError for a part that is not on the map.
    """
    unknown = {*lit, *built} - set(PARTS)
    if unknown:
        raise ValueError(f"must name parts of {sorted(PARTS)}, got {sorted(unknown)}")
    done = {PARTS[name][-1] for name in (*built, *lit)}  # one norm built, all are
    for name, (x, y, width, words) in PARTS.items():
        box = FancyBboxPatch(
            (x, y - 0.32),
            width,
            0.64,
            boxstyle="round,pad=0.02,rounding_size=0.1",
            facecolor=LIT if name in lit else BUILT if words in done else DIM,
            edgecolor="#555555",
            linewidth=1.6 if name in lit else 0.8,
        )
        ax.add_patch(box)
        ax.text(x + width / 2, y, words, ha="center", va="center", fontsize=8)
    for left, right in itertools.pairwise(FLOW):
        x, _, width, _ = PARTS[left]
        _arrow(ax, (x + width, 0), (PARTS[right][0], 0))
    _arrow(ax, (1.82, -0.66), (1.82, -0.32))
    for start, end in (("norm 1", "add 1"), ("norm 2", "add 2")):
        _bypass(ax, PARTS[start][0] - 0.2, PARTS[end][0] + 0.22)
    ax.add_patch(
        FancyBboxPatch(
            (2.7, -0.55),
            6.85,
            1.65,
            boxstyle="round,pad=0.02",
            fill=False,
            edgecolor="#999999",
            linestyle=":",
        )
    )
    ax.text(9.5, -0.85, "L layers", ha="right", fontsize=8, color="#555555")
    ax.set(xlim=(-0.15, 13.95), ylim=(-1.45, 1.25), aspect="equal")
    ax.set_axis_off()
    return ax


def show(**parts: Collection[str]) -> None:
    """Show the map as a chapter begins with it; parts: as in `draw_machine`."""
    draw_machine(plt.subplots(figsize=(8, 1.6))[1], **parts)
    plt.show()


def _arrow(ax: Axes, start, end) -> None:
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=7,
            color="#555555",
            linewidth=0.9,
            shrinkA=1,
            shrinkB=1,
        )
    )


def _bypass(ax: Axes, x_from: float, x_to: float) -> None:
    ax.plot([x_from, x_from, x_to], [0, 0.8, 0.8], color="#555555", linewidth=0.9)
    _arrow(ax, (x_to, 0.82), (x_to, 0.32))
