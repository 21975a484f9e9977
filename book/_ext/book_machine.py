"""The machine map of the first page: the whole GPT from top to bottom, its parts links to chapters.

``{machine}`` draws it as SVG that takes its colours from the page. It is the chapters' own map
(``helpers/figures/machine.py``) set upright, so that it can be read on a telephone: the same parts
in the same order, boxes that light up, the dotted frame round what is repeated. Which chapter takes
a part to pieces is said by the chapter's name; its number and title come from ``CHAPTERS``.
"""

from __future__ import annotations

import html
import itertools
import textwrap
from typing import NamedTuple

from book_chapters import BY_NAME, Chapter, remember, svg_link
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

PARTS = (  # name as on the chapters' map, words, the chapters that take it to pieces
    ("ids", "token ids", ["embeddings_as_features"]),
    ("embedding", "embedding", ["embeddings_as_features", "similarity_geometry"]),
    ("position", "position", ["heads_masks_positions"]),
    ("norm 1", "norm", ["layernorm_vs_batchnorm"]),
    ("attention", "attention",
     ["attention_by_hand", "scaling_by_sqrt_dk", "heads_masks_positions"]),
    ("add 1", "+", ["residual_add_and_norm"]),
    ("norm 2", "norm", ["prenorm_vs_postnorm"]),
    ("feed-forward", "feed-forward", ["residual_add_and_norm"]),
    ("add 2", "+", ["residual_add_and_norm"]),
    ("norm 3", "norm", ["prenorm_vs_postnorm"]),
    ("output table", "output table", ["bigram_table"]),
    ("probabilities", "next-token probabilities", ["bigram_table"]),
)  # fmt: skip
WHOLE = ["initialisation", "small_gpt", "inside_the_gpt"]
LAYER = ("norm 1", "add 2")  # the first and the last part of what is repeated
BYPASS = (("norm 1", "add 1"), ("norm 2", "add 2"))

WIDE, MIDDLE, BOX, PLUS = 344, 90, 116, 34  # widths and places, in px
HIGH, GAP, LINE, BESIDE, LETTERS, REACH = 34, 13, 17, 166, 25, 27


class Link(NamedTuple):
    """A chapter beside the map: where it stands, and its lines of text."""

    chapter: Chapter
    y: float
    lines: list[str]


class Row(NamedTuple):
    """A part on the map: its name and words, the middle of its box, the chapters beside it."""

    name: str
    words: str
    y: float
    links: list[Link]


def rows() -> tuple[list[Row], float]:
    """Place the parts from top to bottom; gives them and the height of the whole.

    A chapter's title is written where the chapter comes first; after that its number will do.
    """
    placed, top, told = [], 6.0, set()
    for name, words, chapters in [*PARTS, ("whole", "all of it", WHOLE)]:
        top += GAP * (name == "whole")
        lines = []
        for chapter in (BY_NAME[name_of] for name_of in chapters):
            title = f"{chapter.number} · {chapter.title}"
            told_before = chapter in told
            told.add(chapter)
            lines.append([f"chapter {chapter.number}"] if told_before
                         else textwrap.wrap(title, LETTERS, break_on_hyphens=False))  # fmt: skip
        heights = [max(REACH, LINE * len(line) + 4) for line in lines]
        high = max(HIGH, sum(heights))
        y, links = top + (high - sum(heights)) / 2, []
        for height, name_of, line in zip(heights, chapters, lines, strict=True):
            links.append(Link(BY_NAME[name_of], y + height / 2, line))
            y += height
        placed.append(Row(name, words, top + high / 2, links))
        top += high + GAP
    return placed, top - GAP + 8


def draw(address) -> str:
    """Return the map as SVG; ``address`` gives a chapter's address, or None where it has none."""
    placed, height = rows()
    at = {row.name: row.y for row in placed}
    first, last = at[LAYER[0]] - HIGH / 2 - 6, at[LAYER[1]] + HIGH / 2 + 5
    flow = [
        f'<path d="M{MIDDLE} {upper.y + HIGH / 2:.0f}V{lower.y - HIGH / 2 - 2:.0f}" '
        'marker-end="url(#machine-tip)"/>'
        for upper, lower in itertools.pairwise(placed[:-1])
    ]
    for start, end in BYPASS:
        above = at[start] - HIGH / 2 - GAP / 2
        flow.append(
            f'<path d="M{MIDDLE} {above:.0f}H14V{at[end]:.0f}H{MIDDLE - PLUS / 2 - 2:.0f}" '
            'marker-end="url(#machine-tip)"/>'
        )
    return (
        f'<svg class="machine-map" viewBox="0 0 {WIDE} {height:.0f}" width="{WIDE}" '
        f'height="{height:.0f}" role="group" aria-label="The machine, from token ids at the top '
        'to next-token probabilities at the bottom; each part leads to its chapters">'
        '<defs><marker id="machine-tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0 0 10 5 0 10z" class="tip"/></marker></defs>'
        f'<rect class="layer" x="4" y="{first:.0f}" width="152" height="{last - first:.0f}" '
        f'rx="6"/><g class="flow">{"".join(flow)}</g>'
        f'<text class="times" x="151" y="{last - 6:.0f}">× L</text>'
        f"{''.join(drawn(row, address) for row in placed)}</svg>"
    )


def drawn(row: Row, address) -> str:
    """Return a part with the first chapter beside it as one link, and links to the others."""
    wide = PLUS if row.words == "+" else BOX
    lines = textwrap.wrap(row.words, 18)
    start = row.y - 7.5 * (len(lines) - 1) + 4.5
    words = "".join(f'<tspan x="{MIDDLE}" y="{start + 15 * n:.0f}">{html.escape(line)}</tspan>'
                    for n, line in enumerate(lines))  # fmt: skip
    box = (
        f'<rect class="part" x="{MIDDLE - wide / 2:.0f}" y="{row.y - HIGH / 2:.0f}" '
        f'width="{wide}" height="{HIGH}" rx="{6 if row.words != "+" else HIGH / 2:.0f}"/>'
        f'<text class="words">{words}</text>'
    )
    if row.name == "whole":
        box = f'<text class="words">{words}</text>'
    first, *others = row.links
    told = {"+": "the residual sum"}.get(row.words, row.words)
    return "".join([
        linked(first, box, told, address(first.chapter)),
        *(linked(link, "", told, address(link.chapter)) for link in others),
    ])  # fmt: skip


def linked(link: Link, box: str, part: str, where: str | None) -> str:
    """Return a chapter's title (with a part's box, if it stands for that) as a link."""
    start = link.y - LINE * (len(link.lines) - 1) / 2 + 4.5
    words = "".join(
        f'<tspan x="{BESIDE}" y="{start + LINE * n:.0f}">{html.escape(line)}</tspan>'
        for n, line in enumerate(link.lines)
    )
    high = max(REACH, LINE * len(link.lines) + 4)
    body = (
        f'{box}<rect class="reach" x="{BESIDE - 6}" y="{link.y - high / 2:.0f}" '
        f'width="{WIDE - BESIDE + 4}" height="{high}" rx="3"/><text class="chapter">{words}</text>'
    )
    chapter = link.chapter
    return svg_link(body, where, f"{part}: chapter {chapter.number}, {chapter.title}")


class Machine(SphinxDirective):
    """The machine map."""

    def run(self) -> list[nodes.Node]:
        """Draw it; chapters that the book does not have are named and not linked."""
        env = self.env
        remember(env, env.docname)
        env.note_dependency(__file__)

        def address(chapter: Chapter) -> str | None:
            if chapter.docname not in env.found_docs:
                return None
            return env.app.builder.get_relative_uri(env.docname, chapter.docname)

        return [nodes.raw("", f"<figure>{draw(address)}</figure>", format="html", front=True)]


def setup(app) -> dict:
    app.add_directive("machine", Machine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
