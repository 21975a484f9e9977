"""What a page shows where its address is posted: tags, and a picture made from its figure."""

import io
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from chapters import NOTEBOOKS, ROOT
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

sys.path.append(str(ROOT / "book" / "_ext"))
import book_opengraph
import svg_picture
from book_chapters import CHAPTERS

LARGEST = 100_000  # bytes of a picture
NEEDED = {"og:title", "og:description", "og:type", "og:image", "og:image:alt", "og:site_name",
          "twitter:card"}  # fmt: skip


class Tags(HTMLParser):
    """The <meta> elements of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.known = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        name = attrs.get("property") or attrs.get("name")
        if tag == "meta" and name:
            assert name not in self.known or ":" not in name, f"{name} stands twice"
            self.known[name] = attrs.get("content")


def test_each_page_has_its_tags(html_root, path):
    known = Tags((html_root / path).read_text("utf-8")).known
    assert set(known) >= NEEDED
    assert all(known[name].strip() for name in NEEDED)
    assert known["og:type"] == ("website" if path == "book/index.html" else "article")
    assert known["twitter:card"] == "summary_large_image"
    picture = ((html_root / path).parent / known["og:image"]).resolve()
    assert picture.is_file(), "as long as the book has no home the address is relative"
    if path.startswith("notebooks/"):
        assert picture.stem == path.removeprefix("notebooks/").removesuffix(".html")
        (chapter,) = (c for c in CHAPTERS if c.stem == picture.stem)
        assert known["og:title"] == chapter.title
        assert known["og:description"] == chapter.question


def test_one_picture_a_chapter(html_root):
    made = {file.stem: file for file in (html_root / "_static" / "og").glob("*.png")}
    assert set(made) == {path.stem for path in NOTEBOOKS} | {"book"}
    for file in made.values():
        with Image.open(file) as picture:
            assert picture.size == (1200, 630)
        assert file.stat().st_size < LARGEST, file.name


def test_a_picture_is_the_same_each_time_and_made_once(html_root, tmp_path):
    stem = "05_attention_by_hand"
    file = html_root / "_static" / "og" / f"{stem}.png"
    title, said, svg, _ = book_opengraph.wanted(ROOT)[stem]
    assert book_opengraph.picture(title, said, svg) == file.read_bytes()
    assert book_opengraph.up_to_date(file, book_opengraph.hash_of(title, said, svg))
    for other in (("T", said, svg), (title, "S", svg), (title, said, svg + " ")):
        assert not book_opengraph.up_to_date(file, book_opengraph.hash_of(*other))
    assert not book_opengraph.up_to_date(tmp_path / "none.png", "")


def page_of(base: str) -> dict:
    """The tags that a page of chapter 5 gets with this address of the book."""
    app = SimpleNamespace(
        srcdir=str(ROOT),
        config=SimpleNamespace(html_baseurl=base, root_doc="book/index"),
        builder=SimpleNamespace(
            get_relative_uri=lambda a, b: f"../{b}.html", get_target_uri=lambda name: f"{name}.html"
        ),
    )
    context = {"title": "<b>A</b> &amp; B", "metatags": "<meta name='generator' content='x'>"}
    book_opengraph.describe(app, "notebooks/05_attention_by_hand", "page.html", context, None)
    return Tags(context["metatags"]).known


@pytest.mark.parametrize("base", ["https://book.example/text", "https://book.example/text/"])
def test_addresses_are_whole_once_the_book_has_a_home(base):
    known = page_of(base)
    home = "https://book.example/text"
    assert known["og:image"] == f"{home}/_static/og/05_attention_by_hand.png"
    assert known["og:url"] == f"{home}/notebooks/05_attention_by_hand.html"
    assert known["og:title"] == "Attention worked by hand"
    assert known["generator"] == "x"
    assert "og:url" not in page_of("")
    assert page_of("")["og:image"] == "../_static/og/05_attention_by_hand.png"


# --- figures as pixels ----------------------------------------------------------------------------


def drawn(svg: str, width: int) -> np.ndarray:
    """An SVG as ``draw_svg`` draws it, grey, on white."""
    wide, tall = svg_picture.size_of(svg)
    height = round(width * tall / wide)
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    svg_picture.draw_svg(figure, svg, (0, 0, width, height))
    made = io.BytesIO()
    figure.savefig(made, format="png", dpi=100)
    return np.asarray(Image.open(made).convert("L"), dtype=float)


def in_browser(browser, svg: str, width: int) -> np.ndarray:
    wide, tall = svg_picture.size_of(svg)
    height = round(width * tall / wide)
    page = browser.new_page(viewport={"width": width, "height": height})
    try:
        sized = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"',
                       f'width="{width}" height="{height}"', svg, count=1)  # fmt: skip
        page.set_content(f"<body style='margin:0;background:#fff'>{sized}</body>")
        return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L"), dtype=float)
    finally:
        page.close()


def blurred(pixels: np.ndarray, by: int = 6) -> np.ndarray:
    """Means of squares of pixels: edges may be drawn a little otherwise."""
    tall, wide = (side // by * by for side in pixels.shape)
    return pixels[:tall, :wide].reshape(tall // by, by, wide // by, by).mean(axis=(1, 3))


@pytest.mark.parametrize("stem", [path.stem for path in NOTEBOOKS])
def test_figures_are_drawn_as_a_browser_draws_them(browser, stem):
    svg = book_opengraph.wanted(ROOT)[stem][2]
    ours, theirs = (blurred(p) for p in (drawn(svg, 900), in_browser(browser, svg, 900)))
    assert ours.shape == theirs.shape
    away = np.abs(ours - theirs)
    assert away.mean() < 2.5
    assert np.quantile(away, 0.995) < 40, "a part is missing or stands elsewhere"


@pytest.mark.parametrize(
    "body",
    ["<text>words</text>", '<path d="M 0 0 A 1 1 0 0 0 2 2"/>', '<g transform="skewX(3)"/>'],
)
def test_what_it_does_not_know_is_refused(body):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">{body}</svg>'
    with pytest.raises(ValueError, match="should hold no"):
        svg_picture.draw_svg(Figure(), svg, (0, 0, 10, 10))
