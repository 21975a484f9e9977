"""The page of all numbers: what opens is Python's, and it is used as a reader does."""

import math
import re
from urllib.parse import urlencode

import numpy as np
import playing
import pytest
import torch
import torch.nn.functional as F
from bs4 import BeautifulSoup
from play import machine
from test_gpt_page import rounded_model, shipped
from test_pages import LOOKS, complaints, looked_at, show

from helpers import corpus
from helpers.attention import attention_steps
from helpers.chapters.ch12_inside_the_gpt import ablations

PAGE = "book/number-by-number.html"
TEXT = "The old hen saw the fox, and hid"
EXACT = {"rel": 1e-9, "abs": 1e-12}  # of a number, and of the sum of its terms
ALONE = {"embedding", "norm", "by", "logits", "probabilities", "share_next", "learned"}
KEYED = {"scores", "scaled", "weights"}
READ_OUT = {"norm", "by", "logits", "probabilities", "share_next"}  # of a layer's stream, too
SCALARS = {"by1", "by2", "by", "q_by", "k_by", "share", "share_next"}


# --- the reference: the Python model, a step at a time --------------------------------------------


def scale(x: torch.Tensor) -> torch.Tensor:
    return (x.square().mean(-1) + 1e-5).rsqrt()


@torch.no_grad()
def steps(model, ids: list[int], instead: dict | None = None, turns: bool = True) -> dict:
    """Every part of the machine for a text, in float64; parts of a layer in a list, layer by layer.

    instead: by layer and head, what takes the place of what it mixes; turns: whether queries and
    keys have positions. Axes: (T, entry), of heads (H, T, entry or key).
    """
    instead = instead or {}
    found = {"embedding": model.embedding(torch.tensor(ids)), "layers": []}
    x = found["embedding"]
    for layer, block in enumerate(model.blocks):
        at = {"by1": scale(x), "norm1": block.attention.norm(x)}
        attention = block.attention.sublayer
        qkv = attention.qkv(at["norm1"]).unflatten(-1, (3, attention.heads, -1)).permute(1, 2, 0, 3)
        at |= dict(zip("qkv", qkv, strict=True))
        for name in "qk":
            at[f"{name}_by"] = scale(at[name])
            at[f"{name}_normed"] = at[name] * at[f"{name}_by"][..., None]
            turned = attention.qk_transform.rotary(at[f"{name}_normed"], 0)
            at[f"{name}_turned"] = turned if turns else at[f"{name}_normed"]
        allowed = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
        kept = attention_steps(at["q_turned"], at["k_turned"], at["v"], mask=allowed)
        at |= {name: getattr(kept, name) for name in KEYED} | {"mixed": kept.output}
        for head, other in instead.get(layer, {}).items():
            at["mixed"] = at["mixed"].clone()
            at["mixed"][head] = torch.tensor(other, dtype=torch.float64)
        at["share"] = 1 / at["scaled"].exp().tril().sum(-1)
        at["out"] = attention.out(at["mixed"].permute(1, 0, 2).flatten(1))
        at["middle"] = x + at["out"]
        at |= {"by2": scale(at["middle"]), "norm2": block.feed_forward.norm(at["middle"])}
        at["up"] = block.feed_forward.sublayer.up(at["norm2"])
        at["bent"] = F.gelu(at["up"])
        at["down"] = block.feed_forward.sublayer.down(at["bent"])
        x = at["stream"] = at["middle"] + at["down"]
        found["layers"].append(at)
    found |= read_out(model, x)
    streams = [found["embedding"], *(at["stream"] for at in found["layers"])]
    found["early"] = [read_out(model, stream) for stream in streams]
    return found


@torch.no_grad()
def read_out(model, x: torch.Tensor) -> dict:
    """What the last norm and the output table make of a stream."""
    logits = model.head(model.norm(x))
    return {
        "by": scale(x),
        "norm": model.norm(x),
        "logits": logits,
        "probabilities": logits.softmax(-1),
        "share_next": 1 / logits.exp().sum(-1),
    }


def expected(found: dict, model, a: dict) -> float:
    """The number at an address."""
    if a["part"] == "learned":
        return model.state_dict()[a["table"]][*(a[n] for n in ("row", "column") if n in a)].item()
    at = found if "layer" not in a else found["layers"][a["layer"]]
    if "layer" in a and a["part"] in READ_OUT:
        at = found["early"][a["layer"] + 1]
    numbers = at[a["part"]]
    if "head" in a:
        numbers = numbers[a["head"]]
    return numbers[(a["place"], *(a[n] for n in ("key", "entry") if n in a))].item()


def addresses(found: dict, model, count: int) -> list[dict]:
    """Addresses drawn at random, each part and each layer as often."""
    rng, config = np.random.default_rng(5), model.config
    T, parts = len(found["embedding"]), [*found["layers"][0], *found, "learned"]
    drawn = []
    while len(drawn) < count:
        part = parts[len(drawn) % len(parts)]
        if part in ("layers", "early"):
            part = "probabilities"
        a = {"part": part, "place": int(rng.integers(T))}
        if part == "learned":
            table = str(rng.choice(list(model.state_dict())))
            at = [int(rng.integers(size)) for size in model.state_dict()[table].shape]
            a = {"part": part, "table": table} | dict(zip(("row", "column"), at, strict=False))
        elif part not in ALONE:
            a["layer"] = len(drawn) // len(parts) % config.layers
            if found["layers"][0][part].ndim > 1 + (part not in SCALARS):
                a["head"] = int(rng.integers(config.heads))
        elif part in READ_OUT and rng.random() < 0.5:
            a["layer"] = int(rng.integers(-1, config.layers))
        if part in KEYED:
            a["key"] = int(rng.integers(a["place"] + 1))
        elif part not in SCALARS and part != "learned":
            numbers = found[part] if part in ALONE else found["layers"][0][part]
            a["entry"] = int(rng.integers(numbers.shape[-1]))
        drawn.append(a)
    return drawn


READ = """([text, drawn, change]) => {
    const model = bookGPT.unpack(bookGPTWeights), memory = bookGPT.remember(model);
    const ids = bookGPT.tokens(model, text).map(token => model.vocab.indexOf(token));
    const seen = ids.map(id => bookGPT.read(model, memory, id, change));
    const machine = { model, ids, seen, change };
    return drawn.map(a => {
        const { terms, value } = bookMachine.open(machine, a);
        const sum = terms.reduce((sum, { product }) => sum + product, 0);
        const off = terms.flatMap(({ factors }) => factors.filter(({ to }) => to))
            .map(({ to, value, name }) => {
                const there = bookMachine.value(machine, to);
                return Math.abs(value - (name.startsWith("e^") ? Math.exp(there) : there));
            });
        const back = bookMachine.parse("#" + bookMachine.write(text, a));
        return { value, sum, kept: bookMachine.value(machine, a), off: Math.max(0, ...off),
            has: bookMachine.has(machine, a), back: back.text === text ? back.number : null };
    });
}"""


# --- the page -------------------------------------------------------------------------------------


IN_VIEW = """e => {
    const { top, bottom } = e.getBoundingClientRect();
    return bottom > 100 && top < innerHeight - 100;
}"""


def opens(page, begins: str) -> str:
    """Wait until a number is opened whose heading begins so; gives the heading."""
    heading = page.locator(".machine-opened h2", has_text=re.compile("^" + re.escape(begins)))
    heading.wait_for()
    return heading.text_content()


@pytest.fixture(scope="module")
def page(browser, site_url):
    """Give the page, opened once, with the model loaded."""
    context = browser.new_context(**playing.DESK)
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(f"{site_url}/{PAGE}", wait_until="domcontentloaded")
    assert not page.evaluate(
        "performance.getEntriesByType('resource').some(r => r.name.includes('gpt-weights'))"
    )
    page.get_by_role("button", name="Load the model").click()
    page.locator(".machine-tokens button").first.wait_for()
    yield page
    assert not page.problems
    context.close()


DRAWN = """async () => {  // a size that is seen, a frame, and what was then put off
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    await new Promise(drawn => requestIdleCallback(drawn, {timeout: 5000}));
}"""


def go(page, **address):
    """Follow an address within the page, and wait until it is shown."""
    page.mouse.move(0, 0)
    page.evaluate("hash => { location.hash = hash; }", urlencode({"text": TEXT, **address}))
    page.wait_for_function(
        "n => document.querySelectorAll('.machine-tokens button').length === n",
        arg=len(shipped(machine.MODEL)[1].encode(address.get("text", TEXT))),
    )


SILENT, MEAN = [0.0] * 32, [0.1 * (-1) ** n for n in range(32)]
CHANGES = {
    "none": {},
    "a head silenced, another one's mean": {"instead": {0: {3: SILENT}, 2: {0: MEAN}}},
    "no positions": {"positions": "none"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_number_is_python_s_and_the_sum_of_its_terms(page, html_root, change):
    model = rounded_model(html_root, machine.MODEL)
    ids = shipped(machine.MODEL)[1].encode(TEXT).tolist()
    found = steps(model, ids, change.get("instead"), turns="positions" not in change)
    drawn = addresses(found, model, 200 if change else 600)
    assert {a["part"] for a in drawn} == set(machine.part_texts())
    for a, got in zip(drawn, page.evaluate(READ, [TEXT, drawn, change]), strict=True):
        wanted = pytest.approx(expected(found, model, a), **EXACT)
        assert got["value"] == wanted, a
        assert got["kept"] == wanted, a
        if a["part"] not in SCALARS:
            assert got["sum"] == wanted, a
        assert got["off"] < 1e-12, a
        assert got["has"], a
        assert got["back"] == a


def test_the_normal_distribution_is_exact_in_its_tail(page):
    xs = np.linspace(-9, 9, 721).tolist()
    for x, share in zip(xs, page.evaluate("xs => xs.map(bookGPT.below)", xs), strict=True):
        assert share == pytest.approx(math.erfc(-x / math.sqrt(2)) / 2, rel=1e-12, abs=0), x
    ends = page.evaluate("[-1e9, 0, 1e9].map(bookGPT.below)")
    assert ends == [0, 0.5, 1]


def test_the_reference_is_the_model(html_root):
    model, ids = rounded_model(html_root, machine.MODEL), shipped(machine.MODEL)[1].encode(TEXT)
    with torch.no_grad():
        torch.testing.assert_close(steps(model, ids.tolist())["logits"], model(ids[None])[0])


def test_an_address_leads_to_its_number_and_back_again(page):
    go(page, number="scaled", layer=3, head=2, q=9, k=5)
    opens(page, "Scaled score “\u00a0hid” (9) reads “\u00a0the” (5) · layer 3 · head 2")
    assert page.locator(".machine-map").evaluate(IN_VIEW)
    page.locator(".machine-factor").first.click()
    opens(page, "Score “\u00a0hid” (9) reads “\u00a0the” (5) · layer 3")
    page.locator(".machine-factor").first.click()
    opens(page, "Turned")
    assert "number=" in page.url
    page.get_by_role("button", name="Back", exact=True).click()
    opens(page, "Score “\u00a0hid” (9) reads “\u00a0the” (5) · layer 3")
    page.get_by_role("button", name="next key").click()
    opens(page, "Score “\u00a0hid” (9) reads “\u00a0fox” (6)")
    page.wait_for_function("location.hash.includes('k=6')")


UNCOVERED = """() => {
    const marks = [...document.querySelectorAll('.machine-mark:not([hidden])')].filter(mark =>
        mark.closest('.opened, .machine-map'));
    if (!marks.length) return false;
    const { left, top, width, height } = marks[0].getBoundingClientRect();
    return document.elementFromPoint(left + width / 2, top + height / 2)?.tagName === "CANVAS";
}"""


@pytest.mark.parametrize("device", [playing.DESK, playing.PHONE])
def test_who_follows_an_address_sees_its_cell(browser, site_url, device):
    """Under no bar and no sheet: as soon as the model is loaded."""
    context = browser.new_context(**device)
    for address in (
        {"number": "k", "layer": 4, "head": 4, "q": 3, "i": 13},
        {"silent": "1.4", "number": "weights", "layer": 1, "head": 4, "q": 9, "k": 6},
        {"number": "logits", "q": 9, "i": 800},
    ):
        page = context.new_page()
        where = urlencode({"text": TEXT, **address})
        page.goto(f"{site_url}/{PAGE}#{where}", wait_until="domcontentloaded")
        assert not page.locator(".machine-still").is_visible(), "it is another text's answer"
        loaded(page)
        page.locator(".machine-opened h2").wait_for()
        page.wait_for_function(UNCOVERED)
        page.evaluate(DRAWN)
        assert page.evaluate(UNCOVERED), address
        page.close()
    context.close()


def test_a_replaced_head_output_is_shown(page):
    for how, says in (("silent", "is silenced"), ("mean", "gives its mean")):
        go(page, **{how: "2.1"}, number="mixed", layer=2, head=1, q=4, i=3)
        opens(page, "Mixed values")
        panel = page.locator(".machine-opened")
        panel.get_by_text(f"This head {says}: this number goes on").wait_for()
        assert panel.locator("pre").count() == 0
        assert "no further" not in panel.text_content()
        assert "each times its weight" not in panel.text_content()
    go(page, mean="2.1", number="weights", layer=2, head=1, q=4, k=3)
    opens(page, "Attention weight")
    assert "what it mixes goes no further" in panel.text_content()
    assert panel.locator("pre").count() == 1


def test_a_number_read_early_leads_to_the_section_on_that(page):
    go(page, number="logits", layer=2, q=9, i=8)
    opens(page, "Logit")
    early = page.locator(".machine-where a")
    assert early.text_content() == "12 · What would each layer say next?"
    go(page, number="logits", q=9, i=8)
    page.locator(".machine-where a", has_text="11 · ").wait_for()


def test_a_cell_that_is_pointed_at_shows_its_number(page):
    go(page, number="weights", layer=1, head=1, q=9, k=5)
    opens(page, "Attention weight")
    page.locator(".machine-map canvas").focus()
    page.keyboard.press("ArrowDown")
    before = page.locator(".machine-pointed").get_attribute("data-number")
    page.keyboard.press("Enter")
    opens(page, "Attention weight")
    page.wait_for_function(
        "n => document.querySelector('.machine-value').textContent === n", arg=before
    )


def test_a_number_that_is_not_there_is_told(page):
    go(page, number="scores", layer=9, head=1, q=2, k=1)
    page.locator(".machine-trouble", has_text="names a number that there is not").wait_for()
    go(page, number="stream", layer=1, q=2, i=1)
    opens(page, "Stream after the layer")
    assert page.locator(".machine-trouble").text_content() == ""


def test_the_page_understands_all_addresses_of_chapters(page, html_root):
    links = [
        link["href"].partition("#")[2]
        for file in sorted((html_root / "notebooks").glob("*.html"))
        for link in BeautifulSoup(file.read_text("utf-8"), "html.parser").select(
            ".to-the-machine a"
        )
    ]
    addresses = set(filter(None, links))
    assert {one["address"] for one in machine.experiments()} == addresses
    for address in addresses:
        found = page.evaluate(UNDERSTOOD, [address, machine.TEXT])
        assert found["unknown"] == [], address
        likeliest = "probabilities" in address and "i=" not in address
        assert set(found["surplus"]) <= {"text", *["i"] * likeliest}, address
        assert found["number"] is not False, address
        assert found["changes"], address


UNDERSTOOD = """([address, opening]) => {
    const { text, number, change, why } = bookMachine.parse(address);
    const model = bookGPT.unpack(bookGPTWeights), memory = bookGPT.remember(model);
    const ids = bookGPT.tokens(model, text ?? opening).map(token => model.vocab.indexOf(token));
    const seen = ids.map(id => bookGPT.read(model, memory, id));
    const machine = { model, ids, seen, change: {} };
    const placed = number && bookMachine.placed(machine, number);
    const written = new URLSearchParams(bookMachine.write(text ?? opening, placed, change, why));
    const asked = new URLSearchParams(address);
    const unknown = [...asked].filter(([n, v]) => written.get(n) !== v);
    const surplus = [...written.keys()].filter(name => !asked.has(name));
    const { layers, heads } = model.config;
    const there = ([layer, head]) => layer >= 0 && layer < layers && head >= 0 && head < heads;
    return { unknown, surplus, number: placed && bookMachine.has(machine, placed),
        changes: [...change.silent, ...change.mean].every(there) };
}"""


def test_experiments_take_the_head_that_matters_in_this_gpt(html_root):
    head = ".".join(str(n + 1) for n in machine.most_important_head())
    given = {one["address"] for one in machine.experiments() if one["chapter"] == 12}
    assert {f"silent={head}", f"mean={head}"} < given
    ways = [
        way.text
        for file in sorted((html_root / "notebooks").glob("[01]*.html"))
        for way in BeautifulSoup(file.read_text("utf-8"), "html.parser").select(".to-the-machine")
    ]
    assert len(ways) > len(machine.experiments())
    assert all("reads words" in way for way in ways)


@torch.no_grad()
def without_head(model, ids, layer: int, head: int) -> torch.Tensor:
    """What comes next when a head mixes nothing."""
    D = model.config.width // model.config.heads

    def silence(_, given):
        mixed = given[0].clone()
        mixed[..., head * D : (head + 1) * D] = 0
        return (mixed,)

    hook = model.blocks[layer].attention.sublayer.out.register_forward_pre_hook(silence)
    try:
        return model(ids[None])[0, -1].softmax(-1)
    finally:
        hook.remove()


def answers(page, p_V: torch.Tensor):
    """Wait until the table of what comes next, once it is in view, has these probabilities."""
    page.locator('[data-part="next"]').evaluate("e => e.scrollIntoView({ behavior: 'instant' })")
    page.wait_for_function(
        """shares => [...document.querySelectorAll('.machine-next tbody td:nth-of-type(1)')]
            .map(e => e.textContent).join() === shares""",
        arg=",".join(written(p_V)),
    )
    first = page.locator(".machine-answer button").first.text_content()
    assert f" {written(p_V)[0]}" in first


def written(p_V: torch.Tensor) -> list[str]:
    return [f"{100 * p:.1f}%" if p >= 0.0005 else "< 0.1%" for p in p_V.sort().values.flip(0)[:8]]


SLOW = """globalThis.Worker = class extends Worker {
    set onmessage(hears) {
        super.onmessage = event => setTimeout(() => hears(event), 60);
    }
};"""


def test_fast_typing_shows_the_numbers_of_the_last_text(browser, site_url, html_root):
    """And on the way a text with its own numbers, never half of another's."""
    model, ids = rounded_model(html_root, machine.MODEL), shipped(machine.MODEL)[1].encode(TEXT)
    context = browser.new_context(**playing.DESK)
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.add_init_script(SLOW)
    page.goto(f"{site_url}/{PAGE}", wait_until="domcontentloaded")
    loaded(page)
    tokens = page.locator(".machine-tokens button")
    tokens.first.click()
    page.evaluate(
        """async text => {
        const field = document.querySelector('[name=text]'), html = document.documentElement;
        const texts = [text + " and ran and hid".repeat(4), "The", text.slice(0, -4), text];
        for (const now of texts) {
            field.value = now;
            field.dispatchEvent(new Event('input', { bubbles: true }));
            html.dataset.theme = html.dataset.theme; // all is drawn anew
            await new Promise(done => setTimeout(done, 20));
        }
    }""",
        TEXT,
    )
    with torch.no_grad():
        p_TV = model(ids[None])[0].softmax(-1)
    answers(page, p_TV[-1])
    assert tokens.count() == len(ids)
    tokens.nth(3).click()
    answers(page, p_TV[3])
    context.close()
    assert problems == []


def test_a_silenced_head_answers_at_once_and_is_undone(page, html_root):
    model, ids = rounded_model(html_root, machine.MODEL), shipped(machine.MODEL)[1].encode(TEXT)
    go(page)
    page.wait_for_function("t => document.querySelector('[name=text]').value === t", arg=TEXT)
    with torch.no_grad():
        whole = model(ids[None])[0, -1].softmax(-1)
    answers(page, whole)
    page.locator('[name="layer"]').select_option(index=1)
    page.locator('[name="head"]').select_option(index=0)
    page.locator('[name="works"]').select_option("silent")
    page.locator(".machine-changed", has_text="layer 2, head 1 is silenced").wait_for()
    answers(page, without_head(model, ids, 1, 0))
    page.wait_for_function("location.hash.includes('silent=2.1')")
    longer = shipped(machine.MODEL)[1].encode(TEXT + " and")
    with torch.no_grad():
        before = model(longer[None])[0, -1].softmax(-1)
    page.locator('[name="text"]').fill(TEXT + " and")
    page.locator(".machine-answer", has_text=f"(was {written(before)[0]})").wait_for()
    page.locator('[name="text"]').fill(TEXT)
    page.locator(".machine-answer", has_text="“\u00a0hid” (9)").wait_for()
    page.get_by_role("button", name="Undo all changes").click()
    answers(page, whole)


def test_what_the_page_proposes_can_be_tried(page):
    """The head that it names is the one that matters most; what was before stands beside."""
    model, tokenizer = shipped(machine.MODEL)
    ids = tokenizer.encode(machine.TEXT)
    likeliest = model(ids[None])[0, -1].argmax().item()
    left = {
        (layer, head): without_head(model, ids, layer, head)[likeliest].item()
        for layer in range(model.config.layers)
        for head in range(model.config.heads)
    }
    layer, head = min(left, key=left.__getitem__)
    tries = page.locator("#machine-said a")
    tries.nth(0).click()
    page.locator(
        ".machine-reasons", has_text="the lead of “\u00a0wide” over “\u00a0cold”"
    ).wait_for()
    tries.nth(1).click()
    opens(page, "Attention weight “\u00a0too” (11) reads “\u00a0stream” (7)")
    words = f"layer {layer + 1}, head {head + 1} is silenced"
    page.locator(".machine-changed", has_text=words).wait_for()
    assert tokenizer.vocab[likeliest].strip() not in page.locator(
        ".machine-answer button"
    ).first.text_content().removesuffix(")")
    assert "(" in page.locator(".machine-answer button").first.text_content()
    tries.nth(2).click()
    page.locator(".machine-changed", has_text="no positions").wait_for()
    assert "Nell" in page.locator(".machine-tokens").text_content()
    tries.nth(3).click()
    assert "read after layer 2" in opens(page, "Probability “\u00a0")


def test_the_means_are_those_of_the_heads(monkeypatch):
    model, tokenizer = shipped(machine.MODEL)
    config = model.config
    ids = tokenizer.encode(corpus.load(machine.MODEL)[:2000])[: 2 * machine.PLACES]
    monkeypatch.setattr(machine, "WINDOWS", 2)
    means = torch.tensor(machine.head_means.__wrapped__())
    assert means.shape == (config.layers, config.heads, config.width // config.heads)
    windows = [steps(model, window.tolist()) for window in ids.view(2, -1)]
    mixed_HTD = torch.cat([found["layers"][2]["mixed"] for found in windows], dim=1)
    torch.testing.assert_close(means[2], mixed_HTD.mean(1), atol=1e-3, rtol=0)


def test_what_cannot_be_read_is_told(page):
    page.locator('[name="text"]').fill("The fox é 9")
    page.locator(".machine-trouble", has_text="no row for “é”, “9”").wait_for()
    page.locator('[name="text"]').fill("The\nfox isn’t")  # a line ends, an apostrophe is curly
    page.locator(".machine-tokens", has_text="The↵").wait_for()
    page.locator(".machine-trouble", has_text="reads ’ as '").wait_for()
    page.locator('[name="text"]').fill("x" * 70)  # no word, so it is spelt
    page.locator(".machine-cut", has_text="and not the last 6").wait_for()
    page.wait_for_function("document.querySelectorAll('.machine-tokens button').length === 64")
    for nothing in ("", "😀"):  # no number of another text stays
        page.locator('[name="text"]').fill(nothing)
        page.locator(".machine-trouble", has_text="Type something").wait_for()
        assert (
            not page.locator(".machine-answer, .machine-halves, .machine-tokens")
            .filter(visible=True)
            .count()
        )
    go(page)
    page.locator(".machine-answer", has_text="hid").wait_for()
    page.evaluate("location.hash = 'text=' + encodeURIComponent('😀')")
    page.locator(".machine-halves").wait_for(state="hidden")
    page.evaluate("location.hash = '%%%'")  # which throws nothing, says the fixture


def test_keys_alone_open_a_number(page):
    go(page, number="stream", layer=1, q=2, i=1)
    opens(page, "Stream after the layer")
    canvas = page.locator('.machine-part[data-part="q"] canvas')
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert ", entry 2 · " in opens(page, "Query")
    assert page.evaluate("document.activeElement.className") == "machine-opened"


def test_without_scripts_the_page_shows_what_it_begins_with(html_root):
    model = rounded_model(html_root, machine.MODEL)
    ids = shipped(machine.MODEL)[1].encode(machine.TEXT)
    still = BeautifulSoup((html_root / PAGE).read_text("utf-8"), "html.parser").select_one(
        ".machine-still"
    )
    with torch.no_grad():
        p_V = model(ids[None])[0, -1].softmax(-1)
    likeliest, reasons = still.select("table")
    assert [cell.text for cell in likeliest.select("td")] == written(p_V)
    parts = ablations.logit_parts(model, ids, p_V.argmax()).values()
    *shown, total = [float(cell.text.replace("−", "-")) for cell in reasons.select("td")]
    assert shown[:8] == pytest.approx(sorted(parts, key=abs, reverse=True)[:8], abs=0.001)
    assert sum(shown) == pytest.approx(total, abs=1e-6)
    assert still.img["src"].startswith("data:image/png")


# --- each of its states, in both colours and both widths ------------------------------------------


def typed(page):
    page.locator('[name="text"]').fill(TEXT)
    n = len(shipped(machine.MODEL)[1].encode(TEXT))
    page.wait_for_function(
        """([n, last]) => document.querySelectorAll(".machine-tokens button").length === n
            && document.querySelector(".machine-answer").textContent.includes(last)""",
        arg=[n, f"({n})"],
    )


def step(n: int):
    def there(page):
        page.evaluate(f"document.querySelector('[data-step=\"{n}\"]').click()")
        page.locator(f'[data-step="{n}"][aria-current="step"]').wait_for()

    return there


def opened(page):
    go(page, number="middle", layer=2, q=9, i=7)
    opens(page, "Stream after attention")


def silenced(page):
    go(page, silent="2.1", positions="none")
    page.locator(
        ".machine-changed", has_text="layer 2, head 1 is silenced; no positions"
    ).wait_for()


def reasoned(page):
    go(page, why="wide", over="cold", text=machine.TEXT)
    page.get_by_role("button", name="Silence").nth(1).click()
    page.locator(".machine-silenced").wait_for()


def loaded(page):
    page.get_by_role("button", name="Load the model").click()
    page.locator(".machine-tokens button").first.wait_for()


STATES = [lambda page: None, loaded, step(1), step(4), typed, opened, silenced, reasoned]


def test_axe_finds_nothing_in_any_state(browser, site_url):
    context = browser.new_context(**playing.DESK)
    page = context.new_page()
    page.goto(f"{site_url}/{PAGE}", wait_until="domcontentloaded")
    found = []
    for n, change in enumerate(STATES):
        change(page)
        for width, scheme in ((390, "dark"), (1280, "light")):
            show(page, width, scheme)
            page.evaluate("scrollTo(0, 0)")  # else the bar may cover half a token
            page.evaluate(DRAWN)
            which = "all" if width == 1280 else "colours"
            found += [(n, width, one) for one in complaints(page, which)]
            found += [(n, width, one) for one in looked_at(page, *LOOKS)]
    context.close()
    assert found == []
