"""The whole machine, number by number: the page on which any number of a GPT opens.

``{whole-machine}`` puts it into a page under ``book/``. Of the modules in ``_scripts/machine``,
``worker.js`` computes, ``rules.js`` opens a number, and ``page.js`` shows both and hears the
reader. The words to each part stand in ``book/number-by-number.toml``, with the line of code that
computes it and the section that explains it; the build fails where a line or a section has gone.
"""

from __future__ import annotations

import base64
import html
import io
import json
import tomllib
from contextlib import ExitStack
from functools import cache
from urllib.parse import quote_plus

import torch
import torch.nn.functional as F
from docutils import nodes
from myst_parser.mdit_to_docutils.base import default_slugify
from PIL import Image
from sphinx.util.docutils import SphinxDirective

from helpers import checkpoint, interpret, valley
from helpers.chapters import BY_NUMBER, CHAPTERS
from play import ROOT
from play.gpt import rounded, weights_script

WORDS = ROOT / "book" / "number-by-number.toml"
ASSETS = ["machine.css", "machine.js"]
CODE = "helpers/minigpt.py"  # where a part is computed, unless it says so
PLACES = 64  # of the model's, so that a telephone keeps up
LIKELY = 8  # tokens in the table of what comes next
GAP = 1  # dots between the pictures of heads
DOT = 8  # pixels of a weight
WINDOWS = 32  # of the training text, over which a head's mean is taken
PAGE = "../book/number-by-number.html"
WHERE = (
    f'To see every part at work on a sentence of your own, open <a href="{PAGE}">The whole '
    "machine</a>"
)
EXPERIMENTS = """<label>At all positions, the chosen head <select name="works"><option
 value="">works</option><option value="silent">is silenced</option>
<option value="mean">gives its mean</option></select></label>
<label><input type="checkbox" name="positions"> no positions, in any head</label>"""
TEXT = "The fox did not cross the stream because it was too"
STRIP = """<p class="machine-label"></p><div class="machine-strip"><canvas role="slider"
 tabindex="0"></canvas><span class="machine-mark" hidden></span></div>"""
MAPS = """<label>shown large: <select name="shown">{shown}</select></label>
<p class="machine-label" role="status"></p><div class="machine-map"><canvas role="img"
 tabindex="0"></canvas><span
 class="machine-mark"></span><span class="machine-pointed"></span></div>
<p class="machine-label">A row for each token that reads, a column for each that is read. The
fullest colour is <span class="machine-most"></span>. Hatched cells are masked:
<a href="{href}" target="_blank">{where}</a>.</p>"""
LENS = """<table><caption>What the last norm and the head make of the stream, before layer 1 and
after each layer</caption><thead><tr><th scope="col">read</th><th scope="col">likeliest</th></tr>
</thead><tbody></tbody></table>"""
NEXT = """<table class="machine-next"><caption></caption><thead><tr><th scope="col">next</th>
<th scope="col">probability</th></tr></thead><tbody></tbody></table>"""
WHY = """<p class="machine-choices"><label>Why <select name="why"><optgroup
 label="likeliest"></optgroup><optgroup label="all"></optgroup></select></label><span
 class="machine-after"></span></p>
<h3>Which words matter?</h3><p class="machine-matter"></p><ol class="machine-words"></ol>
<h3>What has each part added?</h3>
<p class="machine-choices"><label>Its lead over <select name="over"><option value="">the mean
logit</option><optgroup label="likeliest"></optgroup><optgroup label="all"></optgroup></select>
</label><button type="button" name="other"></button></p><p class="machine-says"></p>
<table class="machine-reasons"><caption></caption><thead><tr><th scope="col">part</th>
<th scope="col">adds</th><th scope="col">without it, at this position</th></tr></thead>
<tbody></tbody></table>
<button type="button" name="every"></button><p class="visually-hidden machine-told"
 role="status"></p>
<p class="machine-note">{says} <a href="{href}" target="_blank">{where}</a>.</p>
<h3>Swap a word</h3><div><p class="machine-choices"><label>For <select name="swapped"></select>
</label><label>put <input name="swap" list="machine-alike" placeholder="another word" size="14"
 autocomplete="off" autocapitalize="off" spellcheck="false"></label><datalist
 id="machine-alike"></datalist></p>
<p class="machine-swap-says" role="status"></p><table class="machine-swap" hidden>
<caption></caption><thead><tr></tr></thead><tbody></tbody></table></div>"""


def part_texts() -> dict[str, dict[str, str]]:
    """What the page says of each part. Raises: ValueError for a line or a section that has gone."""
    found = {}
    for part, about in words()["parts"].items():
        about = {"file": CODE} | about
        if about["line"] not in (ROOT / about["file"]).read_text("utf-8"):
            raise ValueError(f"{about['file']} has no line {about['line']!r}, which {part} shows")
        shown = {key: about[key] for key in ("name", "says", "file", "line")}
        found[part] = shown | section_of(about, part)
    return found


def section_of(about: dict, name: str) -> dict[str, str]:
    """Where a section is and what it is called. Raises: ValueError for one that has gone."""
    chapter, heading = BY_NUMBER[about["chapter"]], about["heading"]
    if heading not in {section.heading for section in chapter.sections}:
        raise ValueError(f"{chapter.docname} has no section {heading!r}, which {name} names")
    return {
        "where": f"{chapter.number} · {heading}",
        "href": f"../{chapter.docname}.html#{default_slugify(heading)}",
    }


def words_of(name: str) -> dict:
    """Of the page's words a table, with its section. Raises: ValueError for one that has gone."""
    return words()[name] | section_of(words()[name], name)


@cache
@torch.no_grad()
def head_means() -> list[list[list[float]]]:
    """What each head mixes on average (L, H, D), over windows of the text that trained it."""
    model, tokenizer = checkpoint.load()
    text = valley.text()[: 8 * WINDOWS * PLACES]  # a word is shorter
    ids = tokenizer.encode(text.rpartition(" ")[0])
    mixed: list[torch.Tensor] = []
    outs = [block.attention.out for block in model.blocks]
    hooks = [
        out.register_forward_pre_hook(lambda _, x: mixed.append(x[0].mean((0, 1)))) for out in outs
    ]
    with interpret.hooked(*hooks):
        model(ids[: WINDOWS * PLACES].view(WINDOWS, PLACES))
    heads = torch.stack(mixed).unflatten(-1, (model.blocks[0].attention.H, -1))
    return [[[round(x, 4) for x in head] for head in layer] for layer in heads.tolist()]


@torch.no_grad()
def static_html() -> str:
    """Give what the page opens with, as a picture and tables: all heads, what comes next, why."""
    model, tokenizer = rounded()
    names = [f"“{token.replace(' ', '&nbsp;')}”" for token in tokenizer.vocab]
    read = tokenizer.encode(TEXT)
    p_V = model(read[None])[0, -1].softmax(-1)
    weights_LHTT = interpret.attention_weights(model, read[None])[:, 0]
    rows = [(names[i], _percent(p_V[i]), p_V[i]) for i in p_V.topk(LIKELY).indices]
    likely = f"The likeliest words after “{TEXT}”; the picture shows where each of the heads looks"
    side = DOT * weights_LHTT.shape[0] * (len(read) + GAP)
    return f"""<figure class="machine-still">
<img class="themed" src="{picture(weights_LHTT)}" width="{side}" height="{side}"
 alt="The attention weights of all heads, a row of pictures for each layer.">
{_table("", likely, ("next", "probability"), rows)}
{words_html(model, read, names)}
{reasons_html(model, read, names)}</figure>"""


def words_html(model, ids_T, names: list[str]) -> str:
    """Give the likeliest word's probability with each earlier word hidden, as the page does."""
    p_V = model(ids_T[None])[0, -1].softmax(-1)
    word, rows = p_V.argmax(), []
    for hidden, token in enumerate(ids_T[:-1]):
        with ExitStack() as stack:
            for layer in range(1, len(model.blocks) + 1):
                later = slice(hidden + 1, None)
                stack.enter_context(interpret.without_reading(model, layer, later, hidden))
            left_V = model(ids_T[None])[0, -1].softmax(-1)
        then = "" if left_V.argmax() == word else f", then {names[left_V.argmax()]}"
        lost = 1 - left_V[word] / p_V[word]
        rows.append((names[token], _percent(left_V[word]) + then, lost))
    says = (
        "Which words matter? Each is hidden in turn: no later position may read it, in any layer. "
        f"With all read, {names[word]} has {_percent(p_V[word])}."
    )
    return _table("machine-reasons", says, ("hidden", f"{names[word]} then"), rows)


def reasons_html(model, ids_T, names: list[str]) -> str:
    """Give the likeliest word's lead over the next as a sum, as reasons.js does."""
    word, over = model(ids_T[None])[0, -1].topk(2).indices.tolist()
    parts = interpret.logit_parts(model, ids_T, word, over)

    def named(kind: str, layer: int = 0, head: int = 0, key: int = 0) -> str:
        return {
            "embedding": f"embedding of {names[ids_T[-1]]}",
            "position": f"position {len(ids_T)}",
            "head": f"layer {layer}, head {head} reads {names[ids_T[key]]} ({key + 1})",
            "feed-forward": f"layer {layer}, feed-forward network",
            "biases": "biases added to the stream, and the last norm’s β",
        }[kind]

    ranked = sorted(parts, key=lambda part: -abs(parts[part]))
    shown = {named(*part): parts[part] for part in ranked[:LIKELY]}
    total, most = sum(parts.values()), abs(parts[ranked[0]])
    written = sum(round(value, 3) for value in shown.values())
    shown[f"{len(parts) - LIKELY} others"] = round(total, 3) - written
    shown[f"the lead of {names[word]} over {names[over]}"] = total
    rows = [
        (name, f"{value:+.3f}".replace("-", "−"), value / most if n < LIKELY else 0)
        for n, (name, value) in enumerate(shown.items())
    ]
    says = f"Why {names[word]}, and not {names[over]}? Its lead is the sum of what the parts add."
    return _table("machine-reasons", says, ("part", "adds"), rows)


@cache
@torch.no_grad()
def most_important_head() -> tuple[int, int]:
    """The (layer, head) without which the likeliest word after the text loses most."""
    model, tokenizer = checkpoint.load()
    read, left = tokenizer.encode(TEXT)[None], {}
    likeliest = model(read)[0, -1].argmax()
    for layer, block in enumerate(model.blocks, start=1):
        for head in range(1, block.attention.H + 1):
            with interpret.without_heads(model, [(layer, head)]):
                left[layer, head] = model(read)[0, -1].softmax(-1)[likeliest].item()
    return min(left, key=left.__getitem__)


@cache
def words() -> dict:
    """The page's words, with the head that is needed most, and the text, put in."""
    layer, head = map(str, most_important_head())
    found = WORDS.read_text("utf-8").replace("LAYER", layer).replace("HEAD", head)
    return tomllib.loads(found.replace("TEXT", quote_plus(TEXT)))


def _table(kind: str, caption: str, columns: tuple[str, str], rows: list) -> str:
    """A table of (name, words, share): each cell as full as its share, below 0 in orange."""
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{name}</th><td class="{"minus" if share < 0 else "plus"}" '
        f'style="--share: {min(1, abs(float(share))):.3f}">{words}</td></tr>'
        for name, words, share in rows
    )
    return (
        f'<table class="{kind}"><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _percent(share: float) -> str:
    """As the page writes it."""
    return "&lt; 0.1%" if share < 0.0005 else f"{100 * share:.1f}%"


def picture(weights_LHTT: torch.Tensor) -> str:
    """Draw the weights of all heads (L, H, T, T) side by side; gives the address of a PNG."""
    framed = F.pad(weights_LHTT, (0, GAP, 0, GAP))
    side = framed.shape[0] * framed.shape[2], framed.shape[1] * framed.shape[3]
    alpha = (255 * framed.permute(0, 2, 1, 3).reshape(side)).byte().numpy()
    image = Image.new("RGBA", side[::-1], "#0072b2")
    image.putalpha(Image.fromarray(alpha))
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


@cache
def insides() -> dict[str, str]:
    """Give what stands in the boxes of parts that are no strips, before there are numbers."""
    about = part_texts()
    shown = "".join(
        f'<option value="{name}">{about[name]["name"]}s</option>'
        for name in ("weights", "scaled", "scores")
    )
    return {
        "why": WHY.format(**words_of("why")),
        "maps": MAPS.format(shown=shown, **words_of("masked")),
        "lens": LENS,
        "next": NEXT,
    }


def part_html(part: str) -> str:
    """Give the box of a part."""
    return f'<div class="machine-part" data-part="{part}">{insides().get(part, STRIP)}</div>'


def page_html() -> tuple[str, str]:
    """Give the page's HTML above its words, and below: what waits for the model, and pictures."""
    about = weights_script()[1]
    size = f"{about['letters'] / 1e6:.2f} MB"
    data = json.dumps(
        {"parts": part_texts(), "early": words_of("early"), "means": head_means()}
        | {"sizes": {axis: about[axis] for axis in "LH"}},
        ensure_ascii=False,
    )
    listed = list(enumerate(words()["stations"], start=1))
    tries = "; ".join(
        f'<a href="#{html.escape(one["address"])}">{one["says"]}</a>' for one in words()["tries"]
    )
    steps = "".join(
        f'<li><a href="#station-{n}" data-step="{n}" title="{station["heading"]}">{n}'
        f'<span class="visually-hidden">: {station["heading"]}</span></a></li>'
        for n, station in listed
    )
    choices = "".join(f'<select name="{n}" aria-label="{n}"></select>' for n in ("layer", "head"))
    choices = f'<div class="machine-choices">{choices}{EXPERIMENTS}</div>'
    stations = "".join(_station(n, station, choices) for n, station in listed)
    load = f"""
<div class="machine" data-weights="{about["file"]}" data-places="{PLACES}">
<div class="machine-load">
<button type="button" name="load">Load the model ({size})</button>
<label>or a GPT of yours, which you can drop here, too <input type="file" name="file"
 accept=".safetensors"></label></div>
"""
    below = f"""
<div class="machine-start">
<p class="machine-scriptless">Numbers open with JavaScript, which does not run here. This is what
the page begins with.</p>
{static_html()}
</div>
<p class="machine-trouble" role="alert"></p>
<form class="machine-live" tabindex="-1" hidden>
<label class="machine-prompt" for="machine-text">Type here, up to
<span class="machine-most">{PLACES}</span> tokens. Enter asks why</label>
<textarea id="machine-text" name="text" rows="1" spellcheck="false" autocapitalize="off"
 autocomplete="off" enterkeyhint="go">{html.escape(TEXT)}</textarea>
<p class="machine-cut" role="status"></p>
<p class="machine-label" id="machine-said">A token is a word with the space before it, or a mark.
The model knows {about["V"]} of them, from {valley.COUNT:,} tales that a program tells. Press one to
follow it. Or try: {tries}.</p>
<div class="machine-tokens" role="group"
 aria-label="Tokens: the chosen one is followed below"></div>
<div class="machine-bar">
<div class="machine-picture" role="group" aria-label="The whole machine"
 aria-describedby="machine-all"></div>
<p class="visually-hidden" id="machine-all"></p>
<p class="machine-here"></p>
<nav class="machine-visit" aria-label="The seven stations"><ol>{steps}</ol></nav>
<div class="machine-answer" role="group" aria-label="Likeliest next tokens"></div>
<button type="button" name="ask">Why this word?</button>
<p class="machine-changed" role="status"></p>
<button type="button" name="undo" aria-label="Undo all changes" hidden>Undo</button>
</div>
<div class="machine-halves">
<div class="machine-stations">
<section class="machine-why" id="why" tabindex="-1" aria-label="Why this word?">
<h2>Why this word?</h2>{part_html("why")}</section>
{stations}</div>
<section class="machine-opened" aria-label="The opened number" tabindex="-1"></section>
</div>
</form>
<script type="application/json" class="machine-data">{data.replace("<", chr(92) + "u003c")}</script>
</div>
"""
    return load, below


def _station(number: int, station: dict, choices: str) -> str:
    parts = "".join(map(part_html, station["parts"]))
    return (
        f'<section class="machine-station" id="station-{number}" data-opens="{station["opens"]}">'
        f"<h2>{number} · {station['heading']}</h2><p>{station['says']}</p>"
        f"{choices if 'maps' in station['parts'] else ''}{parts}</section>"
    )


class WholeMachine(SphinxDirective):
    """Put the machine here, around the words on it, so that its button comes first."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Give it."""
        load, below = (nodes.raw("", x, format="html", assets=ASSETS) for x in page_html())
        return [load, *self.parse_content_to_nodes(), below]


def experiments() -> list[dict]:
    """Give the experiments that lead here. Raises: ValueError for a section that has gone."""
    for one in words()["experiments"]:
        section_of(one, repr(one["says"]))
    return words()["experiments"]


def link_from_chapter(app, doctree) -> None:
    """End a chapter's first reading, and its experiments, with a way to the machine."""
    number = next((c.number for c in CHAPTERS if c.docname == app.env.docname), None)
    if number is None:
        return
    ends = {"What we saw": f"{WHERE}."}
    for one in experiments():
        if one["chapter"] == number:
            link = f'<a href="{PAGE}#{html.escape(one["address"])}">{one["says"]}</a>'
            ends[one["heading"]] = f"{link}, in the whole machine."
    for section in list(doctree.findall(nodes.section)):
        if words := ends.get(section[0].astext()):
            inner = (n for n, part in enumerate(section) if isinstance(part, nodes.section))
            way = nodes.raw("", f'<p class="to-the-machine">{words}</p>', format="html")
            section.insert(next(inner, len(section)), way)


def setup(app) -> None:
    app.add_directive("whole-machine", WholeMachine)
    app.connect("doctree-read", link_from_chapter, priority=320)
