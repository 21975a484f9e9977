"""SmolLM2 made fast on a CPU: `python -m helpers.chat` writes with it.

Chapter 15 says where each factor comes from, and measures them. Rounding to 16 bits may turn an
answer to other words. A prompt is read about half as fast as in 32 bits.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.minillama import Llama, set_attention

# Without a kernel of its own for the processor, torch multiplies such weights one by one.
INT4 = torch.backends.cpu.get_cpu_capability().startswith("AVX") and hasattr(
    torch.ops.aten, "_weight_int4pack_mm_for_cpu"
)


class Int4Linear(nn.Module):
    """A linear layer in blocks of 32 codes of four bits, for bfloat16 inputs on a CPU."""

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.in_features = linear.in_features
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
    """Cached attention for one text of at most T tokens: nothing is copied or repeated."""

    def __init__(self, attention: Any, T: int, dtype: torch.dtype):
        super().__init__()
        self.attention, self.past, D = attention, 0, attention.D
        self.kept = torch.empty(0)
        angle_TK = torch.arange(T)[:, None] / attention.base ** (torch.arange(0, D, 2) / D)
        self.cos_TK, self.sin_TK = angle_TK.cos().to(dtype), angle_TK.sin().to(dtype)

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
        q, k = turned.split([q.shape[1], k.shape[1]], dim=1)
        if not len(self.kept):  # room for the whole text
            self.kept = k.new_zeros(2, 1, k.shape[1], len(self.cos_TK), one.D)
        self.kept[0, :, :, new], self.kept[1, :, :, new] = k, v
        self.past += T
        k, v = self.kept[:, :, :, : self.past]
        if T > 1:  # the prompt
            sees_TS = torch.ones(T, self.past, dtype=torch.bool).tril(self.past - T)
            mixed = F.scaled_dot_product_attention(q, k, v, sees_TS, enable_gqa=True)
        else:  # heads that share keys become queries of one head
            mixed = F.scaled_dot_product_attention(q.view(1, k.shape[1], -1, one.D), k, v)
            mixed = mixed.reshape(1, -1, 1, one.D)
        return one.out(mixed.transpose(1, 2).flatten(2))


def faster(model: Llama, bits: int, T: int = 512) -> Any:
    """A copy of a Llama with `FastAttention`, to read one text of at most T tokens.

    bits: of a weight in its blocks, 32, 16 or, where `INT4` says so, 4; then all else has 16.
    """
    dtype = torch.float32 if bits == 32 else torch.bfloat16
    fast: Any = copy.deepcopy(model).to(dtype).eval()
    fast.T, fast.ids = T, []
    if bits == 4:
        for parent in [*fast.modules()]:
            for name, layer in [*parent.named_children()]:
                if isinstance(layer, nn.Linear) and layer is not fast.head:
                    setattr(parent, name, Int4Linear(layer))
    set_attention(fast, [FastAttention(block.attention, T, dtype) for block in fast.blocks])
    return fast


@torch.no_grad()
def stream(model: Any, ids_1T: Tensor, n: int) -> Iterator[Tensor]:
    """`minillama.stream`, by a model that `faster` made; a text that goes on isn't read again.

    Ends early where its T is reached. Raises ValueError for a text that is longer than that.
    """
    [new] = ids_1T.tolist()
    if len(new) > model.T:
        raise ValueError(f"{len(new)} tokens don't fit into a text of {model.T}: begin a new one")
    n = min(n, model.T - len(new) + 1)
    pairs = zip(model.ids, new[:-1], strict=False)  # the last one's logits are needed
    model.ids = [a for a, b in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    for block in model.blocks:
        block.attention.past = len(model.ids)
    new = new[len(model.ids) :]
    for _ in range(n):
        logits_1TV = model(torch.tensor([new]))
        model.ids += new
        new = [int(logits_1TV[0, -1].argmax())]
        yield torch.tensor([new])
