"""Checks for chapter 09, pre-norm and post-norm."""

import numpy as np
from jaxtyping import Float

from helpers.exercises import Wrong, array, call, close, diagnosed, exercise, explanation, numbers
from helpers.exercises import check as check

Tokens = Float[np.ndarray, "4 3"]  # four tokens of width 3
BUGS = {
    "Ada": "added to the normed copy",
    "Ben": "post-norm",
    "Cleo": "norm of the answer",
    "Dan": "no residual",
}
BLOCKS, SQUARE = 64, 0.25  # of exercise 5


def _normed(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + 1e-8)


@exercise("09.1")
def _pre_block(answer) -> None:
    rng = np.random.default_rng(91)
    for T, C in ((3, 4), (5, 2)):
        x, V, W = (rng.standard_normal(shape) for shape in ((T, C), (C, C), (C, C)))
        gain = 1 + rng.random(C)

        def norm_1(z):
            return _normed(z)

        def norm_2(z, gain=gain):
            return gain * _normed(z) + 0.5

        def attention(z, V=V):
            return z.mean(axis=0) + z @ V

        def network(z, W=W):
            return np.maximum(z @ W, 0)

        parts = (norm_1, attention, norm_2, network)
        found = array(call(answer, x.copy(), *parts), (T, C), "The result")
        half = x + attention(norm_1(x))
        if not close(found, half + network(norm_2(half)), 1e-5):
            _why_not_pre(found, x, *parts)


def _why_not_pre(found, x, norm_1, attention, norm_2, network) -> None:
    half, post = x + attention(norm_1(x)), norm_1(x + attention(x))
    from_copy = norm_1(x) + attention(norm_1(x))
    answered = x + norm_1(attention(x))
    exchanged, network_first = x + attention(norm_2(x)), x + network(norm_2(x))
    for wrong, message in (
        (norm_2(post + network(post)), "The norms stand on the stream: this is post-norm."),
        (
            norm_2(from_copy) + network(norm_2(from_copy)),
            "You add to the normed copy; the answer is to be added to the stream itself.",
        ),
        (
            answered + norm_2(network(answered)),
            "You norm the answers; what the sub-layers read is to be normed.",
        ),
        (half + network(half), "The network reads the stream as it is, without its norm."),
        (
            half + network(norm_1(half)),
            "The second norm plays no part; each sub-layer has a norm of its own.",
        ),
        (
            norm_2(half) + network(norm_2(half)),
            "The second addition starts from the normed copy and not from the stream.",
        ),
        (network(norm_2(half)), "The network has no residual."),
        (
            half + network(norm_2(x)),
            "The network reads the stream from before attention has written to it.",
        ),
        (
            x + network(norm_2(half)),
            "The network's answer is added to x; what attention wrote is lost.",
        ),
        (x + network(norm_2(attention(norm_1(x)))), "Attention has no residual."),
        (exchanged + network(norm_1(exchanged)), "The two norms are exchanged."),
        (network_first + attention(norm_1(network_first)), "Attention comes before the network."),
        (half, "This is the first half: the network is missing."),
    ):
        if close(found, wrong, 1e-5):
            raise Wrong(message)
    raise Wrong("The shape is right, the numbers are not.")


@exercise("09.2")
def _share(answer) -> None:
    for a, n in ((0.25, 24), (0.5, 3), (1.0, 1), (0.1, 0)):
        right = {"post": (1 + a) ** -n, "pre": 1 / (1 + n * a)}
        for order, other in (("post", "pre"), ("pre", "post")):
            found = float(array(call(answer, order, a, n), (), "The result"))
            if close(found, right[order]):
                continue
            for wrong, message in (
                (right[other], "You have the two orders the other way round."),
                (right[order] ** 0.5, "The share is a part of the mean square, not of the size."),
                (1 - right[order], "This is what the answers have; asked is what is left of x."),
                (1 / right[order], "This is by how much x was divided."),
                ((1 - a) ** n, "The answer has mean square a; the sum then has more than 1."),
                (1 - n * a, "A share cannot become negative, and yours does for many answers."),
                ((1 + n) ** -a, "You took n for a and a for n."),
            ):
                if close(found, wrong):
                    raise Wrong(message)
            raise Wrong(f"For {order}, a={a} and n={n} yours is {found:.4g}: not right.")


@exercise("09.3")
def _rate(answer) -> None:
    for lr, warm_up in ((0.01, 5), (0.003, 1), (0.001, 0)):
        steps = range(2 * warm_up + 3)
        right = np.array([lr * min(1, (step + 1) / max(warm_up, 1)) for step in steps])
        found = np.array(
            [float(array(call(answer, step, lr, warm_up), (), "The rate")) for step in steps]
        )
        if close(found, right, 1e-7):
            continue
        ramp = np.array(steps) / max(warm_up, 1)
        if warm_up and found[0] == 0:
            raise Wrong("Your first step has rate 0: it changes nothing, and a step is lost.")
        if close(found, lr * (1 + np.array(steps)) / max(warm_up, 1), 1e-7):
            raise Wrong("After the warm-up your rate goes on growing.")
        if close(found[1:], lr * ramp[1:].clip(max=1), 1e-7):
            raise Wrong("Your ramp is a step late.")
        if close(found, lr * (ramp + 2 / max(warm_up, 1)).clip(max=1), 1e-7):
            raise Wrong("Your ramp is a step early.")
        if close(found, lr * ((1 + np.array(steps)) / (warm_up + 1)).clip(max=1), 1e-7):
            raise Wrong("The last step of your warm-up has less than the full rate.")
        if close(found, lr):
            raise Wrong("There is no warm-up: the rate is the same at every step.")
        if close(found[-1], lr, 1e-7):
            raise Wrong("It ends at the right rate, but is not the straight ramp that is asked.")
        raise Wrong(f"With lr={lr} and warm_up={warm_up} yours ends at {found[-1]:.4g}.")


def which_bug() -> tuple[Tokens, Float[np.ndarray, "3 3"], dict[str, Tokens]]:
    """Four tokens, the matrix of a sub-layer, and what four students took for a pre-norm step.

    The sub-layer is f(z) = z·W. Returns: x (4, 3), W (3, 3), and a dict from the student's name
    to an array (4, 3).
    """
    rng = np.random.default_rng(9)
    x, W = (3 * rng.standard_normal((4, 3))).round(1), rng.standard_normal((3, 3)).round(1)
    made = {
        "added to the normed copy": _normed(x) + _normed(x) @ W,
        "post-norm": _normed(x + x @ W),
        "norm of the answer": x + _normed(x @ W),
        "no residual": _normed(x) @ W,
    }
    return x, W, {student: made[bug] for student, bug in BUGS.items()}


@exercise("09.4")
def _which_bug(answer) -> None:
    diagnosed(
        answer,
        BUGS,
        "Look at the mean and the squares of each row, of the output and of what it differs by "
        "from x.",
    )


@exercise("09.5")
def _small_writes(answer) -> None:
    factor = float(array(answer, (), "The factor"))
    if factor <= 0:
        raise Wrong("The factor is positive.")
    left = (1 + factor**2 * SQUARE) ** (-2 * BLOCKS)
    if 0.45 < left < 0.55:
        return
    for wrong, message in (
        (
            (2 * BLOCKS) ** -0.5,
            f"This is the factor of small writes. With it {left:.0%} is left, more than is asked.",
        ),
        (
            ((2 ** (1 / BLOCKS) - 1) / SQUARE) ** 0.5,
            "That would be right for one sub-layer a block. How many answers are added?",
        ),
        (
            (2 ** (1 / (2 * BLOCKS)) - 1) / SQUARE,
            "A factor on the answers changes their mean square by its square.",
        ),
        (1 / BLOCKS, f"With yours {left:.0%} is left: they need not be as small as that."),
        (1 / (2 * BLOCKS), f"With yours {left:.0%} is left: they need not be as small as that."),
    ):
        if close(factor / wrong, 1, 1e-2):
            raise Wrong(message)
    raise Wrong(f"With yours {left:.2g} of the stream is left of x: too {_side(left)}.")


def _side(left: float) -> str:
    return "little" if left < 0.5 else "much"


@exercise("09.6")
def _forgets(answer) -> None:
    if not isinstance(answer, tuple | list):  # one array with two rows is as good
        answer = list(numbers(answer))
    if len(answer) != 2:
        raise Wrong("Give the two vectors as a tuple (s, t).")
    s, t = (array(part, (3,), name) for part, name in zip(answer, ("s", "t"), strict=True))
    if min(s.std(), t.std()) < 1e-6:
        raise Wrong("A vector whose entries are all alike has no norm without ε.")
    apart = np.linalg.norm(np.cross(s, t)) / np.linalg.norm(s) / np.linalg.norm(t)
    if apart < 1e-6:
        if s @ t < 0:
            raise Wrong("One points against the other, and so do their norms.")
        raise Wrong("One is a multiple of the other: they differ in length only.")
    if np.abs(_normed(s) - _normed(t)).max() > 1e-3 * apart:  # as alike as they are, or nearly
        raise Wrong("Their norms differ. Which step of the norm comes before the division?")


explanation(
    "09.7",
    "The stream of pre-norm is never normed and grows about like the root of the depth; it is "
    "post-norm whose stream has size 1. What has size 1 in pre-norm is the copy that each sub-"
    "layer reads, and so it is in post-norm.",
    "In pre-norm the stream itself is never normed.",
    "It grows with depth.",
    "The norm acts on the copy that each sub-layer reads.",
)
