"""The chapters of the book as data, a list of them for the index, and links to them by number.

``{chapters}`` renders all twelve, linked where the notebook is in the book. ``{introduced}`05` ``
links to a chapter that exists and leaves nothing behind for one that does not. Pages that used
either are read again when a chapter arrives.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective, SphinxRole


class Chapter(NamedTuple):
    """One chapter: its number, the stem of its notebook, its title and its question."""

    number: int
    stem: str
    title: str
    question: str

    @property
    def docname(self) -> str:
        """The name by which Sphinx knows the notebook."""
        return f"notebooks/{self.stem}"


CHAPTERS = (
    Chapter(1, "01_embeddings_as_features", "Embeddings as features", "What is in a token's row?"),
    Chapter(2, "02_similarity_geometry", "Similarity geometry", "When are two vectors alike?"),
    Chapter(3, "03_bigram_table", "The bigram table", "How far does the last character get you?"),
    Chapter(
        4,
        "04_layernorm_vs_batchnorm",
        "LayerNorm and BatchNorm, axis by axis",
        "Whose mean is subtracted from whom?",
    ),
    Chapter(
        5,
        "05_attention_by_hand",
        "Attention worked by hand",
        "How does one token read the others?",
    ),
    Chapter(
        6, "06_scaling_by_sqrt_dk", "Why divide by √dₖ", "Why that divisor, and does it matter?"
    ),
    Chapter(
        7,
        "07_heads_masks_positions",
        "Heads, masks and positions",
        "Who may read whom, and how is order known?",
    ),
    Chapter(
        8,
        "08_residual_add_and_norm",
        "Residual, Add & Norm, feed-forward",
        "What does a block add to what it was given?",
    ),
    Chapter(
        9,
        "09_prenorm_vs_postnorm",
        "Pre-norm and post-norm at depth",
        "Where should the norm stand when there are many layers?",
    ),
    Chapter(10, "10_initialisation", "Initialisation", "How large should the first weights be?"),
    Chapter(11, "11_small_gpt", "A small GPT, trained", "What do the parts do together?"),
    Chapter(12, "12_inside_the_gpt", "Inside the trained GPT", "What has it learned to read?"),
)
BY_NUMBER = {chapter.number: chapter for chapter in CHAPTERS}
BY_NAME = {chapter.stem.partition("_")[2]: chapter for chapter in CHAPTERS}


def svg_link(body: str, where: str | None, name: str) -> str:
    """Return a part of an SVG as a link of that name, or as a mere group where it leads nowhere."""
    if where is None:
        return f"<g>{body}</g>"
    return f'<a href="{where}" aria-label="{html.escape(name)}">{body}</a>'


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


def cell_of(app, doctree, ident: str) -> nodes.container:
    """Return what the page that is read has of a cell, by the cell's id. Raises: ValueError."""
    file = Path(app.env.doc2path(app.env.docname))
    ids = [cell.get("id") for cell in json.loads(file.read_text("utf-8"))["cells"]]
    found = [node for node in doctree.findall(nodes.container)
             if "cell_index" in node and ids[node["cell_index"]] == ident]  # fmt: skip
    if len(found) != 1:
        raise ValueError(f"{file.name} should show one cell {ident!r}, it shows {len(found)}")
    return found[0]


def remember(env, docname: str) -> None:
    """Have a page read again when a chapter arrives."""
    if not hasattr(env, "book_chapter_pages"):
        env.book_chapter_pages = set()
    env.book_chapter_pages.add(docname)


class ChapterList(SphinxDirective):
    """A list of all chapters with their questions."""

    def run(self) -> list[nodes.Node]:
        """Render the list."""
        remember(self.env, self.env.docname)
        items = nodes.bullet_list(classes=["chapter-list"])
        for chapter in CHAPTERS:
            exists = chapter.docname in self.env.found_docs
            line = nodes.paragraph()
            line += nodes.inline("", f"{chapter.number}", classes=["chapter-number"])
            line += nodes.Text(" ")
            if exists:
                line += link_to(chapter, chapter.title, self.env.docname)
            else:
                line += nodes.inline("", chapter.title)
            line += nodes.Text(" ")
            question = chapter.question + ("" if exists else " (to come)")
            line += nodes.inline("", question, classes=["chapter-question"])
            items += nodes.list_item("", line, classes=[] if exists else ["to-come"])
        return [items]


class Introduced(SphinxRole):
    """The chapter that introduces something, as a link, if the book has it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Render the link, or nothing."""
        remember(self.env, self.env.docname)
        if not (self.text.isdigit() and int(self.text) in BY_NUMBER):
            raise ValueError(f"introduced should name a chapter, 1 to 12, got {self.text!r}")
        chapter = BY_NUMBER[int(self.text)]
        if chapter.docname not in self.env.found_docs:
            return [], []
        where = nodes.inline("", "", classes=["introduced"])
        where += link_to(chapter, f"Chapter {chapter.number}", self.env.docname)
        return [where], []


def read_again(app, env, added, changed, removed) -> list[str]:
    """Name the pages that link to chapters, when the set of chapters has changed."""
    found = sorted(doc for doc in env.found_docs if doc.startswith("notebooks/"))
    stale = getattr(env, "book_chapters_found", found) != found
    env.book_chapters_found = found
    pages = getattr(env, "book_chapter_pages", set()) & env.found_docs
    return sorted(pages) if stale else []


def setup(app) -> dict:
    app.add_directive("chapters", ChapterList)
    app.add_role("introduced", Introduced())
    app.connect("env-get-outdated", read_again)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
