"""The running example of chapters 4 to 9: five words, two heads, one block, all for the pencil.

Rows are tokens. A head has width D = 2; its W_Q, W_K and W_V are (3, 2), so that x @ W_Q is a
query. `linear` makes of such a matrix the layer that minigpt's modules hold.
"""

import numpy as np
import torch
from torch import nn

WORDS = ("fox", "cross", "stream", "because", "it")
X = np.array(
    [  # alive, size, wide
        [1.2, 0.2, 0.0],  # fox
        [-0.9, 0.3, 0.0],  # cross
        [0.1, 1.2, 0.0],  # stream
        [-0.5, -0.8, 0.0],  # because
        [0.6, -0.6, 1.0],  # it
    ]
)

# Head 1, of chapter 5: a word that is wide asks for something large.
W_Q = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
W_K = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
W_V = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.0]])
# Head 2, of chapter 7: only a word that has been called wide asks, and for something alive.
W_Q2 = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
W_K2 = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
W_V2 = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
# What joins them, (4, 3), and the rest of chapter 8's block, with four hidden numbers.
W_O = np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5], [0.5, 0.0, 0.5]])
GAMMA = np.array([1.0, 1.0, 0.5])
BETA = np.array([0.1, 0.0, 0.5])
W_1 = np.array([[1.0, -1.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.5]])
W_2 = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]])


def linear(matrix: np.ndarray) -> nn.Linear:
    """The layer without bias that computes x @ matrix, in float64. Shapes: (fan_in, fan_out)."""
    fan_in, fan_out = matrix.shape
    layer = nn.Linear(fan_in, fan_out, bias=False, dtype=torch.float64)
    layer.weight = nn.Parameter(torch.tensor(matrix.T))
    return layer


def qkv() -> np.ndarray:
    """W_Q of both heads, then W_K, then W_V, side by side: (3, 12), as minigpt's `qkv` reads it."""
    return np.hstack([W_Q, W_Q2, W_K, W_K2, W_V, W_V2])
