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
from test_gpt_page import in_node, rounded_model, shipped
from test_pages import LOOKS, complaints, looked_at, show

from helpers import interpret, valley

PAGE = "book/number-by-number.html"
TEXT = "The old hen saw the fox, and hid"
EXACT = {"rel": 1e-9, "abs": 1e-12}  # of a number, and of the sum of its terms
KEYED = {"scores", "scaled", "weights"}
NORM = ("mean", "centred", "variance", "rstd", "norm")
READ_OUT = {*NORM, "logits", "probabilities", "share_next"}  # of a layer's stream, too
ALONE = {"embedding", "position", "learned"} | READ_OUT
SCALARS = {f"{name}{n}" for name in ("mean", "variance", "rstd") for n in ("", 1, 2)}
SCALARS |= {"share", "share_next"}


# --- the reference: the Python model, a step at a time --------------------------------------------


def normed(x: torch.Tensor, norm, which: str = "") -> dict:
    """The steps of LayerNorm, by torch."""
    var, mean = torch.var_mean(x, -1, correction=0)
    _, _, rstd = torch.native_layer_norm(x, x.shape[-1:], None, None, norm.eps)
    out = F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)
    steps = (mean, x - mean[:, None], var, rstd[:, 0], out)
    return {name + which: step for name, step in zip(NORM, steps, strict=True)}


@torch.no_grad()
def steps(model, ids: list[int], instead: dict | None = None, positions: bool = True) -> dict:
    """Every part of the machine for a text, in float64; parts of a layer in a list, from layer 0.

    instead: by layer and head, what takes the place of what it mixes. Axes: (T, entry), of heads
    (H, T, entry or key).
    """
    instead, T = instead or {}, len(ids)
    found = {"embedding": model.embedding.weight[ids], "position": model.position.weight[:T]}
    if not positions:
        found["position"] = torch.zeros_like(found["position"])
    x = found["embedding"] + found["position"]
    layers = found["layers"] = [{"stream": x}]
    for layer, block in enumerate(model.blocks, start=1):
        at, attention = normed(x, block.norm_1, "1"), block.attention
        qkv_T3HD = attention.qkv(at["norm1"]).unflatten(-1, (3, attention.H, -1))
        at |= dict(zip("qkv", qkv_T3HD.permute(1, 2, 0, 3), strict=True))
        at["scores"] = torch.einsum("htd,hsd->hts", at["q"], at["k"])
        at["scaled"] = at["scores"] / at["q"].shape[-1] ** 0.5
        powers = at["scaled"].exp().tril()
        at["share"] = 1 / powers.sum(-1)
        at["weights"] = powers * at["share"][..., None]
        at["mixed"] = at["weights"] @ at["v"]
        for head, other in instead.get(layer, {}).items():
            at["mixed"][head - 1] = torch.tensor(other, dtype=torch.float64)
        at["out"] = attention.out(at["mixed"].permute(1, 0, 2).flatten(1))
        at["middle"] = x + at["out"]
        at |= normed(at["middle"], block.norm_2, "2")
        at["up"] = block.feed_forward.up(at["norm2"])
        at["activation"] = F.gelu(at["up"])
        at["down"] = block.feed_forward.down(at["activation"])
        x = at["stream"] = at["middle"] + at["down"]
        layers.append(at)
    found["early"] = [read_out(model, at["stream"]) for at in layers]
    return found | found["early"][-1]


@torch.no_grad()
def read_out(model, x: torch.Tensor) -> dict:
    """What the last norm and the head make of a stream."""
    at = normed(x, model.norm)
    logits = model.head(at["norm"])
    at |= {"logits": logits, "probabilities": logits.softmax(-1)}
    return at | {"share_next": 1 / logits.exp().sum(-1)}


def expected(found: dict, model, a: dict) -> float:
    """The number at an address."""
    if a["part"] == "learned":
        return model.state_dict()[a["table"]][*(a[n] for n in ("row", "column") if n in a)].item()
    at = found if "layer" not in a else found["layers"][a["layer"]]
    if "layer" in a and a["part"] in READ_OUT:
        at = found["early"][a["layer"]]
    numbers = at[a["part"]]
    if "head" in a:
        numbers = numbers[a["head"] - 1]
    return numbers[(a["position"], *(a[n] for n in ("key", "entry") if n in a))].item()


def addresses(found: dict, model, count: int) -> list[dict]:
    """Addresses drawn at random, each part as often."""
    rng, L = np.random.default_rng(5), len(model.blocks)
    T, parts = len(found["embedding"]), [*found["layers"][1], *(ALONE - {"learned"}), "learned"]
    drawn = []
    while len(drawn) < count:
        part = parts[len(drawn) % len(parts)]
        a = {"part": part, "position": int(rng.integers(T))}
        if part == "learned":
            table = str(rng.choice(list(model.state_dict())))
            at = [int(rng.integers(size)) for size in model.state_dict()[table].shape]
            a = {"part": part, "table": table} | dict(zip(("row", "column"), at, strict=False))
        elif part not in ALONE:
            a["layer"] = int(rng.integers(part != "stream", L + 1))
            if found["layers"][1][part].ndim > 1 + (part not in SCALARS):
                a["head"] = int(rng.integers(model.blocks[0].attention.H)) + 1
        elif part in READ_OUT and rng.random() < 0.5:
            a["layer"] = int(rng.integers(L + 1))
        if part in KEYED:
            a["key"] = int(rng.integers(a["position"] + 1))
        elif part not in SCALARS and part != "learned":
            numbers = found[part] if part in ALONE else found["layers"][1][part]
            a["entry"] = int(rng.integers(numbers.shape[-1]))
        drawn.append(a)
    return drawn


READ = """(text, drawn, change) => {
    const model = unpack(bookGPTWeights), cache = kvCache(model);
    const { ids } = tokenize(model, text);
    const seen = ids.map(id => read(model, cache, id, change));
    const machine = { model, ids, seen, change };
    return drawn.map(a => {
        const { terms, value: found } = open(machine, a);
        const sum = terms.reduce((sum, { product }) => sum + product, 0);
        const off = terms.flatMap(({ factors }) => factors.filter(({ to }) => to))
            .map(({ to, value: given, name }) => {
                const there = value(machine, to);
                return Math.abs(given - (name.startsWith("e^") ? Math.exp(there) : there));
            });
        const back = parse("#" + write(text, a));
        return { value: found, sum, kept: value(machine, a), off: Math.max(0, ...off),
            has: has(machine, a), back: back.text === text ? back.number : null };
    });
}"""
SILENT, MEAN = [0.0] * 32, [0.1 * (-1) ** n for n in range(32)]
CHANGES = {
    "none": {},
    "a head silenced, another one's mean": {"instead": {1: {4: SILENT}, 3: {1: MEAN}}},
    "no positions": {"positions": "none"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_number_is_python_s_and_the_sum_of_its_terms(change):
    model, ids = rounded_model(), shipped()[1].encode(TEXT).tolist()
    found = steps(model, ids, change.get("instead"), positions="positions" not in change)
    drawn = addresses(found, model, 120)
    named = {a["part"].rstrip("12") for a in drawn}
    assert named | {"start"} == set(machine.part_texts())
    read = in_node(READ, TEXT, drawn, change, script="machine")
    for a, got in zip(drawn, read, strict=True):
        wanted = pytest.approx(expected(found, model, a), **EXACT)
        assert got["value"] == wanted, a
        assert got["kept"] == wanted, a
        if not a["part"].startswith(("rstd", "share")):
            assert got["sum"] == wanted, a
        assert got["off"] < 1e-12, a
        assert got["has"], a
        assert got["back"] == a


def test_the_normal_distribution_is_exact_in_its_tail():
    xs = [-1e9, *np.linspace(-9, 9, 721).tolist(), 1e9]
    for x, share in zip(xs, in_node("xs => xs.map(normalCdf)", xs), strict=True):
        assert share == pytest.approx(math.erfc(-x / math.sqrt(2)) / 2, rel=1e-12, abs=0), x


def test_the_reference_is_the_model():
    model, ids = rounded_model(), shipped()[1].encode(TEXT)
    torch.testing.assert_close(steps(model, ids.tolist())["logits"], model(ids[None])[0])


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
        arg=len(shipped()[1].encode(address.get("text", TEXT))),
    )


def test_an_address_leads_to_its_number_and_back_again(page):
    go(page, number="scaled", layer=3, head=2, q=9, k=5)
    opens(page, "Scaled score “\u00a0hid” (9) reads “\u00a0the” (5) · layer 3 · head 2")
    assert page.locator(".machine-map").evaluate(IN_VIEW)
    page.locator(".machine-factor").first.click()
    opens(page, "Score “\u00a0hid” (9) reads “\u00a0the” (5) · layer 3")
    page.locator(".machine-factor").first.click()
    opens(page, "Query")
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
        {"silent": "1.2", "number": "weights", "layer": 1, "head": 2, "q": 9, "k": 6},
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


def test_the_page_understands_all_addresses_of_chapters(html_root):
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
        found = in_node(PARSED, [address, machine.TEXT], script="machine")
        assert found["unknown"] == [], address
        likeliest = "probabilities" in address and "i=" not in address
        assert set(found["surplus"]) <= {"text", *["i"] * likeliest}, address
        assert found["number"] is not False, address
        assert found["changes"], address


PARSED = """([address, opening]) => {
    const { text, number, change, why } = parse(address);
    const model = unpack(bookGPTWeights), cache = kvCache(model);
    const { ids } = tokenize(model, text ?? opening);
    const seen = ids.map(id => read(model, cache, id));
    const machine = { model, ids, seen, change: {} };
    const there = number && placed(machine, number);
    const written = new URLSearchParams(write(text ?? opening, there, change, why));
    const asked = new URLSearchParams(address);
    const unknown = [...asked].filter(([n, v]) => written.get(n) !== v);
    const surplus = [...written.keys()].filter(name => !asked.has(name));
    const { L, H } = model.sizes;
    const inside = ([layer, head]) => layer >= 1 && layer <= L && head >= 1 && head <= H;
    return { unknown, surplus, number: there && has(machine, there),
        changes: [...change.silent, ...change.mean].every(inside) };
}"""


def without_head(ids, layer: int, head: int, model=None) -> torch.Tensor:
    """What comes next when a head mixes nothing."""
    model = model or rounded_model()
    with interpret.without_heads(model, [(layer, head)]):
        return model(ids[None])[0, -1].softmax(-1).detach()


def test_the_head_that_the_page_names_is_the_one_that_matters_most():
    ids, wide = shipped()[1].encode(machine.TEXT), shipped()[1].ids[" wide"]
    left = {(l, h): without_head(ids, l, h)[wide] for l in range(1, 5) for h in range(1, 5)}
    assert machine.most_important_head() == min(left, key=left.__getitem__)


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


def test_fast_typing_shows_the_numbers_of_the_last_text(browser, site_url):
    """And on the way a text with its own numbers, never half of another's."""
    model, ids = rounded_model(), shipped()[1].encode(TEXT)
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


def test_a_silenced_head_answers_at_once_and_is_undone(page):
    model, ids = rounded_model(), shipped()[1].encode(TEXT)
    go(page)
    page.wait_for_function("t => document.querySelector('[name=text]').value === t", arg=TEXT)
    with torch.no_grad():
        whole = model(ids[None])[0, -1].softmax(-1)
    answers(page, whole)
    page.locator('[name="layer"]').select_option(index=1)
    page.locator('[name="head"]').select_option(index=0)
    page.locator('[name="works"]').select_option("silent")
    page.locator(".machine-changed", has_text="layer 2, head 1 is silenced").wait_for()
    answers(page, without_head(ids, 2, 1))
    page.wait_for_function("location.hash.includes('silent=2.1')")
    longer = shipped()[1].encode(TEXT + " and")
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
    layer, head = machine.most_important_head()
    words = [link["says"] for link in machine.words()["tries"]]
    tries = page.locator("#machine-said a")
    assert tries.all_text_contents() == words
    tries.nth(0).click()
    page.locator(
        ".machine-reasons", has_text="the lead of “\u00a0wide” over “\u00a0deep”"
    ).wait_for()
    for n, likeliest in ((1, "fast"), (2, "high")):  # the stream is what “wide” comes from
        tries.nth(n).click()
        page.locator(".machine-answer button", has_text=likeliest).first.wait_for()
    tries.nth(3).click()
    opens(page, "Attention weight “\u00a0too” (11) reads “\u00a0stream” (7)")
    changed = page.locator(".machine-changed")
    changed.get_by_text(f"layer {layer}, head {head} is silenced").wait_for()
    tries.nth(4).click()
    changed.get_by_text("no positions").wait_for()
    page.locator(".machine-answer button", has_text="too").first.wait_for()
    tries.nth(5).click()
    assert "read after layer 1" in opens(page, "Probability “\u00a0")


def test_the_means_are_those_of_the_heads(monkeypatch):
    model, tokenizer = shipped()
    ids = tokenizer.encode(valley.text()[:2000].rpartition(" ")[0])[: 2 * machine.PLACES]
    monkeypatch.setattr(machine, "WINDOWS", 2)
    means_LHD = torch.tensor(machine.head_means.__wrapped__())
    assert means_LHD.shape == (4, 4, 32)
    windows = [steps(model, window.tolist()) for window in ids.view(2, -1)]
    mixed_HTD = torch.cat([found["layers"][3]["mixed"] for found in windows], dim=1)
    torch.testing.assert_close(means_LHD[2], mixed_HTD.float().mean(1), atol=1e-3, rtol=0)


def test_what_cannot_be_read_is_told(page):
    page.locator('[name="text"]').fill("The fox é 9")
    page.locator(".machine-trouble", has_text="does not know “é”, “9”").wait_for()
    page.locator('[name="text"]').fill("The\nfox")
    page.locator(".machine-tokens", has_text="The↵").wait_for()
    page.locator('[name="text"]').fill("The" + " fox" * 69)
    page.locator(".machine-cut", has_text="and not the first 6").wait_for()
    page.wait_for_function("document.querySelectorAll('.machine-tokens button').length === 64")
    for nothing in ("", "😀"):  # no number of another text stays
        page.locator('[name="text"]').fill(nothing)
        page.locator(".machine-trouble", has_text="Type words").wait_for()
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
    model, ids = rounded_model(), shipped()[1].encode(machine.TEXT)
    still = BeautifulSoup((html_root / PAGE).read_text("utf-8"), "html.parser").select_one(
        ".machine-still"
    )
    with torch.no_grad():
        p_V = model(ids[None])[0, -1].softmax(-1)
    likeliest, _, reasons = still.select("table")
    assert [cell.text for cell in likeliest.select("td")] == written(p_V)
    parts = interpret.logit_parts(model, ids, *p_V.topk(2).indices.tolist()).values()
    *shown, total = [float(cell.text.replace("−", "-")) for cell in reasons.select("td")]
    assert shown[:8] == pytest.approx(sorted(parts, key=abs, reverse=True)[:8], abs=0.001)
    assert sum(shown) == pytest.approx(total, abs=1e-6)
    assert still.img["src"].startswith("data:image/png")


# --- each of its states, in both colours and both widths ------------------------------------------


def typed(page):
    page.locator('[name="text"]').fill(TEXT)
    n = len(shipped()[1].encode(TEXT))
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
    go(page, why="wide", over="deep", text=machine.TEXT)
    page.get_by_role("button", name="Silence").nth(1).click()
    page.locator(".machine-silenced").wait_for()
    page.locator('[name="swap"]').fill("brook")
    page.locator('[name="swap"]').press("Enter")
    page.locator(".machine-swap tr:last-child td:last-child", has_text="%").wait_for()


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
