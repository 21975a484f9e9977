"""The picture on the first page: the book's GPT reads a sentence; its parts lead to chapters.

``hero.js`` draws it. The build has it drawn in Node, by the model and the weights that the page
loads when a reader asks for a sentence of their own, so that it is true without scripts.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote_plus

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from helpers.chapters import BY_NUMBER
from play import ASSETS, in_node
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
    const model = bookGPT.unpack(bookGPTWeights);
    return bookHero.draw(model, bookGPT.tokenize(model, text).ids).view;
}"""


def hero_html(address) -> str:
    """Return the picture's HTML; ``address`` gives a chapter's address."""
    script, about = weights_script()
    own = ((ASSETS / f"{name}.js").read_text("utf-8") for name in ("gpt", "gpt-words", "hero"))
    view = in_node([script, *own], DRAWN, TEXT)
    parts = "".join(
        f'<li data-part="{part}"><a href="{address(BY_NUMBER[number])}" '
        f'title="{escape(BY_NUMBER[number].title)}"><b>{number}</b> {escape(name)}</a></li>'
        for part, (name, number) in PARTS.items()
    )
    return f"""<figure class="hero" data-weights="{about["file"]}" data-places="{PLACES}">
<div class="hero-view">{view}</div>
<figcaption><span class="visually-hidden">The picture shows how a GPT reads “{TEXT}”.</span>
<ol class="hero-parts" aria-label="The parts, and the chapters that explain them">{parts}</ol>
<form><label for="hero-text">A sentence of yours</label>
<input id="hero-text" value="{TEXT}" spellcheck="false" autocapitalize="off" autocomplete="off">
<button>Read it</button></form>
<p class="hero-note"><span class="hero-said" role="status">Press a word to add it to the sentence.
The first press loads {about["letters"] / 1e6:.1f} MB; what you type stays in this page.</span>
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

        assets = ["hero.css", "gpt.js", "gpt-words.js", "hero.js"]
        return [nodes.raw("", hero_html(address), format="html", assets=assets)]


def setup(app) -> None:
    app.add_directive("hero", Hero)
