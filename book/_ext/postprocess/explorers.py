"""Explorers: their frames and first pictures lie beside the page.

A notebook holds an explorer whole, so that it shows something true wherever it is opened. On the
site its frames become a script that explorers.js loads when the explorer comes near (a page that is
opened from a disk may load a script, but may not fetch a file), and its first picture a file that
is there without any script. Both lie in ``_images``, beside the other figures. A picture whose
panels stand side by side says where it can be cut: on a telephone explorers.js stacks them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from itertools import pairwise

from helpers.explore.page import packed
from postprocess import figures
from postprocess.figures import NUMBER

FOLDER = "_images/explore"
EMBEDDED = "data:image/svg+xml;base64,"
LARGE = 2000  # letters; a smaller picture stays in the page
WIDE = 300  # points: panels are stacked where together they are wider
READABLE = 400  # points: a narrower picture can be read on a telephone as it is
AXES = re.compile(r'<g id="axes_\d+"><g id="patch_\d+"><path d="([^"]*)"')
BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def write_asset(page, data: bytes, ending: str) -> str:
    """Write a file named by the hash of its content; return its relative URL."""
    name = f"{FOLDER}/{content_hash(data)}.{ending}"
    file = page.site / name
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return page.relative_url(name)


def with_colour_schemes(packed_frames: str) -> str:
    """Give packed frames their colours in light and dark."""
    held = json.loads(zlib.decompress(base64.b64decode(packed_frames)))
    pictures = ["".join(held["pieces"][piece] for piece in frame) for frame in held["frames"]]
    return packed(figures.with_colour_schemes(pictures), held["sentences"])


def panel_boxes(svg: str) -> list[str]:
    """Return view boxes that cut a picture between panels side by side.

    A panel's labels stand to its left: a cut is made a little right of the panel before.
    """
    if (box := BOX.search(svg)) is None:
        raise ValueError(f"svg should have a viewBox, it begins {svg[:80]!r}")
    width, height = map(float, box.groups())
    across = [[float(one) for one in NUMBER.findall(path)][::2] for path in AXES.findall(svg)]
    spans = sorted((min(xs), max(xs)) for xs in across)
    cuts = [
        right + min(0.3 * (left - right), 12)
        for (_, right), (left, _) in pairwise(spans)
        if left > right and all(b <= right or a >= left for a, b in spans)
    ]
    kept = [0.0]
    for cut, after in pairwise([*cuts, width]):
        if after - kept[-1] > WIDE:
            kept.append(cut)
    if width < READABLE or len(kept) == 1:
        return []
    return [f"{a:g} 0 {b - a:g} {height:g}" for a, b in pairwise([*kept, width])]


def extract_frames(page) -> None:
    """Move the frames and pictures of explorers into files."""
    for script in page.soup.select("script.explore-frames:not([data-source])"):
        frames = with_colour_schemes(script.string.strip())
        key = content_hash(frames.encode())
        body = f'(globalThis.bookFrames ??= {{}})["{key}"] = "{frames}";\n'
        script.attrs.update(
            {"data-key": key, "data-source": write_asset(page, body.encode(), "js")}
        )
        script.clear()
    for image in page.soup.select(f'img[src^="{EMBEDDED}"]'):
        if len(image["src"]) > LARGE:
            data = base64.b64decode(image["src"].removeprefix(EMBEDDED))
            if panels := panel_boxes(data.decode()):
                image["data-panels"] = ",".join(panels)
            image.attrs.update(src=write_asset(page, data, "svg"), loading="lazy", decoding="async")
