"""The first page: a text that the book's GPT wrote, and a prediction to try.

``{written}`` has the shipped GPT write when the page is built, from a stated prompt and seed, as
the code does that stands on the page. ``{try-one}`` asks what attention
does when a query is stretched; its drawing is the cover, its answer is computed here.
"""

from __future__ import annotations

import html
from functools import cache

import numpy as np
import torch
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from helpers import checkpoint, minigpt
from helpers.explore.predictions import Choice
from helpers.numerics import attention_weights

PROMPT, LENGTH, TEMPERATURE, SEED = "The fox did not cross the", 60, 0.5, 0
ENDS = (". ", ".\n", '."', "! ", "? ", '!"', '?"')  # of a sentence, two characters each


# --- the trained GPT, writing -------------------------------------------------------------------


@cache
def sample_text() -> str:
    """Return what the GPT writes from the prompt up to its last full stop."""
    model, tokenizer = checkpoint.load()
    ids_BT = tokenizer.encode(PROMPT)[None]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        written_BT = minigpt.generate(model, ids_BT, LENGTH, TEMPERATURE)
    text = tokenizer.decode(written_BT[0])
    return text[: max(text.rfind(end) for end in ENDS) + 2].rstrip()


class SampleText(SphinxDirective):
    """A text by the book's GPT; the block's content becomes the caption."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Render the text."""
        text = sample_text()
        opening = (
            '<figure class="written"><p class="written-text">'
            f"<b>{html.escape(PROMPT)}</b><span>{html.escape(text[len(PROMPT) :])}</span></p>"
            "<figcaption>"
        )
        return [
            nodes.raw("", opening, format="html", assets=["front.css"]),
            *self.parse_text_to_nodes("\n".join(self.content)),
            nodes.raw("", "</figcaption></figure>", format="html"),
        ]


# --- a prediction to try ------------------------------------------------------------------------

QUERY = np.array([1.0, 1.2])  # as the cover has them; a test reads them off the drawing
KEYS = np.array([[1.5, 0.5], [-0.5, 1.5], [-1.0, -0.5]])
TIMES = 10
STAY, EVEN, EACH, FIRST = (
    "They stay as they are",
    "They become more even",
    f"Each becomes {TIMES} times as large",
    "Nearly all of it goes to key 1",
)
WRONG = {
    STAY: "Cosine similarity would do that, because it looks at the direction alone. A score in "
    f"attention is a dot product, so {TIMES} times the query makes {TIMES} times the score.",
    EVEN: "Dividing the scores would do that. Softmax looks at the *differences* between scores, "
    "and a longer query makes them larger.",
    EACH: "The scores do. The weights can't, because softmax divides by their sum, so that they "
    "always add up to 1.",
}


def weights_of(query: np.ndarray) -> np.ndarray:
    """Attention weights of a query over the three keys of the cover."""
    return attention_weights(query[None], KEYS)[0]


def percentages(weights: np.ndarray, digits: int = 0) -> str:
    return ", ".join(f"{100 * weight:.{digits}f}\u00a0%" for weight in weights)


def prediction() -> str:
    """Return the HTML of the form and the result."""
    before, after = weights_of(QUERY), weights_of(TIMES * QUERY)
    question = (
        f"In the drawing the three keys get {percentages(before)} of the weight. Now the query "
        f"becomes {TIMES} times as long and keeps its direction. What becomes of the weights?"
    )
    scores, root = KEYS @ QUERY, np.sqrt(len(QUERY))
    lead = (scores[0] - scores[1]) / root
    because = (
        f"Computed when this page was built: {percentages(after, 1)}. Key 1 led key 2 by "
        f"{lead:.2f} in scaled score; now it leads by {TIMES * lead:.2f}, and each unit of lead is "
        "worth a factor of e in weight."
    )
    asked = Choice(question, [STAY, EVEN, EACH, FIRST], WRONG)
    return asked.html(FIRST, because)


class FirstPrediction(SphinxDirective):
    """The prediction of the first page."""

    def run(self) -> list[nodes.Node]:
        """Render it."""
        return [nodes.raw("", prediction(), format="html", assets=["front.css"])]


def setup(app) -> None:
    app.add_directive("written", SampleText)
    app.add_directive("try-one", FirstPrediction)
