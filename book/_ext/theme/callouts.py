"""Callouts: a blockquote that opens with a bold word gets the classes of a card.

Notebooks stay plain Markdown (``> **Predict.** What happens if …``), read well in JupyterLab,
Colab and on GitHub, and look like cards here. Nothing but classes is added.
"""

from __future__ import annotations

import re

from docutils import nodes

KINDS = ("Predict", "Spot the error", "Exercise", "Deeper", "Afterwards")
OPENING = re.compile(rf"^({'|'.join(map(re.escape, KINDS))})\b", re.IGNORECASE)


def kind_of(quote: nodes.block_quote) -> str | None:
    """Return the callout's kind, or None for a quotation."""
    first = quote.children[0] if quote.children else None
    if not (isinstance(first, nodes.paragraph) and first.children):
        return None
    bold = next((child for child in first.children if child.astext()), None)
    if not isinstance(bold, nodes.strong):
        return None
    match = OPENING.match(bold.astext().strip())
    return match[1].lower().replace(" ", "-") if match else None


def add_callout_classes(app, doctree) -> None:
    for quote in doctree.findall(nodes.block_quote):
        kind = kind_of(quote)
        if kind:
            quote["classes"] += ["callout", f"callout-{kind}"]
            next(quote.findall(nodes.strong))["classes"].append("callout-title")


def setup(app) -> None:
    app.connect("doctree-read", add_callout_classes)
