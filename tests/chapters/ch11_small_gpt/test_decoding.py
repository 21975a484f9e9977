"""The rules of decoding: by hand, against all texts there are, and a stored run again."""

from itertools import product

import pytest
import torch

from helpers.chapters import stored
from helpers.chapters.ch11_small_gpt import decoding
from helpers.chapters.lab import runs
from helpers.minigpt import GPT


@pytest.mark.parametrize(
    ("keep", "p", "kept"),
    [
        (decoding.top_p, 0.45, [1]),
        (decoding.top_p, 0.7, [1, 3]),
        (decoding.top_p, 0.9, [1, 2, 3]),
        (decoding.min_p, 0.5, [1, 3]),
        (decoding.min_p, 0.2, [1, 2, 3]),
        (decoding.min_p, 1.0, [1]),
    ],
)
def test_a_rule_keeps_these_tokens(keep, p, kept):
    logits_BV = torch.tensor([[0.05, 0.5, 0.15, 0.3]]).log()
    assert keep(logits_BV, p)[0].isfinite().nonzero()[:, 0].tolist() == kept


def test_a_wide_enough_beam_finds_the_likeliest_of_all_texts():
    torch.manual_seed(1)
    model = GPT(V=3, T=8, C=8, H=2, L=1)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    texts = torch.tensor([[0, *rest] for rest in product(range(3), repeat=4)])
    with torch.no_grad():
        log_p = model.eval()(texts[:, :-1]).log_softmax(dim=-1)
    sums = log_p.gather(-1, texts[:, 1:, None])[..., 0].sum(dim=1)
    found = decoding.beam(model, texts[:1, :1], 4, width=27)
    assert found[0].tolist() == texts[sums.argmax()].tolist()


@pytest.mark.parametrize("rule", ["the tale itself", "likeliest"])
def test_a_stored_surprise_is_found_again(rule):
    [one] = [run for run in runs(stored(11)["decoding"], rule=rule) if run["seed"] == 3]
    assert decoding.run(3, rule=rule)["surprise"] == pytest.approx(one["surprise"], abs=0.002)
