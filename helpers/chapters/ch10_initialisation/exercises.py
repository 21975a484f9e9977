"""Checks for chapter 10, initialisation."""

import itertools
import math
import re
from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float

from helpers import exercises as ex
from helpers import minigpt
from helpers.exercises import check as check

WIDTHS = (100, 400, 100, 400, 100, 400, 100)
TIMES = {"hundredfold": 100, "thousandfold": 1000, "millionfold": 10**6}  # of exercise 4


ex.near_misses(
    "10.1",
    lambda fan_in, fan_out: (6 / (fan_in + fan_out)) ** 0.5,
    [(64, 256), (300, 300), (10, 2)],
    {
        "This is the standard deviation. How far does a uniform reach beyond it?": (
            lambda i, o: (2 / (i + o)) ** 0.5
        ),
        "Divided by √3; a uniform on ±a has a standard deviation below a.": (
            lambda i, o: (2 / 3 / (i + o)) ** 0.5
        ),
        "The variance is 1 over the mean of the two fans, not over their sum.": (
            lambda i, o: (3 / (i + o)) ** 0.5
        ),
        "The fan-out plays no part in yours; it should.": (
            lambda i, o: (6 / i) ** 0.5,
            lambda i, o: (3 / i) ** 0.5,
        ),
        "A root is missing.": lambda i, o: 6 / (i + o),
    },
    "For fan_in={fan_in} and fan_out={fan_out} yours is {found:.4g}: not right.",
)


def _above_uniform(function, V, C, std):
    """By how much the loss is above that of equal probabilities, in units of what is expected."""
    loss = float(ex.array(ex.call(function, V, C, std), (), "The result"))
    return (loss - math.log(V)) / (C * std**2 / 2)


ex.near_misses(
    "10.2",
    lambda V, C, std: math.log(V) + C * std**2 / 2,
    [(61, 64, 0.125), (1000, 768, 0.02), (50, 16, 0.1)],
    {
        "That is the loss of equal probabilities; here the logits scatter.": (
            lambda V, C, std: math.log(V)
        ),
        "The variance of the logits is right. Look at the formula once more.": (
            lambda V, C, std: math.log(V) + C * std**2
        ),
        "You took the variance of one weight for that of a logit.": (
            lambda V, C, std: math.log(V) + std**2 / 2
        ),
        "The formula wants the variance of the logits, not their deviation.": (
            lambda V, C, std: math.log(V) + C**0.5 * std / 2
        ),
        "The loss is counted in nats here: take the natural logarithm.": (
            lambda V, C, std: math.log2(V) + C * std**2 / 2
        ),
    },
    lambda found, V, C, std: (
        f"For V={V}, C={C}, std={std} yours is "
        f"{math.log(V) + found * C * std**2 / 2:.4g}: not right."
    ),
    tolerance=0.025,  # with V finite it is a little less
    run=_above_uniform,
)


def _sizes(spread: Callable[[int, int], float]) -> Float[np.ndarray, " layers"]:
    """The RMS after each of six ReLU layers of widths 100, 400, 100, …, drawn with a spread."""
    rng = np.random.default_rng(10)
    x, sizes = rng.standard_normal((400, WIDTHS[0])), []
    for fan_in, fan_out in itertools.pairwise(WIDTHS):
        weights = spread(fan_in, fan_out) * rng.standard_normal((fan_out, fan_in))
        x = np.maximum(x @ weights.T, 0)
        sizes.append(np.sqrt(np.mean(x**2)))
    return np.array(sizes)


BUGS = {
    student: (bug, partial(_sizes, spread))
    for student, bug, spread in (
        ("Ada", "fan-out in place of fan-in", lambda i, o: (2 / o) ** 0.5),
        ("Ben", "no factor 2 for ReLU", lambda i, o: (1 / i) ** 0.5),
        ("Cleo", "variance in place of standard deviation", lambda i, o: 2 / i),
        (
            "Dan",
            "standard deviation used as the bound of a uniform",
            lambda i, o: (2 / (3 * i)) ** 0.5,
        ),
    )
}


which_bug = ex.diagnosis(
    "10.3",
    BUGS,
    "Work out by what factor each mistake changes the RMS in each layer.",
)


def _grows(layers, width, grown):
    """The spread with which so many layers of a width let the RMS grow by a number of TIMES."""
    times = TIMES[grown]

    def std(times: float, kept: float = 0.5) -> float:
        return times ** (1 / layers) / (kept * width) ** 0.5

    return {
        "right": std(times),
        "effect": lambda std: layers * math.log10(std * (width / 2) ** 0.5),
        "within": (math.log10(0.75 * times), math.log10(1.25 * times)),
        "replies": {
            "With yours the RMS grows by the square of what is asked.": (std(times**2),),
            "With yours the mean square grows so much. The RMS is its root.": (std(times**0.5),),
            "That would be right for layers without an activation. What does ReLU take?": (
                std(times, kept=1),
            ),
        },
        "otherwise": "With yours the RMS is multiplied by about 10^{effect:.1f}.",
        "what": "The standard deviation",
        "positive": "A standard deviation is positive.",
    }


ex.numeric_near_misses(
    "10.4",
    _grows,
    lambda rng: {
        "layers": rng.randint(12, 36),
        "width": 10 * rng.randint(5, 40),
        "grown": rng.choice([*TIMES]),
    },
    "{layers} plain ReLU layers, all of width {width},",
    "grow a {grown} from",
    layers=24,
    width=100,
    grown="thousandfold",
)


@ex.exercise("10.5")
def _nothing_comes_out(answer) -> None:
    W, x = ex.unpacked(answer, 2, "Give W and x as a tuple (W, x).")
    W, x = ex.array(W, (4, 4), "W"), ex.array(x, (4,), "x")
    if not ex.close(np.abs(W), 0.5, 1e-9):
        raise ex.Wrong("Every entry of W should be +0.5 or -0.5.")
    if not np.abs(x).max() > 1e-6:
        raise ex.Wrong("x should not be 0, nor as good as 0.")
    left = np.linalg.norm(W @ x) / np.linalg.norm(x)
    if left > 1e-6:
        raise ex.Wrong(f"The output is {left:.2g} times as large as the input; it should vanish.")


WHEN = {
    "W": ("step 1", "Write its gradient as a product of two things. Is either of them 0 at first?"),
    "first projection": (
        "step 2",
        "What reaches it has come back through W. What is W in the first step, and what after it?",
    ),
    "embedding": (
        "step 1",
        "With W at 0 the network adds nothing to the stream. Does the gradient need the network to "
        "get to the bottom?",
    ),
}
"""The parts of exercise 6, when each first gets a gradient, and what helps one to see it."""
PRODUCT = "gradient of W"  # of which two it is the product


@ex.exercise("10.6")
def _zero_start(answer) -> None:
    names = ["first false step", *WHEN, PRODUCT]
    if not isinstance(answer, dict) or set(answer) != set(names):
        raise ex.Wrong(f"Give a dictionary with the entries {', '.join(names)}.")
    number = re.search(r"\d+", str(answer["first false step"]))
    step = number.group() if number else ""
    if step not in ("1", "2", "3", "4", "5"):
        raise ex.Wrong("The first false step should be one of the numbers 1 to 5.")
    if step in "12":
        raise ex.Wrong(f"Step ({step}) is right: W starts at 0, and what it makes is 0.")
    if step in "45":
        raise ex.Wrong(f"Before step ({step}) there is one already that does not follow.")
    for part, (right, advice) in WHEN.items():
        if _moment(answer[part], part) != right:
            raise ex.Wrong(f"{part}: it is not so. {advice}")
    factors = sorted(re.findall(r"\b[ghwy](?![a-z])", str(answer[PRODUCT]).lower()))
    if len(factors) != 2:
        raise ex.Wrong(f"{PRODUCT}: give two of g, h, W and y.")
    if factors != ["g", "h"]:
        raise ex.Wrong(
            f"{PRODUCT}: nudge one entry of W. By what does y move, and what does g say?"
        )


def _moment(said: object, part: str) -> str:
    """Which of "step 1", "step 2" and "never" is meant, from any way to write it."""
    found = re.findall(r"never|[12](?!\d)|first|second", str(said).lower())
    if len(found) != 1:
        raise ex.Wrong(f'{part}: say "step 1", "step 2" or "never".')
    return {"never": "never", "1": "step 1", "first": "step 1"}.get(found[0], "step 2")


@ex.exercise("10.7")
def _(answer):
    for L in (8, 2):
        _initialised(answer, L)


def _initialised(answer, L):
    sizes = {"V": 200, "T": 64, "C": 64, "H": 4, "L": L}
    is_same, found = ex.within(answer, "initialised", sizes)
    if not is_same:
        raise ex.Wrong("Return the model that you were given.")
    for name, of_book in minigpt.GPT(**sizes).named_parameters():
        parameter = ex.array(found[name], tuple(of_book.shape), name)
        adds = name.endswith(("out.weight", "down.weight"))
        if name.endswith("bias"):
            if parameter.any():
                raise ex.Wrong(f"{name} is a bias and begins at 0.")
        elif "norm" in name:
            if (parameter != 1).any():
                raise ex.Wrong(f"{name} scales a norm and stays 1.")
        else:
            root = (2 * L) ** 0.5 if adds else 1.0
            _hold_to_std(f"With L = {L}, {name}", parameter.std(), 0.02 / root, root)
            if np.abs(parameter).max() < 2.5 * 0.02 / root:
                raise ex.Wrong(f"The numbers of {name} should be drawn from a normal distribution.")


def _hold_to_std(name, found, wanted, root):
    if abs(found / wanted - 1) < 0.1:
        return
    if abs(found / wanted / root - 1) < 0.1:
        raise ex.Wrong(
            f"{name} adds to the residual stream: {found:.3f} is too large by √(2L) = {root:g}."
        )
    if abs(found / wanted * root - 1) < 0.1:
        raise ex.Wrong(f"{name} has {found:.4f}. Is it 2L or its root by which you divide?")
    if abs(found / wanted**0.5 - 1) < 0.1:
        raise ex.Wrong(
            f"{name} has {found:.3f}, the root of {wanted:g}: is 0.02 a variance to you?"
        )
    raise ex.Wrong(f"{name} has the standard deviation {found:.4f}, not {wanted:.4g}.")


ex.spoken(
    "10.4",
    "How did you get from the growth of your stack to one layer?",
    "A root of the order of the layers, then √(width · σ²/2), as ReLU keeps half the square.",
)
