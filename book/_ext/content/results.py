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
Parts, settings and what is shown of the runs have their names in ``book/results.toml``.
``{results}`` renders the chapters' files in their order, then the others; with names, the tables of
these alone, without headings; ``file/part`` names one part. Lines under it name rows of a plain
table, which are then shown without their provenance.
"""

from __future__ import annotations

import ast
import json
import statistics
import tomllib
from functools import reduce
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from content.markdown import table
from helpers.chapters import CHAPTERS

STORED = ("helpers", "data", "results")
BY_STEM = {chapter.stem: chapter for chapter in CHAPTERS}
UNFOLDED = 12  # rows; a longer table is folded
WORDS = tomllib.loads(Path(__file__).parents[2].joinpath("results.toml").read_text("utf-8"))
KINDS = (0.01, ".1e"), (100, ".3f"), (10_000, ".0f"), (float("inf"), ".1e")
LOSS = {"validation loss, nats": ["validation"]}


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
        return "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(formatted, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return WORDS["values"].get(value, str(value).replace("\n\n", " / "))


def follow(run: dict, way: list):
    """Return what lies at the end of a way of keys and indices."""
    return reduce(lambda found, key: found[key], way, run)


def mean_and_deviation(ends: list[float | None]) -> str:
    """Return mean and standard deviation in words; None is a run that diverged."""
    kept = [end for end in ends if end is not None]
    if not kept:
        return "diverged"
    mean = statistics.mean(kept)
    kind = next(k for less, k in KINDS if abs(mean) < less) if mean else ".3f"
    wide = f"\u00a0±\u00a0{statistics.stdev(kept):{kind}}" if len(kept) > 1 else ""
    lost = f" ({len(ends) - len(kept)} diverged)" if len(kept) < len(ends) else ""
    return f"{mean:{kind}}{wide}{lost}".replace("-", "−")  # which breaks no line


def column_key(settings: list[dict]) -> str | None:
    """Return the setting shown across the columns: of those in words, the most varied."""
    values = {key: [setting.get(key) for setting in settings] for key in settings[0]}
    kinds = {key: len(set(all_)) for key, all_ in values.items() if {*map(type, all_)} == {str}}
    varied = [key for key, kind in kinds.items() if 1 < kind <= 6]
    return max(varied, key=kinds.__getitem__, default=None)


def table_of(settings: list[dict], says: dict) -> tuple[str, list[str], list[list[str]]]:
    """Return what all settings share, in words, and the columns and rows of a table of the rest.

    Where several things are shown, each has a row, with its name before the numbers.
    """
    shows, labels = says.get("shows", LOSS), {**WORDS["labels"], **says.get("labels", {})}
    bare = [
        {k: tuple(v) if isinstance(v, list) else v for k, v in s.items() if k != "runs"}
        for s in settings
    ]
    keys = [key for key in dict.fromkeys(key for s in bare for key in s) if labels.get(key, key)]
    same = [key for key in keys if all(key in s and s[key] == bare[0].get(key) for s in bare)]
    spans = column_key(bare)
    left = [key for key in keys if key not in same and key != spans]
    heads = list(dict.fromkeys(s[spans] for s in bare if spans in s)) if spans else [None]
    rows: dict[tuple, dict] = {}
    for setting, whole in zip(bare, settings, strict=True):
        for name, way in shows.items():
            row = rows.setdefault((*(formatted(setting.get(key, "")) for key in left), name), {})
            ends = [follow(run, way) for run in whole["runs"]]
            row[setting.get(spans) if spans else None] = mean_and_deviation(ends)
    named, last = ([""], None) if len(shows) > 1 else ([], -1)
    body = [[*row[:last], *(cells.get(head, "") for head in heads)] for row, cells in rows.items()]
    across = [f"{labels.get(spans, spans)}: {formatted(head)}" for head in heads]
    only = ["measured" if named else next(iter(shows))]
    columns = [*(labels.get(key, key) for key in left), *named, *(across if spans else only)]
    same_too = (f"{labels.get(key, key)} {formatted(bare[0][key])}" for key in same)
    return ", ".join(same_too), columns, body


def table_and_words(part: dict, says: dict) -> tuple[str, int, str]:
    """Return a part's table in Markdown, its number of rows, and an explanation.

    says: what ``book/results.toml`` says of the part.
    """
    if part.get("columns"):
        rows = [["" if e is None else formatted(e) for e in row] for row in part["rows"]]
        return table([*part["columns"]], rows), len(rows), ""
    if not part.get("settings"):
        return "", 0, ""
    same, columns, rows = table_of(part["settings"], says)
    what = next(iter(shows)) if len(shows := says.get("shows", LOSS)) == 1 else ""
    several = "mean and standard deviation over the seeds" if len(part["seeds"]) > 1 else ""
    said = ": ".join(filter(None, [what, several]))
    words = [
        f"{said[:1].upper()}{said[1:]}." if said else "",
        f"Throughout: {same}." if same else "",
    ]
    return table(columns, rows), len(rows), " ".join(filter(None, words))


# --- the page -----------------------------------------------------------------------------------


class Results(SphinxDirective):
    """A section for each stored file, or the tables of those that are named."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Render the runs."""
        if self.arguments:
            return [node for name in self.arguments[0].split() for node in self.named(name)]
        return [*map(self.section, result_files(self.env))]

    def section(self, file: Path) -> nodes.section:
        """Render one file."""
        root = Path(self.env.srcdir)
        stored = json.loads(file.read_text("utf-8"))
        section = nodes.section(ids=[nodes.make_id(file.stem)], names=[file.stem])
        section += nodes.title("", stored.get("title") or title_of(file.stem))
        section.extend(self.parse_text_to_nodes(description_of(file, stored, root)))
        for name, part in parts_of(stored).items():
            section.extend(self.part(file.stem, name, part))
        return section

    def named(self, name: str) -> list[nodes.Node]:
        """Render the tables and provenance of a file, or of one part, if it has been measured."""
        name, _, only = name.partition("/")
        file = Path(self.env.srcdir, *STORED, f"{name}.json")
        if not file.exists():
            return [nodes.paragraph("", "Not measured yet.")]
        parts = parts_of(json.loads(file.read_text("utf-8")))
        if self.content:
            rows = {row[0]: row for row in parts[""]["rows"]}
            shown = table(parts[""]["columns"], [rows[line] for line in self.content])
            return self.parse_text_to_nodes(shown)
        wanted = {only: parts[only]} if only else parts
        return [node for label, part in wanted.items() for node in self.part(name, label, part)]

    def part(self, stem: str, name: str, part: dict) -> list[nodes.Node]:
        """Render a part's provenance and its table, folded where it is long."""
        says = WORDS.get(stem, {}).get(name, {})
        markdown, rows, words = table_and_words(part, says)
        head = f"**{says.get('title') or name.capitalize()}.** " if name else ""
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
