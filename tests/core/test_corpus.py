"""Texts from every source, words without loss, and windows that cover a text."""

import importlib.resources
import os
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import seeded

from helpers import corpus, tokenizers

PROSE = 'Fern saw Ben\'s mill. "Was it shut?" she asked, and did not wait.\n\nIt was.\n'


# ------------------------------------------------------ a text of one's own


def test_tales_come_from_the_package():
    where = importlib.resources.files("helpers") / "data" / "tales.txt"
    text = corpus.load()
    assert text == corpus.load("tales") == where.read_text(encoding="utf-8")


def test_words_of_the_tales_are_short_work():
    text = corpus.load()[:50_000]
    words = tokenizers.WordTokenizer(text)
    ids = words.encode(text)
    assert words.decode(ids) == text
    assert len(ids) < 0.28 * len(text)
    # Spaces are implied: hardly a token is spent on one.
    assert sum(words.vocab[i] in ("", " ") for i in ids) < 0.001 * len(ids)


@pytest.mark.parametrize("kind", [str, Path])
def test_own_file(tmp_path, kind):
    path = tmp_path / "mine.txt"
    path.write_bytes("Grüße,\r\nan €\rend\n".encode())
    assert corpus.load(kind(path)) == "Grüße,\nan €\nend\n"


def test_own_file_without_suffix_and_with_byte_order_mark(tmp_path, monkeypatch):
    (tmp_path / "mine").write_bytes(b"\xef\xbb\xbfhello")
    monkeypatch.chdir(tmp_path)
    assert corpus.load("mine") == "hello"


@pytest.mark.parametrize("name", ["missing.txt", "folder/missing", Path("missing")])
def test_missing_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        corpus.load(name)


def test_tiny_shakespeare_is_a_file_that_the_reader_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOK_DATA_DIR", raising=False)
    with pytest.raises(FileNotFoundError):
        corpus.load("tinyshakespeare")
    (tmp_path / "tinyshakespeare.txt").write_text("Speak.", "utf-8")
    assert corpus.load("tinyshakespeare") == "Speak."
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tinyshakespeare.txt").write_text("Speak, speak.", "utf-8")
    monkeypatch.setenv("BOOK_DATA_DIR", str(tmp_path / "data"))
    assert corpus.load("tinyshakespeare") == "Speak, speak."


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b" \n\n"])
def test_empty_file(tmp_path, data):
    path = tmp_path / "empty.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError):
        corpus.load(path)


def test_text_must_hold_a_context_and_the_next_character(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("12345678", "utf-8")
    assert corpus.load(path, context=7) == "12345678"
    with pytest.raises(ValueError):
        corpus.load(path, context=8)


# --------------------------------------------------- what is kept for later


def test_interrupted_write_leaves_no_half_file(tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        corpus.keep(tmp_path / "model.gguf", b"half")
    assert list(tmp_path.iterdir()) == []


def test_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be", "utf-8")
    with pytest.raises(OSError):
        corpus.keep(tmp_path / "cache" / "model.gguf", b"whole")


# ------------------------------------------------------------- tokenizers


@given(text=st.text() | st.text("aB'’s\"“”.,!()- \n\t1é\u0301", max_size=40))
def test_words_of_anything_are_restored(text):
    tokenizer = tokenizers.WordTokenizer(text)
    ids = tokenizer.encode(text)
    assert set(ids.tolist()) == set(range(len(tokenizer.vocab)))
    assert tokenizer.decode(ids) == tokenizer.decode(ids.tolist()) == text


@given(st.lists(st.integers(0, 15), max_size=30))
def test_any_ids_are_words(ids):
    assert isinstance(tokenizers.WordTokenizer(PROSE).decode(ids), str)


def test_words_are_sorted_so_ids_are_known():
    assert tokenizers.WordTokenizer("the fox").encode("fox the fox").tolist() == [0, 1, 0]


def test_unknown_word_is_named():
    with pytest.raises(KeyError, match="bear"):
        tokenizers.WordTokenizer("the fox").encode("the bear")


def words(text):
    tokenizer = tokenizers.WordTokenizer(text)
    return [tokenizer.vocab[i] for i in tokenizer.encode(text)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The fox's den, said Anna.", ["The", "fox", "'s", "den", ",", "said", "Anna", "."]),
        ('"Go," he said. "Now!"', ['"', "Go", ",", '"', "he", "said", ".", '"', "Now", "!", '"']),
        ("It isn't well-worn.", ["It", "isn't", "well-worn", "."]),
        ("rain - then sun", ["rain", "-", "then", "sun"]),
        # An opening ' is taken for an apostrophe: exact all the same, by two spacing tokens.
        ("(in 1623) 'so", ["(", "in", "1623", ")", " ", "'", "", "so"]),
        ("one\n\ntwo", ["one", "\n\n", "two"]),
        ("a  b", ["a", " ", " ", "b"]),
        ("1st", ["1", "", "st"]),
        (" a ", [" ", "a", " "]),
        ('"a\n"b"', ['"', "a", "\n", '"', "b", '"']),  # a quote left open ends with its line
    ],
)
def test_tokens_of_words(text, tokens):
    assert words(text) == tokens
    tokenizer = tokenizers.WordTokenizer(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_word_is_the_same_token_everywhere():
    assert Counter(words('fox fox, "fox" (fox) fox\nfox'))["fox"] == 6


# ------------------------------------------------------ splits and batches


@given(st.integers(2, 500), st.floats(0.01, 0.99))
def test_split_is_contiguous_and_whole(n, fraction):
    ids = torch.arange(n)
    if not 1 <= int(round(fraction * n, 6)) < n:
        with pytest.raises(ValueError):
            corpus.split(ids, fraction)
        return
    train, validation = corpus.split(ids, fraction)
    assert torch.equal(torch.cat([train, validation]), ids)
    assert abs(len(train) - fraction * n) <= 1


def test_split_sizes():
    assert [len(part) for part in corpus.split(torch.arange(1_115_394))] == [1_003_854, 111_540]
    assert [len(part) for part in corpus.split(torch.arange(2), 0.5)] == [1, 1]
    assert len(corpus.split(torch.arange(100), 0.29)[0]) == 29  # int(0.29 * 100) is 28


@given(st.integers(2, 40), st.data())
def test_batches_are_windows_and_their_successors(n, data):
    context = data.draw(st.integers(1, n - 1))
    batch_size = data.draw(st.integers(1, 5))
    stream = corpus.batches(
        torch.arange(n), batch_size=batch_size, context=context, generator=seeded()
    )
    for _, (x_BT, y_BT) in zip(range(5), stream, strict=False):
        assert x_BT.shape == y_BT.shape == (batch_size, context)
        assert torch.equal(y_BT, x_BT + 1)  # ids count upward, so one step ahead is one more
        assert torch.equal(x_BT - x_BT[:, :1], torch.arange(context).expand_as(x_BT))


def test_every_window_is_drawn_equally_often_and_no_other():
    ids = torch.arange(12)
    stream = corpus.batches(ids, batch_size=9000, context=3, generator=seeded())
    x_BT, y_BT = next(stream)
    counts = torch.bincount(x_BT[:, 0], minlength=9)
    assert len(counts) == 9  # starts 0..8: the last target is the last id
    assert y_BT.max() == 11
    # Each of 9 starts is expected 1000 times, deviation 30.
    assert (counts - 1000).abs().max() < 150


def test_one_window_only():
    x_BT, y_BT = next(corpus.batches(torch.arange(4), batch_size=2, context=3, generator=seeded()))
    assert x_BT.tolist() == [[0, 1, 2]] * 2
    assert y_BT.tolist() == [[1, 2, 3]] * 2


def test_same_seed_same_batches_and_no_global_randomness():
    def draw(seed):
        stream = corpus.batches(torch.arange(999), batch_size=4, context=8, generator=seeded(seed))
        return torch.stack([next(stream)[0] for _ in range(3)])

    before = torch.random.get_rng_state()
    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    assert not torch.equal(draw(1)[0], draw(1)[1])
    assert torch.equal(torch.random.get_rng_state(), before)


@given(st.integers(2, 60), st.data())
def test_windows_hold_each_target_once_in_order(n, data):
    context = data.draw(st.integers(1, n - 1))
    batch_size = data.draw(st.integers(1, 4))
    seen = list(corpus.windows(torch.arange(n), context, batch_size=batch_size))
    assert torch.cat([x.flatten() for x, _ in seen]).tolist() == list(range(n - 1))
    assert torch.cat([y.flatten() for _, y in seen]).tolist() == list(range(1, n))
    assert all(x.shape == y.shape and x.shape[1] <= context for x, y in seen)
    assert all(len(x) <= batch_size for x, _ in seen)
