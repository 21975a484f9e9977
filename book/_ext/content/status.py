"""The status page: what was computed when and on what, and how much of it is checked.

``{status}`` renders ``book/outputs.json`` (see ``stamp``) as a table with a last row that sums it
up, then the software, then the cells whose outputs are not compared, each with its reason, from
``tests/exceptions.toml``, then the stored measurements. ``{headlines}`` renders the headline
numbers of the manifests, with what ``make matrix`` found of each in other environments.
Nothing on the page is typed.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from book.headlines import expected, headlines
from content.chapters import depend
from content.markdown import table, titled
from content.results import parts_of, result_files
from helpers.chapters import CHAPTERS

COUNTS = {
    "cells": "Cells",
    "outputs": "With output",
    "compared": "Compared",
    "assertions": "Assertions",
    "seconds": "Seconds",
}


def by_chapter(stamps: dict) -> str:
    """Return a row for each chapter that has a stamp, and one for all."""
    known = [chapter for chapter in CHAPTERS if chapter.stem in stamps]
    rows = []
    for chapter in known:
        stamp = stamps[chapter.stem]
        rows.append([titled(chapter), stamp["computed"], stamp["device"], *map(stamp.get, COUNTS)])
    days = sorted(row[1] for row in rows)
    devices = ", ".join(sorted({row[2] for row in rows}))
    sums = [sum(column) for column in list(zip(*rows, strict=True))[3:]]
    rows.append(["**All**", f"{days[0]} to {days[-1]}", devices, *sums])
    return table(["Chapter", "Computed", "On", *COUNTS.values()], rows)


def software(stamps: dict) -> str:
    """Say with which versions outputs were computed, and where chapters differ."""
    found: dict[str, list[str]] = {}
    for chapter in CHAPTERS:
        if chapter.stem in stamps:
            versions = stamps[chapter.stem]["versions"]
            words = ", ".join(f"{name} {version}" for name, version in versions.items())
            found.setdefault(words, []).append(str(chapter.number))
    if len(found) == 1:
        return f"All were computed with {next(iter(found))}."
    return "\n".join(f"- Chapters {', '.join(known)}: {words}." for words, known in found.items())


def exceptions(entries: list[dict]) -> str:
    """List the cells whose output is not compared, chapter by chapter, with the reasons."""
    return "\n".join(
        f"- Chapter {int(entry['notebook'][:2])}, cell `{entry['cell']}`: {entry['reason']}."
        for entry in sorted(entries, key=lambda entry: (entry["notebook"], entry["cell"]))
    )


def measurements(stored: list[dict]) -> str:
    """Count the stored measurements: files, parts, days."""
    parts = [part for whole in stored for part in parts_of(whole).values()]
    days = sorted(str(part["date"]) for part in parts)
    return (
        f"What takes too long for a chapter was measured between {days[0]} and {days[-1]}; the "
        f"[results](results.md) show {len(parts)} tables in {len(stored)} files, each with its "
        "script, device, versions and seeds."
    )


def by_number(root: Path, found: dict[str, dict[str, str]]) -> str:
    """Return a row for each headline number: what is expected, its tolerance, what was found."""
    rows = []
    for one in headlines():
        chapter = int(one.notebook[:2])
        others = [found[name].get(one.what, "") for name in found]
        rows.append([chapter, one.what, expected(one, root), f"± {one.tolerance:g}", *others])
    return table(["Chapter", "Number", "Expected", "Tolerance", *found], rows)


class Status(SphinxDirective):
    """What was computed and how much of it is checked."""

    def run(self) -> list[nodes.Node]:
        """Render the page's tables and lists from the data."""
        stamps = json.loads(self.text("book/outputs.json"))
        body = [by_chapter(stamps), software(stamps)]
        if text := self.text("tests/exceptions.toml"):  # a copy of the sources may lack the tests
            entries = tomllib.loads(text)["exception"]
            words = f"The outputs of {len(entries)} cells are not compared, for these reasons:"
            body += [words, exceptions(entries)]
        if stored := [json.loads(self.text(file)) for file in result_files(self.env)]:
            body.append(measurements(stored))
        found = self.parse_text_to_nodes("\n\n".join(body))
        found[0]["classes"].append("by-chapter")
        return found

    def text(self, file: str | Path) -> str:
        """Read a file on which the page depends; nothing where it is not there."""
        path = Path(self.env.srcdir, file)
        depend(self.env, path)
        return path.read_text("utf-8") if path.exists() else ""


class Headlines(Status):
    """What is expected of each headline number, and what other environments found."""

    def run(self) -> list[nodes.Node]:
        """Render the table from the data."""
        root = Path(self.env.srcdir)
        for one in headlines():
            depend(self.env, root / "notebooks" / f"{one.notebook}.ipynb")
        for chapter in CHAPTERS:
            depend(self.env, chapter.folder / "chapter.toml")
        text = self.text("helpers/data/results/matrix.json")
        return self.parse_text_to_nodes(by_number(root, json.loads(text)["found"] if text else {}))


def setup(app) -> None:
    app.add_directive("status", Status)
    app.add_directive("headlines", Headlines)
