"""Checks for chapter 02, similarity geometry."""

import numpy as np
from jaxtyping import Float

from helpers import exercises as ex
from helpers.exercises import check as check

NAMES = ("brook", "river", "pond", "lake", "sand")
POINTS = np.array([[2.0, 1.0], [8.0, 6.0], [4.0, 4.0], [-1.0, 5.0], [-3.0, -4.0]])
Given = Float[np.ndarray, "3 3"]


def _unit(x: Float[np.ndarray, "N C"], axis: int = 1) -> Float[np.ndarray, "N C"]:
    return x / np.linalg.norm(x, axis=axis, keepdims=True)


def _lengths(x):
    return np.linalg.norm(x, axis=1, keepdims=True)


def _gram(x):
    return x @ x.T


def _queries():
    for seed, (n, width) in enumerate(((6, 3), (4, 9))):
        rng = np.random.default_rng(seed)
        yield 3 * rng.standard_normal(width), rng.standard_normal((n, width))


def _cosines(query, table):
    return _unit(table) @ query / np.linalg.norm(query)


def _not_cosines(found, query, table) -> str:
    if np.abs(found).max() > 1 + 1e-9:
        return f"No cosine is larger than 1 in size; yours goes up to {np.abs(found).max():.2f}."
    return "The shape is right, the numbers are not."


ex.near_misses(
    "02.1",
    _cosines,
    _queries(),
    {
        "These are dot products: both lengths are still in them.": lambda q, t: t @ q,
        "The lengths of the rows were not divided out.": lambda q, t: t @ q / np.linalg.norm(q),
        "The length of the query was not divided out: the order is right, the size is not.": (
            lambda q, t: _unit(t) @ q
        ),
        "The squares of the lengths were divided by, not the lengths.": (
            lambda q, t: _cosines(q, t) / np.linalg.norm(t, axis=1) / np.linalg.norm(q)
        ),
        "This is one less the cosine: a distance, small where vectors are alike.": (
            lambda q, t: 1 - _cosines(q, t)
        ),
        "These are the angles themselves.": lambda q, t: np.arccos(_cosines(q, t)),
        "One length was taken for the whole table; each row has its own. Mind the axis.": (
            lambda q, t: t @ q / np.linalg.norm(t) / np.linalg.norm(q)
        ),
    },
    _not_cosines,
    numpy=True,
)


def _dot_products():
    """Of rows, and of three vectors of which two are alike but for rounding."""
    rows = np.random.default_rng(3).standard_normal((5, 3))
    more = np.nextafter(2.0, 3.0)  # a dot product larger than both squares
    return [
        (rows @ rows.T,),
        (np.array([[2.0, more, 0.0], [more, 2.0, 0.0], [0.0, 0.0, 3.0]]),),
    ]


def _squares(dots, times: float = -2.0):
    return np.diag(dots)[:, None] + np.diag(dots) + times * dots


def _distances(dots, times: float = -2.0):
    return np.sqrt(_squares(dots, times).clip(min=0))


def _not_distances(found, dots) -> str:
    if not np.allclose(np.diag(found), 0, atol=1e-6):
        return "A vector has distance 0 from itself; your diagonal is not 0."
    return "The shape is right, the numbers are not."


ex.near_misses(
    "02.2",
    _distances,
    _dot_products(),
    {
        "There is a nan: rounding made a square slightly negative for two vectors that are almost "
        "equal.": lambda d: np.sqrt(_squares(d)),
        "These are squared distances; one step is left.": _squares,
        "Check the identity: how often does the dot product come in it?": (
            lambda d: _distances(d, -1)
        ),
        "This is the length of the sum of two vectors. Look at the sign of the middle term.": (
            lambda d: _distances(d, 2)
        ),
        "The sign is off: a distance is never negative.": lambda d: -_distances(d),
        "The diagonal holds squared lengths already: no root is to be taken of it.": (
            lambda d: np.sqrt((np.diag(d)[:, None] ** 0.5 + np.diag(d) ** 0.5 - 2 * d).clip(min=0))
        ),
    },
    _not_distances,
    tolerance=2e-3,  # float32 loses half of its digits here
)


BUGS = {
    "Ada": ("divided by one length only", lambda x: x @ x.T / _lengths(x)),
    "Ben": ("columns made length 1, not rows", lambda x: _gram(_unit(x, axis=0))),
    "Cleo": ("divided by squared lengths", lambda x: _gram(x / _lengths(x) ** 2)),
    "Dan": ("centred the rows' cloud first", lambda x: _gram(_unit(x - x.mean(axis=0)))),
}
which_bug = ex.diagnosis(
    "02.3",
    BUGS,
    "Make each mistake on purpose and compare.",
    [np.array([[2.0, 1.0, 0.0], [1.0, -1.0, 3.0], [0.0, 2.0, 1.0]])],
    lambda rng: [rng.permuted([[2.0, 1.0, 0.0], [1.0, -1.0, 3.0], [0.0, 2.0, -2.0]], axis=1)],
)


@ex.exercise("02.4")
def _three_winners(answer) -> None:
    query = ex.array(answer, (2,), "The place (x, y)")
    if np.abs(query).max() > 11.5:
        raise ex.Wrong(
            "This place is outside the map, which ends at 11.5 to each side. "
            "(x, y) is asked for, not angle and length."
        )
    if not np.linalg.norm(query) > 0:
        raise ex.Wrong("The origin has no direction, so cosine cannot name anything there.")
    dots, lengths = POINTS @ query, np.linalg.norm(POINTS, axis=1)
    by_measure = {
        "dot": dots,
        "cosine": dots / lengths,
        "Euclid": dots - lengths**2 / 2,
    }
    for measure, likeness in by_measure.items():
        first, second = np.sort(likeness)[:-3:-1]
        if first - second < 1e-9 * np.abs(likeness).max():
            raise ex.Wrong(f"By {measure} two words are level here. Step off the border.")
    named = {measure: NAMES[int(x.argmax())] for measure, x in by_measure.items()}
    said = ", ".join(f"{word} by {measure}" for measure, word in named.items())
    if len(set(named.values())) < 3:
        raise ex.Wrong(f"Here the measures name {said}: not three different words.")
    if "pond" in named.values():
        raise ex.Wrong(f"Three different words, but pond is one of them: {said}.")


@ex.exercise("02.5")
def _push(answer) -> None:
    request = "Give a tuple of two: the rows, and the vector that is subtracted."
    rows, push = map(ex.numbers, ex.unpacked(answer, 2, request))
    if rows.ndim != 2 or len(rows) < 3:
        raise ex.Wrong(f"rows should have shape (N, C) with at least three rows, not {rows.shape}.")
    if push.shape != rows.shape[1:]:
        raise ex.Wrong(f"c should have shape {rows.shape[1:]}, it has {push.shape}.")
    if not (np.isfinite(rows).all() and np.isfinite(push).all()):
        raise ex.Wrong("All numbers should be finite.")
    if not push.any():
        raise ex.Wrong("c is zero: nothing is subtracted.")
    before, after = (_nearest_to_first(x) for x in (rows, rows - push))
    if before == after:
        raise ex.Wrong(
            f"Row {before} is nearest to row 0 before and after. Move the origin closer."
        )


def _nearest_to_first(rows: Float[np.ndarray, "N C"]) -> int:
    lengths = np.linalg.norm(rows, axis=1)
    if (lengths <= 1e-9 * lengths.max()).any():
        raise ex.Wrong("A row of zeros, before or after, has no direction and so no cosine.")
    cosines = (rows[1:] @ rows[0]) / lengths[1:] / lengths[0]
    first, second = np.sort(cosines)[:-3:-1]
    if first - second < 1e-9:
        raise ex.Wrong("Two rows are equally near to row 0, before or after: no one is nearest.")
    return int(cosines.argmax()) + 1


ex.explanation(
    "02.6",
    "With two numbers, subtracting the mean and dividing by the deviation leaves only the sign "
    "of x − y, so any data, random points too, fall into the same two places. The two clumps "
    "are made by LayerNorm in two dimensions and say nothing about species.",
    "Of two numbers LayerNorm keeps only which one is larger.",
    "Any other data, random points too, would fall into the same two places.",
    "So the two places are made by LayerNorm and say nothing about species.",
)

ex.spoken(
    "02.3",
    "How did you tell your second student from your third?",
    "A property that one matrix has: ones on the diagonal, symmetry, columns of length 1.",
)
