"""Static files: fonts cut down to what pages show, unused files removed."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from importlib.resources import files
from pathlib import Path

from sphinx.util import logging

from postprocess.fonts import subset_font

logger = logging.getLogger(__name__)
ICONS = "vendor/fontawesome/webfonts"
FONTS = Path(str(files("pydata_sphinx_theme"))) / "theme/pydata_sphinx_theme/static" / ICONS
SHEET = "styles/pydata-sphinx-theme.css"
NAMED = re.compile(r'((?:\.fa-[\w-]+:{1,2}before,?)+)\{content:"\\([ef][0-9a-f]{3})"\}')
OTHERS = re.compile(r"\\([ef][0-9a-f]{3})\b|([\ue000-\uf8ff])")
SOURCE = re.compile(r"url\((\.\./vendor/fontawesome/webfonts/fa-[\w-]+)\.woff2\)[^;}]*")
FACE = re.compile(r"url\((fonts/[\w-]+\.woff2)\)")
STOPS = re.compile(r'\["pre",[^\]]*"\.pst-scrollable-table-container"\]')
STYLES = re.compile(r'(?:<link rel="stylesheet" [^>]*_static/(?!fonts)[\w.-]+\.css[^>]*>\s*){2,}')
UNUSED = (
    "**/*.map",
    "scripts/fontawesome.js*",
    "searchtools.js",
    "language_data.js",
    "vendor/**/*.ttf",
    "vendor/**/*.woff2",
    "images/logo_[bdj]*",
)


def subset_icon_fonts(app, pages) -> None:
    """Subset the icon fonts (300 kB) to the icons that pages, scripts or styles use."""
    static = Path(app.outdir, "_static")
    sheet = (static / SHEET).read_text("utf-8")
    scripts = [
        file.read_text("utf-8") for file in static.glob("**/*.js") if "gpt-" not in file.name
    ]
    named = set(re.findall(r"\bfa-[\w-]+", " ".join([*scripts, *(page.text for page in pages)])))
    styles = [NAMED.sub("", sheet), *(f.read_text("utf-8") for f in static.glob("*.css"))]
    wanted = {
        int(code, 16) if code else ord(sign)
        for text in styles
        for code, sign in OTHERS.findall(text)
    }
    wanted |= {
        int(code, 16)
        for selectors, code in NAMED.findall(sheet)
        if named & set(re.findall(r"fa-[\w-]+", selectors))
    }
    for font in FONTS.glob("*.ttf"):
        subset_font(font, wanted, static / ICONS / f"{font.stem}.woff")
    (static / SHEET).write_text(SOURCE.sub(r'url(\1.woff) format("woff")', sheet), "utf-8")


def inline_text_font(app, pages) -> None:
    """Inline the text font into its style sheet, so that it arrives with the text."""
    sheet = Path(app.outdir, "_static", "fonts.css")

    def data(match: re.Match) -> str:
        file = sheet.parent / match[1]
        packed = base64.b64encode(file.read_bytes()).decode()
        file.unlink()
        return f"url(data:font/woff2;base64,{packed})"

    sheet.write_text(FACE.sub(data, sheet.read_text("utf-8")), "utf-8")


def join_styles(app, pages) -> None:
    """Join style sheets that follow each other: each is a request before the first paint."""
    static = Path(app.outdir, "_static")

    def joined(links: re.Match) -> str:
        sheets = re.findall(r"_static/([\w.-]+\.css)", links[0])
        text = "\n".join((static / sheet).read_text("utf-8") for sheet in sheets)
        name = f"styles.{hashlib.sha256(text.encode()).hexdigest()[:12]}.css"
        (static / name).write_text(text, "utf-8")
        link = re.sub(sheets[0] + r"[^\"]*", name, links[0].partition("/>")[0].partition(">")[0])
        return f'{link} data-joins="{" ".join(sheets)}"/>\n'

    for page in pages:
        page.text = STYLES.sub(joined, page.text)


def remove_unused_files(app, pages) -> None:
    """Take away what no page loads, and let the theme's script look at no block of code.

    It asks of each block whether it scrolls, and has the browser lay out the page once a block;
    book.js does so without.
    """
    static = Path(app.outdir, "_static")
    for pattern in UNUSED:
        for file in static.glob(pattern):
            file.unlink()
    shutil.rmtree(static / "locales", ignore_errors=True)
    texts = "".join(page.text for page in pages)
    for file in Path(app.outdir, "_images").rglob("*.*"):
        if file.name not in texts:
            file.unlink()
    script = static / "scripts" / "pydata-sphinx-theme.js"
    text, times = STOPS.subn('["pst-none"]', script.read_text("utf-8"))
    if times != 1 and "pst-none" not in text:
        logger.warning("the theme's script is another: STOPS in postprocess/static.py does not fit")
    script.write_text(text, "utf-8")
