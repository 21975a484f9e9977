"""The picture on the first page: the book's GPT reads a sentence; its parts lead to chapters.

``_scripts/gpt/hero.js`` draws it. The build has it drawn in Node, by the model and the weights
that the page loads when a reader asks for a sentence of their own, so that it is true without
scripts. A shared link shows the machine map (``social.png``).
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from urllib.parse import quote_plus

from content.drawings import Drawing
from docutils import nodes
from matplotlib.figure import Figure

from helpers.chapters import BY_NUMBER
from helpers.figures import machine
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


def hero_html(address) -> str:
    """Return the picture's HTML; ``address`` gives a chapter's address."""
    weights, about = weights_script()
    view = in_node([bundled("gpt"), weights], DRAWN, TEXT)  # as hero.js makes it
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


class Hero(Drawing):
    """Put the picture here."""

    def run(self) -> list[nodes.Node]:
        """Render it."""
        html = hero_html(self.address)
        return [nodes.raw("", html, format="html", assets=["hero.css", "gpt.js"])]


# --- the picture of a shared link -----------------------------------------------------------------


def social_picture(title: str) -> Figure:
    """Draw the machine under the book's name, 1200 by 630 pixels."""
    figure = Figure(figsize=(1200 / 72, 630 / 72), dpi=72, facecolor="white")
    figure.text(0.04, 0.76, title, size=58, weight="bold", color="#1d2430")
    ax = figure.add_axes((0.02, 0.1, 0.96, 0.56))
    for words in machine.draw_machine(ax, built=machine.PARTS, lit=["attention"]).texts:
        words.set_fontsize(17)
    return figure


def write_social_picture(app, error) -> None:
    """Write it where opengraph.py says that it is."""
    if error is None and app.builder.format == "html":
        file = Path(app.outdir, "_static", "social.png")
        social_picture(app.config.project).savefig(file, dpi=72, metadata={"Software": None})


def setup(app) -> None:
    app.add_directive("hero", Hero)
    app.connect("build-finished", write_social_picture)
