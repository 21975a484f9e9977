"""Chapter 07: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch
import torch.nn.functional as F

from helpers.chapters.ch07_heads_masks_positions.exercises import BUGS


def heads(
    x,
    W_Q,
    W_K,
    W_V,
    W_O,
    H,
    *,
    scale=None,
    may=None,
    after=False,
    cut="right",
    out=True,
    no_score=-torch.inf,
    axis=-1,
):
    """Attention with heads in torch, with whatever is to go wrong."""
    x, W_Q, W_K, W_V, W_O = (torch.as_tensor(part) for part in (x, W_Q, W_K, W_V, W_O))
    (T, C), D = x.shape, x.shape[1] // H
    q, k, v = (
        (x @ W).view(T, H, D).transpose(0, 1) if cut == "right" else (x @ W).view(H, T, D)
        for W in (W_Q, W_K, W_V)
    )
    scaled = q @ k.mT / (D**0.5 if scale is None else scale(C, H, D))
    may = torch.ones(T, T).tril().bool() if may is None else may(T)
    weights = (
        scaled.softmax(-1) * may if after else scaled.masked_fill(~may, no_score).softmax(axis)
    )
    mixed = weights @ v
    mixed = mixed.transpose(0, 1).reshape(T, C) if cut == "right" else mixed.reshape(T, C)
    return mixed @ W_O if out else mixed


def by_torch(x, W_Q, W_K, W_V, W_O, H):
    x, W_Q, W_K, W_V, W_O = (torch.tensor(p).float() for p in (x, W_Q, W_K, W_V, W_O))
    q, k, v = ((x @ W).view(len(x), H, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(0, 1).reshape(x.shape) @ W_O


def strided(x, W_Q, W_K, W_V, W_O, H):
    """Head h gets columns h, h + H, h + 2H, …"""
    order = np.concatenate([np.arange(h, len(W_O), H) for h in range(H)])
    return heads(x, *(W[:, order] for W in (W_Q, W_K, W_V)), W_O, H)


def bugged(**bug):
    return lambda *given: heads(*given, **bug)


def step(x_new, keys, values, W_Q, W_K, W_V):
    k, v = np.concatenate([keys, [x_new @ W_K]]), np.concatenate([values, [x_new @ W_V]])
    out = F.scaled_dot_product_attention(
        *(torch.tensor(part).float() for part in ((x_new @ W_Q)[None], k, v))
    )
    return [out[0], torch.tensor(k), v.tolist()]


def reading(x_new, keys, values, W_Q, W_K, W_V, *, itself=True, root=None):
    k, v = np.vstack([keys, x_new @ W_K]), np.vstack([values, x_new @ W_V])
    read = slice(None) if itself or len(k) == 1 else slice(-1)
    scaled = k[read] @ (x_new @ W_Q) / (W_Q.shape[1] ** 0.5 if root is None else root(x_new))
    powers = np.exp(scaled - scaled.max())
    return powers / powers.sum() @ v[read], k, v


def kept_old(*given):
    return reading(*given)[0], given[1], given[2]


def in_front(*given):
    out, k, v = reading(*given)
    return out, np.roll(k, 1, axis=0), np.roll(v, 1, axis=0)


HANDS = np.exp(-5j * 10_000.0 ** (-np.arange(4) / 4)) * (1 + 1j)
OTHER_WAY = np.exp(5j * 10_000.0 ** (-np.arange(4) / 4)) * (1 + 1j)

RIGHT = {
    "07.1": lambda new, total: torch.ones(total, total).tril()[total - new :].tolist(),
    "07.2": by_torch,
    "07.3": BUGS,
    "07.4": torch.tensor(np.concatenate([HANDS.real, HANDS.imag])).float(),
    "07.5": [[1.0], [2.0], [0.5]],
    "07.7": step,
}

WRONG = {
    "07.1": [
        (lambda new, total: np.tri(new, total), "taken for the first of the text"),
        (lambda new, total: np.tri(total, k=-1)[total - new :], "read itself, too"),
        (lambda new, total: np.tri(total, k=1)[total - new :], "one too far"),
        (lambda new, total: np.tri(total).T[total - new :], "what comes later"),
        (lambda new, total: np.tri(total)[total - new :] == 0, "exchanged"),
        (lambda new, total: np.ones((new, total)), "everything may be read"),
        (lambda new, total: np.tri(total), "should have shape"),
        (lambda new, total: np.where(np.tri(total)[total - new :], 0, -9.0), "not scores"),
        (lambda new, total: np.where(np.tri(total)[total - new :], 0, -np.inf), "not scores"),
    ],
    "07.2": [
        (bugged(may=lambda T: torch.ones(T, T).bool()), "the mask is missing"),
        (bugged(may=lambda T: torch.ones(T, T).tril(1).bool()), "one too far"),
        (bugged(may=lambda T: torch.ones(T, T).triu().bool()), "wrong way round"),
        (bugged(after=True), "behind the softmax"),
        (bugged(scale=lambda C, H, D: C**0.5), "root of C"),
        (bugged(scale=lambda C, H, D: H**0.5), "the number of heads"),
        (bugged(scale=lambda C, H, D: 1), "not divided"),
        (bugged(scale=lambda C, H, D: D), "not by its root"),
        (bugged(cut="wrong"), "cut the wrong way"),
        (bugged(out=False), "W_O is missing"),
        (lambda x, W_Q, W_K, W_V, W_O, H: heads(x, W_Q, W_K, W_V, W_O, 1), "plays no part"),
        (bugged(no_score=0.0), "A score of 0 is not a weight of 0"),
        (bugged(axis=-2), "should sum to 1"),
        (lambda x, W_Q, W_K, W_V, W_O, H: heads(x, W_K, W_Q, W_V, W_O, H), "exchanged"),
        (strided, "not every H-th"),
        (lambda x, W_Q, W_K, W_V, W_O, H: x @ W_V @ W_O, "the numbers are not right"),
        (lambda x, W_Q, W_K, W_V, W_O, H: x[0], "should have shape"),
    ],
    "07.3": [
        (dict.fromkeys(BUGS, "root of C"), "1 of the 4 are right"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "of the 4"),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
        (["root of C"] * 4, "Give a dictionary"),
    ],
    "07.4": [
        (np.ones(8), "the key 0 back"),
        (np.concatenate([OTHER_WAY.real, OTHER_WAY.imag]), "back scores highest"),
        (np.zeros(8), "No single place"),
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
    "07.7": [
        (lambda *given: reading(*given, itself=False), "not itself"),
        (lambda *given: reading(*given, root=lambda x: 1.0), "not divided"),
        (lambda *given: reading(*given, root=lambda x: len(x) ** 0.5), "root of C"),
        (kept_old, "lack the row"),
        (in_front, "stands first"),
        (lambda *given: reading(*given)[0], "Return the three things"),
        (lambda *given: (reading(*given)[0] + 1, *reading(*given)[1:]), "the output is not"),
        (lambda x, k, v, *tables: (x @ tables[2], *reading(x, k, v, *tables)[1:]), "is not"),
    ],
}
