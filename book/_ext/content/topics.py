"""The page of topics and misconceptions, and what search knows besides the words of a page.

``{topics}`` turns the sections of the manifests round: topics from A to Z with their sections.
``{misconceptions}`` lists the corrections with the sections on which they rest, ``{guesses}`` the
wrong answers to predictions, read from the stored outputs of the chapters. Search gets each topic
and usual term as a title of its section, since headings that are questions do not say what a
section is about, and each term of the glossary: *residual stream* leads to both.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from typing import NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from content.chapters import MANIFESTS, NOTEBOOKS, cells, depend
from content.markdown import link
from helpers.chapters import BY_NUMBER, CHAPTERS, Chapter, corrections

Where = tuple[Chapter, str]  # a section: its chapter and its heading


class Guess(NamedTuple):
    """A prediction: its section, its question, and the wrong answers with their replies (HTML)."""

    heading: str
    question: str
    replies: dict[str, str]


def by_topic() -> dict[str, list[Where]]:
    """Return the sections of each topic, topics from A to Z."""
    found: dict[str, list[Where]] = {}
    for chapter in CHAPTERS:
        for section in chapter.sections:
            for topic in section.topics:
                found.setdefault(topic, []).append((chapter, section.heading))
    return dict(sorted(found.items(), key=lambda item: sorting_key(item[0])))


def sorting_key(topic: str) -> str:
    """Return what a topic is sorted by: letters and digits alone, without accents."""
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


def misconception_lines() -> dict[str, str]:
    """Return, for each chapter, its corrections as a definition list in Markdown."""
    rests = {
        slug: (chapter, section.heading)
        for chapter in CHAPTERS
        for section in chapter.sections
        for slug in section.corrections
    }
    found: dict[str, str] = {}
    for correction in corrections():
        chapter = BY_NUMBER[int(correction.chapter)]
        label = f"Chapter {chapter.number}: {chapter.title}"
        claim = f"[{correction.claim}](corrections.md#{correction.slug})"
        where = section_link(*rests[correction.slug])
        found[label] = f"{found.get(label, '')}{claim}\n: {where}\n\n"
    return found


def guesses(chapter: Chapter) -> list[Guess]:
    """Return a chapter's predictions whose wrong answers have replies, from its stored outputs."""
    heading, asked, found = "", {}, []
    for cell in cells(chapter):
        if cell["cell_type"] == "markdown":
            for line in cell["source"].splitlines():
                if line.startswith(("## ", "### ")):
                    heading = line.lstrip("#").strip()
        for output in cell.get("outputs", ()):
            page = "".join(output.get("data", {}).get("text/html", ""))
            for form in re.finditer(
                r'<form class="predict".*?data-key="(\w+)".*?</b> (.*?)</legend>', page, re.DOTALL
            ):
                asked[form[1]] = (heading, form[2])
            for result in re.finditer(r'data-key="(\w+)" data-kind="\w+" data-told="(.*?)"', page):
                replies = json.loads(html.unescape(result[2]))["replies"]
                if replies and result[1] in asked:
                    found.append(Guess(*asked[result[1]], replies))
    return found


def guesses_html(chapter: Chapter, page: str) -> str:
    """Return a chapter's predictions, folded; ``page`` is the chapter's address."""
    asked = guesses(chapter)
    many = sum(len(guess.replies) for guess in asked)
    entries = "".join(
        f'<dt>{guess.question} <span class="where">{chapter.number} · '
        f'<a href="{page}#{nodes.make_id(guess.heading)}">{html.escape(guess.heading)}</a></span>'
        "</dt><dd>"
        + "".join(
            f"<p><b>{html.escape(choice)}</b>: {reply}</p>"
            for choice, reply in guess.replies.items()
        )
        + "</dd>"
        for guess in asked
    )
    return (
        f"<details><summary>Chapter {chapter.number}, {html.escape(chapter.title)}: {many} wrong "
        f'answers to {len(asked)} questions</summary><dl class="guesses">{entries}</dl></details>'
    )


# --- the page -----------------------------------------------------------------------------------


class Listed(SphinxDirective):
    """Definition lists under labels."""

    def run(self) -> list[nodes.Node]:
        """Render them; a change to a manifest or a notebook makes the page anew."""
        depend(self.env, __file__, *MANIFESTS, *NOTEBOOKS)
        return [self.held(*lines) for lines in self.lines().items()]

    def held(self, label: str, markdown: str) -> nodes.container:
        """Return a list under a label."""
        box = nodes.container(classes=["topic-list"])
        box += nodes.paragraph("", label, classes=["topic-label"])
        box.extend(self.parse_text_to_nodes(markdown))
        return box


class Topics(Listed):
    """Topics from A to Z."""

    lines = staticmethod(topic_lines)


class Misconceptions(Listed):
    """Corrections and the sections on which they rest."""

    lines = staticmethod(misconception_lines)


class Guesses(SphinxDirective):
    """Wrong answers to predictions, folded chapter by chapter."""

    def run(self) -> list[nodes.Node]:
        """Render those of the chapters that the book has."""
        depend(self.env, __file__, *NOTEBOOKS)
        address = self.env.app.builder.get_relative_uri
        known = [chapter for chapter in CHAPTERS if chapter.docname in self.env.found_docs]
        return [
            nodes.raw("", guesses_html(c, address(self.env.docname, c.docname)), format="html")
            for c in known
        ]


# --- search -------------------------------------------------------------------------------------


def entries(env, titles: dict[str, list]) -> list[tuple[str, str, str]]:
    """Return what search is to know: a page's name, a title and the place that it leads to."""
    page, terms = getattr(env, "book_glossary", ("", {}))
    found = [(page, term, ident) for term, (ident, _) in terms.items()]
    for chapter in CHAPTERS:
        places = {title: ident for title, ident in titles.get(chapter.docname, ()) if ident}
        found += [
            (chapter.docname, topic.replace("`", ""), places[section.heading])
            for section in chapter.sections
            if section.heading in places
            for topic in (*section.terms, *section.topics)
        ]
    return found


def enter(app) -> list:
    """Enter it at every build, each title once: Sphinx forgets terms of a page left unwritten.

    Its own entries of the glossary's terms go: they would stand before the sections, in a first
    build alone. So do words that no page has any more.
    """
    indexer = getattr(app.builder, "indexer", None)
    if indexer is not None:
        indexer._index_entries.clear()
        for words in (indexer._mapping, indexer._title_mapping):
            for gone in [word for word, pages in words.items() if not pages]:
                del words[gone]
        titles = indexer._all_titles
        for docname, title, ident in entries(app.env, titles):
            if (title, ident) not in titles.get(docname, [(title, ident)]):
                titles[docname].append((title, ident))
    return []


def setup(app) -> None:
    app.add_directive("topics", Topics)
    app.add_directive("misconceptions", Misconceptions)
    app.add_directive("guesses", Guesses)
    app.connect("html-collect-pages", enter)
