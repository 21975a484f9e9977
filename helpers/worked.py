"""A worked example as data: each step holds its value and its working, as LaTeX.

A chapter builds the steps from the inputs, shows them, and continues with their values, so that no
number is typed twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Real

from helpers import numerics

DIGITS = 3  # decimals shown: float32's sums differ between processors further down
_BREAK = r" \\ &\quad + "  # between terms on two lines
LARGEST = 300.0  # a score beyond which exponentials are shown with the largest subtracted


def number(value: float, digits: int = DIGITS) -> str:
    """A number in at most ``digits`` decimals, without trailing zeros."""
    text = f"{float(value):.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def superscript(number: int) -> str:
    """A whole number set high, as in 10⁻⁷."""
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def matrix(values: Real[np.ndarray, "..."] | list, digits: int = DIGITS) -> str:
    """A vector (as one row) or a matrix in LaTeX.

    Shapes: values (n,) or (m, n).
    """
    rows = np.atleast_2d(values)
    body = r" \\ ".join(" & ".join(number(value, digits) for value in row) for row in rows)
    return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"


@dataclass(frozen=True)
class Step:
    """One step: its name (LaTeX), its working (LaTeX), and its value."""

    name: str
    working: str
    value: Any  # a number or an array

    def __repr__(self) -> str:
        shown = (np.round(np.asarray(self.value, np.float64), DIGITS) + 0.0).tolist()  # no -0.0
        return f"Step(name={self.name!r}, working={self.working!r}, value={shown})"

    def latex(self) -> str:
        """The step as one line of LaTeX: name = working."""
        return f"{self.name} = {self.working}"

    def _repr_markdown_(self) -> str:
        return f"$$\n{self.latex()}\n$$"


@dataclass(frozen=True)
class Worked:
    """A worked example: a title and its steps in order; ``example["name"]`` is a step's value."""

    title: str
    steps: tuple[Step, ...]

    def __getitem__(self, name: str) -> Any:
        for step in self.steps:
            if step.name == name:
                return step.value
        raise KeyError(f"no step {name!r}; there are {[step.name for step in self.steps]}")

    def latex(self) -> str:
        """All steps, one line each."""
        return "\n".join(step.latex() for step in self.steps)

    def _repr_markdown_(self) -> str:
        shown = "\n\n".join(step._repr_markdown_() for step in self.steps)
        return f"**{self.title}**\n\n{shown}"


def dot_product(
    name: str, left: Real[np.ndarray, " n"] | list, right: Real[np.ndarray, " n"] | list
) -> Step:
    """A dot product, term by term, at most two of them on a line.

    Shapes: left (n,), right (n,).
    """
    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    terms = [rf"{_factor(a)} \cdot {_factor(b)}" for a, b in zip(left, right, strict=True)]
    lines = [" + ".join(terms[at : at + 2]) for at in range(0, len(terms), 2)]
    value = np.asarray(left @ right)
    working = rf"{_BREAK.join(lines)} = {number(float(value))}"
    if len(lines) > 1:
        working = rf"\begin{{aligned}}[t] & {working} \end{{aligned}}"
    return Step(name, working, value)


def scale(name: str, scores: Real[np.ndarray, "*Tq Tk"] | list, width: int) -> Step:
    """Scores divided by the root of the width D.

    Shapes: scores (T,) or (T_q, T_k).
    """
    value = np.asarray(scores, dtype=np.float64) / np.sqrt(width)
    working = rf"& {matrix(scores)} / \sqrt{{{width}}} \\ &= {matrix(value)}"
    return Step(name, rf"\begin{{aligned}}[t] {working} \end{{aligned}}", value)


def softmax_steps(name: str, scores: Real[np.ndarray, " T"] | list) -> Step:
    """The softmax of a few scores: exponentials over their sum.

    Where exponentials would overflow, or all vanish, the largest score is subtracted from each,
    and the working says so. Shapes: scores (T,).
    """
    scores = np.asarray(scores, dtype=np.float64)
    value, largest = numerics.softmax(scores), scores.max()
    shift = 0.0 if abs(largest) <= LARGEST else largest
    exponentials = np.exp(scores - shift)
    total = " + ".join(number(exponential) for exponential in exponentials)
    working = rf"& \frac{{{matrix(exponentials)}}}{{{total}}} \\ &= {matrix(value)}"
    if shift:
        working += rf" \\ & (\text{{scores less the largest, }} {number(largest)})"
    return Step(name, rf"\begin{{aligned}}[t] {working} \end{{aligned}}", value)


def weighted_sum(
    name: str,
    weights: Real[np.ndarray, " T"] | list,
    vectors: Real[np.ndarray, "T D"] | list,
) -> Step:
    """Vectors, one row each, added up with weights, each on a line for a telephone.

    Shapes: weights (T,), vectors (T, D).
    """
    weights = np.asarray(weights, dtype=np.float64)
    vectors = np.asarray(vectors)
    terms = [rf"{_factor(w)} {matrix(row)}" for w, row in zip(weights, vectors, strict=True)]
    value = weights @ vectors
    working = rf"{_BREAK.join(terms)} \\ &= {matrix(value)}"
    return Step(name, rf"\begin{{aligned}}[t] & {working} \end{{aligned}}", value)


def attention_of_one_query(
    query: Real[np.ndarray, " D"] | list,
    keys: Real[np.ndarray, "T D"] | list,
    values: Real[np.ndarray, "T Dv"] | list,
    tokens: Sequence[str],
    *,
    asks: str,
    bare: bool = False,
) -> Worked:
    """Attention for one query by hand: scores, scaled scores, weights and output.

    bare: of vectors without projections, whose scores are not scaled.
    Shapes: query (D,), keys (T, D), values (T, D_v), one token's name per key.
    """
    keys, (q, k) = np.asarray(keys), "xx" if bare else "qk"
    scores = [
        dot_product(rf"{q}_{{\text{{{asks}}}}} \cdot {k}_{{\text{{{token}}}}}", query, key)
        for token, key in zip(tokens, keys, strict=True)
    ]
    scaled = scale("s", [step.value for step in scores], 1 if bare else keys.shape[1])
    weights = softmax_steps("w", scaled.value)
    output = weighted_sum(r"\text{output}", weights.value, values)
    title = f"What “{asks}” reads" + ", with bare vectors" * bare
    return Worked(title, (*scores, *[scaled] * (not bare), weights, output))


def _factor(value: float) -> str:
    text = number(value)
    return f"({text})" if text.startswith("-") else text
