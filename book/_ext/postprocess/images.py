"""Sizes of images, so that nothing moves when they load, and links to enlarge them."""

from __future__ import annotations

import re
from urllib.parse import unquote

SIDE = re.compile(r'\s(width|height)="([\d.]+)(pt)?"')
NARROW = 340  # CSS pixels: what a telephone shows in full


def set_image_sizes(page) -> None:
    """Set width and height of pictures, all of which are SVG, and load all but the first lazily."""
    for n, image in enumerate(page.soup.select('article img[src$=".svg"]:not([width])')):
        text = (page.file.parent / unquote(image["src"])).read_text("utf-8")
        for side, length, points in SIDE.findall(text.partition("<svg")[2].partition(">")[0]):
            image[side] = str(round(float(length) * (4 / 3 if points else 1)))
        image.attrs.update(loading="lazy" if n else "eager", decoding="async")


def add_enlarge_links(page) -> None:
    """Add a link to the file below each picture, shown where the page is narrow."""
    for image in page.soup.select("article img[width]"):
        if int(image["width"]) <= NARROW or image.find_parent("a"):
            continue
        link = page.soup.new_tag("a", href=image["src"], attrs={"class": "enlarge"})
        link.string = "Enlarge the figure"
        image.insert_after(link)
