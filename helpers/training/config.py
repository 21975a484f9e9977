"""How a model is trained, as one frozen configuration that checks itself."""

import math
from dataclasses import dataclass

import torch

from helpers.training import schedule

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
OPTIMIZERS = ("adamw", "muon")
SEEDS = 2**64  # so many are known to torch


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a model is trained; it checks itself.

    steps: updates. batch_size: windows an update, over all processes and parts; context: tokens
    a window. accumulate: into how many parts a batch is cut, one after the other in memory; the
    update is the same but for what a part draws or averages by itself (dropout, batch norm).
    lr: peak learning rate; matrix_lr: that of the matrices between hidden layers, None for lr
    with AdamW and 0.02 with Muon, which has these alone, and AdamW the rest. warmup (updates),
    final (a share of the peak) and decay: see `schedule.share`. weight_decay: of matrices, a step,
    times the learning rate. clip: the greatest length of the gradient, None for any. precision:
    "bfloat16" computes matrix products in it and keeps parameters, optimiser and evaluation in
    float32. compile: by torch.compile. evaluate_every, checkpoint_every: updates; both happen
    after the last one too. seed: of the batches and of dropout, below 2^64.
    Raises: ValueError that names the field, what came and what would be right.
    """

    steps: int
    batch_size: int = 16
    context: int = 64
    lr: float = 1e-3
    matrix_lr: float | None = None
    optimizer: str = "adamw"
    betas: tuple[float, float] = (0.9, 0.99)
    momentum: float = 0.95
    warmup: int = 0
    final: float = 0.0
    decay: str = "linear"
    weight_decay: float = 0.1
    clip: float | None = 1.0
    accumulate: int = 1
    precision: str = "float32"
    compile: bool = False
    evaluate_every: int = 250
    checkpoint_every: int = 250
    seed: int = 0

    def __post_init__(self):
        if not isinstance(self.compile, bool):
            raise ValueError(f"compile={self.compile!r} must be true or false")
        counts = ("steps", "batch_size", "context", "accumulate", "evaluate_every")
        for name in (*counts, "checkpoint_every"):
            _at_least(self, name, 1, whole=True)
        for name in ("seed", "warmup"):
            _at_least(self, name, 0, whole=True)
        if self.seed >= SEEDS:
            raise ValueError(f"seed={self.seed} must be below 2^64")
        for name in (
            "lr",
            "weight_decay",
            "final",
            "momentum",
            *(() if self.matrix_lr is None else ("matrix_lr",)),
        ):
            _at_least(self, name, 0)
        if self.clip is not None and not (isinstance(self.clip, int | float) and self.clip > 0):
            raise ValueError(f"clip={self.clip} must be above 0, or None for no clipping")
        pair = self.betas if isinstance(self.betas, tuple) and len(self.betas) == 2 else ("no",)
        if not all(isinstance(b, int | float) and 0 <= b < 1 for b in (*pair, self.momentum)):
            raise ValueError(
                f"betas={self.betas} and momentum={self.momentum} must each lie in [0, 1)"
            )
        for name, allowed in (("optimizer", OPTIMIZERS), ("precision", tuple(DTYPES))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} must be one of {allowed}")
        if self.batch_size % self.accumulate:
            raise ValueError(
                f"batch_size={self.batch_size} must be a multiple of accumulate={self.accumulate}"
            )
        schedule.check(steps=self.steps, warmup=self.warmup, final=self.final, decay=self.decay)

    def lr_factor(self, step: int) -> float:
        """What part of its peak the learning rate has at an update."""
        return schedule.lr_factor(
            step, steps=self.steps, warmup=self.warmup, final=self.final, decay=self.decay
        )


def _at_least(config: TrainingConfig, name: str, least: int, *, whole: bool = False) -> None:
    value = getattr(config, name)
    kinds = (int,) if whole else (int, float)
    if type(value) not in kinds or not least <= value < math.inf:
        what = "a whole number" if whole else "a number"
        raise ValueError(f"{name}={value!r} must be {what}, at least {least}")
