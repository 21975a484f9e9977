"""The short path: ``{path}`` lists sections of chapters, with minutes as in the chapters' heads.

A line that begins with a chapter's number goes on with what to say of it. The indented lines below
are the headings of the sections to read, of the first reading; none is all of it.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from content.markdown import link, titled
from helpers.chapters import BY_NUMBER, Chapter

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "notebooks"))
import readings  # noqa: E402


def steps(content: Iterable[str]) -> Iterator[tuple[Chapter, str, dict[str, list]]]:
    """Yield each chapter, what is said of it, and the cells of its head, "", and its sections."""
    blocks = "\n".join(content).replace("\n  ", "\t").splitlines()
    for said, *headings in (block.split("\t") for block in blocks if block.strip()):
        chapter = BY_NUMBER[int(said[:2])]
        notebook = json.loads((ROOT / f"{chapter.docname}.ipynb").read_text("utf-8"))
        found = readings.sections(notebook["cells"])
        yield chapter, said[3:], {heading: found[heading] for heading in ("", *(headings or found))}


def minutes(sections: dict[str, list]) -> int:
    """Return the minutes that sections take, each rounded, and at least 1; a head takes none."""
    read = (readings.count(cells).exact for heading, cells in sections.items() if heading)
    return sum(max(1, round(exact)) for exact in read)


class ShortPath(SphinxDirective):
    """The chapters of the path, each with its sections and minutes, and their sum."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Render the list."""
        lines, total = [], 0
        cells: list[dict] = []
        for chapter, words, sections in steps(self.content):
            total += minutes(sections)
            cells += itertools.chain.from_iterable(sections.values())
            links = (
                f"{link(chapter, heading)} ({minutes({heading: sections[heading]})})"
                for heading in sections
                if heading
            )
            head = f"- **{titled(chapter)}**, {minutes(sections)} minutes. {words}"
            lines += [head, "", f"  {', '.join(links)}", ""]
        hours, rest = divmod(total, 60)
        lines += [f"That makes {hours} hours and {rest} minutes, without the exercises."]
        lines += [f"The pencil tasks take about {readings.count(cells).pencil} minutes more."]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app) -> None:
    app.add_directive("path", ShortPath)
