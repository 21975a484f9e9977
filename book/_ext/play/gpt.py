"""The book's GPT in the page: the widget, and its weights as a script of 8-bit numbers.

``{gpt}`` puts the widget into a page under ``book/``; chapters get it after a cell that their
manifest names, so that a notebook needs no word about it. The weights are those of
helpers/data/minigpt.safetensors, written at each build to ``_static/gpt-weights-minigpt.js``,
a script that gives base64 text to a global name: a page that is opened from a disk may load a
script, but may not fetch a file. ``_scripts/gpt/model.js`` is the model, ``widget.js`` the widget.
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
import torch
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from helpers import checkpoint
from helpers.embeddings import quantised
from play import MODULES, bundled

RESULTS = Path(str(files("helpers"))) / "data" / "results" / "minigpt.json"
BITS = 8
ABOUT = (
    "Here answers the program that you build, trained on tales that another program told. Its "
    "tokens are words, each with the space before it, and it knows no others"
)
CHAPTER_12 = '<a href="../notebooks/12_inside_the_gpt.html">chapter 12</a>'


# --- weights ------------------------------------------------------------------------------------


def packed(model, vocab: list[str]) -> dict:
    """Give what model.js unpacks: sizes, vocab, where each tensor stands, and the bytes in base64.

    All floats (vectors, and a scale for each row of a matrix) come first, little-endian and four
    bytes each, then the codes of the matrices, a byte each.
    """
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
    return {
        "sizes": checkpoint.sizes(model),
        "vocab": vocab,
        "tensors": tensors,
        "data": base64.b64encode(data).decode(),
    }


@torch.no_grad()
def rounded():
    """Give the shipped GPT with the page's weights, in float64 as there, and its tokenizer."""
    model, tokenizer = checkpoint.load()
    rows = {
        name: quantised(matrix, BITS)
        for name, matrix in model.named_parameters()
        if matrix.ndim == 2
    }
    model.double()
    for name, (codes, scales) in rows.items():
        model.get_parameter(name).copy_(codes * scales.double())
    return model, tokenizer


@cache
def weights_script() -> tuple[str, dict]:
    """Give the script with the weights, and what the widget says of them."""
    model, tokenizer = checkpoint.load()
    parts = packed(model, tokenizer.vocab)
    script = f"globalThis.bookGPTWeights = {json.dumps(parts, ensure_ascii=True)};\n"
    stored = json.loads(RESULTS.read_text("utf-8"))
    (row,) = (row for row in stored["rounding"]["rows"] if row[0] == BITS)
    about = {
        **parts["sizes"],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": stored["curve"]["rows"][-1][0],
        "bytes": len(base64.b64decode(parts["data"])),
        "letters": len(script),
        "change": row[stored["rounding"]["columns"].index("change")].lstrip("+-"),
        "file": f"gpt-weights-minigpt.js?v={hashlib.sha256(script.encode()).hexdigest()[:8]}",
    }
    return script, about


def write_scripts(app) -> None:
    """Write the weights, and each page's script, a function that a worker can be given as well."""
    if app.builder.format != "html":
        return
    weights, about = weights_script()
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    (static / about["file"].partition("?")[0]).write_text(weights, "utf-8")
    for name in MODULES:
        script = f"{{\nconst wholeScript = () => {{\n{bundled(name)}}};\nwholeScript();\n}}\n"
        (static / f"{name}.js").write_text(script, "utf-8")


# --- the widget ---------------------------------------------------------------------------------

NUMBERS = (  # name, label, value, least, most, step; none: the size of the vocabulary
    ("temperature", "temperature", 0.5, 0, 3, 0.05),
    ("top-k", "top-k", None, 1, None, 1),
    ("seed", "seed", 1, 0, 999_999, 1),
    ("length", "length", 60, 1, 1000, 1),
)


def widget(prompt: str, about_model: str = ABOUT) -> nodes.raw:
    """Give the widget: words that hold without scripts, and controls that wait for them.

    about_model: what it says of the model.
    """
    return nodes.raw(
        "", widget_html(prompt, about_model), format="html", assets=["gpt.css", "gpt.js"]
    )


def widget_html(prompt: str, about_model: str = ABOUT) -> str:
    """Give the widget's HTML."""
    about = weights_script()[1]
    size, text = (f"{about[what] / 1e6:.2f} MB" for what in ("bytes", "letters"))
    about_model = about_model.format(chapter_12=CHAPTER_12)
    fields = "".join(
        f'<label>{label} <input type="number" name="{field}" '
        f'value="{about["V"] if value is None else value}" min="{least}" '
        f'max="{about["V"] if most is None else most}" step="{step}" required></label>'
        for field, label, value, least, most, step in NUMBERS
    )
    return f"""
<div class="gpt" id="gpt-1" role="group" aria-labelledby="gpt-title"
 data-weights="{about["file"]}">
<p class="gpt-title" id="gpt-title">Let it write, in this page</p>
<p>{about_model}. It has {about["L"]} layers of {about["H"]} heads and {about["parameters"]:,}
parameters, trained in {about["steps"]:,} steps. For this page we round each weight to one of 255
values, with a scale for each row. That makes {size}, which come as {text} of text when you ask for
them. The loss on held-out tales differs by {about["change"]} nats a token
(<a href="../book/results.html#minigpt">measured</a>). What you type stays in this page.</p>
<p class="gpt-scriptless">(This needs JavaScript, which does not run here.)</p>
<p class="gpt-load" hidden><button type="button" name="load">Load the model ({text})</button></p>
<p class="gpt-trouble" role="alert"></p>
<p class="visually-hidden gpt-said" role="status"></p>
<form class="gpt-live" hidden>
<label class="gpt-prompt" for="gpt-prompt">Your prompt</label>
<textarea id="gpt-prompt" name="prompt" rows="2" spellcheck="false" autocapitalize="off"
 autocomplete="off">{html.escape(prompt)}</textarea>
<div class="gpt-settings">{fields}</div>
<p class="gpt-buttons"><button type="button" name="write">Write</button><button type="button"
 name="stop" aria-disabled="true">Stop</button><button type="button"
 name="one">One token</button><button type="button" name="anew">Back to the prompt</button></p>
<div class="gpt-shown">
<p class="gpt-caption">Underlined text was written by the model. It no longer reads the pale text,
because when its {about["T"]} positions are full, it begins afresh with the last half of them.
<a class="gpt-open" href="../book/number-by-number.html">Open it in the whole machine</a>, to see
what each head reads.</p>
<div class="gpt-text"></div>
<table class="gpt-next"><caption></caption><thead><tr><th scope="col">next</th>
<th scope="col">probability</th></tr></thead><tbody></tbody></table>
</div>
</form>
</div>
"""


class Gpt(SphinxDirective):
    """Put the widget here; the argument is the prompt that it starts with."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Give the widget."""
        return [widget(self.arguments[0])]


def setup(app) -> None:
    app.add_directive("gpt", Gpt)
    app.connect("builder-inited", write_scripts)
