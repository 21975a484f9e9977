"""The GPT that runs in the page: its numbers held to Python's, its widget used as a reader does.

Two references. The exact one is the Python model with the weights that the page has, decoded here
from the built file by other code: the page's logits are within EXACT of it. The shipped model has
weights that are not rounded: ROUNDED says how far rounding may take a logit from its own.
"""

import base64
import functools
import json
import re
from pathlib import Path

import numpy as np
import playing
import pytest
import torch
import torch.nn.functional as F
from looks import CLEAR
from support import ROOT

from helpers import corpus
from helpers.generate import open_model
from helpers.gpt import GPT
from helpers.record import record_attention
from helpers.train import PRESETS

DATA = ROOT / "helpers" / "data"
MODELS = ("tales", "valley")  # of chapters 11 and 12, and of the pages under book/
CHAPTERS = ("notebooks/11_small_gpt.html", "notebooks/12_inside_the_gpt.html")
INSIDE = CHAPTERS[1]
EXACT, EXACT_WEIGHT = 1e-4, 1e-5  # of a logit, and of an attention weight
ROUNDED, ROUNDED_MEAN = 0.2, 0.02  # largest and mean difference of a logit from the shipped model's
PROMPT = "The fox did not cross the stream because it was too "  # which the widget opens with
LOSS = 1e-3  # nats a character on the validation text


# --- the references -----------------------------------------------------------------------------


@functools.cache
def shipped(name: str = "tales"):
    model, tokenizer = open_model(DATA / "checkpoints" / name)
    return model, tokenizer


def tensors_of(script: str) -> tuple[dict, dict[str, np.ndarray], dict[str, tuple]]:
    """What a weights script holds: all of it, tensors in float64, codes and scales of matrices."""
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
    return {**parts, "data": data}, tensors, rounded


@functools.cache
def built(html_root: Path, name: str = "tales"):
    return tensors_of((html_root / "_static" / f"gpt-weights-{name}.js").read_text("utf-8"))


@functools.cache
def rounded_model(html_root: Path, name: str = "tales") -> GPT:
    """The Python model with the page's weights, in float64."""
    model = GPT(shipped(name)[0].config, generator=torch.Generator().manual_seed(0)).double().eval()
    tensors = {n: torch.from_numpy(np.array(t)) for n, t in built(html_root, name)[1].items()}
    model.load_state_dict(tensors)
    return model


@torch.no_grad()
def answers(model, ids) -> tuple[np.ndarray, np.ndarray]:
    """Logits (T, V) and weights (L, H, T, T)."""
    with record_attention(model) as maps:
        logits_BTV = model(torch.tensor(ids)[None])
    return logits_BTV[0].numpy(), torch.stack(maps)[:, 0].numpy()


def validation_ids() -> torch.Tensor:
    return corpus.split(shipped()[1].encode(corpus.load()))[1]


def texts() -> dict[str, list[int]]:
    """Prompts of one character and of many, and windows that fill the context."""
    encode, ids = shipped()[1].encode, validation_ids()
    found = {text: encode(text).tolist() for text in ("\n", "T", "zzz!?", "The fox and the b")}
    found["sentence"] = encode("The fox did not cross the stream because it was too wide.").tolist()
    for start in (0, 5000, 20_011):
        found[f"window {start}"] = ids[start : start + 64].tolist()
    return found


# --- the weights --------------------------------------------------------------------------------


@pytest.mark.parametrize("model_name", MODELS)
def test_weights_are_the_checkpoint_rounded(html_root, model_name):
    """Each row's largest number has the code 127, and no number is off by more than half a step."""
    parts, tensors, rounded = built(html_root, model_name)
    model, tokenizer = shipped(model_name)
    wanted = {n: t.double().numpy() for n, t in model.state_dict().items()}
    assert set(tensors) == set(wanted)
    assert parts["vocab"] == list(tokenizer.vocab)
    assert len(parts["data"]) <= 1_100_000  # as letters in the script: under 1.5 MB
    for name, exact in wanted.items():
        if name not in rounded:
            np.testing.assert_array_equal(tensors[name], exact)
            continue
        codes, scales = rounded[name]
        np.testing.assert_allclose(scales, np.abs(exact).max(axis=1) / 127, rtol=1e-6)
        np.testing.assert_array_equal(np.abs(codes.astype(int)).max(axis=1), 127)
        off = np.abs(tensors[name] - exact) / scales[:, None]
        assert off.max() <= 0.5 + 1e-4


def test_rounding_hardly_changes_the_loss(html_root):
    rounded, ids = rounded_model(html_root), validation_ids()
    batches = list(corpus.windows(ids, 64))[:-1]
    x_BT, y_BT = (torch.cat(part) for part in zip(*batches, strict=True))
    x_BT, y_BT = x_BT[::2], y_BT[::2]
    with torch.no_grad():
        exact_BTV, rounded_BTV = shipped()[0](x_BT), rounded(x_BT)
    losses = [F.cross_entropy(l.flatten(0, 1), y_BT.flatten()) for l in (exact_BTV, rounded_BTV)]
    assert abs(losses[0] - losses[1]) < LOSS
    apart = (exact_BTV - rounded_BTV).abs()
    assert apart.max() < ROUNDED
    assert apart.mean() < ROUNDED_MEAN


# --- the numbers, in the browser ----------------------------------------------------------------

READ = """ids => {
    const model = bookGPT.unpack(bookGPTWeights), memory = bookGPT.remember(model);
    return ids.map(id => {
        const { logits_V, layers } = bookGPT.read(model, memory, id);
        return [[...logits_V], layers.map(({ heads }) => heads.map(({ weights }) => [...weights]))];
    });
}"""


def load(page, url: str):
    """Open a page, press the button, and wait for the text; gives the widget."""
    page.goto(url, wait_until="domcontentloaded")
    page.get_by_role("button", name=re.compile("^Load the model")).click()
    page.locator(".gpt-text .place").first.wait_for()
    return page.locator(".gpt")


@pytest.fixture(scope="module")
def loaded(browser, site_url):
    """Give the widget of chapter 12, opened once, where motion is reduced: it writes quickly."""
    context = browser.new_context(**playing.DESK)
    yield load(context.new_page(), f"{site_url}/{INSIDE}")
    context.close()


@pytest.fixture
def widget(loaded):
    """Give it as it opens."""
    for name in ("layer", "head"):
        loaded.locator(f'[name="{name}"]').select_option(index=0)
    fill(loaded, prompt=PROMPT, temperature=0.8, top_k=61, seed=1, length=120)
    return loaded


@pytest.fixture(scope="module")
def script(browser):
    """Give a page with the model's script and nothing else."""
    page = browser.new_page()
    page.add_script_tag(path=ROOT / "book" / "_assets" / "gpt.js")
    yield page
    page.close()


def test_logits_and_weights_are_python_s(loaded, html_root):
    page = loaded.page
    for name, ids in texts().items():
        found = page.evaluate(READ, ids)
        logits_TV = np.array([logits for logits, _ in found])
        exact_TV, weights_LHTT = answers(rounded_model(html_root), ids)
        assert np.abs(logits_TV - exact_TV).max() < EXACT, name
        assert np.abs(logits_TV - answers(shipped()[0], ids)[0]).max() < ROUNDED, name
        for t, (_, weights_LHT) in enumerate(found):
            read = np.array(weights_LHT)
            assert read.shape == (*weights_LHTT.shape[:2], t + 1), name
            np.testing.assert_allclose(read.sum(axis=-1), 1, atol=1e-12)
            assert np.abs(read - weights_LHTT[:, :, t, : t + 1]).max() < EXACT_WEIGHT, name
    with pytest.raises(Exception, match="reads 64 tokens, no more"):
        page.evaluate(READ, [5] * 65)


def test_the_longer_model_matches_python_up_to_its_context(script, html_root):
    model, tokenizer = rounded_model(html_root, "valley"), shipped("valley")[1]
    script.add_script_tag(path=html_root / "_static" / "gpt-weights-valley.js")
    ids = tokenizer.encode(corpus.load("valley")[-model.config.context :]).tolist()
    found = script.evaluate(READ, ids)
    logits_TV, weights_LHTT = answers(model, ids)
    assert np.abs(np.array([logits for logits, _ in found]) - logits_TV).max() < EXACT
    assert np.abs(np.array(found[-1][1]) - weights_LHTT[:, :, -1]).max() < EXACT_WEIGHT
    assert (html_root / "_static" / "gpt-weights-valley.js").stat().st_size <= 1_500_000


def probabilities(logits_V, temperature, most) -> np.ndarray:
    """As helpers.gpt draws: `most` of them, the first of equals; all on one at temperature 0."""
    logits = torch.tensor(np.array(logits_V))
    if temperature == 0:
        return F.one_hot(logits.argmax(), len(logits)).double().numpy()
    kept = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:most]
    left = torch.full_like(logits, -torch.inf).index_copy(0, torch.tensor(kept), logits[kept])
    return (left / temperature).softmax(-1).numpy()


@pytest.mark.parametrize("temperature", [0, 0.05, 0.8, 1, 3])
@pytest.mark.parametrize("most", [1, 2, 5, 61])
def test_probabilities_are_those_that_python_draws_from(script, temperature, most):
    logits_V = np.random.default_rng(1).normal(size=61) * 4
    logits_V[7] = logits_V[9] = np.sort(logits_V)[-2]  # a tie near the top
    found = script.evaluate(
        "([l, t, m]) => [...bookGPT.probabilities(Float64Array.from(l), t, m)]",
        [logits_V.tolist(), temperature, most],
    )
    assert sum(found) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(found, probabilities(logits_V, temperature, most), atol=1e-12)


def chance(seed: int, place: int) -> float:
    """The page's number for a place: MurmurHash3's finaliser, in whole numbers of 32 bits."""
    word = (1 << 32) - 1
    h = (seed * 0x9E3779B1 + place) & word
    for _ in range(2):
        h = ((h ^ (h >> 16)) * 0x85EBCA6B) & word
        h = ((h ^ (h >> 13)) * 0xC2B2AE35) & word
        h = ((h ^ (h >> 16)) + 1) & word
    return h / 2**32


def test_chance_is_even_and_repeats(script):
    places = [(seed, place) for seed in (0, 1, 2, 999_999) for place in range(0, 3000)]
    found = script.evaluate("all => all.map(([s, p]) => bookGPT.chance(s, p))", places)
    assert found == [chance(*at) for at in places]
    numbers = np.array(found)
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    even = len(numbers) / 20
    assert ((counts - even) ** 2 / even).sum() < 45  # 19 degrees of freedom; above 43.8: 1 in 1000
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.04


# --- the widget ---------------------------------------------------------------------------------


def text_of(widget) -> str:
    return widget.locator(".gpt-plain").text_content()


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


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_nothing_is_requested_before_the_button(page, site_url, html_root, chapter):
    """In one chapter from a server, in the other from a disk."""
    home = f"{site_url}/" if chapter == INSIDE else f"{html_root.as_uri()}/"
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(home + chapter)
    page.wait_for_load_state("networkidle")
    assert not [url for url in asked if "gpt-weights" in url]
    widget = page.locator(".gpt")
    before = len(asked)
    press(widget, widget.get_by_role("button").first.inner_text())
    page.locator(".gpt-text .place").first.wait_for()
    write(widget, length=5)
    late = ("_images", "favicon", ".woff")  # those wait to be seen
    scripts = [url for url in asked[before:] if not any(name in url for name in late)]
    assert [Path(url.partition("?")[0]).name for url in scripts] == ["gpt-weights-tales.js"]
    assert not [url for url in asked if not url.startswith((home, "data:", "blob:"))]
    assert errors == []


def continued(html_root, prompt: str, n: int, *, temperature, most, seed) -> str:
    """What the widget should write, by the Python model with its weights."""
    model, (_, tokenizer) = rounded_model(html_root), shipped()
    ids = tokenizer.encode(prompt).tolist()
    for _ in range(n):
        start = 0
        while len(ids) - start > 64:
            start += 32
        p_V = probabilities(answers(model, ids[start:])[0][-1], temperature, most)
        ids.append(int(np.searchsorted(np.cumsum(p_V), chance(seed, len(ids)), side="right")))
    return tokenizer.decode(ids)


def test_it_writes_what_python_writes(widget, html_root):
    """Over the end of the context, too; again from the same seed, and otherwise from another."""
    prompt = "The fox did not cross the stream. Anna said, "
    written = write(widget, prompt=prompt, temperature=0.8, top_k=20, seed=7, length=60)
    assert written == continued(html_root, prompt, 60, temperature=0.8, most=20, seed=7)
    press(widget, "Back to the prompt")
    assert text_of(widget) == prompt
    assert write(widget) == written
    press(widget, "Back to the prompt")
    other = write(widget, seed=8)
    assert other.startswith(prompt)
    assert other != written


def test_one_character_at_a_time_is_the_same_text(widget):
    whole = write(widget, length=6)
    press(widget, "Back to the prompt")
    for _ in range(6):
        press(widget, "One character")
    assert text_of(widget) == whole
    assert re.match(r"(“.”|space|new line), [\d.]+%$", widget.locator(".gpt-said").text_content())
    assert len(write(widget, length=3)) == len(whole) + 3


def test_a_long_prompt_is_read_from_where_it_fits(widget, html_root):
    prompt = corpus.load()[-150:]
    fill(widget, prompt=prompt)
    assert text_of(widget) == prompt
    assert widget.locator(".gpt-text .place").count() == 150 - 96
    assert widget.locator(".gpt-text .pale").first.text_content() == prompt[:96]
    fill(widget, prompt="The ")
    assert widget.locator(".gpt-text .place").count() == 4
    found = write(widget, length=4, temperature=0)
    assert found == continued(html_root, "The ", 4, temperature=0, most=61, seed=1)


def test_what_is_typed_over_is_forgotten(widget, html_root):
    """Keys and values are kept for what two prompts have in common, and for nothing else."""
    for prompt in ("The fox and the crow", "The fox sat", "The fox sat down", "A"):
        fill(widget, prompt=prompt)
    found = write(widget, prompt="The hen sat", length=8, temperature=0)
    assert found == continued(html_root, "The hen sat", 8, temperature=0, most=61, seed=1)


UNKNOWN = {  # what is read of a prompt, and what is told
    "caf\u00e9 12": ("caf ", ["“é”", "“1”", "“2”"]),
    "It’s": ("It's", ["reads ’ as '"]),
    "a\U0001d538b": ("ab", ["“\U0001d538”"]),
    "12": ("", ["“1”", "“2”", "Type something"]),
    "": ("", ["Type something"]),
}


def test_what_a_prompt_has_and_the_model_not_is_left_out_and_told(widget):
    alert = widget.get_by_role("alert")
    for prompt, (read, told) in UNKNOWN.items():
        fill(widget, prompt=prompt)
        assert [words for words in told if words not in alert.text_content()] == []
        if read:
            assert text_of(widget) == read
        else:
            press(widget, "Write")
            press(widget, "One character")
            assert not widget.locator(".gpt-text").is_visible()
        fill(widget, prompt="cafe")
        assert alert.text_content() == ""
        assert text_of(widget) == "cafe"


def test_settings_that_make_no_sense_are_told(widget):
    before, alert = text_of(widget), widget.get_by_role("alert")
    for name, wrong in {"temperature": "-1", "top-k": "62", "length": "", "seed": "1.5"}.items():
        field = widget.locator(f'[name="{name}"]')
        right = field.input_value()
        field.fill(wrong)
        press(widget, "Write")
        assert alert.text_content().startswith(f"{name}: ")
        field.fill(right)
        press(widget, "Back to the prompt")
        assert alert.text_content() == ""
    assert text_of(widget) == before


@pytest.mark.parametrize("broken", ["missing", "empty"])
def test_missing_weights_are_told_and_can_be_asked_for_again(page, site_url, broken):
    refuse = (
        (lambda route: route.abort())
        if broken == "missing"
        else (lambda route: route.fulfill(body=""))
    )
    page.route("**/gpt-weights-tales.js*", refuse)
    page.goto(f"{site_url}/{INSIDE}")
    widget = page.locator(".gpt")
    widget.get_by_role("button").first.click()
    widget.get_by_role("alert").get_by_text("could not be read").wait_for()
    assert not widget.locator("form").is_visible()
    page.unroute("**/gpt-weights-tales.js*")
    widget.get_by_role("button").first.click()
    page.locator(".gpt-text .place").first.wait_for()
    assert widget.get_by_role("alert").text_content() == ""


def test_all_by_the_keyboard(page, site_url):
    page.goto(f"{site_url}/{INSIDE}")
    widget, keys = page.locator(".gpt"), page.keyboard
    widget.get_by_role("button").first.focus()
    keys.press("Enter")
    page.locator(".gpt-text .place").first.wait_for()
    focused = "document.activeElement.name"
    assert page.evaluate(focused) == "write"
    before, length = text_of(widget), 1000
    fill(widget, length=length)
    widget.locator("[name=write]").focus()
    keys.press("Enter")
    keys.press("Tab")
    assert page.evaluate(focused) == "stop"
    page.wait_for_function(
        "n => document.querySelector('.gpt-plain').textContent.length > n + 3", arg=len(before)
    )
    keys.press("Enter")
    wait(widget)
    stopped = text_of(widget)
    assert len(before) < len(stopped) < len(before) + length
    page.wait_for_timeout(150)
    assert text_of(widget) == stopped
    keys.press("Tab")
    assert page.evaluate(focused) == "one"
    keys.press("Space")
    assert len(text_of(widget)) == len(stopped) + 1
    seen = []
    for _ in range(4):
        keys.press("Tab")
        seen.append(page.evaluate(focused))
    assert seen == ["anew", "place", "layer", "head"]
    widget.locator('[name="place"]').focus()
    keys.press("Home")
    name = widget.locator('[name="place"]').get_attribute("aria-valuetext")  # spoken by the slider
    reads = widget.locator(".gpt-reads").text_content()
    assert name.endswith(")")
    assert f"{name} gives 100.0% to itself" in reads
    assert widget.locator(".gpt-said").text_content() == reads.replace(name, "it")


def shares(widget) -> dict[str, str]:
    rows = widget.locator(".gpt-next tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").inner_text().strip() for row in rows}


def in_percent(share: float) -> str:
    return "< 0.1%" if 0 < share < 5e-4 else f"{share:.1%}"


def test_what_is_shown_is_what_was_computed(widget, html_root):
    """Bars and sentence at a chosen place, layer, head and temperature."""
    prompt, at, layer, head = "The fox and the b", 9, 1, 2
    fill(widget, prompt=prompt, temperature=0.5)
    widget.locator('[name="place"]').fill(str(at))
    widget.locator('[name="layer"]').select_option(label=str(layer + 1))
    widget.locator('[name="head"]').select_option(label=str(head + 1))
    vocab = shipped()[1].vocab
    logits_TV, maps_LHTT = answers(rounded_model(html_root), shipped()[1].encode(prompt).tolist())
    weights_T, p_V = maps_LHTT[layer, head, at, : at + 1], probabilities(logits_TV[at], 0.5, 61)
    names = {" ": "space", "\n": "new line"}
    likeliest = np.argsort(-p_V)[:8]
    expected = {names.get(vocab[i], f"“{vocab[i]}”"): in_percent(p_V[i]) for i in likeliest}
    found = shares(widget)
    came = names.get(prompt[at + 1], f"“{prompt[at + 1]}”")
    assert f"{came} came" in found
    found = {name.removesuffix(" came"): share for name, share in found.items()}
    assert {name: found.get(name) for name in list(expected)[:7]} == dict(
        list(expected.items())[:7]
    )
    assert len(found) == 9
    most = int(weights_T.argmax())
    assert f"gives {weights_T[most]:.1%}" in widget.locator(".gpt-reads").text_content()
    label = widget.locator("canvas").get_attribute("aria-label")
    assert label.startswith(f"Map of layer {layer + 1}, head {head + 1}: a row for each of 17")


COUNT = """name => {
    window.changes = 0;
    window.watch?.disconnect();
    window.watch = new MutationObserver(() => window.changes++);
    watch.observe(document.querySelector(name),
                  { childList: true, characterData: true, subtree: true });
}"""


def test_a_screen_reader_is_told_a_sentence_at_a_time(widget):
    said = widget.get_by_role("status")
    page = widget.page
    page.evaluate(COUNT, ".gpt-said")
    written = write(widget, length=60)
    page.wait_for_function("document.querySelector('.gpt-said').textContent.length > 0")
    assert 1 <= page.evaluate("changes") <= 2 + len(re.findall(r"[.!?\n]", written))
    assert written.endswith(said.text_content())


def test_reduced_motion_brings_the_text_in_pieces(widget):
    widget.page.evaluate(COUNT, ".gpt-text")
    written = write(widget, length=100)
    assert widget.page.evaluate("changes") <= 3 + len(re.findall(r"[.!?\n]", written))


def test_widget_fits_and_can_be_read(widget):
    page = widget.page
    write(widget, length=30)
    for width, scheme in ((320, "dark"), (320, "light"), (1280, "dark"), (1280, "light")):
        playing.show_in(page, width, scheme)
        assert page.evaluate(playing.WIDE) == [width, []]
        assert page.evaluate(CLEAR, ".gpt") == []


def test_widget_says_what_it_is_where_no_script_runs(browser, site_url):
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{site_url}/{INSIDE}")
        widget = page.locator(".gpt")
        assert "needs JavaScript" in widget.inner_text()
        assert not widget.get_by_role("button").first.is_visible()
    finally:
        context.close()


def test_words_about_the_model_are_true(html_root):
    """Chapter 11 calls it one of the same size, with another activation, trained for longer."""
    model, _ = shipped()
    of_chapter = PRESETS["cpu"]["model"]
    for name in ("layers", "heads", "width", "context", "norm", "positions", "tied"):
        assert getattr(model.config, name) == of_chapter.get(name, getattr(model.config, name)), (
            name
        )
    assert (of_chapter["activation"], model.config.activation) == ("relu2", "gelu")
    text = (html_root / CHAPTERS[0]).read_text("utf-8")
    numbers = sum(p.numel() for p in model.parameters())
    size = len(built(html_root)[0]["data"]) / 1e6
    letters = (html_root / "_static" / "gpt-weights-tales.js").stat().st_size / 1e6
    stored = json.loads((DATA / "results" / "gpt_rounding.json").read_text())
    change = f"differs by {stored['rows'][0][3].lstrip('+-')} nats"
    assert stored["rows"][0][0] == 8
    for words in (
        f"{numbers:,} numbers",
        f"That makes {size:.2f} MB",
        f"{letters:.2f} MB of text",
        change,
    ):
        assert words in text
