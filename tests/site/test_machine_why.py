"""Why this word: a logit as a sum, and a part left out, held to Python; and as a reader asks.

What is computed is run in Node, with the page's weights, on texts of the tales and others.
"""

import copy
import re

import numpy as np
import playing
import pytest
import torch
import torch.nn.functional as F
from bs4 import BeautifulSoup
from play import machine
from test_gpt_page import in_node, rounded_model, shipped
from test_machine import PAGE, loaded, opens, written
from torch.testing import assert_close

from helpers import interpret, valley

TEXTS = 50
EXACT = {"rtol": 1e-9, "atol": 1e-9}
ODD = (
    f"{machine.TEXT} wide",
    "The",
    "zebra The",
    '"Oh!"',
    "The\n\nfox xyzzy ran",
    "and and and and",
)

ASK = """texts => {
    const model = unpack(bookGPTWeights);
    return texts.map(({ text, at, entry, over, silent }) => {
        const { ids } = tokenize(model, text), cache = kvCache(model);
        const seen = ids.map(id => read(model, cache, id));
        const position = Math.floor(at * ids.length);
        const asked = { position, entry, over: over ?? undefined };
        const machine = { model, ids, seen, change: {} };
        const parts = partsOf(machine, asked);
        const part = parts[Math.floor(silent * parts.length)];
        const { logits, later, changed, norm } = silence(machine, asked, part);
        const opens = has(machine, leadsTo(machine, asked, part));
        return { ids, position, parts, part, later, changed, norm, found: [...logits.found], opens,
            said: lead(logits.said, asked) };
    });
}"""


def texts(count: int) -> list[dict]:
    """Texts, and of each a position, a word, for half of them another one, and what is silenced."""
    rng, (_, tokenizer) = np.random.default_rng(31), shipped()
    ids, drawn = tokenizer.encode(valley.text()[:200_000].rpartition(" ")[0]), []
    for n in range(count):
        start, length = int(rng.integers(len(ids) - 64)), int(rng.integers(1, 24))
        text = ODD[n] if n < len(ODD) else tokenizer.decode(ids[start : start + length])
        entry, over = (int(x) for x in rng.choice(880, 2, replace=False))
        silent = rng.choice([0, 0.9999, rng.random()])  # the embedding, the biases, any
        drawn.append({"text": text, "at": rng.random(), "entry": entry, "silent": float(silent)})
        drawn[-1]["over"] = over if n % 2 else None
    drawn[0]["silent"] = 0.012  # the position
    return drawn


def name_of(part: dict) -> tuple:
    """What logit_parts calls it."""
    kinds = {"attention": "head", "down": "feed-forward"}
    where = [part[n] for n in ("layer", "head", "key") if n in part]
    return (kinds.get(part["part"], part["part"]), *where)


def parts_of(model, ids_T, word: int, over: int | None) -> dict[tuple, float]:
    """logit_parts, over the mean logit where there is no other word."""
    if over is None:
        model, mean_C = copy.copy(model), model.head.weight.mean(0)
        model._modules = model._modules | {"head": copy.deepcopy(model.head)}
        model.head.weight -= mean_C
    return interpret.logit_parts(model, ids_T, word, over)


def lead(logits_V: torch.Tensor, word: int, over: int | None) -> float:
    return (logits_V[word] - (logits_V.mean() if over is None else logits_V[over])).item()


@torch.no_grad()
def without(model, ids_T, name: tuple) -> tuple[torch.Tensor, float]:
    """What the model says after a text if the last position's stream never gets a part.

    And how much what later parts add to it changes: its length, relative to that part's.
    """
    kind, *where = name
    block = model.blocks[where[0] - 1 if where else 0]
    attention, feed_forward = block.attention, block.feed_forward
    modules, taken = {  # by kind: which modules, and what is taken from their output
        "embedding": ([model.embedding], lambda m, given: m.weight[given[0, -1]]),
        "position": ([model.embedding], lambda *_: model.position.weight[len(ids_T) - 1]),
        "head": ([attention.out], lambda *_: read_C),
        "feed-forward": ([feed_forward.down], lambda m, given: m.weight @ given[0, -1]),
        "biases": (
            [
                model.norm,
                *(m for b in model.blocks for m in (b.attention.out, b.feed_forward.down)),
            ],
            lambda m, given: m.bias,
        ),
    }[kind]
    if kind == "head":
        layer, head, key = where
        x_TC = block.norm_1(interpret.stream(model, ids_T[None])[layer - 1])[0]
        v_TC, D = attention.qkv(x_TC).chunk(3, -1)[2], slice(32 * head - 32, 32 * head)
        weights_LHTT = interpret.attention_weights(model, ids_T[None])[:, 0]
        weight = weights_LHTT[layer - 1, head - 1, -1, key]
        read_C = attention.out.weight[:, D] @ (weight * v_TC[key, D])

    gone_C = 0

    def hook(module, given, out):
        nonlocal gone_C
        out, gone = out.clone(), taken(module, given[0])
        out[0, -1] -= gone
        gone_C = gone_C + (0 if module is model.norm else gone)
        return out

    whole_C = interpret.stream(model, ids_T[None])[-1][0, -1]
    with interpret.hooked(*(module.register_forward_hook(hook) for module in modules)):
        logits_V = model(ids_T[None])[0, -1]
        gone_C = 0  # which the next line runs into again
        left_C = interpret.stream(model, ids_T[None])[-1][0, -1]
    return logits_V, ((whole_C - gone_C - left_C).norm() / gone_C.norm()).item()


def test_a_logit_is_the_sum_of_python_s_parts_and_silence_is_the_model_s():
    """Each part, the sum, what it predicts without one, and what then comes."""
    model, tokenizer, asked = rounded_model(), shipped()[1], texts(TEXTS)
    kinds = set()
    for one, got in zip(asked, in_node(ASK, asked, script="machine"), strict=True):
        if one["text"] not in ODD:
            assert got["ids"] == tokenizer.encode(one["text"]).tolist()
        ids_T = torch.tensor(got["ids"][: got["position"] + 1])
        wanted = parts_of(model, ids_T, one["entry"], one["over"])
        found = {name_of(part): part["value"] for part in got["parts"]}
        assert found.keys() == wanted.keys()
        assert_close(found, wanted, **EXACT)

        now = lead(model(ids_T[None])[0, -1], one["entry"], one["over"])
        assert_close(sum(found.values()), now, **EXACT)
        name = name_of(got["part"])
        kinds.add(name[0])
        left_V, changed = without(model, ids_T, name)
        assert_close(torch.tensor(got["found"], dtype=torch.float64), left_V, **EXACT)
        assert_close(float(got["changed"]), changed, **EXACT)
        assert_close(got["said"], now - wanted[name], **EXACT)
        assert_close(
            got["said"] + got["later"] + got["norm"],
            lead(left_V, one["entry"], one["over"]),
            **EXACT,
        )
        assert got["opens"], one
    assert kinds == {"embedding", "position", "head", "feed-forward", "biases"}


# --- which words matter: a position that no later one may read -----------------------------------


@torch.no_grad()
def logits_hiding(model, ids_T, position: int) -> torch.Tensor:
    """The logits (T, V) if no later position reads one, by torch's attention with a bias."""
    bias_TT = torch.full((len(ids_T), len(ids_T)), -torch.inf, dtype=torch.float64).triu(1)
    bias_TT[position + 1 :, position] = -torch.inf
    x_TC = model.embedding.weight[ids_T] + model.position.weight[: len(ids_T)]
    for block in model.blocks:
        attention, normed_TC = block.attention, block.norm_1(x_TC)
        qkv_T3HD = attention.qkv(normed_TC).unflatten(-1, (3, attention.H, -1))
        mixed_HTD = F.scaled_dot_product_attention(*qkv_T3HD.permute(1, 2, 0, 3), bias_TT)
        x_TC = x_TC + attention.out(mixed_HTD.transpose(0, 1).flatten(1))
        x_TC = x_TC + block.feed_forward(block.norm_2(x_TC))
    return model.head(model.norm(x_TC))


HIDE = """asked => {
    const model = unpack(bookGPTWeights);
    return asked.map(({ text, at }) => {
        const { ids } = tokenize(model, text), cache = kvCache(model);
        const hidden = Math.floor(at * ids.length);
        const logits = ids.map(id => [...read(model, cache, id, { hidden }).logits_V]);
        return { ids, hidden, logits };
    });
}"""


def test_a_hidden_position_is_python_s_attention_bias():
    """Every one of the page's sentence, and of other texts one; the last, which is read still."""
    model, ids_T = rounded_model(), shipped()[1].encode(machine.TEXT)
    assert_close(logits_hiding(model, ids_T, len(ids_T) - 1), model(ids_T[None])[0], **EXACT)
    asked = [{"text": machine.TEXT, "at": t / len(ids_T)} for t in range(len(ids_T))] + texts(24)
    for got in in_node(HIDE, asked):
        wanted = logits_hiding(model, torch.tensor(got["ids"]), got["hidden"])
        assert_close(torch.tensor(got["logits"], dtype=torch.float64), wanted, **EXACT)


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
    n = len(shipped()[1].encode(text))
    page.locator(".machine-why p", has_text=re.compile(rf"the stream of .*\({n}\)")).wait_for()
    page.wait_for_function("document.activeElement.id === 'why'")


def columns(page) -> dict[str, float]:
    """The table of reasons: what each row says and adds."""
    rows = page.locator(".machine-why .machine-reasons > tbody > tr:not(.machine-silenced)")
    found = rows.evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    return {cells[0]: read(cells[1]) for cells in found}


def test_a_reason_is_a_press_away_and_adds_up(page):
    asked(page)
    model, tokenizer = rounded_model(), shipped()[1]
    ids_T = tokenizer.encode(machine.TEXT)
    word, over = model(ids_T[None])[0, -1].topk(2).indices.tolist()
    wanted = interpret.logit_parts(model, ids_T, word, over)
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
    biases = columns(page)["biases added to the stream, and the last norm’s β"]
    assert biases == pytest.approx(wanted["biases",], abs=NEAR)
    page.get_by_role("button", name="Silence: layer 1, feed-forward").press("Enter")
    says = page.locator(".machine-silenced p")
    says.get_by_text("without this part at “\u00a0too” (11), computed").wait_for()
    says.get_by_text("Its bias stays").wait_for()
    page.get_by_role("button", name="Put back: ").press("Enter")
    page.get_by_role("button", name="The largest alone").press("Enter")
    page.get_by_role("button", name="Over the mean logit").press("Enter")
    page.locator(".machine-sum", has_text="over the mean logit").wait_for()
    total = [*columns(page).values()][-1]
    assert total == pytest.approx(lead(model(ids_T[None])[0, -1], word, None), abs=NEAR)
    page.get_by_role("button", name="Over another word").press("Enter")


def words(page) -> list[str]:
    page.locator(".machine-words li:first-child", has_text="→").wait_for()  # which comes last
    return page.locator(".machine-words li span").all_text_contents()


def test_each_earlier_word_says_what_is_left_without_it(page):
    model, tokenizer = rounded_model(), shipped()[1]
    for text in (machine.TEXT, "Dapple the deer was so tired that she could not walk"):
        asked(page, text)
        ids_T = tokenizer.encode(text)
        p_V = model(ids_T[None])[0, -1].softmax(-1)
        word, shown = int(p_V.argmax()), [f"{written(p_V)[0]}, reads them"]
        falls = []
        for position in range(len(ids_T) - 1):
            left_V = logits_hiding(model, ids_T, position)[-1].softmax(-1)
            falls.append(p_V[word] - left_V[word])
            then = tokenizer.vocab[left_V.argmax()].replace(" ", "\u00a0")
            then = "" if left_V.argmax() == word else f", then “{then}”"
            left = f"{100 * left_V[word]:.1f}%" if left_V[word] >= 0.0005 else "< 0.1%"
            shown.insert(-1, f"{written(p_V)[0][:-1]} → {left}{then}")
        page.locator(".machine-words b", has_text=text.split()[-1]).last.wait_for()
        assert words(page) == shown
        most = f"Most is lost when “\u00a0{text.split()[int(np.argmax(falls))]}”"
        if max(falls) < 0.01 * p_V[word]:
            most = f"“{tokenizer.vocab[word]}” needs no single one".replace(" ", "\u00a0", 1)
        page.locator(".machine-why p", has_text=most).wait_for()
        tints = page.locator(".machine-words li").evaluate_all(
            "all => all.map(li => Number(li.style.getPropertyValue('--share')))"
        )
        assert np.argmax(tints) == np.argmax(falls)


def test_without_scripts_each_earlier_word_says_what_is_left_without_it(html_root):
    model, ids_T = rounded_model(), shipped()[1].encode(machine.TEXT)
    page = BeautifulSoup((html_root / PAGE).read_text("utf-8"), "html.parser")
    table = page.select(".machine-still table")[1]
    p_V = model(ids_T[None])[0, -1].softmax(-1)
    assert f"has {written(p_V)[0]}." in " ".join(table.caption.text.split())
    for hidden, cell in enumerate(table.select("td")):
        left_V, word = logits_hiding(model, ids_T, hidden)[-1].softmax(-1), int(p_V.argmax())
        shares = [cell.text.partition(",")[0], f"{100 * left_V[word]:.1f}%"]
        assert shares[0] == (shares[1] if left_V[word] >= 0.0005 else "< 0.1%")
        then = shipped()[1].vocab[left_V.argmax()]
        assert (left_V.argmax() == word) == ("then" not in cell.text)
        assert left_V.argmax() == word or then.strip() in cell.text
    assert hidden == len(ids_T) - 2


PATCH = """([ids, other, at]) => {
    const model = unpack(bookGPTWeights);
    const last = (ids, change) => {
        const cache = kvCache(model);
        return ids.map((id, t) => read(model, cache, id, change?.(t))).at(-1);
    };
    const cache = kvCache(model), seen = other.map(id => read(model, cache, id));
    return seen.slice(at).map(({ layers }, n) => layers.map(({ stream }, level) =>
        [...last(ids, t => (t === at + n ? { patch: { [level]: stream } } : {})).logits_V]));
}"""


def swapped(word: str, other: str) -> tuple[torch.Tensor, torch.Tensor, int, np.ndarray]:
    """The page's sentence, the other, where they differ, and logits (position, level, V)."""
    model, tokenizer = rounded_model(), shipped()[1]
    ids_T, other_T = (tokenizer.encode(machine.TEXT.replace(word, w)) for w in (word, other))
    at, found = int((ids_T != other_T).nonzero()), []
    for t in range(at, len(ids_T)):
        for level, x_BTC in enumerate(interpret.stream(model, other_T[None])):
            with interpret.patched(model, level, t, x_BTC[:, t]):
                found.append(model(ids_T[None])[0, -1].numpy())
    return ids_T, other_T, at, np.reshape(found, (len(ids_T) - at, -1, len(found[0])))


def test_a_vector_put_in_is_python_s_patch():
    ids_T, other_T, at, wanted = swapped("stream", "brook")
    found = in_node(PATCH, [ids_T.tolist(), other_T.tolist(), at])
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


ALIKE = """(words) => {
    const model = unpack(bookGPTWeights);
    return words.map(word => likeliest(usedAlike(model, model.ids.get(word)), 21)
        .map(id => model.vocab[id].trim()));
}"""


@pytest.mark.parametrize("column", [0, 1])
def test_used_like_a_name_are_names_and_like_a_kind_of_hero_kinds(column):
    rows = valley.grammar()["facts"]["hero, kind, they, them, their"]
    wanted = [row.split(", ")[column] for row in rows]
    for word, found in zip(wanted, in_node(ALIKE, [f" {w}" for w in wanted]), strict=True):
        assert found[0] == word
        assert set(found) <= set(wanted)


def test_a_swapped_word_shows_where_the_difference_is_held(page):
    asked(page)
    words(page)
    ids_T, other_T, at, logits = swapped("stream", "road")
    model = rounded_model()
    page.locator(".machine-words button", has_text="stream").press("Enter")
    assert page.locator('[name="swapped"]').input_value() == str(at)
    assert page.locator('[name="swap"]').evaluate("e => e === document.activeElement")
    page.locator('[name="swap"]').fill("road")
    page.locator('[name="swap"]').press("Enter")
    cells = page.locator(".machine-swap td")
    page.wait_for_function(
        "() => (all => all.length && all.every(cell => cell.textContent.includes('%')))"
        "([...document.querySelectorAll('.machine-swap td')])"
    )
    wide = int(model(ids_T[None])[0, -1].argmax())
    shares = torch.tensor(logits).softmax(-1)[..., wide].flatten().tolist()
    shown = [f"{100 * p:.1f}%" if p >= 0.0005 else "< 0.1%" for p in shares]
    assert cells.all_text_contents() == shown
    assert shown[0] == shown[-1]  # the swap itself, and all that the head reads
    with_road = model(other_T[None])[0, -1].softmax(-1)[wide].item()
    page.locator(".machine-why p", has_text=f" → {100 * with_road:.1f}%. In").wait_for()
    address = page.evaluate("location.hash")  # which shows the same to who follows it
    asked(page, "The old hen")
    page.evaluate("hash => { location.hash = hash; }", address)
    page.locator(".machine-why p", has_text=f" → {100 * with_road:.1f}%. In").wait_for()
    assert page.locator('[name="swap"]').input_value() == "road"
    assert page.locator('[name="swapped"]').input_value() == str(at)


def test_any_known_word_can_be_put_and_for_a_pronoun_others_come_first(page):
    asked(page)
    words(page)
    put, says = page.locator('[name="swap"]'), page.locator(".machine-swap-says")
    page.locator(".machine-words button", has_text=re.compile("^it$")).click()
    offered = page.locator("#machine-alike option").evaluate_all("all => all.map(o => o.value)")
    assert set(offered[:8]) == {"he", "she", "they", "him", "her", "them", "his", "its"}
    for typed, refused in (("xyzzy", "does not know “xyzzy”"), ("she and", "one word")):
        put.fill(typed)
        put.press("Enter")
        says.get_by_text(refused).wait_for()
        assert "swap=" not in page.evaluate("location.hash")
        assert put.input_value() == typed
    model, tokenizer = rounded_model(), shipped()[1]
    p_2V = torch.stack(
        [
            model(tokenizer.encode(text)[None])[0, -1].softmax(-1)
            for text in (machine.TEXT, machine.TEXT.replace(" it ", " badger "))
        ]
    )
    then = written(p_2V[1, p_2V[0].argmax()][None])[0]
    put.fill("badger ")  # as a telephone's keyboard leaves it
    put.press("Enter")
    says.get_by_text(
        f"“\u00a0badger” for “\u00a0it”: “\u00a0wide” {written(p_2V[0])[0][:-1]} → {then}"
    ).wait_for()


def reading() -> tuple[dict, tuple, str]:
    """The parts of the opening text's lead, the head that adds most to it, and its row's words."""
    ids_T = shipped()[1].encode(machine.TEXT)
    over = rounded_model()(ids_T[None])[0, -1].topk(2).indices.tolist()
    parts = interpret.logit_parts(rounded_model(), ids_T, *over)
    heads = [part for part in parts if part[0] == "head"]
    _, layer, head, key = most = max(heads, key=lambda part: abs(parts[part]))
    token = shipped()[1].vocab[ids_T[key]].replace(" ", "\u00a0")
    return parts, most, f"layer {layer}, head {head} reads “{token}” ({key + 1})"


def test_a_part_silenced_shows_prediction_and_truth(page):
    asked(page)
    (parts, part, name), (_, tokenizer) = reading(), shipped()
    ids_T = tokenizer.encode(machine.TEXT)
    logits_V = rounded_model()(ids_T[None])[0, -1]
    left_V, changed = without(rounded_model(), ids_T, part)
    wide, over = logits_V.topk(2).indices.tolist()
    page.get_by_role("button", name=f"Silence: {name}").press("Enter")
    shown = page.locator(".machine-silenced tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.querySelectorAll('td')].map(c => c.textContent))"
    )
    before, after = (written(of_V.softmax(-1)[None, wide])[0] for of_V in (logits_V, left_V))
    leads = [float(of_V[wide] - of_V[over]) for of_V in (logits_V, left_V)]
    wanted = [leads[0], leads[0] - parts[part], leads[1]]
    assert [shown[0][0], shown[0][2]] == [before, after]
    assert tokenizer.vocab[left_V.argmax()].strip() in shown[1][2]
    assert [read(x) for x in shown[2]] == pytest.approx(wanted, abs=NEAR)
    page.locator(".machine-silenced p", has_text=f"{before[:-1]} → {after}").wait_for()
    bar = page.locator(".machine-answer")
    bar.get_by_role("button", name=f"wide” {after} (was {before})").wait_for()
    length = f"a vector {100 * changed:.1f}% as long as the one left out"
    page.locator(".machine-silenced p", has_text=length).wait_for()
    assert page.locator(f'[data-piece="{part[1]}.{part[2]}"].lit').count() == 1
    page.get_by_role("button", name=f"Put back: {name}").press("Enter")
    assert page.locator(".machine-silenced").count() == 0
    assert "(was" not in bar.text_content()


def test_a_silenced_head_leaves_the_question_as_it_was(page):
    text = "The fox did not cross because it was too"
    ids_T, vocab = shipped()[1].encode(text), shipped()[1].vocab
    asked(page, text)
    page.locator('[name="layer"]').select_option("1")
    page.locator('[name="head"]').select_option("1")
    page.locator('[name="works"]').select_option("silent")
    page.locator(".machine-after", has_text="in the changed machine").wait_for()
    with torch.no_grad(), interpret.without_heads(rounded_model(), [(1, 1)]):
        assert vocab[rounded_model()(ids_T[None])[0, -1].argmax()] == " wide"
    assert vocab[rounded_model()(ids_T[None])[0, -1].argmax()] == " high"
    why = page.locator('[name="why"]').evaluate("e => e.selectedOptions[0].textContent")
    assert why.startswith("“\u00a0high”")
    page.get_by_role("button", name="Undo all changes").click()
    page.locator(".machine-after", has_text=re.compile(r"\(9\)$")).wait_for()


def test_the_button_that_loads_is_on_a_telephone_s_first_screen(browser, site_url):
    context = browser.new_context(**playing.PHONE)
    page = context.new_page()
    page.goto(f"{site_url}/{PAGE}#text=The+fox&why=")
    load = page.get_by_role("button", name="Load the model").bounding_box()
    assert load["y"] + load["height"] < playing.PHONE["viewport"]["height"]
    context.close()


def test_a_row_opens_its_number_and_back_leads_to_the_reasons(page):
    asked(page)
    _, (_, layer, head, _), name = reading()
    page.get_by_role("button", name=name, exact=True).click()
    reads = name.partition(" reads ")[2]
    opens(page, f"Attention weight “\u00a0too” (11) reads {reads} · layer {layer} · head {head}")
    page.locator(f'[data-piece="{layer}.{head}"][aria-current]').wait_for()  # where one is
    picture = page.locator(".machine-picture")
    assert picture.evaluate("e => e.getBoundingClientRect().top >= 0 && scrollY > 500")
    page.get_by_role("button", name="Back", exact=True).click()
    page.wait_for_function("document.activeElement.id === 'why'")


def test_the_lead_over_a_word_of_one_s_own_choice_has_an_address(page):
    asked(page)
    model, tokenizer = rounded_model(), shipped()[1]
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
    wanted, _, _ = reading()
    assert page.locator(".machine-picture button").count() == 2 + 4 * (4 + 1)
    words = page.locator("#machine-all").text_content()
    for layer in range(1, 5):
        for head in range(1, 5):
            total = sum(x for name, x in wanted.items() if name[:3] == ("head", layer, head))
            found = re.search(rf"layer {layer}, head {head} ([+−][\d.]+)", words)
            assert read(found[1]) == pytest.approx(total, abs=NEAR)
    page.get_by_role("button", name="Layer 3, head 2", exact=True).press("Enter")
    page.locator(".machine-map canvas[aria-label^='Layer 3, head 2']").wait_for()
    page.locator(".machine-here", has_text="layer 3, head 2").wait_for()
