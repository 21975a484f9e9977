"""Chapter 13's measurements: merges of the ten words, and spelling."""

from collections import Counter

import torch

from helpers.chapters.ch13_tokens import lab

TEN = ["wide"] * 3 + ["wider", "tired", "tired", "tire", "wire", "wider", "fire"]


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
