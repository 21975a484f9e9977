"""The archive that `make zip` writes: unpacked on a disk and read there, with no server."""

import subprocess
import sys
import tomllib
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
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NAME = f"{PROJECT['name']}-{PROJECT['version']}"
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


def test_pdf_is_packed_if_it_was_printed_from_this_site(tmp_path):
    site, pdf, out = tmp_path / "site", tmp_path / "made.pdf", tmp_path / "a.zip"
    (site / "book").mkdir(parents=True)
    (site / "book" / "index.html").write_text("new", "utf-8")

    def packed_pdf() -> bool:
        with zipfile.ZipFile(archive.pack(site, pdf, out)) as file:
            linked = 'href="book.pdf"' in file.read(f"{NAME}/index.html").decode()
            assert linked == (f"{NAME}/book.pdf" in file.namelist())
        return linked

    assert not packed_pdf()
    pdf.write_bytes(b"no PDF")
    assert not packed_pdf()
    writer, about = PdfWriter(), {"title": "T", "author": "A"}
    writer.add_blank_page(9, 9)
    writer.write(pdf)
    mark = f"printed from {fingerprint(site)}"
    pdf.write_bytes(paper.signed(pdf.read_bytes(), about, "2026-01-31", mark))
    assert packed_pdf()
    (site / "book" / "index.html").write_text("newer", "utf-8")
    assert not packed_pdf()


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
