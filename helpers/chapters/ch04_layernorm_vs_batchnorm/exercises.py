"""Checks for chapter 04, LayerNorm and BatchNorm, axis by axis."""

from typing import Any

import numpy as np
from jaxtyping import Float

from helpers import numerics
from helpers.exercises import Wrong, array, call, close, diagnosed, exercise, explanation, numbers
from helpers.exercises import check as check

BUGS = {
    "Ada": "mean not subtracted",
    "Ben": "divided by n - 1",
    "Cleo": "columns in place of rows",
    "Dan": "eps outside the root",
}
BUG_EPS = 0.5
SINGLE = 1e-5  # float32 is good enough; small inputs show ε all the same


def _layer_norm(x, *, axis=-1, ddof=0, eps=1e-5, outside=False, centred=True):
    """The right answer to exercise 1 before γ and β, and what its near misses give."""
    axis = tuple(range(x.ndim)) if axis == "all" else axis
    n = np.size(x) if isinstance(axis, tuple) else x.shape[axis]
    mean = x.mean(axis=axis, keepdims=True) if centred else 0.0
    variance = ((x - mean) ** 2).sum(axis=axis, keepdims=True) / (n - ddof)
    return (x - mean) / (np.sqrt(variance) + eps if outside else np.sqrt(variance + eps))


@exercise("04.1")
def _my_layer_norm(answer) -> None:
    rng = np.random.default_rng(41)
    gamma, beta = rng.uniform(0.5, 2, 6), rng.normal(size=6)
    for shape, size in (((6,), 1.0), ((4, 6), 3.0), ((2, 6, 6), 1.0), ((4, 6), 0.01)):
        x = size * rng.standard_normal(shape) + 1
        given = (x.copy(), gamma.copy(), beta.copy(), 1e-3)
        found = array(call(answer, *given), shape, f"For x of shape {shape} the result")
        if close(found, gamma * _layer_norm(x, eps=1e-3) + beta, SINGLE):
            continue
        _why_not_layer_norm(found, x, gamma, beta)


def _why_not_layer_norm(found, x, gamma, beta) -> None:
    """Name the near miss that gave these numbers."""
    misses: dict[str, dict[str, Any]] = {
        "You divided by n − 1, as x.std() does in torch.": {"ddof": 1},
        "ε stands outside the root here; inside is asked for.": {"outside": True},
        "ε plays no part in your answer.": {"eps": 0.0},
        "The mean was not subtracted.": {"centred": False},
        "One mean for the whole array: each token has its own.": {"axis": "all"},
    }
    if x.ndim > 1:
        misses["You averaged down the columns, over the tokens."] = {"axis": -2}
    for words, choice in misses.items():
        if close(found, gamma * _layer_norm(x, **{"eps": 1e-3, **choice}) + beta, SINGLE):
            raise Wrong(words)
    hat = _layer_norm(x, eps=1e-3)
    if close(found, hat, SINGLE):
        raise Wrong("Normalised rightly, but γ and β play no part.")
    if close(found, gamma * (hat + beta), SINGLE):
        raise Wrong("γ multiplies β too; the shift comes last.")
    if close(found, gamma * hat, SINGLE) or close(found, hat + beta, SINGLE):
        raise Wrong("One of γ and β plays no part.")
    raise Wrong(f"For x of shape {x.shape} the numbers are not right.")


@exercise("04.2")
def _my_batch_norm(answer) -> None:
    rng = np.random.default_rng(42)
    for rows, momentum in ((5, 0.1), (4, 0.25)):
        x = 3 * rng.standard_normal((rows, 3)) + 2
        mean, variance = rng.normal(size=3), rng.uniform(0.5, 2, 3)
        value = call(answer, x.copy(), mean.copy(), variance.copy(), momentum)
        if not isinstance(value, tuple | list) or len(value) != 3:
            raise Wrong("Give three things back: output, new running mean, new running variance.")
        out, new_mean, new_variance = (
            array(part, shape, what)
            for part, shape, what in zip(
                value,
                (x.shape, (3,), (3,)),
                ("The output", "The running mean", "The running variance"),
                strict=True,
            )
        )
        _batch_output(out, x, mean, variance)
        _moved(new_mean, mean, x.mean(axis=0), momentum, "mean")
        if close(new_variance, (1 - momentum) * variance + momentum * x.var(axis=0)):
            raise Wrong(
                "The running variance is moved towards the one divided by n; torch keeps "
                "the one divided by n − 1."
            )
        _moved(new_variance, variance, x.var(axis=0, ddof=1), momentum, "variance")
    small = 0.01 * rng.standard_normal((5, 3))  # so that ε shows
    out = array(call(answer, small.copy(), mean, variance, 0.1)[0], (5, 3), "The output")
    if not close(out, _layer_norm(small, axis=0), SINGLE):
        raise Wrong("The output is nearly right: is ε 0.00001, and inside the root?")


def _batch_output(out, x, mean, variance) -> None:
    if close(out, _layer_norm(x, axis=0), SINGLE):
        return
    if close(out, _layer_norm(x, axis=0, ddof=1), 1e-4):
        raise Wrong("The output was divided with n − 1; that variance is for the memory only.")
    if close(out, _layer_norm(x, axis=1), 1e-4):
        raise Wrong("The output is normalised along the rows. That is layer norm.")
    if close(out, (x - mean) / np.sqrt(variance + 1e-5), 1e-4):
        raise Wrong("The output uses the running statistics. In train mode it is the batch's own.")
    raise Wrong("The numbers of the output are not right.")


def _moved(found, old, target, momentum, what) -> None:
    if close(found, (1 - momentum) * old + momentum * target, SINGLE):
        return
    if close(found, old):
        raise Wrong(f"The running {what} has not moved.")
    if close(found, target):
        raise Wrong(f"The running {what} has forgotten all earlier batches.")
    if close(found, momentum * old + (1 - momentum) * target):
        raise Wrong(f"The running {what} keeps a share of momentum and should keep the rest.")
    raise Wrong(f"The new running {what} is not right.")


def which_bug() -> tuple[Float[np.ndarray, "4 5"], dict[str, Float[np.ndarray, "4 5"]]]:
    """A table of 4 tokens with 5 features, and four students' layer norms of it, wrong in one way.

    Returns: x (4, 5), and a dict from the student's name to an output (4, 5).
    """
    x = np.random.default_rng(43).standard_normal((4, 5)) * 2 + 1
    made: dict[str, dict[str, Any]] = {
        "divided by n - 1": {"ddof": 1},
        "eps outside the root": {"outside": True},
        "columns in place of rows": {"axis": 0},
        "mean not subtracted": {"centred": False},
    }
    outputs = {bug: _layer_norm(x, **{"eps": BUG_EPS, **choice}) for bug, choice in made.items()}
    return x, {student: outputs[bug] for student, bug in BUGS.items()}


def _as_listed(bug):
    """A mistake's name as the list has it, whatever its minus, its ε and its capitals."""
    return " ".join(bug.lower().replace("−", "-").replace("ε", "eps").split()) if bug else bug


@exercise("04.3")
def _which_bug(answer) -> None:
    if isinstance(answer, dict):  # the signs of the prose are as good as those of the keyboard
        answer = {who: _as_listed(bug) for who, bug in answer.items()}
    diagnosed(
        answer,
        BUGS,
        "Which sums along rows and columns must be 0? Where both fit, make each mistake on "
        "purpose and compare.",
    )


@exercise("04.4")
def _half(answer) -> None:
    found = numbers(answer)
    sigma = float(array(found.reshape(()) if found.size == 1 else found, (), "The deviation"))
    if sigma <= 0:
        raise Wrong("A deviation is positive.")
    reached = sigma / np.sqrt(sigma**2 + 1e-5)
    if abs(reached - 0.5) <= 0.004:  # σ within a percent: reached moves by three quarters of it
        return
    message = f"With this deviation of the input the output has {reached:.3g}."
    if abs(reached - 0.5) <= 0.05:
        message += " That is near. It should be within a percent."
    if abs(sigma / 1e-5 - 1) < 0.02:
        message += " You solved it for ε outside the root."
    if abs(sigma / (1e-5 / 3) - 1) < 0.02:
        message += " Is this a deviation, or its square?"
    raise Wrong(message)


@exercise("04.5")
def _far_out(answer) -> None:
    x = array(answer, (16,), "The vector")
    if np.ptp(x) == 0:
        raise Wrong("All numbers are equal: after the norm all are 0.")
    largest = np.abs(_layer_norm(x)).max()
    if largest <= 3.5:
        message = f"The largest number after LayerNorm has size {largest:.2f}."
        if np.abs(_layer_norm(x, eps=0.0)).max() > 3.5:
            message += " The proportions are right, but the numbers are so small that ε decides."
        raise Wrong(message)


explanation(
    "04.6",
    "A child has only one number, so its mean is that number itself, and what is left after "
    "subtracting it is 0. Every child comes out as 0, tall or short: all differences in height "
    "are lost. The analogy needs several measurements of each child.",
    "Layer norm averages over one number, so a child's mean is its own height.",
    "Every child comes out as 0.",
    "So the differences between children are lost, and nothing is left to compare.",
)


@exercise("04.7")
def _causal_norm(answer) -> None:
    rng = np.random.default_rng(47)
    for T, C, size in ((5, 3, 2.0), (4, 6, 1.0), (3, 2, 0.01)):
        x = size * rng.standard_normal((T, C)) + np.arange(T)[:, None] * size
        found = array(call(answer, x.copy()), (T, C), "The result")
        for t in range(T - 1):  # as the chapter's leak_test does
            poked = x.copy()
            poked[t + 1 :] = size * rng.standard_normal((T - t - 1, C))
            after = array(call(answer, poked), (T, C), "The result")
            if not close(after[: t + 1], found[: t + 1], 1e-9):
                raise Wrong("It leaks: when later tokens change, earlier outputs move.")
        _why_not_causal(found, x)


def _why_not_causal(found, x) -> None:
    """Hold a norm of the past to the right one, or name the near miss."""

    def past(**choice):
        parts = [_layer_norm(x[: t + 1], axis="all", **choice)[t] for t in range(len(x))]
        return np.stack(parts)

    if close(found, past(), SINGLE):
        return
    if close(found, _layer_norm(x), 1e-4):
        raise Wrong("This is layer norm: each token by itself. The tokens before it count too.")
    if close(found, past(outside=True), SINGLE):
        raise Wrong("ε stands outside the root; inside is asked for.")
    if close(found, past(eps=0.0), SINGLE):
        raise Wrong("ε plays no part in your answer.")
    if close(found, past(ddof=1), 1e-4):
        raise Wrong("You divided by n − 1.")
    by_feature = [_layer_norm(x[: t + 1], axis=0)[t] for t in range(len(x))]
    if close(found, np.stack(by_feature), 1e-4):
        raise Wrong("Each feature was averaged by itself. All features of those tokens count.")
    own = [(x[t] - numerics.mean(x[: t + 1], (0, 1))) for t in range(len(x))]
    if close(found, np.stack(own), 1e-4):
        raise Wrong("You subtracted the mean but did not divide.")
    raise Wrong("It does not leak, but the numbers are not right. Does a token count itself?")
