"""The nats ladder of the first page: what each part of the machine is worth, computed at the build.

``{ladder}`` draws a rung for each model that the chapters build, at the height of its loss on the
validation text. The counted tables are counted anew; the losses of what was trained are the stored
results that the chapters show. Each rung leads to the figure in the chapter where it is lit.
"""

from __future__ import annotations

import html
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from book_chapters import BY_NAME, remember, svg_link
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from helpers import bigram, corpus
from helpers.figures.ladder import spaced

RESULTS = Path(str(files("helpers"))) / "data" / "results"
STORED = ("residual_training", "gpt_ablations", "inside")


class Rung(NamedTuple):
    """A model: what it is called, its loss in nats a letter, and where it is lit in the book."""

    name: str
    loss: float
    chapter: str
    anchor: str


def counted() -> dict[str, float]:
    """Losses of the tables that are counted on the training text."""
    text = corpus.load()
    tokenizer = corpus.CharTokenizer(text)
    train_ids, validation_ids = (ids.numpy() for ids in corpus.split(tokenizer.encode(text)))
    V = len(tokenizer)
    counts = bigram.count_bigrams(train_ids, V)
    common = np.bincount(train_ids, minlength=V) + 1
    tables = {
        "uniform": np.full((V, V), 1 / V),
        "unigram": np.tile(common / common.sum(), (V, 1)),
        "bigram": bigram.smoothed(counts),
    }
    to_predict = bigram.count_bigrams(validation_ids, V)
    return {name: bigram.cross_entropy_of(table, to_predict) for name, table in tables.items()}


def trained() -> dict[str, float]:
    """Stored losses of what was trained, means over the seeds."""
    stored = {name: json.loads((RESULTS / f"{name}.json").read_text("utf-8")) for name in STORED}
    settings = {s["model"]: s for s in stored["residual_training"]["ladder"]["settings"]}
    (settings["whole"],) = (
        s for s in stored["gpt_ablations"]["whole"]["settings"] if s["text"] == "tales"
    )
    (settings["ships"],) = stored["inside"]["tales"]["settings"]
    return {
        name: float(np.mean([run["validation"] for run in s["runs"]]))
        for name, s in settings.items()
    }


@cache
def rungs() -> tuple[Rung, ...]:
    """Return the rungs from the top, each lower than the one before."""
    table, model = counted(), trained()
    bigram_03, block_08 = ("bigram_table", "nats-ladder-03"), ("residual_add_and_norm", "ladder-08")
    found = (
        Rung("knowing nothing", table["uniform"], *bigram_03),
        Rung("how common letters are", table["unigram"], *bigram_03),
        Rung("the letter before", table["bigram"], *bigram_03),
        Rung("attention alone", model["attention alone"], "scaling_by_sqrt_dk", "ladder-06"),
        Rung("with a residual", model["with its residual"], *block_08),
        Rung("with feed-forward", model["with feed-forward"], *block_08),
        Rung("with norms: a block", model["with norms"], *block_08),
        Rung("a GPT, in a minute", model["whole"], "small_gpt", "ladder-11"),
        Rung("the GPT above", model["ships"], "inside_the_gpt", "ladder-12"),
    )
    losses = [rung.loss for rung in found]
    if losses != sorted(losses, reverse=True):
        raise ValueError(f"the rungs should go down, got {losses}")
    return found


WIDE, TALL, TOP, FOOT, RIGHT, BESIDE, APART = 344, 520, 26, 26, 84, 102, 27  # px


def draw(address) -> str:
    """Return the ladder as SVG; ``address`` gives the address of a rung, or None."""
    most = rungs()[0].loss
    heights = {rung.name: (TALL - TOP - FOOT) * rung.loss / most for rung in rungs()}
    places = spaced(list(heights.values()), APART)
    steps = "".join(
        step(rung, TALL - FOOT - heights[rung.name], TALL - FOOT - place, address(rung))
        for rung, place in zip(rungs(), places, strict=True)
    )
    said = html.escape(
        f"The nats ladder: {len(rungs())} models from {rungs()[0].loss:.2f} down to "
        f"{rungs()[-1].loss:.2f} nats a letter; each rung leads to its chapter"
    )
    return (
        f'<svg class="nats-ladder" viewBox="0 0 {WIDE} {TALL}" width="{WIDE}" height="{TALL}" '
        f'role="group" aria-label="{said}"><g class="rails">'
        f'<path d="M20 10V{TALL - FOOT}M{RIGHT - 12} 10V{TALL - FOOT}"/></g>'
        f'<text class="times" x="20" y="{TALL - 8}">0 nats a letter: certain of each</text>'
        f"{steps}</svg>"
    )


def step(rung: Rung, y: float, label: float, where: str | None) -> str:
    """Return a rung at height y with its words at the height ``label``, as a link."""
    number = BY_NAME[rung.chapter].number
    body = (
        f'<path class="reach" d="M14 {y - 5:.1f}H{RIGHT}V{y + 5:.1f}H14z"/>'
        f'<rect class="reach" x="{BESIDE - 6}" y="{label - 13.3:.1f}" '
        f'width="{WIDE - BESIDE + 4}" height="26.6" rx="3"/>'
        f'<path class="rung" d="M20 {y:.1f}H{RIGHT - 12}"/>'
        f'<path class="lead" d="M{RIGHT - 8} {y:.1f}L{BESIDE - 8} {label:.1f}"/>'
        f'<text x="{BESIDE}" y="{label + 4.5:.1f}"><tspan class="loss">{rung.loss:.2f}</tspan> '
        f'<tspan class="chapter">{html.escape(rung.name)}</tspan> '
        f'<tspan class="number">· {number}</tspan></text>'
    )
    return svg_link(body, where, f"{rung.loss:.2f} nats: {rung.name}, chapter {number}")


class Ladder(SphinxDirective):
    """The nats ladder."""

    def run(self) -> list[nodes.Node]:
        """Draw it; a new result, or another text, makes the page anew."""
        env = self.env
        remember(env, env.docname)
        for file in (__file__, corpus.__file__, bigram.__file__,
                     *(RESULTS / f"{name}.json" for name in STORED)):  # fmt: skip
            env.note_dependency(str(file))

        def address(rung: Rung) -> str | None:
            docname = BY_NAME[rung.chapter].docname
            if docname not in env.found_docs:
                return None
            return f"{env.app.builder.get_relative_uri(env.docname, docname)}#{rung.anchor}"

        return [nodes.raw("", f"<figure>{draw(address)}</figure>", format="html", front=True)]


def setup(app) -> dict:
    app.add_directive("ladder", Ladder)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
