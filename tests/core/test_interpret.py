"""Looking into a model, held to computations without hooks: by hand, or in changed weights."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import interpret, minigpt, minillama, variants

V, T, C, H, L = 11, 8, 12, 3, 3
IDS = torch.randint(V, (2, T), generator=torch.Generator().manual_seed(1))


def spread_out(model: nn.Module) -> nn.Module:
    """Weights so large that every part matters, biases and norms too; in float64."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p + 0.4 * torch.randn(p.shape, generator=generator))
    return model.double().eval()


GPT = spread_out(minigpt.GPT(V, T, C, H, L))
ALIBI = spread_out(variants.GPT(V, T, C, H, L, positions="alibi"))
LLAMA = spread_out(minillama.Llama(V, T, C, H=3, G=1, L=L, hidden=16))
each_kind = pytest.mark.parametrize("model", [GPT, ALIBI, LLAMA], ids=["gpt", "alibi", "llama"])


@torch.no_grad()
def by_hand(model, cut=(0, 0, 0)):
    """Logits, levels and weights of a minigpt, written out; cut: (layer, position, read)."""
    levels, weights = [model.embedding(IDS) + model.position.weight], []
    for n, block in enumerate(model.blocks, start=1):
        qkv = block.attention.qkv(block.norm_1(levels[-1]))
        q, k, v = (x.split(C // H, dim=-1) for x in qkv.chunk(3, dim=-1))
        rows = []
        for h in range(H):
            scores = torch.einsum("btd,bsd->bts", q[h], k[h]) / math.sqrt(C // H)
            scores = scores.masked_fill(torch.ones(T, T).triu(1) == 1, -torch.inf)
            if n == cut[0]:
                scores[:, cut[1], cut[2]] = -torch.inf
            rows.append(F.softmax(scores, dim=-1))
        mixed = torch.cat([rows[h] @ v[h] for h in range(H)], dim=-1)
        x = levels[-1] + block.attention.out(mixed)
        levels.append(x + block.feed_forward(block.norm_2(x)))
        weights.append(torch.stack(rows, dim=1))
    return model.head(model.norm(levels[-1])), levels, torch.stack(weights)


def test_stream_weights_and_lens_are_those_by_hand():
    logits, levels, weights = by_hand(GPT)
    torch.testing.assert_close(torch.stack(interpret.stream(GPT, IDS)), torch.stack(levels))
    torch.testing.assert_close(interpret.attention_weights(GPT, IDS), weights)
    torch.testing.assert_close(GPT(IDS).detach(), logits)
    torch.testing.assert_close(interpret.lens(GPT, levels[-1]), logits)


@each_kind
@pytest.mark.parametrize(("instead", "factor"), [([], 0), ([lambda x: 2 * x], 2)])
def test_a_silent_or_louder_head_is_one_of_other_columns(model, instead, factor):
    layer, head, D = 2, 1, C // H
    changed = copy.deepcopy(model)
    changed.blocks[layer - 1].attention.out.weight.data[:, (head - 1) * D : head * D] *= factor
    with interpret.without_heads(model, [(layer, head)], *instead):
        torch.testing.assert_close(model(IDS), changed(IDS))
    assert not torch.allclose(model(IDS), changed(IDS))


@each_kind
@pytest.mark.parametrize("level", range(L + 1))
def test_a_patch_is_that_vector_in_its_place(model, level):
    x = torch.randn(2, C, generator=torch.Generator().manual_seed(3)).double()
    levels = interpret.stream(model, IDS)
    levels[level][:, 4] = x
    wanted = model.head(model.norm(model.blocks[level:](levels[level])))
    with interpret.patched(model, level, 4, x):
        torch.testing.assert_close(model(IDS), wanted)
    assert not torch.allclose(model(IDS), wanted)


@pytest.mark.parametrize("read", [2, torch.tensor([2, 2])])
def test_what_may_not_be_read_has_a_score_of_minus_infinity(read):
    wanted, _, _ = by_hand(GPT, cut=(2, 5, 2))
    with interpret.without_reading(GPT, 2, 5, read), torch.no_grad():
        torch.testing.assert_close(GPT(IDS), wanted)
    assert not torch.allclose(GPT(IDS), wanted)


@pytest.mark.parametrize("over", [None, 7])
def test_parts_of_a_logit_sum_to_its_lead(over):
    logits_V = GPT(IDS)[0, -1].detach()
    wanted = logits_V[3] - (logits_V.mean() if over is None else logits_V[over])
    parts = interpret.logit_parts(GPT, IDS[0], 3, over)
    assert sum(parts.values()) == pytest.approx(wanted.item(), abs=1e-12)
    assert {("head", 1, 1, 0), ("head", L, H, T - 1)} < set(parts)


def test_a_part_is_what_the_logit_loses_at_a_fixed_norm():
    block, (*_, x, last) = GPT.blocks[-1], interpret.stream(GPT, IDS)
    hidden = F.gelu(block.feed_forward.up(block.norm_2(x + block.attention(block.norm_1(x)))))
    added_C = (hidden @ block.feed_forward.down.weight.T)[0, -1]
    scale = (last[0, -1].var(correction=0) + GPT.norm.eps).sqrt()
    lost = ((added_C - added_C.mean()) / scale * GPT.norm.weight) @ (
        GPT.head.weight[3] - GPT.head.weight[7]
    )
    parts = interpret.logit_parts(GPT, IDS[0], 3, 7)
    assert parts["feed-forward", L] == pytest.approx(lost.item())


def test_scores_of_a_llama_are_its_weights_and_of_alibi_none():
    x, attention = LLAMA.blocks[0].norm_1(LLAMA.embedding(IDS)), LLAMA.blocks[0].attention
    v = attention.value(x)[:, None]  # all three heads read it
    read = (interpret.attention_weights(LLAMA, IDS)[0] @ v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(attention.out(read), attention(x))
    with pytest.raises(ValueError, match="alibi"):
        interpret.scores(ALIBI, 1, IDS)
    with interpret.record_attention(ALIBI) as weights:  # though these can be recorded
        ALIBI(IDS)
    torch.testing.assert_close(interpret.attention_weights(ALIBI, IDS), torch.stack(weights))


def test_scores_of_a_text_said_twice_are_on_their_diagonals():
    weights = torch.zeros(1, 1, 2, 6, 6)
    weights[..., 0, [3, 4, 5], [1, 2, 3]] = torch.tensor([0.3, 0.6, 0.9])  # what followed
    weights[..., 1, range(1, 6), range(5)] = 0.5
    torch.testing.assert_close(interpret.induction_scores(weights), torch.tensor([[0.6, 0.0]]))
    torch.testing.assert_close(interpret.previous_token_scores(weights), torch.tensor([[0.0, 0.5]]))
