"""Every public function of the core, given what it should not be given: right, or a clear refusal.

A call that is valid is spoilt in one argument or two. What comes back must then be free of nan
(where nothing that went in was nan or infinite) and be what such a result always is (HOLDS), or
the error be a ValueError or a TypeError that names an argument of the function. Some three
thousand calls; the checks of shapes that tests have besides are off, as they are for a reader.
"""

import math
import re

import numpy as np
import pytest
import torch
from calls import CALLS
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

pytestmark = [pytest.mark.no_shape_check, pytest.mark.slow]

NOTHING_FITS = st.sampled_from([None, "nonsense", [], {}, object(), 1j])
WHOLE = st.sampled_from([-1, 0, -7, 2.5, 1.0, math.nan, math.inf, True, np.int64(3), "3"])
REAL = st.sampled_from([-1.0, 0.0, math.nan, math.inf, -math.inf, 1e30, 1e-45, 3, "0.5"])
WORD = st.sampled_from(["", "nonsense", "\n", "Привет", 3, b"pre"])


def spoilt_array(array: np.ndarray) -> list[np.ndarray]:
    """An array with another shape, another kind of number, or numbers that make no sense."""
    wild = [array.astype(kind) for kind in ("float16", "float64", "int64", "bool", "complex64")]
    if array.dtype.kind == "f":
        wild += [np.where(array == array.flat[0], odd, array) for odd in (np.nan, np.inf, -np.inf)]
        wild += [array * 1e30, -array, np.zeros_like(array)]
    if array.dtype.kind == "i":
        wild += [array - 1, array + 100, -array]
    shapes = [
        array[None],
        array[..., None],
        array[:0],
        array[..., :0],
        array[0],
        np.concatenate([array, array[:1]]),
    ]
    return [*wild, *shapes]


def spoilt(value) -> st.SearchStrategy:
    """What might come in place of a valid argument."""
    if isinstance(value, Tensor):
        wild = [torch.from_numpy(np.array(one)) for one in spoilt_array(value.numpy())]
        return st.sampled_from([*wild, value.bfloat16(), value.tolist()]) | NOTHING_FITS
    if isinstance(value, np.ndarray):
        return st.sampled_from([*spoilt_array(value), value.tolist()]) | NOTHING_FITS
    for kind, strategy in ((bool, NOTHING_FITS), (int, WHOLE), (float, REAL), (str, WORD)):
        if isinstance(value, kind):
            return strategy | NOTHING_FITS
    if isinstance(value, list):
        return st.sampled_from([value[:1], value + value, [3, 4]]) | NOTHING_FITS
    if isinstance(value, tuple):
        return st.sampled_from([(), (0, 0), (9,), (-9, 0), (0.5,), ("a",)]) | NOTHING_FITS
    return NOTHING_FITS


def numbers_in(value) -> list[np.ndarray]:
    """All numbers that a value holds, array by array."""
    if isinstance(value, Tensor):
        value = value.detach()
        return [value.double().numpy() if value.is_floating_point() else value.numpy()]
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, bool | int | float | complex):
        return [np.array(value)]
    if isinstance(value, list | tuple):
        return [array for one in value for array in numbers_in(one)]
    if isinstance(value, dict):
        return numbers_in(list(value.values()))
    if isinstance(value, nn.Module):
        return numbers_in(list(value.parameters()))
    return numbers_in(vars(value)) if hasattr(value, "__dict__") else []


def sound(value) -> bool:
    """Whether nothing in it is nan."""
    return not any(np.isnan(one).any() for one in numbers_in(value) if one.dtype.kind in "fc")


def tame(value) -> bool:
    """Whether no number in it is nan, infinite, or so large that its square is."""
    found = [one for one in numbers_in(value) if one.dtype.kind in "fc"]
    return all(np.isfinite(one).all() and (np.abs(one) < 1e15).all() for one in found)


def shares(found, axis: int = -1) -> bool:
    """Whether they lie in 0..1 and sum to 1."""
    found = np.asarray(found)
    return bool((found >= 0).all()) and np.allclose(found.sum(axis=axis), 1)


def below(most: float, found) -> bool:
    """Whether no number of it is further from 0, but for rounding."""
    return bool((np.abs(np.asarray(found)) <= most + 1e-5).all())


def shaped_as(argument: str, part: str = ""):
    """Whether the result, or a part of it, has the shape of this argument."""

    def same(found, given) -> bool:
        return np.shape(getattr(found, part) if part else found) == np.shape(given[argument])

    return same


def ids_of(found, most: int) -> bool:
    return bool(((found >= 0) & (found < most)).all())


# What holds of a result, whatever the arguments were that were taken.
HOLDS = {
    "smoothed": lambda found, given: shares(found),
    "softmax": lambda found, given: shares(found, given["axis"]),
    "attention_weights": lambda found, given: shares(found),
    "attention_steps": lambda found, given: shares(found.weights),
    "one_hot": lambda found, given: shares(found) and found.ndim == given["ids"].ndim + 1,
    "MarkovChain": lambda found, given: shares(found.stationary),
    "MarkovChain.sample": lambda found, given: ids_of(found, 3) and len(found) == given["n"],
    "count_bigrams": lambda found, given: found.sum() == len(given["ids"]) - 1,
    "similarities": lambda found, given: given["measure"] != "cosine" or below(1, found),
    "similarity_matrix": lambda found, given: given["measure"] != "cosine" or below(1, found),
    "neighbours": lambda found, given: given["row"] not in found and len(found) == given["k"],
    "nearest": lambda found, given: all(i != int(j) for i, j in enumerate(found)),
    "anisotropy": lambda found, given: below(1, found),
    "rank_correlation": lambda found, given: below(1, found),
    "variance": lambda found, given: bool((np.asarray(found) >= 0).all()),
    "entropy": lambda found, given: bool((np.asarray(found) >= 0).all()),
    "conditional_entropy": lambda found, given: 0 <= found <= math.log(3) + 1e-9,
    "sinusoidal": lambda found, given: below(1, found),
    "alibi": lambda found, given: bool((found <= 0).all()),
    "quantised": lambda found, given: below(127, found[0]) and bool((found[1] > 0).all()),
    "lr_factor": lambda found, given: 0 <= found <= 1,
    **dict.fromkeys(
        ("GPT.generate", "BigramLanguageModel.generate"), lambda found, given: ids_of(found, 5)
    ),
    **dict.fromkeys(
        (
            "LayerNorm.forward",
            "RMSNorm.forward",
            "BatchNorm.forward",
            "FeedForward.forward",
            "Rotary.forward",
        ),
        shaped_as("x"),
    ),
    **dict.fromkeys(
        ("InstanceNorm.forward", "GroupNorm.forward", "SelfAttention.forward"), shaped_as("x_BTC")
    ),
    **dict.fromkeys(("centre", "whiten"), shaped_as("table")),
    "log_softmax": shaped_as("scores"),
    "newton_schulz": shaped_as("matrices"),
    "normalise": shaped_as("x", "output"),
    "normalise_over": shaped_as("x_BTC", "output"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=35)
@given(data=st.data())
def test_it_is_right_or_says_what_is_wrong(name, data):
    function, valid = CALLS[name]
    chosen = data.draw(st.sets(st.sampled_from(sorted(valid)), min_size=1, max_size=2))
    given_now = valid | {one: data.draw(spoilt(valid[one]), label=one) for one in sorted(chosen)}
    try:
        found = function(**given_now)
        if name in ("batches", "windows"):
            found = next(iter(found))
    except (ValueError, TypeError) as error:
        said = str(error)
        named = set(re.findall(r"\w+", said)) & set(valid)
        assert named, f"names no argument: {said}"
    else:
        assert sound(found) or not tame(given_now), f"nan from {given_now}"
        if name in HOLDS and tame(given_now):
            assert HOLDS[name](found, given_now), f"{found} from {given_now}"


@pytest.mark.parametrize("name", CALLS)
def test_what_is_valid_is_taken(name):
    function, valid = CALLS[name]
    found = function(**valid)
    assert sound(found)
    assert name not in HOLDS or HOLDS[name](found, valid)


def test_what_holds_is_said_of_calls_that_are_made():
    assert HOLDS.keys() <= CALLS.keys()
