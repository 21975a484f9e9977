"""SmolLM2 at several speeds, and one model that answers many people at once.

`race` also runs llama.cpp, where its wheel is installed (``pip install xllamacpp``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers import corpus, fast, minillama, pretrained

SENTENCE = "The fox did not cross the stream because it was too wide. "

# --- one conversation, fast --------------------------------------------------------------------


def llama_cpp() -> Any:
    """llama.cpp with the same file, on one thread; None without its wheel."""
    try:
        import xllamacpp
    except ImportError:
        return None
    asked = xllamacpp.CommonParams()
    asked.model.path = str(corpus.cache_dir() / pretrained.MEMBER.rpartition("/")[2])
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = asked.n_parallel = 1
    asked.n_ctx = 1024
    return xllamacpp.Server(asked)


def rates(n: int, function: Callable[..., Any], *given: Any) -> dict[str, float]:
    """How many of n ids a call does in a second of processor time, and by the clock."""
    began, at = time.process_time(), time.perf_counter()
    function(*given)
    took = {"processor": time.process_time() - began, "clock": time.perf_counter() - at}
    return {by: round(n / seconds, 1) for by, seconds in took.items()}


def asks(server: Any, ids: list[int], n: int) -> None:
    """Let llama.cpp write n ids, which reads the prompt unless it began so the last time."""
    how = {"n_predict": n, "temperature": 0, "ignore_eos": True}
    server.handle_completions({"prompt": ids, **how})


def speed(writing: Iterator[Tensor]) -> tuple[list[int], float]:
    """The ids, and how many came in a second of processor time after the first."""
    ids = [int(next(writing))]
    began = time.process_time()
    ids += [int(id_11) for id_11 in writing]
    return ids, (len(ids) - 1) / (time.process_time() - began)


def ways(model: minillama.Llama, ids_1T: Tensor, n: int) -> dict[str, Iterator[Tensor]]:
    """Four ways to write n ids, the likeliest each time; three without `fast.INT4`."""
    found = {
        "the book's loop": minillama.stream(model, ids_1T, n),
        "nothing copied or repeated": fast.stream(fast.faster(model, 32), ids_1T, n),
        "and in 16 bits": fast.stream(fast.faster(model, 16), ids_1T, n),
    }
    if fast.INT4:
        found["and in four bits"] = fast.stream(fast.faster(model, 4), ids_1T, n)
    return found


PROMPTS = (64, 256, 512)


def race(seed: int, n: int = 65) -> dict:
    """Ids a second of one core that each way writes, and how many first ones agree; so llama.cpp.

    With it also how fast both read a prompt of each of three lengths.
    """
    model, tokenizer = pretrained.smollm2()
    torch.set_num_threads(1)
    ids_1T = tokenizer.encode(SENTENCE * 4)[None]
    found = {name: speed(writing) for name, writing in ways(model, ids_1T, n).items()}
    speeds = {name: round(per_second, 1) for name, (_, per_second) in found.items()}
    book, *others = (ids for ids, _ in found.values())
    same = [sum(ids[:k] == book[:k] for k in range(1, n + 1)) for ids in others]
    read: dict[str, dict] = {}
    if server := llama_cpp():
        asks(server, ids_1T[0].tolist(), 1)
        speeds["llama.cpp"] = rates(n, asks, server, ids_1T[0].tolist(), n)["processor"]
        text_N = tokenizer.encode(corpus.load()[5000 * seed :][:5000])
        for T in PROMPTS:
            ids_T, text_N = text_N[:T], text_N[T:]
            read[str(T)] = {
                "the book's": rates(T, minillama.read, model, ids_T[None], None),
                "llama.cpp": rates(T, asks, server, ids_T.tolist(), 1),
            }
    return {"ids a second": speeds, "as the book's": same, "read": read}


# --- many conversations ------------------------------------------------------------------------


@torch.no_grad()
def read_together(model, ids_BT, cache_LKBGSD, sees_BS):
    """`minillama.read` for rows that begin with padding, where sees_BS is False; K: key, value."""
    T, S, longer = ids_BT.shape[1], sees_BS.shape[1], []
    sees_B1TS = sees_BS[:, None, None] & torch.ones(T, S, dtype=torch.bool).tril(S - T)
    x_BTC = model.embedding(ids_BT)
    for block, old in zip(model.blocks, cache_LKBGSD, strict=True):
        q, *new = block.attention.project(block.norm_1(x_BTC), S - T)
        k, v = both = torch.cat([old, torch.stack(new)], dim=3)
        mixed = F.scaled_dot_product_attention(q, k, v, sees_B1TS, enable_gqa=True)
        x_BTC = x_BTC + block.attention.out(mixed.transpose(1, 2).flatten(2))
        x_BTC = x_BTC + block.feed_forward(block.norm_2(x_BTC))
        longer.append(both)
    return model.head(model.norm(x_BTC[:, -1])), torch.stack(longer)


def serve(model, requests, users):
    """Answer requests (ids, n), at most so many users at once: pairs (which, id) as they come."""
    waiting, left = [*enumerate(requests)], dict[int, int]()  # left: ids that each row still gets
    S, L = max(len(ids_T) for ids_T, _ in requests), len(model.blocks)
    D = model.blocks[0].attention.D
    G = model.blocks[0].attention.key.out_features // D
    cache, sees_BS = torch.zeros(L, 2, 0, G, S, D), torch.zeros(0, S, dtype=torch.bool)
    logits_BV = torch.zeros(0, model.head.out_features)
    while waiting or left:
        while waiting and len(left) < users:  # somebody joins, and is read after padding
            at, (ids_T, n) = waiting.pop(0)
            padding = torch.zeros(L, 2, 1, G, S - len(ids_T), D)
            sees_1S = torch.arange(S)[None] >= S - len(ids_T)
            logits_1V, row = read_together(model, ids_T[None], padding, sees_1S)
            cache, sees_BS = torch.cat([cache, row], dim=2), torch.cat([sees_BS, sees_1S])
            logits_BV = torch.cat([logits_BV, logits_1V])
            left[at] = n
        new_B1 = logits_BV.argmax(dim=-1, keepdim=True)
        yield from zip(left, new_B1[:, 0].tolist(), strict=True)
        stay = [row for row, n in enumerate(left.values()) if n > 1]  # the others have them all
        left = {at: n - 1 for at, n in left.items() if n > 1}
        S, sees_BS = S + 1, F.pad(sees_BS[stay], (0, 1), value=True)
        logits_BV, cache = read_together(model, new_B1[stay], cache[:, :, stay], sees_BS)
