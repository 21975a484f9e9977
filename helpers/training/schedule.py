"""How the learning rate goes over a run: up in a line, then down to a share of its peak."""

import math

from helpers.checks import checked

DECAYS = ("linear", "cosine")


@checked
def lr_factor(
    step: int, *, steps: int, warmup: int = 0, final: float = 0.0, decay: str = "linear"
) -> float:
    """What part of its peak the learning rate has at update `step` of `steps`.

    Updates 0..warmup-1 have the shares 1/warmup, 2/warmup, …, 1. From that peak on it falls,
    in a line or as half a cosine, towards `final`, which it would have at update `steps`, the
    first one that is not made: so no update is lost where final is 0. final=1 keeps the peak.

    Range: 0 to 1, for 0 ≤ step ≤ steps. Raises ValueError for a step, warm-up, share or decay
    outside of what this says.
    Source: warm-up after Goyal et al. 2017, section 2.2; cosine after Loshchilov and Hutter
    2017, equation 5.
    """
    check(steps=steps, warmup=warmup, final=final, decay=decay)
    if not 0 <= step <= steps:
        raise ValueError(f"step={step} must lie in 0..steps={steps}")
    if step < warmup:
        return (step + 1) / warmup
    peak = max(warmup - 1, 0)
    progress = (step - peak) / (steps - peak)
    left = 1 - progress if decay == "linear" else (1 + math.cos(math.pi * progress)) / 2
    return final + (1 - final) * left


def check(*, steps: int, warmup: int, final: float, decay: str) -> None:
    """Raise ValueError where these make no schedule."""
    if steps < 1:
        raise ValueError(f"steps={steps} must be at least 1")
    if not 0 <= warmup <= steps:
        raise ValueError(f"warmup={warmup} must lie in 0..steps={steps}")
    if not 0 <= final <= 1:
        raise ValueError(f"final={final} is a share of the peak and must lie in 0..1")
    if decay not in DECAYS:
        raise ValueError(f"decay={decay!r} must be one of {', '.join(DECAYS)}")
