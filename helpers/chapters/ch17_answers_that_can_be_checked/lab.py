"""A fox crosses a stream or stays, and a Llama that says where she is gets rewards for it.

The parts: ``base``, what pre-training alone gives (seed 0 writes the model that the chapter loads);
``rewards``, a checker and a coin; ``page``, the same for a GPT, of which seed 0 writes the one that
learns in the page; ``prices``, a checker that charges for tokens; ``gap``, one that can be fooled;
``starts``, pre-training without steps, or from smaller weights; ``passes``, of sixteen answers;
``smollm2``, a real model that compares numbers. A pre-training takes some twelve seconds of one
core, forty updates half as long.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import helpers
from helpers import checkpoint
from helpers.chapters.ch17_answers_that_can_be_checked.comparing import compared
from helpers.chapters.lab import Part, parts_of
from helpers.minigpt import Tokenizer, lr_at, make_optimizer
from helpers.minillama import reinforce, sample

BASE = Path(helpers.__file__).parent / "data" / "fox_steps.safetensors"
PAGE = BASE.with_name("fox_steps_gpt.safetensors")
TOKENIZER = Tokenizer(" cross stay near far so ? .", pattern=r" \S+")
CROSS, STAY, NEAR, FAR, SO, ASKED, END = TOKENIZER.encode(" cross stay near far so ? .").tolist()
MOVES = 10
SIZES = {"V": 7, "T": 2 * MOVES + 4, "C": 32, "H": 4, "G": 2, "L": 2, "hidden": 80, "base": 100}
WITH_STEPS = re.compile(rf"( near| far){{{MOVES}}} ")  # and more, such as "so far ."

# --- questions, and lines to learn from -------------------------------------------------------


def ask(n: int) -> Tensor:
    """Questions, drawn at random, (n, 11)."""
    is_cross_NM = torch.rand(n, MOVES) < 0.5
    return F.pad(torch.where(is_cross_NM, CROSS, STAY), (0, 1), value=ASKED)


def steps(asked_NT: Tensor) -> Tensor:
    """The side after each move, (N, M); she begins on the near one."""
    is_far_NM = (asked_NT[:, :MOVES] == CROSS).cumsum(dim=1) % 2 == 1
    return torch.where(is_far_NM, FAR, NEAR)


def lines(n: int, share: float) -> tuple[Tensor, Tensor]:
    """Questions with right answers, a share of them with steps: ids and targets, (N, T) each."""
    asked_NT = ask(n)
    side_NM = steps(asked_NT)
    last_N1, filled = side_NM[:, -1:], partial(torch.full, (n, 1))
    stepwise = torch.cat([side_NM, filled(SO), last_N1, filled(END)], dim=1)
    at_once = F.pad(torch.cat([last_N1, filled(END)], dim=1), (0, MOVES + 1), value=-100)
    answer = torch.where(torch.rand(n, 1) < share, stepwise, at_once)
    ids = torch.cat([asked_NT, answer.where(answer >= 0, END)], dim=1)
    targets = torch.cat([torch.full_like(asked_NT, -100), answer], dim=1)
    return ids, targets


def pretrain(share: float = 0.3, std: float = 0.1, n: int = 400, kind: str = "llama") -> nn.Module:
    """A Llama, or a "gpt", after n batches of 128 lines, by chapter 11's recipe.

    std: of its initial matrices, where chapter 10's have 0.02.
    """
    sizes = SIZES if kind == "llama" else {axis: SIZES[axis] for axis in "VTCHL"}
    model = checkpoint.KINDS[kind](**sizes)
    for parameter in model.parameters():
        if parameter.ndim == 2:
            parameter.data *= std / 0.02
    optimizer = make_optimizer(model, 0.01)
    for step in range(n):
        for group in optimizer.param_groups:
            group["lr"] = lr_at(step, n, 0.01)
        ids_BT, targets_BT = lines(128, share)
        loss = F.cross_entropy(model(ids_BT[:, :-1]).mT, targets_BT[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


@cache
def base(seed: int, **how: Any) -> nn.Module:
    """The model that a seed pre-trains; a copy is to be trained further."""
    torch.manual_seed(seed)
    return pretrain(**how)


# --- answers as text, and what they are paid --------------------------------------------------


def told(ids: Tensor) -> tuple[str, str]:
    """A row of ids as question and answer, which ends with its end token if it has one."""
    question, _, rest = TOKENIZER.decode(ids.tolist()).partition(" ?")
    answer, end, _ = rest.partition(" .")
    return question, answer + end


def truth(question: str) -> str:
    """The side on which she is at the end."""
    return "far" if question.count("cross") % 2 else "near"


def is_right(question: str, answer: str) -> bool:
    """Whether the last word is the truth, and nothing follows."""
    return answer.endswith(f" {truth(question)} .")


def says_it(question: str, answer: str) -> bool:
    """Whether the truth stands anywhere in the answer."""
    return truth(question) in answer.split()


def sides_right(question: str, answer: str) -> float:
    """Of the sides in an answer with steps, the share that is true."""
    sides = answer.split()[:MOVES]
    moves = question.split()
    return sum(truth(" ".join(moves[: n + 1])) == side for n, side in enumerate(sides)) / MOVES


def coin(question: str, answer: str) -> bool:
    """Heads or tails, whatever was asked and answered."""
    return torch.rand(()).item() < 0.5


CHECKERS = {"checker": is_right, "anywhere": says_it, "coin": coin}


def paid(check: Callable[[str, str], bool], price: float = 0.0) -> Callable[[Tensor], Tensor]:
    """The reward of each row of ids: 1 if it is accepted, less a price for every token."""

    def reward(ids_BT: Tensor) -> Tensor:
        rows = [told(ids) for ids in ids_BT]
        return torch.tensor([check(*row) - price * len(row[1].split()) for row in rows])

    return reward


def course(near: float, price: float, updates: int = 60) -> np.ndarray:
    """Probabilities of near, far, and steps over average updates at the rate 1, (updates + 1, 3).

    near: the share of questions whose answer that is.
    """
    logits_3, found = np.log([0.5, 0.25, 0.25]), []
    reward_3 = np.array([near, 1 - near, 1]) - price * np.array([2, 2, MOVES + 3])
    for _ in range(updates + 1):
        p_3 = np.exp(logits_3) / np.exp(logits_3).sum()
        found.append(p_3)
        logits_3 = logits_3 + p_3 * (reward_3 - p_3 @ reward_3)
    return np.array(found)


# --- what is measured -------------------------------------------------------------------------


def look(model: nn.Module, n: int = 512) -> dict:
    """Of one answer to each of n questions: shares, tokens, and the most frequent of all."""
    ids_NT, _ = sample(model, ask(n), END)
    rows = [told(ids) for ids in ids_NT]
    long = [row for row in rows if WITH_STEPS.match(row[1])]
    [(often, times)] = Counter(answer for _, answer in rows).most_common(1)

    def share(check, rows):
        return round(sum(check(*row) for row in rows) / len(rows), 3) if rows else None

    return {
        "right": share(is_right, rows),
        "accepted": share(says_it, rows),
        "steps": round(len(long) / n, 3),
        "right with steps": share(is_right, long),
        "sides": share(sides_right, long),
        "tokens": round(sum(len(answer.split()) for _, answer in rows) / n, 2),
        "most frequent": [often, round(times / n, 3)],
    }


def answers(model: nn.Module, question: str, n: int = 16) -> list[str]:
    """Answers to one question."""
    ids_NT, _ = sample(model, TOKENIZER.encode(question).expand(n, -1), END)
    return [told(ids)[1] for ids in ids_NT]


def vote(model: nn.Module, n: int = 256, each: int = 16) -> float:
    """Of n questions, how many a majority answers rightly; a tie counts half."""
    ids_NT, _ = sample(model, ask(n).repeat_interleave(each, dim=0), END)
    right_NK = torch.tensor([is_right(*told(ids)) for ids in ids_NT]).view(n, each)
    share_N = right_NK.double().mean(dim=1)
    return round(((share_N > 0.5).double() + 0.5 * (share_N == 0.5)).mean().item(), 3)


def given(model: nn.Module, n: int = 512) -> dict:
    """How often the last word is right where the steps before it are true, or changed."""
    asked_NT = ask(n)
    true_NM = steps(asked_NT)
    chance_NM = torch.where(torch.rand(n, MOVES) < 0.5, FAR, NEAR)
    flipped_NM = NEAR + FAR - true_NM
    last_NM, two_NM = (torch.cat([true_NM[:, :-k], flipped_NM[:, -k:]], dim=1) for k in (1, 2))
    changed = {"true": true_NM, "random": chance_NM, "last flipped": last_NM}
    found = {}
    for name, side_NM in (changed | {"last two flipped": two_NM}).items():
        ids_NT = torch.cat([asked_NT, side_NM, torch.full((n, 1), SO)], dim=1)
        ids_NT, _ = sample(model, ids_NT, END)
        found[name] = round(sum(is_right(*told(ids)) for ids in ids_NT) / n, 3)
    return found


def based(seed: int) -> dict:
    """What pre-training alone gives; the model of seed 0 is written."""
    model = base(seed)
    if seed == 0:
        checkpoint.save(BASE, model, TOKENIZER)
    torch.manual_seed(1000 + seed)
    return look(model) | {"vote": vote(model), "given": given(model)}


def rewarded(
    seed: int, reward: str = "checker", price: float = 0.0, looks=(0, 10, 20, 40), **how
) -> dict:
    """A pre-trained model under a reward, seen after so many updates; seed 0's GPT is written."""
    model = copy.deepcopy(base(seed, **how))
    if seed == 0 and how == {"kind": "gpt"}:
        checkpoint.save(PAGE, model, TOKENIZER, torch.float16)
    torch.manual_seed(1000 + seed)
    found = [look(model)] if 0 in looks else []
    pay = paid(CHECKERS[reward], price)
    for update, _ in reinforce(model, partial(ask, 16), pay, END, looks[-1], group=8, lr=0.001):
        if update in looks:
            found.append(look(model))
    return {key: [one[key] for one in found] for key in found[0]}


def passes(model: nn.Module, n: int = 128, each: int = 16) -> dict:
    """pass@1 and pass@16 of answers whose ten sides and last word are right, as no guess's are."""
    ids_NT, _ = sample(model, ask(n).repeat_interleave(each, dim=0), END)
    rows = [told(ids) for ids in ids_NT]
    passed = torch.tensor([is_right(*row) and sides_right(*row) == 1 for row in rows])
    passed_NK = passed.view(n, each).double()
    one, any_of_all = passed_NK.mean().item(), passed_NK.amax(dim=1).mean().item()
    return {"pass@1": round(one, 3), f"pass@{each}": round(any_of_all, 3)}


def passed(seed: int) -> dict:
    """The same of a pre-trained model, and after forty updates under the checker."""
    model = copy.deepcopy(base(seed))
    torch.manual_seed(1000 + seed)
    found = [passes(model)]
    for _ in reinforce(model, partial(ask, 16), paid(is_right), END, 40, group=8, lr=0.001):
        pass
    found.append(passes(model))
    return {key: [one[key] for one in found] for key in found[0]}


def span(part: str, key: str, at: int = -1, **setting) -> str:
    """The lowest and the highest share over the seeds at a look, such as "96 to 100 %".

    "none" where no answer was of the kind.
    """
    shares = [run[key][at] for run in PARTS[part].runs(**setting) if run[key][at] is not None]
    if not shares:
        return "none"
    low, high = (f"{100 * end:.0f}" for end in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low} to {high} %"


PAYERS = [{"reward": "checker"}, {"reward": "coin"}]
PARTS = parts_of(
    17,
    {
        "base": Part(run=based, settings=[{}]),
        "rewards": Part(run=rewarded, settings=PAYERS),
        "page": Part(run=partial(rewarded, kind="gpt"), settings=PAYERS),
        "prices": Part(
            run=partial(rewarded, looks=(0, 40)),
            settings=[{"price": price} for price in (0.02, 0.06)],
        ),
        "gap": Part(
            run=partial(rewarded, reward="anywhere", looks=(0, 20, 40, 80)),
            settings=[{"price": price} for price in (0.0, 0.03)],
        ),
        "starts": Part(
            run=partial(rewarded, looks=(0, 40)),
            settings=[{"share": 0.3, "std": 0.02}, {"share": 0.0, "std": 0.1}],
        ),
        "passes": Part(run=passed, settings=[{}]),
        "smollm2": Part(run=compared, settings=PAYERS, seeds=range(3)),
    },
)
