"""The status page: what was computed when and on what, and how much of it is checked.

``{status}`` renders ``book/outputs.json`` (see ``book_stamp``) as a table with a last row that sums
it up, then the software, then the cells whose outputs are not compared, each with its reason, from
``tests/exceptions.toml``, then the stored measurements. Nothing on the page is typed.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from book_chapters import CHAPTERS
from book_results import parts_of
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

COUNTS = ("cells", "outputs", "compared", "assertions", "seconds")


def table(stamps: dict) -> str:
    """Write a row for each chapter that has a stamp, and one for all, as Markdown."""
    rows = [
        "| Chapter | Computed | On | Cells | With output | Compared | Assertions | Seconds |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    known = [chapter for chapter in CHAPTERS if chapter.stem in stamps]
    for chapter in known:
        stamp = stamps[chapter.stem]
        name = f"[{chapter.number} · {chapter.title}](../notebooks/{chapter.stem}.ipynb)"
        cells = [name, stamp["computed"], stamp["device"], *(str(stamp[key]) for key in COUNTS)]
        rows.append(f"| {' | '.join(cells)} |")
    sums = [str(sum(stamps[chapter.stem][key] for chapter in known)) for key in COUNTS]
    days = sorted(stamps[chapter.stem]["computed"] for chapter in known)
    devices = ", ".join(sorted({stamps[chapter.stem]["device"] for chapter in known}))
    rows.append(f"| **All** | {days[0]} to {days[-1]} | {devices} | {' | '.join(sums)} |")
    return "\n".join(rows)


def software(stamps: dict) -> str:
    """Say with which versions outputs were computed, and where chapters differ."""
    found: dict[str, list[str]] = {}
    for chapter in CHAPTERS:
        if chapter.stem in stamps:
            versions = stamps[chapter.stem]["versions"]
            said = ", ".join(f"{name} {version}" for name, version in versions.items())
            found.setdefault(said, []).append(str(chapter.number))
    if len(found) == 1:
        return f"All were computed with {next(iter(found))}."
    return "\n".join(f"- Chapters {', '.join(known)}: {said}." for said, known in found.items())


def exceptions(entries: list[dict]) -> str:
    """List the cells whose output is not compared, chapter by chapter, with the reasons."""
    numbers = {chapter.stem: chapter.number for chapter in CHAPTERS}
    lines = [
        f"- Chapter {numbers[entry['notebook']]}, cell `{entry['cell']}`: {entry['reason']}."
        for entry in sorted(entries, key=lambda entry: (entry["notebook"], entry["cell"]))
    ]
    return "\n".join(lines)


def measurements(stored: dict[str, dict]) -> str:
    """Count the stored measurements: files, parts, scripts, days, devices."""
    parts = [part for whole in stored.values() for part in parts_of(whole).values()]
    scripts = {part["script"] for part in parts}
    days = sorted(str(part["date"]) for part in parts)
    return (
        f"What takes too long for a chapter was measured by {len(scripts)} scripts between "
        f"{days[0]} and {days[-1]}; the [results](results.md) show {len(parts)} tables in "
        f"{len(stored)} files, each with its script, device, versions and seeds."
    )


class Status(SphinxDirective):
    """What was computed and how much of it is checked."""

    def run(self) -> list[nodes.Node]:
        """Render the page's tables and lists from the data."""
        stamps = json.loads(self.text("book/outputs.json"))
        body = [table(stamps), software(stamps)]
        if told := self.text("tests/exceptions.toml"):  # a copy of the sources may lack the tests
            entries = tomllib.loads(told)["exception"]
            words = f"The outputs of {len(entries)} cells are not compared, for these reasons:"
            body += [words, exceptions(entries)]
        files = sorted(Path(self.env.srcdir, "helpers", "data", "results").glob("*.json"))
        stored = {file.stem: json.loads(self.text(file)) for file in files}
        if stored:
            body.append(measurements(stored))
        found = self.parse_text_to_nodes("\n\n".join(body))
        found[0]["classes"].append("by-chapter")
        return found

    def text(self, file: str | Path) -> str:
        """Read a file on which the page depends; nothing where it is not there."""
        path = Path(self.env.srcdir, file)
        self.env.note_dependency(str(path))
        return path.read_text("utf-8") if path.exists() else ""


def setup(app) -> dict:
    app.add_directive("status", Status)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
