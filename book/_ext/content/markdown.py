"""Tables and links in Markdown, as one writes them on a page under book/."""

from __future__ import annotations

from collections.abc import Iterable

from myst_parser.mdit_to_docutils.base import default_slugify

from helpers.chapters import Chapter

OPENING = "opening"  # what manifests call that which stands before a chapter's first heading


def table(columns: list, rows: Iterable[list], line: str = "---") -> str:
    """Return a table; a bar inside a cell is escaped, ``line`` stands below each head."""
    lines = [columns, [line] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(str(entry).replace("|", r"\|") for entry in row) + " |" for row in lines
    )


def link(chapter: Chapter, heading: str = OPENING, text: str | None = None) -> str:
    """Return a link to a section of a chapter."""
    path = f"../{chapter.docname}.ipynb"
    if heading == OPENING:
        return f"[{text or 'Question, map, opening questions'}]({path})"
    return f"[{text or heading}]({path}#{default_slugify(heading)})"


def titled(chapter: Chapter) -> str:
    """Return a link to a chapter by its number and title."""
    return link(chapter, text=f"{chapter.number} · {chapter.title}")


def numbered(chapters: Iterable[Chapter]) -> str:
    """Return links to chapters by their numbers."""
    return ", ".join(link(chapter, text=str(chapter.number)) for chapter in chapters)
