"""Worked examples: the values are NumPy's, the LaTeX says them, and nothing is typed twice."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from helpers import worked
from helpers.worked import Step, Worked

numbers = st.floats(-1e4, 1e4, allow_nan=False)


@given(numbers, st.integers(0, 6))
def test_a_number_is_rounded_and_not_more(value, digits):
    said = worked.number(value, digits)
    assert abs(float(said) - value) <= 0.5 * 10**-digits + 1e-9
    assert "e" not in said
    assert said == said.strip()
    if "." in said:
        assert not said.endswith(("0", "."))


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.5, "0.5"), (-0.0001, "0"), (1.0, "1"), (100, "100"), (2 / 3, "0.667"), (-1.25, "-1.25")],
)
def test_numbers_as_they_are_written(value, said):
    assert worked.number(value) == said


def test_matrix_in_latex():
    assert worked.matrix([1, 2.5]) == r"\begin{bmatrix} 1 & 2.5 \end{bmatrix}"
    two_rows = worked.matrix(np.array([[1, 0], [-0.5, 1 / 3]]), digits=2)
    assert two_rows == r"\begin{bmatrix} 1 & 0 \\ -0.5 & 0.33 \end{bmatrix}"


def test_dot_product_term_by_term():
    step = worked.dot_product("s", [1, -2], [0.5, 3])
    assert step.value == -5.5
    assert step.latex() == r"s = 1 \cdot 0.5 + (-2) \cdot 3 = -5.5"
    assert step._repr_markdown_() == f"$$\n{step.latex()}\n$$"


def test_scale_divides_by_the_root():
    step = worked.scale("z", [3.0, 6.0], width=9)
    np.testing.assert_allclose(step.value, [1, 2])
    assert r"\sqrt{9}" in step.working


def test_values_are_in_float64():
    x = np.array([[1, 2], [3, 4]], dtype=np.float32)
    for step in (
        worked.dot_product("s", x[0], x[1]),
        worked.scale("z", x, 2),
        worked.softmax_steps("w", x[0]),
        worked.weighted_sum("o", x[0], x),
    ):
        assert step.value.dtype == np.float64


def test_softmax_steps_are_torchs():
    step = worked.softmax_steps("w", [0.0, np.log(3), -np.inf])
    np.testing.assert_allclose(step.value, [0.25, 0.75, 0])
    assert r"\frac{\begin{bmatrix} 1 & 3 & 0 \end{bmatrix}}{1 + 3 + 0}" in step.working
    scores = np.array([0.3, -1.2, 2.0])
    np.testing.assert_allclose(
        worked.softmax_steps("w", scores).value, F.softmax(torch.tensor(scores), dim=0)
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("large", [1000.0, -1000.0, 301.0])
def test_softmax_steps_of_large_scores(large):
    step = worked.softmax_steps("w", [large, large - np.log(3)])
    np.testing.assert_allclose(step.value, [0.75, 0.25])
    assert r"\frac{\begin{bmatrix} 1 & 0.333 \end{bmatrix}}{1 + 0.333}" in step.working
    assert worked.number(large) in step.working.partition("scores less the largest")[2]


def test_weighted_sum():
    step = worked.weighted_sum("o", [0.25, 0.75], [[4, 0], [0, 4]])
    np.testing.assert_array_equal(step.value, [1, 3])
    assert r"0.25 \begin{bmatrix} 4 & 0 \end{bmatrix} \\ &\quad + 0.75" in step.working
    assert worked.matrix([1, 3]) in step.working


@pytest.mark.parametrize("n", range(1, 8))
def test_sums_fit_on_a_telephone(n):
    working = worked.weighted_sum("o", [1] * n, [[k] for k in range(n)]).working
    assert working.count(r"\begin{bmatrix}") == n + 1  # and the sum
    assert working.count(r"\\ &\quad + ") == n - 1
    working = worked.dot_product("o", [1] * n, range(n)).working
    assert working.count(r"\\ &\quad + ") == (n - 1) // 2
    assert working.count(r"\cdot") == n


def test_attention_of_one_query_is_torchs():
    rng = np.random.default_rng(0)
    query, keys, values = rng.normal(size=4), rng.normal(size=(3, 4)), rng.normal(size=(3, 2))
    example = worked.attention_of_one_query(query, keys, values, ["a", "b", "c"], asks="b")
    torchs = F.scaled_dot_product_attention(
        *(torch.tensor(x) for x in (query[None], keys, values))
    )[0]
    np.testing.assert_allclose(example[r"\text{output}"], torchs, atol=1e-12)
    assert len(example.steps) == 3 + 3  # a score a key; scaled, weights, output
    np.testing.assert_allclose([s.value for s in example.steps[:3]], keys @ query)
    np.testing.assert_allclose(example["s"], keys @ query / 2)
    assert "b" in example.title
    assert r"\text{c}" in example.latex()
    bare = worked.attention_of_one_query(query, keys, values, ["a", "b", "c"], asks="b", bare=True)
    np.testing.assert_allclose(bare["w"], torch.tensor(keys @ query).softmax(0))


def test_worked_example_shows_all_steps():
    example = Worked("Sum", (Step("a", "1 + 1 = 2", np.array(2)), Step("b", "3", np.array(3))))
    assert example["b"] == 3
    assert example.latex() == "a = 1 + 1 = 2\nb = 3"
    shown = example._repr_markdown_()
    assert shown == "**Sum**\n\n$$\na = 1 + 1 = 2\n$$\n\n$$\nb = 3\n$$"
    with pytest.raises(KeyError):
        example["c"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.array(0.966861305830), "0.967"),
        (np.array(2), "2.0"),
        (np.array([[-6e-17, 1 / 3]]), "[[0.0, 0.333]]"),
        (np.float32([1.189]), "[1.189]"),
    ],
)
def test_plain_text_shows_no_digit_that_the_page_does_not(value, shown):
    step = f"Step(name='a', working='b', value={shown})"
    assert repr(Worked("T", (Step("a", "b", value),))) == f"Worked(title='T', steps=({step},))"
