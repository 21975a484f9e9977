"""Search, and the way from page to page."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup
from docutils.nodes import make_id
from support import NOTEBOOKS, ROOT

from helpers.chapters import BY_NUMBER, CHAPTERS

SEARCHES = tomllib.loads(Path(__file__).with_name("searches.toml").read_text("utf-8"))
ASK = """
const { readFileSync } = require("fs");
const { texts, index } = JSON.parse(readFileSync(0));
(0, eval)(readFileSync(index, "utf-8"));
const opened = bookSearch.open(bookSearch.data);
process.stdout.write(JSON.stringify(texts.map((text) => bookSearch.search(opened, text))));
"""
MOST = 150_000  # bytes of a query, as a server sends them


@pytest.fixture(scope="module")
def ask(html_root):
    """Return a function that searches the site's index for each of some texts, without a page."""
    from postprocess.maths import node

    def ask(texts) -> list[dict]:
        parts = ("search-words.js", "search.js")
        script = "".join((html_root / "_static" / part).read_text("utf-8") for part in parts)
        asked = {"texts": list(texts), "index": str(html_root / "_static" / "search-index.js")}
        done = subprocess.run(
            [node(), "-e", script + ASK],
            input=json.dumps(asked),
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        return json.loads(done.stdout)

    return ask


def links(answer: dict, most: int = 20) -> list[str]:
    return [found["href"] for found in answer["found"][:most]]


def address(place: str) -> str:
    """The address of a section that searches.toml names."""
    page, sign, anchor = place.partition("#")
    name = BY_NUMBER[int(page)].docname if page.isdigit() else f"book/{page}"
    return f"{name}.html{sign}{anchor}"


@pytest.fixture(scope="module")
def answers(ask) -> dict[str, dict]:
    return dict(zip(SEARCHES, ask(SEARCHES), strict=True))


@pytest.mark.parametrize("text", SEARCHES)
def test_what_readers_type_leads_to_its_section(answers, text):
    found = links(answers[text], 3)
    assert set(found) & set(map(address, SEARCHES[text])), found


def test_a_usual_term_leads_to_its_section(ask):
    """Before all others, but for one that has the same word in another form."""
    places = {}
    for chapter in CHAPTERS:
        for section in chapter.sections:
            for term in section.terms:
                place = f"{chapter.docname}.html#{make_id(section.heading)}"
                places.setdefault(term, set()).add(place)
    for term, found in zip(places, ask(places), strict=True):
        assert places[term] & set(links(found, 2)), term


def test_topics_lead_to_their_sections(ask, html_root):
    rows = [
        (topic, chapter.docname, make_id(section.heading))
        for chapter in CHAPTERS
        for section in chapter.sections
        for topic in section.topics
    ]
    for (topic, page, ident), found in zip(rows, ask(topic for topic, *_ in rows), strict=True):
        assert f"{page}.html#{ident}" in links(found, 6), topic
        assert f'<section id="{ident}"' in (html_root / f"{page}.html").read_text("utf-8")


def test_glossary_terms_lead_to_their_entries(ask, html_root):
    page = BeautifulSoup((html_root / "book" / "glossary.html").read_text("utf-8"), "html.parser")
    terms = {term.get_text().removesuffix("#"): term["id"] for term in page.select("dt[id^=term-]")}
    assert len(terms) > 100
    for (term, ident), found in zip(terms.items(), ask(terms), strict=True):
        entry = next(one for one in found["found"][:6] if one["href"].endswith(f"#{ident}"))
        meaning = page.find(id=ident).find_next_sibling("dd").p.get_text()
        assert entry["says"][:50] in " ".join(meaning.split()), term


def test_a_word_that_only_a_caption_has_leads_to_its_chapter(ask):
    texts = {path.stem: path.read_text("utf-8") for path in NOTEBOOKS}
    lonely = {}
    for name, text in texts.items():
        others = " ".join(other for stem, other in texts.items() if stem != name).lower()
        for cell in json.loads(text)["cells"]:
            figure = cell["metadata"].get("mystnb", {}).get("figure", {})
            words = re.findall(r"\b[a-z]{6,}\b", figure.get("caption", ""))
            lonely |= {word: name for word in words if word not in others}
    assert len(lonely) > 5
    for (word, name), found in zip(lonely.items(), ask(lonely), strict=True):
        assert any(link.startswith(f"notebooks/{name}") for link in links(found)), word


def test_chapters_and_glossary_come_before_pages_about_the_book(ask):
    words = ["causal mask", "dropout", "residual stream", "variance"]
    for found in ask(words):
        assert all("/glossary" in link or "notebooks/" in link for link in links(found, 4))


def test_a_page_whose_title_is_typed_comes_first(ask):
    pages = {
        "results": "results",
        "common misconceptions": "corrections",
        "notation": "notation",
        "for the lecture": "for-the-lecture",
    }
    for page, found in zip(pages.values(), ask(pages), strict=True):
        assert links(found, 1) == [f"book/{page}.html"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("normalising", "normalization"),
        ("warm-up", "warmup"),
        ("warm up", "warmup"),
        ("LayerNorm", "layer norms"),
        ("√d_k", "square root of d_k"),
        ("fine-tuning", "finetuning"),
        ("atention mask", "attention mask"),
        ("perplexty", "perplexity"),
    ],
)
def test_spellings_make_no_difference(ask, one, other):
    first, second = ask([one, other])
    assert links(first, 1) == links(second, 1) != []


def test_words_of_another_language_find_nothing(ask):
    texts = ["Aufmerksamkeit", "pérdida", "réseau de neurones", "Modell", "注意力", "zzyzx"]
    for text, answer in zip(texts, ask(texts), strict=True):
        assert answer["found"] == answer["instead"] == [], text


def test_an_unknown_number_or_a_word_within_another_is_not_replaced(ask):
    number, hologram = ask(["rope theta 12345", "softmax hologram"])
    assert number["instead"] == hologram["instead"] == []
    assert number["missing"] == ["12345"]
    assert hologram["missing"] == ["hologram"]


def test_excerpts_are_whole_words_of_open_text(html_root):
    text = (html_root / "_static" / "search-index.js").read_text("utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    pages = [page for page, *_ in index["pages"]]
    read = 0
    for number, page in enumerate(pages):
        soup = BeautifulSoup((html_root / page).read_text("utf-8"), "html.parser")
        for formula in soup.select(".math, .headerlink"):
            formula.replace_with(" " * ("math" not in formula["class"]))
        for hidden in soup.select("details, pre, form"):
            hidden.decompose()
        shown = f" {' '.join(soup.article.get_text().split())}"
        for _, _, _, says, *_ in (row for row in index["rows"] if row[0] == number):
            read += f" {says[:30]}" in shown  # a formula early on is read otherwise
            assert f" {says}"[:6] in shown, (page, says)
    assert read > 0.9 * len(index["rows"])


# --- as a reader does it --------------------------------------------------------------------------


def test_search_shows_sections_in_few_bytes(visit, page):
    sizes = {}
    page.on("response", lambda answer: sizes.update({answer.url: answer.headers["content-length"]}))
    problems = visit("book/index.html")
    before = set(sizes)
    problems += visit("search.html?q=sqrt d_k")
    first = page.locator("#search-results li").first
    assert "√" in first.inner_text()
    assert len(first.locator(".context").inner_text()) > 30
    assert sum(int(size) for url, size in sizes.items() if url not in before) <= MOST
    first.locator("a").click()
    page.wait_for_url("**/notebooks/06_*")
    assert problems == []


def test_search_says_that_there_is_none(visit, page):
    assert visit("search.html?q=Aufmerksamkeit") == []
    page.get_by_text("The book has no section on this.").wait_for()
    assert page.locator("#search-results li").count() == 0


@pytest.mark.parametrize("text", ["softmax", "zzyzx" * 12])
def test_search_fits_a_phone(visit, page, text):
    page.set_viewport_size({"width": 390, "height": 800})
    visit(f"search.html?q={text}")
    page.locator("#search-said:not(:empty)").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


# --- next and previous ----------------------------------------------------------------------------


def order() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    return [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]


def test_each_page_names_its_neighbours(html_root):
    pages = order()
    for n, name in enumerate(pages):
        text = (html_root / f"{name}.html").read_text("utf-8")
        for kind, other in (("left-prev", n - 1), ("right-next", n + 1)):
            link = re.search(rf'<a class="{kind}"\s+href="([^"]+)"', text)
            if not 0 <= other < len(pages):
                assert link is None
                continue
            target = (html_root / f"{name}.html").parent / link[1]
            assert target.resolve() == (html_root / f"{pages[other]}.html").resolve()
