"""Chapter 10: what learners write before they have it, and what the check should tell them."""

import math

import numpy as np
import torch
from torch import nn

from helpers import minigpt


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


def then(kind, change):
    """The mended hook, after which each module of a kind is changed."""

    def answer(model, generator):
        hook(model, generator)
        for module in model.modules():
            if isinstance(module, kind):
                change(module)
        return model

    return answer


def untie(model):
    if hasattr(model, "head"):
        model.head.weight = nn.Parameter(model.head.weight.detach().clone())


def set_to_3(parameter):
    if parameter is not None:
        nn.init.constant_(parameter, 3.0)


ZERO = {
    "first false step": "(3)",
    "W": 1,
    "first projection": "in the second step",
    "embedding": "Step 1",
    "gradient of W": "g times h",
}

TWO_ROWS = np.array([[0.5, 0.5, 0.5, 0.5]] * 4)


def initialised(
    *, matrix=0.02, adding=lambda L: 0.02 / (2 * L) ** 0.5, bias=0.0, gain=1.0, draw=nn.init.normal_
):
    """A init_weights with these standard deviations and values."""

    def init_weights(model):
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                nn.init.constant_(parameter, bias)
            elif "norm" in name:
                nn.init.constant_(parameter, gain)
            else:
                adds = name.endswith(("out.weight", "down.weight"))
                draw(parameter, std=adding(len(model.blocks)) if adds else matrix)
        return model

    return init_weights


def uniform(parameter, std):
    nn.init.uniform_(parameter, -(3**0.5) * std, 3**0.5 * std)


RIGHT = {
    "10.8": [initialised()],
    "10.5": [(torch.tensor(TWO_ROWS), [1.0, -1.0, 0.0, 0.0])],
    "10.6": [ZERO],
    "10.7": [hook],
}

WRONG = {
    "10.8": [
        (lambda model: minigpt.init_weights(model) or model.state_dict(), "Return the model"),
        (initialised(bias=0.02), "begins at 0"),
        (initialised(gain=0.02), "stays 1"),
        (initialised(adding=lambda L: 0.02), "too large by"),
        (initialised(adding=lambda L: 0.02 / (2 * L)), "or its root"),
        (initialised(adding=lambda L: 0.02 / 4), "With L = 2"),
        (initialised(draw=uniform), "normal distribution"),
        (initialised(matrix=0.02**0.5), "a variance to you"),
        (initialised(matrix=0.1), "has the standard deviation"),
    ],
    "10.2": [
        (lambda V, C, std: math.log(V) + 0.5, "not right"),
        (lambda V, C, std: math.log(V) + (C - 1) * std**2 / 2, "not right"),
    ],
    "10.4": [(math.sqrt(2 / 100), "multiplied by about 10^0.0")],
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
        (lambda m, g: hook(m, g, packed=1), "three square"),
        (lambda m, g: hook(m, g, bare=False), "without a bias or without a weight"),
        (lambda m, g: hook(m, g, draw=normal_for_uniform), "reach too far"),
        (lambda m, g: hook(m, g, draw=nn.init.kaiming_uniform_), "not Xavier's"),
        (then(nn.Module, untie), "no longer is"),
        (then(nn.Linear, lambda m: m.out_features == 300 and set_to_3(m.bias)), "its bias is not"),
        (then(nn.LayerNorm, lambda m: set_to_3(m.bias)), "back at 1 and 0"),
        (then(nn.MultiheadAttention, lambda m: set_to_3(m.out_proj.weight)), "out_proj"),
        (
            then(nn.MultiheadAttention, lambda m: nn.init.zeros_(m.in_proj_bias)),
            "Your function raised",
        ),
        (
            then(nn.MultiheadAttention, lambda m: set_to_3(m.in_proj_bias)),
            "A bias of nn.MultiheadAttention",
        ),
        (
            then(nn.Embedding, lambda m: nn.init.normal_(m.weight, std=0.02)),
            "nn.Embedding should depend on the generator",
        ),
        (lambda m, g: hook(m, torch.Generator().manual_seed(0)), "depend on the generator"),
        (lambda m, g: hook(nn.Sequential(nn.Linear(2, 2)), g), "return it"),
    ],
}
