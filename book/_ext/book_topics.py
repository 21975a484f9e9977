"""The page of topics and misconceptions: each with the section that treats it.

``{topics}`` turns ``book/topics.yml`` (sections with their topics) round: topics from A to Z with
their sections. ``{misconceptions}`` lists the corrections with the sections on which they rest,
``{guesses}`` the wrong answers to predictions, which are read from the stored outputs of the
chapters, so that a new prediction needs no entry.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

import yaml
from book_chapters import BY_NUMBER, CHAPTERS
from book_lecture import cells, link, notebook
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from helpers.corrections import CORRECTIONS

ROOT = Path(__file__).parents[2]
DATA = ROOT / "book" / "topics.yml"
NO_TOPICS = ("Exercises", "What we showed")  # sections that need no entry


class Guess(NamedTuple):
    """A prediction: its section, its question, and the wrong answers with their replies (HTML)."""

    heading: str
    question: str
    replies: dict[str, str]


def topics() -> dict[int, dict[str, dict]]:
    """Return the data: for each chapter its sections, each with topics and corrections."""
    return yaml.safe_load(DATA.read_text("utf-8"))


def by_topic(data: dict) -> dict[str, list[tuple[int, str]]]:
    """Return the sections of each topic, topics from A to Z."""
    found: dict[str, list[tuple[int, str]]] = {}
    for number, sections in data.items():
        for heading, entry in sections.items():
            for topic in entry["topics"]:
                found.setdefault(topic, []).append((number, heading))
    return dict(sorted(found.items(), key=lambda item: sorting_key(item[0])))


def sorting_key(topic: str) -> str:
    """Return what a topic is sorted by: letters and digits alone, without accents."""
    plain = unicodedata.normalize("NFKD", topic.casefold()).replace("√", "root ")
    spelt = plain.replace("γ", "gamma").replace("ε", "epsilon")
    return re.sub(r"[^a-z0-9 ]", "", spelt).strip()


def section_link(number: int, heading: str) -> str:
    return f"<span class='where'>{number} · {link(number, heading)}</span>"


def topic_lines(data: dict) -> list[tuple[str, str]]:
    """Return, for each letter, a definition list in Markdown: a topic, then its sections."""
    letters: dict[str, list[str]] = {}
    for topic, sections in by_topic(data).items():
        letter = sorting_key(topic)[0].upper()
        where = "<br>".join(section_link(*section) for section in sections)
        letters.setdefault(letter, []).append(f"{topic}\n: {where}\n")
    return [(letter, "\n".join(lines)) for letter, lines in letters.items()]


def misconception_lines(data: dict) -> list[tuple[int, str]]:
    """Return, for each chapter, its corrections as a definition list in Markdown."""
    rests = {
        slug: (number, heading)
        for number, sections in data.items()
        for heading, entry in sections.items()
        for slug in entry.get("corrections", ())
    }
    found: dict[int, list[str]] = {}
    for correction in CORRECTIONS:
        claim = f"[{correction.claim}](corrections.md#{correction.slug})"
        where = section_link(*rests[correction.slug])
        found.setdefault(int(correction.chapter), []).append(f"{claim}\n: {where}\n")
    return [(number, "\n".join(lines)) for number, lines in sorted(found.items())]


def guesses(number: int) -> list[Guess]:
    """Return a chapter's predictions whose wrong answers have replies, from its stored outputs."""
    heading, asked, found = "", {}, []
    for cell in cells(number):
        if cell["cell_type"] == "markdown":
            for line in cell["source"].splitlines():
                heading = line[3:].strip() if line.startswith("## ") else heading
        for output in cell.get("outputs", ()):
            page = "".join(output.get("data", {}).get("text/html", ""))
            for form in re.finditer(
                r'<form class="predict".*?data-key="(\w+)".*?</b> (.*?)</legend>', page, re.DOTALL
            ):
                asked[form[1]] = (heading, form[2])
            for told in re.finditer(r'data-key="(\w+)" data-kind="\w+" data-told="(.*?)"', page):
                replies = json.loads(html.unescape(told[2]))["replies"]
                if replies and told[1] in asked:
                    found.append(Guess(*asked[told[1]], replies))
    return found


def guesses_html(number: int, address) -> str:
    """Return a chapter's predictions, folded; ``address`` gives the address of a section."""
    asked = guesses(number)
    many = sum(len(guess.replies) for guess in asked)
    entries = "".join(
        f'<dt>{guess.question} <span class="where">{number} · <a href="'
        f'{html.escape(address(guess.heading))}">{html.escape(guess.heading)}</a></span></dt><dd>'
        + "".join(
            f"<p><b>{html.escape(choice)}</b>: {reply}</p>"
            for choice, reply in guess.replies.items()
        )
        + "</dd>"
        for guess in asked
    )
    chapter = BY_NUMBER[number]
    return (
        f"<details><summary>Chapter {number}, {html.escape(chapter.title)}: {many} wrong answers "
        f'to {len(asked)} questions</summary><dl class="guesses">{entries}</dl></details>'
    )


class Listed(SphinxDirective):
    """What the three directives share: what the page depends on."""

    def run(self) -> list[nodes.Node]:
        """Render the list."""
        files = (DATA, Path(__file__), *(ROOT / "helpers" / "corrections").glob("*.py"),
                 *(notebook(chapter.number) for chapter in CHAPTERS))  # fmt: skip
        for file in files:
            self.env.note_dependency(str(file))
        return self.listed()

    def held(self, kind: str, label: str, markdown: str) -> nodes.container:
        """Return a list under a label."""
        box = nodes.container(classes=[kind])
        box += nodes.paragraph("", label, classes=["topic-label"])
        box.extend(self.parse_text_to_nodes(markdown))
        return box


class Topics(Listed):
    """Topics from A to Z."""

    def listed(self) -> list[nodes.Node]:
        """Return a list for each letter."""
        return [self.held("topic-list", *lines) for lines in topic_lines(topics())]


class Misconceptions(Listed):
    """Corrections and the sections on which they rest."""

    def listed(self) -> list[nodes.Node]:
        """Return a list for each chapter."""
        return [
            self.held("topic-list", f"Chapter {number}: {BY_NUMBER[number].title}", lines)
            for number, lines in misconception_lines(topics())
        ]


class Guesses(Listed):
    """Wrong answers to predictions."""

    def listed(self) -> list[nodes.Node]:
        """Return what is folded, chapter by chapter."""
        uri = self.env.app.builder.get_relative_uri

        def page(number: int) -> str:
            docname = BY_NUMBER[number].docname

            def address(heading: str) -> str:
                return f"{uri(self.env.docname, docname)}#{nodes.make_id(heading)}"

            return guesses_html(number, address)

        known = [c.number for c in CHAPTERS if c.docname in self.env.found_docs]
        return [nodes.raw("", page(number), format="html") for number in known]


def setup(app) -> dict:
    for name, directive in (("topics", Topics), ("misconceptions", Misconceptions),
                            ("guesses", Guesses)):  # fmt: skip
        app.add_directive(name, directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
