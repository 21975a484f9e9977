"""Chapter 07: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch
from torch.nn import functional as F

from helpers import minigpt
from helpers.chapters import judges

HANDS = np.exp(-5j * 10_000.0 ** (-np.arange(4) / 4)) * (1 + 1j)
OTHER_WAY = np.exp(5j * 10_000.0 ** (-np.arange(4) / 4)) * (1 + 1j)

step = judges()["07.7"].right


class CausalSelfAttention(minigpt.CausalSelfAttention):
    def forward(self, x_BTC):  # without dropout
        q, k, v = self.qkv(x_BTC).unflatten(-1, (3, self.H, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))


RIGHT = {
    "07.4": [torch.tensor(np.concatenate([HANDS.real, HANDS.imag])).float()],
    "07.5": [[[1.0], [2.0], [0.5]]],
}

WRONG = {
    "07.1": [
        (lambda new, total: np.where(np.tri(total)[total - new :], 0, -9.0), "not scores"),
        (lambda new, total: np.where(np.tri(total)[total - new :], 0, -np.inf), "not scores"),
    ],
    "07.4": [
        (np.ones(8), "the key 0 back"),
        (np.concatenate([OTHER_WAY.real, OTHER_WAY.imag]), "back scores highest"),
        (np.zeros(8), "No single position"),
        (np.ones(4), "should have shape"),
        (-np.concatenate([HANDS.real, HANDS.imag]), "scores lowest"),
    ],
    "07.5": [
        (np.zeros((3, 4)), "alike"),
        (np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]), "alike"),
        (np.eye(3)[:2], "should have shape (3, D)"),
        (0.01 * np.eye(3), "not enough"),
        (1e200 * np.eye(3), "so large"),
    ],
    "07.7": [(lambda *given: step(*given)[0], "Return the three things")],
    "07.8": [(CausalSelfAttention, "Dropout is missing")],
}
