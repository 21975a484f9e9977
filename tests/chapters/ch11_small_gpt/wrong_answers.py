"""Chapter 11: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters.ch11_small_gpt.exercises import BUGS


def probabilities(logits, temperature, top_k, *, times=False, ignore=False, after=False, low=False):
    z = np.asarray(logits, dtype=float)
    z = z * temperature if times else z if ignore else z / temperature
    kept = np.argsort(z)[:top_k] if low else np.argsort(z)[-top_k:]
    mask = np.isin(np.arange(len(z)), kept)
    if after:
        return np.exp(z) / np.exp(z).sum() * mask
    powers = np.exp(z) * mask
    return powers / powers.sum()


def in_torch(logits, temperature, top_k):
    z = torch.tensor(logits, dtype=torch.float32) / temperature
    z[z < z.topk(top_k).values[-1]] = -torch.inf
    return z.softmax(dim=0)


def count(V, C, L, *, biases=True, norms=2, last=1, tables=2):
    per_block = 12 * C**2 + 9 * C * biases + 2 * C * norms
    return L * per_block + C * last * norms + tables * V * C


def generate(logits_of, ids, n, context, *, seen=None, row=-1, new_only=False, more=0):
    ids = list(ids)
    prompt, seen = len(ids), seen or (lambda ids: ids[-context:])
    for _ in range(n + more):
        ids.append(int(np.argmax(logits_of(seen(ids))[row])))
    return ids[prompt:] if new_only else ids


def in_place(logits_of, ids, n, context):
    for _ in range(n):
        ids.append(int(np.argmax(logits_of(ids[-context:])[-1])))
    return ids


def prompt_alone(logits_of, ids, n, context):
    prompt = list(ids)
    return generate(logits_of, ids, n, context, seen=lambda _: prompt[-context:])


def with_tensors(logits_of, ids, n, context):
    ids = torch.tensor(ids)
    for _ in range(n):
        logits = torch.as_tensor(logits_of(ids[-context:]))
        ids = torch.cat([ids, logits[-1].argmax()[None]])
    return ids


SURE = [[0.9, 0.1], [0.45, 0.55], [0.45, 0.55]]  # lower loss, right once of three
UNSURE = [[0.02, 0.98], [0.51, 0.49], [0.51, 0.49]]
TIED = [[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]]  # a tie is right by argmax
JUST = [[0.51, 0.49], [0.51, 0.49], [0.01, 0.99]]

RIGHT = {
    "11.1": in_torch,
    "11.2": count,
    "11.3": dict(BUGS),
    "11.4": np.float32(0.352),
    "11.5": (SURE, np.array(UNSURE), [0, 0, 0]),
    "11.7": with_tensors,
}

WRONG = {
    "11.1": [
        (lambda z, t, k: probabilities(z, t, k, times=True), "gets bolder"),
        (lambda z, t, k: probabilities(z, t, k, ignore=True), "what it is with 1"),
        (lambda z, t, k: probabilities(z, t, k, after=True), "does not sum to 1"),
        (lambda z, t, k: probabilities(z, t, len(z)), "yours keeps all"),
        (lambda z, t, k: probabilities(z, t, k, low=True), "least likely"),
        (lambda z, t, k: probabilities(z, t, max(k - 1, 1)), "are not right"),
        (lambda z, t, k: np.asarray(z)[:, None], "should have shape (5,)"),
    ],
    "11.2": [
        (lambda V, C, L: count(V, C, L, biases=False), "biases"),
        (lambda V, C, L: count(V, C, L, norms=0), "The norms are missing"),
        (lambda V, C, L: count(V, C, L, last=0), "behind the last block"),
        (lambda V, C, L: count(V, C, L, tables=1), "one table for both ends"),
        (lambda V, C, L: count(V, C, L, norms=1), "right for RMS norm"),
        (lambda V, C, L: count(V, C, 1), "one block only"),
        (lambda V, C, L: 12 * L * C**2, "not right"),
    ],
    "11.3": [
        (dict.fromkeys(BUGS, "divided by the temperature twice"), "1 of the 4 are right (Cleo)"),
        (dict(zip(BUGS, reversed(BUGS.values()), strict=True)), "0 of the 4 are right"),
        ({**BUGS, "Dan": "kept too few"}, "is not one of the 4"),
        (list(BUGS.values()), "Give a dictionary"),
    ],
    "11.4": [
        (1 / 0.352, "would be multiplied"),
        (1.0, "with probability 0.5"),
        (0.3, "with probability 0.9"),
        (-0.352, "positive"),
    ],
    "11.5": [
        ((UNSURE, SURE, [0, 0, 0]), "p should have the lower loss"),
        ((SURE, [[0.5, 0.5]] * 3, [0, 0, 0]), "q should be right more often"),
        ((TIED, JUST, [0, 0, 0]), "p is right 3 times and q 2"),
        ((SURE, [[0.5, 0.4]] * 3, [0, 0, 0]), "sum to 1"),
        ((SURE, UNSURE[:2], [0, 0, 0]), "one shape"),
        ((SURE, UNSURE, [0, 0, 2]), "whole numbers from 0 to 1"),
        ((SURE, UNSURE), "Give the tuple"),
    ],
    "11.7": [
        (lambda f, i, n, c: generate(f, i, n, c, seen=lambda ids: ids), "reads 1 to 4 tokens"),
        (lambda f, i, n, c: generate(f, i, n, c, seen=lambda ids: ids[:c]), "Which ones"),
        (lambda f, i, n, c: generate(f, i, n, c, seen=lambda ids: ids[-1:]), "a bigram table"),
        (lambda f, i, n, c: generate(f, i, n, c, row=0), "Which row"),
        (lambda f, i, n, c: generate(f, i, n, c, new_only=True), "Only the new tokens"),
        (lambda f, i, n, c: generate(f, i, n, c, more=1), "tokens should come back"),
        (in_place, "has been changed"),
        (prompt_alone, "Each new token has to be read"),
    ],
}
