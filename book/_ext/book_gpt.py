"""The book's GPT in the page: the widget, and its weights as a script of 8-bit numbers.

``{gpt}`` puts the widget into a page under ``book/``; chapters get it after a cell that `PLACES`
names by its id, so that a notebook needs no word about it. The weights are those of the checkpoint
that chapter 12 opens. They are written at each build to ``_static/gpt-weights.js``, a script that
gives base64 text to a global name: a page that is opened from a disk may load a script, but may not
fetch a file. ``gpt.js`` is the model and ``gpt-page.js`` the widget; a page without the widget
loads neither.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from book_chapters import cell_of
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from helpers.embeddings import quantised
from helpers.generate import open_model
from helpers.training import checkpoints

DATA = Path(str(files("helpers"))) / "data"
CHECKPOINT = DATA / "checkpoints" / "tales"
ROUNDING = DATA / "results" / "gpt_rounding.json"
BITS = 8
READ = {
    "norm": "rms",
    "placement": "pre",
    "positions": "rope",
    "qk_norm": True,
    "activation": "gelu",
    "tied": False,
    "ngrams": 1,
}
PLACES = {  # page: (the cell that the widget follows, the prompt that it starts with)
    "notebooks/11_small_gpt": ("code-032", "The fox and the b"),
    "notebooks/12_inside_the_gpt": (
        "explore-maps",
        "The fox did not cross the stream because it was too ",
    ),
}
TAKEN_APART = 'taken apart in <a href="../notebooks/12_inside_the_gpt.html">chapter 12</a>'
WHOSE = {
    "notebooks/11_small_gpt": "What stands above was written by the model that this page trains. "
    "Here answers one of the same size, with GELU in its feed-forward, trained for longer, which "
    f"ships with the book and is {TAKEN_APART}",
    "notebooks/12_inside_the_gpt": "Here the model of this chapter reads a text of yours",
    None: f"Here answers the GPT that ships with the book and is {TAKEN_APART}",
}


# --- weights ------------------------------------------------------------------------------------


def packed(model, vocab: tuple[str, ...]) -> dict:
    """Give what gpt.js unpacks: config, vocab, where each tensor stands, and the bytes in base64.

    All floats (vectors, and a scale for each row of a matrix) come first, little-endian and four
    bytes each, then the codes of the matrices, a byte each. Raises ValueError for a GPT that
    gpt.js cannot run.
    """
    for name, wanted in READ.items():
        if (got := getattr(model.config, name)) != wanted:
            raise ValueError(f"gpt.js runs models with {name}={wanted!r}, this one has {got!r}")
    floats, codes, tensors = [], [], []
    for name, tensor in model.state_dict().items():
        if tensor.ndim == 1:
            floats.append(tensor.numpy())
            tensors.append({"name": name, "rows": len(tensor)})
        else:
            whole, scales = quantised(tensor, BITS)
            floats.append(scales.numpy()[:, 0])
            codes.append(whole.numpy())
            rows, columns = tensor.shape
            tensors.append({"name": name, "rows": rows, "columns": columns})
    at, at_code = 0, 4 * sum(part.size for part in floats)
    for tensor in tensors:
        tensor["floats"] = at
        at += 4 * tensor["rows"]
        if "columns" in tensor:
            tensor["codes"] = at_code
            at_code += tensor["rows"] * tensor["columns"]
    data = b"".join(part.astype("<f4").tobytes() for part in floats)
    data += b"".join(part.astype(np.int8).tobytes() for part in codes)
    config = {name: getattr(model.config, name) for name in ("context", "layers", "heads", "width")}
    return {
        "config": config,
        "vocab": list(vocab),
        "tensors": tensors,
        "data": base64.b64encode(data).decode(),
    }


@cache
def shipped() -> tuple[str, dict]:
    """Give the script with the weights of the shipped GPT, and what the widget says of them."""
    model, tokenizer = open_model(CHECKPOINT)
    parts = packed(model, tokenizer.vocab)
    script = f"globalThis.bookGPTWeights = {json.dumps(parts, ensure_ascii=True)};\n"
    about = {
        "layers": model.config.layers,
        "heads": model.config.heads,
        "context": model.config.context,
        "characters": len(tokenizer),
        "numbers": sum(tensor.numel() for tensor in model.state_dict().values()),
        "updates": checkpoints.load(CHECKPOINT).step,
        "bytes": len(base64.b64decode(parts["data"])),
        "letters": len(script),
        "change": _change(),
        "version": hashlib.sha256(script.encode()).hexdigest()[:8],
    }
    return script, about


def _change() -> str:
    """Give how far rounding takes the loss on the validation text, as the benchmark found it."""
    stored = json.loads(ROUNDING.read_text("utf-8"))
    (row,) = (row for row in stored["rows"] if row[0] == BITS)
    return f"{abs(float(row[stored['columns'].index('change')])):.5f}"


def write_weights(app) -> None:
    if app.builder.format == "html":
        target = Path(app.outdir, "_static", "gpt-weights.js")
        target.parent.mkdir(parents=True, exist_ok=True)
        script = shipped()[0]
        if not target.exists() or target.read_text("utf-8") != script:
            target.write_text(script, "utf-8")


# --- the widget ---------------------------------------------------------------------------------

NUMBERS = (  # name, label, value, least, most, step
    ("temperature", "temperature", 0.8, 0, 3, 0.05),
    ("top-k", "top-k", None, 1, None, 1),
    ("seed", "seed", 1, 0, 999_999, 1),
    ("length", "length", 120, 1, 1000, 1),
)


def widget(env, prompt: str, number: int) -> nodes.raw:
    """Give the widget: words that hold without scripts, and controls that wait for them.

    A page that has it is read again when the checkpoint changes, or this file.
    """
    for file in (Path(__file__), ROUNDING, *CHECKPOINT.rglob("*.*")):
        env.note_dependency(str(file))
    return nodes.raw("", drawn(prompt, env.docname, number), format="html", gpt=True)


def drawn(prompt: str, docname: str, number: int) -> str:
    """Give the widget's HTML."""
    about, ident = shipped()[1], f"gpt-{number}"
    size, text = (f"{about[what] / 1e6:.2f} MB" for what in ("bytes", "letters"))
    whose = WHOSE.get(docname, WHOSE[None])
    fields = "".join(
        f'<label>{label} <input type="number" name="{name}" '
        f'value="{about["characters"] if value is None else value}" min="{least}" '
        f'max="{about["characters"] if most is None else most}" step="{step}" required></label>'
        for name, label, value, least, most, step in NUMBERS
    )
    selects = "".join(
        f'<label>{name} <select name="{name}">'
        + "".join(f'<option value="{n}">{n + 1}</option>' for n in range(about[f"{name}s"]))
        + "</select></label>"
        for name in ("layer", "head")
    )
    return f"""
<div class="gpt" id="{ident}" role="group" aria-labelledby="{ident}-title"
 data-weights="gpt-weights.js?v={about["version"]}">
<p class="gpt-title" id="{ident}-title">Let it write, in this page</p>
<p>{whose}: {about["layers"]} layers of {about["heads"]} heads, {about["numbers"]:,} numbers,
{about["updates"]:,} updates. For the page, each number of its tables is rounded to one of 255
values, with a scale for each row: {size} in all, which come as {text} of text when you ask for
them. The loss on the validation text differs by {about["change"]} nats
(<a href="../book/results.html#gpt-rounding">measured</a>). What you type stays in this page.</p>
<p class="gpt-scriptless">(This needs JavaScript, which does not run here.)</p>
<p class="gpt-load" hidden><button type="button" name="load">Load the model ({text})</button></p>
<p class="gpt-trouble" role="alert"></p>
<p class="visually-hidden gpt-said" role="status"></p>
<form class="gpt-live" hidden>
<label class="gpt-prompt" for="{ident}-prompt">Your prompt</label>
<textarea id="{ident}-prompt" name="prompt" rows="2" spellcheck="false" autocapitalize="off"
 autocomplete="off">{html.escape(prompt)}</textarea>
<div class="gpt-settings">{fields}</div>
<p class="gpt-buttons"><button type="button" name="write">Write</button><button type="button"
 name="stop" aria-disabled="true">Stop</button><button type="button"
 name="one">One character</button><button type="button" name="anew">Back to the prompt</button></p>
<div class="gpt-shown">
<p class="gpt-caption">Underlined: written by the model. Pale: what it no longer reads; when its
{about["context"]} places are full, it reads the last half of them afresh. Tinted: what the outlined
character reads, in the head chosen below.</p>
<div class="gpt-text" aria-hidden="true"></div>
<p class="visually-hidden gpt-plain"></p>
<div class="gpt-settings"><label class="gpt-place">character that reads
<input type="range" name="place" min="0" max="0" value="0">
<span class="gpt-at" aria-hidden="true"></span></label>{selects}</div>
<p class="gpt-reads"></p>
<div class="gpt-halves">
<div><canvas role="img" width="300" height="300"></canvas>
<details><summary>This character’s weights as a table</summary>
<div class="gpt-weights" tabindex="0" role="region" aria-label="Weights"></div></details></div>
<table class="gpt-next"><caption></caption><thead><tr><th scope="col">next</th>
<th scope="col">probability</th></tr></thead><tbody></tbody></table>
</div>
</div>
</form>
</div>
"""


class Gpt(SphinxDirective):
    """Put the widget here; the argument is the prompt that it starts with."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Give the widget."""
        prompt = self.arguments[0] if self.arguments else "The "
        number = self.env.new_serialno("gpt") + 1
        return [widget(self.env, prompt, number)]


def put_into_chapter(app, doctree) -> None:
    """Put the widget behind the cell that `PLACES` names."""
    docname = app.env.docname
    if docname not in PLACES:
        return
    ident, prompt = PLACES[docname]
    cell = cell_of(app, doctree, ident)
    cell.parent.insert(cell.parent.index(cell) + 1, widget(app.env, prompt, 1))


def bring_scripts(app, pagename, templatename, context, doctree) -> None:
    """Let a page that has the widget load its scripts and its style, and no other page."""
    if doctree is None or not any(node.get("gpt") for node in doctree.findall(nodes.raw)):
        return
    app.add_css_file("gpt.css")
    for script in ("gpt.js", "gpt-page.js"):
        app.add_js_file(script, loading_method="defer")


def setup(app) -> dict:
    app.add_directive("gpt", Gpt)
    app.connect("builder-inited", write_weights)
    app.connect("doctree-read", put_into_chapter, priority=300)
    app.connect("html-page-context", bring_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
