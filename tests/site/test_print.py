"""The book on paper: the pages joined, and a PDF of a chapter printed and read again."""

import io
import re
from collections import Counter
from html import escape
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from bs4 import BeautifulSoup
from pypdf import PdfReader
from support import TAUGHT

from book.paper import __main__ as paper
from book.paper import document
from helpers.chapters import judges
from helpers.exercises import EXPLANATIONS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def book(html_root) -> str:
    """The whole book, not yet printed."""
    return paper.whole(html_root)


@pytest.fixture(scope="module")
def joined(book) -> BeautifulSoup:
    """Its tags: highlighted code has most, and is not looked at."""
    return BeautifulSoup(
        re.sub(r"<pre><span></span>.*?</pre>", "", book, flags=re.S), "html.parser"
    )


# ---------------------------------------------------------------- the whole book, not yet printed


def test_parts_stand_in_the_order_of_the_contents(joined):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    names = [toc["root"], *(page["file"] for part in toc["parts"] for page in part["chapters"])]
    wanted = [*(name.replace("/", "-") for name in names), "answers", "solutions"]
    assert [part.h1["id"] for part in joined.select("article.part")] == wanted
    listed = joined.select("nav.contents .page > a")
    assert [line["href"] for line in listed] == [f"#{name}" for name in wanted]
    assert [line.select_one(".title").text for line in listed] == [
        joined.find(id=name).text for name in wanted
    ]
    captions = [caption.text for caption in joined.select("nav.contents .caption")]
    assert captions == [*(part["caption"] for part in toc["parts"]), "At the end"]


def test_links_lead_inside_and_ids_are_unique(joined):
    ids = Counter(tag["id"] for tag in joined.find_all(id=True))
    assert max(ids.values()) == 1
    inside = [link["href"] for link in joined.select("a[href]") if link["href"][0] == "#"]
    assert len(inside) > 2000
    assert {link[1:] for link in inside} <= set(ids)
    assert {number["data-page-of"] for number in joined.select("[data-page-of]")} <= set(ids)
    glossary = joined.find(id="book-glossary").find_parent("article")
    assert glossary.select_one('a[href^="#notebooks-"]')
    for picture in joined.select("article img"):
        assert picture["src"].startswith("data:") or Path(unquote(picture["src"][7:])).is_file()


def test_nothing_is_left_that_one_presses_or_opens(joined):
    live = "form, input, button, details, script, [role=status], .explore-controls, .tag_check"
    assert joined.select(f"{live}, [loading], a[href*=colab]") == []
    assert joined.select(".tag_hide-input .cell_input") == []
    for explorer in joined.select("figure.explore"):
        assert re.match(r"Shown: .+: .+\. On the site", explorer.select_one(".shown").text)


def test_what_was_moved_is_at_the_end_with_a_way_there_and_back(joined):
    items = joined.select(".item")
    ways = {link["href"][1:]: link for link in joined.select(".pointer > a")}
    assert {item["id"] for item in items} == set(ways)
    for item in items:
        back = joined.find(id=item.select_one(".item-title a")["href"][1:])
        assert ways[item["id"]].find_parent("article") is back.find_parent("article")
        assert item.find_parent("article").h1["id"] in ("answers", "solutions")
    for question in joined.select("div.predict"):
        assert question.select_one(".choices > li, svg, .blank")
    asked = joined.select("div.predict, div.recall")
    assert len(asked) > 100
    for question in asked:
        assert question.find_all(recursive=False)[-1]["class"] == ["pointer"]


def test_without_a_site_or_a_browser_it_says_what_to_do(monkeypatch, tmp_path, capsys):
    command = [tmp_path, tmp_path / "a.pdf"]
    assert paper.main(*command) == 2
    assert "make book" in capsys.readouterr().err
    monkeypatch.setattr(paper, "chromium", lambda: None)
    monkeypatch.setattr(paper, "whole", lambda site: "<p>x</p>")
    assert paper.main(*command) == 2
    assert "install it" in capsys.readouterr().err
    assert not (tmp_path / "a.pdf").exists()


def test_no_answer_stands_under_its_question(book):
    """Nor does any show the template of its words, in code."""
    before, after = (re.sub("<[^>]+>", "", half) for half in book.split('<h1 id="answers">'))
    assert not re.search(r"^guess\.reveal\(|Markdown\(f", before + after, re.MULTILINE)
    assert "Result:" not in before
    assert after.count("Result:") == before.count("Predict.") > 40


def test_solutions_stand_only_at_the_end(book):
    before, after = book.split('<h1 id="solutions">')
    for path in TAUGHT:
        assert f'id="solutions-notebooks-{path.stem}"' in after, path.stem
    assert after.count('class="item"') == len(re.findall(r'class="item"[^>]*-solution"', after))
    assert "solution=True" not in re.sub("<[^>]+>", "", before)
    assert "BEGIN SOLUTION" not in book


def test_a_good_answer_to_each_explanation_is_printed(book):
    after = " ".join(re.sub("<[^>]+>", "", book.split('<h1 id="solutions">')[1]).split())
    judges()  # fills EXPLANATIONS
    assert EXPLANATIONS
    for name, said in EXPLANATIONS.items():
        assert " ".join(escape(said.model, quote=False).split()) in after, name


def test_the_first_page_s_drawing_is_painted(book, html_root, page, tmp_path):
    """By the sheets that its page links: no bar is black, and no word stands on another."""
    file = tmp_path / "first.html"
    first = re.search(
        r'<article class="part" style="page: page-book-index">.*?</article>', book, re.S
    )
    file.write_text(f"<!DOCTYPE html>{paper.head(html_root)}{first[0]}", "utf-8")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": paper.WIDTH, "height": 800})
    page.goto(file.as_uri())
    colours = page.locator(".hero svg path").evaluate_all(
        "all => all.map(e => getComputedStyle(e)).map(s => s.fill === 'none' ? s.stroke : s.fill)"
    )
    assert len(set(colours)) >= 3
    assert "rgb(0, 0, 0)" not in colours
    for words, count in ((".hero-words span", 11), (".hero-next li > span", 6)):
        tops = page.locator(words).evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().top)"
        )
        assert len(set(tops)) == count, words
    assert page.evaluate(paper.TOO_WIDE, paper.WIDTH) == []


@pytest.mark.nightly
def test_the_whole_book_can_be_printed(book, browser):
    """Nothing is wider than the paper, and the numbers of pages settle."""
    assert len(PdfReader(io.BytesIO(paper.printed(book, browser))).pages) > 300


# ---------------------------------------------------------------- a chapter, printed


@pytest.fixture(scope="module")
def html(html_root) -> str:
    """A chapter and an appendix, joined as the command joins the whole."""
    chapter = {"file": "notebooks/05_attention_by_hand", "title": "5 · Attention worked by hand"}
    toc = {"root": "book/notation", "parts": [{"caption": "Chapters", "chapters": [chapter]}]}
    return paper.joined(document.read_pages(html_root, toc, "Notation"), html_root)


@pytest.fixture(scope="module")
def pdf(html, browser) -> PdfReader:
    """Print that."""
    return PdfReader(io.BytesIO(paper.signed(paper.printed(html, browser), "2026-01-31")))


@pytest.fixture(scope="module")
def texts(pdf) -> list[str]:
    """The words of each page."""
    return [page.extract_text() for page in pdf.pages]


def bookmarks(pdf, items) -> list[tuple[str, int]]:
    """Their words, and on which page each stands, counted from 1."""
    found = []
    for item in items:
        if isinstance(item, list):
            found += bookmarks(pdf, item)
        else:
            found.append((item.title, pdf.get_destination_page_number(item) + 1))
    return found


def test_pdf_says_what_it_is(pdf):
    assert len(pdf.pages) > 20
    assert pdf.metadata.title == paper.CONFIG["title"]
    assert pdf.metadata.author == paper.CONFIG["author"]
    assert pdf.metadata.creation_date.isoformat().startswith("2026-01-31")
    catalog = pdf.trailer["/Root"]
    assert catalog["/Lang"] == "en"
    assert catalog["/MarkInfo"]["/Marked"]
    width, height = pdf.pages[0].mediabox.width, pdf.pages[0].mediabox.height
    assert (round(width), round(height)) == (595, 842)


def test_a_chapter_is_cut_out_with_its_answers(pdf):
    (name, part), *others = paper.chapters(pdf.stream.getvalue()).items()
    texts = [page.extract_text() for page in PdfReader(io.BytesIO(part)).pages]
    assert (name, others) == ("05_attention_by_hand", [])
    assert "Attention worked by hand" in texts[0]
    assert "Result: " in " ".join(texts[-8:])
    assert "Solutions" in texts[-1] + texts[-2] + texts[-3]
    assert not any(text.startswith("Notation") for text in texts)


def test_links_inside_the_pdf_lead_somewhere(pdf):
    known, inside = set(pdf.named_destinations), 0
    for page in pdf.pages:
        for note in page.get("/Annots", ()):
            note = note.get_object()
            if note.get("/Subtype") != "/Link":
                continue
            if "/Dest" in note:
                inside += 1
                assert note["/Dest"] in known
            else:
                assert note["/A"]["/URI"].startswith(("https:", "http:", "mailto:"))
    assert inside > 100


def test_contents_name_the_pages(html, pdf, texts):
    soup, marks = BeautifulSoup(html, "html.parser"), bookmarks(pdf, pdf.outline)
    assert [words for words, _ in marks] == [h.text for h in soup.find_all(re.compile("h[1-6]"))]
    contents, at = "".join(texts[1].split()), dict(reversed(marks))
    for words in (title.text for title in soup.select("article h1")):
        together = "".join(words.split())  # other fonts' signs stand apart
        assert f"{together}{at[words]}" in contents
        assert together in "".join(texts[at[words] - 1].split())
        assert re.search(rf"\b{at[words]}\b", texts[at[words] - 1])


def test_a_printed_chapter_is_light_and_begins_with_its_title(browser, html_root):
    tab = browser.new_page(color_scheme="dark")
    tab.goto((html_root / "notebooks" / "05_attention_by_hand.html").as_uri())
    tab.evaluate(
        "addEventListener('beforeprint', () => { printed = theme() });"
        "theme = () => document.documentElement.dataset.theme; null"
    )
    assert tab.evaluate("theme()") == "dark"
    pages = PdfReader(io.BytesIO(tab.pdf())).pages
    assert tab.evaluate("[printed, theme()]") == ["light", "dark"]
    headings = dict.fromkeys(tab.locator("article :is(h1, h2)").all_inner_texts())
    tab.close()
    assert pages[0].extract_text().startswith("Attention worked by hand")
    whole = [" ".join(page.extract_text().split()) for page in pages]
    for heading in headings:
        assert any(" ".join(heading.strip("# \n").split()) in text for text in whole), heading


def test_running_heads_name_the_chapter(pdf, texts):
    title = "5 · Attention worked by hand"
    first = dict(reversed(bookmarks(pdf, pdf.outline)))[title]
    for text in texts[first : first + 5]:  # from the one after
        assert title in text
        assert paper.CONFIG["title"] in text
