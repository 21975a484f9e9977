"""How a model writes: one token after another, drawn from its logits."""

from contextlib import ExitStack
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from helpers.kv_cache import kv_cache, norms_over_positions
from helpers.modes import in_mode
from helpers.shape_checks import paused

MIN_TEMPERATURE = 1e-30  # a lower temperature counts as 0: scores divided by it would be infinite


@torch.no_grad()
def generate(
    model: Any,
    ids_BT: Int[Tensor, "B T"],
    n: int,
    *,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    cache: bool = True,
) -> Int[Tensor, "B N"]:
    """Write n tokens after a prompt, one at a time, and return prompt and all.

    model: a GPT. temperature 0 takes the likeliest token. top_k keeps the k likeliest, top_p of
    these the fewest whose probabilities sum to top_p, at least one; ties go to the lower id. A text
    longer than the context is read through its last `context` tokens. cache: keep keys and values
    from step to step while the text fits the context; the logits are the same, sooner. (Not with
    norms over positions, through which each new token changes those before it.)
    Raises: ValueError where temperature is below 0, top_k below 1, top_p not in (0, 1], or the
    model's logits are not finite.
    Source of top_p: Holtzman et al. 2020, section 3.1. Shapes: (B, T) to (B, T + n).
    """
    if not (0 <= temperature < float("inf") and 0 < top_p <= 1 and (top_k is None or top_k >= 1)):
        raise ValueError(
            f"temperature={temperature} must be at least 0, top_k={top_k} at least 1, and "
            f"top_p={top_p} in (0, 1]"
        )
    context = model.config.context
    with in_mode(model, training=False), ExitStack() as caching:
        if cache and not norms_over_positions(model):
            caching.enter_context(kv_cache(model))
        for step in range(n):
            if ids_BT.shape[1] > context:  # from here on every token's position changes
                caching.close()
            with paused(step > 0):
                logits_BV = model(ids_BT[:, -context:])[:, -1]
                next_B = sample(logits_BV, generator, temperature, top_k, top_p)
            ids_BT = torch.cat([ids_BT, next_B[:, None]], dim=1)
    return ids_BT


def sample(
    logits_BV: Float[Tensor, "B V"],
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Int[Tensor, " B"]:
    """Draw a token per row of (B, V). Raises: ValueError where one / temperature is not finite."""
    greedy = temperature < MIN_TEMPERATURE
    largest_B = logits_BV.amax(dim=-1).float() / (1.0 if greedy else temperature)
    if not bool(largest_B.isfinite().all()):
        raise ValueError(f"the logits, divided by temperature={temperature}, are nan or infinite")
    if greedy:
        return logits_BV.argmax(dim=-1)
    if top_k is not None:
        order_BV = logits_BV.argsort(dim=-1, descending=True, stable=True)
        logits_BV = logits_BV.scatter(-1, order_BV[:, top_k:], float("-inf"))
    p_BV = (logits_BV.float() / temperature).softmax(dim=-1)
    if top_p < 1:
        sorted_BV, order_BV = p_BV.sort(dim=-1, descending=True, stable=True)
        remove_BV = sorted_BV.cumsum(dim=-1) - sorted_BV >= top_p  # those before suffice
        remove_BV[:, 0] = False  # even where top_p is too small for float32
        p_BV = p_BV.masked_fill(remove_BV.gather(-1, order_BV.argsort(dim=-1)), 0.0)
    drawn_B1 = torch.multinomial(p_BV.to(generator.device), 1, generator=generator)
    return drawn_B1[:, 0].to(logits_BV.device)
