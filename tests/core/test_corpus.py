"""Texts from every source, words without loss, and windows that cover a text."""

import hashlib
import importlib.resources
import io
import os
import sys
import threading
import types
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import seeded
from tqdm import tqdm

from helpers import corpus, tokenizers

TEXT = "Speak, speak.\nFirst Citizen:\n" * 9000  # several blocks of a download
SHA = hashlib.sha256(TEXT.encode()).hexdigest()
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


# --------------------------------------------------------------- download


class Server:
    """A web server on this machine that sends `body`, and claims `length` bytes of it."""

    def __init__(self):
        self.body, self.length, self.status, self.requests = TEXT.encode(), None, 200, 0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler):
                self.requests += 1
                handler.send_response(self.status)
                if self.length != 0:
                    handler.send_header("Content-Length", str(self.length or len(self.body)))
                handler.end_headers()
                handler.wfile.write(self.body)

            def log_message(handler, *args):
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/input.txt"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


class Bar(tqdm):
    """A bar that shows nothing, and is kept."""

    made: ClassVar[list] = []

    def __init__(self, **settings):
        super().__init__(**settings, file=io.StringIO())
        self.made.append(self)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The reader's cache folder, empty; no data folder, no proxy, bars that show nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BOOK_DATA_DIR", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(Bar, "made", [])
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    return tmp_path / "cache" / "transformers-worked-out"


@pytest.fixture
def server(cache, monkeypatch):
    server = Server()
    source = types.SimpleNamespace(file="tinyshakespeare.txt", url=server.url, sha256=SHA)
    monkeypatch.setattr(corpus, "TINY_SHAKESPEARE", source)
    yield server
    server.stop()


def kept(cache):
    return sorted(path.name for path in cache.glob("*")) if cache.exists() else []


def test_the_source_is_the_published_one():
    assert corpus.TINY_SHAKESPEARE.url.startswith("https://")
    assert corpus.TINY_SHAKESPEARE.sha256.startswith("86c4e6aa9db7c042")


def test_download_once_then_from_the_cache(server, cache):
    assert corpus.load("tinyshakespeare") == TEXT
    (bar,) = Bar.made
    assert (bar.n, bar.total, bar.disable) == (len(TEXT), len(TEXT), True)  # closed
    assert kept(cache) == ["tinyshakespeare.txt"]
    assert corpus.load("tinyshakespeare") == TEXT
    assert server.requests == 1


def test_damaged_cache_is_replaced(server, cache):
    cache.mkdir(parents=True)
    (cache / "tinyshakespeare.txt").write_text("half a fi", "utf-8")
    assert corpus.load("tinyshakespeare") == TEXT
    assert (cache / "tinyshakespeare.txt").read_bytes() == TEXT.encode()


def test_download_of_unknown_length(server):
    server.length = 0
    corpus.load("tinyshakespeare")
    assert [bar.total for bar in Bar.made] == [None]


HALF = TEXT.encode()[:1000]


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        (
            {"body": TEXT.replace("Speak", "Spoke").encode()},
            ValueError,
            f"sent is not.*expected {SHA}.*nothing was kept",
        ),
        (
            {"body": HALF, "length": len(TEXT)},
            ConnectionError,
            r"could not download .*tinyshakespeare\.txt",
        ),
        ({"body": HALF, "length": 0}, ValueError, "SHA-256"),  # of unknown length
        ({"status": 404}, ConnectionError, "404"),
    ],
    ids=["other bytes", "cut short", "cut short, length unknown", "no such page"],
)
def test_a_bad_download_keeps_nothing(server, cache, changes, error, says):
    vars(server).update(changes)
    with pytest.raises(error):
        corpus.load("tinyshakespeare")
    assert kept(cache) == []
    assert all(bar.disable for bar in Bar.made)  # closed


def test_no_network_says_where_to_put_the_file(server, cache):
    server.http.server_close()  # the port is now refused
    with pytest.raises(ConnectionError) as error:
        corpus.load("tinyshakespeare")
    assert str(cache / "tinyshakespeare.txt") in str(error.value)
    assert "BOOK_DATA_DIR" in str(error.value)


def test_interrupted_write_leaves_no_half_file(server, cache, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        corpus.load("tinyshakespeare")
    assert kept(cache) == []


def test_cache_that_cannot_be_written(server, cache):
    cache.parent.write_text("a file where a folder should be", "utf-8")
    with pytest.raises(OSError):
        corpus.load("tinyshakespeare")


@pytest.mark.parametrize("written", ["{}", "~"])
def test_data_dir_is_looked_in_first(server, tmp_path, monkeypatch, written):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BOOK_DATA_DIR", written.format(tmp_path))
    (tmp_path / "tinyshakespeare.txt").write_text(TEXT, "utf-8")
    assert corpus.load("tinyshakespeare") == TEXT
    assert server.requests == 0


def test_data_dir_without_the_file_is_passed_over(server, tmp_path, monkeypatch):
    monkeypatch.setenv("BOOK_DATA_DIR", str(tmp_path))
    assert corpus.load("tinyshakespeare") == TEXT
    assert server.requests == 1


def test_wrong_file_in_data_dir_is_refused_and_kept(server, tmp_path, monkeypatch):
    monkeypatch.setenv("BOOK_DATA_DIR", str(tmp_path))
    path = tmp_path / "tinyshakespeare.txt"
    path.write_text("the wrong play", "utf-8")
    with pytest.raises(ValueError) as error:
        corpus.load("tinyshakespeare")
    assert str(path) in str(error.value)
    assert path.read_text("utf-8") == "the wrong play"


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


def test_the_trial_text_is_the_published_one():
    folder = os.environ.get("BOOK_DATA_DIR")
    if not folder or not (Path(folder) / "tinyshakespeare.txt").is_file():
        pytest.skip("tinyshakespeare.txt is not at hand (BOOK_DATA_DIR)")
    text = corpus.load("tinyshakespeare")
    assert len(text) == 1_115_394
    assert len(set(text)) == 65
    some = text[:50_000]
    words = tokenizers.WordTokenizer(some)
    assert words.decode(words.encode(some)) == some
