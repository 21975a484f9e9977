"""Images: words for those who do not see them, and room kept before they arrive.

An image without alt text, or with its file name for one, is a warning, and warnings fail the
build. An image that lives elsewhere (the Colab badge) gives way to its words, since a page asks
nobody else for anything. On the page each image file gets its width and height, and waits until
it is near the view.
"""

from __future__ import annotations

import re
import struct
from html import unescape
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)
IMG = re.compile(r"<img\b[^>]*?/?>", re.IGNORECASE | re.DOTALL)
FILE_NAME = re.compile(r"^\S+\.(svg|png|jpe?g|gif|webp)$|^[0-9a-f]{16,}|^data:", re.IGNORECASE)
LENGTH = re.compile(r"^([\d.]+)(pt|px|in)?$")
TO_PX = {"pt": 4 / 3, "px": 1.0, None: 1.0, "in": 96.0}


def attribute(tag: str, name: str) -> str | None:
    """Return the value of an attribute in an HTML tag, or None."""
    match = re.search(rf"""\s{name}\s*=\s*("([^"]*)"|'([^']*)')""", tag)
    return unescape(match[2] if match[2] is not None else match[3]) if match else None


def complaint(alt: str | None) -> str | None:
    """Say what is wrong with an alt text, or None."""
    if alt is None or not alt.strip():
        return "has no alt text"
    if FILE_NAME.match(alt.strip()):
        return f"has a file name for alt text: {alt.strip()[:60]!r}"
    return None


def keep_local(app, doctree) -> None:
    """Replace images from elsewhere by their alt text."""
    for image in list(doctree.findall(nodes.image)):
        if "://" in image["uri"] and image.get("alt"):
            image.replace_self(nodes.inline("", image["alt"], classes=["badge-link"]))


def check_alt(app, doctree) -> None:
    for image in doctree.findall(nodes.image):
        wrong = complaint(image.get("alt"))
        if wrong:
            logger.warning(
                "image %s %s (a notebook gives it in the cell's metadata, mystnb.image.alt)",
                Path(image["uri"]).name,
                wrong,
                location=image,
                type="book",
                subtype="alt",
            )
    for raw in doctree.findall(nodes.raw):
        for tag in IMG.findall(raw.astext()) if "html" in raw.get("format", "") else ():
            if attribute(tag, "alt") is None:
                logger.warning("<img> in HTML has no alt text", location=raw, type="book")


def size_of(path: Path) -> tuple[int, int] | None:
    """Return an image file's size in CSS pixels, or None where it does not say."""
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(b"\x89PNG"):
        return struct.unpack(">II", head[16:24])
    svg = re.search(rb"<svg\b[^>]*>", head, re.DOTALL)
    if not svg:
        return None
    tag = svg[0].decode("utf-8", "replace")
    lengths = [LENGTH.match(attribute(tag, side) or "") for side in ("width", "height")]
    if all(lengths):
        width, height = (float(match[1]) * TO_PX[match[2]] for match in lengths)
        return round(width), round(height)
    box = (attribute(tag, "viewBox") or "").split()
    return (round(float(box[2])), round(float(box[3]))) if len(box) == 4 else None


def keep_room(app, pagename, templatename, context, doctree) -> None:
    """Write width, height and loading="lazy" into the <img> tags of a page's body."""
    if not context.get("body") or app.builder.format != "html":
        return
    sources = {name: Path(app.srcdir, path) for path, name in app.builder.images.items()}

    def with_size(match: re.Match) -> str:
        tag = match[0]
        source = sources.get(Path(attribute(tag, "src") or "").name)
        if attribute(tag, "width") or source is None or not source.is_file():
            return tag
        size = size_of(source)
        if size is None:
            return tag
        room = f'<img width="{size[0]}" height="{size[1]}" loading="lazy" decoding="async"'
        return tag.replace("<img", room, 1)

    context["body"] = IMG.sub(with_size, context["body"])


def setup(app) -> dict:
    app.connect("doctree-read", keep_local, priority=400)
    app.connect("doctree-read", check_alt)
    app.connect("html-page-context", keep_room, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
