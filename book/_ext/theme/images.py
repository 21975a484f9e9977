"""Words for those who do not see an image: a page without them does not build.

An image without alt text, or with its file name for one, is a warning, and warnings fail the
build. An image that lives elsewhere (the Colab badge) gives way to its words, since a page asks
nobody else for anything.
"""

from __future__ import annotations

import re
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)
FILE_NAME = re.compile(r"^\S+\.(svg|png|jpe?g|gif|webp)$|^[0-9a-f]{16,}|^data:", re.IGNORECASE)


def alt_problem(alt: str | None) -> str | None:
    """Say what is wrong with an alt text, or None."""
    if alt is None or not alt.strip():
        return "has no alt text"
    if FILE_NAME.match(alt.strip()):
        return f"has a file name for alt text: {alt.strip()[:60]!r}"
    return None


def replace_remote_images(app, doctree) -> None:
    """Replace images from elsewhere by their alt text."""
    for image in list(doctree.findall(nodes.image)):
        if "://" in image["uri"] and image.get("alt"):
            image.replace_self(nodes.inline("", image["alt"], classes=["badge-link"]))


def check_alt(app, doctree) -> None:
    for image in doctree.findall(nodes.image):
        if wrong := alt_problem(image.get("alt")):
            logger.warning(
                "image %s %s (a notebook gives it in the cell's metadata, mystnb.image.alt)",
                Path(image["uri"]).name,
                wrong,
                location=image,
                type="book",
                subtype="alt",
            )
    for raw in doctree.findall(nodes.raw):
        text = raw.astext() if "html" in raw.get("format", "") else ""
        if "<img" in text and BeautifulSoup(text, "html.parser").select("img:not([alt])"):
            logger.warning("<img> in HTML has no alt text", location=raw, type="book")


def setup(app) -> None:
    app.connect("doctree-read", replace_remote_images, priority=400)
    app.connect("doctree-read", check_alt)
