"""The archive that `make zip` writes: unpacked on a disk and read there, with no server."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from looks import LOADED, faces
from pypdf import PdfWriter

from book import archive
from book.paper import __main__ as paper
from book.paper.document import fingerprint

ROOT = Path(__file__).parents[2]
NAME = "{}-{}".format(*archive.project(ROOT))
PAGES = [
    "index.html",
    "site/index.html",
    "site/book/index.html",
    "site/book/glossary.html",
    "site/book/number-by-number.html",
    "site/notebooks/04_layernorm_vs_batchnorm.html",
    "site/notebooks/05_attention_by_hand.html",
    "site/notebooks/12_inside_the_gpt.html",
]
DRAWN = """async () => {
    for (const image of document.images) image.loading = "eager";
    const broken = [];
    for (const image of document.querySelectorAll("img[src]")) { // panels get theirs when shown
        await image.decode().catch(() => broken.push(image.src.slice(0, 120)));
    }
    return broken;
}"""


@pytest.fixture(scope="module")
def packed(html_root, tmp_path_factory) -> Path:
    """Write the archive as the command does; gives its path."""
    out = tmp_path_factory.mktemp("stick") / "book.zip"
    command = [sys.executable, "-m", "book.archive", "--site", html_root, "--out", out]
    command += ["--pdf", out.with_suffix(".pdf")]  # there is none
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout
    assert "MB" in done.stdout
    return out


@pytest.fixture(scope="module")
def stick(packed) -> Path:
    """Unpack the archive; gives the book's folder."""
    with zipfile.ZipFile(packed) as archive_file:
        archive_file.extractall(packed.parent)
    return packed.parent / NAME


@pytest.fixture
def open_file(page, stick, watched):
    """Return a function that opens a file of the folder, and gives what goes wrong on it."""

    def go(name: str) -> list[str]:
        problems = watched(page, f"{stick.as_uri()}/")
        page.goto(f"{stick.as_uri()}/{name}", wait_until="load")
        if name == "site/index.html":  # leads on at once
            page.wait_for_url("**/book/index.html")
        return problems

    return go


def test_archive_is_one_folder_with_site_and_notebooks(packed):
    with zipfile.ZipFile(packed) as file:
        names = file.namelist()
        assert {name.split("/")[0] for name in names} == {NAME}
        assert names == sorted(names)
        assert len({entry.date_time for entry in file.infolist()}) == 1
        for chapter in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
            (held,) = [name for name in names if name.endswith(chapter.name)]
            assert held == f"{NAME}/site/_sources/notebooks/{chapter.name}"
            stored, packed_one = (
                [cell.source for cell in nbformat.reads(text, 4).cells if cell.cell_type == "code"]
                for text in (chapter.read_text("utf-8"), file.read(held).decode())
            )
            assert stored[1:] == packed_one[1:]  # the first installs from where the book lives
    assert f"{NAME}/index.html" in names
    assert not any(".doctrees" in name or "__pycache__" in name for name in names)


def test_archive_is_the_same_each_time(tmp_path, stick):
    held = archive.contents(stick / "site", None)
    some = {name: held[name] for name in sorted(held)[:20]}
    turned = dict(reversed(some.items()))
    for name, order in (("a.zip", some), ("b.zip", turned)):
        archive.pack(order, "2026-01-31", tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_pdf_is_packed_if_it_was_printed_from_this_site(tmp_path):
    site, pdf = tmp_path / "site", tmp_path / "book.pdf"
    (site / "book").mkdir(parents=True)
    (site / "book" / "index.html").write_text("new", "utf-8")
    assert archive.current_pdf(pdf, site) is None
    pdf.write_bytes(b"no PDF")
    assert archive.current_pdf(pdf, site) is None
    writer, about = PdfWriter(), {"title": "T", "author": "A"}
    writer.add_blank_page(9, 9)
    writer.write(pdf)
    assert archive.current_pdf(pdf, site) is None
    mark = f"printed from {fingerprint(site)}"
    pdf.write_bytes(paper.signed(pdf.read_bytes(), about, "2026-01-31", mark))
    assert archive.current_pdf(pdf, site) == pdf
    held = archive.contents(site, pdf)
    assert held["book.pdf"] == pdf
    assert 'href="book.pdf"' in held["index.html"]
    (site / "book" / "index.html").write_text("newer", "utf-8")
    assert archive.current_pdf(pdf, site) is None


def test_site_without_solutions_is_packed_apart(tmp_path):
    site, out = tmp_path / "site", tmp_path / "a.zip"
    for folder in ("site/book", "site/homework", "site2/book"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("site", "site2"):
        (tmp_path / name / "book" / "index.html").write_text("book", "utf-8")
    (site / "homework" / "05.ipynb").write_text("{}", "utf-8")
    call = ["--site", str(site), "--pdf", str(tmp_path / "no.pdf"), "--out", str(out)]
    assert archive.main(call) == 0
    with zipfile.ZipFile(out) as file:
        folders = {name.split("/")[0] for name in file.namelist()}
        assert len(folders) == 1
        assert NAME not in folders
        start = file.read(f"{folders.pop()}/index.html").decode()
    assert "holds no solutions" in start
    assert "holds no solutions" not in archive.contents(tmp_path / "site2", None)["index.html"]


def test_archive_of_no_site_is_refused(tmp_path, capsys):
    assert archive.main(["--site", str(tmp_path), "--out", str(tmp_path / "a.zip")]) == 2
    assert "make book" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()


def test_styles_and_scripts_name_no_other_place(stick):
    """Not one address to load from stands in a style sheet, or in a script of ours."""
    for path in sorted(stick.rglob("*.css")):
        loaded = re.findall(r"(?:url\(|@import)\s*['\"]?(https?:|//)", path.read_text("utf-8"))
        assert loaded == [], path.name
    for path in sorted((ROOT / "book" / "_assets").glob("*.js")):
        assert not re.search(r"(?:fetch|import)\s*\(\s*['\"`]https?:", path.read_text("utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_page_reads_well_from_a_disk(open_file, page, name):
    problems = open_file(name)
    assert page.locator("h1").count() == 1
    assert page.evaluate(DRAWN) == []
    if name != "index.html":
        text = "article p:not(:has([href*=colab]))"
        assert {face.split()[0] for face in faces(page, text)} == {"Literata"}
    formulas = page.locator(".math")
    assert formulas.count() == page.locator(".math mjx-container").count()
    assert problems == []


def test_first_file_leads_to_the_book(open_file, page):
    problems = open_file("index.html")
    page.get_by_role("link", name="Read the book").click()
    page.wait_for_url("**/site/book/index.html")
    assert problems == []


def test_explorer_moves_and_prediction_opens_from_a_disk(open_file, page):
    problems = open_file("site/notebooks/05_attention_by_hand.html")
    explorer = page.locator("figure.explore").first
    explorer.scroll_into_view_if_needed()
    explorer.locator("img").first.evaluate(LOADED)  # what is left while it comes has failed
    before = explorer.locator(".explore-says").inner_text()
    slider = explorer.locator("input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowRight")
    explorer.locator("xpath=self::*[@data-at]").wait_for(state="attached")
    assert explorer.locator(".explore-says").inner_text() != before
    form = page.locator("form.predict").first
    form.locator("input").first.check()
    form.get_by_role("button").click()
    page.locator("details.reveal[open]").first.wait_for()
    assert problems == []


def test_search_works_from_a_disk(open_file, page):
    problems = open_file("site/search.html?q=softmax")
    page.wait_for_selector("#search-results li a")
    assert problems == []
