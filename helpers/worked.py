"""A worked example as data: each step holds its value and how it was reached, as LaTeX.

A chapter builds the steps from the inputs, shows them, and takes the values on from there, so
that no number is typed twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Real

from helpers import numerics
from helpers.checks import at_least, checked

DIGITS = 3  # decimals shown: float32's sums differ between processors further down
LARGEST = 300.0  # a score beyond which exponentials are shown with the largest taken off


@checked
def number(value: float, digits: int = DIGITS) -> str:
    """A number in at most ``digits`` decimals, without trailing zeros."""
    at_least(0, digits=digits)
    text = f"{float(value):.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


@checked
def superscript(number: int) -> str:
    """A whole number set high, as in 10⁻⁷."""
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


@checked
def matrix(values: Real[np.ndarray, "..."] | list, digits: int = DIGITS) -> str:
    """A vector (as one row) or a matrix in LaTeX.

    Shapes: values (n,) or (m, n).
    Raises: ValueError for more than two axes.
    """
    rows = np.atleast_2d(values)
    if rows.ndim != 2:
        raise ValueError(f"values must have one or two axes, got shape {rows.shape}")
    body = r" \\ ".join(" & ".join(number(value, digits) for value in row) for row in rows)
    return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"


@dataclass(frozen=True)
class Step:
    """One step: what it is called (LaTeX), how it was reached (LaTeX), and its value."""

    name: str
    working: str
    value: Real[np.ndarray, "..."]

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

    def __getitem__(self, name: str) -> Real[np.ndarray, "..."]:
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


@checked
def matrix_product(
    name: str,
    left_name: str,
    left: Real[np.ndarray, "m n"] | list,
    right_name: str,
    right: Real[np.ndarray, "n k"] | list,
) -> Step:
    """A product of two matrices, both written out.

    Shapes: left (m, n), right (n, k).
    """
    left, right = np.asarray(left), np.asarray(right)
    if left.shape[1] != right.shape[0]:
        raise ValueError(f"left {left.shape} and right {right.shape} must be (m, n) and (n, k)")
    value = left.astype(np.float64) @ right
    factors = rf"{matrix(left)} {matrix(right)}"
    lines = rf"{left_name}\,{right_name} = {factors} \\ &= {matrix(value)}"
    working = rf"\begin{{aligned}}[t] & {lines} \end{{aligned}}"
    return Step(name, working, value)


@checked
def dot_product(
    name: str, left: Real[np.ndarray, " n"] | list, right: Real[np.ndarray, " n"] | list
) -> Step:
    """A dot product, term by term.

    Shapes: left (n,), right (n,).
    Raises: ValueError when the vectors differ in length.
    """
    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError(
            f"left and right must be vectors of one length, got {left.shape} and {right.shape}"
        )
    terms = " + ".join(
        rf"{_factor(a)} \cdot {_factor(b)}" for a, b in zip(left, right, strict=True)
    )
    value = np.asarray(left @ right)
    return Step(name, f"{terms} = {number(float(value))}", value)


@checked
def scale(name: str, scores: Real[np.ndarray, "*Tq Tk"] | list, width: int) -> Step:
    """Scores divided by the root of the width D.

    Shapes: scores (T,) or (T_q, T_k).
    """
    at_least(1, width=width)
    value = np.asarray(scores, dtype=np.float64) / np.sqrt(width)
    return Step(name, rf"{matrix(scores)} / \sqrt{{{width}}} = {matrix(value)}", value)


@checked
def softmax_steps(name: str, scores: Real[np.ndarray, " T"] | list) -> Step:
    """The softmax of a few scores: exponentials over their sum.

    Where exponentials would overflow, or all vanish, the largest score is taken off each first,
    and the working says so. Shapes: scores (T,).
    """
    scores = np.asarray(scores, dtype=np.float64)
    value, largest = numerics.softmax(scores), scores.max()
    shift = 0.0 if abs(largest) <= LARGEST else largest
    powers = np.exp(scores - shift)
    total = " + ".join(number(power) for power in powers)
    working = rf"\frac{{{matrix(powers)}}}{{{total}}} = {matrix(value)}"
    if shift:
        working += rf" \quad (\text{{scores less the largest, }} {number(largest)})"
    return Step(name, working, value)


@checked
def weighted_sum(
    name: str,
    weights: Real[np.ndarray, " T"] | list,
    vectors: Real[np.ndarray, "T D"] | list,
) -> Step:
    """Vectors, one row each, added up with weights.

    Shapes: weights (T,), vectors (T, D).
    Raises: ValueError when there is not one weight per vector.
    """
    weights = np.asarray(weights, dtype=np.float64)
    vectors = np.asarray(vectors)
    if len(weights) != len(vectors):
        raise ValueError(
            f"one weight per vector is needed: weights has shape {weights.shape}, vectors "
            f"{vectors.shape}"
        )
    terms = [rf"{_factor(w)} {matrix(row)}" for w, row in zip(weights, vectors, strict=True)]
    lines = [" + ".join(terms[at : at + 3]) for at in range(0, len(terms), 3)]
    value = weights @ vectors
    working = r"\\ &\quad + ".join(lines) + rf" \\ &= {matrix(value)}"
    return Step(name, rf"\begin{{aligned}}[t] & {working} \end{{aligned}}", value)


@checked
def attention_of_one_query(
    query: Real[np.ndarray, " D"] | list,
    keys: Real[np.ndarray, "T D"] | list,
    values: Real[np.ndarray, "T Dv"] | list,
    tokens: Sequence[str],
    *,
    asks: str,
) -> Worked:
    """Attention for one query by hand: scores, scaled scores, weights and output.

    Shapes: query (D,), keys (T, D), values (T, D_v), one token's name per key.
    """
    keys = np.asarray(keys)
    if len(tokens) != len(keys):
        raise ValueError(f"tokens are {len(tokens)}; one is needed for each of {len(keys)} keys")
    if np.shape(query) != keys.shape[1:]:
        raise ValueError(f"query must be as wide as a key: {np.shape(query)} and {keys.shape[1:]}")
    if len(values) != len(keys):
        raise ValueError(f"values are {len(values)}; one is needed for each of {len(keys)} keys")
    scores = [
        dot_product(rf"q_{{\text{{{asks}}}}} \cdot k_{{\text{{{token}}}}}", query, key)
        for token, key in zip(tokens, keys, strict=True)
    ]
    scaled = scale("s", [step.value for step in scores], keys.shape[1])
    weights = softmax_steps("w", scaled.value)
    output = weighted_sum(r"\text{output}", weights.value, values)
    return Worked(f"What “{asks}” reads", (*scores, scaled, weights, output))


def _factor(value: float) -> str:
    text = number(value)
    return f"({text})" if text.startswith("-") else text
