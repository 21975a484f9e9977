"""What a book with an address has: ways to cite, correct and edit a page.

Where the address of the repository is not known there are no links to it.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from urllib.parse import quote, urlsplit

import yaml

from book import address


def bibtex(root: Path, url: str | None) -> str:
    """Return the entry of CITATION.cff for BibTeX, with an address if there is one."""
    said = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    terms = yaml.safe_load((root / "_config.yml").read_text("utf-8"))["copyright"]
    fields = {
        "title": f"{{{said['title']}}}",
        "author": " and ".join(f"{{{author['name']}}}" for author in said["authors"]),
        "year": re.findall(r"\d{4}", terms)[-1],
        "version": said["version"],
        **({"url": url} if url else {}),
    }
    lines = "".join(f",\n  {name} = {{{value}}}" for name, value in fields.items())
    return f"@software{{transformers_worked_out{lines}\n}}"


def repository_links(url: str, path: str, title: str) -> list[tuple[str, str]]:
    """Return what a reader can do about a page on GitHub, as words and addresses."""
    return [
        ("Report an error on this page", f"{url}/issues/new?title={quote(f'Error on {title}')}"),
        ("Edit this page", f"{url}/edit/main/{quote(path)}"),
    ]


def add_links(app, pagename, templatename, context, doctree) -> None:
    """Offer a page's links at its foot; let links of the page that is not found work anywhere."""
    links = [("Cite this book", context["pathto"]("book/licences").rstrip("#") + "#cite-this-book")]
    url = app.config.book_address or ""
    if doctree is not None and url.startswith(address.GITHUB):
        path = Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
        title = re.sub(r"<[^>]+>", "", context["title"])
        report, edit = repository_links(url, path, f"“{title}”")
        whole = app.config.html_theme_options.get("launch_buttons", {}).get("colab_url")
        links += [report, edit]
        if whole and path.endswith(".ipynb"):
            release, stem = address.stored(Path(app.srcdir))[1], Path(path).stem
            links.append(("This chapter as a PDF", f"{url}/releases/download/{release}/{stem}.pdf"))
    context["book_links"] = links
    if pagename == "404" and (site := app.config.html_baseurl):
        base = f'<base href="{escape(urlsplit(site).path.rstrip("/"))}/" />'
        context["metatags"] = base + context.get("metatags", "")


def setup(app) -> None:
    app.connect("html-page-context", add_links, priority=400)
