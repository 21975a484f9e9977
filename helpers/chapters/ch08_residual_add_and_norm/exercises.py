"""Checks for chapter 08, residual, Add & Norm, feed-forward."""

from functools import cache, partial

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float

from helpers import exercises as ex
from helpers import minigpt
from helpers.exercises import check as check
from helpers.exercises.pieces import drawn, piece
from helpers.variants import FeedForward

EPS = 1e-5
Students = Float[np.ndarray, "4 3"]  # four tokens of width 3


def _normalised(
    x: np.ndarray, *, axis: int | None = -1, ddof: int = 0, eps: float = EPS
) -> np.ndarray:
    away = x - x.mean(axis=axis, keepdims=True)
    return away / np.sqrt(x.var(axis=axis, ddof=ddof, keepdims=True) + eps)


def _pairs():
    rng = np.random.default_rng(81)
    large = rng.standard_normal((2, 5, 4))
    # Small entries show where the ε is.
    rows = 3.0 + 2.0 * rng.standard_normal((2, 3, 8))
    block = rng.standard_normal((2, 2, 3, 4, 6))
    return [tuple(pair) for pair in (large, 0.004 * large, rows, block, rows[:, 0])]


def _centred(x, y):
    return x + y - (x + y).mean(axis=-1, keepdims=True)


def _deviation(x, y):
    return (x + y).std(axis=-1, keepdims=True)


ex.near_misses(
    "08.1",
    lambda x, y: _normalised(x + y),
    _pairs(),
    {
        "You normalised y and added x afterwards, but the sum is to be normalised.": (
            lambda x, y: x + _normalised(y)
        ),
        "You normalised x before the sum, but the sum is to be normalised.": lambda x, y: (
            _normalised(x) + y
        ),
        "The input x plays no part in your result: there is no residual.": lambda x, y: _normalised(
            y
        ),
        "This is the sum. It is still to be normalised.": lambda x, y: x + y,
        "Your variance divides by n − 1; that of LayerNorm divides by n.": (
            lambda x, y: _normalised(x + y, ddof=1)
        ),
        "You took the mean over the tokens; each token is normalised by itself.": (
            lambda x, y: _normalised(x + y, axis=0)
        ),
        "You took the mean over axis 1, which is the last axis of a matrix alone.": (
            lambda x, y: _normalised(x + y, axis=1)
        ),
        "You took one mean over everything; each token is normalised by itself.": (
            lambda x, y: _normalised(x + y, axis=None)
        ),
        "Small vectors show that your ε is outside the root.": (
            lambda x, y: _centred(x, y) / (_deviation(x, y) + EPS)
        ),
        "You divided by the variance and not by its root.": (
            lambda x, y: _centred(x, y) / _deviation(x, y) ** 2
        ),
        "The mean is not taken away.": (
            lambda x, y: (x + y) / np.sqrt(((x + y) ** 2).mean(axis=-1, keepdims=True) + EPS)
        ),
        "Right but for ε: without it a token whose entries are all alike gives nan.": (
            lambda x, y: _normalised(x + y, eps=0.0)
        ),
    },
    numpy=True,
)


piece(
    "08.2",
    minigpt.FeedForward,
    [drawn(minigpt.FeedForward, (4,), 2, 3, 4)],
    {
        "There is no activation between the two layers.": lambda self, x: self.down(self.up(x)),
        "This is ReLU; GELU is asked for.": lambda self, x: self.down(F.relu(self.up(x))),
        "This is the approximation of GELU by tanh; GELU itself is asked for.": (
            lambda self, x: self.down(F.gelu(self.up(x), approximate="tanh"))
        ),
        "GELU comes last; it belongs between the two layers.": (
            lambda self, x: F.gelu(self.down(self.up(x)))
        ),
        "There is a second GELU at the end.": (
            lambda self, x: F.gelu(self.down(F.gelu(self.up(x))))
        ),
        "The input is added; the block does that, outside of this piece.": (
            lambda self, x: x + self.down(F.gelu(self.up(x)))
        ),
    },
)

BUGS = {
    "Ada": ("norm before the sum", lambda x, y: x + _normalised(y)),
    "Ben": ("no residual", lambda x, y: _normalised(y)),
    "Cleo": ("variance over n − 1", lambda x, y: _normalised(x + y, ddof=1)),
    "Dan": ("norm over the tokens", lambda x, y: _normalised(x + y, axis=0)),
}


which_bug = ex.diagnosis(
    "08.3",
    BUGS,
    "Look at the mean and at the sum of squares of each row and of each column.",
    8,
    lambda rng: rng.standard_normal((2, 4, 3)).round(1),
)


def gradient_through(factor: float) -> float:
    """The size of the gradient below a stack of 24 feed-forward networks, for size 1 above.

    No residual and no norm; the weights of both maps are torch's times ``factor``, biases 0.
    Returns: the geometric mean over five stacks with different random numbers.
    """
    arrived = np.array([_gradient_through_one(factor, seed) for seed in range(5)])
    return float(np.exp(np.log(np.maximum(arrived, 1e-300)).mean()))


def _gradient_through_one(factor: float, seed: int, layers: int = 24) -> float:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        nets = [FeedForward(32, "relu").double() for _ in range(layers)]
        x = torch.randn(32, 32, dtype=torch.float64).requires_grad_()
        upstream = torch.randn(32, 32, dtype=torch.float64)
    h = x
    for net in nets:
        with torch.no_grad():
            for linear in (net.up, net.down):
                linear.weight *= factor
                linear.bias.zero_()
        h = net(h)
    (gradient,) = torch.autograd.grad(h, x, upstream)
    return gradient.square().mean().sqrt().item()


AT_ONE = cache(partial(gradient_through, 1.0))


def _kept(goal, times):
    return {
        "right": (18**0.5 * times ** (1 / 24)) ** 0.5,  # √3 for the first layer, √6 for the second
        "effect": lambda factor: AT_ONE() * min(factor, 100.0) ** 48 / times,  # of 48 maps
        "within": (0.5, 2),
        "replies": {},
        "otherwise": lambda arrived: (
            "With this factor {effect:.2g} of the gradient that should arrives: too little."
            if arrived < 0.5
            else "With this factor the gradient is {effect:.2g} times what it should be: too much."
        ),
        "what": "The factor",
        "positive": "The factor is positive.",
    }


def _goal(rng):
    times = 2 * 5 ** rng.randint(1, 8)
    how, size = rng.choice([("grow to", times), ("shrink to 1 /", 1 / times)])
    return {"goal": f"{how} {times} times their RMS", "times": size}


ex.numeric_near_misses(
    "08.4",
    _kept,
    _goal,
    "so that gradients {goal} to within a factor of 2",
    goal="keep their RMS",
    times=1,
)


@ex.exercise("08.5")
def _counterexample(answer) -> None:
    W = ex.array(answer, (3, 3), "The matrix W")
    if np.abs(W).max() > 1e6:
        raise ex.Wrong("Beside numbers of a million and more the 1 of x is lost in rounding.")
    if ex.close(W, 0):
        raise ex.Wrong("With W = 0 nothing is added, and the sum is x itself.")
    smallest = np.linalg.svd(np.eye(3) + W, compute_uv=False)[-1]
    if smallest > 1e-14 * (1 + np.abs(W).max()):  # more than rounding makes of 0
        if np.linalg.matrix_rank(W) < 3:
            raise ex.Wrong(
                "Your W loses something, but x + xW still tells every two inputs apart: it is the "
                "sum that has to lose it."
            )
        raise ex.Wrong("From x + xW one can still compute x, whatever x is.")
    if not W.all():
        raise ex.Wrong("The sum loses something. But there is a 0 in your W: find one without.")


ex.explanation(
    "08.6",
    "The other parts were trained together with the network and rely on it, so without it they "
    "are worse than they could be. Compare with a model that was trained without the network "
    "from the start.",
    "The other parts were trained together with the network and rely on it.",
    "So the loss rises by more than the network is worth.",
    "Compare with a model that was trained without the network from the start.",
)


@ex.exercise("08.7")
def _largest(answer, p=1, q=1, **_) -> None:
    answer = ex.unpacked(answer, 4, "Give the four arrays as a tuple (W1, b1, W2, b2).")
    width = np.shape(answer[0])[-1] if np.ndim(answer[0]) == 2 else 0
    if width > 3:
        raise ex.Wrong(f"{width} hidden neurons; three are allowed.")
    shapes = ((2, width), (width,), (width, 1), (1,))
    names = ("W1", "b1", "W2", "b2")
    W1, b1, W2, b2 = (
        ex.array(part, shape, name) for part, shape, name in zip(answer, shapes, names, strict=True)
    )
    small = np.random.default_rng(87).uniform(-5, 5, (200, 2))
    x = np.concatenate([small, 1e6 * small])  # a bias may shift what is small, not every number
    found = (np.maximum(x @ W1 + b1, 0) @ W2 + b2)[:, 0]
    x = x * [p, q]
    off = np.abs(found - x.max(axis=1)) > 1e-6 * np.maximum(1, np.abs(x).max(axis=1))
    if not off.any():
        return
    if ex.close(found, x.min(axis=1)):
        raise ex.Wrong("This is the smaller of the two.")
    if not off[: len(small)].any():
        raise ex.Wrong("Right for small numbers only: try (−1,000,000, −2,000,000).")
    if ex.close(found, np.maximum(x.max(axis=1), 0)) or not off[(x > 0).all(axis=1)].any():
        raise ex.Wrong(
            "Right where both are positive. ReLU deletes what is negative: try (−1, −2)."
        )
    a, b = x[off.argmax()] / [p, q]
    raise ex.Wrong(f"For ({a:.2f}, {b:.2f}) it gives {found[off.argmax()]:.3f}.")


def _multiples(rng):
    p, q = rng.sample(range(2, 12), 2)
    return {"p": p, "q": q, "a": f"{p}a", "b": f"{q}b"}


ex.values(
    "08.7",
    _multiples,
    lambda p=1, q=1, **_: (
        np.array([[p, 0, 0], [-q, q, -q]]),
        np.zeros(3),
        np.array([[1], [1], [-1]]),
        np.zeros(1),
    ),
    "that gives max({a}, {b}) for every",
    "max({a}, {b}) = {b} + max({a} − {b}, 0).",
    "let a number {b} through",
    a="a",
    b="b",
)


ex.spoken(
    "08.7",
    "Which of your three neurons are at work for a = 1, b = 2?",
    "One holds the difference and is silent below 0; two carry a number through by its sign.",
)
