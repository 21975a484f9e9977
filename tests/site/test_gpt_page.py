"""The GPT that runs in the page: its numbers held to Python's, its widget used as a reader does.

Two references. The exact one is helpers.minigpt with the weights that the page has, decoded here
from the script by other code: the page's logits are within EXACT of it. The shipped model has
weights that are not rounded: ROUNDED says how far rounding may take a logit from its own.
"""

import base64
import functools
import json
import re
import unicodedata
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import play
import playing
import pytest
import torch
import torch.nn.functional as F
from looks import CLEAR
from play.gpt import RESULTS, weights_script

from helpers import checkpoint, corpus, interpret, minigpt, valley

INDEX = "book/index.html"
EXACT, EXACT_WEIGHT = 1e-9, 1e-10  # of a logit, and of an attention weight
ROUNDED = 1.0  # largest difference of a logit from the shipped model's
PROMPT = "The fox did not cross the stream because it was too"
LOSS = 2e-5  # nats a token, between two processors


# --- the references -----------------------------------------------------------------------------


@functools.cache
def shipped():
    return checkpoint.load()


@functools.cache
def unpacked() -> tuple[dict, dict[str, np.ndarray], dict[str, tuple]]:
    """What the weights script holds: all, tensors in float64, codes and scales of matrices."""
    script = weights_script()[0]
    parts = json.loads(script[script.index("{") : script.rindex("}") + 1])
    data = base64.b64decode(parts["data"])
    tensors, rounded = {}, {}
    for t in parts["tensors"]:
        floats = np.frombuffer(data, "<f4", t["rows"], t["floats"]).astype(np.float64)
        if "codes" in t:
            size = t["rows"] * t["columns"]
            codes = np.frombuffer(data, np.int8, size, t["codes"]).reshape(t["rows"], t["columns"])
            rounded[t["name"]] = codes, floats
            floats = codes * floats[:, None]
        tensors[t["name"]] = floats
    return parts, tensors, rounded


@functools.cache
def rounded_model() -> minigpt.GPT:
    """The Python model with the page's weights, in float64."""
    model = minigpt.GPT(**checkpoint.sizes(shipped()[0])).double().eval()
    model.load_state_dict({n: torch.from_numpy(np.array(t)) for n, t in unpacked()[1].items()})
    return model.requires_grad_(False)


def answers(ids: list[int]) -> np.ndarray:
    """The page's logits (T, V), by Python."""
    return rounded_model()(torch.tensor(ids)[None])[0].numpy()


def held_out() -> torch.Tensor:
    return corpus.split(shipped()[1].encode(valley.text()))[1]


def in_node(function: str, *given, script="gpt"):
    """What a function makes of this in Node, with the page's script and weights."""
    return play.in_node([play.bundled(script), weights_script()[0]], function, *given)


# --- the weights --------------------------------------------------------------------------------


def test_weights_are_the_shipped_ones_rounded():
    """Each row's largest number has the code 127, and no number is off by more than half a step."""
    parts, tensors, rounded = unpacked()
    model, tokenizer = shipped()
    wanted = {n: t.double().numpy() for n, t in model.state_dict().items()}
    assert set(tensors) == set(wanted)
    assert parts["vocab"] == tokenizer.vocab
    assert len(weights_script()[0]) <= 1_500_000
    for name, exact in wanted.items():
        if name not in rounded:
            np.testing.assert_array_equal(tensors[name], exact)
            continue
        codes, scales = rounded[name]
        np.testing.assert_allclose(scales, np.abs(exact).max(axis=1) / 127, rtol=1e-6)
        np.testing.assert_array_equal(np.abs(codes.astype(int)).max(axis=1), 127)
        off = np.abs(tensors[name] - exact) / scales[:, None]
        assert off.max() <= 0.5 + 1e-4


@torch.no_grad()
def test_rounding_changes_the_loss_as_it_is_told():
    stored = json.loads(RESULTS.read_text("utf-8"))["rounding"]
    (row,) = (row for row in stored["rows"] if row[0] == 8)
    many = int(re.search(r"(\d+) windows", stored["claim"])[1])
    x_BT, y_BT = next(corpus.windows(held_out(), 192, batch_size=many))
    losses = [F.cross_entropy(m(x_BT).mT, y_BT).item() for m in (shipped()[0], rounded_model())]
    assert losses[1] - losses[0] == pytest.approx(float(row[3]), abs=LOSS)
    assert weights_script()[1]["bytes"] == row[1]


# --- the numbers --------------------------------------------------------------------------------

READ = """all => {
    const model = unpack(bookGPTWeights);
    return all.map(ids => {
        const cache = kvCache(model);
        return ids.map(id => {
            const { logits_V, layers } = read(model, cache, id);
            return [[...logits_V], layers.slice(1).map(({ heads }) =>
                heads.map(({ weights }) => [...weights]))];
        });
    });
}"""


def test_logits_and_weights_are_python_s():
    encode, ids = shipped()[1].encode, held_out()
    texts = [encode(text).tolist() for text in ("\n", "The", "!?:' ", f"{PROMPT} wide.")]
    texts += [ids[start : start + n].tolist() for start, n in ((0, 64), (5000, 192))]
    for read, found in zip(texts, in_node(READ, texts), strict=True):
        ids_BT = torch.tensor(read)[None]
        weights_LHTT = interpret.attention_weights(rounded_model(), ids_BT)[:, 0].numpy()
        logits_TV = np.array([logits for logits, _ in found])
        assert np.abs(logits_TV - answers(read)).max() < EXACT
        with torch.no_grad():
            assert np.abs(logits_TV - shipped()[0](ids_BT)[0].numpy()).max() < ROUNDED
        for t, (_, weights_LHT) in enumerate(found):
            assert np.abs(weights_LHT - weights_LHTT[:, :, t, : t + 1]).max() < EXACT_WEIGHT
    with pytest.raises(RuntimeError, match="reads 192 tokens, no more"):
        in_node(READ, [[5] * 193])


CUT = "texts => texts.map(text => cut(text))"


def test_a_text_is_cut_as_python_cuts_it():
    """Whatever alphabet its letters are from."""
    characters = [chr(n) for n in range(0x3000) if unicodedata.category(chr(n)) not in ("Cn", "Cs")]
    texts = [f" a{character}b" for character in characters] + [valley.text()[:20_000]]
    for text, found in zip(texts, in_node(CUT, texts), strict=True):
        assert found == re.findall(minigpt.WORDS, text), text


TOKENIZE = """texts => {
    const model = unpack(bookGPTWeights);
    return texts.map(text => {
        const { ids, told } = tokenize(model, text);
        return [ids.map(id => model.vocab[id]), told];
    });
}"""
TYPED = {  # what is read of a text, and what is told
    "The fox did not": (["The", " fox", " did", " not"], [""]),
    "The fox did ": (["The", " fox", " did"], [""]),  # the space begins the next word
    "The fox did.": (["The", " fox", " did", "."], [""]),
    "the fox": ([" the", " fox"], [""]),  # as it stands within a sentence
    "The FOX": (["The", " fox"], ["It reads “FOX” as “fox”."]),
    "It’s\r\n": (["It", "'", "s", "\n"], [""]),
    "The king and the": (
        ["The", " and", " the"],
        ["does not know “king”; it reads the rest. Spelled like “king” are “"],
    ),
    "The strem": (["The"], ["does not know “strem”", "Spelled like “strem” are “stream”"]),
    "(12": ([], ["“(”, “12”.", "Type words that it knows"]),
    "": ([], ["Type words that it knows"]),
}


def test_a_word_that_the_model_does_not_know_is_told():
    for (text, (read, told)), found in zip(
        TYPED.items(), in_node(TOKENIZE, list(TYPED)), strict=True
    ):
        assert found[0] == read, text
        assert all(words in found[1] for words in told), found[1]
        assert bool(found[1]) == any(told), found[1]


def probabilities(logits_V, temperature, most) -> np.ndarray:
    """`most` of them, the first of equals; all on one at temperature 0."""
    logits = torch.tensor(np.array(logits_V))
    if temperature == 0:
        return F.one_hot(logits.argmax(), len(logits)).double().numpy()
    kept = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:most]
    left = torch.full_like(logits, -torch.inf).index_copy(0, torch.tensor(kept), logits[kept])
    return (left / temperature).softmax(-1).numpy()


def test_probabilities_are_those_that_python_draws_from():
    logits_V = np.random.default_rng(1).normal(size=61) * 4
    logits_V[7] = logits_V[9] = np.sort(logits_V)[-2]  # a tie near the top
    asked = [(t, most) for t in (0, 0.05, 0.8, 1, 3) for most in (1, 2, 5, 61)]
    call = "(l, asked) => asked.map(a => [...probabilities(Float64Array.from(l), ...a)])"
    for found, how in zip(in_node(call, logits_V.tolist(), asked), asked, strict=True):
        assert sum(found) == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(found, probabilities(logits_V, *how), atol=1e-12)


def uniform(seed: int, position: int) -> float:
    """The page's number for a position: MurmurHash3's finaliser, in whole numbers of 32 bits."""
    word = (1 << 32) - 1
    h = (seed * 0x9E3779B1 + position) & word
    for _ in range(2):
        h = ((h ^ (h >> 16)) * 0x85EBCA6B) & word
        h = ((h ^ (h >> 13)) * 0xC2B2AE35) & word
        h = ((h ^ (h >> 16)) + 1) & word
    return h / 2**32


def test_drawn_numbers_are_even_and_repeat():
    asked = [(seed, at) for seed in (0, 1, 2, 999_999) for at in range(0, 3000)]
    found = in_node("all => all.map(([s, p]) => uniform(s, p))", asked)
    assert found == [uniform(*at) for at in asked]
    numbers = np.array(found)
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    even = len(numbers) / 20
    assert ((counts - even) ** 2 / even).sum() < 45  # 19 degrees of freedom; above 43.8: 1 in 1000
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.04


# --- the widget ---------------------------------------------------------------------------------


def load(page, url: str):
    """Open the first page, press the button, and wait for the text; gives the widget."""
    page.goto(url, wait_until="domcontentloaded")
    page.locator("details:has(.gpt)").evaluate("fold => (fold.open = true)")
    page.get_by_role("button", name=re.compile("^Load the model")).click()
    page.locator(".gpt-text .read").wait_for()
    return page.locator(".gpt")


@pytest.fixture(scope="module")
def loaded(browser, site_url):
    """Give the widget, opened once, where motion is reduced: it writes quickly."""
    context = browser.new_context(**playing.DESK)
    yield load(context.new_page(), f"{site_url}/{INDEX}")
    context.close()


@pytest.fixture
def widget(loaded):
    """Give it as it opens, with a longer prompt."""
    fill(loaded, prompt=PROMPT, temperature=0.8, top_k=880, seed=1, length=40)
    return loaded


def text_of(widget) -> str:
    return widget.locator(".gpt-text").text_content()


def fill(widget, **settings):
    for name, value in settings.items():
        widget.locator(f'[name="{name.replace("_", "-")}"]').fill(str(value))


def press(widget, name: str):
    widget.get_by_role("button", name=name, exact=True).click()


def wait(widget):
    widget.locator("xpath=self::*[@data-state='waiting']").wait_for(timeout=60_000)


def write(widget, **settings) -> str:
    """Let it write, and give the text."""
    fill(widget, **settings)
    press(widget, "Write")
    wait(widget)
    return text_of(widget)


def test_nothing_is_requested_before_the_button(page, html_root):
    """From a disk, too."""
    home = f"{html_root.as_uri()}/"
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(home + INDEX)
    page.wait_for_load_state("networkidle")
    assert not [url for url in asked if "gpt-weights" in url]
    before = len(asked)
    page.locator("details:has(.gpt)").evaluate("fold => (fold.open = true)")
    widget = page.locator(".gpt")
    widget.get_by_role("button").first.click()
    page.locator(".gpt-text .read").wait_for()
    write(widget, length=5)
    late = ("_images", "favicon", ".woff")  # those wait to be seen
    scripts = [url for url in asked[before:] if not any(name in url for name in late)]
    assert [Path(url.partition("?")[0]).name for url in scripts] == ["gpt-weights-minigpt.js"]
    assert not [url for url in asked if not url.startswith((home, "data:", "blob:"))]
    assert errors == []


def continued(prompt: str, n: int, *, temperature=0.8, most=880, seed=1) -> str:
    """What the widget should write, by the Python model with its weights."""
    tokenizer = shipped()[1]
    ids = tokenizer.encode(prompt).tolist()
    for _ in range(n):
        start = 0
        while len(ids) - start > 192:
            start += 96
        p_V = probabilities(answers(ids[start:])[-1], temperature, most)
        ids.append(int(np.searchsorted(np.cumsum(p_V), uniform(seed, len(ids)), side="right")))
    return tokenizer.decode(ids)


def test_it_writes_what_python_writes(widget):
    """Again from the same seed, otherwise from another, and over the end of the context."""
    written = write(widget, prompt=PROMPT, top_k=20, seed=7)
    assert written == continued(PROMPT, 40, most=20, seed=7)
    press(widget, "Back to the prompt")
    assert text_of(widget) == PROMPT
    assert write(widget) == written
    press(widget, "Back to the prompt")
    assert write(widget, seed=8) != written
    long = shipped()[1].decode(held_out()[:185].tolist())
    assert write(widget, prompt=long, length=12, top_k=880) == continued(long, 12, seed=8)


def test_one_token_at_a_time_is_the_same_text(widget):
    whole = write(widget, length=6)
    press(widget, "Back to the prompt")
    for _ in range(6):
        press(widget, "One token")
    assert text_of(widget) == whole
    assert re.match(r"(“.+”|space|new line), [\d.]+%$", widget.locator(".gpt-said").text_content())


def test_a_long_prompt_is_read_from_where_it_fits(widget):
    tokenizer, ids = shipped()[1], held_out()[:300].tolist()
    fill(widget, prompt=tokenizer.decode(ids))
    assert text_of(widget) == tokenizer.decode(ids)
    assert widget.locator(".gpt-text .pale").first.text_content() == tokenizer.decode(ids[:192])
    opened = parse_qs(urlsplit(widget.locator(".gpt-open").get_attribute("href")).fragment)
    assert opened == {"text": [tokenizer.decode(ids[192:])]}
    fill(widget, prompt="The fox")
    assert widget.locator(".gpt-text .read").text_content() == "The fox"


def test_what_is_typed_over_is_forgotten(widget):
    """Keys and values are kept for what two prompts have in common, and for nothing else."""
    for prompt in ("The fox and the hen", "The fox was", "The fox was too", "A"):
        fill(widget, prompt=prompt)
    found = write(widget, prompt="The hen was", length=8, temperature=0)
    assert found == continued("The hen was", 8, temperature=0)


def test_a_word_that_is_not_known_is_told_where_one_types(widget):
    alert = widget.get_by_role("alert")
    fill(widget, prompt="The king did")
    alert.get_by_text("does not know “king”").wait_for()
    assert text_of(widget) == "The did"
    fill(widget, prompt="xyzzy")
    alert.get_by_text("Type words").wait_for()
    press(widget, "Write")
    assert not widget.locator(".gpt-text").is_visible()
    fill(widget, prompt="The fox")
    assert alert.text_content() == ""
    assert text_of(widget) == "The fox"


def test_settings_that_make_no_sense_are_told(widget):
    before, alert = text_of(widget), widget.get_by_role("alert")
    for name, wrong in {"temperature": "-1", "top-k": "881", "length": "", "seed": "1.5"}.items():
        field = widget.locator(f'[name="{name}"]')
        right = field.input_value()
        field.fill(wrong)
        press(widget, "Write")
        alert.get_by_text(f"{name}: ").wait_for()
        field.fill(right)
        press(widget, "Back to the prompt")
        assert alert.text_content() == ""
    assert text_of(widget) == before


def test_missing_weights_are_told_and_can_be_asked_for_again(page, site_url):
    page.route("**/gpt-weights-minigpt.js*", lambda route: route.abort())
    page.goto(f"{site_url}/{INDEX}")
    page.locator("details:has(.gpt)").evaluate("fold => (fold.open = true)")
    widget = page.locator(".gpt")
    widget.get_by_role("button").first.click()
    widget.get_by_role("alert").get_by_text("could not be read").wait_for()
    assert not widget.locator("form").is_visible()
    page.unroute("**/gpt-weights-minigpt.js*")
    widget.get_by_role("button").first.click()
    page.locator(".gpt-text .read").wait_for()
    assert widget.get_by_role("alert").text_content() == ""


def test_all_by_the_keyboard(page, site_url):
    page.goto(f"{site_url}/{INDEX}")
    page.locator("details:has(.gpt)").evaluate("fold => (fold.open = true)")
    widget, keys = page.locator(".gpt"), page.keyboard
    widget.get_by_role("button").first.focus()
    keys.press("Enter")
    page.locator(".gpt-text .read").wait_for()
    focused = "document.activeElement.name"
    assert page.evaluate(focused) == "write"
    before = text_of(widget)
    fill(widget, length=1000)
    widget.locator("[name=write]").focus()
    keys.press("Enter")
    keys.press("Tab")
    assert page.evaluate(focused) == "stop"
    page.wait_for_function(
        "n => document.querySelector('.gpt-text').textContent.length > n + 9", arg=len(before)
    )
    keys.press("Enter")
    wait(widget)
    stopped = text_of(widget)
    page.wait_for_timeout(150)
    assert text_of(widget) == stopped
    keys.press("Tab")
    keys.press("Space")
    assert len(text_of(widget)) > len(stopped)
    keys.press("Tab")
    assert page.evaluate(focused) == "anew"


def shares(widget) -> dict[str, str]:
    rows = widget.locator(".gpt-next tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").inner_text().strip() for row in rows}


def test_what_is_shown_is_what_was_computed(widget):
    tokenizer = shipped()[1]
    fill(widget, prompt=PROMPT, temperature=0.5)
    p_V = probabilities(answers(tokenizer.encode(PROMPT).tolist())[-1], 0.5, 880)
    found = shares(widget)
    for i in np.argsort(-p_V)[:7]:
        name = "“" + tokenizer.vocab[i].replace(" ", "\u00a0") + "”"
        assert found[name] == ("< 0.1%" if p_V[i] < 5e-4 else f"{p_V[i]:.1%}"), name
    assert len(found) == 9


COUNT = """name => {
    window.changes = 0;
    window.watch?.disconnect();
    window.watch = new MutationObserver(() => window.changes++);
    watch.observe(document.querySelector(name),
                  { childList: true, characterData: true, subtree: true });
}"""


def test_text_comes_in_sentences_where_motion_is_reduced_and_is_said_so(widget):
    page = widget.page
    for part in (".gpt-said", ".gpt-text"):
        page.evaluate(COUNT, part)
        written = write(widget, length=60)
        ended = len(re.findall(r"[.!?\n]", written)) + len(written) // 80
        assert 1 <= page.evaluate("changes") <= 4 + ended
    assert written.endswith(widget.locator(".gpt-said").text_content())


def test_widget_fits_and_can_be_read(widget):
    page = widget.page
    write(widget, length=30)
    for width, scheme in ((320, "dark"), (320, "light"), (1280, "dark"), (1280, "light")):
        playing.show_in(page, width, scheme)
        assert page.evaluate(playing.WIDE) == [width, []]
        assert page.evaluate(CLEAR, ".gpt") == []


def test_words_about_the_model_are_true(html_root):
    """Without scripts, too."""
    text = (html_root / INDEX).read_text("utf-8")
    numbers = sum(p.numel() for p in shipped()[0].parameters())
    letters = (html_root / "_static" / "gpt-weights-minigpt.js").stat().st_size / 1e6
    for words in (f"{numbers:,}", f"{letters:.2f} MB of text", "needs JavaScript"):
        assert words in text
