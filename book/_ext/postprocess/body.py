"""Markup of a page's body: what is missing is added, what nobody needs is dropped."""

from __future__ import annotations

import re

PLAIN = ("n", "p", "w", "nn", "o")  # names, signs and space: in the colour of all code
HYPHENED = re.compile(r"(\w+-\w+)")
INDEXED = re.compile(r"(?<=\b[A-Za-z])_([A-Za-z0-9])\b")
VERBATIM = ["code", "pre", "script", "style", "title", "svg", "textarea"]
WITHIN = re.compile(  # a number with its spread, a range, a list of numbers in brackets
    r"(?<=[\d%⁰-⁹¹²³]) (?=[±…×%])|(?<=[±…×]) (?=[\d+−-])|(?<=,) (?=[^\[\],]{1,6}[\],])"
)
TOKEN = re.compile(rf'<span class="(?:{"|".join(PLAIN)})">([^<]*)</span>')


def drop_plain_tokens(code: str) -> str:
    """Drop the spans of tokens in the colour of plain text, most elements of a page."""
    return TOKEN.sub(r"\1", code)


def set_indices(page) -> None:
    """Set the index of a name of one letter in running text, as in W_Q, below the line."""
    for told in page.soup.select("[data-told]"):  # HTML that a prediction keeps for its end
        told["data-told"] = INDEXED.sub(r"<sub>\1</sub>", told["data-told"])
    for text in page.soup.find_all(string=INDEXED):
        if text.find_parent(VERBATIM) or text.find_parent(class_="math"):
            continue
        whole = [
            page.soup.new_tag("sub", string=part) if n % 2 else part
            for n, part in enumerate(INDEXED.split(text))
        ]
        text.replace_with(*whole)


def mark_titles(page) -> None:
    """Tell the title of an exercise, which is a sentence, from a quoted word."""
    for title in page.soup.select(".callout-exercise em"):
        if title.get_text().endswith((".", "?")):
            title["class"] = "title"


def drop_print_copy(page) -> None:
    """Drop the copy of the page's title and contents that the theme keeps for printing."""
    for copy in page.soup.select("#jb-print-docs-body"):
        copy.decompose()


def keep_hyphenated_words(page) -> None:
    """Keep a word with a hyphen in a title on one line."""
    for text in page.soup.h1.find_all(string=HYPHENED) if page.soup.h1 else ():
        whole = [
            page.soup.new_tag("span", attrs={"class": "whole"}, string=part) if n % 2 else part
            for n, part in enumerate(HYPHENED.split(text))
        ]
        text.replace_with(*whole)


def fold_code_below(page) -> None:
    """Put a figure before the fold with the code that draws it."""
    for fold in page.soup.select("div.cell > details.hide"):
        if fold.parent.select_one("figure"):
            fold.parent.append(fold.extract())


def set_table_scopes(page) -> None:
    """Set the scope of header cells; one without text becomes an ordinary cell."""
    for head in page.soup.find_all("th"):
        if not head.get_text(strip=True) and not head.select_one("img, svg"):
            head.name = "td"
            head.attrs.clear()
        elif not head.has_attr("scope"):
            head["scope"] = "col" if head.find_parent("thead") else "row"


def keep_ranges_together(page) -> None:
    """Let no table break a line within a number, its spread or a range."""
    for text in page.soup.find_all(string=WITHIN):
        if text.find_parent(["td", "th"]):
            text.replace_with(WITHIN.sub("\u00a0", text))


def unwrap_cell_paragraphs(page) -> None:
    """Unwrap the paragraph of a table cell that holds nothing else."""
    for cell in page.soup.find_all(["td", "th"]):
        inside = [child for child in cell.children if child.name or child.strip()]
        if len(inside) == 1 and inside[0].name == "p":
            inside[0].unwrap()


def drop_invalid_roles(page) -> None:
    """Drop ARIA roles that are obsolete or not allowed on their element."""
    for tag in page.soup.find_all(role=("doc-biblioentry", "list", "group")):
        if tag["role"] != "group" or "explore" in tag.get("class", ()):
            del tag["role"]
