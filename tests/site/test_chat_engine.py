"""The chat model in the page, run in Node: held to Python's SmolLM2, in float32."""

import itertools
import json
import subprocess
from pathlib import Path

import numpy as np
import play
import pytest
import torch
import torch.nn.functional as F
from play import watch
from postprocess.maths import node

from helpers import corpus, interpret, minillama, pretrained

PROMPTS = """What is the capital of France?
Why is the sky blue?
Write a poem about a fox.
How many legs does a spider have?
Name three fruits.
Explain gravity to a child.
Translate 'good morning' into French.
What is 12 plus 30?
Who wrote Hamlet?
Give me a recipe for pancakes.""".splitlines()
ASKED = 0, 4  # tokens of each answer, whose reasons are asked
FILE = corpus.cache_dir() / Path(pretrained.MEMBER).name
CODES = [watch.kernel("train"), watch.kernel("chat")]
OPEN = """const last = (task) => [...task].at(-1), { readFileSync, writeFileSync } = require("fs");
const open = ({ file, code }) => chatModel(readGGUF(readFileSync(file).buffer), code);
"""


def in_node(function: str, **asked):
    """What this function of the chat model, and of what is asked, makes of them."""
    given = {"file": str(FILE), "code": CODES} | asked
    opened = f"(asked) => ({function})(open(asked), asked)"
    return play.in_node([play.bundled("chat"), OPEN], opened, given)


TOKENS = """({ tokenizer: { encode, decoder }, tasks }, { texts, messages }) => {
    const tokens = last(tasks.tokenize(messages)).tokens;
    return [texts.map(encode), tokens.map(({ id }) => id), encode(messages[1][1]).map(decoder())];
}"""


def test_tokens_are_python_s(smollm2):
    stored = Path(__file__).parents[1] / "core" / "smollm2_tokens.json"
    texts = json.loads(stored.read_text("utf-8"))
    messages = [("system", "Be brief."), ("user", "Hé 😀\n\n  12!"), ("assistant", "<|im_end|> 7")]
    found, template, told = in_node(TOKENS, texts=list(texts), messages=messages)
    assert found == list(texts.values())
    assert template == minillama.chat_ids(smollm2[1], messages)[0].tolist()
    assert "".join(told) == messages[1][1]
    assert "\ufffd" not in "".join(told)  # a character is held back until it is whole


TEN = """({ model, tokenizer, tasks }, { prompts, system, asked, folder }) =>
    prompts.map((prompt, i) => {
        const ids = chatIds(tokenizer, [["system", system], ["user", prompt]]), at = ids.length;
        const V = model.sizes.V, logits = new Float32Array(20 * V);
        for (let n = 0; n < 20; n++) {
            last(readText(model, ids));
            logits.set(model.logits(), n * V);
            const written = logits.subarray(n * V, (n + 1) * V);
            ids.push(written.indexOf(written.reduce((a, b) => Math.max(a, b))));
        }
        writeFileSync(`${folder}/${i}`, logits);
        const reasons = asked.map((n) => last(tasks.reasons({ ids, at: at + n })).reasons);
        return { at, ids, reasons };
    })"""


@pytest.fixture(scope="module")
def ten(smollm2, tmp_path_factory):
    """Of each prompt what the page computes, and Python's stream."""
    folder = str(tmp_path_factory.mktemp("logits"))
    found = in_node(TEN, prompts=PROMPTS, system=pretrained.SYSTEM, asked=ASKED, folder=folder)
    for i, one in enumerate(found):
        one["logits"] = np.fromfile(f"{folder}/{i}", np.float32).reshape(20, -1)
        one["levels"] = interpret.stream(smollm2[0], torch.tensor([one["ids"][:-1]]))
    return found


def test_ten_answers_are_python_s(smollm2, ten):
    """Or part from them where the two largest logits are closer than rounding leaves them."""
    for one in ten:
        wanted = interpret.lens(smollm2[0], one["levels"][-1])[0, one["at"] - 1 :].numpy()
        off = np.abs(one["logits"] - wanted).max(axis=1)
        assert off.max() < 0.02  # which the page says
        written = one["ids"][one["at"] :]
        assert one["logits"].argmax(axis=1).tolist() == written
        assert (wanted.max(axis=1) - wanted[range(20), written] <= 2 * off).all()


@torch.no_grad()
def parts(model, levels, at: int, token: int):
    """What embedding, heads (L, H, T) and networks (L,) add to a logit less the mean of all."""
    W_VC, x_BTC = model.head.weight, levels[-1][:, at]
    toward_C = (W_VC[token] - W_VC.mean(0)) * (model.norm(x_BTC) / x_BTC)[0]
    heads, feeds = [], []
    for block, x_BTC in zip(model.blocks, levels, strict=False):
        q, _, v = block.attention.project(block.norm_1(x_BTC))
        read_HT = interpret.block_scores(block, x_BTC)[0, :, at, : at + 1].softmax(-1)
        v_HTD = v[0, :, : at + 1].repeat_interleave(q.shape[1] // v.shape[1], 0)
        out_CHD = block.attention.out.weight.unflatten(1, (q.shape[1], -1))
        added_HTC = torch.einsum("ht,htd,chd->htc", read_HT, v_HTD, out_CHD)
        heads.append(added_HTC @ toward_C)
        middle_C = x_BTC[0, at] + added_HTC.sum((0, 1))
        feeds.append(block.feed_forward(block.norm_2(middle_C)) @ toward_C)
    return levels[0][0, at] @ toward_C, torch.stack(heads), torch.stack(feeds)


def test_reasons_of_twenty_tokens_are_python_s(smollm2, ten):
    for one, n in itertools.product(ten, (0, 1)):
        at, found = one["at"] + ASKED[n] - 1, one["reasons"][n]
        wanted = parts(smollm2[0], one["levels"], at, one["ids"][at + 1])
        embedding, heads, feeds = (part.numpy() for part in wanted)
        near = {"rtol": 0, "atol": 1e-3 * max(abs(feeds).max(), abs(heads.sum(-1)).max())}
        summed, ffn = ([block[name] for block in found["blocks"]] for name in ("heads", "ffn"))
        np.testing.assert_allclose(found["embedding"], embedding, **near)
        np.testing.assert_allclose(found["byPosition"], heads, **near)
        np.testing.assert_allclose(summed, heads.sum(-1), **near)
        np.testing.assert_allclose(ffn, feeds, **near)
        whole = found["embedding"] + np.sum(summed) + np.sum(ffn)
        assert whole == pytest.approx(found["logit"] - found["mean"], abs=1e-3)
        x_BTC = torch.stack([x_BTC[0, at] for x_BTC in one["levels"]])[None]
        p_LV = interpret.lens(smollm2[0], x_BTC)[0].softmax(-1)
        said = [[token["probability"] for token in top] for top in found["lens"]]
        np.testing.assert_allclose(said, p_LV.topk(3).values, atol=0.01)
        ids = torch.tensor([[token["id"] for token in top] for top in found["lens"]])
        np.testing.assert_allclose(said, p_LV.gather(1, ids), atol=0.01)


WHY = """({ tokenizer, tasks: { mattered, swap, attention } }, { prompt }) => {
    const { ids, encode } = tokenizer, asked = chatIds(tokenizer, [["user", prompt]]);
    const text = [...asked, ...encode("The capital of France")], at = text.length - 1;
    const [capital, france] = ["Ġcapital", "ĠFrance"].map((word) => text.indexOf(ids.get(word)));
    const hidden = [[capital, france], [france, france + 1]];
    const other = text.with(france, ids.get("ĠItaly"));
    return { text, other, hidden, mattered: [...mattered({ ids: text, at, words: hidden })],
        weights: last(attention({ ids: text, block: 3, head: 4 })).weights.map((row) => [...row]),
        swap: [...swap({ ids: text, other, at, levels: [0, 14] })],
        again: last(mattered({ ids: text, at, words: [] })) };
}"""


@torch.no_grad()
def test_words_hidden_and_words_swapped_do_what_they_do_in_python(smollm2, monkeypatch):
    found, model = in_node(WHY, prompt=PROMPTS[0]), smollm2[0]
    text_BT, other_BT = (torch.tensor([found[name]]) for name in ("text", "other"))
    weights_TT = interpret.attention_weights(model, text_BT)[3, 0, 4]
    np.testing.assert_allclose(found["weights"], weights_TT, atol=1e-3)
    asked_BT, token, near = text_BT[:, :-1], text_BT[0, -1], {"abs": 0.02}
    whole, *words = found["mattered"]
    attention = F.scaled_dot_product_attention
    logits = model(asked_BT)[0, -1]
    assert whole["whole"] == pytest.approx(logits.log_softmax(-1)[token].item(), **near)
    assert found["again"] == whole  # whatever was read in between
    for word in words:
        begin, end = found["hidden"][word["word"]]

        def hiding(q, k, v, sees_TT, begin=begin, end=end):
            sees_TT[end:, begin:end] = False
            return attention(q, k, v, sees_TT)

        monkeypatch.setattr(F, "scaled_dot_product_attention", hiding)
        wanted = model(asked_BT)[0, -1].log_softmax(-1)
        assert word["logProbability"] == pytest.approx(wanted[token].item(), **near)
        assert word["top"][0]["id"] == wanted.argmax()
    monkeypatch.undo()
    begun, *rows = found["swap"]
    assert begun["ours"] > 1
    assert begun["theirs"] < -1
    levels = interpret.stream(model, other_BT[:, :-1])
    for row in rows:
        for position in (begun["first"], begun["first"] + 4, asked_BT.shape[1] - 1):
            x_BC = levels[row["level"]][:, position]
            with interpret.patched(model, row["level"], position, x_BC):
                logits = model(asked_BT)[0, -1]
            lead = (logits[token] - logits[begun["instead"]["id"]]).item()
            assert row["row"][position - begun["first"]] == pytest.approx(lead, **near)


# --- in the worker: messages, and files that are none --------------------------------------------

WORKER = """globalThis.WorkerGlobalScope = true;
const heard = [], say = (data) => onmessage({ data });
const bytesOf = (path) => new Uint8Array(require("fs").readFileSync(path)).buffer;
globalThis.postMessage = (message) => {
    heard.push(message);
    if (message.id === "stopped" && message.token) say({ stop: "stopped" });
    const ended = message.id === "last" && (message.done || message.error);
    if (ended) console.log(JSON.stringify(heard));
};
"""


def talk(*messages: dict, before: str = "") -> dict[str, list[dict]]:
    """What the worker answers, by id; `load` is a path."""
    said = json.dumps([{"code": CODES} | message for message in messages])
    each = "say(message.load ? { ...message, load: bytesOf(message.load) } : message)"
    script = f"{WORKER}{before}{play.bundled('chat')}for (const message of {said}) {each};"
    done = subprocess.run([node(), "-"], input=script, capture_output=True, text=True, check=True)
    answers: dict[str, list[dict]] = {}
    for message in json.loads(done.stdout):
        answers.setdefault(message.pop("id"), []).append(message)
    return answers


def asking(name: str, question: str, **changed) -> dict:
    return {"id": name, "answer": {"messages": [["user", question]], "n": 6} | changed}


@pytest.mark.usefixtures("smollm2")
def test_the_worker_answers_in_turn_stops_and_begins_anew():
    heard = talk(
        {"id": "load", "load": str(FILE), "sha256": pretrained.SHA256},
        asking("first", PROMPTS[0]),
        asking("stopped", PROMPTS[2], n=50),
        *(asking(f"drawn {n}", PROMPTS[2], temperature=1, seed=n % 2) for n in range(3)),
        asking("long", "a " * 3000),
        asking("last", PROMPTS[0]),
    )
    done = {name: said[-1]["done"] for name, said in heard.items() if "done" in said[-1]}
    assert heard["load"][0]["ready"]["bytes"] == FILE.stat().st_size
    assert done["first"] == done["last"]
    assert done["stopped"]["stopped"] == "you"
    assert len(done["stopped"]["ids"]) - done["stopped"]["prompt"] < 25
    assert done["drawn 0"] == done["drawn 2"] != done["drawn 1"]
    assert "2048" in heard["long"][0]["error"]


def test_files_that_hold_no_such_model_get_a_sentence(smollm2, tmp_path):
    whole = FILE.read_bytes()
    files = {
        b"": "no GGUF",
        b"a text, and no model": "no GGUF",
        whole.replace(b"llama", b"qwen2", 1): "another model",
        whole[:1000]: "ends early",
        whole[:-1]: "ends early",
        whole.replace(b"llama.block_count", b"llama.block_c0unt"): "damaged",
        whole[:-1] + b"!": "damaged",
    }
    loads = []
    for n, data in enumerate(files):
        (tmp_path / str(n)).write_bytes(data)
        loads.append({"id": n, "load": str(tmp_path / str(n)), "sha256": pretrained.SHA256})
    heard = talk(*loads, asking("last", PROMPTS[0]))
    for n, says in enumerate(files.values()):
        assert says in heard[n][0]["error"]
    assert "error" in heard["last"][0]  # nothing is left of any


@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize(("lacks", "says"), [("Module", "SIMD"), ("Memory", "memory")])
def test_a_browser_that_cannot_run_it_is_told_why(lacks, says):
    before = f"WebAssembly.{lacks} = function () {{ throw new RangeError(); }};"
    heard = talk({"id": "last", "load": str(FILE)}, before=before)
    assert says in heard["last"][0]["error"]
