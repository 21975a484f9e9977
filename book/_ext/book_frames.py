"""Explorers: their frames and first pictures lie beside the page, not in it.

A notebook holds an explorer whole, so that it shows something true wherever it is opened. On the
site its frames become a script that book.js loads when the explorer comes near (a page that is
opened from a disk may load a script, but may not fetch a file), and its first picture a file that
is there without any script. Both lie in ``_images``, beside the other figures.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from book_head import built_pages, way_to

FRAMES = re.compile(r'<script type="text/plain" class="explore-frames">([^<]+)</script>')
PICTURE = re.compile(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]{2000,})"')
FOLDER = "_images/explore"


def stored(app, data: bytes, ending: str) -> str:
    """Write a file that is named after what it holds; return its path in the site."""
    name = f"{FOLDER}/{hashlib.sha256(data).hexdigest()[:16]}.{ending}"
    file = Path(app.outdir, name)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return name


def lightened(text: str, page: Path, app) -> str:
    """Put what explorers hold into files; return the page that names them."""

    def frames(match: re.Match) -> str:
        key = hashlib.sha256(match[1].encode()).hexdigest()[:16]
        script = f'(globalThis.bookFrames ??= {{}})["{key}"] = "{match[1].strip()}";\n'
        source = way_to(page, app, stored(app, script.encode(), "js"))
        return (f'<script type="text/plain" class="explore-frames" data-key="{key}" '
                f'data-source="{source}"></script>')  # fmt: skip

    def picture(match: re.Match) -> str:
        source = stored(app, base64.b64decode(match[1]), "svg")
        return f'src="{way_to(page, app, source)}" loading="lazy" decoding="async"'

    return PICTURE.sub(picture, FRAMES.sub(frames, text))


def lighten(app, exception) -> None:
    """Lighten every page, and drop files that no page names any more."""
    if exception is not None or app.builder.format != "html":
        return
    named = set()
    for page in built_pages(app):
        text = page.read_text("utf-8")
        light = lightened(text, page, app)
        if light != text:
            page.write_text(light, "utf-8")
        named |= set(re.findall(rf"{FOLDER}/([\w.]+)", light))
    for file in Path(app.outdir, FOLDER).glob("*"):
        if file.name not in named:
            file.unlink()


def setup(app) -> dict:
    app.connect("build-finished", lighten, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
