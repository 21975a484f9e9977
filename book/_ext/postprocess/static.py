"""Static files: styles and fonts cut down to what pages show, unused files removed."""

from __future__ import annotations

import hashlib
import re
import shutil
from importlib.resources import files
from itertools import groupby, pairwise
from pathlib import Path

import tinycss2
from sphinx.util import logging

from postprocess.fonts import inlined, subset_font

logger = logging.getLogger(__name__)
ICONS = "vendor/fontawesome/webfonts"
FONTS = Path(str(files("pydata_sphinx_theme"))) / "theme/pydata_sphinx_theme/static" / ICONS
SHEET = "styles/pydata-sphinx-theme.css"
THEME = ("styles/*theme.css", "pygments.css", "mystnb.*.css")  # sheets that others have made
IMPORT = re.compile(r'@import "([^"]+)";')  # a request before the first paint, after another
CLASSES = re.compile(r'\bclass="([^"]*)"')
WORDS = re.compile(r"[\w-]+-(?=\$\{)|[\w-]*\w")  # of a script, which may add to "bs-"
DATA = re.compile("weights|tales|search-index")
OTHERS = re.compile(r"\\([ef][0-9a-f]{3})\b|([\ue000-\uf8ff])")
SOURCE = re.compile(r"url\((\.\./vendor/fontawesome/webfonts/fa-[\w-]+)\.woff2\)[^;}]*")
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


def purge_styles(app, pages) -> None:
    """Leave out the rules of others (500 kB) whose classes neither a page nor a script has."""
    static = Path(app.outdir, "_static")
    known = {name for page in pages for one in CLASSES.findall(page.text) for name in one.split()}
    for file in static.glob("**/*.js"):
        if not DATA.search(file.name):
            known |= set(WORDS.findall(file.read_text("utf-8")))
    for pattern in THEME:
        for file in static.glob(pattern):
            whole = file.read_text("utf-8")
            for line, named in ((one[0], one[1]) for one in IMPORT.finditer(whole)):
                whole = whole.replace(line, (file.parent / named).read_text("utf-8"))
            rules = tinycss2.parse_stylesheet(whole, skip_whitespace=True)
            file.write_text(purged(rules, known), "utf-8")


def purged(rules: list, known: set[str]) -> str:
    """Serialise rules, of their selectors those of whose classes all are known.

    What ends in "-" stands for all that begin so.
    """
    found, begun = "", tuple(word for word in known if word.endswith("-"))

    def used(selector: list) -> bool:
        names = [name.value for dot, name in pairwise(selector) if dot == "."]
        return all(name in known or name.startswith(begun) for name in names)

    for rule in rules:
        if rule.type == "at-rule" and rule.at_keyword in ("media", "supports"):
            inside = purged(tinycss2.parse_rule_list(rule.content, True, True), known)
            found += f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inside}}}"
        elif rule.type == "qualified-rule":
            parts = (list(part) for _, part in groupby(rule.prelude, lambda token: token == ","))
            if selectors := [
                tinycss2.serialize(one) for one in parts if one != [","] and used(one)
            ]:
                found += f"{','.join(selectors)}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type != "comment" or rule.value.startswith("!"):  # a licence
            found += rule.serialize()
    return found


def subset_icon_fonts(app, pages) -> None:
    """Subset the icon fonts (300 kB) to the icons that are left in the styles."""
    static = Path(app.outdir, "_static")
    texts = [file.read_text("utf-8") for file in (static / SHEET, *static.glob("*.css"))]
    wanted = {
        int(code, 16) if code else ord(sign)
        for text in texts
        for code, sign in OTHERS.findall(text)
    }
    for font in FONTS.glob("*.ttf"):
        subset_font(font, wanted, static / ICONS / f"{font.stem}.woff")
    (static / SHEET).write_text(SOURCE.sub(r'url(\1.woff) format("woff")', texts[0]), "utf-8")


def inline_text_font(app, pages) -> None:
    """Inline the text font into its style sheet, so that it arrives with the text."""
    sheet = Path(app.outdir, "_static", "fonts.css")
    sheet.write_text(inlined(sheet), "utf-8")
    for file in sheet.parent.glob("fonts/*.woff2"):
        file.unlink()


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
