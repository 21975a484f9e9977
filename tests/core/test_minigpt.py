"""minigpt's pieces against torch's modules and NumPy in float64."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import example, minigpt

SIZES = {"V": 11, "T": 7, "C": 12, "H": 3, "L": 2}


@pytest.fixture
def model():
    torch.manual_seed(0)
    return minigpt.GPT(**SIZES).double()


def ids(B=4, T=7):
    return torch.randint(SIZES["V"], (B, T), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("pattern", [r"(?s).", minigpt.WORDS])
def test_tokenizer_restores_the_text(pattern):
    text = "The fox, red as rust,\n\nran. The fox ran!"
    tokenizer = minigpt.Tokenizer(text, pattern)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.vocab == sorted(tokenizer.vocab)
    if pattern == minigpt.WORDS:
        assert " fox" in tokenizer.vocab
        assert len(tokenizer.encode(" fox")) == 1


def test_targets_are_the_inputs_one_later():
    torch.manual_seed(0)
    x_BT, y_BT = minigpt.get_batch(torch.arange(50), 2000, 8)
    assert torch.equal(y_BT, x_BT + 1)
    assert set(x_BT[:, 0].tolist()) == set(range(42))  # every window can come


def test_layer_norm_equals_torch():
    x = torch.randn(3, 5, 8, dtype=torch.float64) * 0.01 + 3  # small, so that ε shows
    ours, theirs = minigpt.LayerNorm(8).double(), nn.LayerNorm(8).double()
    assert torch.allclose(ours(x), theirs(x), rtol=0, atol=1e-12)


NAMES = {  # torch's in an encoder layer, and ours
    "self_attn.in_proj_": "attention.qkv.",
    "self_attn.out_proj.": "attention.out.",
    "linear1.": "feed_forward.up.",
    "linear2.": "feed_forward.down.",
    "norm1.": "norm_1.",
    "norm2.": "norm_2.",
}


def test_gpt_and_its_gradients_equal_torchs_encoder(model):
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)  # so that no two norms are alike
    layer = nn.TransformerEncoderLayer(
        12, 3, 48, 0.0, "gelu", norm_first=True, batch_first=True, dtype=torch.float64
    )
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(12).double(), False)
    names = {f"norm.{n}": f"norm.{n}" for n in ("weight", "bias")} | {
        f"layers.{block}.{torchs}{n}": f"blocks.{block}.{ours}{n}"
        for block in range(2)
        for torchs, ours in NAMES.items()
        for n in ("weight", "bias")
    }
    encoder.load_state_dict({torchs: model.state_dict()[own] for torchs, own in names.items()})
    x_BTC = model.embedding.weight[ids()] + model.position.weight
    future = torch.ones(7, 7, dtype=torch.bool).triu(1)
    theirs = encoder(x_BTC, mask=future) @ model.head.weight.T
    ours = model(ids())
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)
    F.cross_entropy(theirs.flatten(0, 1), ids().flatten()).backward()
    model.zero_grad()
    F.cross_entropy(ours.flatten(0, 1), ids().flatten()).backward()
    for torchs, own in names.items():
        grads = encoder.get_parameter(torchs).grad, model.get_parameter(own).grad
        assert torch.allclose(*grads, rtol=0, atol=1e-12), own


def test_attention_prints_the_pencil_numbers():
    attention = minigpt.CausalSelfAttention(3, 2, 0.0)
    attention.qkv, attention.out = example.linear(example.qkv()), example.linear(example.W_O)
    heads = []
    for W_Q, W_K, W_V in (
        (example.W_Q, example.W_K, example.W_V),
        (example.W_Q2, example.W_K2, example.W_V2),
    ):
        weights = np.exp((example.X @ W_Q) @ (example.X @ W_K).T / 2**0.5)
        weights = np.tril(weights)
        heads.append(weights / weights.sum(axis=1, keepdims=True) @ (example.X @ W_V))
    by_hand = np.hstack(heads) @ example.W_O
    ours = attention(torch.tensor(example.X)[None])[0].detach()
    assert np.allclose(ours, by_hand, rtol=0, atol=1e-12)


def test_no_token_reads_the_future(model):
    later = ids()
    later[:, 4] = (later[:, 4] + 1) % 11
    before, after = model(ids()), model(later)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_initial_weights_are_those_of_gpt2():
    torch.manual_seed(0)
    model = minigpt.GPT(V=500, T=64, C=128, H=4, L=8)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name
        else:
            adds = name.endswith(("out.weight", "down.weight"))
            assert parameter.std().item() == pytest.approx(0.02 / (4 if adds else 1), rel=0.05), (
                name
            )


def test_training_is_adamw_on_clipped_gradients(model):
    """The update written out; matrices alone decay."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    nn.init.normal_(model.head.weight, std=5.0)  # for large gradients
    weights = [p.detach().clone() for p in model.parameters()]
    moments = [[torch.zeros_like(w) for w in weights] for _ in range(2)]
    text = ids(B=1, T=60)[0]
    torch.manual_seed(2)
    ours = copy.deepcopy(model)
    told = list(minigpt.train(ours, text, 3, 4, 0.1))
    torch.manual_seed(2)
    for step, lr in enumerate((0.005, 0.01, 0.015)):
        x_BT, y_BT = minigpt.get_batch(text, 4, 7)
        loss = F.cross_entropy(model(x_BT).mT, y_BT)
        assert told[step] == (step + 1, pytest.approx(loss.item()))
        grads = torch.autograd.grad(loss, [*model.parameters()])
        norm = sum(g.square().sum() for g in grads).sqrt()
        assert norm > 1.1
        for w, g, m, v in zip(weights, grads, *moments, strict=True):
            m.lerp_(g / norm, 0.1)
            v.lerp_((g / norm).square(), 0.01)
            w *= 1 - lr * 0.1 * (w.ndim == 2)
            w -= lr * m / (1 - 0.9 ** (step + 1)) / ((v / (1 - 0.99 ** (step + 1))).sqrt() + 1e-8)
        for parameter, w in zip(model.parameters(), weights, strict=True):
            parameter.data.copy_(w)
    for parameter, w in zip(ours.parameters(), weights, strict=True):
        torch.testing.assert_close(parameter.data, w, rtol=0, atol=1e-6)


def test_learning_rate_rises_and_falls_to_zero():
    rates = [minigpt.lr_at(step, 1000, 0.5) for step in range(1000)]
    assert rates[:20] == sorted(rates[:20])
    assert rates[19] <= 0.5
    assert rates[20:] == sorted(rates[20:], reverse=True)
    assert rates[0] == pytest.approx(0.5 / 20)
    assert rates[-1] == pytest.approx(0.5 / 1000)


def test_training_learns_a_text_that_repeats():
    torch.manual_seed(0)
    text = "the fox ran. " * 60
    tokenizer = minigpt.Tokenizer(text)
    model = minigpt.GPT(len(tokenizer.vocab), T=16, C=32, H=2, L=2)
    losses = [loss for _, loss in minigpt.train(model, tokenizer.encode(text), 150, 8, 0.01)]
    assert losses[0] == pytest.approx(np.log(len(tokenizer.vocab)), abs=0.1)
    assert losses[-1] < 0.4
    written = minigpt.generate(model, tokenizer.encode("the fox")[None], 19, temperature=0.1)
    assert tokenizer.decode(written[0]) == "the fox ran. the fox ran. "


def test_top_k_draws_the_likeliest_alone(model):
    torch.manual_seed(0)
    prompt = ids(B=1).repeat(300, 1)
    allowed = set(model.eval()(ids(B=1))[0, -1].topk(3).indices.tolist())
    drawn = minigpt.generate(model, prompt, 1, temperature=5.0, top_k=3)[:, -1]
    assert set(drawn.tolist()) == allowed


def test_it_writes_beyond_its_context_without_dropout():
    torch.manual_seed(0)
    model = minigpt.GPT(**SIZES, dropout=0.5)
    torch.manual_seed(1)
    once = minigpt.generate(model.train(), ids(B=1), 9)
    torch.manual_seed(1)
    assert torch.equal(once, minigpt.generate(model.eval(), ids(B=1), 9))
    assert once.shape == (1, 16)
