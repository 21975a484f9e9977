"""Mistakes that no other test would see, one pointed question each."""

import pytest
import torch
from tiny import seeded

from helpers import corpus, minigpt, similarity, variants
from helpers.norms import BatchNorm, GroupNorm


def model(**block):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        gpt = variants.GPT(V=7, T=12, C=8, H=2, L=1, **block).eval()
        with torch.no_grad():
            for parameter in gpt.parameters():
                parameter += 0.5 * torch.randn_like(parameter)
    return gpt


@pytest.mark.parametrize("k", [2, 3, 7])
def test_top_k_samples_the_k_likeliest_in_proportion(k):
    gpt, prompt = model(), torch.tensor([[3, 1, 4]])
    p_V = gpt(prompt)[0, -1].double().softmax(dim=-1)
    kept = p_V.argsort(descending=True)[:k]
    wanted = torch.zeros_like(p_V)
    wanted[kept] = p_V[kept] / p_V[kept].sum()
    rows = 4000
    torch.manual_seed(2)
    drawn = minigpt.generate(gpt, prompt.expand(rows, -1), 1, top_k=k)[:, -1]
    shares = drawn.bincount(minlength=7) / rows
    torch.testing.assert_close(shares.double(), wanted, rtol=0, atol=5 * 0.5 / rows**0.5)
    assert not shares[wanted == 0].any()


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rope", "alibi", "none"])
def test_a_model_in_half_stays_in_half(positions):
    gpt, ids = model(positions=positions), torch.tensor([[1, 2, 3, 4, 5]])
    whole = gpt(ids)
    half = gpt.to(torch.bfloat16)(ids)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), whole, rtol=0.1, atol=0.25)
    assert minigpt.generate(gpt, ids, 3).shape == (1, 8)


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


def test_generation_builds_no_graph():
    writer, graphs = model(), []
    writer.register_forward_hook(lambda *_: graphs.append(torch.is_grad_enabled()))
    minigpt.generate(writer, torch.tensor([[1]]), 2)
    assert graphs == [False, False]


def test_distances_of_close_rows_far_from_0():
    table = torch.tensor([[1e4, 0.0], [1e4, 0.01]]).repeat(20, 1)
    scores = similarity.similarity_matrix(table, measure="euclid")
    torch.testing.assert_close(scores[0, :2], torch.tensor([0.0, -0.01]))


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "mine.txt").write_text("a text", "utf-8")
    assert corpus.load("~/mine.txt") == "a text"
