"""The losses of a run of training, as it goes on and when it is over."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from numpy import ndarray

from helpers.figures.ladder import spaced

TRAINING, VALIDATION, FLOOR = "#9cc3de", "#0072B2", "#8a8a8a"


def draw_losses(
    ax: Axes,
    steps: Int[ndarray, " N"] | Sequence[int],
    losses: Float[ndarray, " N"] | Sequence[float],
    floors: Mapping[str, float],
    *,
    validation: Mapping[int, float] | None = None,
) -> Axes:
    """Draw training losses against steps, with a line for each floor that may be passed.

    Shapes: steps, losses (N,), of which there may be none yet; losses in nats. floors: what each
    is called, and its height in nats. validation: losses on the validation text by their step.
    """
    steps, losses = np.asarray(steps, dtype=float), np.asarray(losses, dtype=float)
    end = max([1, *steps])
    ax.plot(steps, losses, color=TRAINING, linewidth=1, label="training, a batch")
    if validation:
        ax.plot(
            list(validation),
            list(validation.values()),
            "o-",
            color=VALIDATION,
            markersize=4,
            label="validation",
        )
    heights = [*floors.values(), *losses, *(validation or {}).values()]
    low, high = (min(heights), max(heights)) if heights else (0.0, 1.0)
    room = max(0.08 * (high - low), 0.02)
    for (name, floor), place in zip(
        floors.items(), spaced(list(floors.values()), room), strict=True
    ):
        ax.plot([0, end], [floor, floor], color=FLOOR, linewidth=0.8, linestyle=(0, (4, 2)))
        ax.text(end * 1.02, place, f"{floor:.2f}  {name}", color="#555555", va="center", fontsize=8)
    ax.set(xlim=(0, end), ylim=(low - room, high + room), xlabel="steps", ylabel="loss (nats)")
    ax.legend(fontsize=8, loc="upper right")
    return ax
