"""What the site offers besides its pages: citing, correcting, a page for what is not."""

import re
from types import SimpleNamespace

import pytest
import yaml
from bs4 import BeautifulSoup
from support import ROOT

SITE = "https://ann.github.io/fork/"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
PAGES = [TOC["root"], *(entry["file"] for part in TOC["parts"] for entry in part["chapters"])]


def app(out, site: str) -> SimpleNamespace:
    builder = SimpleNamespace(format="html", get_target_uri=lambda name: f"{name}.html")
    config = SimpleNamespace(html_baseurl=site, book_address=None, root_doc="", project="")
    return SimpleNamespace(
        builder=builder, config=config, outdir=out, env=SimpleNamespace(found_docs=set(PAGES))
    )


def test_a_page_can_be_reported_and_edited():
    from theme import published

    url, file = "https://github.com/ann/fork", "notebooks/05_attention_by_hand.ipynb"
    first, second = published.repository_links(url, file, "“A & B”")
    assert first[1] == f"{url}/issues/new?title=Error%20on%20%E2%80%9CA%20%26%20B%E2%80%9D"
    assert second[1] == f"{url}/edit/main/{file}"


def test_bibtex_says_what_the_citation_file_says():
    from theme import published

    said = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    entry = published.bibtex(ROOT, SITE)
    for value in (said["title"], said["authors"][0]["name"], said["version"], SITE):
        assert f"{{{value}}}" in entry
    assert entry.count("{") == entry.count("}")
    assert "url" not in published.bibtex(ROOT, None)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_says_how_to_cite_it(html_root, name):
    """And no link leads to a place-holder where this copy has no address."""
    page = BeautifulSoup((html_root / f"{name}.html").read_text("utf-8"), "html.parser")
    offered = {link.get_text(): link["href"] for link in page.select(".page-links a")}
    file, anchor = offered["Cite this book"].split("#")
    target = (html_root / f"{name}.html").parent / file if file else html_root / f"{name}.html"
    assert f'<section id="{anchor}"' in target.read_text("utf-8")
    assert not any("OWNER" in link for link in offered.values())


def test_an_address_that_is_none_leads_to_search_and_contents(html_root):
    page = BeautifulSoup((html_root / "404.html").read_text("utf-8"), "html.parser")
    form = page.select_one("main form[method=get]")
    assert form["action"] == "search.html"
    assert form.select_one("input[name=q]")
    listed = {link["href"] for link in page.select(".bd-search-container li a")}
    assert {f"{name}.html" for name in PAGES[1:]} <= listed


def test_a_shared_link_shows_the_first_screen(html_root):
    """By its whole address where that is known."""
    from content import opengraph
    from matplotlib.image import imread

    pixels = imread(html_root / "book" / opengraph.tags(app("", ""), "book/x", "", "")["og:image"])
    assert pixels.shape[:2] == (630, 1200)
    tags = opengraph.tags(app("", SITE), "book/x", "", "")
    assert tags["og:image"] == f"{SITE}_static/social.png"


def test_its_links_work_from_any_folder():
    from theme import published

    given = {"pathto": lambda name: name, "metatags": "<meta>", "title": "No such page"}
    published.add_links(app("", SITE), "404", "", given, None)
    assert re.match('<base href="/fork/" ?/>', given["metatags"])
