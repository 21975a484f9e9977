"""The page *Talk to a chat model*: SmolLM2 in the page, and which of the reader's words mattered.

``_scripts/chat`` is helpers/minillama.py in JavaScript, in a worker (``worker.js``); ``page.js``
talks, ``why.js`` and ``inside.js`` ask why, ``file.js`` gets the model's file: from the site, where
`book.build` puts it, or from a disk. Until then, and without scripts, the page shows answers that
chapter 14 has stored.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from jinja2 import Template
from sphinx.util.docutils import SphinxDirective

from book.build import MODEL
from helpers import pretrained
from helpers.chapters import BY_NUMBER
from play import ROOT, literals
from play.watch import kernel

BYTES = 98_362_432  # of the file
FOX = "The fox did not cross the stream because {} was too {}. What was too {}?"
FOXES = [
    FOX.format(*about)
    for about in (
        ("it", "wide", "wide"),
        ("it", "tired", "tired"),
        ("the weather", "wide", "wide"),
    )
]
QUESTIONS = {
    "page": ["What is the capital of France?", *FOXES, "How many r are in strawberry?"],
    "why": FOXES,
}
TEMPLATE = ROOT / "book" / "_templates" / "chat.html"


def stored() -> tuple[list[str], list[tuple[str, str]]]:
    """Return chapter 14's questions, and each with the answer that is stored there."""
    docname = BY_NUMBER[14].docname
    (questions,) = literals(docname, "questions")
    cells = json.loads((ROOT / f"{docname}.ipynb").read_text("utf-8"))["cells"]
    (cell,) = (cell for cell in cells if cell["id"] == "the-chat")
    said = "".join(cell["outputs"][0]["text"]).split("> ")[1:]
    answers = (text.partition("\n")[2].replace("\n", " ").strip() for text in said)
    return list(questions), list(zip(questions, answers, strict=True))


def figure(kind: str) -> nodes.raw:
    """Return the node of a figure: the whole "page", or a chapter's "talk" or "why"."""
    questions, answers = stored()
    size = f"{BYTES / 1e6:.0f} MB"
    data = {
        "file": f"downloads/{Path(MODEL).name}",
        "bytes": BYTES,
        "sha256": pretrained.SHA256,
        "system": pretrained.SYSTEM,
        "code": [kernel("train"), kernel("chat")],
    }
    html = Template(TEMPLATE.read_text("utf-8"), autoescape=True).render(
        stored=answers if kind == "page" else [],
        questions=QUESTIONS.get(kind, questions),
        kind=kind,
        size=size,
        bytes=BYTES,
        path=f"~/.cache/transformers-worked-out/{Path(MODEL).name}",
        command="python -m helpers.chat",
        chapter=f"../{BY_NUMBER[14].docname}.html",
        data=json.dumps(data).replace("<", "\\u003c"),
    )
    return nodes.raw("", html, format="html", assets=["chat.css", "chat.js"])


class Chat(SphinxDirective):
    """Put the page's figure here."""

    def run(self) -> list[nodes.Node]:
        """Give it."""
        return [figure("page")]


def setup(app) -> None:
    app.add_directive("chat", Chat)
