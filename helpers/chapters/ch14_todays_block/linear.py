"""Gated linear attention, and a race with attention on the tales.

The part ``linear`` trains Llamas of four blocks on the characters of the tales: with attention in
all blocks, with gated linear attention in all, and a hybrid of three to one (ten minutes on one
core). All compute the same for each token.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from helpers.chapters.lab import characters, seeded
from helpers.minigpt import init_weights, train
from helpers.minillama import Llama, RMSNorm

C, H, L, T = 48, 4, 4, 64
KINDS = {"attention": (), "linear": (0, 1, 2, 3), "hybrid": (0, 1, 2)}  # blocks that are linear
RATES = (0.003, 0.006)


class GatedLinearAttention(nn.Module):
    """Each head keeps one matrix: a gate shrinks it, each key and value add to it."""

    def __init__(self, C, H):
        super().__init__()
        self.H = H
        self.query = nn.Linear(C, C, bias=False)
        self.key = nn.Linear(C, C, bias=False)
        self.value = nn.Linear(C, C, bias=False)
        self.gate, self.norm = nn.Linear(C, H), RMSNorm(C // H)
        self.out = nn.Linear(C, C, bias=False)

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C), all positions at once."""
        q, k, v = self.query(x_BTC), self.key(x_BTC), self.value(x_BTC)
        q, k, v = (x.unflatten(-1, (self.H, -1)).transpose(1, 2) for x in (q, k, v))
        log_gate_BHT = F.logsigmoid(self.gate(x_BTC) + 4).mT.cumsum(dim=-1)
        since_BHTT = log_gate_BHT[..., :, None] - log_gate_BHT[..., None, :]
        kept_BHTT = since_BHTT.tril().exp().tril()  # what is left of each key and value
        mixed_BHTD = (q @ k.mT * kept_BHTT) @ v
        return self.out(self.norm(mixed_BHTD).transpose(1, 2).flatten(2))


@torch.no_grad()
def step_by_step(layer, x_TC):
    """What the layer gives for one text, token by token, from its matrices alone: (T, C)."""
    state_HDD, outputs = 0, []
    for x_C in x_TC:
        q, k, v = (
            f(x_C).unflatten(-1, (layer.H, -1)) for f in (layer.query, layer.key, layer.value)
        )
        gate_H11 = torch.sigmoid(layer.gate(x_C) + 4)[:, None, None]
        state_HDD = gate_H11 * state_HDD + k[:, :, None] * v[:, None]
        outputs.append(layer.out(layer.norm((q[:, None] @ state_HDD)[:, 0]).flatten()))
    return torch.stack(outputs)


def model_of(kind: str, V: int) -> Llama:
    """A Llama with linear layers in some blocks, whose feed-forwards get what these save."""
    model = Llama(V, T, C, H, H, L, hidden=128)
    for at in KINDS[kind]:
        model.blocks[at] = type(model.blocks[at])(C, H, H, 128 + 33, 10_000)  # 14,492 as 14,592
        model.blocks[at].attention = GatedLinearAttention(C, H)
    init_weights(model)
    return model


def one_run(seed: int, kind: str, lr: float, steps: int = 300) -> dict:
    """Train one, and keep its loss on unseen text, nats a character."""
    tokenizer, seen, unseen = characters()
    with seeded(seed):
        model = model_of(kind, len(tokenizer.vocab))
        losses = [loss for _, loss in train(model, seen, steps, 8, lr)]
    windows = unseen[: 200 * (T + 1)].view(-1, T + 1)
    with torch.no_grad():
        logits = model.eval()(windows[:, :-1])
    found = F.cross_entropy(logits.mT, windows[:, 1:]).item()
    return {"first": [round(loss, 3) for loss in losses[:5]], "validation": round(found, 4)}


def bytes_kept(T: int, C: int = C, H: int = H) -> tuple[int, int]:
    """Of one layer after T tokens, 2 bytes a number: by attention, and by a linear layer."""
    return 2 * T * C * 2, C * C // H * 2
