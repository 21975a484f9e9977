"""minillama's pieces against torch's modules and a Llama in NumPy's float64; tokens by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import numbers, seeded
from torch import nn

from helpers import minigpt, minillama

SIZES = {"V": 11, "T": 9, "C": 24, "H": 6, "G": 2, "L": 2, "hidden": 20, "base": 100}
# Ten words, counted by pencil: e n 10 times, then d en 6, then a space and den 5, then h en 3.
TEN = "den den hen den den ten den hen den then"
BY_HAND = [(b"e", b"n"), (b"d", b"en"), (b" ", b"den"), (b"h", b"en")]


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = minillama.Llama(**SIZES).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)  # so that no two norms are alike
    return model


def ids(B=3, T=9):
    return torch.randint(SIZES["V"], (B, T), generator=seeded(1))


# ------------------------------------------------------------------------------ chapter 13: tokens


def test_merges_of_ten_words_are_those_of_the_pencil():
    assert minillama.learn_merges(TEN, 4) == BY_HAND
    tokenizer = minillama.BytePairTokenizer(BY_HAND)
    tokens = [tokenizer.vocab[i] for i in tokenizer.encode("then den, ten")]
    assert tokens == [b"t", b"hen", b" den", b",", b" ", b"t", b"en"]


@given(st.text())
def test_any_text_comes_back(text):
    tokenizer = minillama.BytePairTokenizer(minillama.learn_merges(TEN, 8))
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_bytes_that_are_no_text_are_marked():
    tokenizer = minillama.BytePairTokenizer([])
    assert tokenizer.decode(tokenizer.encode("é")[:1]) == "\ufffd"


@given(st.text(alphabet="hent d", min_size=1, max_size=12))
def test_word_is_joined_by_one_merge_after_another(word):
    merges = minillama.learn_merges(TEN, 8)
    tokens = [word[i : i + 1].encode() for i in range(len(word))]
    for left, right in merges:
        i = 0
        while i + 1 < len(tokens):
            if tokens[i : i + 2] == [left, right]:
                tokens[i : i + 2] = [left + right]
            i += 1
    assert minillama.merged(word, {pair: i for i, pair in enumerate(merges)}) == tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 1950.", ["It", "'s", " ", "1", "9", "5", "0", "."]),
        ("two  words\n\n", ["two", " ", " words", "\n\n"]),
        ("x=f(y) !?", ["x", "=", "f", "(", "y", ")", " !?"]),
        ("дом, 水", ["дом", ",", " 水"]),
    ],
)
def test_no_token_crosses_a_word(text, words):
    assert minillama.regex.findall(minillama.SPLIT, text) == words


# -------------------------------------------------------------------------- chapter 14: the block


def rms_norm(x, weight):
    return weight * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)


def turned(x, base, first=0):
    """Pairs (2i, 2i + 1) as complex numbers, turned by position · base^(-2i/D)."""
    T, D = x.shape[-2:]
    angles = np.outer(np.arange(first, first + T), base ** (-np.arange(0, D, 2) / D))
    z = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


def llama(w, ids_T, H, G, L, base):
    """The model's logits for one text, head by head."""
    x = w["embedding.weight"][ids_T]
    for layer in range(L):
        part = {n.removeprefix(f"blocks.{layer}."): a for n, a in w.items()}
        normed = rms_norm(x, part["norm_1.weight"])
        query, key, value = (
            np.split(normed @ part[f"attention.{name}.weight"].T, heads, axis=-1)
            for name, heads in (("query", H), ("key", G), ("value", G))
        )
        read = []
        for h in range(H):
            g = h * G // H
            scores = turned(query[h], base) @ turned(key[g], base).T / math.sqrt(len(query[h].T))
            weights = np.tril(np.exp(scores))
            read.append(weights / weights.sum(-1, keepdims=True) @ value[g])
        x = x + np.concatenate(read, axis=-1) @ part["attention.out.weight"].T
        normed = rms_norm(x, part["norm_2.weight"])
        gate, up = (normed @ part[f"feed_forward.{name}.weight"].T for name in ("gate", "up"))
        x = x + (gate / (1 + np.exp(-gate)) * up) @ part["feed_forward.down.weight"].T
    return rms_norm(x, w["norm.weight"]) @ w["head.weight"].T


@pytest.mark.parametrize("G", [1, 2, 3, 6])
def test_llama_equals_numpy(G):
    model = minillama.Llama(**SIZES | {"G": G}).double()
    for parameter in model.parameters():
        parameter.data = 0.5 * numbers(*parameter.shape, seed=parameter.numel())
    w = {name: p.detach().numpy() for name, p in model.state_dict().items()}
    by_hand = [llama(w, row, SIZES["H"], G, SIZES["L"], SIZES["base"]) for row in ids().numpy()]
    assert np.allclose(model(ids()).detach(), by_hand, rtol=0, atol=1e-5)  # angles: float32


def test_rms_norm_equals_torch():
    ours, theirs = minillama.RMSNorm(8).double(), nn.RMSNorm(8, eps=1e-5).double()
    ours.weight.data = theirs.weight.data = numbers(8)
    x = 0.01 * numbers(3, 5, 8, seed=1)  # small, so that ε shows
    assert torch.allclose(ours(x), theirs(x), rtol=0, atol=1e-12)


def test_rotation_turns_pairs_side_by_side():
    x = numbers(2, 3, 7, 8)
    ours = minillama.rotate(x, first=4, base=50.0)
    assert np.allclose(ours, turned(x.numpy(), 50.0, first=4), rtol=0, atol=1e-5)


def test_scores_know_only_the_distance():
    q, k = numbers(1, 1, 4, 8), numbers(1, 1, 4, 8, seed=1)
    scores = [
        minillama.rotate(q, first, 50.0) @ minillama.rotate(k, first, 50.0).mT for first in (0, 13)
    ]
    assert torch.allclose(*scores, rtol=0, atol=1e-4)
    assert not torch.allclose(scores[0], q @ k.mT, rtol=0, atol=0.1)


def test_shared_keys_are_full_attention_with_rows_repeated():
    shared = minillama.GroupedQueryAttention(24, 6, 2, 100).double()
    full = minillama.GroupedQueryAttention(24, 6, 6, 100).double()
    state = shared.state_dict()
    for name in ("key.weight", "value.weight"):
        rows = state[name].unflatten(0, (2, -1)).repeat_interleave(3, dim=0)
        state[name] = rows.flatten(0, 1)
    full.load_state_dict(state)
    x = numbers(2, 5, 24)
    assert torch.allclose(shared(x), full(x), rtol=0, atol=1e-12)


def test_no_token_reads_the_future(model):
    later = ids()
    later[:, 4] = (later[:, 4] + 1) % 11
    before, after = model(ids()), model(later)
    assert torch.allclose(before[:, :4], after[:, :4], rtol=0, atol=1e-12)
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_trains_as_minigpt_does():
    torch.manual_seed(0)
    model = minillama.Llama(**SIZES)
    text = torch.arange(200) * 3 % 11
    losses = [loss for _, loss in minigpt.train(model, text, 60, batch=8, lr=0.01)]
    assert losses[0] == pytest.approx(math.log(11), abs=0.1)
    assert losses[-1] < 0.5
    assert model.head.weight is model.embedding.weight


# ------------------------------------------------------- chapters 15 and 16: the cache, the answers


def test_stream_writes_what_generate_writes(model):
    for prompt in (ids(), ids(T=1)):
        model.T = 30  # generate cuts what is longer
        streamed = torch.cat([prompt, *minillama.stream(model, prompt, 12)], dim=1)
        assert torch.equal(streamed, minigpt.generate(model, prompt, 12, top_k=1))
    assert not any(isinstance(m, minillama.CachedAttention) for m in model.modules())


def test_model_is_plain_while_it_streams_twice(model):
    model.T = 30
    before = model(ids())
    two = minillama.stream(model, ids(), 4), minillama.stream(model, ids()[:, :3], 4)
    for written in zip(*two, strict=True):
        assert torch.equal(model(ids()), before)
        ends = written
    for end, prompt in zip(ends, (ids(), ids()[:, :3]), strict=True):
        assert torch.equal(end, minigpt.generate(model, prompt, 4, top_k=1)[:, -1:])


def test_cache_takes_a_text_in_any_pieces(model):
    attention, x = model.blocks[0].attention, numbers(2, 7, 24)
    cached = minillama.CachedAttention(attention, None)
    pieces = [cached(piece) for piece in x.split([3, 1, 2, 1], dim=1)]
    assert torch.allclose(torch.cat(pieces, dim=1), attention(x), rtol=0, atol=1e-6)


def test_chat_is_written_in_the_template():
    tokenizer = minillama.BytePairTokenizer(BY_HAND)
    for name in (b"<|im_start|>", b"<|im_end|>"):
        tokenizer.ids[name] = len(tokenizer.vocab)
        tokenizer.vocab.append(name)
    ids_1T = minillama.chat_ids(tokenizer, [("system", "Be kind."), ("user", "Hen?")])
    assert tokenizer.decode(ids_1T[0]) == (
        "<|im_start|>system\nBe kind.<|im_end|>\n"
        "<|im_start|>user\nHen?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert ids_1T[0].tolist().count(tokenizer.ids[b"<|im_start|>"]) == 3


def test_lora_starts_as_the_layer_and_merges_into_it():
    linear, x = nn.Linear(6, 4, bias=False).double(), numbers(2, 3, 6)
    before = linear(x)
    adapted = minillama.LoRA(linear, rank=2, alpha=8)
    assert torch.equal(adapted(x), before)
    adapted.b.data = numbers(4, 2)
    by_hand = before + 4 * x @ (adapted.b @ adapted.a).T
    assert torch.allclose(adapted(x), by_hand, rtol=0, atol=1e-12)
    for _ in range(2):
        assert torch.allclose(adapted.merge()(x), by_hand, rtol=0, atol=1e-12)
    assert torch.allclose(adapted(x), by_hand, rtol=0, atol=1e-12)
