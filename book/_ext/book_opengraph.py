"""What a page shows of itself where somebody posts its address: a title, a sentence, a picture.

Each chapter's picture holds one of its own figures, the stored output of the cell that `FIGURES`
names; other pages have one with the machine map. They are drawn by matplotlib when the book is
built, into ``_static/og/``, and drawn again only when the figure, the words or this file change: a
picture carries the hash of what it was made from.

``og:image`` must be a full address. Where ``html: baseurl`` is set in ``_config.yml`` it is one;
as long as the book has no home it is relative to the page, which some readers of it understand.
"""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urljoin

import matplotlib as mpl
from book_chapters import CHAPTERS, Chapter
from book_head import first_words, shortened
from docutils import nodes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, PngImagePlugin
from svg_picture import draw_svg

WIDTH, HEIGHT, EDGE, COLOURS, DPI = 1200, 630, 60, 64, 100
BOOK = "Transformers, Worked Out"
SAID = "An executable textbook on what happens inside a Transformer"
INK, SOFT, LIT = "#1d2430", "#59636f", "#ffd24d"
MAP = "code-002"  # the machine map, in chapter 11 with every part lit
FIGURES = {  # chapter: the cell whose figure stands for it
    "01_embeddings_as_features": "code-039",
    "02_similarity_geometry": "code-075",
    "03_bigram_table": "code-011",
    "04_layernorm_vs_batchnorm": "code-103",
    "05_attention_by_hand": "code-026",
    "06_scaling_by_sqrt_dk": "code-034",
    "07_heads_masks_positions": "code-065",
    "08_residual_add_and_norm": "code-064",
    "09_prenorm_vs_postnorm": "the-orders",
    "10_initialisation": "code-027",
    "11_small_gpt": "the-training",
    "12_inside_the_gpt": "code-016",
}


# --- pictures -----------------------------------------------------------------------------------


def figure_of(root: Path, stem: str, cell: str) -> tuple[str, str]:
    """Return the figure that a cell has stored, as SVG, and its words for those who see none.

    Raises: ValueError where there is not one.
    """
    stored = json.loads((root / "notebooks" / f"{stem}.ipynb").read_text("utf-8"))
    found = [one for one in stored["cells"] if one.get("id") == cell]
    svgs = [o["data"]["image/svg+xml"] for one in found for o in one.get("outputs", ())
            if "image/svg+xml" in o.get("data", {})]  # fmt: skip
    if len(svgs) != 1:
        raise ValueError(f"{stem} should have one SVG in a cell {cell!r}, it has {len(svgs)}")
    return "".join(svgs[0]), found[0]["metadata"]["mystnb"]["image"]["alt"]


def picture(title: str, said: str, svg: str) -> bytes:
    """Return the PNG with a title, a line below it, the figure and the book's name."""
    with mpl.rc_context({"font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI, facecolor="white")
        FigureCanvasAgg(figure)
        bar = mpl.patches.Rectangle((0, 0), WIDTH, 14, color=LIT, transform=None)
        figure.add_artist(bar)
        write = figure.text
        top = 1 - EDGE / HEIGHT
        size = 34 if len(title) < 34 else 28
        write(EDGE / WIDTH, top, title, fontsize=size, weight="bold", color=INK, va="top")
        write(EDGE / WIDTH, top - 64 / HEIGHT, said, fontsize=18, color=SOFT, va="top")
        write(EDGE / WIDTH, 36 / HEIGHT, BOOK, fontsize=15, weight="bold", color=INK)
        draw_svg(figure, svg, (EDGE, 84, WIDTH - 2 * EDGE, HEIGHT - 84 - EDGE - 124))
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=DPI)
    reduced = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    made_of = PngImagePlugin.PngInfo()
    made_of.add_text("made-of", hash_of(title, said, svg))
    packed = io.BytesIO()
    reduced.save(packed, format="png", optimize=True, pnginfo=made_of)
    return packed.getvalue()


def hash_of(*words: str) -> str:
    """Return the hash of what a picture is made from, the code that makes it included."""
    here = Path(__file__)
    code = [file.read_text("utf-8") for file in (here, here.with_name("svg_picture.py"))]
    return hashlib.sha256("\0".join([*words, *code, version("matplotlib")]).encode()).hexdigest()


def up_to_date(file: Path, made_of: str) -> bool:
    """Tell whether a picture is there and was made from this."""
    if not file.exists():
        return False
    with Image.open(file) as found:
        return found.info.get("made-of") == made_of


@cache
def wanted(root: Path) -> dict[str, tuple[str, str, str, str]]:
    """Return each picture's title, line, figure and words for those who do not see it."""
    found = {}
    for chapter in CHAPTERS:
        if (root / "notebooks" / f"{chapter.stem}.ipynb").exists():
            svg, alt = figure_of(root, chapter.stem, FIGURES[chapter.stem])
            title = f"{chapter.number} · {chapter.title}"
            found[chapter.stem] = (title, chapter.question, svg, alt)
    if "11_small_gpt" in found:
        svg, alt = figure_of(root, "11_small_gpt", MAP)
        found["book"] = (BOOK, SAID, svg, alt)
    return found


def write_pictures(app) -> None:
    """Draw what is not there yet, or was made from something else."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", "og")
    target.mkdir(parents=True, exist_ok=True)
    for name, (title, said, svg, _) in wanted(Path(app.srcdir)).items():
        file = target / f"{name}.png"
        if not up_to_date(file, hash_of(title, said, svg)):
            file.write_bytes(picture(title, said, svg))


# --- the page's head ----------------------------------------------------------------------------


def described(doctree: nodes.document | None, chapter: Chapter | None) -> str:
    """Return what a page says of itself: a chapter's question, or its first words."""
    if chapter is not None:
        return chapter.question
    return shortened(first_words(doctree) if doctree is not None else "") or SAID


def tags(known: dict[str, str]) -> str:
    """Return <meta> elements; Open Graph has a property, everything else a name."""
    return "\n".join(
        f'<meta {"property" if name.startswith("og:") else "name"}="{name}" '
        f'content="{html.escape(value)}">'
        for name, value in known.items()
    )


def describe(app, pagename, templatename, context, doctree) -> None:
    """Write the tags into the page's head."""
    by_docname = {chapter.docname: chapter for chapter in CHAPTERS}
    chapter = by_docname.get(pagename)
    pictures = wanted(Path(app.srcdir))
    name = chapter.stem if chapter and chapter.stem in pictures else "book"
    plain = re.sub(r"<[^>]+>", "", html.unescape(context.get("title") or ""))
    title = chapter.title if chapter else plain or BOOK
    said = described(doctree, chapter)
    base = app.config.html_baseurl
    known = {
        "og:title": title,
        "og:description": said,
        "og:type": "website" if pagename == app.config.root_doc else "article",
        "og:site_name": BOOK,
    }
    if base:
        known["og:url"] = urljoin(f"{base.rstrip('/')}/", app.builder.get_target_uri(pagename))
    if name in pictures:
        image = f"_static/og/{name}.png"
        here = app.builder.get_relative_uri(pagename, "x").removesuffix("x.html")
        known |= {
            "og:image": urljoin(f"{base.rstrip('/')}/", image) if base else f"{here}{image}",
            "og:image:width": str(WIDTH),
            "og:image:height": str(HEIGHT),
            "og:image:alt": pictures[name][3],
            "twitter:card": "summary_large_image",
        }
    context["metatags"] = f"{context.get('metatags', '')}\n{tags(known)}"


def setup(app) -> dict:
    app.connect("builder-inited", write_pictures)
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
