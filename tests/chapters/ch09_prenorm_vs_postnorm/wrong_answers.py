"""Chapter 09: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters.ch09_prenorm_vs_postnorm.exercises import BUGS


def right_block(x, norm_1, attention, norm_2, network):
    x = x + attention(norm_1(x))
    return x + network(norm_2(x))


def as_tensor(x, norm_1, attention, norm_2, network):
    return torch.tensor(right_block(x, norm_1, attention, norm_2, network)).float()


def post(x, norm_1, attention, norm_2, network):
    x = norm_1(x + attention(x))
    return norm_2(x + network(x))


def copied(x, norm_1, attention, norm_2, network):
    x = norm_1(x)
    x = x + attention(x)
    x = norm_2(x)
    return x + network(x)


def answers_normed(x, norm_1, attention, norm_2, network):
    x = x + norm_1(attention(x))
    return x + norm_2(network(x))


def one_norm(x, norm_1, attention, norm_2, network):
    x = x + attention(norm_1(x))
    return x + network(norm_1(x))


def second_copied(x, norm_1, attention, norm_2, network):
    x = x + attention(norm_1(x))
    z = norm_2(x)
    return z + network(z)


def old_stream(x, norm_1, attention, norm_2, network):
    return x + attention(norm_1(x)) + network(norm_2(x))


def lost_half(x, norm_1, attention, norm_2, network):
    return x + network(norm_2(x + attention(norm_1(x))))


def share(order, a, n):
    return 1 / (1 + a) ** n if order == "post" else 1 / (1 + n * a)


def swapped(order, a, n):
    return share("pre" if order == "post" else "post", a, n)


def rate(step, lr, warm_up):
    return lr * (step + 1) / warm_up if step < warm_up else lr


HALF = 2 * (2 ** (1 / 128) - 1) ** 0.5

RIGHT = {
    "09.1": as_tensor,
    "09.2": lambda order, a, n: torch.tensor(share(order, a, n)),
    "09.3": rate,
    "09.4": dict(BUGS),
    "09.5": np.float32(HALF),
    "09.6": ([1, 2, 3], [11, 12, 13]),
}

WRONG = {
    "09.1": [
        (post, "this is post-norm"),
        (copied, "You add to the normed copy"),
        (answers_normed, "You norm the answers"),
        (one_norm, "second norm plays no part"),
        (second_copied, "starts from the normed copy"),
        (old_stream, "before attention has written"),
        (lost_half, "what attention wrote is lost"),
        (lambda x, n1, f, n2, g: x + f(n1(x)), "the network is missing"),
        (lambda x, n1, f, n2, g: g(n2(x + f(n1(x)))), "The network has no residual"),
        (lambda x, n1, f, n2, g: right_block(x, n1, f, lambda z: z, g), "without its norm"),
        (lambda x, n1, f, n2, g: x + g(n2(f(n1(x)))), "Attention has no residual"),
        (lambda x, n1, f, n2, g: right_block(x, n2, f, n1, g), "norms are exchanged"),
        (lambda x, n1, f, n2, g: right_block(x, n2, g, n1, f), "comes before the network"),
        (lambda x, n1, f, n2, g: right_block(x, n1, f, n2, g) - x, "the numbers are not"),
        (lambda x, n1, f, n2, g: right_block(x, n1, f, n2, g)[0], "should have shape"),
    ],
    "09.2": [
        (swapped, "the other way round"),
        (lambda order, a, n: share(order, a, n) ** 0.5, "not of the size"),
        (lambda order, a, n: 1 - share(order, a, n), "what the answers have"),
        (lambda order, a, n: 1 / share(order, a, n), "was divided"),
        (
            lambda order, a, n: (1 - a) ** n if order == "post" else share(order, a, n),
            "more than 1",
        ),
        (lambda order, a, n: share(order, a, n + 1), "not right"),
        (lambda order, a, n: [share(order, a, n)] * 2, "should have shape"),
    ],
    "09.3": [
        (lambda step, lr, warm_up: lr * min(1, step / max(warm_up, 1)), "first step has rate 0"),
        (lambda step, lr, warm_up: lr * (step + 1) / max(warm_up, 1), "goes on growing"),
        (lambda step, lr, warm_up: lr, "no warm-up"),
        (
            lambda step, lr, warm_up: lr * min(1, max(step, 0.5) / max(warm_up, 1)),
            "a step late",
        ),
        (lambda step, lr, warm_up: lr * min(1, (step + 2) / max(warm_up, 1)), "a step early"),
        (lambda step, lr, warm_up: lr * min(1, (step + 1) / (warm_up + 1)), "less than the full"),
        (
            lambda step, lr, warm_up: lr * min(1, (step + 1) / max(warm_up, 1)) ** 2,
            "not the straight ramp",
        ),
        (
            lambda step, lr, warm_up: 2 * lr * min(1, (step + 1) / max(warm_up, 1)),
            "yours ends at",
        ),
        (lambda step, lr, warm_up: [lr] * 3, "should have shape"),
    ],
    "09.4": [
        (dict.fromkeys(BUGS, "post-norm"), "1 of the 4 are right"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "of the 4 are right"),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
        (["post-norm"] * 4, "Give a dictionary"),
    ],
    "09.5": [
        (1.0, "too little"),
        (0.01, "too much"),
        (HALF * 2**0.5, "one sub-layer a block"),
        (4 * (2 ** (1 / 128) - 1), "by its square"),
        (1 / 128, "need not be as small"),
        (128**-0.5, "the factor of small writes"),
        (-HALF, "is positive"),
        ([HALF, HALF], "should have shape"),
    ],
    "09.6": [
        (([1e200, -1e200, 3e200], [1e200, 5e200, -3e200]), "overflows"),
        (([1, 2, 3], [2, 4, 6]), "multiple of the other"),
        (([1, 2, 3], [-1, -2, -3]), "points against the other"),
        (([1, 2, 3], [3, 1, 2]), "Their norms differ"),
        (([1, 2, 3], [1, 2, 3.00001]), "Their norms differ"),
        (([1, 1, 1], [1, 2, 3]), "all alike"),
        ([1, 2, 3], "Give the two vectors"),
        (([1, 2], [11, 12]), "should have shape"),
    ],
}
