"""The page *Watch it learn*: a GPT that trains in the page.

``train-model.js`` and ``train-loop.js`` are helpers/minigpt.py by hand. ``train-kernel.js`` has
their matrix products, whose SIMD form, ``train-kernel.wat``, is assembled here. ``watch-run.js``
makes them one run, in a worker; ``watch-page.js`` shows it, ``watch-break.js`` runs it with a piece
taken away, ``watch-file.js`` reads and writes the book's model files. The tales come as a script,
on the first press. Without scripts the page shows the run that benchmarks/watch.py stored.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from pathlib import Path

import wasmtime
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from helpers import valley
from helpers.chapters import BY_NUMBER
from helpers.minigpt import WORDS, Tokenizer
from play import ASSETS, ROOT, in_node

ALGORITHM = ("train-kernel", "train-model", "train-loop")
PAGE = ("watch-run", "watch-chart", "watch-file", "watch-said", "watch-page", "watch-break")
SIZES = {"T": 64, "C": 48, "H": 4, "L": 2}
TRAINING = {"batch": 12, "steps": 800, "lr": 0.006}
SMALL = {"sizes": {"T": 48, "C": 32, "H": 4, "L": 2}, "batch": 8}  # on a telephone
BROKEN_STEPS = 400
WRITING = {"prompt": valley.BETWEEN, "length": 40, "temperature": 0.8}
TALES, UNSEEN = 1000, 100
STORED = ROOT / "helpers" / "data" / "results" / "watch.json"
BASELINES = {
    "uniform": "even guessing",
    "unigram": "single tokens",
    "bigram": "the token before",
    "entropy": "the grammar’s entropy",
}
GUESSES = ("letters", "words", "names", "plots")
# What is taken away: its name, what to say if the loss is then lower, what if it is higher, and the
# chapter that explains the piece.
BREAKS = {
    "mask": (
        "no mask",
        "Each position now reads the very token that it is asked to predict, so it copies the "
        "answer. When it writes, there is no answer to copy.",
        "Each position now reads what comes after it, too, even the very token that it is asked to "
        "predict. Copying that one would bring the loss to 0, but no head has learned yet to look "
        "exactly one token ahead. A smaller model of characters does learn to copy:",
        7,
    ),
    "positions": (
        "no positions",
        "In so few steps it gets by without knowing where each word stands.",
        "It still knows which words came before, but its vectors no longer say in which order.",
        7,
    ),
    "residual": (
        "no residual connections",
        "In so few steps and with two layers it gets by without them.",
        "Each layer now replaces the stream instead of adding to it. Compare its loss with the "
        "line of single tokens, where all that one knows is how often each token comes.",
        8,
    ),
}


def scripts(*more: str) -> list[str]:
    """Return the scripts that train, in their order, and others after them."""
    return [(ASSETS / f"{name}.js").read_text("utf-8") for name in (*ALGORITHM, *more)]


@cache
def kernel() -> str:
    """Return the WebAssembly of the matrix products, in base64."""
    text = (ASSETS / "train-kernel.wat").read_text("utf-8")
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


def asked(seed: int) -> dict:
    """Return what the page asks as it opens."""
    return settings() | {"seed": seed, "seen": tales()["seen"], "unseen": tales()["unseen"]}


RUN = """(asked) => {
    const run = bookRunMade(bookKernelMade(), bookModelMade(), bookLoopMade()).begin(asked);
    const looks = [];
    for (const event of run.events) {
        if (event.unseen !== undefined) looks.push(event);
        if (event.step === asked.until) break;
    }
    return { baselines: run.about.baselines, looks };
}"""


def trained(seed: int, **changed) -> dict:
    """Run the page's scripts in Node: the baselines, and of each look step, losses and text."""
    return in_node(scripts("watch-run"), RUN, asked(seed) | changed)


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


def button(name: str, words: str, **more: str) -> str:
    """Return a button's HTML."""
    given = "".join(f' {key.replace("_", "-")}="{escape(value)}"' for key, value in more.items())
    return f'<button type="button" name="{name}"{given}>{words}</button>'


DRAWN = "(given) => bookChart.html(given)"


def still_html() -> str:
    """Return the stored run as a picture and its samples, for a page without scripts."""
    run = json.loads(STORED.read_text("utf-8"))["run"]
    rows = "".join(
        f"<li><b>step {step}</b> <span>{escape(text.strip())}</span></li>"
        for step, *_, text in run["rows"]
        if text
    )
    marks = {BASELINES[name]: loss for name, loss in run["baselines"].items()}
    points = [(step, unseen) for step, _, unseen, _ in run["rows"]]
    line = {"name": "text unseen", "look": "unseen", "points": points}
    given = {"steps": TRAINING["steps"], "baselines": marks, "lines": [line]}
    chart = in_node(scripts("watch-chart"), DRAWN, given)
    return f"""<noscript><p>Training needs JavaScript, which does not run here. This is the
loss, and what the model wrote, in a run of {run["date"]}.</p><div class="watch-chart">{chart}</div>
<ol class="watch-samples">{rows}</ol><style>.watch-live {{ display: none }}</style></noscript>"""


def page_html() -> str:
    """Return the page's HTML: the guess, the controls, and places for what is seen."""
    name, script = tales_script()
    breaks = {
        name: {
            "lower": lower,
            "higher": higher,
            "chapter": f"Chapter {number}",
            "href": f"../{BY_NUMBER[number].docname}.html",
        }
        for name, (_, lower, higher, number) in BREAKS.items()
    }
    page = {"small": SMALL, "brokenSteps": BROKEN_STEPS, "breaks": breaks}
    page |= {"names": BASELINES}
    data = json.dumps(settings() | page).replace("<", "\\u003c")
    guesses = "".join(button("guess", word, value=word, aria_pressed="false") for word in GUESSES)
    taken = "".join(
        button("break", words, value=name, aria_pressed="false")
        for name, (words, *_) in BREAKS.items()
    )
    return f"""
<div class="watch" data-tales="{name}">
{still_html()}
<div class="watch-live">
<div class="watch-guess" role="group" aria-labelledby="watch-asks">
<p id="watch-asks">A GPT with random weights is about to read {TALES - UNSEEN} little tales, word by
word. <b>What will it get right first?</b></p>
<p>{guesses}</p></div>
<p class="watch-buttons">{button("go", f"Start ({len(script) / 1e6:.1f} MB)")}
{button("step", "One step")}
{button("again", "Another seed")}</p>
<p class="watch-trouble" role="alert"></p>
<p class="watch-state">Seed <span class="watch-seed"></span>. Nothing has been learned yet.</p>
<p class="visually-hidden watch-said" role="status"></p>
<div class="watch-halves"><div class="watch-chart"></div>
<ol class="watch-samples" reversed tabindex="0"
 aria-label="What it wrote, the newest first"></ol></div>
<p class="watch-reply"></p>
<p class="watch-buttons watch-after" hidden>{button("save", "Take it along")}
{button("copy", "Copy this run")}</p>
<details class="watch-own"><summary>A text of your own</summary>
<p>Paste it, or drop a file on this page. It stays in this page. Some ten thousand words are
enough to see something, and more are better.</p>
<textarea name="own" rows="5" aria-label="Your text" spellcheck="false"
 autocomplete="off"></textarea>
<p><label>A token is <select name="pattern"><option value="characters">a character</option>
<option value="words">a word</option></select></label> <label>or a file: <input type="file"
name="file" accept=".txt,.md,.safetensors"></label> {button("train", "Train on it")}</p></details>
<section class="watch-break" aria-labelledby="watch-breaks"><h2 id="watch-breaks">Break it</h2>
<p>Take one piece away and train again, {BROKEN_STEPS} steps, beside a healthy run with the same
seed.</p><p>{taken}</p>
<div class="watch-broken" hidden><p class="watch-asks"></p><p>
{button("bet", "higher", value="higher")}
{button("bet", "lower", value="lower")}</p><div class="watch-chart"></div>
<p class="watch-verdict" role="status"></p><dl></dl></div></section>
<section class="watch-bring" aria-labelledby="watch-brings"><h2 id="watch-brings">Bring it back</h2>
<p>Drop a file that <code>python -m helpers.minigpt</code> saved, or one that you took along from
here, anywhere on this page, or choose it above. It then writes on from these words.</p>
<p><label>Prompt <input name="prompt" autocomplete="off"></label> {button("write", "Write on")}</p>
<p class="watch-written"></p></section>
</div>
<script type="application/json" class="watch-data">{data}</script>
</div>
"""


def widget() -> nodes.raw:
    """Return the node of the figure."""
    assets = ["watch.css", *(f"{script}.js" for script in (*ALGORITHM, *PAGE))]
    return nodes.raw("", page_html(), format="html", assets=assets)


class WatchItLearn(SphinxDirective):
    """Put the page's figure here."""

    def run(self) -> list[nodes.Node]:
        """Give it."""
        return [widget()]


def setup(app) -> None:
    app.add_directive("watch-it-learn", WatchItLearn)
    app.connect("builder-inited", write_tales)
