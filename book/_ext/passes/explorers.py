"""Explorers: their frames and first pictures lie beside the page, and a telephone can move them.

A notebook holds an explorer whole, so that it shows something true wherever it is opened. On the
site its frames become a script that book.js loads when the explorer comes near (a page that is
opened from a disk may load a script, but may not fetch a file), and its first picture a file that
is there without any script. Both lie in ``_images``, beside the other figures.
"""

from __future__ import annotations

import base64
import hashlib

FOLDER = "_images/explore"
EMBEDDED = "data:image/svg+xml;base64,"
LARGE = 2000  # letters; a smaller picture stays in the page


def key_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def stored(page, data: bytes, ending: str) -> str:
    """Write a file that is named after what it holds; return its address on the page."""
    name = f"{FOLDER}/{key_of(data)}.{ending}"
    file = page.site / name
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return page.way_to(name)


def frames_beside_the_page(page) -> None:
    """Put what explorers hold into files that the page names."""
    for script in page.soup.select("script.explore-frames:not([data-source])"):
        packed = script.string.strip()
        key = key_of(packed.encode())
        body = f'(globalThis.bookFrames ??= {{}})["{key}"] = "{packed}";\n'
        script.attrs.update({"data-key": key, "data-source": stored(page, body.encode(), "js")})
        script.clear()
    for image in page.soup.select(f'img[src^="{EMBEDDED}"]'):
        if len(image["src"]) > LARGE:
            data = base64.b64decode(image["src"].removeprefix(EMBEDDED))
            image.attrs.update(src=stored(page, data, "svg"), loading="lazy", decoding="async")


def pictures_in_windows(page) -> None:
    """Let an explorer's picture stand in a window, in which one can move it and need not shrink."""
    for image in page.soup.select("figure.explore > img[width]"):
        window = page.soup.new_tag("div", style=f"--natural: {image['width']}px")
        window["class"] = ["explore-picture"]
        image.wrap(window)
