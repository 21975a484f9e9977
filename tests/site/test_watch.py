"""The GPT that trains in the page: held to torch, with minigpt and its variants as the oracle."""

import base64
import copy
import json
import re

import numpy as np
import play
import pytest
import safetensors.torch
import torch
import torch.nn.functional as F
from play import watch
from playwright.sync_api import expect
from safetensors import safe_open

from helpers import bigram, checkpoint, minigpt, minillama, variants

SIZES = {"V": 23, "T": 10, "C": 16, "H": 4, "L": 2}
BATCH = 3
SWITCHES = {
    "": {},
    "mask": {"causal": False},
    "positions": {"positions": "none"},
    "residual": {"residual": False},
}

# --- the algorithm, held to torch ---------------------------------------------------------------


def in_node(function: str, *given):
    """What a function makes of this in Node, after the page's script."""
    return play.in_node([play.bundled("watch")], function, *given)


GRADIENTS = """(sizes, without, weights, x, y, floats, code) => {
    const kernel = startKernel(code, sizes, x.length);
    const model = GPT(sizes, x.length, { ...kernel, without, Floats: globalThis[floats] });
    for (const { name, value } of model.parameters) if (weights[name]) value.set(weights[name]);
    const logits = model.forward(Int32Array.from(x.flat()), x.length);
    const given = [...logits];
    const loss = crossEntropy(model, logits, y.flat());
    model.backward(logits);
    const grads = model.parameters.map(({ name, grad }) => [name, [...grad]]);
    const memory = Boolean(kernel.memory);
    return { memory, logits: given, loss, grads: Object.fromEntries(grads) };
}"""


def model_of(without: str) -> minigpt.GPT:
    """One of minigpt's, its vectors away from 0 and 1, so that no gradient can hide."""
    torch.manual_seed(1)
    model = variants.GPT(**SIZES, **SWITCHES[without]) if without else minigpt.GPT(**SIZES)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def weights_of(model) -> dict[str, list]:
    return {name: p.flatten().tolist() for name, p in model.named_parameters()}


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    ids_BT = torch.randint(SIZES["V"], (BATCH, SIZES["T"] + 1))
    return ids_BT[:, :-1], ids_BT[:, 1:]


@pytest.mark.parametrize("without", SWITCHES)
@pytest.mark.parametrize("floats", ["Float64Array", "Float32Array", "kernel"])
def test_loss_and_all_gradients_are_those_of_torch(without, floats):
    model, (x_BT, y_BT) = model_of(without), batch()
    weights = weights_of(model)
    model.double()
    logits_BTV = model(x_BT)
    loss = F.cross_entropy(logits_BTV.mT, y_BT)
    loss.backward()
    kernel = watch.kernel() if floats == "kernel" else "none"
    floats, near = {"Float64Array": (floats, 1e-6)}.get(floats, ("Float32Array", 1e-4))
    asked = SIZES, without, weights, x_BT.tolist(), y_BT.tolist(), floats, kernel
    found = in_node(GRADIENTS, *asked)
    assert found["memory"] == (kernel != "none")
    assert found["loss"] == pytest.approx(loss.item(), rel=near)
    np.testing.assert_allclose(found["logits"], logits_BTV.detach().flatten(), atol=near * 10)
    for name, parameter in model.named_parameters():
        expected = parameter.grad.flatten().numpy()
        wrong = np.linalg.norm(found["grads"][name] - expected) / np.linalg.norm(expected)
        assert wrong < near, name
    if without != "positions":  # which has none
        assert list(found["grads"]) == [name for name, _ in minigpt.GPT(**SIZES).named_parameters()]


TRAINING = """(sizes, without, weights, ids, steps, batch, code) => {
    const model = GPT(sizes, batch, { ...startKernel(code, sizes, batch), without });
    for (const { name, value } of model.parameters) if (weights[name]) value.set(weights[name]);
    const losses = [...train(model, Int32Array.from(ids), steps, batch, 0.003, generator(5))];
    const again = generator(5), starts = [];
    for (let i = 0; i < steps * batch; i++)
        starts.push(Math.floor(again() * (ids.length - sizes.T)));
    return { losses, starts };
}"""


@pytest.mark.parametrize("without", SWITCHES)
@pytest.mark.parametrize("code", ["none", "kernel"])
def test_twenty_steps_of_training_are_those_of_minigpt(without, code, monkeypatch):
    """Weight decay, clipping, warm-up and fall; the windows that the page drew."""
    steps, model = 20, model_of(without)
    ids = torch.randint(SIZES["V"], (400,), generator=torch.Generator().manual_seed(3))
    code = watch.kernel() if code == "kernel" else code
    asked = SIZES, without, weights_of(model), ids.tolist(), steps, BATCH, code
    found = in_node(TRAINING, *asked)
    starts = iter(torch.tensor(found["starts"]).view(steps, BATCH, 1))
    monkeypatch.setattr(torch, "randint", lambda *_: next(starts))
    expected = list(minigpt.train(copy.deepcopy(model).double(), ids, steps, BATCH, 0.003))
    assert [step for step, _ in found["losses"]] == [step for step, _ in expected]
    np.testing.assert_allclose([x for _, x in found["losses"]], [x for _, x in expected], rtol=1e-4)


TOKENS = """(text, patterns) => patterns.map((pattern) => {
    const tokenizer = Tokenizer(text, pattern), ids = tokenizer.encode(text);
    return [tokenizer.vocab, [...ids], tokenizer.decode(ids)];
})"""
MIXED = 'Die Kröte, "quakt" 7-mal:\n\t\x7f 😀\ue000 naïve_words über  zwei\n\n' * 3


def test_tokens_are_those_of_minigpt():
    """Sorted by code points, which is not the order of UTF-16."""
    patterns = [r"(?s).", minigpt.WORDS]
    found = in_node(TOKENS, MIXED, patterns)
    for pattern, (vocab, ids, text) in zip(patterns, found, strict=True):
        tokenizer = minigpt.Tokenizer(MIXED, pattern)
        assert vocab == tokenizer.vocab
        assert ids == tokenizer.encode(MIXED).tolist()
        assert text == MIXED


def test_baselines_are_those_of_the_counts():
    torch.manual_seed(4)
    V, ids = 9, (torch.rand(300) ** 2 * 9).long()
    seen, unseen = ids[:200].tolist(), ids[200:].tolist()
    found = in_node("baselines", seen, unseen, V)
    pairs = bigram.count_bigrams(np.array(unseen), V)
    table = bigram.smoothed(bigram.count_bigrams(np.array(seen), V))
    counts = np.bincount(seen, minlength=V) + 1
    assert found["uniform"] == pytest.approx(np.log(V))
    assert found["unigram"] == pytest.approx(-np.log(counts / counts.sum())[unseen[1:]].mean())
    assert found["bigram"] == pytest.approx(bigram.cross_entropy_of(table, pairs))


WRITING = """(sizes, weights, ids, n, temperature) => {
    const model = GPT(sizes, 1, { products });
    for (const { name, value } of model.parameters) value.set(weights[name]);
    const numbers = Array.from({ length: n }, generator(8));
    return [generate(model, ids, n, generator(8), temperature), numbers];
}"""


@torch.no_grad()
def test_it_writes_what_minigpt_would():
    """The same draws, over the end of the context."""
    model, ids = model_of(""), [3, 1, 4]
    asked = SIZES, weights_of(model), ids, 20, 0.7
    found, numbers = in_node(WRITING, *asked)
    for number in numbers:
        logits_V = model(torch.tensor([ids[-SIZES["T"] :]]))[0, -1] / 0.7
        cumulated = logits_V.double().softmax(-1).cumsum(-1)
        ids = [*ids, int((cumulated < number).sum())]
    assert found == ids


# --- files: Python, page, Python ----------------------------------------------------------------

THROUGH = """(data, kept) => {
    const model = readModel(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer);
    if (!kept) delete model.about;  // as of a model that the page has trained
    return btoa([...writeModel(model)].map((c) => String.fromCharCode(c)).join(""));
}"""
READ = """(datas) => datas.map((data) => {
    try { readModel(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer); }
    catch (error) { return error.message; }
})"""


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("kept", [True, False])
def test_a_model_goes_through_the_page_to_the_byte(tmp_path, dtype, kept):
    tokenizer = minigpt.Tokenizer(MIXED + "".join(map(chr, range(32, 200))))
    model = minigpt.GPT(**SIZES | {"V": len(tokenizer.vocab)})
    with torch.no_grad():
        model.norm.bias[:4] = torch.tensor([6e-8, -65504.0, 0.0, 1e-5])  # at the ends of float16
    checkpoint.save(tmp_path / "a.safetensors", model, tokenizer, dtype)
    data = (tmp_path / "a.safetensors").read_bytes()
    back = base64.b64decode(in_node(THROUGH, in_base64(data), kept))
    (tmp_path / "b.safetensors").write_bytes(back)
    abouts = []
    for name in "ab":
        with safe_open(tmp_path / f"{name}.safetensors", "pt") as file:
            abouts.append(file.metadata())
    assert abouts[0] == abouts[1]
    first, second = (checkpoint.load(tmp_path / f"{name}.safetensors") for name in "ab")
    assert first[1].vocab == second[1].vocab
    for (name, a), (_, b) in zip(
        first[0].named_parameters(), second[0].named_parameters(), strict=True
    ):
        assert torch.equal(a, b), name
    if dtype == torch.float32:
        assert back == data


def test_what_is_no_whole_model_is_told_in_a_sentence(tmp_path):
    """Foreign, short, of another kind, with a tensor of another shape, or a number that is none."""
    tokenizer = minigpt.Tokenizer("".join(map(chr, range(97, 97 + SIZES["V"]))))
    checkpoint.save(tmp_path / "a", minigpt.GPT(**SIZES), tokenizer)
    data = (tmp_path / "a").read_bytes()
    bad = [b"", b"no model", data[:-4], data[: len(data) // 2], data[:-4] + b"\0\0\xc0\x7f"]
    bad += [data.replace(a, b, 1) for a, b in ((b'"gpt', b'"gpu'), (b"[16]", b"[12]"))]
    bad.append(safetensors.torch.save({"a": torch.ones(2)}))
    told = in_node(READ, [in_base64(one) for one in (data, *bad)])
    assert told[0] is None
    assert len(set(told[1:])) == 1
    assert "no GPT of this book" in told[1]


# --- the page -----------------------------------------------------------------------------------

PAGE = "book/watch-it-learn.html"
AT_STEP = """step => Number(/Step (\\d+)/.exec(
    document.querySelector(".watch-state").textContent)?.[1]) >= step"""


def press(page, name: str):
    page.get_by_role("button", name=name, exact=True).click()


def learned(page, step: int):
    """Let it train up to a step at least, and pause."""
    press(page, "words")
    page.wait_for_function(AT_STEP, arg=step, timeout=120_000)
    press(page, "Pause")
    page.locator('.watch[data-goes="false"]').wait_for()


@pytest.fixture
def watched(page, html_root):
    """The page from a disk, and what went wrong on it."""
    errors, asked = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{html_root.as_uri()}/{PAGE}#seed=1")
    yield page
    assert errors == []
    assert not [url for url in asked if not url.startswith(("file:", "blob:", "data:"))]


def test_a_guess_starts_it_and_its_seed_repeats_the_run(watched):
    """From a disk, in a worker; the samples are those of the scripts in Node. One step is one."""
    learned(watched, 10)
    shown = watched.locator(".watch-live .watch-samples li").all_text_contents()
    looks = watch.trained(1, until=10)["looks"]
    for look, item in zip(looks, shown[::-1], strict=False):
        assert item.split() == f"step {look['step']} {look['text']}".split()
    said = watched.locator(".watch-live svg").first.get_attribute("aria-label")
    assert all(name in said for name in watch.BASELINES.values())
    before = int(re.search(r"Step (\d+)", watched.locator(".watch-state").inner_text())[1])
    watched.wait_for_timeout(300)
    press(watched, "One step")
    watched.locator(".watch-state", has_text=f"Step {before + 1} of").wait_for()


@pytest.mark.parametrize("tokens", ["characters", "words"])
def test_a_text_of_ones_own_stays_in_the_page(watched, tokens):
    watched.evaluate("navigator.clipboard.writeText = async (text) => (window.copied = text)")
    learned(watched, 1)
    press(watched, "Copy this run")
    watched.wait_for_function("window.copied")
    assert watched.evaluate("copied").endswith("#seed=1")
    watched.locator(".watch-own summary").click()
    watched.locator('[name="pattern"]').select_option(tokens)
    watched.get_by_label("Your text").fill("Zwölf Boxkämpfer jagen Viktor quer. " * 9)
    press(watched, "Train on it")
    expect(watched.get_by_role("alert").filter(has_text="a longer text")).to_be_in_viewport()
    watched.get_by_label("Your text").fill("Zwölf Boxkämpfer jagen Viktor quer. " * 300)
    press(watched, "Train on it")
    watched.wait_for_function("""() => document.querySelector(".watch-samples li b")""")
    press(watched, "Pause")
    press(watched, "Copy this run")
    watched.wait_for_function("copied.includes('of mine')")
    copied, wrote = watched.evaluate("copied"), watched.locator(".watch-live .watch-samples span")
    assert "Viktor" not in copied
    assert "#" not in copied
    assert set(wrote.first.inner_text()) <= set("Zwölf Boxkämpfer jagen Viktor quer. \n")


def probability(page, path) -> tuple[float, float]:
    """Of the likeliest word after four tokens: as the whole machine says, and by Python."""
    model, tokenizer = checkpoint.load(path)
    page.locator('.machine [name="text"]').fill(tokenizer.decode(range(3, 7)))
    page.locator(".machine-answer span", has_text="(4)").wait_for()
    with torch.no_grad():
        p = model(torch.arange(3, 7)[None])[0, -1].softmax(-1).max().item()
    said = page.locator(".machine-answer button").first.inner_text()
    return float(re.search(r"([\d.]+)%", said)[1]), 100 * p


def saved(watched, path):
    """Take the model along to a path."""
    with watched.expect_download() as download:
        press(watched, "Take it along")
    download.value.save_as(path)
    return path


def test_a_trained_model_is_taken_along_and_opened(watched, tmp_path):
    """From a disk; the page that opens has it again when it is loaded again."""
    learned(watched, 2)
    watched.get_by_label("Let it write on from").fill("The fox")
    path = saved(watched, tmp_path / "my.safetensors")
    model, tokenizer = checkpoint.load(path)
    assert checkpoint.sizes(model) == {"V": 880, **watch.SIZES}
    assert tokenizer.pattern == minigpt.WORDS
    assert model.norm.weight.std() > 0  # it has learned something
    with watched.expect_popup() as popup:
        press(watched, "Open it in The whole machine (new tab)")
    machine = popup.value
    machine.locator("#machine-said", has_text="you trained: 2 layers of 4 heads").wait_for()
    assert machine.locator('.machine [name="text"]').input_value() == "The fox"
    said, found = probability(machine, path)
    assert said == pytest.approx(found, abs=0.06)
    press(machine, "Why this word?")
    machine.locator(".machine-words li").first.wait_for()
    machine.reload()
    machine.locator("#machine-said", has_text="2 layers of 4 heads").wait_for()


@pytest.mark.parametrize("pattern", [r"(?s).", minigpt.WORDS])
def test_python_s_model_writes_opens_and_goes_back(page, html_root, tmp_path, pattern):
    path, text = tmp_path / "py.safetensors", "Der Hund sah den Mond, und “Wau!” rief er.\n"
    tokenizer = minigpt.Tokenizer(text, pattern)
    model = minigpt.GPT(**SIZES | {"V": len(tokenizer.vocab), "L": 3, "T": 11})
    checkpoint.save(path, model, tokenizer)
    page.goto(f"{html_root.as_uri()}/{PAGE}")
    page.locator('[name="file"]').set_input_files(path)
    page.wait_for_function("document.querySelector('.watch-written').textContent.length > 60")
    assert saved(page, tmp_path / "back").read_bytes() == path.read_bytes()
    page.goto(f"{html_root.as_uri()}/book/number-by-number.html")
    page.locator('[name="file"]').set_input_files(path)
    page.locator("#machine-said", has_text="3 layers of 4 heads").wait_for()
    said, found = probability(page, path)
    assert said == pytest.approx(found, abs=0.06)
    page.locator('[name="file"]').set_input_files(
        {"name": "a.safetensors", "mimeType": "", "buffer": b"no model"}
    )
    page.get_by_role("alert").filter(has_text="no GPT of this book").wait_for()


@pytest.fixture
def short(page, site_url, html_root):
    """The page, with runs of three steps."""
    text, found = re.subn(r'(teps": )\d+', r"\g<1>3", (html_root / PAGE).read_text("utf-8"))
    assert found == 2
    page.route(f"**/{PAGE}", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.goto(f"{site_url}/{PAGE}")
    return page


def test_at_the_end_its_model_is_kept(short):
    """It writes, other words with each press, until another seed. Start is pressed too early."""
    short.evaluate(
        "for (const name of ['guess', 'go']) document.getElementsByName(name)[0].click()"
    )
    short.locator(".watch-state", has_text="Step 3 of 3, seed 1").wait_for()
    expect(short.locator('[name="go"]')).to_be_hidden()
    expect(short.locator(".watch-now")).to_be_in_viewport()
    written, texts = short.locator(".watch-written"), set()
    for _ in range(2):
        short.locator(".watch-said").evaluate("(said) => said.replaceChildren()")
        press(short, "Write")
        short.wait_for_function("document.querySelector('.watch-said').textContent")
        texts.add(written.inner_text())
    assert len(texts) == 2
    press(short, "Another seed")
    short.locator(".watch-state", has_text="seed 2").wait_for()
    assert not written.inner_text()


@pytest.mark.parametrize("without", watch.BREAKS)
def test_break_it_asks_and_then_says_what_happened(short, without):
    press(short, watch.BREAKS[without]["name"])
    assert not short.locator(".watch-verdict").inner_text()
    press(short, "lower")
    short.locator(".watch-said", has_text="against").wait_for()
    said = short.locator(".watch-verdict").inner_text()
    broken, healthy = (float(x) for x in re.search(r"([\d.]+) against ([\d.]+)", said).groups())
    assert re.search("As you said, it is lower|It is higher", said)
    assert (broken <= healthy) if "lower" in said else (broken >= healthy)
    assert f"Chapter {watch.BREAKS[without]['chapter']}" in said


def test_the_stored_run_is_that_of_the_scripts():
    """Up to step 10, to the word: later steps repeat these."""
    stored = json.loads(watch.STORED.read_text("utf-8"))["run"]["rows"]
    looks = watch.trained(1, until=10)["looks"]
    assert [watch.row_of(look) for look in looks] == stored[:2]


# --- chapter 17's figure, where it learns from rewards ------------------------------------------

UPDATE = """(sizes, weights, rows, n, rewards, group) => {
    const model = GPT(sizes, rows.length, { products, Floats: Float64Array });
    for (const { name, value } of model.parameters) value.set(weights[name]);
    reinforce(model, makeOptimizer(model), rows, n, rewards, group, 0);
    return model.parameters.map(({ value, grad }) => [[...value], [...grad]]);
}"""


def test_an_update_from_rewards_is_that_of_minillama(monkeypatch):
    """Clipped gradients, and weights; answers that end early and not at all, two groups."""
    model, rewards = model_of("").double(), torch.tensor([1, 0, 0, 1, 0.5, 1]).double()
    ids_BT = torch.randint(1, SIZES["V"], (6, SIZES["T"]))
    ids_BT[1:, 6] = ids_BT[3, 4] = 0  # where they end
    rows = [ids.tolist()[: 5 if b == 3 else 7 if b else None] for b, ids in enumerate(ids_BT)]
    asked = SIZES, weights_of(model), rows, 3, rewards.tolist(), 3
    found = play.in_node([play.bundled("reward")], UPDATE, *asked)
    monkeypatch.setattr(minillama, "generate", lambda *_: ids_BT)
    next(minillama.reinforce(model, lambda: ids_BT[::3, :3], lambda _: rewards, 0, 1, 3, 0.001))
    for (value, grad), p in zip(found, model.parameters(), strict=True):
        assert np.linalg.norm(grad - p.grad.flatten().numpy()) < 1e-6 * p.grad.norm()
        # A hundredth of a step, for AdamW first makes a step of any gradient, however small.
        np.testing.assert_allclose(value, p.detach().flatten(), atol=1e-5)


def test_rows_grow_and_turn_right_and_the_reader_may_be_the_checker(page, browser, html_root):
    """From a disk, by keyboard; without scripts the stored picture stands above it."""
    page.goto(f"{html_root.as_uri()}/notebooks/17_answers_that_can_be_checked.html")
    figure = page.locator(".reward")
    panels = figure.locator("figure")
    figure.get_by_role("button", name="the checker").press("Enter")
    panels.nth(3).wait_for(timeout=120_000)
    tiles, right = ([one.locator(what).count() for one in panels.all()] for what in ("i", ".right"))
    assert tiles[0] < 100 < 180 < tiles[3]  # of sixteen answers with steps: 192
    assert right[0] < 14 < right[3]
    for said in panels.locator("li").all_inner_texts():  # where the fox is on the far side
        assert re.match(r"✓\s*right: .*far \.$" if "far ." in said else r"✗\s*wrong: ", said)
    figure.get_by_role("button", name="I do").press("Enter")
    figure.get_by_role("checkbox").nth(7).press("Space")
    figure.get_by_role("button", name="Make the update").press("Enter")
    figure.get_by_text("Mean reward of update 1: 0.13.").wait_for()
    assert panels.count() == 2
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(page.url)
    assert plain.locator(".reward noscript p").is_visible()  # which names it
    assert plain.locator(".reward button:visible").count() == 0
    assert plain.locator("div.cell:has(img) + .reward").count() == 1
