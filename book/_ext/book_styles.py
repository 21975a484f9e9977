"""One style sheet for all pages, with the rules that some page can use, and icons likewise.

The theme's sheets hold rules and icons for all that a site might have; here a rule goes whose class
or id stands on no page and in no script. Of those that stay, a list of tags at the end is written
out: a browser tries `:is(p, ul)` on every element, and `p` on paragraphs alone. What is left is one
file (eight before, one of them found by a page only after another had come), and the icon fonts are
cut down to the icons that it names.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import tinycss2
from book_fonts import cut_down, signs
from book_head import built_pages, way_to

SHEET = "styles/site.css"
KEPT = {"pygments.css"}  # book/paper takes it from here
LINK = re.compile(r'\s*<link\b(?=[^>]*rel="stylesheet")[^>]*href="(?:\.\./)*_static/([^"?]+)[^>]*>')
URL = re.compile(r"""url\(\s*(['"]?)(?!data:|https?:|[#/])([^'")]+)\1\s*\)""")
ICON_FACE = re.compile(r"@font-face\s*\{[^}]*webfonts/(fa-[\w-]+)\.woff2[^}]*\}")
ICON = re.compile(r"\\([ef][0-9a-f]{3})\b")
TAGS = re.compile(r"^(.*[\s>+~]):is\(([a-z0-9, ]+)\)$", re.DOTALL)
NESTED = {"media", "supports", "layer", "container"}
FONTS = "theme/pydata_sphinx_theme/static/vendor/fontawesome/webfonts"


def used_words(pages: list[str], scripts: list[str]) -> set[str]:
    """Return all classes and ids of pages, and every word of scripts that might be one."""
    named = {name for page in pages for value in re.findall(r'\b(?:class|id)="([^"]*)"', page)
             for name in value.split()}  # fmt: skip
    return named.union(*(re.findall(r"[A-Za-z_][\w-]*", script) for script in scripts))


def selectors(prelude: list) -> list[list]:
    """Split what stands before a rule's brace at its commas."""
    found = [[]]
    for token in prelude:
        if token == ",":
            found.append([])
        else:
            found[-1].append(token)
    return found


def names(selector: list) -> set[str]:
    """Return the classes and ids that an element must have, those within :is() or :not() aside."""
    found = {token.value for token in selector if token.type == "hash"}
    for before, token in pairwise(selector):
        if before == "." and token.type == "ident":
            found.add(token.value)
    return found


def spread(selector: str) -> str:
    """Write a list of tags at a selector's end out, one selector each; as specific as before."""
    found = TAGS.match(selector)
    return (
        ",".join(f"{found[1]}{tag.strip()}" for tag in found[2].split(",")) if found else selector
    )


def pruned(rules: list, used: set[str]) -> str:
    """Write rules again, without those that no page can use."""
    written = []
    for rule in rules:
        if rule.type == "error":
            raise ValueError(f"a style sheet cannot be read: {rule.message}")
        if rule.type == "qualified-rule":
            left = [s for s in selectors(rule.prelude) if names(s) <= used]
            if left:
                of = ",".join(spread(tinycss2.serialize(s).strip()) for s in left)
                written.append(f"{of}{{{body(rule.content)}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED and rule.content:
            inner = pruned(parsed(rule.content), used)
            if inner:
                of = tinycss2.serialize(rule.prelude).strip()
                written.append(f"@{rule.at_keyword} {of}{{{inner}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword != "charset":
            written.append(rule.serialize())
    return "\n".join(written)


def body(content: list) -> str:
    """Write what stands between a rule's braces, without comments."""
    return tinycss2.serialize([token for token in content if token.type != "comment"]).strip()


def parsed(css) -> list:
    return tinycss2.parse_rule_list(css, skip_comments=True, skip_whitespace=True)


def whole(static: Path, name: str) -> str:
    """Return a sheet with what it imports, its addresses as ``styles/`` has them.

    Raises: ValueError for an import of another form.
    """
    here = (static / name).parent

    def moved(match: re.Match) -> str:
        return f"url({Path(os.path.relpath(here / match[2], static / 'styles')).as_posix()})"

    def brought(match: re.Match) -> str:
        return whole(static, os.path.relpath(here / match[1], static))

    text = re.sub(r"/\*.*?\*/", "", (static / name).read_text("utf-8"), flags=re.DOTALL)
    found = re.sub(r'@import\s+"([^"]+)";', brought, URL.sub(moved, text))
    if "@import" in found:
        raise ValueError(f"{name} imports a sheet in a form that is not known: it would be lost")
    return found


def with_icons(css: str, static: Path) -> str:
    """Cut the icon fonts down to the icons that a sheet names; return it with these fonts."""
    wanted = signs(css) | {int(code, 16) for code in ICON.findall(css)}
    folder = Path(str(files("pydata_sphinx_theme"))) / FONTS

    def face(match: re.Match) -> str:
        target = static / "fonts" / f"{match[1]}.woff"
        if not cut_down(folder / f"{match[1]}.ttf", wanted, target):
            return ""
        return re.sub(r"src:[^;}]*", f'src:url(../fonts/{target.name}) format("woff")', match[0])

    return ICON_FACE.sub(face, css)


# --- the site -----------------------------------------------------------------------------------


def common(pages: list[str]) -> list[str]:
    """Return the sheets that all pages with sheets of their own load, in order."""
    found = [[name for name in LINK.findall(text) if name != SHEET] for text in pages
             if SHEET not in text]  # fmt: skip
    found = [loaded for loaded in found if loaded]
    return [name for name in found[0] if all(name in other for other in found)] if found else []


def merge(static: Path, sources: list[str], used: set[str]) -> None:
    """Write the one sheet, unless it was made of the same."""
    css = "\n".join(whole(static, name) for name in sources)
    told = "\n".join([Path(__file__).read_text("utf-8"), css, *sorted(used)])
    key = f"/* {' '.join(sources)} | {hashlib.sha256(told.encode()).hexdigest()[:16]} */"
    sheet = static / SHEET
    if not sheet.exists() or not sheet.read_text("utf-8").startswith(key):
        css = with_icons(pruned(parsed(css), used), static)
        sheet.write_text(f"{key}\n{css}\n", "utf-8")


def one_sheet(app, exception) -> None:
    """Give all pages the one sheet in place of those that it is made of."""
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    sheet = static / SHEET
    pages = {page: page.read_text("utf-8") for page in built_pages(app)}
    before = sheet.read_text("utf-8")[3:].partition(" |")[0].split() if sheet.exists() else []
    sources = common(list(pages.values())) or before
    if sources and all((static / name).exists() for name in sources):
        scripts = [s.read_text("utf-8") for s in static.rglob("*.js") if "mathjax" not in s.parts
                   and s.stat().st_size < 300_000]  # fmt: skip
        merge(static, sources, used_words(list(pages.values()), scripts))
        drop(static, sources)
    version = hashlib.sha256(sheet.read_bytes()).hexdigest()[:8] if sheet.exists() else ""
    for page, text in pages.items():
        link = (
            f'<link rel="stylesheet" href="{way_to(page, app, f"_static/{SHEET}")}?v={version}" />'
        )
        linked = with_link(text, sources, link)
        if linked != text:
            page.write_text(linked, "utf-8")


def with_link(text: str, sources: list[str], link: str) -> str:
    """Put the link to the one sheet where the first of its sources, or its last link, stood."""
    put = []

    def one(match: re.Match) -> str:
        if match[1] not in (*sources, SHEET):
            return match[0]
        put.append(match[1])
        return f"\n    {link}" if len(put) == 1 else ""

    return LINK.sub(one, text)


def drop(static: Path, sources: list[str]) -> None:
    """Take away what no page loads any more."""
    for name in (*sources, "basic.css"):
        if name not in KEPT:
            (static / name).unlink(missing_ok=True)
    shutil.rmtree(static / "vendor", ignore_errors=True)


def setup(app) -> dict:
    app.connect("build-finished", one_sheet, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
