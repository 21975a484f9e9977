"""What a correction is: a claim that is met, the computation that answers it, and why."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
from jaxtyping import Num

from helpers.worked import superscript

Result = float | int | str | Num[np.ndarray, "..."]


def number(x: SupportsFloat) -> str:
    """Write a number as pages show it: whole ones whole, others with four significant digits.

    Returns text such as "8", "−0.3567", "9.306 × 10⁻⁶", "∞" or "nan".
    """
    x = float(x)
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "∞" if x > 0 else "−∞"
    if x.is_integer() and abs(x) < 1e9:
        return f"{x:.0f}".replace("-", "−")
    mantissa, _, power = f"{x:.4g}".partition("e")
    mantissa = mantissa.replace("-", "−")
    return f"{mantissa} × 10{superscript(int(power))}" if power else mantissa


def shown(value: Result) -> str:
    """Write what a correction computed, as Markdown.

    value: a number, a text (returned as it is), a vector (a short list) or a matrix (LaTeX).
    Raises ValueError for an array of three or more axes.
    """
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.ndim == 0:
        return number(array.item())
    if array.ndim == 1:
        return "(" + ", ".join(number(x) for x in array.tolist()) + ")"
    if array.ndim == 2:
        rows = (" & ".join(f"{x:.4g}" for x in row) for row in array.tolist())
        return r"$\begin{bmatrix}" + r" \\ ".join(rows) + r"\end{bmatrix}$"
    raise ValueError(f"value has {array.ndim} axes; a page shows at most a matrix")


@dataclass(frozen=True, kw_only=True)
class Correction:
    """A claim found wrong, with a function that computes what is right.

    claim: what is claimed, in our words. says: what is said or printed. right: computes the right
    value, or the measurement that refutes the claim, in a fraction of a second and without
    arguments. why: the reason, in a sentence or two.
    """

    claim: str
    says: str
    right: Callable[[], Result]
    why: str

    @property
    def chapter(self) -> str:
        """The chapter that works it out, two digits: the one in whose folder `right` is."""
        return self.right.__module__.split(".")[2].removeprefix("ch")[:2]

    @property
    def slug(self) -> str:
        """The anchor of this correction, from its chapter and the name of `right`."""
        return f"c{self.chapter}-{self.right.__name__.replace('_', '-')}"

    def shown(self) -> str:
        """Compute `right()` and write it as Markdown."""
        return shown(self.right())


CORRECTIONS: list[Correction] = []


def corrects(**said: str) -> Callable[[Callable[[], Result]], Correction]:
    """Register the function below it, with ``claim``, ``says`` and ``why``, as a Correction."""

    def register(right: Callable[[], Result]) -> Correction:
        CORRECTIONS.append(Correction(right=right, **said))
        return CORRECTIONS[-1]

    return register
