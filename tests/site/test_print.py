"""The book on paper: the pages joined, and a PDF of a chapter printed and read again."""

import io
import re
from collections import Counter
from html import escape
from pathlib import Path

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
SITE = ROOT / "_build" / "html"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
PAGE = """<html><body><main><article class="bd-article"><section id="top">
<h1>Title<a class="headerlink" href="#top">#</a></h1>
<p><a href="https://colab.research.google.com/x">Open in Colab</a></p>
<details><summary>How many?</summary><p>RECALLED</p></details>
<section id="one"><h2>A <em>section</em><a class="headerlink" href="#one">#</a></h2>
<p id="here"><a href="../book/other.html#there">there</a> <a href="#one">up</a>
<a href="../search.html">lost</a> <a href="../book/other.html#gone">gone</a></p>
<img src="../_images/a b.svg" alt="x" loading="lazy">
<div class="cell tag_hide-input"><details class="hide above-input"><summary>Show</summary>
<div class="cell_input"><div class="highlight"><pre><span></span>FOLDED
</pre></div></div></details><div class="cell_output"><p>shown</p></div></div>
<div class="cell tag_remove-input"><div class="cell_output">
<form class="predict" data-key="k" data-kind="choice"><fieldset>
<legend><b>Predict.</b> Which?</legend>
<label><input type="radio"><span>this</span></label>
<label><input type="radio"><span>that</span></label>
</fieldset><p class="predict-actions"><button>Lock</button></p></form></div></div>
<details class="reveal" data-key="k"
data-told='{"replies": {"that": "REPLY"}}'><summary>Show the result</summary><p>RESULT</p>
<div class="cell tag_hide-input"><div class="cell_output"><p>WAITED</p></div></div>
<div class="cell"><details class="hide above-input"><summary>Show the code</summary>
<div class="cell"><div class="cell_input"><div class="highlight"><pre><span></span>TELLS
guess.reveal(
    "that",
    because=f"TEMPLATE",
)
</pre></div></div></div>
<div class="cell tag_hide-input"><div class="cell_input"><div class="highlight">
<pre><span></span>FOLDED
</pre></div></div></div></details></div></details>
<div class="cell"><div class="cell_input"><div class="highlight"><pre><span></span>CODE
</pre></div></div></div>
<figure class="explore"><img src="data:," alt="y"><div class="explore-controls">
<label class="explore-control"><span>angle</span><input type="range">
<output>60</output></label></div>
<figcaption class="explore-says">It says.</figcaption>
<script class="explore-frames">eNr</script></figure>
<div class="cell"><div class="cell_output"><details><summary>The code of <code>lab</code>
</summary><p>MEASURED</p></details></div></div>
<details><summary>Deeper. More</summary><p>OPENED</p></details>
<blockquote class="callout callout-exercise"><div>
<p><strong>Exercise 1.</strong> Do.</p></div></blockquote>
<details><summary>Hint</summary><p>HINTED</p></details>
<div class="cell tag_exercise"><div class="cell_input"><div class="highlight"><pre><span></span>STUB
</pre></div></div></div>
<div class="cell tag_check"><div class="cell_output"><p class="verdict">Not yet.</p></div></div>
<div class="cell tag_solution tag_hide-cell">
<details class="hide above-input"><summary>Show</summary>
<div class="cell_input"><div class="highlight">
<pre><span></span><span class="c1"># The solution: click to open</span>
<span class="c1">### BEGIN SOLUTION</span>
SOLVED
<span class="c1">### END SOLUTION</span>
</pre></div></div><div class="cell_output"><p class="verdict">Right.</p>
<div class="verdict model_07_1"><p><b>A good answer.</b> MODEL</p>
<ul><li><label><input type="checkbox"> POINT</label></li></ul></div></div></details></div>
</section></section></article></main><p class="stamp">Computed.</p></body></html>"""
OTHER = """<article class="bd-article"><section id="other"><h1>Other</h1>
<p id="there">T</p></section></article>"""


@pytest.fixture(scope="module")
def joined() -> BeautifulSoup:
    """A book of two pages, one of them a chapter with one of everything."""
    entries = [
        document.Entry("notebooks/07_x", "7 · X", "Chapters"),
        document.Entry("book/other", ""),
    ]
    known = [entry.docname for entry in entries]
    pages = [
        document.Maker(html, entry, known, "file:///site/").make()
        for html, entry in zip((PAGE, OTHER), entries, strict=True)
    ]
    html = document.join(pages, title='A "book"', front="", head="")
    return BeautifulSoup(html, "html.parser")


def parts(joined) -> dict[str, BeautifulSoup]:
    return {part.h1["id"]: part for part in joined.select("article.part")}


# ---------------------------------------------------------------- pages joined


def test_order_is_that_of_the_contents():
    entries = document.entries(document.load_toc(ROOT), "First")
    assert entries[0] == document.Entry("book/index", "First")
    assert [e.part for e in entries if e.part] == [
        "Before you start",
        "Words",
        "The block",
        "The model",
        "Today",
        "Appendices",
    ]
    assert len({entry.docname for entry in entries}) == len(entries)


def test_parts_stand_in_order(joined):
    assert list(parts(joined)) == ["notebooks-07_x", "book-other", "answers", "solutions"]
    listed = [a["href"] for a in joined.select("nav.contents a")]
    assert listed == [
        "#notebooks-07_x",
        "#notebooks-07_x--one",
        "#book-other",
        "#answers",
        "#answers-notebooks-07_x",
        "#solutions",
        "#solutions-notebooks-07_x",
    ]
    words = [title.get_text() for title in joined.select("nav.contents .title")]
    assert words[:3] == ["7 · X", "A section", "Other"]


def test_links_lead_inside_and_ids_are_unique(joined):
    ids = [tag["id"] for tag in joined.find_all(id=True)]
    assert len(ids) == len(set(ids))
    links = {a.get_text(): a["href"] for a in joined.select("#notebooks-07_x--here a")}
    assert links == {
        "there": "#book-other--there",
        "up": "#notebooks-07_x--one",
        "gone": "#book-other",
    }
    for link in joined.select("a[href]"):
        assert link["href"].removeprefix("#") in ids, link
    for number in joined.select("[data-page-of]"):
        assert number["data-page-of"] in ids


def test_chapter_asks_and_does_not_answer(joined):
    chapter = parts(joined)["notebooks-07_x"]
    text = chapter.get_text()
    for kept in (
        "How many?",
        "Which?",
        "this",
        "that",
        "CODE",
        "STUB",
        "shown",
        "OPENED",
        "below helpers/chapters",
        "It says.",
    ):
        assert kept in text, kept
    for moved in (
        "RECALLED",
        "RESULT",
        "REPLY",
        "WAITED",
        "TELLS",
        "HINTED",
        "SOLVED",
        "MODEL",
        "POINT",
    ):
        assert moved not in text, moved
    for gone in ("MEASURED", "FOLDED", "TEMPLATE", "Not yet", "Open in Colab", "eNr", "Lock"):
        assert gone not in joined.get_text(), gone
    assert "Shown: angle: 60" in text
    assert text.rstrip().endswith("Computed.")
    assert not joined.select("form, input, button, details, script.explore-frames, [loading]")
    assert chapter.select_one("img[alt=x]")["src"] == "file:///site/_images/a%20b.svg"


def test_what_was_moved_is_at_the_end_with_a_way_there_and_back(joined):
    answers, solutions = parts(joined)["answers"], parts(joined)["solutions"]
    items = {item["id"]: item for item in answers.select(".item")}
    said = [item.get_text(" ", strip=True) for item in items.values()]
    assert "RECALLED" in said[0]
    assert said[0].startswith("Answer 7.1 (page ")
    assert "RESULT" in said[1]
    assert "that : REPLY WAITED TELLS" in said[1]
    assert "HINTED" in said[2]
    solution = solutions.select_one(".item")
    assert solution.pre.get_text() == "SOLVED\n"
    assert "Right." not in solution.get_text()
    assert "A good answer. MODEL ☐ POINT" in " ".join(solution.get_text().split())
    chapter = parts(joined)["notebooks-07_x"]
    for item in (*items.values(), solution):
        assert chapter.select_one(f'a[href="#{item["id"]}"]')
        assert chapter.find(id=item.select_one(".item-title a")["href"][1:])


def test_site_that_is_not_built_is_refused(tmp_path, capsys):
    assert paper.main(["--site", str(tmp_path), "--out", str(tmp_path / "a.pdf")]) == 2
    assert "should hold every page" in capsys.readouterr().err
    assert not (tmp_path / "a.pdf").exists()


def test_without_a_browser_it_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(paper, "chromium", lambda: None)
    monkeypatch.setattr(paper, "whole", lambda site: "<p>x</p>")
    assert paper.main(["--out", str(tmp_path / "a.pdf")]) == 2
    assert "install it" in capsys.readouterr().err


# ---------------------------------------------------------------- the whole book, not yet printed


@pytest.fixture(scope="module")
def book() -> str:
    if not (SITE / "index.html").exists():
        pytest.fail("there is no built site in _build/html; run `make book` first", pytrace=False)
    return paper.whole(SITE)


def test_no_answer_stands_under_its_question(book):
    """Nor does any show the template of its words, in code."""
    before, after = (re.sub("<[^>]+>", "", half) for half in book.split('<h1 id="answers">'))
    assert not re.search(r"^guess\.reveal\(|Markdown\(f", before + after, re.MULTILINE)
    assert "Result:" not in before
    assert after.count("Result:") > 50


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


def test_the_first_page_s_drawing_is_painted(book, page, tmp_path):
    """By the sheets that its page links: no bar is black, and no word stands on another."""
    file = tmp_path / "first.html"
    first = re.search(
        r'<article class="part" style="page: page-book-index">.*?</article>', book, re.S
    )
    file.write_text(f"<!DOCTYPE html>{paper.head(SITE)}{first[0]}", "utf-8")
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
def test_the_whole_book_can_be_printed(book, chromium_path):
    """Nothing is wider than the paper, and the numbers of pages settle."""
    assert len(PdfReader(io.BytesIO(paper.printed(book))).pages) > 300


# ---------------------------------------------------------------- a chapter, printed


@pytest.fixture(scope="module")
def html() -> str:
    """A chapter and an appendix, joined as the command joins the whole."""
    if not (SITE / "index.html").exists():
        pytest.fail("there is no built site in _build/html; run `make book` first", pytrace=False)
    toc = {
        "root": "book/notation",
        "parts": [
            {
                "caption": "Chapters",
                "chapters": [
                    {
                        "file": "notebooks/05_attention_by_hand",
                        "title": "5 · Attention worked by hand",
                    },
                ],
            }
        ],
    }
    pages = document.read_pages(SITE, toc, "Notation")
    front = paper.front(CONFIG, ROOT, SITE)
    return document.join(pages, title=CONFIG["title"], front=front, head=paper.head(SITE))


@pytest.fixture(scope="module")
def pdf(html, chromium_path) -> PdfReader:
    """Print that."""
    made = paper.printed(html)
    return PdfReader(io.BytesIO(paper.signed(made, CONFIG, "2026-01-31")))


@pytest.fixture(scope="module")
def texts(pdf) -> list[str]:
    """The words of each page."""
    return [page.extract_text() for page in pdf.pages]


def outline(pdf) -> list[tuple[int, str, int]]:
    """The bookmarks of a PDF: depth, words, page counted from 1."""
    found = []

    def walk(items, depth):
        for item in items:
            if isinstance(item, list):
                walk(item, depth + 1)
            else:
                found.append((depth, item.title, pdf.get_destination_page_number(item) + 1))

    walk(pdf.outline, 0)
    return found


def test_pdf_says_what_it_is(pdf):
    assert len(pdf.pages) > 20
    assert pdf.metadata.title == CONFIG["title"]
    assert pdf.metadata.author == CONFIG["author"]
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
    marks = [mark for mark in outline(pdf) if mark[1] != "Contents"]
    headings = BeautifulSoup(html, "html.parser").find_all(re.compile("h[1-6]"))
    assert [words for _, words, _ in outline(pdf)] == [one.get_text() for one in headings]
    tops = [words for depth, words, _ in marks if depth == min(m[0] for m in marks)]
    for title in ("Notation", "5 · Attention worked by hand", "Answers and hints", "Solutions"):
        assert title in tops
    contents = "".join(texts[1].split())
    for depth, words, number in marks:
        if words not in tops:
            continue
        assert f"{''.join(words.split())}{number}" in contents, (depth, words, number)
        page = " ".join(texts[number - 1].split())
        assert "".join(words.split()) in page.replace(" ", "")  # other fonts' signs stand apart
        assert re.search(rf"\b{number}\b", page)


def test_answers_and_solutions_come_last(pdf, texts):
    at = {words: number for _, words, number in outline(pdf)}
    first, texts = at["Solutions"], [" ".join(text.split()) for text in texts]
    assert at["Answers and hints"] < first
    assert any("solution=True" in text for text in texts[first - 1 :])
    assert not any("solution=True" in text for text in texts[: first - 1])
    results = [n for n, text in enumerate(texts, start=1) if re.search(r"\bResult: ", text)]
    assert results
    assert min(results) >= at["Answers and hints"]


def sizes(page) -> Counter:
    """How many letters a page of a PDF has by kind of type and size in points."""
    found = Counter()

    def count(words, matrix, text_matrix, font, size):
        (a, b), (c, d) = text_matrix[:2], (matrix[0], matrix[2])
        across = abs(a * c + b * d) * size
        kind = re.search("Mono|Literata", str((font or {}).get("/BaseFont")))
        found[kind and kind[0], round(across, 1)] += len(words.strip())

    page.extract_text(visitor_text=count)
    return found


def test_formulas_are_set(pdf):
    """No word of TeX stands in the text; in code one may."""
    kept = []

    def keep(words, _, __, font, ___):
        if "Mono" not in str((font or {}).get("/BaseFont")):
            kept.append(words)

    for page in pdf.pages:
        page.extract_text(visitor_text=keep)
    assert not re.findall(r"\\[a-z]{3,}|\$\$", "".join(kept))


def test_a_printed_chapter_is_light_and_begins_with_its_title(browser):
    tab = browser.new_page(color_scheme="dark")
    tab.goto((SITE / "notebooks" / "05_attention_by_hand.html").as_uri())
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
    assert max(size for _, size in sizes(pages[0])) >= 20
    whole = [" ".join(page.extract_text().split()) for page in pages]
    for heading in headings:
        assert any(" ".join(heading.strip("# \n").split()) in text for text in whole), heading


def test_running_heads_name_the_chapter(pdf, texts):
    title = "5 · Attention worked by hand"
    first = min(number for _, words, number in outline(pdf) if words == title)
    for text in texts[first : first + 5]:  # from the one after
        assert title in text
        assert CONFIG["title"] in text
