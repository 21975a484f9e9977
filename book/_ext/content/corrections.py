"""The corrections page: common claims that are wrong, with the right value computed at build time.

``{corrections}`` renders the corrections that the chapters own, chapter by chapter. Where a claim
was met stays in the data. Each entry's anchor is its slug.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from content.chapters import link_to
from helpers.chapters import CHAPTERS, Chapter, corrections


class Corrections(SphinxDirective):
    """All corrections, chapter by chapter."""

    def run(self) -> list[nodes.Node]:
        """Compute each right value and render the list."""
        found = [
            (chapter, [c for c in corrections() if int(c.chapter) == chapter.number])
            for chapter in CHAPTERS
        ]
        return [self.section(chapter, claims) for chapter, claims in found if claims]

    def section(self, chapter: Chapter, claims: list) -> nodes.section:
        """Render one chapter's corrections."""
        n = chapter.number
        section = nodes.section(ids=[f"chapter-{n:02d}"], names=[f"chapter {n:02d}"])
        section += nodes.title("", f"Chapter {n}: {chapter.title}")
        to_chapter = link_to(chapter, "the chapter", self.env.docname)
        section += nodes.paragraph(
            "", "", nodes.Text("Worked out in "), to_chapter, nodes.Text(".")
        )
        section.extend(map(self.entry, claims))
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


def setup(app) -> None:
    app.add_directive("corrections", Corrections)
