"""Headline numbers of the chapters: what is expected, and how far a machine may be from it.

A chapter's manifest has an entry a number, ``[[headlines]]``: the id of the cell that shows it,
what it is, the text that it stands in, and the tolerance: how far another processor, device or
release may be from what is stored. What is expected is read from the stored
output; the page Status shows it, and each run of the cells is held to it (tests/count_cells.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat

from helpers.chapters import CHAPTERS

ROOT = Path(__file__).resolve().parents[1]
NUMBER = r"([-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
SHOWN = ("text/markdown", "text/plain")


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One number. text: the words round it in the output, # in its place; tolerance: absolute."""

    notebook: str
    cell: str
    what: str
    text: str
    tolerance: float

    def find(self, outputs: Iterable[Mapping]) -> str:
        """The number as a cell's outputs write it. Raises: ValueError where it is not there."""
        said = " ".join(" ".join(map(words, outputs)).split())
        before, _, after = self.text.partition("#")
        found = re.search(re.escape(before) + NUMBER + re.escape(after), said)
        if found is None:
            raise ValueError(f"{self.what}: {self.text!r} is not in the output of {self.cell}")
        return found[1].replace("−", "-")

    def complaint(self, stored: Iterable[Mapping], fresh: Iterable[Mapping]) -> str:
        """What to say where fresh outputs are too far from the stored ones; else nothing."""
        expected, found = self.find(stored), self.find(fresh)
        near = abs(float(found) - float(expected)) <= self.tolerance * (1 + 1e-9)
        return "" if near else f"{self.what}: {found}, expected {expected} ± {self.tolerance:g}"


def words(output: Mapping) -> str:
    """The text of one output; of something displayed its Markdown, or else its plain text."""
    data = output.get("data", {})
    said = output.get("text") or next((data[kind] for kind in SHOWN if kind in data), "")
    return said if isinstance(said, str) else "".join(said)


@cache
def headlines() -> tuple[Headline, ...]:
    """All of them, in the order of the book."""
    return tuple(
        Headline(notebook=chapter.stem, **one) for chapter in CHAPTERS for one in chapter.headlines
    )


def expected(one: Headline, root: Path = ROOT) -> str:
    """A number as its chapter shows it. Raises: ValueError where the chapter does not."""
    path = root / "notebooks" / f"{one.notebook}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells if cell.id == one.cell for output in cell.outputs]
    return one.find(outputs)
