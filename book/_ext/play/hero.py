"""The picture on the first page: the book's GPT reads a sentence; its parts lead to chapters.

``_scripts/gpt/hero.js`` draws it. The build has it drawn in Node, by the model and the weights
that the page loads when a reader asks for a sentence of their own, so that it is true without
scripts. The same drawing becomes the picture that a shared link shows (``social.png``).
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import quote_plus

from bs4 import BeautifulSoup
from docutils import nodes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve
from sphinx.util.docutils import SphinxDirective

from helpers.chapters import BY_NUMBER
from play import bundled, in_node
from play.gpt import weights_script
from play.machine import PLACES, TEXT

PARTS = {  # of the picture, in its order: what each is called, and the chapter that explains it
    "tokens": ("tokens", 13),
    "embedding": ("embedding", 1),
    "attention": ("attention", 5),
    "sums": ("add, feed-forward", 8),
    "next": ("probabilities", 3),
}
DRAWN = """text => {
    const model = unpack(bookGPTWeights);
    return drawHero(model, tokenize(model, text).ids).view;
}"""
INK, SOFT, BLUE, ORANGE, LIT = "#1d2430", "#59636f", "#0072b2", "#b84c00", "#ffd24d"
STEP = re.compile(r"([MChvz])([-\d. ]*)")
NUMBER = re.compile(r"-?[\d.]+")


@cache
def view_html() -> str:
    """Return the drawing as ``hero.js`` makes it."""
    return in_node([bundled("gpt"), weights_script()[0]], DRAWN, TEXT)


def hero_html(address) -> str:
    """Return the picture's HTML; ``address`` gives a chapter's address."""
    about, view = weights_script()[1], view_html()
    parts = "".join(
        f'<li data-part="{part}"><a href="{address(BY_NUMBER[number])}" '
        f'title="{escape(BY_NUMBER[number].title)}">{escape(name)} <b>ch. {number}</b></a></li>'
        for part, (name, number) in PARTS.items()
    )
    return f"""<figure class="hero" data-weights="{about["file"]}" data-places="{PLACES}">
<div class="hero-view">{view}</div>
<figcaption><span class="visually-hidden">The picture shows how a GPT reads “{TEXT}”.</span>
<ol class="hero-parts" aria-label="The parts, and the chapters that explain them">{parts}</ol>
<form><label class="visually-hidden" for="hero-text">A sentence of yours</label>
<textarea id="hero-text" rows="1" spellcheck="false" autocapitalize="off"
autocomplete="off">{TEXT}</textarea>
<button>Read it</button></form>
<p class="hero-note"><span class="hero-said" role="status">Type a sentence, or press a word to add
it. The first press loads {about["letters"] / 1e6:.1f} MB; all stays in this page.</span>
<a class="hero-open" href="number-by-number.html#text={quote_plus(TEXT)}&amp;why=">Why this
word?</a>
<a class="hero-open" href="number-by-number.html#text={quote_plus(TEXT)}">Open every number of
it</a>
</p></figcaption></figure>"""


class Hero(SphinxDirective):
    """Put the picture here."""

    def run(self) -> list[nodes.Node]:
        """Render it."""

        def address(chapter) -> str:
            return self.env.app.builder.get_relative_uri(self.env.docname, chapter.docname)

        html = hero_html(address)
        return [nodes.raw("", html, format="html", assets=["hero.css", "gpt.js"])]


# --- the picture of a shared link -----------------------------------------------------------------


def curve_of(d: str) -> Curve:
    """Return what an SVG path of the drawing says, in the commands that hero.js writes."""
    points: list[tuple[float, float]] = []
    codes = []
    for command, words in STEP.findall(d):
        given = [float(word) for word in NUMBER.findall(words)]
        if command in "hv":
            (x, y), (step,) = points[-1], given
            given = [x + step, y] if command == "h" else [x, y + step]
        kind = {"M": Curve.MOVETO, "C": Curve.CURVE4, "z": Curve.CLOSEPOLY}.get(
            command, Curve.LINETO
        )
        added = list(zip(given[::2], given[1::2], strict=True)) or [points[-1]]
        points += added
        codes += [kind] * len(added)
    return Curve(points, codes)


def look_of(path) -> dict:
    """Return how hero.css paints a path of the drawing."""
    share, kind = float(path["style"].split(":")[1]), path.get("class", [""])[0]
    if kind in ("plus", "minus"):
        return {"fc": BLUE if kind == "plus" else ORANGE, "lw": 0, "alpha": share}
    if path.find_parent(attrs={"data-part": "next"}):
        return {"fc": "none", "ec": BLUE, "lw": 1 + 18 * share, "alpha": 0.75}
    if kind == "last":
        return {"fc": "none", "ec": BLUE, "lw": 1 + 6 * share, "alpha": 0.45 + 0.55 * share}
    return {"fc": "none", "ec": SOFT, "lw": 0.7 + 3.5 * share, "alpha": 0.1 + 0.6 * share}


def social_picture(title: str) -> Figure:
    """Draw the first page's picture under the book's name, 1200 by 630 pixels."""
    soup = BeautifulSoup(view_html(), "html.parser")
    figure = Figure(figsize=(1200 / 72, 630 / 72), dpi=72, facecolor="white")
    figure.text(0.05, 0.86, title, size=54, weight="bold", color=INK)
    words, rows = soup.select(".hero-words span"), soup.select(".hero-next li")
    ax = figure.add_axes((0.17, 0.06, 0.56, 0.7), xlim=(0, 100), ylim=(len(words), 0))
    likely = figure.add_axes((0.74, 0.06, 0.21, 0.7), xlim=(0, 1), ylim=(len(rows), 0))
    for path in soup.select("svg path"):
        ax.add_patch(PathPatch(curve_of(path["d"]), clip_on=False, **look_of(path)))
    for t, word in enumerate(words):
        last = {"bbox": {"fc": LIT, "ec": "none", "pad": 5}} if t == len(words) - 1 else {}
        ax.text(-2, t + 0.5, word.get_text(), size=24, ha="right", va="center", color=INK, **last)
    for t, row in enumerate(rows):
        share, bold = float(row["style"].split(":")[1]), "normal" if t else "bold"
        for width, alpha in ((1, 0.1), (share, 0.32)):
            likely.barh(t + 0.5, width, 0.72, color=BLUE, alpha=alpha)
        for x, side, said in ((0.04, "left", row.span), (0.96, "right", row.b)):
            said = said.get_text()
            likely.text(x, t + 0.5, said, size=24, ha=side, va="center", weight=bold, color=INK)
    for drawn in (ax, likely):
        drawn.set_axis_off()
    return figure


def write_social_picture(app, error) -> None:
    """Write it where opengraph.py says that it is."""
    if error is None and app.builder.format == "html":
        file = Path(app.outdir, "_static", "social.png")
        social_picture(app.config.project).savefig(file, dpi=72, metadata={"Software": None})


def setup(app) -> None:
    app.add_directive("hero", Hero)
    app.connect("build-finished", write_social_picture)
