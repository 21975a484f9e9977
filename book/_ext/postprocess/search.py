"""The index of the search page: each section by its title, its names and its words.

Names are the usual terms and topics of the manifests, since headings that are questions do not say
what a section is about. Words are all that a page says, and its open code. An excerpt is the first
open text: neither code nor what a page folds, such as the answer to a prediction.
``_assets/search-words.js`` makes the index, in Node, which ``search.js`` searches.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import NavigableString
from content.opengraph import shortened
from docutils.nodes import make_id

from helpers.chapters import CHAPTERS
from postprocess.maths import in_node

SCRIPT = Path(__file__).parents[2] / "_assets" / "search-words.js"
INDEX = "_static/search-index.js"
UNSEARCHED = {"search.html", "genindex.html", "404.html", "book/topics.html"}
TAUGHT = ("notebooks/", "book/glossary", "book/images", "book/models", "book/my-gpt", "book/tr")
SILENT = {"section", "script", "style", "svg", "summary", "button", "form", "h1", "h2", "h3", "dt"}
QUOTED = ("p", "li", "dd")
CLOSED = ["details", "form", "figure", "table", "pre", "nav"]
SPOKEN = (
    (r"\\\(|\\\)|\\\[|\\\]|[{}&]|\\[,;!: ]|\\(?:left|right|operatorname|text|mathrm|mathbf)\b", ""),
    (r"\\sqrt", "√"),
    (r"\\cdot|\\times", "·"),
)
CODE = re.compile("\ue000(\\d+)\ue000")


def spoken(tex: str) -> str:
    """Return a formula in letters, its commands as words."""
    for pattern, sign in SPOKEN:
        tex = re.sub(pattern, sign, tex)
    return " ".join(tex.replace("\\", " ").split())


def words_of(page, tag, *, code: bool = False) -> Iterator[str]:
    """Yield the text under a tag, without that of sections in it; with code, open code, too."""
    for child in tag.children:
        classes = () if isinstance(child, NavigableString) else child.get("class", ())
        if isinstance(child, NavigableString):
            if type(child) is NavigableString:
                yield str(child)
        elif child.name in SILENT or "headerlink" in classes:
            continue
        elif "math" in classes:
            yield spoken(child.get_text())
        elif child.name == "pre":
            if code and not child.find_parent(["details", "div"], class_=["hide", "cell_output"]):
                kept = CODE.search(child.get_text())
                yield html.unescape(re.sub("<[^>]*>", "", page.code[int(kept[1])] if kept else ""))
        else:
            yield from words_of(page, child, code=code)
            if child.name not in ("a", "em", "strong", "span", "code", "sub", "sup", "i", "b"):
                yield " "


def excerpt(page, section) -> str:
    """Return the first open text of a section."""
    found = ""
    for part in section.find_all(QUOTED):
        if len(found) > 160 or part.find_parent("section") is not section:
            break
        if not (part.find_parent(CLOSED) or part.find_parent(class_="cell_output")):
            found += " ".join(words_of(page, part)) if part.name == "dd" else ""
            found += "".join(words_of(page, part)) + " "
    return shortened(found)


def names() -> dict[tuple[str, str], dict]:
    """Return what sections are called besides their titles, by page and anchor."""
    return {
        (f"{chapter.docname}.html", make_id(section.heading)): {
            "terms": section.terms,
            "topics": [topic.replace("`", "") for topic in section.topics],
        }
        for chapter in CHAPTERS
        for section in chapter.sections
    }


def sections(page, number: int, named: dict) -> Iterator[dict]:
    """Yield what the index holds of each section of a page, or of each entry of the glossary."""
    for section in page.soup.select("article section[id]"):
        heading = section.find(["h1", "h2", "h3"], recursive=False)
        if heading is None:
            continue
        ident = "" if heading.name == "h1" else section["id"]
        yield {
            "page": number,
            "anchor": ident,
            "title": "".join(words_of(page, heading)),
            "says": excerpt(page, section),
            **named.pop((page.name, ident), {"terms": [], "topics": []}),
            "text": "".join(words_of(page, section, code=True)),
        }
    for term in page.soup.select('dt[id^="term-"]'):
        meaning = "".join(words_of(page, term.find_next_sibling("dd")))
        yield {
            "page": number,
            "anchor": term["id"],
            "title": "".join(words_of(page, term)),
            "says": shortened(meaning),
            "terms": [],
            "topics": [],
            "text": meaning,
        }


def write_index(app, pages) -> None:
    """Write the index. Raises: KeyError for a section of a manifest that its chapter lacks."""
    numbers = {f"{chapter.docname}.html": chapter.number for chapter in CHAPTERS}
    named, rows = names(), []
    found: list[dict] = []
    for page in sorted(pages, key=lambda page: (not page.name.startswith("notebooks"), page.name)):
        if page.name in UNSEARCHED:
            continue
        title = "".join(words_of(page, page.soup.h1)).strip()
        title = f"{numbers[page.name]} · {title}" if page.name in numbers else title
        rows.append([page.name, title, 1 if page.name.startswith(TAUGHT) else 0.5])
        found += sections(page, len(rows) - 1, named)
    if missing := [key for key in named if key[0] in {row[0] for row in rows}]:
        raise KeyError(f"no such section: {missing}")
    script, given = SCRIPT.read_text("utf-8"), {"pages": rows, "sections": found}
    built = in_node([script], "bookSearch.build", given)
    index = f"bookSearch.data = {json.dumps(built, ensure_ascii=False, separators=(',', ':'))};\n"
    Path(app.outdir, INDEX).write_text(index, "utf-8")
    digest = hashlib.sha256(index.encode()).hexdigest()[:8]
    for page in pages:
        if page.name == "search.html":
            page.text = page.text.replace(INDEX, f"{INDEX}?v={digest}")
