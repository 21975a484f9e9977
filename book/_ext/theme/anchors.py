"""Ordinary Markdown links reach every anchor, not only headings.

``[softmax](../book/glossary.md#term-softmax)`` and a link to one correction are checked like any
other link: an anchor that is not there is a warning, and warnings fail the build.
"""

from __future__ import annotations

from docutils import nodes


def register_ids(app, doctree) -> None:
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for node in doctree.findall(nodes.Element):
        for ident in node.get("ids", ()):
            slugs.setdefault(ident, (node.line or 0, ident, node.astext()[:60]))


def setup(app) -> None:
    app.connect("doctree-read", register_ids, priority=900)
