"""Figures that a reader moves by hand, computed in the page: no kernel and no stored frames.

A figure NAME has these files. ``book/_ext/play/NAME.py`` draws its first state with the book's own
functions: ``drawn(ident)`` returns its HTML (made with ``play.figure``), which is a true figure
without scripts and on paper, and carries the numbers that the script needs as JSON.
``book/_assets/play-NAME.js`` computes every other state: pure functions under
``Play.compute.NAME``, which tests hold to Python's at many points, and ``Play.figure(NAME, …)``,
which brings the figure to life. ``book/_assets/play-NAME.css`` is its style, if it needs one of its
own. What figures share is in ``play/__init__.py``, ``play.js`` and ``play.css``.

``{play} NAME`` puts a figure into a page under ``book/``; chapters get theirs after cells that
`PLACES` names by id, so that a notebook needs no word about them. A page loads ``play.js``,
``play.css`` and the scripts of the figures that it has; a page without figures loads none.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import play
from book_chapters import cell_of
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ASSETS = Path(__file__).parents[1] / "_assets"
PLACES: dict[str, tuple[tuple[str, str], ...]] = {  # page: (id of the cell it follows, name), …
    "notebooks/02_similarity_geometry": (("code-011", "plane"),),
    "notebooks/04_layernorm_vs_batchnorm": (("explore-axes", "axes"),),
    "notebooks/05_attention_by_hand": (("worked-by-hand", "query"), ("code-021", "scores")),
    "notebooks/07_heads_masks_positions": (("code-033", "mask"),),
}


def placed(env, name: str, number: int) -> nodes.raw:
    """Give the figure of a name, the page's so-manyth; the page is read again when it changes."""
    module = import_module(f"play.{name}")
    for file in (__file__, play.__file__, module.__file__):
        env.note_dependency(str(file))
    html = module.drawn(f"play-{name}-{number}")
    return nodes.raw("", html, format="html", play=name)


class PlayDirective(SphinxDirective):
    """Put the figure here whose name is the argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Give the figure."""
        return [placed(self.env, self.arguments[0], self.env.new_serialno("play") + 1)]


def put_into_chapter(app, doctree) -> None:
    """Put figures behind the cells that `PLACES` names, in its order."""
    for number, (ident, name) in enumerate(PLACES.get(app.env.docname, ()), start=1):
        cell = cell_of(app, doctree, ident)
        at = cell.parent.index(cell) + 1
        cell.parent.insert(at, placed(app.env, name, number))


def names_in(doctree) -> list[str]:
    """Give the names of a page's figures, each once."""
    return list(
        dict.fromkeys(node["play"] for node in doctree.findall(nodes.raw) if "play" in node)
    )


def bring_scripts(app, pagename, templatename, context, doctree) -> None:
    """Let a page that has figures load what they need, and no other page."""
    names = names_in(doctree) if doctree is not None else []
    if not names:
        return
    for part in ("play", *(f"play-{name}" for name in names)):
        app.add_js_file(f"{part}.js", loading_method="defer")
        if (ASSETS / f"{part}.css").exists():
            app.add_css_file(f"{part}.css")


def setup(app) -> dict:
    app.add_directive("play", PlayDirective)
    app.connect("doctree-read", put_into_chapter, priority=310)
    app.connect("html-page-context", bring_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
