"""The nats ladder: one rung for each model, at the height of its loss on the validation text."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

RUNG, OLD = "#0072B2", "#8a8a8a"
APART = 0.16  # nats between two labels, at least, so that they can be read


def draw_ladder(ax: Axes, rungs: Mapping[str, float], *, new: int = 1) -> Axes:
    """Draw losses in nats as rungs of a ladder, the last ``new`` of them lit.

    rungs: what each model is called, and its loss on validation text in nats per token.
    """
    top = max(rungs.values())
    ax.plot([0, 0], [0, top * 1.03], color="#444444", linewidth=2)
    ax.plot([1, 1], [0, top * 1.03], color="#444444", linewidth=2)
    heights = spaced(list(rungs.values()), APART * max(top / 3, 1))
    for place, ((name, loss), height) in enumerate(zip(rungs.items(), heights, strict=True)):
        ink = RUNG if place >= len(rungs) - new else OLD
        ax.plot([0, 1], [loss, loss], color=ink, linewidth=4, solid_capstyle="butt")
        ax.plot([1.04, 1.16], [loss, height], color=ink, linewidth=0.8)
        ax.text(1.2, height, f"{loss:.3f}  {name}", va="center", color=ink)
    ax.set(xlim=(-0.1, 4.2), ylim=(0, top * 1.06), xticks=[], ylabel="nats per token")
    ax.spines["bottom"].set_visible(False)
    return ax


def spaced(heights: Sequence[float], apart: float) -> list[float]:
    """Heights for labels: those given, moved up where two would lie less than ``apart`` apart."""
    moved, free = [0.0] * len(heights), float("-inf")
    for place in sorted(range(len(heights)), key=heights.__getitem__):
        moved[place] = max(heights[place], free)
        free = moved[place] + apart
    return moved
