"""The page *Watch it learn*: a GPT that trains in the page.

``_scripts/train`` is helpers/minigpt.py by hand, its matrix products in ``kernel.js``, whose SIMD
form, ``kernel.wat``, is assembled here. ``_scripts/watch`` shows it: ``run.js`` is one run, in a
worker, ``page.js`` the page, ``break.js`` runs it with a piece taken away. What it says of these
stands in ``book/watch-it-learn.toml``. The tales come as a script, on the first press. Without
scripts the page shows the run that benchmarks/watch.py stored. ``_scripts/reward`` is chapter 17's.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tomllib
from functools import cache
from pathlib import Path

import wasmtime
from docutils import nodes
from jinja2 import Template
from sphinx.util.docutils import SphinxDirective

from helpers import valley
from helpers.chapters import BY_NUMBER
from helpers.chapters.ch17_answers_that_can_be_checked import lab
from helpers.minigpt import WORDS, Tokenizer
from play import ROOT, SCRIPTS, bundled, in_node, literals

SIZES = {"T": 64, "C": 48, "H": 4, "L": 2}
TRAINING = {"batch": 12, "steps": 800, "lr": 0.006}
SMALL = {"sizes": {"T": 48, "C": 32, "H": 4, "L": 2}, "batch": 8}  # on a telephone
BROKEN_STEPS = 400
WRITING = {"prompt": valley.BETWEEN, "length": 40, "temperature": 0.8}
TALES, UNSEEN = 1000, 100
BREAK_IT = "<!-- Break it -->"  # where its heading goes
STORED = ROOT / "helpers" / "data" / "results" / "watch.json"
TEMPLATE = ROOT / "book" / "_templates" / "watch.html"
WORDS_OF_PAGE = tomllib.loads((ROOT / "book" / "watch-it-learn.toml").read_text("utf-8"))
ENDED, BASELINES, GUESSES, BREAKS = WORDS_OF_PAGE.values()


@cache
def kernel(folder: str = "train") -> str:
    """Return the WebAssembly of a folder's products, in base64."""
    text = (SCRIPTS / folder / "kernel.wat").read_text("utf-8")
    return base64.b64encode(wasmtime.wat2wasm(text)).decode()


@cache
def tales() -> dict:
    """Return the text seen, the text unseen, and the entropy of this one, in nats a token."""
    told = valley.tales(TALES)
    seen, unseen = (
        valley.BETWEEN.join(tale for tale, _ in part) + valley.BETWEEN
        for part in (told[:-UNSEEN], told[-UNSEEN:])
    )
    tokens = len(Tokenizer(seen, WORDS).encode(unseen))
    entropy = sum(nats for _, nats in told[-UNSEEN:]) / tokens
    return {"seen": seen, "unseen": unseen, "entropy": round(entropy, 4)}


def settings() -> dict:
    """Return what the page asks of a run, texts and seed apart."""
    return {"pattern": WORDS, "sizes": SIZES, **TRAINING, **WRITING, "code": kernel()}


RUN = """(asked) => {
    const { about, events } = begin(asked), all = events.take((asked.until ?? asked.steps) + 1);
    const looks = [...all].filter(({ unseen }) => unseen !== undefined);
    return { baselines: about.baselines, looks };
}"""


def trained(seed: int, **changed) -> dict:
    """Run the page's scripts in Node: the baselines, and of each look step, losses and text."""
    return in_node([bundled("watch")], RUN, settings() | tales() | {"seed": seed} | changed)


def row_of(look: dict) -> list:
    """Return step, losses and text of a look, the text in one line."""
    loss = round(look["loss"], 3) if "loss" in look else ""
    return [look["step"], loss, round(look["unseen"], 3), " ".join(look.get("text", "").split())]


@cache
def tales_script() -> tuple[str, str]:
    """Return the name of the script with the tales, and its text."""
    script = f"globalThis.bookTales = {json.dumps(tales(), ensure_ascii=True)};\n"
    return f"watch-tales.js?v={hashlib.sha256(script.encode()).hexdigest()[:8]}", script


def write_tales(app) -> None:
    if app.builder.format == "html":
        name, script = tales_script()
        target = Path(app.outdir, "_static", name.partition("?")[0])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(script, "utf-8")


# --- the page -----------------------------------------------------------------------------------


def still() -> dict:
    """Return the stored run as a picture and its samples, for a page without scripts."""
    run = json.loads(STORED.read_text("utf-8"))["run"]
    marks = {"baselines": run["baselines"], "names": BASELINES}
    points = [(step, unseen) for step, _, unseen, _ in run["rows"]]
    line = {"name": "text unseen", "look": "unseen", "points": points}
    given = marks | {"steps": TRAINING["steps"], "lines": [line]}
    samples = [(step, text) for step, *_, text in run["rows"] if text]
    return {
        "chart": in_node([bundled("watch")], "chart", given),
        "samples": samples,
        "date": run["date"],
    }


def page_html() -> str:
    """Return the page's HTML: the guess, the controls, and places for what is seen."""
    file, script = tales_script()
    page = {"small": SMALL, "brokenSteps": BROKEN_STEPS, "words": WORDS_OF_PAGE}
    rows = json.loads(STORED.read_text("utf-8"))["switches"]["rows"]
    healthy, *broken = (f"{float(low):.2f} to {float(high):.2f}" for _, low, _, high in rows)
    for one, end in zip(BREAKS.values(), broken, strict=True):
        one["ended"] = ENDED.format(broken=end, healthy=healthy)
        one["href"] = f"../{BY_NUMBER[one['chapter']].docname}.html"
    page["machine"] = "../book/number-by-number.html"
    data = json.dumps(settings() | page).replace("<", "\\u003c")
    template = Template(TEMPLATE.read_text("utf-8"), autoescape=True)
    size, seen = f"{len(script) / 1e6:.1f} MB", TALES - UNSEEN
    return template.render(still=still(), file=file, size=size, seen=seen, data=data, page=page)


def widget(html: str = "") -> nodes.raw:
    """Return the node of the figure, or of a part of it."""
    html = html or page_html().replace(BREAK_IT, "<h3>Break it</h3>")
    return nodes.raw("", html, format="html", assets=["watch.css", "watch.js"])


def reward() -> nodes.raw:
    """Return the node of chapter 17's figure, in which a GPT learns from rewards."""
    (question,) = literals(BY_NUMBER[17].docname, "question")
    data = {"question": question.strip(), "updates": 40, "code": kernel()}
    data["model"] = base64.b64encode(lab.PAGE.read_bytes()).decode()
    html = TEMPLATE.with_name("reward.html").read_text("utf-8").replace("DATA", json.dumps(data))
    return nodes.raw("", html, format="html", assets=["watch.css", "reward.css", "reward.js"])


class WatchItLearn(SphinxDirective):
    """Put the page's figure here, or with an argument the part in which it is broken."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Give it."""
        return [widget(page_html().split(BREAK_IT)[len(self.arguments)])]


def setup(app) -> None:
    app.add_directive("watch-it-learn", WatchItLearn)
    app.connect("builder-inited", write_tales)
