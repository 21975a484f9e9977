"""Fonts cut down to the glyphs that pages show."""

from __future__ import annotations

import base64
import logging
import re
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

CONTENT = re.compile(r"""content:\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")
FILE = re.compile(r"""url\(["']?([\w./-]+\.woff2?)["']?\)""")
ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")
logging.getLogger("fontTools").setLevel(logging.ERROR)  # else it tells of every table


def css_characters(css: str) -> set[int]:
    """Return the code points in a style sheet's `content` properties."""
    found = set()
    for match in CONTENT.finditer(css):
        text = match[1] or match[2] or ""
        plain = ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else m[2], text)
        found |= set(map(ord, plain))
    return found


def subset_font(source: Path, wanted: set[int], target: Path) -> bool:
    """Write a subset of a font as WOFF; return False where it has none of the wanted glyphs.

    The same font and glyphs give the same file.
    """
    font = TTFont(source, recalcTimestamp=False)
    held = wanted & set(font.getBestCmap() or {})
    if not held:
        return False
    options = Options(layout_features=[], hinting=False, notdef_outline=True, name_IDs=[0, 13, 14])
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=held)
    subsetter.subset(font)
    font.flavor = "woff"
    target.parent.mkdir(parents=True, exist_ok=True)
    font.save(target)
    return True


def inlined(sheet: Path) -> str:
    """Return a style sheet with the fonts that it names inside."""

    def data(match: re.Match) -> str:
        file = sheet.parent / match[1]
        packed = base64.b64encode(file.read_bytes()).decode()
        return f"url(data:font/{file.suffix[1:]};base64,{packed})"

    return FILE.sub(data, sheet.read_text("utf-8"))
