"""Chapter 15's measurements: drafts that change nothing, blocks of few bits, tiles."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from matplotlib.colors import to_hex
from support import ROOT

from helpers import fast, gguf, minillama
from helpers.chapters.ch15_fast_and_large import figures, lab


def cell(ident: str) -> str:
    """The source of a cell of the chapter."""
    path = ROOT / "notebooks" / "15_fast_and_large.ipynb"
    [found] = [c for c in json.loads(path.read_text("utf-8"))["cells"] if c["id"] == ident]
    return "".join(found["source"])


# --- drafts -----------------------------------------------------------------------------------


def fixed(table_VV: torch.Tensor):
    """A target and a draft that know only the last token, as they are called."""
    return (lambda ids_T: table_VV[ids_T]), (lambda ids_T: table_VV[ids_T[-1]])


def chance(counts, expected) -> float:
    """Of chi-square at least as large as that of these counts."""
    statistic = ((counts - expected) ** 2 / expected).sum()
    freedom = torch.tensor((len(counts) - 1) / 2, dtype=torch.float64)
    return torch.special.gammaincc(freedom, torch.tensor(statistic / 2)).item()


@pytest.mark.parametrize("k", [1, 3])
def test_what_is_written_with_a_draft_has_the_target_s_distribution(k):
    """Pairs of tokens after a given one, by chi-square against the exact probabilities."""
    rng = torch.Generator().manual_seed(0)
    p_VV, q_VV = torch.rand(2, 3, 3, generator=rng).pow(2).softmax(dim=-1) ** 2
    p_VV, q_VV = (x / x.sum(dim=-1, keepdim=True) for x in (p_VV, q_VV))
    p_VV[0] = torch.tensor([0.7, 0.3, 0.0])  # a token that the target never writes
    counts, draws = np.zeros((3, 3)), 4000
    (target, _), (_, draft) = fixed(p_VV), fixed(q_VV)
    with lab.seeded(1):
        for _ in range(draws):
            ids_T = torch.tensor([0])
            while len(ids_T) < 3:
                ids_T, _ = lab.speculative_round(target, draft, ids_T, k)
            counts[ids_T[1], ids_T[2]] += 1
    exact = (p_VV[0][:, None] * p_VV).numpy()
    assert counts[exact == 0].sum() == 0
    seen = exact > 0
    assert chance(counts[seen], draws * exact[seen] / exact[seen].sum()) > 0.01
    wrong = (q_VV[0][:, None] * p_VV).numpy()  # as if the first draft were always kept
    assert chance(counts[seen], draws * wrong[seen] / wrong[seen].sum()) < 1e-6


def test_a_draft_that_is_the_target_is_always_accepted():
    table_VV = torch.full((4, 4), 0.25)
    target, draft = fixed(table_VV)
    ids_T, kept = lab.speculative_round(target, draft, torch.tensor([2]), 5)
    assert (kept, len(ids_T)) == (5, 7)


def test_ngram_draft_is_the_share_of_what_followed():
    _, _, train, _ = lab.storyteller()
    before = train[100:102].tolist()
    after = [
        c
        for a, b, c in zip(train.tolist(), train[1:].tolist(), train[2:].tolist(), strict=False)
        if [a, b] == before
    ]
    q_V = lab.ngram_draft(3)(torch.tensor([7, *before]))
    assert q_V[after[0]].item() == pytest.approx(after.count(after[0]) / len(after))
    assert q_V.sum().item() == pytest.approx(1)


# --- the scaling law --------------------------------------------------------------------------


def test_parameters_are_those_of_the_blocks_matrices():
    model = lab.minigpt.GPT(5, 4, 16, 2, lab.BLOCKS)
    counted = sum(p.numel() for p in model.blocks.parameters() if p.ndim == 2)
    assert counted == lab.parameters(16)


def test_power_law_goes_on_along_its_line():
    N = np.array([10.0, 100.0, 1000.0])
    assert lab.power_law(N, 5 * N**-0.1)(1e5) == pytest.approx(5 * 1e5**-0.1)


# --- few bits, tiles, the cache ---------------------------------------------------------------


@pytest.mark.parametrize("block", [32, None])
def test_rounding_moves_no_weight_by_more_than_half_a_step(block):
    w = torch.randn(8, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for bits in (2, 4):
        low = lab.rounded_weights(w, bits, block)
        rows, others = w.reshape(-1, block or w.numel()), low.reshape(-1, block or w.numel())
        half = (rows.amax(1) - rows.amin(1)) / (2**bits - 1) / 2
        assert ((rows - others).abs().amax(1) <= half + 1e-12).all()
        assert all(len(row.unique()) <= 2**bits for row in others)
        assert torch.equal(low.amax(), w.amax())


def test_loss_of_bits_leaves_the_model_as_it_was():
    model, ids_BT = lab.storyteller().model, lab.storyteller().unseen[None, :33]
    before = {name: w.clone() for name, w in model.state_dict().items()}
    assert lab.loss_of_bits(model, ids_BT, 2) > lab.loss_of_bits(model, ids_BT, 8)
    assert all(torch.equal(w, before[name]) for name, w in model.state_dict().items())


def test_smollm2_is_on_the_16_levels_of_its_file(smollm2):
    w = smollm2[0].blocks[0].attention.query.weight.detach()
    torch.testing.assert_close(lab.rounded_weights(w, 4), w)


def test_blocks_that_the_chapter_packs_are_read_by_the_reader_of_gguf():
    space = {"np": np}
    exec(cell("to-q4-1"), space)
    for x_32 in (np.random.default_rng(0).standard_normal(32), np.full(32, 0.7)):
        back_32 = gguf.q4_1(space["to_q4_1"](x_32)[None])[0]
        assert len(space["to_q4_1"](x_32)) == 20
        assert np.abs(back_32 - x_32).max() < np.ptp(x_32) / 15 / 2 + 0.003  # of float16


def test_a_draft_like_the_target_is_always_accepted_in_the_chapter_too():
    space = {"torch": torch, "F": F}
    exec(cell("comes-out"), space)
    p_V = torch.randn(50, dtype=torch.float64).softmax(dim=-1)
    assert torch.allclose(space["comes_out"](p_V, p_V), p_V, rtol=0, atol=1e-12)


def test_tile_by_tile_is_attention_with_its_gradient():
    space = {"torch": torch}
    exec(cell("online"), space)
    torch.manual_seed(0)
    for scale in (1, 300):  # exponentials that would overflow
        q, k, v = (scale * x for x in torch.randn(3, 20, 4, dtype=torch.float64))
        q, k, v = (x.requires_grad_() for x in (q, k, v))
        found = space["online"](q, k, v, 6)
        whole = F.scaled_dot_product_attention(q, k, v)
        assert torch.allclose(found, whole, rtol=0, atol=1e-12 * scale)
        for a, b in zip(
            torch.autograd.grad(found.square().sum(), (q, k, v)),
            torch.autograd.grad(whole.square().sum(), (q, k, v)),
            strict=True,
        ):
            assert torch.allclose(a, b, rtol=1e-9, atol=1e-9 * scale)


# --- fast, and many at once --------------------------------------------------------------------


def small_llama():
    with lab.seeded(0):
        model = minillama.Llama(V=300, T=64, C=64, H=4, G=2, L=2, hidden=64)
    for parameter in model.parameters():
        parameter.data *= 4  # or one token comes again and again
    return model


def test_everybody_in_a_batch_gets_what_they_would_get_alone():
    model, draw = small_llama(), torch.Generator().manual_seed(1)
    lengths = ((3, 5), (7, 1), (2, 6), (5, 2), (1, 4))
    requests = [(torch.randint(300, (T,), generator=draw), n) for T, n in lengths]
    for users in (1, 2, 5):
        served = [[] for _ in requests]
        for which, token in lab.serving.serve(model, requests, users):
            served[which].append(token)
        for (ids_T, n), answer in zip(requests, served, strict=True):
            alone = minillama.stream(model, ids_T[None], n)
            assert answer == [token.item() for token in alone]


def test_the_picture_of_a_batch_is_how_serve_goes(ax, monkeypatch):
    """Of everybody who joins, the columns in which the prompt stands."""
    requests = [(torch.arange(T), n) for T, n in ((2, 4), (6, 9), (4, 8), (4, 3))]
    joined, plain = [], lab.serving.read_together

    def read_together(model, ids_BT, cache, sees_BS):
        if ids_BT.shape[1] > 1:
            joined.append(torch.nonzero(sees_BS[0])[:, 0].tolist())
        return plain(model, ids_BT, cache, sees_BS)

    monkeypatch.setattr(lab.serving, "read_together", read_together)
    assert len([*lab.serving.serve(small_llama(), requests, 2)]) == 4 + 9 + 8 + 3
    figures.draw_batch(ax, {f"{n}": one for n, one in enumerate(requests)}, 2)
    blue = [patch for patch in ax.patches if to_hex(patch.get_facecolor()) == figures.DONE]
    assert joined == [
        [patch.get_x() for patch in blue if int(patch.get_y()) == row] for row in range(4)
    ]


def test_a_line_says_so_where_torch_has_no_fast_four_bits(monkeypatch, capsys):
    words = SimpleNamespace(encode=lambda text: torch.arange(9))
    space = {"serving": lab.serving, "smol": small_llama(), "tokenizer": words}
    monkeypatch.setattr(fast, "INT4", False)
    exec(cell("fast-race"), space)
    *_, before, last = capsys.readouterr().out.splitlines()
    assert "tokens a second" in before
    assert "PyTorch" in last
