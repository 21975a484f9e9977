"""The results page: runs too long for a notebook, read from ``helpers/data/results/*.json``.

There the chapters read them too, and the wheel takes them along. Each file was written by the
script in benchmarks/ that it names, in one of two forms. A plain table::

    {"title": "...", "claim": "...", "script": "benchmarks/x.py", "date": "2026-01-31",
     "device": "...", "versions": {"torch": "..."}, "seeds": [0, 1],
     "columns": ["...", ...], "rows": [["...", ...], ...]}

Or, of a chapter and in a file of its name, parts, each a list of settings that were run once a
seed::

    {"short": {"script": ..., "date": ..., "device": ..., "versions": ..., "seeds": ...,
               "settings": [{"lr": 0.1, ..., "runs": [{"seed": 0, "validation": 2.5, ...}]}]}}

"title", "claim" and "seeds" may be missing; the first sentence of the code then says what it is.
``{results}`` renders the chapters' files in their order, then the others; with names, the tables of
these alone, without headings.
"""

from __future__ import annotations

import ast
import json
import statistics
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from content.markdown import table
from helpers.chapters import CHAPTERS

STORED = ("helpers", "data", "results")
BY_STEM = {chapter.stem: chapter for chapter in CHAPTERS}
ON_A_CARD = {  # what benchmarks/gpu.py stores
    "gpu_speeds": "prefill and decode",
    "gpu_roofline": "the roofline",
    "gpt_gpu": "the race to nanoGPT's loss",
    "gpu_tests": "the tests of helpers",
}
UNFOLDED = 12  # rows; a longer table is folded


def result_files(env) -> list[Path]:
    """Return the stored files: those of chapters bear their numbers and come first."""
    return sorted(Path(env.srcdir).joinpath(*STORED).glob("*.json"))


def parts_of(stored: dict) -> dict[str, dict]:
    """Return the parts of a stored file by name; a plain table is one part without a name."""
    if "script" in stored:
        return {"": stored}
    return {
        name: part for name, part in stored.items() if isinstance(part, dict) and "script" in part
    }


def description_of(file: Path, stored: dict, root: Path) -> str:
    """Return the claim, or the first sentence of the measuring code's docstring."""
    if stored.get("claim"):
        return stored["claim"].rstrip(".") + "."
    for source in sources_of(file, stored, root):
        if source.is_file():
            words = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
            return " ".join(words.partition("\n\n")[0].split())
    return ""


def sources_of(file: Path, stored: dict, root: Path) -> list[Path]:
    """Return the measuring code: a chapter's ``lab``, or the scripts that the parts name."""
    if chapter := BY_STEM.get(file.stem):
        return [chapter.folder / "lab.py"]
    return [root / part["script"] for part in parts_of(stored).values()]


def title_of(stem: str) -> str:
    """Return the heading of a file without a title: its chapter's, or its name in words."""
    if chapter := BY_STEM.get(stem):
        return f"Chapter {chapter.number}: {chapter.title}"
    words = stem.replace("_", " ").replace("gpt", "GPT")
    return words[:1].upper() + words[1:]


def provenance(part: dict) -> str:
    """Return script, date, device, versions and seeds of a part in words."""
    versions = ", ".join(f"{name} {version}" for name, version in part.get("versions", {}).items())
    seeds = ", ".join(map(str, part.get("seeds", [])))
    made = f"Computed by `{part['script']}` on {part['date']}"
    known = [made, part.get("device"), versions, f"seeds {seeds}" if seeds else ""]
    return "; ".join(filter(None, known)) + "."


# --- tables -------------------------------------------------------------------------------------


def formatted(value) -> str:
    """Format one entry of a table."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(formatted, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def measured_key(runs: list[dict]) -> str:
    """Return the key of the runs that a table shows: validation loss if present, else the first."""
    keys = [key for key in (runs[0] if runs else {}) if key != "seed"]
    return "validation" if "validation" in keys else next(iter(keys), "")


def summary(runs: list[dict]) -> str:
    """Return mean and standard deviation, over the runs of one setting, of what is measured.

    null is a run that diverged; a short row of numbers is shown number by number.
    """
    ends = [run.get(measured_key(runs)) for run in runs]
    rows = [end for end in ends if isinstance(end, list)]
    if rows and len(rows) == len(ends) and all(len(row) == len(rows[0]) <= 6 for row in rows):
        return "; ".join(mean_and_deviation(list(column)) for column in zip(*rows, strict=True))
    return mean_and_deviation(ends)


def mean_and_deviation(ends: list) -> str:
    """Return mean and standard deviation in words, or "" for values that are no numbers."""
    if not all(isinstance(end, int | float | None) for end in ends):
        return ""
    kept = [end for end in ends if end is not None]
    if not kept:
        return "diverged" if ends else ""
    wide = f"\u00a0±\u00a0{statistics.stdev(kept):.3f}" if len(kept) > 1 else ""
    lost = f" ({len(ends) - len(kept)} diverged)" if len(kept) < len(ends) else ""
    return f"{statistics.mean(kept):.3f}{wide}{lost}"


def column_key(settings: list[dict]) -> str | None:
    """Return the setting shown across the columns: of those with words, the most varied."""
    kinds: dict[str, set] = {}
    for setting in settings:
        for key, value in setting.items():
            if isinstance(value, str):
                kinds.setdefault(key, set()).add(value)
    varied = [key for key, values in kinds.items() if 1 < len(values) <= 6]
    return max(varied, key=lambda key: len(kinds[key]), default=None)


def table_of(settings: list[dict]) -> tuple[str, list[str], list[list[str]]]:
    """Return what all settings share, in words, and the columns and rows of a table of the rest."""
    bare = [
        {k: tuple(v) if isinstance(v, list) else v for k, v in s.items() if k != "runs"}
        for s in settings
    ]
    keys = list(dict.fromkeys(key for setting in bare for key in setting))
    same = [
        key for key in keys if len(bare) > 1 and all(s.get(key) == bare[0].get(key) for s in bare)
    ]
    spans = column_key(bare)
    left = [key for key in keys if key not in same and key != spans]
    heads = list(dict.fromkeys(s[spans] for s in bare if spans in s)) if spans else []
    rows: dict[tuple, dict] = {}
    for setting, whole in zip(bare, settings, strict=True):
        row = rows.setdefault(tuple(setting.get(key) for key in left), {})
        row[setting.get(spans) if spans else None] = summary(whole["runs"])
    body = [
        [*map(formatted, row), *(cells.get(head, "") for head in heads or [None])]
        for row, cells in rows.items()
    ]
    columns = [*left, *(f"{spans} {head}" for head in heads)] if spans else [*left, "measured"]
    return ", ".join(f"{key} {formatted(bare[0].get(key))}" for key in same), columns, body


def table_and_words(part: dict) -> tuple[str, int, str]:
    """Return a part's table in Markdown, its number of rows, and an explanation."""
    if part.get("columns"):
        rows = [[formatted(entry) for entry in row] for row in part["rows"]]
        return table(part["columns"], rows), len(rows), ""
    settings = part.get("settings") or []
    if not settings or not all(isinstance(s, dict) and s.get("runs") for s in settings):
        return "", 0, ""
    same, columns, rows = table_of(settings)
    key = measured_key(settings[0]["runs"])
    words = f"Each entry: mean and standard deviation of `{key}` over the seeds"
    return table(columns, rows), len(rows), f"{words}. {f'Throughout: {same}.' if same else ''}"


# --- the page -----------------------------------------------------------------------------------


class Results(SphinxDirective):
    """A section for each stored file, or the tables of those that are named."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Render the runs."""
        if self.arguments:
            return [node for name in self.arguments[0].split() for node in self.named(name)]
        files = result_files(self.env)
        stored = {file.stem for file in files}
        missing = [what for name, what in ON_A_CARD.items() if name not in stored]
        said = f"On a graphics card these are not measured yet: {', '.join(missing)}."
        lacking = [nodes.paragraph("", said)] if missing else []
        return [*lacking, *map(self.section, files)]

    def section(self, file: Path) -> nodes.section:
        """Render one file."""
        root = Path(self.env.srcdir)
        stored = json.loads(file.read_text("utf-8"))
        section = nodes.section(ids=[nodes.make_id(file.stem)], names=[file.stem])
        section += nodes.title("", stored.get("title") or title_of(file.stem))
        section.extend(self.parse_text_to_nodes(description_of(file, stored, root)))
        for name, part in parts_of(stored).items():
            section.extend(self.part(name, part))
        return section

    def named(self, name: str) -> list[nodes.Node]:
        """Render the table and provenance of one file, if it has been measured."""
        file = Path(self.env.srcdir, *STORED, f"{name}.json")
        if not file.exists():
            return [nodes.paragraph("", "Not measured yet.")]
        parts = parts_of(json.loads(file.read_text("utf-8")))
        return [node for label, part in parts.items() for node in self.part(label, part)]

    def part(self, name: str, part: dict) -> list[nodes.Node]:
        """Render a part's provenance and its table, folded where it is long."""
        markdown, rows, words = table_and_words(part)
        head = f"**{part.get('title') or name.capitalize()}.** " if name else ""
        said = head + " ".join(filter(None, [part.get("claim", "") if name else "", words]))
        found = self.parse_text_to_nodes("\n\n".join(filter(None, [said, provenance(part)])))
        found[-1]["classes"].append("provenance")
        if not markdown:
            return found
        body = self.parse_text_to_nodes(markdown)
        if rows > UNFOLDED:
            opening = f"<details><summary>The table, {rows} rows</summary>"
            body = [
                nodes.raw("", opening, format="html"),
                *body,
                nodes.raw("", "</details>", format="html"),
            ]
        return [*found, *body]


def setup(app) -> None:
    app.add_directive("results", Results)
