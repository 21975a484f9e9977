"""The measurements of chapter 13: a slice of each stored part is what its code makes now."""

import math
from collections import Counter

import pytest
import torch

from helpers.chapters.ch13_tokens import lab
from helpers.minigpt import GPT

TEN = ["wide"] * 3 + ["wider", "tired", "tired", "tire", "wire", "wider", "fire"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("part", "setting"),
    [("vocabulary", {"merges": 64}), ("vocabulary, longer", {"merges": 64, "of_characters": 600})],
)
def test_short_runs_are_the_start_of_the_stored_ones(part, setting):
    stored = lab.PARTS[part].runs(**setting)[0]
    _, losses = lab.trained(0, **setting, steps=lab.FIRST)
    assert losses == pytest.approx(stored["first"], abs=0.02)
    assert stored["steps"] == lab.steps_for(**setting)


@pytest.mark.nightly
def test_digits_are_added_as_stored():
    found = lab.adder(0, lab.DIGITS)
    assert found["unseen"] == pytest.approx(
        lab.PARTS["sums"].runs(pattern=lab.DIGITS)[0]["unseen"], abs=0.02
    )


@pytest.mark.nightly
def test_smollm2_predicts_the_tales_as_stored(smollm2):
    [stored] = lab.PARTS["smollm2"].runs(context=512)
    assert lab.of_smollm2(0, 512)["bits"] == pytest.approx(stored["bits"], abs=0.01)


@pytest.mark.parametrize("merges", [None, 64])
def test_equal_probabilities_cost_the_log_of_the_vocabulary(merges):
    V = len(lab.tokenizer(merges).vocab)
    model = GPT(V, T=64, C=8, H=1, L=1)
    torch.nn.init.zeros_(model.head.weight)
    tokens, size = len(lab.encoded(merges)[1]) - 1, len(lab.texts()[1].encode())
    wanted = math.log2(V) * tokens / size
    assert lab.bits_per_byte(model, merges) == pytest.approx(wanted, rel=1e-5)


def test_work_is_equal():
    """Up to half a step."""
    for n in (64, 256):
        done = lab.steps_for(n) * lab.work(len(lab.tokenizer(n).vocab))
        assert done == pytest.approx(lab.STEPS * lab.work(61), rel=0.01)


def test_first_rounds_of_the_ten_words_are_those_of_the_pencil():
    states = lab.rounds(TEN)
    assert states[0][1][("w", "i")] == 6
    assert [states[1][1][pair] for pair in (("wi", "d"), ("d", "e"), ("i", "r"))] == [5, 5, 4]
    merges = ["+".join(pair) for pair in states[-1][0]]
    assert merges[:8] == ["w+i", "wi+d", "wid+e", "r+e", "i+re", "t+ire", "wide+r", "tire+d"]
    assert lab.cut_by(states[8][0], "wired") == ["wi", "re", "d"]
    rows, _ = lab.after(states, Counter(TEN), 2, "fox")
    assert rows["3 × wide"] == ["wid", "e"]
    assert rows["new: fox"] == ["f", "o", "x"]


def test_spelling_is_found_where_the_rows_hold_it_and_not_elsewhere():
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [a + b + c + d for a in letters for b in "ae" for c in letters[:8] for d in "nost"]
    vocab = [f" {word}".encode() for word in words]
    first_N26 = torch.eye(26)[[ord(word[0]) - 97 for word in words]]
    noise_NC = torch.randn(len(words), 20, generator=torch.Generator().manual_seed(0))
    found = lab.spelling(torch.cat([first_N26, noise_NC], dim=1), vocab, seed=0)
    right, shuffled, _ = found["first"]
    assert right > 0.99
    assert shuffled < 0.15
    assert found["third"][0] < 0.25
