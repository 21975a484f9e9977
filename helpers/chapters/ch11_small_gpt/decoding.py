"""Chapter 11's last experiment: rules by which the model of the valley's tales goes on writing.

Part ``decoding``: twenty held-out tales, cut off after 24 tokens, are continued by 60 more by each
rule. Stored is how surprised the model itself is by a token of what follows.
"""

from functools import cache

import torch

from helpers import checkpoint, corpus, valley

GIVEN, MORE, TALES = 24, 60, range(20)


def top_p(logits_BV, p):
    """The fewest likeliest tokens whose probabilities sum to at least p; −∞ for the others."""
    p_BV, order_BV = logits_BV.softmax(dim=-1).sort(descending=True)
    before_BV = p_BV.cumsum(dim=-1) - p_BV  # of all likelier ones
    rank_BV = order_BV.argsort(dim=-1)
    return logits_BV.masked_fill((before_BV >= p).gather(-1, rank_BV), -torch.inf)


def min_p(logits_BV, p):
    """The tokens at least p times as probable as the likeliest; −∞ for the others."""
    p_BV = logits_BV.softmax(dim=-1)
    return logits_BV.masked_fill(p_BV < p * p_BV.amax(dim=-1, keepdim=True), -torch.inf)


@torch.no_grad()
def sampled(model, ids_BT, n, keep, generator):
    """The ids and n more, each drawn from what a rule keeps of the logits."""
    for _ in range(n):
        logits_BV = keep(model(ids_BT[:, -model.T :])[:, -1])
        p_BV = logits_BV.softmax(dim=-1)
        ids_BT = torch.cat([ids_BT, p_BV.multinomial(1, generator=generator)], dim=1)
    return ids_BT


@torch.no_grad()
def beam(model, ids_1T, n, width):
    """The likeliest text that is found if the `width` likeliest beginnings are kept each time."""
    ids_BT, sum_B = ids_1T, torch.zeros(1)
    for _ in range(n):
        log_p_BV = model(ids_BT[:, -model.T :])[:, -1].log_softmax(dim=-1)
        sums, V = (sum_B[:, None] + log_p_BV).flatten(), log_p_BV.shape[-1]
        sum_B, at_B = sums.topk(min(width, len(sums)))
        ids_BT = torch.cat([ids_BT[at_B // V], at_B[:, None] % V], dim=1)
    return ids_BT[:1]


RULES = {
    "all tokens": lambda logits: logits,
    "temperature 0.5": lambda logits: logits / 0.5,
    "top-p 0.9": lambda logits: top_p(logits, 0.9),
    "min-p 0.1": lambda logits: min_p(logits, 0.1),
    "likeliest": lambda logits: min_p(logits, 1.0),
}
SETTINGS = [{"rule": rule} for rule in ("the tale itself", *RULES, "beam of 4")]


@cache
def held_out():
    """The held-out tales that are long enough, as ids."""
    _, tokenizer = checkpoint.load()
    _, unseen_N = corpus.split(tokenizer.encode(valley.text()))
    tales = tokenizer.decode(unseen_N).split(valley.BETWEEN)[1:-1]
    found = [tokenizer.encode(valley.BETWEEN + tale) for tale in tales]
    return [ids[None, : GIVEN + MORE] for ids in found if len(ids) >= GIVEN + MORE]


@torch.no_grad()
def surprise(model, ids_1T):
    """Nats per token that follows the given ones."""
    log_p_1TV = model(ids_1T[:, :-1]).log_softmax(dim=-1)
    log_p_1T = log_p_1TV.gather(-1, ids_1T[:, 1:, None])[..., 0]
    return -log_p_1T[:, GIVEN - 1 :].mean().item()


def continued(model, tale_1T, rule, seed):
    """A tale's first tokens and what a rule adds to them."""
    generator = torch.Generator().manual_seed(seed)
    if rule == "the tale itself":
        return tale_1T
    if rule == "beam of 4":
        return beam(model, tale_1T[:, :GIVEN], MORE, 4)
    return sampled(model, tale_1T[:, :GIVEN], MORE, RULES[rule], generator)


def run(seed: int, *, rule: str) -> dict:
    """The surprise of one tale's continuation; its number is the seed."""
    model, _ = checkpoint.load()
    ids_1T = continued(model, held_out()[seed], rule, seed)
    return {"surprise": round(surprise(model, ids_1T), 3)}
