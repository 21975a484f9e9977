"""The plain training loop, for any module and any loss, and the measurement over a whole split."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from helpers.checks import checked
from helpers.modes import in_mode

Loss = Callable[[Tensor, Tensor], Tensor]  # (what the module gives, target) -> a scalar
Pairs = Iterable[tuple[Tensor, Tensor]]  # (input, target)


@dataclass(frozen=True, kw_only=True)
class Record:
    """One step: how many updates came before it, and the loss and gradient met there."""

    step: int
    loss: float
    gradient_norm: float


@checked
def train(
    module: nn.Module,
    loss: Loss,
    batches: Pairs,
    *,
    steps: int,
    optimizer: torch.optim.Optimizer,
    on_step: Callable[[Record], None] | None = None,
) -> tuple[Record, ...]:
    """Take one batch a step, and follow the gradient of the loss on it.

    Record k belongs to the module as it stood after k updates; `on_step` sees the module
    in that very state, with its gradients, just before the next update. Modes (train,
    eval) are as before when it returns. All randomness is in `batches` and the module.

    Raises ValueError where steps is below 1, the loss is no scalar, or the batches are no
    pairs or run out; FloatingPointError, naming the step, where loss or gradient is nan or
    infinite, which leaves the parameters as they were before that step.
    """
    if steps < 1:
        raise ValueError(f"steps={steps} must be at least 1")
    records, source = [], iter(batches)
    with in_mode(module, training=True):
        for step in range(steps):
            batch = next(source, None)
            if batch is None:
                raise ValueError(f"batches ended after {step} of steps={steps}")
            x, target = _pair(batch, "batches")
            value = _one_number(loss(module(x), target))
            optimizer.zero_grad()
            value.backward()
            record = Record(step=step, loss=value.item(), gradient_norm=_gradient_norm(module))
            if not math.isfinite(record.loss + record.gradient_norm):
                raise FloatingPointError(
                    f"at step {step} the loss is {record.loss} and the gradient's norm "
                    f"{record.gradient_norm}: try a lower learning rate, or look at that batch"
                )
            records.append(record)
            if on_step is not None:
                on_step(record)
            optimizer.step()
    return tuple(records)


@checked
def evaluate(module: nn.Module, loss: Loss, windows: Pairs) -> float:
    """Mean loss over all targets of a split, without gradients, in eval mode.

    loss: a mean over the targets it is given. A window with twice as many targets counts
    twice, so `corpus.windows`, whose last one may be shorter, gives the mean over the
    split. Modes are restored. Raises ValueError where there are no windows, one is no pair,
    or the loss is no scalar.
    """
    total, count = summed_loss(module, loss, windows)
    if count == 0:
        raise ValueError("windows are empty: there is nothing to take the mean of")
    return total / count


def summed_loss(module: nn.Module, loss: Loss, windows: Pairs) -> tuple[float, int]:
    """The loss of each target added up, and how many targets there are; as in `evaluate`."""
    total, count = 0.0, 0
    with in_mode(module, training=False), torch.no_grad():
        for x, target in (_pair(window, "windows") for window in windows):
            total += _one_number(loss(module(x), target)).item() * target.numel()
            count += target.numel()
    return total, count


def _pair(pair: tuple[Tensor, Tensor], name: str) -> tuple[Tensor, Tensor]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"{name} must be pairs of input and target, not {pair!r:.60}")
    return pair


def _one_number(loss: Tensor) -> Float[Tensor, ""]:
    if loss.ndim:
        raise ValueError(f"loss gave shape {tuple(loss.shape)}; one number is needed")
    return loss


def _gradient_norm(module: nn.Module) -> float:
    """Length of the gradient of all parameters taken as one vector."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    return math.hypot(*(torch.linalg.vector_norm(g).item() for g in gradients))
