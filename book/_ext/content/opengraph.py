"""Meta tags for search engines and for links that are shared (Open Graph)."""

from __future__ import annotations

import html
import re
from urllib.parse import urljoin

from docutils import nodes
from sphinx.util.osutil import relative_uri

from helpers.chapters import CHAPTERS

PICTURE = "_static/social.png"  # play/hero.py draws it
LONGEST = 160  # characters of a description; search engines show about as many
DRAWN = "A GPT as boxes in a row, from token ids to next-token probabilities, with attention lit."
PLAIN = {
    "search": "Search the pages of {project}.",
    "genindex": "The index of {project}: every term with the pages that explain it.",
}


def shortened(words: str) -> str:
    """Cut a text after a sentence if one ends in time, or else after a word."""
    words = " ".join(words.split())
    if len(words) <= LONGEST:
        return words
    cut = words[: LONGEST - 1]
    end = max(cut.rfind(sign) for sign in (". ", "? ", "! "))
    return cut[: end + 1] if end > LONGEST // 3 else cut[: cut.rfind(" ")].rstrip(",;:") + "…"


def first_words(doctree: nodes.document) -> str:
    """Return the question of a chapter, or the first paragraph of another page."""
    paragraphs = [
        p
        for p in doctree.findall(nodes.paragraph)
        if isinstance(p.parent, nodes.section) and len(p.astext()) > 40
    ]
    asked = [p for p in paragraphs if p.astext().startswith("The question.")]
    chosen = (asked or paragraphs or [nodes.paragraph()])[0]
    return chosen.astext().removeprefix("The question.").strip()


def tags(app, pagename: str, title: str, words: str) -> dict[str, str]:
    """Return the content of each meta tag by name."""
    chapter = {chapter.docname: chapter for chapter in CHAPTERS}.get(pagename)
    if chapter and not words.startswith(chapter.question):
        words = f"{chapter.question} {words}"
    found = {
        "description": shortened(words),
        "og:title": chapter.title if chapter else title,
        "og:description": chapter.question if chapter else shortened(words),
        "og:type": "website" if pagename == app.config.root_doc else "article",
        "og:site_name": app.config.project,
    }
    here, base = app.builder.get_target_uri(pagename), app.config.html_baseurl
    if base:
        base = f"{base.rstrip('/')}/"
        found["og:url"] = urljoin(base, here)
    return found | {
        "og:image": urljoin(base, PICTURE) if base else relative_uri(here, PICTURE),
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": DRAWN,
        "twitter:card": "summary_large_image",
    }


def describe(app, pagename, templatename, context, doctree) -> None:
    """Write the tags into the page's head, Open Graph's with `property`, others with `name`."""
    title = re.sub(r"<[^>]+>", "", html.unescape(context.get("title") or "")) or app.config.project
    words = first_words(doctree) if doctree else ""
    words = words or PLAIN.get(pagename, "{project}: {title}").format(
        project=app.config.project, title=title
    )
    if pagename == app.config.root_doc:  # it would be the first page's title twice
        context["docstitle"] = ""
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n    <meta {"property" if name.startswith("og:") else "name"}="{name}" '
        f'content="{html.escape(value)}" />'
        for name, value in tags(app, pagename, title, words).items()
    )


def setup(app) -> None:
    app.connect("html-page-context", describe)
