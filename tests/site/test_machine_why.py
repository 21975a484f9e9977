"""Why this word: a logit as a sum, and a part left out, held to Python; and as a reader asks.

What is computed is run in Node, with the page's weights, on texts of the tales and others.
"""

import functools
import json
import re
import subprocess

import numpy as np
import playing
import pytest
import torch
from play import ASSETS, machine
from play.gpt import weights_script
from postprocess.maths import node
from test_gpt_page import shipped, tensors_of
from test_machine import PAGE, loaded, opens, written
from torch.testing import assert_close

from helpers import corpus
from helpers.chapters.ch12_inside_the_gpt import ablations
from helpers.gpt import GPT

TEXTS = 200
EXACT = {"rtol": 1e-9, "atol": 1e-9}
ODD = ("T", "zebra", '"Oh!"', "The\n\nfox xyzzy ran", "and and and and")

ASK = """texts => {
    const model = bookGPT.unpack(bookGPTWeights);
    return texts.map(({ text, place, entry, over, silent }) => {
        const { ids } = bookGPT.understood(model, text), memory = bookGPT.remember(model);
        const seen = ids.map(id => bookGPT.read(model, memory, id));
        const asked = { place, entry, over: over ?? undefined };
        const machine = { model, ids, seen, change: {} };
        const parts = bookMachine.parts(machine, asked);
        const part = parts[Math.floor(silent * parts.length)];
        const { logits, later, norm } = bookMachine.silence(machine, asked, part);
        return { ids, parts, part, later, norm, said: bookMachine.lead(logits.said, asked),
            found: [...logits.found], opens: bookMachine.has(machine, bookMachine.leads(machine,
            asked, part)) };
    });
}"""


@functools.cache
def page_model() -> GPT:
    """The Python model with the weights of the page, in float64."""
    model = GPT(shipped(machine.MODEL)[0].config, generator=torch.Generator()).double().eval()
    tensors = tensors_of(weights_script(machine.MODEL)[0])[1]
    model.load_state_dict({name: torch.from_numpy(np.array(t)) for name, t in tensors.items()})
    return model


def in_node(function: str, given):
    """What a function of the page's scripts makes of this."""
    scripts = [(ASSETS / name).read_text("utf-8") for name in ("gpt.js", "machine.js")]
    call = f"process.stdout.write(JSON.stringify(({function})({json.dumps(given)})));"
    source = "\n".join([weights_script(machine.MODEL)[0], *scripts, call])
    done = subprocess.run(
        [node(), "-"], input=source, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def texts() -> list[dict]:
    """Texts, and of each a place, a word, for half of them another one, and what is silenced."""
    rng, tokenizer = np.random.default_rng(31), shipped(machine.MODEL)[1]
    ids, drawn = tokenizer.encode(corpus.load(machine.MODEL)[:200_000]), []
    for n in range(TEXTS):
        start, length = int(rng.integers(len(ids) - 64)), int(rng.integers(1, 24))
        text = ODD[n] if n < len(ODD) else tokenizer.decode(ids[start : start + length])
        entry, over = (int(x) for x in rng.choice(len(tokenizer), 2, replace=False))
        place = int(rng.integers(len(tokenizer.encode(text))))
        silent = rng.choice([0, 0.9999, rng.random()])  # the embedding, the biases, any
        drawn.append(
            {
                "text": text,
                "place": place,
                "entry": entry,
                "over": over if n % 2 else None,
                "silent": float(silent),
            }
        )
    return drawn


def name_of(part: dict) -> tuple:
    """What logit_parts calls it."""
    kinds = {"attention": "head", "down": "feed-forward"}
    where = [part[n] for n in ("layer", "head", "key") if n in part]
    return (kinds.get(part["part"], part["part"]), *where)


@torch.no_grad()
def logits_without(model, ids_T, name: tuple) -> torch.Tensor:
    """What the model says after a text if the last position's stream never gets a part."""
    kind, *where = name
    if kind == "head":
        layer, head, key = where
        at_TT = torch.zeros(len(ids_T), len(ids_T), dtype=torch.float64)
        at_TT[-1, key] = 1
        return ablations.without_part(model, (layer, head), at_TT, ids_T[None])[0, -1]

    def become(value):
        def hook(module, given, out):
            out = out.clone()
            out[:, -1] = value(module, out[:, -1])
            return out

        return hook

    attention = [block.attention.sublayer.out for block in model.blocks]
    down = [block.feed_forward.sublayer.down for block in model.blocks]
    if kind == "embedding":
        changed, hook = [model.embedding], become(lambda module, x: 0 * x)
    elif kind == "biases":
        changed, hook = [*attention, *down], become(lambda module, x: x - module.bias)
    else:
        changed, hook = [down[where[0]]], become(lambda module, x: module.bias)
    hooks = [module.register_forward_hook(hook) for module in changed]
    return ablations.with_hooks(hooks, model, ids_T[None])[0, -1]


def test_a_logit_is_the_sum_of_python_s_parts_and_silence_is_the_model_s():
    """On 200 texts: each part, the sum, what it predicts without one, and what then comes."""
    model, tokenizer, asked = page_model(), shipped(machine.MODEL)[1], texts()
    kinds = set()
    for one, got in zip(asked, in_node(ASK, asked), strict=True):
        assert got["ids"] == tokenizer.encode(one["text"]).tolist()
        ids_T = torch.tensor(got["ids"][: one["place"] + 1])
        wanted = ablations.logit_parts(model, ids_T, one["entry"], one["over"])
        found = {name_of(part): part["value"] for part in got["parts"]}
        assert found.keys() == wanted.keys()
        assert_close(found, wanted, **EXACT)
        logits_V = model(ids_T[None])[0, -1].detach()

        def lead(of_V, one=one):
            return of_V[one["entry"]] - (0 if one["over"] is None else of_V[one["over"]])

        assert_close(sum(found.values()), lead(logits_V).item(), **EXACT)
        name = name_of(got["part"])
        kinds.add(name[0])
        left_V = logits_without(model, ids_T, name)
        assert_close(torch.tensor(got["found"], dtype=torch.float64), left_V, **EXACT)
        assert_close(got["said"], lead(logits_V).item() - wanted[name], **EXACT)
        assert_close(got["said"] + got["later"] + got["norm"], lead(left_V).item(), **EXACT)
        if name[1:2] == (model.config.layers - 1,):
            assert abs(got["later"]) < 1e-9 or name[0] == "head"  # the last network reads a head
        assert got["opens"], one
    assert kinds == {"embedding", "head", "feed-forward", "biases"}


# --- on the page ----------------------------------------------------------------------------------

NEAR = 0.0006  # of a number of three decimals


@pytest.fixture(scope="module", params=[playing.DESK, playing.PHONE], ids=["desk", "phone"])
def page(request, browser, site_url):
    context = browser.new_context(**request.param)
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{site_url}/{PAGE}", wait_until="domcontentloaded")
    loaded(page)
    yield page
    context.close()
    assert problems == []


def read(words: str) -> float:
    return float(words.replace("−", "-"))


def asked(page, text: str = machine.TEXT):
    """Type a sentence and press Enter."""
    field = page.locator('[name="text"]')
    field.fill(text)
    field.press("Enter")
    n = len(shipped(machine.MODEL)[1].encode(text))
    page.locator(".machine-why p", has_text=re.compile(rf"the stream of .*\({n}\)")).wait_for()
    page.wait_for_function("document.activeElement.id === 'why'")


def columns(page) -> dict[str, float]:
    """The table of reasons: what each row says and adds."""
    rows = page.locator(".machine-why .machine-reasons > tbody > tr:not(.machine-silenced)")
    found = rows.evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    return {cells[0]: read(cells[1]) for cells in found}


def test_a_reason_is_a_press_away_and_adds_up(page):
    asked(page)
    model, tokenizer = page_model(), shipped(machine.MODEL)[1]
    ids_T = tokenizer.encode(machine.TEXT)
    likeliest = model(ids_T[None])[0, -1].argmax().item()
    wanted = ablations.logit_parts(model, ids_T, likeliest)
    (*parts, rest), total = [*columns(page).values()][:-1], [*columns(page).values()][-1]
    ranked = sorted(wanted.values(), key=abs, reverse=True)
    against = next(value for value in ranked if value < 0)  # stands there however small
    shown = ranked[: len(parts)]
    shown[-1:] = shown[-1:] if min(shown) < 0 else [against]
    assert parts == pytest.approx(shown, abs=NEAR)
    assert total == pytest.approx(sum(ranked), abs=NEAR)
    assert sum(parts) + rest == pytest.approx(total, abs=1e-6)  # as it is written
    every = page.get_by_role("button", name=f"All {len(wanted)} parts")
    every.press("Enter")
    assert len(columns(page)) == len(wanted) + 1
    page.get_by_role("button", name="The largest alone").press("Enter")


def test_a_part_silenced_shows_prediction_and_truth(page):
    asked(page)
    model, tokenizer = page_model(), shipped(machine.MODEL)[1]
    ids_T, wide = tokenizer.encode(machine.TEXT), tokenizer.vocab.index(" wide")
    value = ablations.logit_parts(model, ids_T, wide)["head", 0, 3, 6]
    logits_V = model(ids_T[None])[0, -1].detach()
    left_V = logits_without(model, ids_T, ("head", 0, 3, 6))
    name = "layer 1, head 4 reads “\u00a0stream” (7)"
    page.get_by_role("button", name=f"Silence: {name}").press("Enter")
    shown = page.locator(".machine-silenced tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.querySelectorAll('td')].map(c => c.textContent))"
    )
    numbers = [logits_V[wide], logits_V[wide] - value, left_V[wide]]
    assert [read(x) for x in shown[0]] == pytest.approx([float(x) for x in numbers], abs=NEAR)
    assert shown[1][0] == written(logits_V.softmax(-1))[0]
    assert float(shown[1][2].strip("%< ")) / 100 == pytest.approx(
        left_V.softmax(-1)[wide].item(), abs=NEAR
    )
    assert tokenizer.vocab[left_V.argmax()].strip() in shown[2][2]
    assert page.locator('[data-piece="0.3"].lit').count() == 1
    page.get_by_role("button", name=f"Put back: {name}").press("Enter")
    assert page.locator(".machine-silenced").count() == 0


def test_a_row_opens_its_number_and_back_leads_to_the_reasons(page):
    asked(page)
    page.get_by_role("button", name="layer 1, head 4 reads", exact=False).first.click()
    opens(page, "Attention weight “\u00a0too” (11) reads “\u00a0stream” (7) · layer 1 · head 4")
    page.locator('[data-piece="0.3"][aria-current]').wait_for()  # where one is
    picture = page.locator(".machine-picture")
    assert picture.evaluate("e => e.getBoundingClientRect().top >= 0 && scrollY > 500")
    page.get_by_role("button", name="Back", exact=True).click()
    page.wait_for_function("document.activeElement.id === 'why'")


def test_the_lead_over_a_word_of_one_s_own_choice_has_an_address(page):
    asked(page)
    model, tokenizer = page_model(), shipped(machine.MODEL)[1]
    cat = tokenizer.vocab.index(" cat")
    over = page.locator('[name="over"]')
    over.focus()  # then it has all words
    over.select_option(str(cat))
    page.locator(".machine-sum", has_text="the lead of “\u00a0wide” over “\u00a0cat”").wait_for()
    with torch.no_grad():
        logits_V = model(tokenizer.encode(machine.TEXT)[None])[0, -1]
    lead = (logits_V[tokenizer.vocab.index(" wide")] - logits_V[cat]).item()
    assert [*columns(page).values()][-1] == pytest.approx(lead, abs=NEAR)
    address = page.evaluate("location.hash")
    asked(page, "The old hen")
    page.evaluate("hash => { location.hash = hash; }", address)
    page.locator(".machine-sum", has_text="the lead of “\u00a0wide” over “\u00a0cat”").wait_for()


def test_the_picture_has_all_parts_and_says_in_words_what_it_shows(page):
    asked(page)
    model, tokenizer = page_model(), shipped(machine.MODEL)[1]
    wide = tokenizer.vocab.index(" wide")
    wanted = ablations.logit_parts(model, tokenizer.encode(machine.TEXT), wide)
    config = model.config
    pieces = page.locator(".machine-picture button")
    assert pieces.count() == 2 + config.layers * (config.heads + 1)
    words = page.locator("#machine-all").text_content()
    for layer in range(config.layers):
        for head in range(config.heads):
            total = sum(x for name, x in wanted.items() if name[:3] == ("head", layer, head))
            found = re.search(rf"layer {layer + 1}, head {head + 1} ([+−][\d.]+)", words)
            assert read(found[1]) == pytest.approx(total, abs=NEAR)
    page.get_by_role("button", name="Layer 3, head 2").press("Enter")
    page.locator(".machine-map canvas[aria-label^='Layer 3, head 2']").wait_for()
    page.locator(".machine-here", has_text="layer 3, head 2").wait_for()
