"""The plain training loop, for any module and any loss, and the measurement over a whole split."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from helpers.modes import in_mode
from helpers.shape_checks import paused

Loss = Callable[[Tensor, Tensor], Tensor]  # (output of the module, target) -> a scalar
Pairs = Iterable[tuple[Tensor, Tensor]]  # (input, target)


@dataclass(frozen=True, kw_only=True)
class Record:
    """One step: the number of updates before it, and the loss and gradient norm there."""

    step: int
    loss: float
    gradient_norm: float


def train(
    module: nn.Module,
    loss: Loss,
    batches: Pairs,
    *,
    steps: int,
    optimizer: torch.optim.Optimizer,
    on_step: Callable[[Record], None] | None = None,
) -> tuple[Record, ...]:
    """Take one batch per step, and one optimiser step down the gradient of the loss on it.

    Record k belongs to the module after k updates; `on_step` sees the module in that state, with
    its gradients, just before the next update. Modes (train, eval) are restored. All randomness
    is in `batches` and the module. Shapes are checked at the first step only.

    Raises ValueError where the batches run out or the optimizer is another module's;
    FloatingPointError, naming the step, where loss or gradient is nan or infinite, which leaves the
    parameters as they were before that step.
    """
    records, source = [], iter(batches)
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if held.isdisjoint(map(id, module.parameters())):
        raise ValueError("optimizer holds no parameter of this module: was it made for another?")
    with in_mode(module, training=True):
        for step in range(steps):
            if (batch := next(source, None)) is None:
                raise ValueError(f"batches ended after {step} of steps={steps}")
            x, target = batch
            with paused(step > 0):
                value = loss(module(x), target)
            optimizer.zero_grad()
            module.zero_grad()  # what the optimizer does not hold, too
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


def evaluate(module: nn.Module, loss: Loss, windows: Pairs) -> float:
    """Mean loss over all targets of a split, without gradients, in eval mode.

    loss: a mean over its targets. A window with twice as many targets counts twice, so
    `corpus.windows`, whose last one may be shorter, gives the mean over the split. Modes are
    restored.
    """
    total, count = summed_loss(module, loss, windows)
    return total / count


def summed_loss(module: nn.Module, loss: Loss, windows: Pairs) -> tuple[float, int]:
    """The sum of the losses of all targets, and the number of targets; as in `evaluate`."""
    total, count = 0.0, 0
    with in_mode(module, training=False), torch.no_grad():
        for x, target in windows:
            with paused(count > 0):
                total += loss(module(x), target).item() * target.numel()
            count += target.numel()
    return total, count


def _gradient_norm(module: nn.Module) -> float:
    """Norm of the gradient of all parameters taken as one vector."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    return math.hypot(*(torch.linalg.vector_norm(g).item() for g in gradients))


def cross_entropy(
    logits_BTV: Float[Tensor, "B T V"], targets_BT: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Mean over targets (B, T) of -log p(target), in nats, of logits (B, T, V) in float32 or 64."""
    logits_NV = logits_BTV.flatten(0, 1)
    if logits_NV.dtype in (torch.bfloat16, torch.float16):
        logits_NV = logits_NV.float()
    return F.cross_entropy(logits_NV, targets_BT.flatten())
