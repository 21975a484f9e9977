"""Glossary terms, linked from their first use on each page.

Notebooks are plain Markdown and hold no roles, so the links are made here: the first time a term
of the glossary stands in a paragraph (not in a heading, a link, code or mathematics) it becomes a
quiet link to its entry, with the entry's first sentence as its title. Plurals count. A word that
also has an everyday meaning counts only in a paragraph that holds one of its companions.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes

QUIET_PAGES = {
    f"book/{page}" for page in ("glossary", "bibliography", "licences", "corrections", "topics")
}
COMPANIONS = {
    "value": r"\b(keys?|quer(y|ies)|value vectors?)\b",
    "key": r"\b(values?|quer(y|ies)|key vectors?)\b",
    "head": r"\b(attention|heads)\b",
    "mask": r"\b(attention|attend|causal|future|read)\b",
    "score": r"\b(quer(y|ies)|keys?|softmax)\b",
    "position": r"\b(tokens?|order|sequence|encod)",
    "batch": r"\b(train|sequences|gradient|tokens?|mean)",
    "context": r"\b(tokens?|model|window|length)\b",
    "block": r"\b(attention|feed-forward|layers?|Transformer)\b",
    "step": r"\b(learning rate|gradient|training)\b",
    "baseline": r"\b(loss|losses|counts?|counting)\b",
}
SKIP = (
    nodes.reference,
    nodes.literal,
    nodes.math,
    nodes.raw,
    nodes.title,
    nodes.image,
    nodes.footnote_reference,
    addnodes.pending_xref,
)


def first_sentence(text: str) -> str:
    """Return a definition's first sentence on one line."""
    line = " ".join(text.split())
    return re.split(r"(?<=[.])\s+(?=[A-Z])", line, maxsplit=1)[0]


def collect(app, doctree) -> None:
    """Keep each term's id and the first sentence of its definition."""
    env = app.env
    for glossary in doctree.findall(addnodes.glossary):
        terms = {}
        for item in glossary.findall(nodes.definition_list_item):
            definition = next(item.findall(nodes.definition), None)
            first = next(definition.findall(nodes.paragraph), None) if definition else None
            sentence = "" if first is None else first_sentence(first.astext())
            for term in item.findall(nodes.term):
                terms[term.astext()] = (term["ids"][0], sentence)
        env.book_glossary = (env.docname, terms)


def pattern_of(term: str) -> str:
    """Return a regular expression for a term and its plural."""
    words = re.escape(term).replace(r"\ ", r"[\s-]").replace(r"\-", r"[\s-]")
    if re.search(r"[^aeiou]y$", term):
        return words[:-1] + "(?:y|ies)"
    if term.endswith(("s", "x")):
        return words + "(?:es)?"
    return words + "s?"


def allowed(term: str, paragraph: str) -> bool:
    """Tell whether a term means what the glossary means in this paragraph."""
    companion = COMPANIONS.get(term.lower())
    return companion is None or re.search(companion, paragraph, re.IGNORECASE) is not None


def texts_of(paragraph: nodes.paragraph):
    """Yield the pieces of plain text in a paragraph."""
    for text in list(paragraph.findall(nodes.Text)):
        parent = text.parent
        while parent is not paragraph and not isinstance(parent, SKIP):
            parent = parent.parent
        if parent is paragraph:
            yield text


def link_text(text: nodes.Text, finder, waiting: dict, whole: str, uri: str) -> None:
    """Replace the first uses of waiting terms in one piece of text by links."""
    pieces, at = [], 0
    for match in finder.finditer(str(text)):
        term = next(name for name, found in match.groupdict().items() if found)
        if term not in waiting or not allowed(waiting[term][0], whole):
            continue
        name, (ident, sentence) = waiting.pop(term)
        link = nodes.reference("", match[0], internal=True, refuri=f"{uri}#{ident}")
        link["classes"].append("gloss")
        link["reftitle"] = sentence or name
        pieces += [nodes.Text(str(text)[at : match.start()]), link]
        at = match.end()
    if pieces:
        text.parent.replace(text, [*pieces, nodes.Text(str(text)[at:])])


def link_terms(app, doctree, docname) -> None:
    glossary_doc, terms = getattr(app.env, "book_glossary", (None, {}))
    if not terms or docname in QUIET_PAGES or app.builder.format != "html":
        return
    uri = app.builder.get_relative_uri(docname, glossary_doc)
    longest_first = sorted(terms, key=len, reverse=True)
    waiting = {f"t{i}": (term, terms[term]) for i, term in enumerate(longest_first)}
    parts = (f"(?P<t{i}>{pattern_of(term)})" for i, term in enumerate(longest_first))
    finder = re.compile(rf"(?<![\w-])(?:{'|'.join(parts)})(?![\w-])", re.IGNORECASE)
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if (
            isinstance(paragraph.parent, nodes.list_item)
            and "chapter-list" in (paragraph.parent.parent["classes"])
        ):
            continue
        whole = paragraph.astext()
        for text in texts_of(paragraph):
            link_text(text, finder, waiting, whole, uri)


def setup(app) -> None:
    app.connect("doctree-read", collect)
    app.connect("doctree-resolved", link_terms)
