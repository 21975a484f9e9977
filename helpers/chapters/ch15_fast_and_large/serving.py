"""SmolLM2 made fast without other answers, and one model that answers many people at once.

`race` also runs llama.cpp, where its wheel is installed (``pip install xllamacpp``).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import corpus, minillama, pretrained

SENTENCE = "The fox did not cross the stream because it was too wide. "

# --- one conversation, fast --------------------------------------------------------------------


class Int4Linear(nn.Module):
    """A linear layer in blocks of 32 codes of four bits, for bfloat16 inputs on a CPU."""

    def __init__(self, linear: nn.Linear):
        super().__init__()
        blocks = linear.weight.detach().float().unflatten(1, (-1, 32))
        least, most = blocks.aminmax(dim=-1)
        scale = (most - least).clamp(min=1e-8) / 15
        codes = ((blocks - least[..., None]) / scale[..., None]).round().int()
        self.codes = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes.flatten(1), 1)
        levels = torch.stack([scale, least + 8 * scale], dim=-1)  # torch counts codes from -8
        self.levels = levels.transpose(0, 1).contiguous().bfloat16()

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, inputs) to (B, T, outputs)."""
        x_NC = x_BTC.flatten(0, -2)
        out_NC = torch.ops.aten._weight_int4pack_mm_for_cpu(x_NC, self.codes, 32, self.levels)
        return out_NC.unflatten(0, x_BTC.shape[:-1])


class FastAttention(nn.Module):
    """Cached attention for one text of at most T tokens: nothing is copied, repeated or masked."""

    def __init__(self, attention: minillama.GroupedQueryAttention, G: int, T: int):
        super().__init__()
        self.attention, self.past, D = attention, 0, attention.D
        self.kept = torch.zeros(2, 1, G, T, D, dtype=torch.bfloat16)
        angle_TK = torch.arange(T)[:, None] / attention.base ** (torch.arange(0, D, 2) / D)
        self.cos_TK, self.sin_TK = angle_TK.cos().bfloat16(), angle_TK.sin().bfloat16()

    def forward(self, x_1TC: Tensor) -> Tensor:
        """Only the new tokens, (1, T, C) to (1, T, C)."""
        one, T = self.attention, x_1TC.shape[1]
        new = slice(self.past, self.past + T)
        q, k, v = (
            layer(x_1TC).unflatten(-1, (-1, one.D)).transpose(1, 2)
            for layer in (one.query, one.key, one.value)
        )
        x, y = torch.cat([q, k], dim=1).unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = self.cos_TK[new], self.sin_TK[new]
        turned = torch.stack([x * cos - y * sin, x * sin + y * cos], dim=-1).flatten(-2)
        q, self.kept[0, :, :, new] = turned.split([q.shape[1], k.shape[1]], dim=1)
        self.kept[1, :, :, new] = v
        self.past += T
        k, v = self.kept[:, :, :, : self.past]
        if T > 1:  # the prompt, once
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:  # heads that share keys become queries of one head
            mixed = F.scaled_dot_product_attention(q.view(1, k.shape[1], -1, one.D), k, v)
            mixed = mixed.reshape(1, -1, 1, one.D)
        return one.out(mixed.transpose(1, 2).flatten(2))


def faster(model: minillama.Llama, *, int4: bool = True, T: int = 512) -> minillama.Llama:
    """A copy of a Llama in bfloat16 with `FastAttention`, to read one text from its start."""
    fast = copy.deepcopy(model).bfloat16().eval()
    if int4:
        for parent in [*fast.modules()]:
            for name, layer in [*parent.named_children()]:
                if isinstance(layer, nn.Linear) and layer is not fast.head:
                    setattr(parent, name, Int4Linear(layer))
    G = model.blocks[0].attention.key.out_features // model.blocks[0].attention.D
    attentions = [FastAttention(block.attention, G, T) for block in fast.blocks]
    minillama.set_attention(fast, attentions)
    return fast


def writes(model: nn.Module, ids_BT: Tensor, n: int) -> Iterator[Tensor]:
    """`minillama.stream`, by a model that `faster` made."""
    for _ in range(n):
        with torch.no_grad():
            ids_BT = model(ids_BT)[:, -1:].argmax(dim=-1)
        yield ids_BT


def of_llama_cpp(ids: list[int], n: int) -> float | None:
    """How many ids a second llama.cpp writes from the same file; None without its wheel."""
    try:
        import xllamacpp
    except ImportError:
        return None
    asked = xllamacpp.CommonParams()
    asked.model.path = str(corpus.cache_dir() / pretrained.MEMBER.rpartition("/")[2])
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = asked.n_parallel = 1
    asked.n_ctx, server = 512, xllamacpp.Server(asked)
    for written in (1, n):  # the second time the prompt has been read
        began = time.process_time()
        asks = {"prompt": ids, "n_predict": written, "temperature": 0, "ignore_eos": True}
        server.handle_completions(asks)
    return n / (time.process_time() - began)


def speed(writing: Iterator[Tensor]) -> tuple[list[int], float]:
    """The ids, and how many came in a second of processor time after the first."""
    ids = [int(next(writing))]
    began = time.process_time()
    ids += [int(id_11) for id_11 in writing]
    return ids, (len(ids) - 1) / (time.process_time() - began)


def ways(model: minillama.Llama, ids_1T: Tensor, n: int) -> dict[str, Iterator[Tensor]]:
    """Three ways to write n ids, the likeliest each time; two where torch is older than 2.6."""
    found = {
        "the book's loop": minillama.stream(model, ids_1T, n),
        "16 bits, nothing copied": writes(faster(model, int4=False), ids_1T, n),
    }
    if hasattr(torch.ops.aten, "_weight_int4pack_mm_for_cpu"):
        found["four bits"] = writes(faster(model), ids_1T, n)
    return found


def race(seed: int, n: int = 65) -> dict:
    """Ids a second of one core by each way and by llama.cpp, and how many first ones agree."""
    model, tokenizer = pretrained.smollm2()
    torch.set_num_threads(1)
    ids_1T = tokenizer.encode(SENTENCE * 4)[None]
    found = {name: speed(writing) for name, writing in ways(model, ids_1T, n).items()}
    speeds = {name: round(per_second, 1) for name, (_, per_second) in found.items()}
    if llama := of_llama_cpp(ids_1T[0].tolist(), n):
        speeds["llama.cpp"] = round(llama, 1)
    book, *others = (ids for ids, _ in found.values())
    same = [
        next((at for at, (a, b) in enumerate(zip(book, ids, strict=True)) if a != b), n)
        for ids in others
    ]
    return {"ids a second": speeds, "as the book's": same}


# --- many conversations ------------------------------------------------------------------------


@torch.no_grad()
def read_together(model, ids_BT, cache, sees_BS):
    """`minillama.read` for rows that begin with padding, where sees_BS is False."""
    T, S, longer = ids_BT.shape[1], sees_BS.shape[1], []
    sees_B1TS = sees_BS[:, None, None] & torch.ones(T, S, dtype=torch.bool).tril(S - T)
    x_BTC = model.embedding(ids_BT)
    for block, (k_old, v_old) in zip(model.blocks, cache, strict=True):
        q, k, v = block.attention.project(block.norm_1(x_BTC), S - T)
        k, v = torch.cat([k_old, k], dim=2), torch.cat([v_old, v], dim=2)
        mixed = F.scaled_dot_product_attention(q, k, v, sees_B1TS, enable_gqa=True)
        x_BTC = x_BTC + block.attention.out(mixed.transpose(1, 2).flatten(2))
        x_BTC = x_BTC + block.feed_forward(block.norm_2(x_BTC))
        longer.append((k, v))
    return model.head(model.norm(x_BTC[:, -1])), longer


def serve(model, requests, users):
    """Answer requests (ids, n), at most so many users at once: pairs (which, id) as they come."""
    S, L = max(len(ids_T) for ids_T, _ in requests), len(model.blocks)
    D = model.blocks[0].attention.D
    G = model.blocks[0].attention.key.out_features // D
    waiting: list = [*enumerate(requests)]
    which: list[int] = []
    left: list[int] = []
    cache, sees_BS = [(torch.zeros(0, G, S, D),) * 2] * L, torch.zeros(0, S, dtype=torch.bool)
    last_B1 = torch.zeros(0, 1, dtype=torch.long)
    while waiting or which:
        while waiting and len(which) < users:  # somebody joins, and is read after padding
            at, (ids_T, n) = waiting.pop(0)
            padding_1GSD = torch.zeros(1, G, S - len(ids_T), D)
            sees_1S = torch.arange(S)[None] >= S - len(ids_T)
            blank = [(padding_1GSD, padding_1GSD)] * L
            logits_1V, row = read_together(model, ids_T[None], blank, sees_1S)
            cache = [
                (torch.cat([k, k_1]), torch.cat([v, v_1]))
                for (k, v), (k_1, v_1) in zip(cache, row, strict=True)
            ]
            sees_BS = torch.cat([sees_BS, sees_1S])
            last_B1 = torch.cat([last_B1, logits_1V.argmax(dim=-1, keepdim=True)])
            which, left = [*which, at], [*left, n]
        yield from zip(which, last_B1[:, 0].tolist(), strict=True)
        stay = [row for row, n in enumerate(left) if n > 1]  # whoever has all their tokens leaves
        which, left = [which[row] for row in stay], [left[row] - 1 for row in stay]
        cache = [(k[stay], v[stay]) for k, v in cache]
        S, sees_BS = S + 1, F.pad(sees_BS[stay], (0, 1), value=True)
        logits_BV, cache = read_together(model, last_B1[stay], cache, sees_BS)
        last_B1 = logits_BV.argmax(dim=-1, keepdim=True)
