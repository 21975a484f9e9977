"""Placement of the interactive figures, and the scripts and styles that a page loads.

Chapters get theirs after the cells that their manifests name (``widgets``), so that a notebook
needs no word about them. A page loads what its raw nodes name in `assets`, the scripts of what
notebooks have stored (`WIDGETS`), and nothing else.
"""

from __future__ import annotations

from content.chapters import cell_of
from docutils import nodes

import play
from helpers.chapters import CHAPTERS
from play import chat, figures, gpt, watch

WIDGETS = {'class="explore"': "explorers.js", 'class="predict"': "predictions.js"}


def figure_node(name: str, number: int) -> nodes.raw:
    """Return the node of a figure, the page's `number`-th."""
    html = figures.html_of(name, f"play-{name}-{number}")
    assets = [*play.scripts_of(name), "play.css", f"play-{name}.css"]
    return nodes.raw("", html, format="html", assets=assets)


def insert_into_chapter(app, doctree) -> None:
    """Insert figures after the cells that the manifest names."""
    for chapter in CHAPTERS:
        here = chapter.widgets if chapter.docname == app.env.docname else ()
        for number, widget in enumerate(here, start=1):
            cell, name = cell_of(app, doctree, widget["after"]), widget["figure"]
            if name == "gpt":
                node = gpt.widget(widget["prompt"], widget["says"])
            elif name.startswith("chat"):
                node = chat.figure(name.removeprefix("chat-"))
            else:
                whole = {"watch": watch.widget, "reward": watch.reward}.get(name)
                node = whole() if whole else figure_node(name, number)
            at = cell.parent.index(cell) + 1 + widget.get("paragraphs", 0)
            cell.parent.insert(at, node)


def add_assets(app, pagename, templatename, context, doctree) -> None:
    """Load what a page's raw nodes name, each once."""
    found = list(doctree.findall(nodes.raw)) if doctree is not None else []
    stored = "".join(node.astext() for node in found)
    widgets = [script for mark, script in WIDGETS.items() if mark in stored]
    named = (name for node in found for name in node.get("assets", ()))
    for name in dict.fromkeys([*widgets, *named]):
        if name.endswith(".css"):
            app.add_css_file(name)
        else:
            app.add_js_file(name, loading_method="defer")


def setup(app) -> None:
    app.connect("doctree-read", insert_into_chapter, priority=310)
    app.connect("html-page-context", add_assets)
