"""The topics page: ``{topics}`` lists topics from A to Z, with their sections in the manifests."""

from __future__ import annotations

import re
import unicodedata

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from content.markdown import link
from helpers.chapters import CHAPTERS, Chapter


def by_topic() -> dict[str, list[tuple[Chapter, str]]]:
    """Return the sections of each topic, topics from A to Z."""
    found: dict[str, list[tuple[Chapter, str]]] = {}
    for chapter in CHAPTERS:
        for section in chapter.sections:
            for topic in section.topics:
                found.setdefault(topic, []).append((chapter, section.heading))
    return dict(sorted(found.items(), key=lambda item: sorting_key(item[0])))


def sorting_key(topic: str) -> str:
    """Return the sorting key of a topic: letters and digits, without accents."""
    plain = unicodedata.normalize("NFKD", topic.casefold()).replace("√", "root ")
    spelt = plain.replace("γ", "gamma").replace("ε", "epsilon")
    return re.sub(r"[^a-z0-9 ]", "", spelt).strip()


def section_link(chapter: Chapter, heading: str) -> str:
    return f"<span class='where'>{chapter.number} · {link(chapter, heading)}</span>"


def topic_lines() -> dict[str, str]:
    """Return, for each letter, a definition list in Markdown: a topic, then its sections."""
    letters: dict[str, str] = {}
    for topic, sections in by_topic().items():
        letter = sorting_key(topic)[0].upper()
        where = "<br>".join(section_link(*section) for section in sections)
        letters[letter] = f"{letters.get(letter, '')}{topic}\n: {where}\n\n"
    return letters


class Topics(SphinxDirective):
    """Topics from A to Z, a definition list for each letter."""

    def run(self) -> list[nodes.Node]:
        """Render the lists."""
        lists = []
        for letter, markdown in topic_lines().items():
            box = nodes.container(classes=["topic-list"])
            box += nodes.paragraph("", letter, classes=["topic-label"])
            box.extend(self.parse_text_to_nodes(markdown))
            lists.append(box)
        return lists


def setup(app) -> None:
    app.add_directive("topics", Topics)
