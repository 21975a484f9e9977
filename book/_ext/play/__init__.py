"""What the figures of ``book_play`` are drawn with in Python: their frame, numbers, tags, planes.

Each of these has its like in ``book/_assets/play.js``, which writes the same numbers in the same
way, so that a figure looks the same before its script runs and after. Interface (kept stable):

``figure``   the frame: title, stage, controls, sentence, data
``slider``, ``choices``, ``buttons``   native controls, shown only where the script runs
``tag``, ``at``   an SVG or HTML element; a number as an attribute
``fixed``, ``number``, ``factor``, ``product``, ``listed``   numbers and lists in words
``Plane``, ``arrow``, ``handle``, ``origin``   a square part of the plane on an SVG; what is in it
``from_cell``, ``source_of``   numbers and code of a chapter's cell, so that none is typed twice
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from helpers import worked

ROOT = Path(__file__).parents[3]
STILL = "With JavaScript this figure moves; it does not run here."


# --- the frame ------------------------------------------------------------------------------------


def figure(
    name: str, ident: str, *, title: str, stage: str, says: str, data: dict, controls: str = "",
    note: str = "", more: str = "",
) -> str:  # fmt: skip
    """Give a figure's HTML.

    title, note, says: plain text; the note says how to read the figure, ``says`` what the first
    state shows. stage: what is drawn, in HTML. controls: native controls in HTML, hidden until the
    script runs. more: what stands below the sentence, in HTML. data: what the script reads.
    """
    stored = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    noted = f'<p class="play-note">{escape(note)}</p>' if note else ""
    steered = f'<div class="play-controls" hidden>{controls}</div>' if controls else ""
    return f"""
<figure class="play" id="{ident}" data-play="{name}" role="group" aria-labelledby="{ident}-title">
<p class="play-title" id="{ident}-title">{escape(title)}</p>
{noted}
<div class="play-stage">{stage}</div>
{steered}
<p class="play-says">{escape(says)}</p>
{more}<p class="visually-hidden play-said" role="status"></p>
<noscript><p class="play-scriptless">{STILL}</p></noscript>
<script type="application/json" class="play-data">{stored}</script>
</figure>
"""


def slider(name: str, label: str, value: float, low: float, high: float, step: float) -> str:
    """Give a labelled native range input; ``Play.slider`` keeps what stands beside it."""
    return (
        f'<label class="play-slider"><span>{escape(label)}</span>'
        f'<input type="range" name="{name}" min="{low:g}" max="{high:g}" step="{step:g}" '
        f'value="{value:g}" autocomplete="off"><output aria-hidden="true">{fixed(value)}</output>'
        "</label>"
    )


def choices(ident: str, name: str, label: str, options: Sequence[str], chosen: int = 0) -> str:
    """Give native radio buttons in a named group; the value of each is its number."""
    radios = "".join(
        f'<label><input type="radio" name="{ident}-{name}" value="{value}" autocomplete="off"'
        f"{' checked' * (value == chosen)}> {escape(option)}</label>"
        for value, option in enumerate(options)
    )
    return f'<fieldset class="play-choices"><legend>{escape(label)}</legend>{radios}</fieldset>'


def buttons(**labels: str) -> str:
    """Give a row of buttons: name=label."""
    pressed = "".join(
        f'<button type="button" name="{name}">{escape(label)}</button>'
        for name, label in labels.items()
    )
    return f'<p class="play-buttons">{pressed}</p>'


# --- numbers in words: true minus signs, no minus before a zero -----------------------------------


def _signed(text: str) -> str:
    return text.replace("-", "−") if text.strip("-0.") else text.lstrip("-")


def fixed(value: float, digits: int = 2) -> str:
    """A number with so many decimals."""
    return _signed(f"{float(value):.{digits}f}")


def number(value: float, digits: int = 3) -> str:
    """A number in at most so many decimals, without trailing zeros, as ``worked`` prints it."""
    return _signed(worked.number(value, digits))


def factor(value: float) -> str:
    """A number as one factor of a product: in brackets if it is negative."""
    text = number(value)
    return f"({text})" if text.startswith("−") else text


def product(left: Sequence[float], right: Sequence[float]) -> str:
    """A sum of products, term by term and without its value, as ``worked.dot_product`` has it."""
    pairs = zip(left, right, strict=True)
    return " + ".join(f"{factor(a)} · {factor(b)}" for a, b in pairs)


def listed(words: Sequence[str]) -> str:
    """Words in a row: "", "a", "a and b", "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


# --- tags -----------------------------------------------------------------------------------------


def at(value: float) -> str:
    """A number for an attribute, in at most two decimals."""
    return worked.number(value, 2)


def tag(kind: str, *children: str, **attributes) -> str:
    """Give an element: ``tag("line", x1=2.5, class_="axis", data_part="x")``.

    Children are HTML. An underscore in a name becomes a hyphen, one at its end goes away; numbers
    are written by `at`; True stands for an attribute without a value, None and False for none.
    """
    written = []
    for name, value in attributes.items():
        name = name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            written.append(f" {name}")
            continue
        plain = isinstance(value, (int, float, np.number))
        written.append(f' {name}="{at(value) if plain else escape(str(value))}"')
    return f"<{kind}{''.join(written)}>{''.join(children)}</{kind}>"


class Plane:
    """The square from middle − reach to middle + reach, both ways, on an SVG of ``side`` units."""

    def __init__(self, reach: float, side: float, middle: float = 0.0):
        """Set the square's half width, the side of the SVG, and both coordinates of its middle."""
        self.reach, self.side, self.middle = reach, side, middle

    def x(self, value: float) -> float:
        """Where a first coordinate stands on the SVG."""
        return ((float(value) - self.middle) / self.reach + 1) * self.side / 2

    def y(self, value: float) -> float:
        """Where a second coordinate stands on the SVG, whose y runs down."""
        return (1 - (float(value) - self.middle) / self.reach) * self.side / 2

    def ends(self, start: Sequence[float], end: Sequence[float]) -> dict[str, float]:
        """The attributes of a line between two points."""
        return {
            "x1": self.x(start[0]),
            "y1": self.y(start[1]),
            "x2": self.x(end[0]),
            "y2": self.y(end[1]),
        }

    def through(self, way: Sequence[float]) -> list[list[float]]:
        """The ends, in the square, of the line through the origin; twice the origin for (0, 0)."""
        low, high = self.middle - self.reach, self.middle + self.reach
        ends = []
        for sign in (-1, 1):
            room = [(high if sign * x > 0 else low) / (sign * x) for x in way if x]
            ends.append([sign * x * min(room, default=0.0) for x in way])
        return ends

    def points(self, corners: Sequence[Sequence[float]]) -> str:
        """The attribute ``points`` of a polygon or polyline."""
        return " ".join(f"{at(self.x(x))},{at(self.y(y))}" for x, y in corners)


def arrow(plane: Plane, end: Sequence[float], name: str) -> str:
    """Draw an arrow from the origin, its line and head the parts NAME-line and NAME-head."""
    x, y = plane.x(end[0]), plane.y(end[1])
    turned = math.degrees(math.atan2(end[0], end[1]))
    line = tag("line", **plane.ends((0, 0), end), data_part=f"{name}-line")
    head = tag("polygon", points="0,-1 5,11 -5,11", data_part=f"{name}-head",
               transform=f"translate({at(x)} {at(y)}) rotate({at(turned)})")  # fmt: skip
    hidden = None if np.any(end) else "hidden"
    return tag("g", line, head, class_="arrow", data_part=name, visibility=hidden)


def handle(plane: Plane, point: Sequence[float], name: str) -> str:
    """Draw what a reader takes hold of at a point; ``Play.point`` moves it."""
    marks = tag("circle", r=20, class_="reach"), tag("circle", r=8, class_="ring")
    place = f"translate({at(plane.x(point[0]))} {at(plane.y(point[1]))})"
    return tag("g", *marks, class_="play-handle", data_part=name, transform=place)


def origin(plane: Plane) -> str:
    """Draw a small cross at the origin."""
    x, y = at(plane.x(0) - 6), at(plane.y(0))
    across, up = f"M{x} {y}h12", f"M{at(plane.x(0))} {at(plane.y(0) - 6)}v12"
    return tag("path", d=across + up, class_="origin")


# --- a chapter's own numbers and code -------------------------------------------------------------


def source_of(docname: str, cell: str) -> str:
    """Give the source of a chapter's cell. Raises: KeyError where there is none of that id."""
    cells = json.loads((ROOT / f"{docname}.ipynb").read_text("utf-8"))["cells"]
    return {found["id"]: "".join(found["source"]) for found in cells}[cell]


def from_cell(docname: str, cell: str, *names: str, **given) -> list:
    """Give what a cell assigns to names, by running those assignments alone, with NumPy as np.

    given: other names that they need. Raises: KeyError where the cell assigns no such name.
    """
    written = [n for n in ast.parse(source_of(docname, cell)).body if isinstance(n, ast.Assign)]
    wanted = [n for n in written if {t.id for t in n.targets if hasattr(t, "id")} & set(names)]
    space = {"np": np, **given}
    exec(compile(ast.Module(wanted, type_ignores=[]), f"{docname}#{cell}", "exec"), space)
    return [space[name] for name in names]
