"""Interactive figures that compute in the page, without kernel or stored frames.

``book/_assets/play-NAME.js`` is a figure, declared in pure functions: the state it opens with, how
a state is drawn and told, and how the state changes by what a reader does. The build takes its
first state from there (`evaluated`), by the Node that playwright brings, so that it is a true
figure without scripts and on paper; tests draw others in the same way.
`play.figures` has its title, a note on how to read it, and the chapter's numbers; `play.pages` puts
it where it stands; ``book/_assets/play-NAME.css`` is its style, if it needs one of its own. What
figures share is in ``play.js``, ``play-html.js`` and ``play.css``.

The GPT in the page is `play.gpt`. Its scripts are modules under ``book/_scripts``, which the build
puts into one file for each kind of page (`bundled`).
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from postprocess.maths import in_node

ROOT = Path(__file__).parents[3]
ASSETS = ROOT / "book" / "_assets"
VECTORS = ("plane", "query")  # figures of vectors that are dragged
SCRIPTS = ROOT / "book" / "_scripts"
GPT = ["gpt/model", "gpt/sampling", "gpt/tokens", "gpt/page", "gpt/reading"]
FILES = ["train/kernel", "train/model", "gpt/file"]  # a model as a file
MACHINE = """rows rules reasons address worker state inquiry reader navigation opened strip
maps picture next words why own page"""
WATCH = "chart run elements state break own page"
CHAT = "gguf tokens model reasons worker asks file words inside why page"
REWARD = "train/loop watch/elements watch/state reward/run reward/page"
MODULES = {  # of a page's script, in their order
    "gpt": [*GPT, "gpt/widget", "gpt/hero"],
    "machine": [*GPT, *FILES, *(f"machine/{name}" for name in MACHINE.split())],
    "watch": [*GPT, *FILES, "train/loop", *(f"watch/{name}" for name in WATCH.split())],
    "chat": [*GPT, *FILES, *(f"chat/{name}" for name in CHAT.split())],
    "reward": [*GPT, *FILES, *REWARD.split()],
}
IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
STILL = "With JavaScript this figure moves; it does not run here."


def figure_html(name: str, ident: str, *, title: str, note: str, data: dict) -> str:
    """Return a figure's HTML in its initial state.

    title, note: plain text; the note says how to read the figure. data: what the script reads.
    """
    inside = evaluated(name, "Play.still", name, ident, data)
    stored = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return f"""
<figure class="play" id="{ident}" data-play="{name}" role="group" aria-labelledby="{ident}-title">
<p class="play-title" id="{ident}-title">{escape(title)}</p>
<p class="play-note">{escape(note)}</p>
<div class="play-view">{inside}</div>
<p class="visually-hidden play-said" role="status"></p>
<noscript><p class="play-scriptless">{STILL}</p></noscript>
<script type="application/json" class="play-data">{stored}</script>
</figure>
"""


def evaluated(name: str, function: str, *given):
    """Call a function of a figure's script in Node. Raises: RuntimeError."""
    scripts = [(ASSETS / script).read_text("utf-8") for script in scripts_of(name)]
    return in_node(scripts, function, *given)


def scripts_of(name: str) -> list[str]:
    """Return what a page loads for a figure, in order."""
    vectors = ["play-vectors.js"] if name in VECTORS else []
    return ["play-html.js", "play.js", *vectors, f"play-{name}.js"]


def bundled(name: str) -> str:
    """Return a script's modules, each in a function that returns what it exports.

    A page that is opened from a disk may load scripts, but no modules.
    """
    found = '"use strict";\n'
    for module in MODULES[name]:
        source = IMPORT.sub("", (SCRIPTS / f"{module}.js").read_text("utf-8"))
        exports = ", ".join(EXPORT.findall(source))
        inside = f"{EXPORT.sub('', source)}return {{ {exports} }};\n"
        found += f"const {{ {exports} }} = (() => {{\n{inside}}})();\n"
    return found


# --- a chapter's own numbers and code, so that none is typed twice --------------------------------


@cache
def _statements(docname: str) -> dict[str, tuple[str, Any]]:
    """Return a chapter's top-level assignments and functions by name, the first of each."""
    found: dict[str, tuple[str, Any]] = {}
    for cell in json.loads((ROOT / f"{docname}.ipynb").read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or "%pip" in source:  # which is not Python
            continue
        for statement in ast.parse(source).body:
            if isinstance(statement, ast.FunctionDef):
                found.setdefault(statement.name, (source, statement))
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                found.setdefault(statement.targets[0].id, (source, statement))
    return found


def literals(docname: str, *names: str) -> list:
    """Return the literals that a chapter assigns to these names, without running it.

    Of an array its rows. Raises: KeyError for a name that the chapter does not give, ValueError for
    one that it computes.
    """
    values = (_statements(docname)[name][1].value for name in names)
    return [
        ast.literal_eval(value.args[0] if ast.unparse(value).startswith("np.array(") else value)
        for value in values
    ]


def source_of(docname: str, function: str) -> str:
    """Return the source of a chapter's function. Raises: KeyError where there is none."""
    source, statement = _statements(docname)[function]
    return ast.get_source_segment(source, statement) or ""


def setup(app) -> dict:
    for name in ("chat", "gpt", "hero", "machine", "pages", "watch"):
        import_module(f"{__name__}.{name}").setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
