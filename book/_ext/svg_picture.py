"""A stored figure of the book, drawn again as pixels by matplotlib.

Figures are stored as SVG that matplotlib wrote, which uses little of SVG: groups, paths, clips,
letters as paths that are used again, and images as data. ``draw_svg`` knows that much and no more;
for anything else it raises ValueError, so that nothing is left out in silence.
"""

from __future__ import annotations

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import BboxImage
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox
from PIL import Image

HREF = "{http://www.w3.org/1999/xlink}href"
CODES = {"M": (Path.MOVETO, 2), "L": (Path.LINETO, 2), "Q": (Path.CURVE3, 4),
         "C": (Path.CURVE4, 6)}  # fmt: skip
CAPS = {"square": "projecting"}
POINTS = 72  # an inch


def size_of(svg: str) -> tuple[float, float]:
    """Return the width and height of an SVG's view box."""
    _, _, width, height = ElementTree.fromstring(svg).get("viewBox").split()
    return float(width), float(height)


def draw_svg(figure: Figure, svg: str, box: tuple[float, float, float, float]) -> None:
    """Draw an SVG into a figure; ``box`` is left, bottom, width and height in its pixels.

    The picture keeps its shape and stands in the middle of the box.
    Raises: ValueError for an element that matplotlib's SVG does not have.
    """
    width, height = size_of(svg)
    left, bottom, wide, tall = box
    scale = min(wide / width, tall / height)
    place = Affine2D().scale(scale, -scale).translate(
        left + (wide - scale * width) / 2, bottom + (tall + scale * height) / 2
    )  # fmt: skip
    _Drawing(figure, ElementTree.fromstring(svg)).element(place)


class _Drawing:
    """One SVG on its way to a figure."""

    def __init__(self, figure: Figure, root: ElementTree.Element):
        self.figure, self.root = figure, root
        self.known = {element.get("id"): element for element in root.iter() if element.get("id")}

    def element(self, place: Affine2D) -> None:
        """Draw all of it."""
        for child in self.root:
            self.draw(child, place, {}, None)

    def draw(self, element, place: Affine2D, style: dict[str, str], clip) -> None:
        """Draw an element and what is in it, in the style that it inherits."""
        tag = element.tag.rpartition("}")[2]
        if tag in ("defs", "style", "title", "metadata"):
            return
        style = {**style, **style_of(element)}
        here = transform_of(element.get("transform", "")) + place
        if found := re.match(r"url\(#(.*)\)", element.get("clip-path", "")):
            (rect,) = self.known[found[1]]
            x, y, width, height = (float(rect.get(n)) for n in ("x", "y", "width", "height"))
            clip = (Path([(x, y), (x + width, y), (x + width, y + height), (x, y + height),
                          (x, y)], closed=True), here)  # fmt: skip
        if tag == "g":
            for child in element:
                self.draw(child, here, style, clip)
        elif tag == "path":
            self.path(element, here, style, clip)
        elif tag == "use":
            x, y = (float(element.get(n, 0)) for n in ("x", "y"))
            self.draw(self.known[element.get(HREF)[1:]], Affine2D().translate(x, y) + here, style,
                      clip)  # fmt: skip
        elif tag == "image":
            self.image(element, here, clip)
        else:
            raise ValueError(f"an SVG of matplotlib should hold no <{tag}>")

    def path(self, element, place: Affine2D, style: dict[str, str], clip) -> None:
        """Draw a path; lengths of its line grow with the picture."""
        scale = np.sqrt(abs(np.linalg.det(place.get_matrix()[:2, :2])))
        points = POINTS / self.figure.dpi * scale
        line, width = style.get("stroke", "none"), float(style.get("stroke-width", 1)) * points
        dashes = style.get("stroke-dasharray", "none")
        opacity = float(style.get("opacity", 1))
        patch = PathPatch(
            path_of(element.get("d", "")), transform=place,
            facecolor=colour(style.get("fill", "black"), style.get("fill-opacity"), opacity),
            edgecolor=colour(line, style.get("stroke-opacity"), opacity),
            linewidth=0 if line == "none" else width,
            capstyle=CAPS.get(cap := style.get("stroke-linecap", "butt"), cap),
            joinstyle=style.get("stroke-linejoin", "round"),
        )  # fmt: skip
        if dashes != "none" and width:
            lengths = [float(n) * points / width for n in re.split(r"[,\s]+", dashes.strip())]
            offset = float(style.get("stroke-dashoffset", 0)) * points / width
            patch.set_linestyle((offset, lengths))
        self.add(patch, clip)

    def image(self, element, place: Affine2D, clip) -> None:
        """Draw an image; a picture that stands on its head in the file is turned."""
        data = base64.b64decode(element.get(HREF).partition("base64,")[2])
        pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))
        x, y, width, height = (float(element.get(n, 0)) for n in ("x", "y", "width", "height"))
        (x0, top), (x1, foot) = place.transform([(x, y), (x + width, y + height)])
        if top < foot:
            pixels, top, foot = pixels[::-1], foot, top
        picture = BboxImage(Bbox([[x0, foot], [x1, top]]), interpolation="nearest", origin="upper")
        picture.set_data(pixels)
        picture.set_alpha(float(element.get("opacity", 1)))
        self.add(picture, clip)

    def add(self, artist, clip) -> None:
        """Put it above what was drawn before."""
        artist.set_zorder(len(self.figure.get_children()))
        self.figure.add_artist(artist)
        if clip is not None:
            artist.set_clip_path(*clip)


def style_of(element) -> dict[str, str]:
    """Return what an element's style attribute says."""
    pairs = (part.partition(":") for part in element.get("style", "").split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def colour(value: str, opacity: str | None, whole: float) -> tuple | str:
    """Return a colour with its opacity, or "none"."""
    return "none" if value == "none" else (value, float(opacity or 1) * whole)


def transform_of(words: str) -> Affine2D:
    """Return an SVG transform, whose last step comes first."""
    whole = Affine2D()
    for name, given in reversed(re.findall(r"(\w+)\(([^)]*)\)", words)):
        numbers = [float(n) for n in re.split(r"[,\s]+", given.strip())]
        if name == "translate":
            whole.translate(numbers[0], numbers[1] if len(numbers) > 1 else 0)
        elif name == "scale":
            whole.scale(numbers[0], numbers[-1])
        elif name == "rotate":
            whole.rotate_deg_around(*(numbers[1:] or (0, 0)), numbers[0])
        elif name == "matrix":
            a, b, c, d, e, f = numbers
            whole = whole + Affine2D(np.array([[a, c, e], [b, d, f], [0, 0, 1]]))
        else:
            raise ValueError(f"an SVG of matplotlib should hold no transform {name!r}")
    return whole


def path_of(words: str) -> Path:
    """Return an SVG path of M, L, Q, C and z."""
    vertices, codes = [], []
    for letter, given in re.findall(r"([A-Za-z])([^A-Za-z]*)", words):
        numbers = [float(n) for n in given.split()]
        if letter in "zZ":
            vertices.append((0.0, 0.0))
            codes.append(Path.CLOSEPOLY)
            continue
        if letter not in CODES or len(numbers) != CODES[letter][1]:
            raise ValueError(f"a path of matplotlib should hold no {letter} {given!r}")
        pairs = np.reshape(numbers, (-1, 2)).tolist()
        vertices += pairs
        codes += [CODES[letter][0]] * len(pairs)
    return Path(vertices or np.empty((0, 2)), codes or None)
