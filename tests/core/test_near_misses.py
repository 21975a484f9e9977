"""Mistakes that no other test would see, one pointed question each."""

import dataclasses
import math

import pytest
import torch
from tiny import seeded

from helpers import corpus, similarity
from helpers.gpt import GPT, POSITIONS, GPTConfig
from helpers.norms import BatchNorm, GroupNorm
from helpers.positions import Rotary, Sinusoidal
from helpers.record import record_attention
from helpers.training import optimizers
from helpers.training.loop import cross_entropy, summed_loss

TINY = GPTConfig(vocab_size=7, context=12, layers=1, heads=2, width=8)


def model(**changes):
    gpt = GPT(dataclasses.replace(TINY, **changes), generator=seeded(0)).eval()
    generator = seeded(1)
    with torch.no_grad():
        for parameter in gpt.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=generator)
    return gpt


@pytest.mark.parametrize("k", [2, 3, 7])
def test_top_k_samples_the_k_likeliest_in_proportion(k):
    gpt, prompt = model(), torch.tensor([[3, 1, 4]])
    p_V = gpt(prompt)[0, -1].double().softmax(dim=-1)
    kept = p_V.argsort(descending=True)[:k]
    wanted = torch.zeros_like(p_V)
    wanted[kept] = p_V[kept] / p_V[kept].sum()
    rows = 4000
    drawn = gpt.generate(prompt.expand(rows, -1), 1, generator=seeded(2), top_k=k)[:, -1]
    shares = drawn.bincount(minlength=TINY.vocab_size) / rows
    torch.testing.assert_close(shares.double(), wanted, rtol=0, atol=5 * 0.5 / rows**0.5)
    assert not shares[wanted == 0].any()


def test_alibi_of_a_model_is_in_its_maps():
    gpt = model(positions="alibi")
    with torch.no_grad():  # queries are 0, so that distance alone decides
        gpt.blocks[0].attention.sublayer.qkv.weight[: TINY.width] = 0
        gpt.blocks[0].attention.sublayer.qkv.bias[: TINY.width] = 0
    with record_attention(gpt) as maps:
        gpt(torch.tensor([[1, 2, 3, 4]]))
    for head, slope in enumerate((2**-4, 2**-8)):
        for t in range(4):
            powers = [math.exp(-slope * (t - s)) for s in range(t + 1)] + [0.0] * (3 - t)
            wanted = torch.tensor(powers) / sum(powers)
            torch.testing.assert_close(maps[0][0, head, t], wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_loss_of_half_logits_is_computed_in_float32(dtype):
    logits = (3 * torch.randn(4, 8, 50, generator=seeded(5))).to(dtype).requires_grad_()
    targets = torch.randint(50, (4, 8), generator=seeded(6))
    loss = cross_entropy(logits, targets)
    wanted = -logits.detach().double().log_softmax(-1).gather(-1, targets[..., None]).mean()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-6)
    loss.backward()
    assert logits.grad.dtype == dtype


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_model_in_half_stays_in_half(positions):
    gpt, ids = model(positions=positions, qk_norm=True), torch.tensor([[1, 2, 3, 4, 5]])
    whole = gpt(ids)
    half = gpt.to(torch.bfloat16)(ids)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), whole, rtol=0.1, atol=0.25)
    text = gpt.generate(ids, 3, generator=seeded(1))
    assert text.shape == (1, 8)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_positions_have_the_type_of_what_they_are_for(dtype):
    x = torch.randn(2, 5, 8, generator=seeded(7)).to(dtype)
    assert Rotary(8)(x).dtype == dtype
    assert Sinusoidal(8).to(dtype)(5).dtype == dtype


def test_running_statistics_keep_no_graph():
    norm = BatchNorm(4)
    x_BTC = torch.randn(2, 3, 4, generator=seeded(8), requires_grad=True)
    for _ in range(2):
        norm(x_BTC).square().sum().backward()  # a second time, through a new graph alone
    assert not norm.running_mean.requires_grad
    assert not norm.running_var.requires_grad


def test_one_group_of_all_features():
    x_BTC = torch.randn(2, 3, 4, generator=seeded(9))
    theirs = torch.nn.GroupNorm(1, 4)(x_BTC.mT).mT
    torch.testing.assert_close(GroupNorm(4, 1)(x_BTC), theirs, rtol=1e-5, atol=1e-5)


def test_dropout_of_a_config_is_in_every_part():
    gpt = model(layers=2, dropout=0.25, attention_dropout=0.125)
    shares = [part.p for part in gpt.modules() if isinstance(part, torch.nn.Dropout)]
    assert shares == [0.25] * 5  # of the input, and of two sub-layers a block
    assert [block.attention.sublayer.dropout for block in gpt.blocks] == [0.125] * 2


def test_generation_builds_no_graph():
    writer, graphs = model(), []
    writer.register_forward_hook(lambda *_: graphs.append(torch.is_grad_enabled()))
    writer.generate(torch.tensor([[1]]), 2, generator=seeded(0))
    assert graphs == [False, False]


def test_distances_of_close_rows_far_from_0():
    table = torch.tensor([[1e4, 0.0], [1e4, 0.01]]).repeat(20, 1)
    scores = similarity.similarity_matrix(table, measure="euclid")
    torch.testing.assert_close(scores[0, :2], torch.tensor([0.0, -0.01]))


def test_defaults_of_adamw():
    made = optimizers.adamw({"a": torch.nn.Parameter(torch.zeros(2, 2))}, lr=0.1)
    assert made.defaults["betas"] == (0.9, 0.99)


def test_evaluation_weighs_by_targets_not_inputs():
    pairs = [(torch.zeros(4, 3), torch.ones(4)), (torch.zeros(2, 9), torch.zeros(2))]
    total, count = summed_loss(torch.nn.Identity(), lambda x, y: y.mean(), pairs)
    assert (total, count) == (4, 6)


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "mine.txt").write_text("a text", "utf-8")
    assert corpus.load("~/mine.txt") == "a text"


def test_a_download_does_not_wait_for_ever(monkeypatch, tmp_path):
    waits = []

    def opened(url, timeout=None):
        waits.append(timeout)
        raise OSError("no net")

    monkeypatch.setattr(corpus.urllib.request, "urlopen", opened)
    with pytest.raises(ConnectionError):
        corpus._download(corpus.TINY_SHAKESPEARE)
    assert waits == [corpus.TIMEOUT_S]
