"""What the corrections of chapter 05 compute, found again by another route: torch's own attention
and exact fractions where they use NumPy; and the inputs of their examples."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from corrected import SHOWN, by_another_route, numbers, said
from torch.nn import functional as F

from helpers.chapters.ch05_attention_by_hand import corrections as module

X, W = torch.tensor(module.THE_CAT_SAT_X), torch.tensor(module.THE_CAT_SAT_W)
PRINTED_QKV = torch.tensor(module.THE_CAT_SAT_PRINTED_QKV)
CAT_X, CAT_K = torch.tensor(module.CAT_X), torch.tensor(module.CAT_KEYS)
CAT_V, CAT_Q = torch.tensor(module.CAT_VALUES), torch.tensor(module.CAT_QUERY)


def weighted_average(scale: float | None) -> torch.Tensor:
    """Output of the cat example by torch's own attention."""
    return F.scaled_dot_product_attention(CAT_Q[None], CAT_K, CAT_V, scale=scale)[0]


def weights(query: torch.Tensor, keys: torch.Tensor, scale: float | None) -> np.ndarray:
    """Attention weights by torch's own attention, read off with unit vectors for values."""
    values = torch.eye(len(keys), dtype=keys.dtype)
    return F.scaled_dot_product_attention(query[None], keys, values, scale=scale)[0].numpy()


def exact_x_times_w() -> list[list[float]]:
    """X · W of the 3-token example in exact fractions."""
    tenths = [[Fraction(round(10 * float(x)), 10) for x in row] for row in module.THE_CAT_SAT_X]
    matrix = [[Fraction(round(10 * float(x)), 10) for x in row] for row in module.THE_CAT_SAT_W]
    return [
        [float(sum(a * b for a, b in zip(row, column, strict=True))) for column in zip(*matrix)]  # noqa: B905
        for row in tenths
    ]


QKV = X @ W

# By the name of a correction: what is printed, and what is right by another route.
NUMERIC = {
    "x_times_w": (PRINTED_QKV.flatten(), np.ravel(exact_x_times_w())),
    "sums_of_printed_products": (
        module.THE_CAT_SAT_PRINTED_SCORES,
        [
            0.3 * 0.3 + 0.7 * 0.7 + 1.1 * 1.1 + 1.5 * 1.5,
            0.3 * 0.7 + 0.7 * 1.5 + 1.1 * 2.3 + 1.5 * 3.1,
            0.3 * 1.1 + 0.7 * 2.3 + 1.1 * 3.5 + 1.5 * 4.7,
        ],
    ),
    "scores_of_the": (module.THE_CAT_SAT_PRINTED_SCORES, torch.einsum("c,cd,td->t", X[0], W, QKV)),
    "softmax_of_printed_scores": (
        module.THE_CAT_SAT_PRINTED_WEIGHTS,
        [math.exp(-10), math.exp(-5), 1] / np.sum([math.exp(-10), math.exp(-5), 1]),
    ),
    "printed_weighted_sum": (
        module.THE_CAT_SAT_PRINTED_OUTPUT,
        [0.02 * a + 0.28 * b + 0.7 * c for a, b, c in PRINTED_QKV.T.tolist()],
    ),
    "output_of_the": (
        [*module.THE_CAT_SAT_PRINTED_OUTPUT, *QKV[2]],
        [*F.scaled_dot_product_attention(QKV, QKV, QKV)[0], *QKV[2]],
    ),
    "keys_from_no_matrix": (
        CAT_K[[3, 5]].flatten(),
        torch.cat([(CAT_K[0] + CAT_K[1]) / 2, (CAT_K[1] + CAT_K[2]) / 2]),
    ),
    "values_from_no_matrix": (
        CAT_V[[3, 5]].flatten(),
        torch.cat([(CAT_V[0] + CAT_V[1]) / 2, (CAT_V[1] + CAT_V[2]) / 2]),
    ),
    "weights_of_cat": (
        [*module.CAT_PRINTED_WEIGHTS, 1],
        [*weights(CAT_Q, CAT_K, 1.0), 4 * 0.217 + 2 * 0.132],
    ),
    "output_of_cat": (module.CAT_PRINTED_OUTPUT, weighted_average(1.0)),
    "sum_of_seven_weights": (1, [1.4]),
}


# ------------------------------------------------------------------------- one check a correction


def rows_are_tokens():
    stacked, separate = numbers("c05-rows-are-tokens")
    assert stacked > 0.1
    assert separate == 0


def the_scaling_left_out():
    found = np.reshape(numbers("c05-the-scaling-left-out")[:6], (2, 3))
    of_cat = np.reshape(numbers("c05-the-scaling-left-out")[6:], (2, 6))
    for shown_, query, keys in ((found, QKV[0], QKV), (of_cat, CAT_Q, CAT_K)):
        scaled, raw = weights(query, keys, None), weights(query, keys, 1.0)
        np.testing.assert_allclose(shown_, [scaled, raw], rtol=SHOWN)
        assert np.abs(shown_[0] - shown_[1]).min() > 0.001  # every weight is another one
        assert raw.max() > scaled.max() > scaled.min() > raw.min()


def every_query_reads_sat():
    text = said("c05-every-query-reads-sat")
    assert re.findall(r"(\w+) reads (\w+)", text) == [
        ("The", "sat"),
        ("cat", "sat"),
        ("sat", "sat"),
    ]
    found = [float(x) for x in re.findall(r"weight ([\d.]*\d)", text)]
    assert found == pytest.approx([weights(q, QKV, None)[2] for q in QKV], abs=5.1e-6)
    assert max(found) < 1
    # sat's key exceeds the others in every entry, so no positive query prefers another token.
    assert bool((QKV[2] > QKV[:2]).all())
    assert bool((QKV > 0).all())
    # Only "without negative entries" makes it so: this query reads The.
    other = torch.tensor([3.0, 0.0, 0.0, -2.11], dtype=torch.float64)
    assert int((QKV @ other).argmax()) == 0


def same_word_other_position():
    without, with_positions = numbers("c05-same-word-other-position")
    assert without == 0
    assert with_positions > 0.01
    assert (module.SITS_X[0] == module.SITS_X[4]).all()


def attention_is_not_linear():
    percent, in_values = numbers("c05-attention-is-not-linear")
    once, twice = (F.scaled_dot_product_attention(s * CAT_X, s * CAT_X, s * CAT_X) for s in (1, 2))
    assert percent == pytest.approx(
        100 * float((twice - 2 * once).norm() / (2 * once).norm()), abs=0.1
    )
    assert percent > 10
    assert in_values == 0


def attentions_in_a_layer():
    assert numbers("c05-attentions-in-a-layer") == [1, 2]
    assert not hasattr(torch.nn.TransformerEncoderLayer(4, 1), "multihead_attn")
    assert hasattr(torch.nn.TransformerDecoderLayer(4, 1), "multihead_attn")


def what_the_next_layer_reads():
    # A normalised vector of width C has length √C; a network's zeros would have length 0.
    assert numbers("c05-what-the-next-layer-reads") == pytest.approx([math.sqrt(4)] * 3, abs=1e-3)


def whose_weights_a_query_sets():
    assert numbers("c05-whose-weights-a-query-sets") == [0, 5, 5]


test_corrections = by_another_route(module.CORRECTIONS, globals(), NUMERIC)


# --------------------------------------------------------------- claims made inside a `why`


def test_one_of_the_twelve_printed_projections_is_right():
    assert int((PRINTED_QKV.sub(QKV).abs() < 0.006).sum()) == 1


def test_two_of_the_four_printed_entries_of_a_sum_pass_as_rounded():
    off = np.abs(numbers("c05-printed-weighted-sum") - module.THE_CAT_SAT_PRINTED_OUTPUT)
    assert (off > 0.01).all()
    assert (off < 0.05).tolist() == [True, True, False, False]


def test_the_output_for_the_is_near_the_value_of_sat():
    found = np.reshape(numbers("c05-output-of-the"), (2, 4))
    assert np.abs(found[0] / found[1] - 1).max() < 0.025


@pytest.mark.parametrize("given", [CAT_K, CAT_V])
def test_no_bias_mends_the_keys_and_values(given):
    with_bias = torch.cat([CAT_X, torch.ones(6, 1)], dim=1)
    solution = torch.linalg.lstsq(with_bias, given, driver="gelsd").solution
    assert float((with_bias @ solution - given).abs().max()) > 0.05


@pytest.mark.parametrize("given", [CAT_K, CAT_V])
def test_the_identity_makes_all_but_the_key_and_value_of_cat(given):
    assert (given == CAT_X).all(dim=1).tolist() == [token != "cat" for token in module.CAT_TOKENS]


def test_the_weights_of_cat_are_too_large_by_one_factor():
    factor = module.CAT_PRINTED_WEIGHTS / weights(CAT_Q, CAT_K, 1.0)
    assert factor.max() - factor.min() < 0.01
    assert factor.min() > 1.1


# ------------------------------------------------------------------------- inputs of the examples


def test_inputs_of_the_examples():
    np.testing.assert_allclose(module.THE_CAT_SAT_X, np.arange(1, 13).reshape(3, 4) / 10)
    np.testing.assert_allclose(module.THE_CAT_SAT_W, np.arange(1, 17).reshape(4, 4) / 10)
    unit = np.eye(3)
    pairs = [unit[[0, 1]], unit[[0, 2]], unit[[1, 2]]]
    np.testing.assert_array_equal(module.CAT_X[:3], unit)
    np.testing.assert_array_equal(module.CAT_X[3:], [pair.mean(axis=0) for pair in pairs])
    np.testing.assert_array_equal(module.CAT_KEYS @ module.CAT_QUERY, module.CAT_PRINTED_SCORES)
    for given in (module.CAT_KEYS, module.CAT_VALUES):  # only the row of "cat" is not X's own
        np.testing.assert_array_equal((given != module.CAT_X).any(axis=1), np.arange(6) == 1)
    for tokens, x in (("THE_CAT_SAT", 3), ("CAT", 6), ("SITS", 7)):
        assert len(getattr(module, f"{tokens}_TOKENS")) == len(getattr(module, f"{tokens}_X")) == x
