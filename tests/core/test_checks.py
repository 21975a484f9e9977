"""What annotations say is held at the door, and the few checks that many functions share."""

import inspect
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pytest
import torch
from jaxtyping import Float, Int, Real, jaxtyped
from torch import Tensor

from helpers import checks
from helpers.checks import checked

pytestmark = pytest.mark.no_shape_check


@checked
def taken(
    x: Float[Tensor, "*batch C"],
    n: int = 1,
    share: float = 0.5,
    k: int | None = None,
    *,
    flag: bool = True,
    rows: Real[np.ndarray, "T D"] | None = None,
    words: Sequence[str] = (),
    anything=None,
    odd: TypeVar("Odd") = None,  # no class, so nothing can be asked
):
    """Give what came."""
    return x, n, share, k, flag, rows, words, anything


X = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"x": X.int()}, ValueError, r"x must be Float\[Tensor, '\*batch C'\], not torch.int32 of"),
        ({"x": torch.tensor(1.0)}, ValueError, r"x must be .*, not torch.float32 of shape \(\)"),
        ({"x": None}, TypeError, "x must be .*, not None$"),
        ({"x": [[1.0]]}, TypeError, "x must be .*, not of type list"),
        ({"n": 2.0}, TypeError, "n must be a whole number, not 2.0"),
        ({"n": True}, TypeError, "n must be a whole number, not True"),
        ({"n": None}, TypeError, "n must be a whole number, not None"),
        ({"share": "half"}, TypeError, "share must be a number, not 'half'"),
        ({"share": False}, TypeError, "share must be a number, not False"),
        ({"n": torch.tensor(2.0)}, TypeError, "n must be a whole number, not 2.0"),
        ({"n": torch.tensor([2])}, ValueError, r"n must be a whole number, not torch.int64 of"),
        ({"k": 1.5}, TypeError, "k must be a whole number or None, not 1.5"),
        ({"flag": 1}, TypeError, "flag must be bool, not 1"),
        ({"rows": np.ones(3)}, ValueError, r"rows must be .* or None, not float64 of shape \(3,\)"),
        ({"rows": [1, 2]}, ValueError, "rows must be"),
        ({"rows": [["a"]]}, ValueError, "rows must be"),
        ({"words": 3}, TypeError, "words must be Sequence, not 3"),
        ({"rows": [[1], [1, 2]]}, TypeError, "rows must be .*, not of type list"),
        ({"n": 2**63}, ValueError, "n=9223372036854775808 must be a number of 64 bits"),
        ({"share": -(10**49)}, ValueError, "share=-1000.* must be a number of 64 bits"),
        ({"x": X.to_sparse()}, ValueError, "x must be dense, not of layout torch.sparse_coo"),
        ({"word": 3}, TypeError, r"taken\(\) got an unexpected keyword argument 'word'"),
    ],
)
def test_what_an_annotation_does_not_allow_is_refused_by_name(given, error, said):
    with pytest.raises(error, match=said):
        taken(**{"x": X} | given)


def test_what_it_allows_is_taken():
    assert taken(X)[1:5] == (1, 0.5, None, True)
    assert taken(X, 2, 1, 3, flag=False, anything=True)[1:] == (2, 1, 3, False, None, (), True)
    assert type(taken(X, np.int64(2))[1]) is int
    assert type(taken(X, share=np.float32(0.5))[2]) is float
    assert taken(X, -(2**63), 2**63 - 1)[1:3] == (-(2**63), 2**63 - 1)
    assert taken(X, torch.tensor(2), torch.tensor(0.5), np.array(3))[1:4] == (2, 0.5, 3)
    np.testing.assert_array_equal(taken(X, rows=[[1, 2], [3, 4]])[5], [[1, 2], [3, 4]])
    assert taken(X, rows=((1, 2), (3, 4)))[5].shape == (2, 2)
    taken(X, odd="whatever")
    assert taken(X, words=["a"])[6] == ["a"]  # a list stays one where no array is meant


def test_arguments_of_any_number_are_not_asked():
    @checked
    def several(*parts: int, **more: int):
        return parts, more

    assert several(1, "a", b=None) == ((1, "a"), {"b": None})


def test_a_gradient_goes_through():
    share = torch.tensor(0.5, requires_grad=True)
    assert taken(X, share=share)[2] is share


def test_axes_are_not_those_of_the_caller():
    @jaxtyped(typechecker=None)
    def outer(x: Float[Tensor, "T C"]):
        assert isinstance(x, Float[Tensor, "T C"])  # from here on T and C are known
        return taken(x.T)

    assert outer(X)[0].shape == (3, 2)


def test_it_still_looks_like_the_function():
    assert taken.__doc__ == "Give what came."
    assert list(inspect.signature(taken).parameters)[:2] == ["x", "n"]


def test_a_class_is_held_to_it_when_it_is_made():
    @checked
    class Thing:
        def __init__(self, width: int):
            self.width = width

    assert Thing(3).width == 3
    with pytest.raises(TypeError, match="width must be a whole number, not 'wide'"):
        Thing("wide")


def test_sizes_have_a_least():
    checks.at_least(1, width=1, heads=2)
    with pytest.raises(ValueError, match="heads=0 must be at least 1"):
        checks.at_least(1, width=1, heads=0)


def test_ids_lie_within_a_vocabulary():
    checks.within(3, ids=torch.tensor([[0, 2]]), none=torch.tensor([], dtype=torch.int64))
    for kind in (torch.int8, torch.uint8, torch.uint16, torch.uint64):  # 300 of 8 bits is 44
        checks.within(300, ids=torch.tensor([[50, 127]], dtype=kind))
        with pytest.raises(ValueError, match="ids reach from 50 to 127"):
            checks.within(127, ids=torch.tensor([[50, 127]], dtype=kind))
    for wrong in ([0, 3], [-1, 2]):
        reach = f"ids reach from {wrong[0]} to {wrong[1]}; with vocab_size=3 .* 0..2"
        with pytest.raises(ValueError, match=reach):
            checks.within(3, ids=torch.tensor(wrong))


def test_nobody_looks_at_ids_inside_vmap():
    @checked
    def doubled(ids: Int[Tensor, " T"]) -> Int[Tensor, " T"]:
        checks.within(3, ids=ids)
        return 2 * ids

    assert torch.func.vmap(doubled)(torch.tensor([[0, 7]])).tolist() == [[0, 14]]


def test_a_product_wants_one_dtype():
    checks.check_same_dtype(q=X, k=X)
    with pytest.raises(ValueError, match=r"q and k must be of one dtype: q is torch\.float32, k"):
        checks.check_same_dtype(q=X, k=X.double())


def test_what_has_no_numbers_suits_a_weight_without_any():
    checks.check_input(X.to("meta"), 2, x=X.to("meta"))
    with pytest.raises(ValueError, match="x of shape"):
        checks.check_input(X.to("meta"), 2, x=X.T.to("meta"))


def test_what_is_measured_may_be_mapped_and_may_have_no_numbers():
    def total(x):
        checks.check_finite(x=x)
        return x.sum()

    assert torch.func.vmap(total)(X).tolist() == [3, 3]
    assert total(X.to("meta")).shape == ()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (X.half(), "table must hold numbers of at least 32 bits, not torch.float16"),
        (torch.ones(0, 3), r"table must hold numbers .* of shape \(0, 3\)"),
        (torch.tensor([1.0, float("nan")]), "table must hold finite numbers"),
        (torch.tensor([1.0, float("inf")]), "table must hold finite numbers"),
    ],
)
def test_what_is_measured_is_finite_and_wide(table, said):
    checks.check_finite(other=X, ids=torch.tensor([1], dtype=torch.int8))
    with pytest.raises(ValueError, match=said):
        checks.check_finite(other=X, table=table)
