"""What a page shows of itself where somebody posts its address: a title, a sentence, a picture.

A picture needs a whole address, so there are pictures only where ``html: baseurl`` is set in
``_config.yml``, and where Chromium is there to draw them. A chapter's card has the figure that its
manifest names, other pages have the machine map.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes

from content.chapters import cells
from helpers.chapters import BY_NUMBER, CHAPTERS, Chapter

WIDTH, HEIGHT = 1200, 630
SUBTITLE = "An executable textbook on what happens inside a Transformer"
MAP = (11, "code-002")  # the machine map, with every part lit
CARD = """<!DOCTYPE html><meta charset="utf-8"><style>
body { margin: 0; padding: 44px 60px 36px; border-top: 14px solid #ffd24d; height: 536px;
  display: flex; flex-direction: column; gap: 14px; font: 25px system-ui, sans-serif;
  color: #59636f }
h1, footer { margin: 0; color: #1d2430; font-weight: 700 } h1 { font-size: 46px }
footer { font-size: 21px } svg { flex: 1; min-height: 0; width: 100%% }
</style><h1>%s</h1>%s%s<footer>%s</footer>"""
LONGEST = 160  # characters of a description; search engines show about as many
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
    """Return what a page starts with: of a chapter its question, of others the first paragraph."""
    paragraphs = [
        p
        for p in doctree.findall(nodes.paragraph)
        if isinstance(p.parent, nodes.section) and len(p.astext()) > 40
    ]
    asked = [p for p in paragraphs if p.astext().startswith("The question.")]
    chosen = (asked or paragraphs or [nodes.paragraph()])[0]
    return chosen.astext().removeprefix("The question.").strip()


def figure_of(chapter: Chapter, ident: str) -> tuple[str, str]:
    """Return the figure that a cell has stored, as SVG, and its words for those who see none.

    Raises: ValueError where there is not one.
    """
    found = [cell for cell in cells(chapter) if cell.get("id") == ident]
    svgs = [
        o["data"]["image/svg+xml"]
        for cell in found
        for o in cell.get("outputs", ())
        if "image/svg+xml" in o.get("data", {})
    ]
    if len(svgs) != 1:
        raise ValueError(
            f"{chapter.stem} should have one SVG in a cell {ident!r}, it has {len(svgs)}"
        )
    return "".join(svgs[0]), found[0]["metadata"]["mystnb"]["image"]["alt"]


def cards(project: str) -> dict[str, tuple[str, str, str, str]]:
    """Return each card's title, line, figure and words for those who do not see it, by its name."""
    found = {
        c.stem: (f"{c.number} · {c.title}", c.question, *figure_of(c, c.card)) for c in CHAPTERS
    }
    return found | {"book": (project, SUBTITLE, *figure_of(BY_NUMBER[MAP[0]], MAP[1]))}


def draw(browser, project: str, title: str, line: str, svg: str) -> bytes:
    """Return a card as PNG."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    drawing = svg[svg.index("<svg") :]
    page.set_content(CARD % (html.escape(title), html.escape(line), drawing, project))
    try:
        return page.screenshot()
    finally:
        page.close()


def write_cards(app) -> None:
    """Draw the cards into ``_static/og``, if the book has a home and there is a browser."""
    app.book_cards = {}
    if app.builder.format != "html" or not app.config.html_baseurl:
        return
    from playwright.sync_api import sync_playwright

    from book.browser import FLAGS, chromium

    with sync_playwright() as playwright:
        if path := chromium():
            app.book_cards = cards(app.config.project)
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            target = Path(app.outdir, "_static", "og")
            target.mkdir(parents=True, exist_ok=True)
            for name, (title, line, svg, _) in app.book_cards.items():
                drawn = draw(browser, app.config.project, title, line, svg)
                (target / f"{name}.png").write_bytes(drawn)
            browser.close()


def tags(app, pagename: str, title: str, words: str) -> dict[str, str]:
    """Return what the head of a page says of it, by name."""
    chapter = {chapter.docname: chapter for chapter in CHAPTERS}.get(pagename)
    found = {
        "description": shortened(words),
        "og:title": chapter.title if chapter else title,
        "og:description": chapter.question if chapter else shortened(words),
        "og:type": "website" if pagename == app.config.root_doc else "article",
        "og:site_name": app.config.project,
    }
    if base := app.config.html_baseurl:
        home = f"{base.rstrip('/')}/"
        found["og:url"] = urljoin(home, app.builder.get_target_uri(pagename))
        if app.book_cards:
            name = chapter.stem if chapter else "book"
            found |= {
                "og:image": urljoin(home, f"_static/og/{name}.png"),
                "og:image:width": str(WIDTH),
                "og:image:height": str(HEIGHT),
                "og:image:alt": app.book_cards[name][3],
                "twitter:card": "summary_large_image",
            }
    return found


def describe(app, pagename, templatename, context, doctree) -> None:
    """Write the tags into the page's head; Open Graph has a property, everything else a name."""
    title = re.sub(r"<[^>]+>", "", html.unescape(context.get("title") or "")) or app.config.project
    words = first_words(doctree) if doctree else ""
    words = words or PLAIN.get(pagename, "{project}: {title}").format(
        project=app.config.project, title=title
    )
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n    <meta {"property" if name.startswith("og:") else "name"}="{name}" '
        f'content="{html.escape(value)}" />'
        for name, value in tags(app, pagename, title, words).items()
    )


def setup(app) -> None:
    app.connect("builder-inited", write_cards)
    app.connect("html-page-context", describe)
