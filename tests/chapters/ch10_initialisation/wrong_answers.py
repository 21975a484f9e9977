"""Chapter 10: what learners write before they have it, and what the check should tell them."""

import math

import numpy as np
import torch
from torch import nn

from helpers import minigpt

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
    "10.7": [initialised()],
    "10.5": [(torch.tensor(TWO_ROWS), [1.0, -1.0, 0.0, 0.0])],
    "10.6": [ZERO],
}

WRONG = {
    "10.7": [
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
}
