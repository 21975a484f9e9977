"""Figures with sliders: live in a kernel, stored frames on the page."""

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
from IPython.display import HTML, display
from matplotlib.figure import Figure

from helpers.explore.page import (
    attribute,
    data_uri,
    display_still,
    ipywidgets,
    packed,
    shown,
    size_of,
    still,
    svg_of,
    text,
)

MAX_FRAMES = 150


@dataclass(frozen=True)
class Slider:
    """A control of an explorer: its values in order, a label, and the value it starts at."""

    values: Sequence
    label: str = ""
    start: object = None

    def __post_init__(self):
        if len(self.values) < 2:
            raise ValueError(f"a slider needs at least two values, got {list(self.values)}")
        if self.start is not None and self.start not in self.values:
            raise ValueError(f"start must be one of {list(self.values)}, got {self.start!r}")

    @property
    def first(self) -> int:
        """Index of the value the slider starts at."""
        return 0 if self.start is None else list(self.values).index(self.start)


def explore(
    draw: Callable[..., Figure], *, title: str, describe: Callable[..., str], **controls
) -> "Explorer":
    """Give a figure sliders: live ones in a kernel, stored frames on the page.

    Args:
        draw: called with one value per control, returns a new matplotlib Figure.
        title: what is being explored; also the name that a screen reader says.
        describe: called like ``draw``, returns a sentence that says what the picture shows.
        controls: for each, a list of values or a ``Slider``.
    Raises: ValueError without controls, or with more than 150 positions in all.
    """
    if not controls:
        raise ValueError("explore needs at least one control, such as angle=[0, 45, 90]")
    sliders = {
        name: given if isinstance(given, Slider) else Slider(list(given))
        for name, given in controls.items()
    }
    positions = math.prod(len(slider.values) for slider in sliders.values())
    if positions > MAX_FRAMES:
        raise ValueError(
            f"controls make {positions} positions, at most {MAX_FRAMES} can be stored: "
            "give them fewer values"
        )
    return Explorer(draw, title, describe, sliders)


class Explorer:
    """A figure with sliders; displays itself as the last value of a cell."""

    def __init__(self, draw, title, describe, sliders: dict[str, Slider]):
        self.draw, self.title, self.describe, self.sliders = draw, title, describe, sliders

    def positions(self) -> list[dict]:
        """Every combination of the controls' values, the last control running fastest."""
        values = (slider.values for slider in self.sliders.values())
        return [dict(zip(self.sliders, at, strict=True)) for at in itertools.product(*values)]

    def label(self, name: str) -> str:
        """The control's label, or its name in words."""
        return self.sliders[name].label or name.replace("_", " ")

    def widget(self) -> "ipywidgets.interactive":
        """The live form: an ipywidgets ``interactive``, to be displayed by itself."""
        controls = {
            name: ipywidgets.SelectionSlider(
                options=[(shown(value), value) for value in slider.values],
                index=slider.first,
                description=self.label(name),
                style={"description_width": "initial"},
                layout={"width": "40em"},
            )
            for name, slider in self.sliders.items()
        }

        def show(**at):
            figure = self.draw(**at)
            display(figure)
            plt.close(figure)
            display(HTML(f"<p>{text(self.describe(**at))}</p>"))

        return ipywidgets.interactive(show, **controls)

    def html(self) -> str:
        """The static form: the first picture and sentence, and all others packed behind them."""
        positions = self.positions()
        pictures = [svg_of(self.draw(**at)) for at in positions]
        sentences = [text(self.describe(**at)) for at in positions]
        first = positions.index({n: s.values[s.first] for n, s in self.sliders.items()})
        width, height = size_of(pictures[first])
        stored = packed(pictures, sentences)
        controls = "".join(self._control(name) for name in self.sliders)
        name = attribute("Explore: " + self.title)
        return (
            f'<figure class="explore" role="group" aria-label="{name}">'
            f'<p class="explore-title">{text(self.title)}</p>'
            f'<img alt="{attribute(self.title)}" width="{width}" height="{height}" '
            f'src="{data_uri(pictures[first])}">'
            f'<div class="explore-controls" hidden>{controls}</div>'
            f'<figcaption class="explore-says" aria-live="polite">{sentences[first]}</figcaption>'
            f'<script type="text/plain" class="explore-frames">{stored}</script></figure>'
        )

    def text(self) -> str:
        """Every position and its sentence, a line each."""
        lines = [
            f"{', '.join(f'{self.label(n)} {shown(v)}' for n, v in at.items())}: "
            f"{self.describe(**at)}"
            for at in self.positions()
        ]
        return "\n".join([self.title, *lines])

    def _control(self, name: str) -> str:
        slider = self.sliders[name]
        labels = [shown(value) for value in slider.values]
        return (
            f'<label class="explore-control"><span>{text(self.label(name))}</span>'
            f'<input type="range" min="0" max="{len(labels) - 1}" step="1" value="{slider.first}" '
            f'autocomplete="off" data-labels="{attribute(json.dumps(labels, ensure_ascii=False))}" '
            f'aria-valuetext="{attribute(labels[slider.first])}">'
            f'<output aria-hidden="true">{text(labels[slider.first])}</output></label>'
        )

    def _ipython_display_(self):
        if still():
            display_still(self.html(), self.text())
        else:
            display(HTML(f"<b>{text(self.title)}</b>"))
            display(self.widget())
