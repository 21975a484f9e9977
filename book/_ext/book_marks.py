"""Marks in the text of a page: those that are missing, and those that nobody needs.

- A head cell of a table says what it heads (``scope``), and one without words is none.
- In code, tokens that look like plain text are plain text, without an element of their own, and
  neighbours of one colour are one element: a browser has fewer of them to lay out.
- A cell of a table that holds one paragraph holds its words.
- An explorer is a figure; the role that notebooks give it besides is none that a figure may have.
  Its picture stands in a window, in which a telephone can move it and need not shrink it.
- Entries of the bibliography have a role that is no longer one, in a list that then has no items.
"""

from __future__ import annotations

import re

THEAD = re.compile(r"<thead\b.*?</thead>", re.DOTALL)
TBODY = re.compile(r"<tbody\b.*?</tbody>", re.DOTALL)
BARE = re.compile(r"<th\b(?![^>]*\bscope=)")
EMPTY = re.compile(r"<th\b[^>]*>\s*(?:<p>\s*</p>)?\s*</th>")
PLAIN = ("n", "p", "w", "nn", "o")  # names, signs and space: in the colour of all code
TEXTS = ("s1", "s2", "sa", "se", "si", "sd")  # the parts of a string, all in one colour
TOKEN = re.compile(rf'<span class="(?:{"|".join(PLAIN)})">([^<]*)</span>')
TEXT = re.compile(rf'<span class="(?:{"|".join(TEXTS)})">([^<]*)</span>')
PARTS = re.compile(rf"(?:{TEXT.pattern})+")
PARAGRAPH = re.compile(
    r"(<t[dh]\b[^>]*>)<p>((?:(?!</?p\b|<div|<ul|<ol).)*)</p>\s*(?=</t[dh]>)", re.DOTALL
)
BIBLIOGRAPHY = re.compile(r'(<div class="citation" id="[^"]*") role="doc-biblioentry"')
CITATIONS = '<div role="list" class="citation-list">'
EXPLORER = re.compile(r'(<figure class="explore") role="group"')
PICTURE = re.compile(r'(<p class="explore-title">[^<]*</p>)(<img [^>]*?width="(\d+)"[^>]*>)')
WINDOW = r'\1<div class="explore-picture" style="--natural: \3px">\2</div>'


def with_scopes(html: str) -> str:
    """Say of head cells whether they head a column or a row."""
    html = EMPTY.sub("<td></td>", html)
    html = THEAD.sub(lambda match: BARE.sub('<th scope="col"', match[0]), html)
    return TBODY.sub(lambda match: BARE.sub('<th scope="row"', match[0]), html)


def with_fewer_elements(html: str) -> str:
    """Say the same with fewer elements: in code, and in cells of tables."""
    html = TOKEN.sub(r"\1", html)
    html = PARTS.sub(
        lambda match: '<span class="s2">' + TEXT.sub(r"\1", match[0]) + "</span>", html
    )
    return PARAGRAPH.sub(r"\1\2", html)


def mark(app, pagename, templatename, context, doctree) -> None:
    if context.get("body") and app.builder.format == "html":
        body = with_fewer_elements(with_scopes(context["body"]))
        body = BIBLIOGRAPHY.sub(r"\1", body).replace(CITATIONS, '<div class="citation-list">')
        context["body"] = PICTURE.sub(WINDOW, EXPLORER.sub(r"\1", body))


def setup(app) -> dict:
    app.connect("html-page-context", mark, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
