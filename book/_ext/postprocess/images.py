"""Sizes of images, so that nothing moves when they load, and links to enlarge them."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from urllib.parse import unquote

from bs4 import BeautifulSoup

LENGTH = re.compile(r"^([\d.]+)(pt|px|in)?$")
NARROW = 340  # CSS pixels: what a telephone shows in full
TO_PX = {"pt": 4 / 3, "px": 1.0, None: 1.0, "in": 96.0}


def image_size(path: Path) -> tuple[int, int] | None:
    """Return an image file's size in CSS pixels, or None where it does not say."""
    with path.open("rb") as file:
        start = file.read(4096)
    if start.startswith(b"\x89PNG"):
        return struct.unpack(">II", start[16:24])
    svg = re.search(rb"<svg\b[^>]*>", start, re.DOTALL)
    if not svg:
        return None
    tag = BeautifulSoup(svg[0], "html.parser").svg
    lengths = [LENGTH.match(tag.get(side, "")) for side in ("width", "height")]
    known = [float(found[1]) * TO_PX[found[2]] for found in lengths if found]
    if len(known) == 2:
        width, height = known
        return round(width), round(height)
    box = tag.get("viewbox", "").split()
    return (round(float(box[2])), round(float(box[3]))) if len(box) == 4 else None


def set_image_sizes(page) -> None:
    """Set width and height of images, and load them lazily."""
    for image in page.soup.select("article img[src]:not([width])"):
        file = page.file.parent / unquote(image["src"])
        size = image_size(file) if not image["src"].startswith("data:") and file.is_file() else None
        if size is not None:
            image.attrs.update(
                width=str(size[0]), height=str(size[1]), loading="lazy", decoding="async"
            )


def add_enlarge_links(page) -> None:
    """Add a link to the file below each picture, shown where the page is narrow."""
    for image in page.soup.select("article img[width]"):
        if int(image["width"]) <= NARROW or image.find_parent("a"):
            continue
        after = image.find_next_sibling()
        if after is None or "enlarge" not in after.get("class", ()):
            link = page.soup.new_tag("a", href=image["src"])
            link["class"], link.string = ["enlarge"], "Enlarge the figure"
            image.insert_after(link)
