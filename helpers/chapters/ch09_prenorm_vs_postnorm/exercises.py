"""Checks for chapter 09, pre-norm and post-norm."""

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float

from helpers import exercises as ex
from helpers import minigpt
from helpers.exercises import check as check
from helpers.exercises.pieces import drawn, piece

Tokens = Float[np.ndarray, "4 3"]  # four tokens of width 3
SQUARES = {"¼": 1 / 4, "½": 1 / 2, "⅛": 1 / 8, "⅕": 1 / 5, "⅓": 1 / 3}  # of exercise 5


def _normalised(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + 1e-8)


def _block(
    attention_half=lambda self, x: x + self.attention(self.norm_1(x)),
    feed_forward_half=lambda self, x: x + self.feed_forward(self.norm_2(x)),
):
    """A block's forward in two steps, without dropout."""
    return lambda self, x: feed_forward_half(self, attention_half(self, x))


piece(
    "09.1",
    minigpt.Block,
    [
        *(drawn(minigpt.Block, (6, 2, p), 2, 4, 6) for p in (0.0, 1.0)),
        ("evaluation", *drawn(minigpt.Block, (6, 2, 1.0), 2, 4, 6)),
    ],
    {
        "Dropout is at work in evaluation, too.": _block(
            lambda self, x: x + F.dropout(self.attention(self.norm_1(x)), self.dropout.p),
            lambda self, x: x + F.dropout(self.feed_forward(self.norm_2(x)), self.dropout.p),
        ),
        "Dropout acts on what is added, not on the sum.": _block(
            lambda self, x: self.dropout(x + self.attention(self.norm_1(x))),
            lambda self, x: self.dropout(x + self.feed_forward(self.norm_2(x))),
        ),
        "What attention gives is added without dropout.": _block(
            feed_forward_half=lambda self, x: x + self.dropout(self.feed_forward(self.norm_2(x)))
        ),
        "What the feed-forward layer gives is added without dropout.": _block(
            lambda self, x: x + self.dropout(self.attention(self.norm_1(x)))
        ),
        "Dropout is missing: in training it acts on what is added.": _block(),
        "Attention reads the stream without a norm.": _block(lambda self, x: x + self.attention(x)),
        "norm_1 comes after attention; it belongs before.": _block(
            lambda self, x: x + self.norm_1(self.attention(x))
        ),
        "This is post-norm, which normalises the sums.": _block(
            lambda self, x: self.norm_1(x + self.attention(x)),
            lambda self, x: self.norm_2(x + self.feed_forward(x)),
        ),
        "You add to the normalised copy; add what comes out to the stream itself.": _block(
            lambda self, x: (h := self.norm_1(x)) + self.attention(h),
            lambda self, x: (h := self.norm_2(x)) + self.feed_forward(h),
        ),
        "Nothing is normalised.": _block(
            lambda self, x: x + self.attention(x), lambda self, x: x + self.feed_forward(x)
        ),
        "The two additions are missing.": _block(
            lambda self, x: self.attention(self.norm_1(x)),
            lambda self, x: self.feed_forward(self.norm_2(x)),
        ),
        "norm_1 is used twice; the feed-forward layer has a norm of its own.": _block(
            feed_forward_half=lambda self, x: x + self.feed_forward(self.norm_1(x))
        ),
        "The feed-forward layer reads the stream without a norm.": _block(
            feed_forward_half=lambda self, x: x + self.feed_forward(x)
        ),
        "Both layers read the same stream; the second is to read what the first has added to.": (
            lambda self, x: x + self.attention(self.norm_1(x)) + self.feed_forward(self.norm_2(x))
        ),
    },
)


def _fraction(order, a, n):
    return (1 + a) ** -n if order == "post" else 1 / (1 + n * a)


ex.near_misses(
    "09.2",
    _fraction,
    [
        (order, a, n)
        for a, n in ((0.25, 24), (0.5, 3), (1, 1), (0.1, 0))
        for order in ("post", "pre")
    ],
    {
        "You have the two orders the other way round.": (
            lambda order, a, n: _fraction("pre" if order == "post" else "post", a, n)
        ),
        "The fraction is a part of the mean square, not of the RMS.": (
            lambda order, a, n: _fraction(order, a, n) ** 0.5
        ),
        "This is the part of the outputs. How much is left of x?": (
            lambda order, a, n: 1 - _fraction(order, a, n)
        ),
        "This is by how much x was divided.": lambda order, a, n: 1 / _fraction(order, a, n),
        "The output has mean square a, so the sum has more than 1.": (
            lambda order, a, n: (1 - a) ** n if order == "post" else _fraction(order, a, n)
        ),
        "A fraction cannot become negative, and yours does for many outputs.": (
            lambda order, a, n: 1 - n * a if order == "pre" else _fraction(order, a, n)
        ),
        "You took n for a and a for n.": lambda order, a, n: _fraction(order, n, a),
    },
    "For {order}, a={a} and n={n} yours is {found:.4g}: not right.",
)


def _rates(function, lr, warm_up):
    """The rate at each step, a little beyond the warm-up."""
    steps = range(2 * warm_up + 3)
    return [ex.array(ex.call(function, step, lr, warm_up), (), "The rate") for step in steps]


def _ramp(*, late: int = 0, over: int = 0):
    """A warm-up that is so many steps late, and so many too long."""
    return lambda step, lr, warm_up: lr * min(1, (step + 1 - late) / max(warm_up + over, 1))


def _no_ramp(rates, lr, warm_up) -> str:
    if ex.close(rates[-1], lr, 1e-7):
        return "It ends at the right rate, but is not the straight ramp that is asked."
    return f"With lr={lr} and warm_up={warm_up} yours ends at {rates[-1]:.4g}."


ex.near_misses(
    "09.3",
    _ramp(),
    [(0.01, 5), (0.003, 1), (0.001, 0)],
    {
        "Your first step has rate 0: it changes nothing, and a step is lost.": _ramp(late=1),
        "After the warm-up your rate goes on growing.": (
            lambda step, lr, warm_up: lr * (step + 1) / max(warm_up, 1)
        ),
        "Your ramp is a step late.": (
            lambda step, lr, warm_up: lr * min(1, max(step, 0.5) / max(warm_up, 1))
        ),
        "Your ramp is a step early.": _ramp(late=-1),
        "The last step of your warm-up has less than the full rate.": _ramp(over=1),
        "There is no warm-up: the rate is the same at every step.": lambda step, lr, warm_up: lr,
    },
    _no_ramp,
    tolerance=1e-7,
    run=_rates,
)


BUGS = {
    "Ada": ("added to the normalised copy", lambda x, W: _normalised(x) + _normalised(x) @ W),
    "Ben": ("post-norm", lambda x, W: _normalised(x + x @ W)),
    "Cleo": ("norm of the output", lambda x, W: x + _normalised(x @ W)),
    "Dan": ("no residual", lambda x, W: _normalised(x) @ W),
}


which_bug = ex.diagnosis(
    "09.4",
    BUGS,
    "Look at the mean and the squares of each row, of the output and of what it differs by from x.",
    9,
    lambda rng: ((3 * rng.standard_normal((4, 3))).round(1), rng.standard_normal((3, 3)).round(1)),
)


def _left(blocks, outputs, square):
    """What is left of x in the mean square, after so many outputs of a mean square of SQUARES."""
    size = SQUARES[square]
    return {
        "right": ((2 ** (1 / outputs) - 1) / size) ** 0.5,
        "effect": lambda factor: (1 + factor**2 * size) ** -outputs,
        "within": (0.45, 0.55),
        "replies": {
            "This is the factor of small writes. With it {effect:.0%} is left, more than asked.": (
                outputs**-0.5,
            ),
            "That would be right for one sub-layer a block. How many outputs are added?": (
                ((2 ** (1 / blocks) - 1) / size) ** 0.5,
            ),
            "A factor on the outputs changes their mean square by its square.": (
                (2 ** (1 / outputs) - 1) / size,
            ),
            "With yours {effect:.0%} is left: they need not be as small as that.": (
                1 / blocks,
                1 / outputs,
            ),
        },
        "otherwise": lambda left: (
            "With yours {effect:.2g} of the stream is left of x: too "
            + ("little." if left < 0.5 else "much.")
        ),
        "what": "The factor",
        "positive": "The factor is positive.",
    }


def _stack(rng):
    blocks = rng.randint(20, 100)
    return {"blocks": blocks, "outputs": 2 * blocks, "square": rng.choice([*SQUARES])}


ex.numeric_near_misses(
    "09.5",
    _left,
    _stack,
    "Take {blocks} post-norm blocks whose outputs have mean square {square} ",
    "{blocks} blocks add {outputs} outputs",
    blocks=64,
    outputs=128,
    square="¼",
)


@ex.exercise("09.6")
def _forgets(answer) -> None:
    parts = answer if isinstance(answer, tuple | list) else list(ex.numbers(answer))
    s, t = ex.unpacked(parts, 2, "Give the two vectors as a tuple (s, t).")
    s, t = ex.array(s, (3,), "s"), ex.array(t, (3,), "t")
    if min(s.std(), t.std()) < 1e-6:
        raise ex.Wrong("A vector whose entries are all alike has no norm without ε.")
    apart = np.linalg.norm(np.cross(s, t)) / np.linalg.norm(s) / np.linalg.norm(t)
    if apart < 1e-6:
        if s @ t < 0:
            raise ex.Wrong("One points against the other, and so do their norms.")
        raise ex.Wrong("One is a multiple of the other: they differ in length only.")
    if (
        np.abs(_normalised(s) - _normalised(t)).max() > 1e-3 * apart
    ):  # as alike as they are, or nearly
        raise ex.Wrong("Their norms differ. Which step of the norm comes before the division?")


ex.explanation(
    "09.7",
    "The stream of pre-norm is never normalised and grows about like the root of the depth; it is "
    "post-norm whose stream has RMS 1. In pre-norm only the copy that each sub-layer reads has "
    "RMS 1, and what the sub-layers read has it in post-norm too.",
    "In pre-norm the stream itself is never normalised.",
    "It grows with depth.",
    "The norm acts on the copy that each sub-layer reads.",
)


ex.spoken(
    "09.5",
    "Where does your number of blocks come in?",
    "Two outputs a block; each norm shrinks what was there by one factor, and factors multiply.",
)
