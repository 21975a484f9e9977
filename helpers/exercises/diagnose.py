"""What is wrong with a GPT of one's own: the checks of the page *My GPT doesn't work*."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from helpers import example, minigpt

V, T = 61, 8
SEEN = 1e-4  # of how far a token moves its own logits: what is less is rounding


def _larger(model: nn.Module) -> nn.Module:
    """The model with initial weights so large that attention and positions show."""
    for parameter in model.parameters():
        parameter.mul_(10 if parameter.ndim > 1 else 1)
    return model.eval()


def _shift(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    x_BT, y_BT = get_batch(torch.arange(1000), 4, T)
    later = sorted({int(i) for i in (y_BT - x_BT).unique()})
    if later == [0]:
        return "The targets are the inputs, so the model learns to copy the token it has just read."
    return "" if later == [1] else f"Targets should be 1 token later than inputs, not {later}."


def _first_loss(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    ids_BT = (torch.arange(16 * (T + 1)) * 37 % V).view(16, T + 1)
    logits_BTV = GPT(V, T, 32, 2, 2).eval()(ids_BT[:, :-1])
    if (logits_BTV >= 0).all() and torch.allclose(logits_BTV.sum(dim=-1), torch.ones(16, T)):
        return "The model returns probabilities. Cross-entropy takes logits and does the softmax."
    loss = F.cross_entropy(logits_BTV.flatten(0, 1), ids_BT[:, 1:].flatten()).item()
    if math.isnan(loss):
        return "It is nan. A row of the mask leaves its token nothing to read, not even itself."
    wrong = f"It is {loss:.2f} and not log {V} = {math.log(V):.2f}: look at the initial weights."
    return wrong if abs(loss - math.log(V)) >= 0.5 else ""


def _leak(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    ids_BT = torch.arange(T).repeat(4, 1)  # as it is, and changed in three ways
    ids_BT[1, -1] = ids_BT[2, 0] = V - 1
    ids_BT[3, :2] = torch.tensor([1, 0])

    def moved(layers: int) -> torch.Tensor:
        logits_BTV = _larger(GPT(V, T, 32, 2, layers))(ids_BT)
        return (logits_BTV - logits_BTV[0]).abs().amax(dim=-1)[1:]

    last_T, first_T, _ = moved(layers=2)
    if early := int((last_T[:-1] > SEEN * last_T[-1]).sum()):
        where = "the position before it" if early == 1 else f"{early} earlier positions"
        return f"Another last token moves the logits of {where}, so the model sees its target."
    if first_T[-1] <= SEEN * first_T[0]:
        return "Another first token leaves the last logits alone: nothing reads the past."
    _, first_T, swapped_T = moved(layers=1)  # with two, the mask would tell their order
    wrong = "Two tokens that change places leave the last logits alone: positions are missing."
    return wrong if swapped_T[-1] < SEEN * first_T[-1] else ""


def _compared(found_C: torch.Tensor, wanted_C: torch.Tensor) -> str:
    found, wanted = (", ".join(f"{x:.3f}" for x in row) for row in (found_C, wanted_C))
    close = torch.allclose(found_C, wanted_C, atol=1e-3)
    return "" if close else f"By pencil *it* becomes ({wanted}), and yours makes ({found}) of it."


def _attention(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    def row_of_it(layer: Any) -> torch.Tensor:
        layer.qkv, layer.out = example.linear(example.qkv()), example.linear(example.W_O)
        return layer(torch.tensor(example.X)[None])[0, -1]

    mine = GPT(V, T, 32, 2, 2).eval().blocks[0].attention
    return _compared(row_of_it(mine), row_of_it(minigpt.CausalSelfAttention(4, 2, 0.0)))


def _norm(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    x_TC = torch.tensor(example.X).float()
    norm = type(GPT(V, T, 32, 2, 2).blocks[0].norm_1)(3)
    return _compared(norm(x_TC[None])[0, -1], F.layer_norm(x_TC[-1], (3,)))


def _writing(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    model, ids_BT = _larger(GPT(V, T, 32, 2, 2, 0.5)), torch.arange(T)[None]
    written = [generate(model.train(), ids_BT, T, top_k=1) for _ in range(4)]
    if written[0].shape != (1, 2 * T) or not torch.equal(written[0][:, :T], ids_BT):
        return f"It should return the {T} ids that it was given and {T} more."
    if all(torch.equal(one, written[0]) for one in written):
        return ""
    return "The likeliest tokens differ from run to run, because dropout is on: model.eval()."


CHECKS = {
    "targets are one token later": _shift,
    "the first loss is log V": _first_loss,
    "the past is read, and nothing else": _leak,
    "attention gives the pencil's numbers": _attention,
    "the norm gives the pencil's numbers": _norm,
    "it writes without dropout, from the last T tokens": _writing,
}


def diagnose(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    """Try the mistakes that people make most: a line for each check, with what it found.

    GPT, get_batch, generate: yours, with the arguments of minigpt's. Two checks look into
    `blocks[0]`, for its `attention` (with `qkv` and `out`, and two heads) and its `norm_1`.
    """
    lines = []
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        for name, check in CHECKS.items():
            torch.manual_seed(0)
            try:
                found = check(GPT, get_batch, generate)
            except Exception as error:
                found = f"It ended in {type(error).__name__}: {error}"
            lines.append(f"FOUND  {name}. {found}" if found else f"ok     {name}")
    return "\n".join(lines)
