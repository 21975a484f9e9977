"""Where figures that a reader moves stand, and the scripts that a page loads for them.

``{play} NAME`` puts a figure into a page under ``book/``; chapters get theirs after the cells that
their manifests name (``widgets``), so that a notebook needs no word about them. A page loads
``play.js``, ``play.css`` and the scripts of the figures that it has; a page without any loads none.
"""

from __future__ import annotations

from content.chapters import cell_of
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import play
from helpers.chapters import CHAPTERS
from play import figures


def placements(docname: str) -> list[tuple[str, str]]:
    """Give the figures of a chapter's page: the id of the cell that each follows, and its name."""
    widgets = [w for chapter in CHAPTERS if chapter.docname == docname for w in chapter.widgets]
    if unknown := {w["figure"] for w in widgets} - {*figures.FIGURES, "gpt"}:
        raise ValueError(f"{docname}: no figure that plays is called {', '.join(sorted(unknown))}")
    return [(w["after"], w["figure"]) for w in widgets if w["figure"] != "gpt"]


def figure_node(env, name: str, number: int) -> nodes.raw:
    """Give the figure of a name, the page's first, second, …"""
    return nodes.raw("", figures.html_of(name, f"play-{name}-{number}"), format="html", play=name)


class PlayDirective(SphinxDirective):
    """Put the figure here whose name is the argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Give the figure."""
        return [figure_node(self.env, self.arguments[0], self.env.new_serialno("play") + 1)]


def insert_into_chapter(app, doctree) -> None:
    """Put figures behind the cells that the manifest names, in its order."""
    for number, (ident, name) in enumerate(placements(app.env.docname), start=1):
        cell = cell_of(app, doctree, ident)
        at = cell.parent.index(cell) + 1
        cell.parent.insert(at, figure_node(app.env, name, number))


def figure_names(doctree) -> list[str]:
    """Give the names of a page's figures, each once."""
    return list(
        dict.fromkeys(node["play"] for node in doctree.findall(nodes.raw) if "play" in node)
    )


def add_assets(app, pagename, templatename, context, doctree) -> None:
    """Let a page that has figures load what they need, and no other page."""
    names = figure_names(doctree) if doctree is not None else []
    if not names:
        return
    for part in ("play", *(f"play-{name}" for name in names)):
        app.add_js_file(f"{part}.js", loading_method="defer")
        if (play.ASSETS / f"{part}.css").exists():
            app.add_css_file(f"{part}.css")


def setup(app) -> None:
    app.add_directive("play", PlayDirective)
    app.connect("doctree-read", insert_into_chapter, priority=310)
    app.connect("html-page-context", add_assets)
