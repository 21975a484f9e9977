"""Common misconceptions: a claim that is wrong, and a function that computes what is right."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
from jaxtyping import Num

from helpers.worked import superscript


def number(x: SupportsFloat) -> str:
    """Write a number as pages show it: whole ones whole, others with three significant digits.

    Returns text such as "8", "−0.357", "9.31 × 10⁻⁶" or "∞".
    """
    x = float(x)
    if x.is_integer() and abs(x) < 1e9:
        return f"{x:.0f}".replace("-", "−")
    mantissa, _, power = f"{x:.3g}".replace("inf", "∞").partition("e")
    mantissa = mantissa.replace("-", "−")
    return f"{mantissa} × 10{superscript(int(power))}" if power else mantissa


def vector(x: Num[np.ndarray, " n"]) -> str:
    """Write a vector, such as "(1, −0.5)"; what is due to rounding counts as 0."""
    return "(" + ", ".join(number(entry) for entry in np.round(x, 9) + 0.0) + ")"


@dataclass(frozen=True, kw_only=True)
class Correction:
    """A claim found wrong, with a function that computes what is right.

    claim: what is claimed, in our words. says: how one hears it. right: computes, in a fraction of
    a second, a sentence with the right value, or with the measurement that refutes the claim. why:
    the reason. section: the heading of its chapter under which a cell shows it.
    """

    claim: str
    says: str
    right: Callable[[], str]
    why: str
    section: str

    @property
    def chapter(self) -> int:
        """The chapter that works it out: the one in whose folder `right` is."""
        return int(self.right.__module__.split(".")[2][2:4])

    @property
    def slug(self) -> str:
        """The anchor of this correction, from its chapter and the name of `right`."""
        return f"c{self.chapter:02}-{self.right.__name__.replace('_', '-')}"


CORRECTIONS: list[Correction] = []


def corrects(**said: str) -> Callable[[Callable[[], str]], Correction]:
    """Register the function below it, with the other fields, as a Correction."""

    def register(right: Callable[[], str]) -> Correction:
        CORRECTIONS.append(Correction(right=right, **said))
        return CORRECTIONS[-1]

    return register
