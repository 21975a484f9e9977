"""Chapter 10: what learners write before they have it, and what the check should tell them."""

import math

import numpy as np
import torch
from torch import nn

from helpers.chapters.ch10_initialisation.exercises import BUGS


def hook(model, generator, *, once=True, packed=3, bare=True, draw=nn.init.xavier_uniform_):
    """The mended hook of exercise 7, and what is left of it with a repair taken out."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02, generator=generator)
        elif isinstance(module, nn.Linear):
            if not once or id(module.weight) not in tables:
                draw(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            if not bare or module.weight is not None:
                nn.init.ones_(module.weight)
            if not bare or module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.MultiheadAttention) and packed:
            for part in module.in_proj_weight.chunk(packed):
                nn.init.xavier_uniform_(part, generator=generator)
            if module.in_proj_bias is not None:
                nn.init.zeros_(module.in_proj_bias)
    return model


def normal_for_uniform(weight, generator):
    fan_out, fan_in = weight.shape
    nn.init.normal_(weight, std=(2 / (fan_in + fan_out)) ** 0.5, generator=generator)


def untied(model, generator):
    hook(model, generator)
    if hasattr(model, "head"):
        model.head.weight = nn.Parameter(model.head.weight.detach().clone())
    return model


def skips_a_tied_head(model, generator):
    hook(model, generator)
    if hasattr(model, "head"):
        nn.init.ones_(model.head.bias)
    return model


def leaves_norms(model, generator):
    norms = [m for m in model.modules() if isinstance(m, nn.LayerNorm) and m.bias is not None]
    before = [(m.weight.detach().clone(), m.bias.detach().clone()) for m in norms]
    hook(model, generator)
    with torch.no_grad():
        for norm, (weight, bias) in zip(norms, before, strict=True):
            norm.weight.copy_(weight), norm.bias.copy_(bias)
    return model


def linear_in_the_narrow_sense(model, generator):
    """With type(module) is nn.Linear, which the out_proj of torch's attention is not."""
    kept = [m.out_proj for m in model.modules() if isinstance(m, nn.MultiheadAttention)]
    before = [out.weight.detach().clone() for out in kept]
    hook(model, generator)
    with torch.no_grad():
        for out, weight in zip(kept, before, strict=True):
            out.weight.copy_(weight)
    return model


def needs_attentions_bias(model, generator):
    for module in model.modules():
        if isinstance(module, nn.MultiheadAttention):
            nn.init.zeros_(module.in_proj_bias)
    return hook(model, generator)


def keeps_attentions_bias(model, generator):
    hook(model, generator)
    for module in model.modules():
        if isinstance(module, nn.MultiheadAttention) and module.in_proj_bias is not None:
            nn.init.constant_(module.in_proj_bias, 3.0)
    return model


def tables_without_the_generator(model, generator):
    hook(model, generator)
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
    return model


def own_seed(model, generator):
    return hook(model, torch.Generator().manual_seed(0))


def more_exact(V, C, std):
    """With the term that a finite number of logits takes off."""
    variance = C * std**2
    return torch.tensor(V).double().log() + variance / 2 - (math.exp(variance) - 1) / (2 * V)


ZERO = {
    "first false step": "(3)",
    "W": 1,
    "first projection": "in the second step",
    "embedding": "Step 1",
    "gradient of W": "g times h",
}

TWO_ROWS = np.array([[0.5, 0.5, 0.5, 0.5]] * 4)

RIGHT = {
    "10.1": lambda fan_in, fan_out: math.sqrt(6 / (fan_in + fan_out)),
    "10.2": more_exact,
    "10.3": dict(BUGS),
    "10.4": math.sqrt(2 / 100) * 1000 ** (1 / 24),
    "10.5": (torch.tensor(TWO_ROWS), [1.0, -1.0, 0.0, 0.0]),
    "10.6": ZERO,
    "10.7": hook,
}

WRONG = {
    "10.1": [
        (lambda i, o: math.sqrt(2 / (i + o)), "This is the standard deviation"),
        (lambda i, o: math.sqrt(2 / (i + o)) / 3**0.5, "Divided by √3"),
        (lambda i, o: math.sqrt(3 / (i + o)), "not over their sum"),
        (lambda i, o: math.sqrt(6 / i), "The fan-out plays no part"),
        (lambda i, o: math.sqrt(3 / i), "The fan-out plays no part"),
        (lambda i, o: 6 / (i + o), "A root is missing"),
        (lambda i, o: math.sqrt(6 / o), "not right"),
        (lambda i, o: math.sqrt(6 / (i + o)) if i > o else 0.1, "yours is 0.1"),
    ],
    "10.2": [
        (lambda V, C, std: math.log(V), "equal probabilities"),
        (lambda V, C, std: math.log(V) + C * std**2, "Look at the formula once more"),
        (lambda V, C, std: math.log(V) + std**2 / 2, "variance of one weight"),
        (lambda V, C, std: math.log(V) + C**0.5 * std / 2, "not their deviation"),
        (lambda V, C, std: math.log2(V) + C * std**2 / 2, "natural logarithm"),
        (lambda V, C, std: math.log(V) + 0.5, "not right"),
        (lambda V, C, std: math.log(V) + (C - 1) * std**2 / 2, "not right"),
    ],
    "10.3": [
        (dict.fromkeys(BUGS, "no factor 2 for ReLU"), "1 of the 4 are right (Ben)"),
        (dict(zip(BUGS, reversed(BUGS.values()), strict=True)), "of the 4 are right"),
        ({**BUGS, "Dan": "fan-in in place of fan-out"}, "is not one of the 4"),
        (list(BUGS.values()), "Give a dictionary"),
    ],
    "10.4": [
        (math.sqrt(2 / 100), "multiplied by about 10^0.0"),
        (math.sqrt(1 / 100) * 1000 ** (1 / 24), "What does ReLU take"),
        (math.sqrt(2 / 100) * 1000 ** (1 / 12), "square of what is asked"),
        (math.sqrt(2 / 100) * 1000 ** (1 / 48), "The size is its root"),
        (math.sqrt(2 / 100) * 1000, "multiplied by about 10^72.0"),
        (math.sqrt(2 / 100) * 700 ** (1 / 24), "multiplied by about 10^2.8"),
        (math.sqrt(2 / 100) * 1300 ** (1 / 24), "multiplied by about 10^3.1"),
        (-0.2, "positive"),
    ],
    "10.5": [
        ((0.5 * np.ones((4, 4)), [1e200] * 4), "overflows"),
        ((TWO_ROWS, np.zeros(4)), "should not be 0"),
        ((TWO_ROWS, 1e-9 * np.array([1, -1, 0, 0])), "should not be 0"),
        ((np.zeros((4, 4)), np.ones(4)), "Every entry of W"),
        ((TWO_ROWS, np.ones(4)), "is 2 times as large"),
        ((TWO_ROWS / 2, np.array([1.0, -1, 0, 0])), "Every entry of W"),
        ((TWO_ROWS[:2], np.array([1.0, -1, 0, 0])), "should have shape (4, 4)"),
        (TWO_ROWS, "Give W and x"),
    ],
    "10.6": [
        ({**ZERO, "first false step": 2}, "Step (2) is right"),
        ({**ZERO, "first false step": 4}, "Before step (4)"),
        ({**ZERO, "first false step": 5}, "Before step (5)"),
        ({**ZERO, "first false step": "the third"}, "one of the numbers 1 to 5"),
        ({**ZERO, "W": "never"}, "W: it is not so"),
        ({**ZERO, "W": 2}, "W: it is not so"),
        ({**ZERO, "first projection": "step 1"}, "come back through W"),
        ({**ZERO, "first projection": "never"}, "and what after it"),
        ({**ZERO, "embedding": "step 2"}, "Does the gradient need the network"),
        ({**ZERO, "embedding": "step 1 or 2"}, 'embedding: say "step 1"'),
        ({**ZERO, "gradient of W": "adds noise to its input"}, "two of g, h, W and y"),
        ({**ZERO, "gradient of W": ("g", "W")}, "nudge one entry of W"),
        ({**ZERO, "gradient of W": ("g", "g")}, "nudge one entry of W"),
        ("The gradient of W is g times h, and neither of them is zero at first.", "a dictionary"),
    ],
    "10.7": [
        (lambda m, g: hook(m, g, once=False), "a spread of 0.069"),
        (lambda m, g: hook(m, g, packed=0), "left as it was"),
        (lambda m, g: hook(m, g, packed=1), "three square maps"),
        (lambda m, g: hook(m, g, bare=False), "without a bias or without a weight"),
        (lambda m, g: hook(m, g, draw=normal_for_uniform), "reach too far"),
        (lambda m, g: hook(m, g, draw=nn.init.kaiming_uniform_), "not Xavier's"),
        (untied, "no longer is"),
        (skips_a_tied_head, "its bias is not"),
        (leaves_norms, "back at 1 and 0"),
        (linear_in_the_narrow_sense, "out_proj"),
        (needs_attentions_bias, "Your function raised"),
        (keeps_attentions_bias, "A bias of nn.MultiheadAttention"),
        (tables_without_the_generator, "nn.Embedding should depend on the generator"),
        (own_seed, "depend on the generator"),
        (lambda m, g: hook(nn.Sequential(nn.Linear(2, 2)), g), "return it"),
    ],
}
