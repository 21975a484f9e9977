"""The head of a page, and the names of its landmarks."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup

# Icons (1.5 MB), what maths.py does at the build, and the search that search.js replaces.
NEEDLESS = re.compile(r"fontawesome\.js|/mathjax\.js|(searchtools|language_data|searchindex)\.js")
THEME = re.compile(r"document\.documentElement\.dataset\.theme = localStorage[^;]*;")
CHOSEN = (
    'document.documentElement.dataset.theme = (mode => mode !== "auto" ? mode : '
    'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'
    "(document.documentElement.dataset.mode);"
)
FACE = 'document.fonts.forEach(face => face.family === "Literata" && face.load())'
SIDEBARS = {
    "pst-primary-sidebar": {"role": "region", "aria-label": "This book"},
    "pst-primary-sidebar-modal": {"aria-label": "This book"},
    "pst-secondary-sidebar-modal": {"aria-label": "On this page"},
}
RENAMED = {
    "Toggle primary sidebar": "Contents of the book",
    "Toggle secondary sidebar": "On this page",
    "Color mode": "Light or dark",
}


def defer_scripts(page) -> None:
    """Defer scripts, and drop those that the page does not need."""
    for script in page.soup.find_all("script"):
        source, words = script.get("src", ""), script.string or ""
        if (
            NEEDLESS.search(source)
            or "window.MathJax = " in words
            or words.startswith("DOCUMENTATION_OPTIONS.")
        ):
            script.decompose()
        elif source and not script.has_attr("async"):
            script["defer"] = "defer"
    needless = page.soup.head.select('link[rel="preload"][as="script"], meta[name^="docsearch:"]')
    for tag in [*needless, *page.soup.head.select('meta[name="viewport"]')[1:]]:
        tag.decompose()


def set_initial_theme(page) -> None:
    """Set light or dark before the first paint, so that no page flashes."""
    for script in page.soup.head.select("script:not([src])"):
        script.string = THEME.sub(lambda _: CHOSEN, script.string or "")


def load_text_font(page) -> None:
    """Load the text font, which static.inline_text_font inlines, before any line is laid out."""
    page.soup.head.append(page.soup.new_tag("script", string=FACE))


def name_landmarks(page) -> None:
    """Give sidebars and their buttons accessible names; the index's columns are no table."""
    for ident, names in SIDEBARS.items():
        if tag := page.soup.find(id=ident):
            tag.attrs.update(names)
    for tag in page.soup.find_all(True):
        for name in ("title", "aria-label", "data-bs-title"):
            if tag.get(name) in RENAMED:
                tag[name] = RENAMED[tag[name]]
    for table in page.soup.find_all("table", class_="indextable"):
        table["role"] = "presentation"


def noscript_nav(page) -> None:
    """Add a link at the top to the list of chapters, for browsers without scripts."""
    if button := page.soup.select_one("button.primary-toggle"):
        link = '<noscript><a href="#pst-primary-sidebar">Chapters</a></noscript>'
        button.insert_after(BeautifulSoup(link, "html.parser"))
