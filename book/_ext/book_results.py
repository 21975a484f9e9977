"""The results page: runs too long for a notebook, read from ``book/results/*.json``.

Each file is one run, written by the script that it names::

    {"title": "...", "claim": "...", "script": "...", "date": "2026-01-31", "device": "...",
     "versions": {"torch": "..."}, "columns": ["...", ...], "rows": [["...", ...], ...]}

``{results}`` renders them in the order of the file names.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


def result_files(env) -> list[Path]:
    return sorted(Path(env.srcdir, "book", "results").glob("*.json"))


def as_markdown(run: dict) -> str:
    """Return a run's table and where it comes from, as Markdown."""
    lines = [run["claim"], ""] if run.get("claim") else []
    lines.append("| " + " | ".join(run["columns"]) + " |")
    lines.append("|" + " --- |" * len(run["columns"]))
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in run["rows"]]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    made = f"Computed by `{run['script']}` on {run['date']}, {run['device']}; {versions}."
    return "\n".join([*lines, "", made])


class Results(SphinxDirective):
    """A section for each stored run."""

    def run(self) -> list[nodes.Node]:
        """Render the runs, or say that there are none."""
        self.env.book_results = {str(file) for file in result_files(self.env)}
        self.env.book_results_page = self.env.docname
        sections = [self.section(file) for file in result_files(self.env)]
        nothing = nodes.paragraph("", "Not measured yet: so far every number in the book is "
                                      "computed in its own chapter.")  # fmt: skip
        return sections or [nothing]

    def section(self, file: Path) -> nodes.section:
        """Render one run."""
        self.env.note_dependency(str(file))
        run = json.loads(file.read_text("utf-8"))
        section = nodes.section(ids=[nodes.make_id(file.stem)], names=[file.stem])
        section += nodes.title("", run["title"])
        section.extend(self.parse_text_to_nodes(as_markdown(run)))
        return section


def read_again(app, env, added, changed, removed) -> list[str]:
    """Read the page again when a run was added or taken away."""
    page = getattr(env, "book_results_page", None)
    same = getattr(env, "book_results", None) == {str(file) for file in result_files(env)}
    return [page] if page in env.found_docs and not same else []


def setup(app) -> dict:
    app.add_directive("results", Results)
    app.connect("env-get-outdated", read_again)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
