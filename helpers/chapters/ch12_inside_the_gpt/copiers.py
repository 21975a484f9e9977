"""Copiers: small GPTs that learn to say a word again, and what becomes of their heads meanwhile."""

from typing import Any

import torch
import torch.nn.functional as F

from helpers.chapters.ch12_inside_the_gpt.ablations import habits
from helpers.gpt import GPT, GPTConfig
from helpers.record import record_attention

COPIER: dict[str, Any] = {"vocab_size": 32, "context": 48, "heads": 8, "width": 64}
COPY: dict[str, Any] = {"steps": 500, "batch_size": 32, "lr": 0.005, "weight_decay": 0.01}


def repeats(n, generator, *, V=32, T=48, low=4, high=16):
    """Rows of T + 1 tokens: a random word of 4 to 16 letters, again and again.

    No letter stands twice in a word. Gives the rows and the length of each word.
    """
    length_N1 = torch.randint(low, high + 1, (n, 1), generator=generator)
    letters = torch.rand(n, V, generator=generator).argsort(dim=1)
    return letters.gather(1, torch.arange(T + 1) % length_N1), length_N1[:, 0]


def copier(L, *, seed, positions="alibi"):
    """A GPT of 32 letters, untrained."""
    config = GPTConfig(layers=L, positions=positions, **COPIER)
    return GPT(config, generator=torch.Generator().manual_seed(seed))


def loss_when_known(logits_BTV, y_BT, length_B):
    """Nats where the word has begun to repeat: the next can be known."""
    nats_BT = F.cross_entropy(logits_BTV.mT, y_BT, reduction="none")
    known_BT = torch.arange(1, y_BT.shape[1] + 1) >= length_B[:, None]
    return nats_BT[known_BT].mean()


def look_at(model, rows, length_B):
    """A copier now: its loss where it can know, its heads' habits."""
    with torch.no_grad(), record_attention(model) as maps:
        logits = model(rows[:, :-1])
    again = torch.arange(1, rows.shape[1]) >= length_B[:, None]
    kinds = habits(maps, rows[:, :-1], again)
    return {
        "loss": loss_when_known(logits, rows[:, 1:], length_B).item(),
        "before": kinds["letter before"].tolist(),
        "followed": kinds["what followed it"].tolist(),
    }


def learn_to_copy(model, *, seed, on_step=None):
    """Train with Adam on new rows at each update; on_step comes before each."""
    generator = torch.Generator().manual_seed(seed)
    how = {name: COPY[name] for name in ("lr", "weight_decay")}
    adam = torch.optim.AdamW(model.parameters(), **how)
    for step in range(COPY["steps"] + 1):
        if on_step is not None:
            on_step(step, model)
        if step == COPY["steps"]:
            return model
        rows, length_B = repeats(COPY["batch_size"], generator)
        loss = loss_when_known(model(rows[:, :-1]), rows[:, 1:], length_B)
        adam.zero_grad()
        loss.backward()
        adam.step()
