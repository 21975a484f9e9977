"""The machine map and the nats ladder of the first page: each part and rung leads to its chapter.

``{machine}`` and ``{ladder}`` draw the chapters' own figures (``helpers.figures``), as SVG that has
colours and type from the page. Which chapters take a part to pieces is what their manifests say; a
list below the map has all of them. The ladder's counted tables are counted anew at the build; the
losses of what was trained are the stored results that the chapters show.
"""

from __future__ import annotations

import html
import io
import re
from functools import cache
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from docutils import nodes
from matplotlib.figure import Figure
from sphinx.util.docutils import SphinxDirective

from content.markdown import titled
from helpers.chapters import BY_NUMBER, CHAPTERS, Chapter, stored
from helpers.chapters.lab import counted_losses
from helpers.figures import ladder, machine

RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "book",
    "text.color": "#1d2430",
    "font.size": 9,
}
COLOURS = {  # of the figures: what stands for them on the page
    "#1d2430": "var(--book-ink)",
    "#555555": "var(--book-soft)",
    "#999999": "var(--book-soft)",
    "#444444": "var(--book-soft)",
    ladder.OLD: "var(--book-soft)",
    ladder.RUNG.lower(): "var(--book-ink-1)",
    machine.DIM: "var(--book-card)",
}
WORDS = {"+": "residual sum"}  # for those on the map that say little in a list


def as_svg(figure: Figure, kind: str, label: str, links: list[tuple[str, str]]) -> str:
    """Return a figure as SVG in the page's colours; artists whose url is "n" become the nth link.

    links: addresses, each with the name by which a screen reader calls it.
    """

    def link(found: re.Match) -> str:
        address, name = links[int(found[1])]
        return f'<a href="{address}" aria-label="{html.escape(name)}">'

    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = drawn.getvalue()
    svg = re.sub(r"<(metadata|style).*?</\1>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub("|".join(COLOURS), lambda found: COLOURS[found[0]], svg)
    svg = re.sub(r'\b(id="|url\(#|href="#)', rf"\g<1>{kind}-", svg)
    svg = re.sub(r'<a xlink:href="(\d+)"[^>]*>', link, svg)
    return svg.replace(
        "<svg", f'<svg class="{kind}" role="group" aria-label="{html.escape(label)}"', 1
    )


# --- the map ------------------------------------------------------------------------------------


def by_part() -> dict[str, list[Chapter]]:
    """Return the chapters of each part in the words of the map; last those of the whole."""
    found: dict[str, list[Chapter]] = {}
    for name, (*_, words) in machine.PARTS.items():
        plain = " ".join(words.replace("-\n", "-").split())
        here = found.setdefault(WORDS.get(plain, plain), [])
        here += [c for c in CHAPTERS if name in c.parts and c not in here]
    return found | {"all of it": [chapter for chapter in CHAPTERS if not chapter.parts]}


def draw_map(address) -> str:
    """Return the map as SVG; ``address`` gives a chapter's address."""
    links: list = []
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8.6, 1.75))
        ax = machine.draw_machine(figure.add_axes((0, 0, 1, 1)))
        for words in ax.texts:
            words.set_fontsize(8.6)
        for name, box in zip(machine.PARTS, ax.patches, strict=False):  # the boxes come first
            chapter = next((c for c in CHAPTERS if name in c.parts), None)
            if chapter:
                box.set_url(str(len(links)))
                links.append(
                    (address(chapter), f"{name}: chapter {chapter.number}, {chapter.title}")
                )
        label = "The machine, from token ids on the left to next-token probabilities on the right"
        return as_svg(figure, "machine-map", label, links)


# --- the ladder ---------------------------------------------------------------------------------


class Rung(NamedTuple):
    """A model: its name, its loss in nats per character, and where its chapter shows it."""

    name: str
    loss: float
    number: int
    anchor: str


def trained() -> list[float]:
    """Stored validation losses of the trained models, means over the seeds."""
    parts = {setting["model"]: setting for setting in stored(8)["ladder"]["settings"]}
    names = ("attention alone", "with its residual", "with feed-forward", "with norms")
    (whole,) = (s for s in stored(11)["whole"]["settings"] if s["text"] == "tales")
    (tokens,) = (s for s in stored(13)["vocabulary"]["settings"] if s["merges"] == 512)
    (chat,) = stored(13)["smollm2"]["settings"]
    settings = (*(parts[name] for name in names), tokens, whole, chat)
    return [float(np.mean([nats(run) for run in s["runs"]])) for s in settings]


def nats(run: dict) -> float:
    """Nats per character of a stored run; a character of the tales is one byte."""
    return run["validation"] if "validation" in run else run["bits"] * np.log(2)


@cache
def rungs() -> tuple[Rung, ...]:
    """Return the rungs from the top."""
    names = {
        "knowing nothing": (3, "nats-ladder-03"),
        "how common letters are": (3, "nats-ladder-03"),
        "the letter before": (3, "nats-ladder-03"),
        "attention alone": (6, "ladder-06"),
        "with a residual": (8, "ladder-08"),
        "with feed-forward": (8, "ladder-08"),
        "with norms: a block": (8, "ladder-08"),
        "a small GPT on tokens": (13, "ladder-13"),
        "a GPT, in a minute": (11, "is-that-a-good-loss"),
        "SmolLM2, a chat model": (13, "ladder-13"),
    }
    losses = zip(names.items(), [*counted_losses().values(), *trained()], strict=True)
    found = (Rung(name, loss, *where) for (name, where), loss in losses)
    return tuple(sorted(found, key=lambda rung: -rung.loss))


def draw_ladder(address) -> str:
    """Return the ladder as SVG; ``address`` as for the map."""
    links: list = []
    with mpl.rc_context(RC):
        figure = Figure(figsize=(3.6, 5.2))
        ax = ladder.draw_ladder(
            figure.add_axes((0, 0, 1, 1)), {rung.name: rung.loss for rung in rungs()}
        )
        ax.set_axis_off()
        for rung, words in zip(rungs(), ax.texts, strict=True):
            words.set_text(f"{rung.loss:.2f}  {rung.name} · {rung.number}")
            words.set_url(str(len(links)))
            page = f"{address(BY_NUMBER[rung.number])}#{rung.anchor}"
            links.append((page, f"{words.get_text()}: nats, and the chapter"))
        label = (
            f"The nats ladder: {len(rungs())} models from {rungs()[0].loss:.2f} down to "
            f"{rungs()[-1].loss:.2f} nats per letter; each rung leads to its chapter"
        )
        return as_svg(figure, "nats-ladder", label, links)


# --- the directives -----------------------------------------------------------------------------


class Drawing(SphinxDirective):
    """A drawing whose parts lead to chapters."""

    def address(self, chapter: Chapter) -> str:
        """Return the address of a chapter as this page writes it."""
        return self.env.app.builder.get_relative_uri(self.env.docname, chapter.docname)


class Machine(Drawing):
    """The machine map, and a list of its parts with their chapters."""

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        lines = [
            f"- **{words}**: {', '.join(map(titled, chapters))}"
            for words, chapters in by_part().items()
            if chapters
        ]
        drawn = f'<figure class="machine-window">{draw_map(self.address)}</figure>'
        return [
            nodes.raw("", drawn, format="html", assets=["front.css"]),
            nodes.container(
                "", *self.parse_text_to_nodes("\n".join(lines)), classes=["machine-parts"]
            ),
        ]


class Ladder(Drawing):
    """The nats ladder."""

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        drawn = f"<figure>{draw_ladder(self.address)}</figure>"
        return [nodes.raw("", drawn, format="html", assets=["front.css"])]


def setup(app) -> None:
    app.add_directive("machine", Machine)
    app.add_directive("ladder", Ladder)
