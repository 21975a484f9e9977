"""Marks in the text of a page: those that are missing, and those that nobody needs.

- A head cell of a table says what it heads (``scope``), and one without words is none.
- In code, tokens that look like plain text are plain text, without an element of their own.
- An explorer is a figure; the role that notebooks give it besides is none that a figure may have.
- Entries of the bibliography have a role that is no longer one, in a list that then has no items.
"""

from __future__ import annotations

import re

THEAD = re.compile(r"<thead\b.*?</thead>", re.DOTALL)
TBODY = re.compile(r"<tbody\b.*?</tbody>", re.DOTALL)
BARE = re.compile(r"<th\b(?![^>]*\bscope=)")
EMPTY = re.compile(r"<th\b[^>]*>\s*(?:<p>\s*</p>)?\s*</th>")
PLAIN = ("n", "p", "w", "nn")  # tokens in the colour of all code, in light and dark
TOKEN = re.compile(rf'<span class="(?:{"|".join(PLAIN)})">([^<]*)</span>')
BIBLIOGRAPHY = re.compile(r'(<div class="citation" id="[^"]*") role="doc-biblioentry"')
CITATIONS = '<div role="list" class="citation-list">'
EXPLORER = re.compile(r'(<figure class="explore") role="group"')


def with_scopes(html: str) -> str:
    """Say of head cells whether they head a column or a row."""
    html = EMPTY.sub("<td></td>", html)
    html = THEAD.sub(lambda match: BARE.sub('<th scope="col"', match[0]), html)
    return TBODY.sub(lambda match: BARE.sub('<th scope="row"', match[0]), html)


def mark(app, pagename, templatename, context, doctree) -> None:
    if context.get("body") and app.builder.format == "html":
        body = TOKEN.sub(r"\1", with_scopes(context["body"]))
        body = BIBLIOGRAPHY.sub(r"\1", body).replace(CITATIONS, '<div class="citation-list">')
        context["body"] = EXPLORER.sub(r"\1", body)


def setup(app) -> dict:
    app.connect("html-page-context", mark, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
