"""How a model is trained, as one frozen configuration that checks itself."""

import math
from dataclasses import dataclass

import torch

from helpers.training import schedule

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CHOICES = {
    "optimizer": ("adamw", "muon"),
    "precision": tuple(DTYPES),
    "decay": schedule.DECAYS,
}
SEEDS = 2**64  # torch takes seeds below this


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a model is trained; it checks itself.

    steps: updates. batch_size: windows per update, over all processes and micro-batches; context:
    tokens per window. accumulate: micro-batches per batch, one at a time in memory; the update is
    the same except for what each draws or averages by itself (dropout, batch norm).
    lr: peak learning rate; matrix_lr: that of the matrices between hidden layers, None for lr
    with AdamW and 0.02 with Muon, which updates these alone, and AdamW the rest. warmup (updates),
    final (a fraction of the peak) and decay: see `schedule.lr_factor`. weight_decay: of matrices,
    per step, times the learning rate. clip: the largest gradient norm, None for any. precision:
    "bfloat16" computes matrix products in it and keeps parameters, optimiser and evaluation in
    float32. compile: by torch.compile. evaluate_every, checkpoint_every: updates; both happen
    after the last one too. seed: of the batches and of dropout, below 2^64.
    Raises: ValueError that names the field, its value and what is allowed.
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
        positive = ("steps", "batch_size", "context", "accumulate", "evaluate_every")
        least = dict.fromkeys((*positive, "checkpoint_every"), 1)
        least |= dict.fromkeys(("seed", "warmup", "lr", "weight_decay", "final", "momentum"), 0)
        least |= {name: 0 for name in ("matrix_lr", "clip") if getattr(self, name) is not None}
        for name, lowest in least.items():
            if not lowest <= (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name}={value} must be finite and at least {lowest}")
        for name, allowed in CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                raise ValueError(f"{name}={value!r} must be one of {allowed}")
        if self.batch_size % self.accumulate:
            raise ValueError(
                f"batch_size={self.batch_size} must be a multiple of accumulate={self.accumulate}"
            )
        if self.warmup > self.steps:
            raise ValueError(f"warmup={self.warmup} must be at most steps={self.steps}")

    def lr_factor(self, step: int) -> float:
        """The learning rate at an update, as a fraction of its peak."""
        return schedule.lr_factor(
            step, steps=self.steps, warmup=self.warmup, final=self.final, decay=self.decay
        )
