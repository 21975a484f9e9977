"""The page of common misconceptions: claims that are wrong, answered as the page is built.

``{corrections}`` renders the claims that the chapters own, chapter by chapter. The anchor of each
is its slug.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from content.markdown import link
from helpers.chapters import CHAPTERS, Chapter, corrections


class Corrections(SphinxDirective):
    """All corrections, chapter by chapter."""

    def run(self) -> list[nodes.Node]:
        """Compute each right value and render the list."""
        found = [(one, [c for c in corrections() if c.chapter == one.number]) for one in CHAPTERS]
        return [self.section(chapter, claims) for chapter, claims in found if claims]

    def section(self, chapter: Chapter, claims: list) -> nodes.section:
        """Render one chapter's corrections."""
        n = chapter.number
        section = nodes.section(ids=[f"chapter-{n:02d}"], names=[f"chapter {n:02d}"])
        section += nodes.title("", f"Chapter {n}: {chapter.title}")
        for c in claims:
            card = nodes.container(classes=["correction"], ids=[c.slug])
            card.extend(
                self.parse_text_to_nodes(
                    f"**{c.claim}**\n\n{c.says}\n\n**Computed.** {c.right()}\n\n**Why it fails.** "
                    f"{c.why}\n\nShown in {link(chapter, c.section)}"
                )
            )
            section += card
        self.state.document.note_explicit_target(section, section)
        return section


def setup(app) -> None:
    app.add_directive("corrections", Corrections)
