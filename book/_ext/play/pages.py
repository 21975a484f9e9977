"""Placement of the interactive figures, and the scripts that a page loads for them.

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
    """Return (id of the cell before, name) of each figure of a chapter."""
    widgets = [w for chapter in CHAPTERS if chapter.docname == docname for w in chapter.widgets]
    if unknown := {w["figure"] for w in widgets} - {*figures.FIGURES, "gpt"}:
        raise ValueError(f"{docname}: no figure that plays is called {', '.join(sorted(unknown))}")
    return [(w["after"], w["figure"]) for w in widgets if w["figure"] != "gpt"]


def figure_node(env, name: str, number: int) -> nodes.raw:
    """Return the node of a figure, the page's `number`-th."""
    return nodes.raw("", figures.html_of(name, f"play-{name}-{number}"), format="html", play=name)


class PlayDirective(SphinxDirective):
    """The figure whose name is the argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the figure."""
        return [figure_node(self.env, self.arguments[0], self.env.new_serialno("play") + 1)]


def insert_into_chapter(app, doctree) -> None:
    """Insert figures after the cells that the manifest names."""
    for number, (ident, name) in enumerate(placements(app.env.docname), start=1):
        cell = cell_of(app, doctree, ident)
        at = cell.parent.index(cell) + 1
        cell.parent.insert(at, figure_node(app.env, name, number))


def figure_names(doctree) -> list[str]:
    """Return the names of a page's figures, each once."""
    return list(
        dict.fromkeys(node["play"] for node in doctree.findall(nodes.raw) if "play" in node)
    )


def add_assets(app, pagename, templatename, context, doctree) -> None:
    """Load scripts and styles on pages that have figures."""
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
