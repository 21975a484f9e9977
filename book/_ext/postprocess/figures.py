"""Figures in light and dark: the palette's colours become variables that follow the page.

Stored outputs keep literal colours, and so show something true wherever they are opened. On the
site each picture gets a table of its colours in both modes and chooses by
``prefers-color-scheme``: a picture in an ``img`` follows the ``color-scheme`` of the page round it,
whatever the reader chose there. So a figure stays a file of its own, loaded once it comes near; in
the page itself, where the page's own variables reach, the book's figures would be megabytes.

Fills that are neither grey nor of the palette keep their values in both modes, as does the text on
them. But in the dark the white in pale ones becomes the page's ground, and so it does in heat maps,
which are inverted with the text on them; hues stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

INKS = {  # as figures have them (helpers/figures): on the light page, and on the dark
    "#0072b2": ("#0072b2", "#6cb8ea"),
    "#d55e00": ("#b84c00", "#f0975a"),
    "#009e73": ("#00795a", "#4cc9a4"),
    "#cc79a7": ("#a3487a", "#e3a3c7"),
    "#8c6d00": ("#806300", "#d9b84a"),
    "#e69f00": ("#8f6200", "#e8b04a"),
    "#56b4e9": ("#2478a8", "#9ad4f5"),
    "#4a7fb5": ("#3f74aa", "#7fb0e0"),
    "#b34e00": ("#b34e00", "#f0975a"),
    "#00704f": ("#00704f", "#4cc9a4"),
}
INK, GROUND = ("#000000", "#e4e8ee"), ("#ffffff", "#121212")  # the page's, light and dark
INVERTED = ".map{filter:invert(.93) hue-rotate(180deg) brightness(.9)}"  # white becomes 0x10
PALE, DEEP = 0xB4, 0x40  # luma of pale fills, and of dark text on them
FAINTEST = 0x70  # greys that are read are at least so dark on white
GUIDE = 0x98  # lighter greys guide the eye, and stay faint
COLOUR = re.compile(r"((?:fill|stroke|stop-color)(?:: ?|=\"))(#[0-9a-fA-F]{3,6})\b")
FILL = re.compile(r"\bfill(?:: ?|=\")(#[0-9a-fA-F]{3,6})\b")
OPACITY = re.compile(r"(?<![\w-])(?:fill-)?opacity(?:: ?|=\")([\d.]+)")
IMAGE = re.compile(r'\s(x|y|width|height)="(-?[\d.e-]+)"')
MATRIX = re.compile(r"matrix\((-?[\d.e-]+) 0 0 (-?[\d.e-]+) (-?[\d.e-]+) (-?[\d.e-]+)\)")
FLIPPED = re.compile(r"scale\(1 -1\) translate\(0 (-?[\d.e-]+)\)")
TAG = re.compile(r"<(\w+)\b[^>]*>", re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PLACE = re.compile(r'transform="translate\((-?[\d.]+)[ ,]+(-?[\d.]+)\) (?:rotate|scale)')
MARK = "prefers-color-scheme"


@cache
def six_digits(colour: str) -> str:
    """Write a colour with six digits."""
    digits = colour.lower().lstrip("#")
    return "#" + ("".join(2 * digit for digit in digits) if len(digits) == 3 else digits)


def luma(colour: str) -> float:
    """Give how bright a colour looks, from 0 to 255."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@cache
def colours_of(colour: str) -> tuple[str, str] | None:
    """Give a colour on the light and on the dark page; None where it is one of data."""
    colour = six_digits(colour)
    if colour in INKS:
        return INKS[colour]
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    most, least = max(red, green, blue), min(red, green, blue)
    if most - least > 0x1A:
        if DEEP < luma(colour) < PALE:
            return None
        ground = 0x12 + 2 * (0xFF - most) - least  # the less pale, the less dark
        dark = "".join(f"{part + ground:02x}" for part in (red, green, blue))
        return colour, f"#{dark}" if luma(colour) > DEEP else INK[1]
    grey = (red + green + blue) // 3
    if FAINTEST < grey < GUIDE:
        grey = FAINTEST
        colour = f"#{grey:02x}{grey:02x}{grey:02x}"
    share = grey / 255
    ends = [[int(end[1][at : at + 2], 16) for at in (1, 3, 5)] for end in (INK, GROUND)]
    mixed = (round(ink * (1 - share) + ground * share) for ink, ground in zip(*ends, strict=True))
    return colour, "#" + "".join(f"{part:02x}" for part in mixed)


def is_faint(colour: str) -> bool:
    """Whether a colour is a grey too light for text."""
    ones = {colour[at : at + 2] for at in (1, 3, 5)}
    return len(ones) == 1 and FAINTEST < int(ones.pop(), 16) < 0xF0


@dataclass
class Patch:
    """A filled area behind text: its box and colour (None: an image)."""

    left: float
    top: float
    right: float
    foot: float
    colour: str | None


@lru_cache(4096)  # the frames of an explorer have most tags in common
def patch_at(tag: str) -> Patch | None:
    """Return the box of an image or of a filled path."""
    solid = OPACITY.search(tag)
    if solid and float(solid[1]) < 0.5:
        return None
    if tag.startswith("<image"):
        at = {name: float(value) for name, value in IMAGE.findall(tag)}
        if matrix := MATRIX.search(tag):
            across, down, left, top = map(float, matrix.groups())
            return Patch(left, top, left + across * at["width"], top + down * at["height"], None)
        flipped = FLIPPED.search(tag)
        top = -float(flipped[1]) - at["y"] - at["height"] if flipped else at["y"]
        return Patch(at["x"], top, at["x"] + at["width"], top + at["height"], None)
    drawn = re.search(r'\sd="([^"]*)"', tag)
    fill = FILL.search(tag)
    if not (drawn and fill):
        return None
    ones = [float(one) for one in NUMBER.findall(drawn[1])]
    if len(ones) < 6 or re.search("[HVhvAa]", drawn[1]):
        return None
    xs, ys = ones[::2], ones[1::2]
    return Patch(min(xs), min(ys), max(xs), max(ys), six_digits(fill[1]))


@lru_cache(4096)
def position_of(tag: str) -> tuple[float, float] | None:
    """Return the position of a text element, or None for other elements."""
    if tag.startswith("<text"):
        at = dict(re.findall(r'\s([xy])="(-?[\d.]+)"', tag))
        return (float(at["x"]), float(at["y"]) - 2) if len(at) == 2 else None
    found = PLACE.search(tag) if tag.startswith("<g") else None
    return (float(found[1]) + 1, float(found[2]) - 2) if found else None


def with_variables(svg: str, used: set[str]) -> str:
    """Replace a picture's colours by variables, and collect them in `used`."""
    patches: list[Patch] = []

    def named(match: re.Match) -> str:
        colour = six_digits(match[2])
        if colours_of(colour) is None:
            return match[0]
        used.add(colour)
        return f"{match[1]}var(--c{colour[1:]})"

    def change(match: re.Match) -> str:
        tag = match[0]
        if (patch := patch_at(tag)) is not None:
            patches.append(patch)
        if tag.startswith("<image"):
            return tag.replace(" ", ' class="map" ', 1)
        if (place := position_of(tag)) is not None:
            x, y = place
            below = [p for p in patches if p.left <= x <= p.right and p.top <= y <= p.foot]
            under = below[-1].colour if below else GROUND[0]
            written = FILL.search(tag)
            ink = six_digits(written[1]) if written else INK[0]
            if under is None:
                tag = tag.replace(" ", ' class="map" ', 1)
            both = under and colours_of(under)
            if not both or (ink == INK[0] and luma(both[1]) > 0x80):
                return tag if written else tag.replace(" ", f' fill="{INK[0]}" ', 1)
            if written and is_faint(ink):
                tag = tag.replace(written[1], "#" + 3 * f"{FAINTEST:02x}", 1)
        return COLOUR.sub(named, tag)

    return TAG.sub(change, svg)


def with_colour_schemes(pictures: list[str]) -> list[str]:
    """Give pictures their colours in both modes, one table for all; once is enough."""
    if any(MARK in svg for svg in pictures):
        return pictures
    used = {INK[0]}
    changed = [with_variables(svg, used) for svg in pictures]
    both = {colour: modes for colour in sorted(used) if (modes := colours_of(colour))}
    light, dark = (
        ";".join(f"--c{colour[1:]}:{modes[mode]}" for colour, modes in both.items())
        for mode in (0, 1)
    )
    style = (
        f"<style>:root{{color-scheme:light dark;{light}}}"
        f"@media ({MARK}: dark){{:root{{{dark}}}{INVERTED}}}"
        f"svg:not([fill]){{fill:var(--c{INK[0][1:]})}}</style>"
    )
    return [re.sub(r"(<svg\b[^>]*>)", lambda at: at[1] + style, svg, count=1) for svg in changed]


def add_colour_schemes(page) -> None:
    """Give the pictures of a page their colours in light and dark."""
    for image in page.soup.select('article img[src$=".svg"]'):
        file = (page.file.parent / image["src"]).resolve()
        if "_images" not in file.parts or not file.is_file():
            continue
        before = file.read_text("utf-8")
        [after] = with_colour_schemes([before])
        if after != before:
            file.write_text(after, "utf-8")
        if "themed" not in image.get("class", []):
            image["class"] = [*image.get("class", []), "themed"]
