"""The head of a page: what it loads, in which order, and what it says of itself.

- Scripts wait until the page is read (``defer``), in the order in which they stand; what only the
  search page needs is loaded there alone: the index of all words is the largest script of the site.
- Light or dark is chosen before anything is drawn, so that no page flashes.
- The theme's script looks at each block of code whether it scrolls, and has the browser lay out the
  page once a block; book.js does so without.
- A page says in a sentence what it is about (``<meta name="description">``): its first words.
"""

from __future__ import annotations

import os
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)
SEARCH = re.compile(r"\s*<script[^>]*(?:searchtools|language_data|searchindex)\.js[^>]*></script>")
TAG = re.compile(r"<script(?![^>]*\b(?:defer|async)\b)(?=[^>]*\bsrc=)")
AT_ONCE = re.compile(r"\s*<script>DOCUMENTATION_OPTIONS\.\w+ = [^<]*</script>")
PRELOAD = re.compile(r'\s*(<!-- Pre-loaded [^>]*-->)?\s*<link rel="preload" as="script"[^>]*>')
THEME = re.compile(r"document\.documentElement\.dataset\.theme = localStorage[^;]*;")
CHOSEN = (
    'document.documentElement.dataset.theme = (mode => mode !== "auto" ? mode : '
    'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'
    "(document.documentElement.dataset.mode);"
)
STOPS = re.compile(r'\["pre",[^\]]*"\.pst-scrollable-table-container"\]')
LONGEST = 160  # characters of a description; search engines show about as many
PLAIN = {
    "search": "Search the pages of {project}.",
    "genindex": "The index of {project}: every term with the pages that explain it.",
}


def built_pages(app) -> list[Path]:
    """Return all pages in the folder of the site, written in this build or an earlier one."""
    root = Path(app.outdir)
    found = (page for page in root.rglob("*.html") if "_static" not in page.relative_to(root).parts)
    return sorted(found)


def way_to(page: Path, app, file: str) -> str:
    """Return the address of a file of the site as a page writes it."""
    return Path(os.path.relpath(Path(app.outdir, file), page.parent)).as_posix()


def deferred(html: str, pagename: str) -> str:
    """Let scripts wait for the page; the search page needs its own in the old order."""
    if pagename == "search":
        return str(html)
    return TAG.sub('<script defer="defer"', AT_ONCE.sub("", str(html)))


def chosen_at_once(html: str) -> str:
    """Resolve light or dark in the head, and leave scripts that come last to come last."""
    return PRELOAD.sub("", THEME.sub(lambda _: CHOSEN, str(html)))


def without_search(html: str) -> str:
    """Drop the scripts of the search and the theme's settings for a search service."""
    return re.sub(r"\s*<meta name=\"docsearch:[^>]*>", "", SEARCH.sub("", str(html)))


NAMES = {  # what the theme leaves without a name, or names in its own terms
    '<div id="pst-primary-sidebar"': '<div id="pst-primary-sidebar" role="region" '
    'aria-label="This book"',
    '<dialog id="pst-primary-sidebar-modal"': '<dialog id="pst-primary-sidebar-modal" '
    'aria-label="This book"',
    '<dialog id="pst-secondary-sidebar-modal"': '<dialog id="pst-secondary-sidebar-modal" '
    'aria-label="On this page"',
    'title="Toggle primary sidebar"': 'title="Contents of the book"',
    'title="Toggle secondary sidebar"': 'title="On this page"',
    '"Color mode"': '"Light or dark"',
    'class="indextable': 'role="presentation" class="indextable',
}


def with_landmarks(html: str) -> str:
    """Name the sidebars and their buttons as readers would; the index's columns are no table."""
    html = str(html)
    for bare, named in NAMES.items():
        html = html.replace(bare, named)
    return html


def shortened(words: str) -> str:
    """Cut a text after a sentence if one ends in time, or else after a word."""
    words = " ".join(words.split())
    if len(words) <= LONGEST:
        return words
    cut = words[: LONGEST - 1]
    end = max(cut.rfind(sign) for sign in (". ", "? ", "! "))
    return cut[: end + 1] if end > LONGEST // 3 else cut[: cut.rfind(" ")].rstrip(",;:") + "…"


def first_words(doctree: nodes.document) -> str:
    """Return what a page starts with: of a chapter its question, of others the first paragraph."""
    paragraphs = [p for p in doctree.findall(nodes.paragraph)
                  if isinstance(p.parent, nodes.section) and len(p.astext()) > 40]  # fmt: skip
    asked = [p for p in paragraphs if p.astext().startswith("The question.")]
    chosen = (asked or paragraphs or [nodes.paragraph()])[0]
    return chosen.astext().removeprefix("The question.").strip()


def describe(app, pagename, templatename, context, doctree) -> None:
    words = first_words(doctree) if doctree else ""
    words = words or PLAIN.get(pagename, "{project}: {title}").format(
        project=app.config.project, title=context.get("title", "")
    )
    tag = f'<meta name="description" content="{escape(shortened(words))}" />'
    context["metatags"] = f"{context.get('metatags', '')}\n    {tag}"


def add_filters(app) -> None:
    filters = app.builder.templates.environment.filters
    for function in (deferred, chosen_at_once, without_search, with_landmarks):
        filters[function.__name__] = function


def without_stops(app, exception) -> None:
    """Let the theme's script look at no block."""
    script = Path(app.outdir, "_static", "scripts", "pydata-sphinx-theme.js")
    if exception is None and app.builder.format == "html" and script.exists():
        text, times = STOPS.subn('["pst-none"]', script.read_text("utf-8"))
        if times != 1 and "pst-none" not in text:
            logger.warning("the theme's script is another: STOPS in book_head does not fit")
        script.write_text(text, "utf-8")


def setup(app) -> dict:
    app.connect("builder-inited", add_filters)
    app.connect("html-page-context", describe)
    app.connect("build-finished", without_stops)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
