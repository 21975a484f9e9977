"""What search knows besides the words of a page: glossary terms, and the topics of each section.

Sphinx lists the terms of a glossary only while that page is being written, so after a build that
left the page as it was they are gone; and headings that are questions do not say what a section is
about. Here both are entered as titles at every build: *residual stream* leads to its entry, and to
the section of which ``book/topics.yml`` says that it is about it. ``search-scorer.js`` puts
chapters and the glossary first (after a change of it build anew, with ``--all``).
"""

from __future__ import annotations

from pathlib import Path

from book_chapters import BY_NUMBER
from book_topics import topics


def entries(env, titles: dict[str, list]) -> list[tuple[str, str, str]]:
    """Return what is to be entered: a page's name, a title and the place that it leads to."""
    page, terms = getattr(env, "book_glossary", (None, {}))
    found = [(page, term, ident) for term, (ident, _) in terms.items()]
    for number, sections in topics().items():
        docname = BY_NUMBER[number].docname
        places = {title: ident for title, ident in titles.get(docname, ()) if ident}
        found += [
            (docname, topic.replace("`", ""), places[heading])
            for heading, entry in sections.items()
            if heading in places
            for topic in entry["topics"]
        ]
    return found


def enter(app) -> list:
    """Enter them, each once: the index of the last build may have some already."""
    indexer = getattr(app.builder, "indexer", None)
    if indexer is not None:
        titles = indexer._all_titles
        for docname, title, ident in entries(app.env, titles):
            if (title, ident) not in titles.get(docname, [(title, ident)]):
                titles[docname].append((title, ident))
    return []


def order(app, config) -> None:
    """Tell Sphinx how to order what is found."""
    config.html_search_scorer = str(Path(__file__).with_name("search-scorer.js"))


def setup(app) -> dict:
    app.connect("config-inited", order)
    app.connect("html-collect-pages", enter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
