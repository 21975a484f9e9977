"""What is wrong with a GPT of one's own: the checks of the page *My GPT doesn't work*."""

import copy
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
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(10 if parameter.ndim > 1 else 1)
    return model.eval()


def _shift(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    x_BT, y_BT = get_batch(torch.arange(1000), 4, T)
    if (x_BT.diff(dim=1) != 1).any():
        return "A window should be a run of the text, and its tokens don't follow each other there."
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
    if abs(loss - math.log(V)) < 0.5:
        return ""
    return f"It is {loss:.2f} and not log {V} = {math.log(V):.2f}: look at the initial weights."


def _leak(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    model, ids_BT = _larger(GPT(V, T, 32, 2, 2)), torch.arange(T)[None]

    def moved(other_BT: torch.Tensor) -> torch.Tensor:
        return (model(other_BT) - model(ids_BT)).abs().amax(dim=(0, 2))

    first_BT, last_BT, swapped_BT = ids_BT.clone(), ids_BT.clone(), ids_BT.clone()
    first_BT[0, 0] = last_BT[0, -1] = V - 1
    swapped_BT[0, :2] = torch.tensor([1, 0])
    moved_T = moved(last_BT)
    if early := int((moved_T[:-1] > SEEN * moved_T[-1]).sum()):
        where = "the position before it" if early == 1 else f"{early} earlier positions"
        return f"Another last token moves the logits of {where}, so the model sees its target."
    moved_T = moved(first_BT)
    if moved_T[-1] <= SEEN * moved_T[0]:
        return "Another first token leaves the last logits alone: nothing reads the past."
    model = _larger(GPT(V, T, 32, 2, 1))  # with one block, or the mask would tell their order
    if moved(swapped_BT)[-1] < SEEN * moved(first_BT)[-1]:
        return "Two tokens that change places leave the last logits alone: positions are missing."
    return ""


def _attention(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    def row_of_it(layer: Any, factor: float = 1.0) -> torch.Tensor:
        qkv = example.qkv()
        qkv[:, :4] *= factor  # the queries
        layer.qkv, layer.out, layer.H = example.linear(qkv), example.linear(example.W_O), 2
        return layer(torch.tensor(example.X)[None])[0, -1]

    found = row_of_it(copy.deepcopy(GPT(V, T, 32, 2, 2).eval().blocks[0].attention))
    wrong = {2**0.5: "not divided by √D", (2 / 3) ** 0.5: "divided by √C and not by √D"}
    for factor, what in {1.0: "", **wrong, 0.5**0.5: "divided by D and not by √D"}.items():
        wanted = row_of_it(minigpt.CausalSelfAttention(4, 2, 0.0), factor)
        if torch.allclose(found, wanted, atol=1e-6):
            return what and f"Its scores are {what}."
    wanted = row_of_it(minigpt.CausalSelfAttention(4, 2, 0.0))
    said = [", ".join(f"{x:.3f}" for x in row) for row in (found, wanted)]
    return f"Chapter 8's pencil gets ({said[1]}) for *it*, and this layer ({said[0]})."


def _norm(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    norm = type(GPT(V, T, 32, 2, 2).blocks[0].norm_1)(3)
    x_TC = torch.tensor(example.X).float()
    found_C, it_C = norm(x_TC[None])[0, -1], x_TC[-1]
    centred_C = it_C - it_C.mean()
    wrong = {
        "": centred_C / it_C.std(correction=0),
        "Its variance divides by n − 1, and should divide by n.": centred_C / it_C.std(),
        "It does not subtract the mean.": it_C / it_C.square().mean().sqrt(),
        "It takes mean and variance over the tokens, not over a token's numbers.": (
            (it_C - x_TC.mean(dim=0)) / x_TC.std(dim=0, correction=0)
        ),
    }
    for what, wanted_C in wrong.items():
        if torch.allclose(found_C, wanted_C, atol=1e-3):
            return what
    return f"Of *it*, (0.6, −0.6, 1.0), it makes ({', '.join(f'{x:.3f}' for x in found_C)})."


def _writing(GPT: Callable, get_batch: Callable, generate: Callable) -> str:
    model, ids_BT, written = _larger(GPT(V, T, 32, 2, 2, 0.5)).train(), torch.arange(T)[None], []
    for _ in range(4):
        written.append(generate(model.train(), ids_BT, T, top_k=1))
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
    `blocks[0]`, for its `attention` (with `qkv`, `out` and `H`) and its `norm_1`.
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
