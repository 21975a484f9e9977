"""The learning rate over a run: linear warm-up, then linear or cosine decay."""

import math

DECAYS = ("linear", "cosine")


def lr_factor(
    step: int, *, steps: int, warmup: int = 0, final: float = 0.0, decay: str = "linear"
) -> float:
    """The learning rate at update `step` of `steps`, as a fraction of its peak.

    Updates 0..warmup-1 have 1/warmup, 2/warmup, …, 1. From that peak on it decays, linearly or as
    half a cosine, towards `final`, which it would reach at update `steps`, the first one that is
    not made: so no update is lost where final is 0. final=1 keeps the peak.

    Range: 0 to 1, for 0 ≤ step ≤ steps.
    Source: warm-up after Goyal et al. 2017, section 2.2; cosine after Loshchilov and Hutter
    2017, equation 5.
    """
    if step < warmup:
        return (step + 1) / warmup
    peak = max(warmup - 1, 0)
    progress = (step - peak) / (steps - peak)
    left = 1 - progress if decay == "linear" else (1 + math.cos(math.pi * progress)) / 2
    return final + (1 - final) * left
