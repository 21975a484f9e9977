"""What the correction of chapter 12 says, found again: from the shipped reader, in torch."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file
from support import ROOT
from torch.nn import functional as F

from helpers.chapters.ch12_inside_the_gpt import corrections as module

STORED = json.loads((ROOT / "helpers/data/results/12_inside_the_gpt.json").read_text("utf-8"))[
    "pronouns"
]
(SHIPPED,) = (ROOT / "helpers/data/checkpoints/both_ways").glob("checkpoint-*")
IT, HEADS = 8, 4


def runs() -> list[dict]:
    found = [s["runs"] for s in STORED["settings"] if (s["causal"], s["L"]) == (False, 4)]
    assert len(found) == 1
    return found[0]


def test_numbers_are_those_that_are_stored():
    (correction,) = module.CORRECTIONS
    said = [float(n) for n in re.findall(r"\d+", correction.shown())]
    right = [[sum(layer) / HEADS for layer in run["right"]] for run in runs()]
    best = [max(by_layer) for by_layer in right]
    layers = sorted({by_layer.index(max(by_layer)) + 1 for by_layer in right})
    most_lost = max(r["resolved"] - r["cut right"][-1] for r in runs())
    ends = [min(best), max(best)], [by_layer[-1] for by_layer in right], [most_lost] * 2
    wanted = [8, 4, *layers]
    for part, after in zip(ends, ([], [4, 4], []), strict=True):
        low, high = (round(100 * f(part)) for f in (min, max))
        wanted += [low] if low == high else [low, high]
        wanted += after
    deep = [
        [sum(layer) for layer in run["right"]]
        for setting in STORED["settings"]
        for run in setting["runs"]
        if setting["L"] >= 2
    ]
    wanted += [len(deep), sum(right[-1] == max(right) for right in deep)]
    assert said == wanted


def test_it_is_no_law_the_other_way_either():
    """Some readers look hardest in the last layer, and need it: the correction must say so."""
    (correction,) = module.CORRECTIONS
    lost = [
        run["resolved"] - run["cut right"][-1]
        for setting in STORED["settings"]
        for run in setting["runs"]
        if setting["L"] >= 2 and max(map(sum, run["right"])) == sum(run["right"][-1])
    ]
    assert len(lost) >= 1
    assert max(lost) > 0.3
    assert "depends on the model" in correction.why


def test_the_claim_is_refuted_in_every_seed():
    for run in runs():
        right = [sum(layer) / HEADS for layer in run["right"]]
        assert max(right[:2]) > 1.5 * right[-1]
        assert abs(run["cut right"][-1] - run["resolved"]) < 0.03


@torch.no_grad()
def attention_of_it(words: list[str], adjective: str) -> list[torch.Tensor]:
    """Weights of "it" in each layer and head of the shipped reader, by plain torch."""
    whole = json.loads((SHIPPED / "checkpoint.json").read_text("utf-8"))
    w = {k.partition("/")[2]: v for k, v in load_file(SHIPPED / "tensors.safetensors").items()}
    sentence = [*words, adjective]
    ids = torch.tensor([whole["extra"]["vocab"].index(word) for word in sentence])
    T, C = len(sentence), w["embedding.weight"].shape[1]
    (table,) = (v for k, v in w.items() if k.startswith("position."))
    x, found = w["embedding.weight"][ids] + table[:T], []
    for layer in range(4):
        part = {
            k.removeprefix(f"blocks.{layer}."): v
            for k, v in w.items()
            if k.startswith(f"blocks.{layer}.")
        }

        def norm(x, name, part=part):
            return F.layer_norm(x, (C,), part[f"{name}.norm.weight"], part[f"{name}.norm.bias"])

        def linear(x, name, part=part):
            return F.linear(x, part[f"{name}.weight"], part[f"{name}.bias"])

        qkv = linear(norm(x, "attention"), "attention.sublayer.qkv")
        q, k, v = qkv.view(T, 3, HEADS, -1).permute(1, 2, 0, 3)
        weights = (q @ k.mT / (C // HEADS) ** 0.5).softmax(-1)
        found.append(weights[:, IT])
        x = x + linear((weights @ v).transpose(0, 1).reshape(T, C), "attention.sublayer.out")
        hidden = F.gelu(linear(norm(x, "feed_forward"), "feed_forward.sublayer.up"))
        x = x + linear(hidden, "feed_forward.sublayer.down")
    return found


def test_the_shipped_reader_looks_early():
    words = ["the", "fox", "did", "not", "cross", "the", "stream", "because", "it", "was", "too"]
    wide, tired = attention_of_it(words, "wide"), attention_of_it(words, "tired")
    early = max((wide[i][:, 6].mean() + tired[i][:, 1].mean()).item() / 2 for i in (0, 1))
    late = (wide[3][:, 6].mean() + tired[3][:, 1].mean()).item() / 2
    assert early > late
    odds = wide[0][:, 6] / wide[0][:, 1], tired[0][:, 6] / tired[0][:, 1]
    torch.testing.assert_close(*odds, rtol=1e-3, atol=0)


@pytest.mark.parametrize("kind", ["right", "cut right"])
def test_stored_numbers_are_shares(kind):
    values = torch.tensor([run[kind] for run in runs()])
    assert values.shape[:2] == (8, 4)
    assert ((values >= 0) & (values <= 1)).all()
