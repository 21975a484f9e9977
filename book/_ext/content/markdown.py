"""Tables and links in Markdown, as one writes them on a page under book/."""

from __future__ import annotations

from collections.abc import Iterable

from myst_parser.mdit_to_docutils.base import default_slugify

from helpers.chapters import Chapter


def table(columns: list, rows: Iterable[list]) -> str:
    """Return a table; a bar inside a cell is escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(str(entry).replace("|", r"\|") for entry in row) + " |" for row in lines
    )


def link(chapter: Chapter, heading: str = "", text: str = "") -> str:
    """Return a link to a chapter, or to a section of it."""
    path = f"../{chapter.docname}.ipynb" + (f"#{default_slugify(heading)}" if heading else "")
    return f"[{text or heading}]({path})"


def titled(chapter: Chapter) -> str:
    """Return a link to a chapter by its number and title."""
    return link(chapter, text=f"{chapter.number} · {chapter.title}")
