"""The list of chapters, and links to chapters by number.

``{chapters} 4 10`` lists the chapters from 4 to 10 with their questions, ``{introduced}`05` ``
links to one. The foot of a chapter says when its outputs were computed.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from helpers.chapters import BY_NUMBER, CHAPTERS, Chapter


def cell_of(app, doctree, ident: str) -> nodes.container:
    """Return the node of a cell, given its id, in the page being read. Raises: ValueError."""
    file = Path(app.env.doc2path(app.env.docname))
    ids = [cell.get("id") for cell in json.loads(file.read_text("utf-8"))["cells"]]
    found = [
        node
        for node in doctree.findall(nodes.container)
        if "cell_index" in node and ids[node["cell_index"]] == ident
    ]
    if len(found) != 1:
        raise ValueError(f"{file.name} should show one cell {ident!r}, it shows {len(found)}")
    return found[0]


def link_to(chapter: Chapter, text: str, docname: str) -> nodes.Node:
    """Return a reference to a chapter that is in the book."""
    return addnodes.pending_xref(
        "",
        nodes.inline("", text),
        refdomain="std",
        reftype="doc",
        reftarget=f"/{chapter.docname}",
        refexplicit=True,
        refdoc=docname,
    )


class ChapterList(SphinxDirective):
    """A list of chapters, from a number to a number, with their questions."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Render the list."""
        first, last = map(int, self.arguments)
        items = nodes.bullet_list(classes=["chapter-list"])
        for chapter in CHAPTERS:
            if not first <= chapter.number <= last:
                continue
            line = nodes.paragraph()
            line += nodes.inline("", f"{chapter.number}", classes=["chapter-number"])
            line += nodes.Text(" ")
            line += link_to(chapter, chapter.title, self.env.docname)
            line += nodes.Text(" ")
            line += nodes.inline("", chapter.question, classes=["chapter-question"])
            items += nodes.list_item("", line)
        return [items]


class Introduced(SphinxRole):
    """The chapter that introduces something, as a link."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Render the link."""
        chapter = BY_NUMBER[int(self.text)]
        where = nodes.inline("", "", classes=["introduced"])
        where += link_to(chapter, f"Chapter {chapter.number}", self.env.docname)
        return [where], []


def add_stamp(app, pagename, templatename, context, doctree) -> None:
    """Add date, versions and device of a chapter's outputs to its footer."""
    file = Path(app.srcdir, "book", "outputs.json")
    stamps = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if stamp := stamps.get(pagename.removeprefix("notebooks/")):
        versions = ", ".join(f"{name} {version}" for name, version in stamp["versions"].items())
        context["book_stamp"] = (
            f"The outputs on this page were computed on {stamp['computed']} with {versions} on "
            f"{stamp['device']}; {stamp['cells']} cells took {stamp['seconds']:.0f} s."
        )


def setup(app) -> None:
    app.connect("html-page-context", add_stamp)
    app.add_directive("chapters", ChapterList)
    app.add_role("introduced", Introduced())
