"""Copiers: small GPTs that learn to say a word again, and what becomes of their heads meanwhile."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import interpret, minigpt, variants
from helpers.chapters import lab

SIZES: dict[str, Any] = {"V": 32, "T": 48, "C": 64, "H": 8}
COPY: dict[str, Any] = {"steps": 400, "batch_size": 32, "lr": 0.003}
LONGEST = 16  # letters of a word


def learn(
    model: nn.Module,
    loss: Callable[[Tensor, Any], Tensor],
    batches: Iterable[tuple[Tensor, Any]],
    *,
    steps: int,
    lr: float,
    look: Callable[[int, nn.Module], object] = lambda step, model: None,
) -> nn.Module:
    """Train as chapter 11's loop does, on these batches and with this loss.

    look: called before each step with its number and the model.
    """
    optimizer = minigpt.make_optimizer(model, lr)

    def on_step(step: int, model: nn.Module) -> None:
        look(step, model)
        for group in optimizer.param_groups:
            group["lr"] = minigpt.lr_at(step, steps, lr)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    lab.train(model, loss, batches, steps=steps, optimizer=optimizer, on_step=on_step)
    return model.eval()


def repeats(
    n: int, generator: torch.Generator, low: int = 4, high: int = LONGEST
) -> tuple[Tensor, Tensor]:
    """Rows of T + 1 letters: a random word of low to high letters, again and again.

    No letter stands twice in a word. Gives the rows and the length of each word.
    """
    length_N1 = torch.randint(low, high + 1, (n, 1), generator=generator)
    letters = torch.rand(n, SIZES["V"], generator=generator).argsort(dim=1)
    return letters.gather(1, torch.arange(SIZES["T"] + 1) % length_N1), length_N1[:, 0]


def loss_when_known(logits_BTV: Tensor, expected: tuple[Tensor, Tensor]) -> Tensor:
    """Nats where the word has begun to repeat: the next letter can be known."""
    y_BT, length_B = expected
    nats_BT = F.cross_entropy(logits_BTV.mT, y_BT, reduction="none")
    known_BT = torch.arange(1, y_BT.shape[1] + 1) >= length_B[:, None]
    return nats_BT[known_BT].mean()


def copier(L: int, *, seed: int) -> variants.GPT:
    """A GPT of 32 letters with ALiBi, untrained."""
    with lab.seeded(seed):
        return variants.GPT(L=L, positions="alibi", **SIZES)


def learn_to_copy(model: nn.Module, *, seed: int, look: Callable = lambda *_: None) -> nn.Module:
    """Train on new rows at each update."""
    generator = torch.Generator().manual_seed(seed)

    def batches():
        while True:
            rows, length_B = repeats(COPY["batch_size"], generator)
            yield rows[:, :-1], (rows[:, 1:], length_B)

    how = {name: COPY[name] for name in ("steps", "lr")}
    return learn(model, loss_when_known, batches(), look=look, **how)


@torch.no_grad()
def look_at(model: nn.Module) -> dict[str, Any]:
    """A copier now, on 128 words of 16 letters: its loss, and what its heads read.

    "before" and "followed" (L, H): the weight on the letter before, and on what followed the
    letter's first copy. "map": all weights (L, H, T, T) on the first row.
    """
    rows, length_B = repeats(128, torch.Generator().manual_seed(99), low=LONGEST)
    weights = interpret.attention_weights(model, rows[:, : 2 * LONGEST])
    logits = model(rows[:, :-1])
    return {
        "loss": loss_when_known(logits, (rows[:, 1:], length_B)).item(),
        "before": interpret.previous_token_scores(weights).tolist(),
        "followed": interpret.induction_scores(weights).tolist(),
        "map": weights[:, 0],
    }
