"""The corrections page: common claims that are wrong, with the right value computed at build time.

``{corrections}`` renders ``helpers.corrections.CORRECTIONS``, grouped by chapter. Where a claim was
met stays in the data. Each entry's anchor is its slug.
"""

from __future__ import annotations

from pathlib import Path

from book_chapters import BY_NUMBER, link_to
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from helpers.corrections import CORRECTIONS


class Corrections(SphinxDirective):
    """All corrections, chapter by chapter."""

    def run(self) -> list[nodes.Node]:
        """Compute each right value and render the list."""
        for file in sorted(Path(self.env.srcdir, "helpers").glob("**/*.py")):
            self.env.note_dependency(str(file))  # a change to any helper makes the page anew
        chapters = sorted({int(correction.chapter) for correction in CORRECTIONS})
        return [self.section(n, [c for c in CORRECTIONS if int(c.chapter) == n])
                for n in chapters]  # fmt: skip

    def section(self, n: int, corrections: list) -> nodes.section:
        """Render one chapter's corrections."""
        chapter = BY_NUMBER[n]
        section = nodes.section(ids=[f"chapter-{n:02d}"], names=[f"chapter {n:02d}"])
        section += nodes.title("", f"Chapter {n}: {chapter.title}")
        if chapter.docname in self.env.found_docs:
            to_chapter = link_to(chapter, "the chapter", self.env.docname)
            section += nodes.paragraph(
                "", "", nodes.Text("Worked out in "), to_chapter, nodes.Text(".")
            )
        section.extend(self.entry(correction) for correction in corrections)
        self.state.document.note_explicit_target(section, section)
        return section

    def entry(self, correction) -> nodes.container:
        """Render one correction as a card."""
        card = nodes.container(classes=["correction"], ids=[correction.slug])
        rows = nodes.definition_list()
        for label, text in (
            ("Claim", correction.claim),
            ("It says", correction.says),
            ("Computed", correction.shown()),
            ("Why", correction.why),
        ):
            body = nodes.definition()
            body.extend(self.parse_text_to_nodes(str(text)))
            kind = nodes.make_id(label.split()[-1])
            rows += nodes.definition_list_item(
                "", nodes.term("", label), body, classes=[f"correction-{kind}"]
            )
        card += rows
        return card


def setup(app) -> dict:
    app.add_directive("corrections", Corrections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
