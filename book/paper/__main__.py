"""Print the built site as one PDF: ``python -m book.paper [SITE [FILE]]``.

Chromium prints, and has to print twice: on which page something stands is known only when the
pages are there, and the contents and all "page 123" name it. pypdf reads where each target came to
stand, and cuts each chapter out. (``make pdf`` builds the site first.)
"""

from __future__ import annotations

import io
import json
import logging
import sys
import tempfile
from html import escape
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import yaml
from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfReader, PdfWriter

from book.browser import FLAGS, MISSING, chromium
from book.paper import document
from helpers.files import write_bytes

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
FILE = ROOT / "_build" / "transformers-worked-out.pdf"
UNHINTED = "--font-render-hinting=none"  # else letters keep to whole pixels, and words fall apart
READY = """async () => {
    await Promise.all([...document.images].map(image => image.decode()));
    await document.fonts.ready;
}"""
WIDTH = 590  # of the text on paper, in CSS pixels: 210 mm without the margins
TOO_WIDE = """width => [...document.body.querySelectorAll("*")]
    .filter(part => part.getBoundingClientRect().right > width + 1)
    .filter(part => !part.closest("mjx-assistive-mml"))
    .map(part => part.textContent.trim().slice(0, 40) || part.tagName)"""
FILL = """pages => {
    for (const number of document.querySelectorAll("[data-page-of]")) {
        number.textContent = pages[number.dataset.pageOf] ?? "?";
    }
}"""


# ---------------------------------------------------------------- the document


def whole(site: Path) -> str:
    """Give the document of a built site. Raises: ValueError where the site is not built."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    return joined(document.read_pages(site, toc, "About this book"), site)


def joined(pages: list[document.Page], site: Path) -> str:
    """Join pages, with the book's title page and style."""
    return document.join(pages, title=CONFIG["title"], front=front(site), head=head(site))


def head(site: Path) -> str:
    """What the document loads: fonts, colours of code, the sheets of single pages, our style.

    The sheets that all pages load are the site's look, which paper.css stands in for.
    """
    address = site.resolve().as_uri()
    single = {file.name for file in (ROOT / "book" / "_assets").glob("*.css")}
    single -= set(CONFIG["sphinx"]["config"]["html_css_files"])
    sheets = ["fonts.css", "pygments.css", *sorted(single), "styles/maths.css"]
    links = [f'<link rel="stylesheet" href="{address}/_static/{name}">\n' for name in sheets]
    return (
        "".join(links)
        + f"<style>{Path(__file__).with_name('paper.css').read_text('utf-8')}</style>"
    )


def computed() -> list[str]:
    """The dates on which the outputs in the book were computed, the oldest first."""
    stamps = json.loads((ROOT / "book" / "outputs.json").read_text("utf-8"))
    return sorted({stamp["computed"] for stamp in stamps.values()})


def front(site: Path) -> str:
    """The title page."""
    dates = computed()
    cover = (site.resolve() / "_static" / "cover.svg").as_uri()
    return f"""<section class="title-page">
<p class="book-title">{escape(CONFIG["title"])}</p>
<p class="book-subtitle">An executable textbook on what happens inside a Transformer</p>
<img src="{cover}" alt="">
<div class="imprint">
<p>{escape(CONFIG["author"])}</p>
<p>Edition {escape(CONFIG["repository"]["branch"])}, printed from the book’s site. Its outputs were
computed between {dates[0]} and {dates[-1]}; the foot of each chapter says with what.</p>
<p>{escape(CONFIG["html"]["extra_footer"].strip())}</p>
<p class="edition">On paper a prediction asks you to write down your guess. Its result, answers and
hints stand at the end, with whatever else the site folds. Figures with sliders show their first
position. Code that only draws or prints is left out: it is in the notebooks.</p>
</div>
</section>"""


# ---------------------------------------------------------------- printing


def printed(html: str, browser: Browser) -> bytes:
    """Print a document, with its page numbers filled in.

    Raises: ValueError where something is wider than the paper (Chromium would print all pages
    smaller), or the numbers do not settle.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        browser.new_page(viewport={"width": WIDTH, "height": 800}) as page,
    ):
        file = Path(folder, "book.html")
        file.write_text(html, "utf-8")
        page.emulate_media(media="print")
        page.set_default_timeout(300_000)
        page.goto(file.as_uri(), wait_until="load")
        page.evaluate(READY)
        if wide := page.evaluate(TOO_WIDE, WIDTH):
            raise ValueError(f"{len(wide)} parts are wider than the paper; first {wide[0]!r}")
        before = None
        for _ in range(4):
            pdf = page.pdf(
                prefer_css_page_size=True, print_background=True, tagged=True, outline=True
            )
            pages = page_numbers(PdfReader(io.BytesIO(pdf)))
            if pages == before:
                return pdf
            before = pages
            page.evaluate(FILL, pages)
    raise ValueError("the page numbers move each time that they are filled in")


def page_numbers(reader: PdfReader) -> dict[str, int]:
    """Say on which page each target of a link stands, counted from 1."""
    return {
        unquote(name.removeprefix("/")): page + 1
        for name, target in reader.named_destinations.items()
        if (page := reader.get_destination_page_number(target)) is not None
    }


def chapters(pdf: bytes) -> dict[str, bytes]:
    """Cut each chapter out of the printed book, with its answers, hints and solutions."""
    reader = PdfReader(io.BytesIO(pdf))
    starts = sorted((page, name) for name, page in page_numbers(reader).items() if "--" not in name)
    cut: dict[str, PdfWriter] = {}
    for (page, name), (end, following) in pairwise([*starts, (len(reader.pages) + 1, "")]):
        at_end, _, stem = name.rpartition("notebooks-")
        if stem[:1].isdigit():  # at the end chapters follow each other on one page
            last = end if at_end and following.startswith(at_end) else end - 1
            writer = cut.setdefault(stem, PdfWriter())
            writer.append(reader, pages=(page - 1, last), import_outline=False)
    return {stem: written(writer) for stem, writer in cut.items()}


def written(writer: PdfWriter) -> bytes:
    """Give what a writer writes."""
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def signed(pdf: bytes, date: str) -> bytes:
    """Write authors and the outputs' date into a PDF, in place of its printer's name."""
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # a copy's count of objects is its own
    writer = PdfWriter(clone_from=io.BytesIO(pdf))
    day = f"D:{date.replace('-', '')}000000Z"
    writer.metadata = {
        "/Title": CONFIG["title"],
        "/Author": CONFIG["author"],
        "/CreationDate": day,
        "/ModDate": day,
    }
    return written(writer)


def main(site: str | Path = SITE, file: str | Path = FILE) -> int:
    """The command; see the head of this module."""
    out = Path(file)
    try:
        html = whole(Path(site))
        if (path := chromium()) is None:
            raise ValueError(f"printing needs a browser, and {MISSING}")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, UNHINTED])
            pdf = signed(printed(html, browser), computed()[-1])
        write_bytes(out, pdf)
        for name, part in chapters(pdf).items():
            write_bytes(out.with_suffix("") / f"{name}.pdf", part)
    except (ValueError, OSError) as error:
        print(f"pdf: {error}", file=sys.stderr)
        return 2
    count = len(PdfReader(io.BytesIO(pdf)).pages)
    print(f"The book on paper: {out} ({count} pages, {len(pdf) / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
