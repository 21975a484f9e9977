"""Where model families differ: names of tensors, norms, windows. A model with given weights."""

import re
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.minillama import GroupedQueryAttention, Llama, LlamaBlock, RMSNorm, rotate

NAMES = {  # ours, those of GGUF, and those of Hugging Face; {}: a block's number
    "embedding": ("token_embd", "model.embed_tokens"),
    "blocks.{}.norm_1": ("blk.{}.attn_norm", "model.layers.{}.input_layernorm"),
    "blocks.{}.attention.query": ("blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"),
    "blocks.{}.attention.key": ("blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"),
    "blocks.{}.attention.value": ("blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"),
    "blocks.{}.attention.out": ("blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"),
    "blocks.{}.norm_2": ("blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"),
    "blocks.{}.feed_forward.gate": ("blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"),
    "blocks.{}.feed_forward.up": ("blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"),
    "blocks.{}.feed_forward.down": ("blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"),
    "norm": ("output_norm", "model.norm"),
    "head": ("output", "lm_head"),
}
QK_NORM = {  # what Qwen 3 and OLMo 2 have besides
    f"blocks.{{}}.attention.{part}_norm": ("", f"model.layers.{{}}.self_attn.{part[0]}_norm")
    for part in ("query", "key")
}
OUTPUT_NORM = {  # where OLMo 2 has its other norms
    "blocks.{}.norm_1": ("", "model.layers.{}.post_attention_layernorm"),
    "blocks.{}.norm_2": ("", "model.layers.{}.post_feedforward_layernorm"),
}
FAMILIES: dict[str, dict[str, tuple[str, str]]] = {  # by Hugging Face's model_type
    "llama": {},
    "qwen2": {},
    "mistral": {},
    "qwen3": QK_NORM,
    "olmo2": QK_NORM | OUTPUT_NORM,
}


def renamed(
    tensors: dict[str, Tensor], column: int, names: dict[str, tuple[str, str]] = NAMES
) -> dict[str, Tensor]:
    """Tensors by our names. Raises ValueError for one without a place in our model, as QK-norm's.

    A linear layer has a place for a bias, which `filled` makes where a file has one.
    """
    ours = {f"{theirs[column]}.weight": f"{name}.weight" for name, theirs in names.items()}
    linear = [name for name in names if "attention." in name or "feed_forward." in name]
    ours |= {f"{names[name][column]}.bias": f"{name}.bias" for name in linear}
    state = {}
    for name, tensor in tensors.items():
        pattern = re.sub(r"\.\d+\.", ".{}.", name)
        if pattern not in ours:
            raise ValueError(f"this model has {name}, for which ours has no place")
        state[ours[pattern].format(*re.findall(r"\d+", name))] = tensor
    return state


class NormedAttention(GroupedQueryAttention):
    """Normalises queries and keys, each head by itself (Qwen 3) or all together (OLMo 2)."""

    def __init__(self, C: int, H: int, G: int, base: float, wide_q: int, wide_k: int):
        super().__init__(C, H, G, base)
        self.query_norm, self.key_norm = RMSNorm(wide_q), RMSNorm(wide_k)

    def project(self, x_BTC: Tensor, first: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, D), keys and values (B, G, T, D)."""
        q, k, v = self.query(x_BTC), self.key(x_BTC), self.value(x_BTC)
        q, k = (
            norm(x.unflatten(-1, (-1, len(norm.weight)))).flatten(-2)
            for norm, x in ((self.query_norm, q), (self.key_norm, k))
        )
        q, k, v = (x.unflatten(-1, (-1, self.D)).transpose(1, 2) for x in (q, k, v))
        return rotate(q, first, self.base), rotate(k, first, self.base), v


class WindowedAttention(GroupedQueryAttention):
    """Each token reads the last `window` ones, itself included (Mistral)."""

    def __init__(self, C: int, H: int, G: int, base: float, window: int):
        super().__init__(C, H, G, base)
        self.window = window

    def project(self, x_BTC: Tensor, first: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Raises ValueError beyond the window, because a cache would read all that it holds."""
        if first + x_BTC.shape[1] > self.window:
            raise ValueError(f"beyond this model's window, {self.window}, our cache can't follow")
        return super().project(x_BTC, first)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C), of any length."""
        q, k, v = super().project(x_BTC)
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
        ones_TT = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device)
        mixed = F.scaled_dot_product_attention(q, k, v, ones_TT.tril().triu(1 - self.window))
        return self.out(mixed.transpose(1, 2).flatten(2))


class OutputNormBlock(LlamaBlock):
    """The norms follow attention and feed-forward, inside the residual connection (OLMo 2)."""

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x_BTC = x_BTC + self.norm_1(self.attention(x_BTC))
        return x_BTC + self.norm_2(self.feed_forward(x_BTC))


def filled(
    state: dict[str, Tensor],
    L: int,
    T: int,
    H: int,
    base: float,
    eps: float,
    D: int | None = None,
    window: int | None = None,
    block_kind: type[LlamaBlock] = LlamaBlock,
) -> Llama:
    """A model with these weights. Without one of its own the head is tied to the embedding.

    D: the width of a head, if not C / H. Raises ValueError where they are not those of L blocks.
    """
    found = {int(name.split(".")[1]) for name in state if name.startswith("blocks")}
    if found != {*range(L)}:
        raise ValueError(f"this model should have {L} blocks, and its file holds {len(found)}")
    V, C = state["embedding.weight"].shape
    D = D or C // H
    G = len(state["blocks.0.attention.key.weight"]) // D
    hidden = len(state["blocks.0.feed_forward.up.weight"])

    def as_is(tensor: Tensor, **_: Any) -> Tensor:
        return tensor  # nothing is drawn for weights that come from a file

    with torch.device("meta"), patch.multiple(nn.init, normal_=as_is, kaiming_uniform_=as_is):
        model = Llama(V, T, C, H, G, L, hidden, base)
        for n in range(L):
            block = model.blocks[n] = block_kind(C, H, G, hidden, base)
            norms = [f"blocks.{n}.attention.{part}_norm.weight" for part in ("query", "key")]
            if window:
                block.attention = WindowedAttention(C, H, G, base, window)
            elif norms[0] in state:
                block.attention = NormedAttention(
                    C, H, G, base, *(len(state[norm]) for norm in norms)
                )
            block.attention.D = D
            for part in ("query", "key", "value", "out"):
                out, into = state[f"blocks.{n}.attention.{part}.weight"].shape
                setattr(block.attention, part, nn.Linear(into, out, bias=False))
    for name in state:
        layer, _, kind = name.rpartition(".")
        if kind == "bias":
            model.get_submodule(layer).bias = nn.Parameter(state[name])
    head = {"head.weight": state["embedding.weight"]}
    model.load_state_dict(head | state, assign=True)
    if "head.weight" not in state:
        model.head.weight = model.embedding.weight
    for module in model.modules():
        if isinstance(module, RMSNorm):
            module.eps = eps
    return model.eval()
