"""Exercises as tables: the right answer, and the wrong ones that learners write on the way to it.

A table registered here is the judge of its exercise; tests hold it to its own entries.
"""

import copy
import inspect
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any

import numpy as np

from helpers.exercises.values import mine, values
from helpers.exercises.verdict import (
    NotYet,
    Wrong,
    array,
    call,
    changes,
    close,
    exercise,
    numbers,
)

Reply = str | Callable[..., str]
KEYS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "√": "sqrt", "ε": "eps"})


@dataclass(frozen=True)
class NearMisses:
    """The judge of an exercise that asks for a function; see `near_misses`.

    what: name of the output; a tuple where there are several, as `otherwise` may be then. prefix:
    what each reply begins with. tolerance: absolute and relative. run: how a function is called
    with a case. unchanged: the reply to a function that changes its arguments, "" where it may.
    numpy: whether the question asks for NumPy, so that homework notes where a code names PyTorch.
    """

    right: Callable
    cases: list[tuple]
    replies: dict[str, Any]
    otherwise: Reply | tuple[Reply, ...] = "The shape is right, the numbers are not."
    what: str | tuple[str, ...] = "The result"
    tolerance: float = 1e-5
    run: Callable = call
    unchanged: str = "Your function changes what it is given. Work on a copy."
    prefix: str = ""
    numpy: bool = False

    def __call__(self, answer: Any) -> None:
        """Judge an answer."""
        for case in self.cases:
            found = self._outputs(answer, case)
            if self.unchanged and self._changes(answer, case):
                raise Wrong(self.unchanged)
            right = self._outputs(self.right, case)
            for at, pair in enumerate(zip(found, right, strict=True)):
                if not _same(*pair, self.tolerance):
                    self._explain(answer, found, right, case, at)

    def wrong_functions(self, reply: str) -> tuple[Callable, ...]:
        """The functions that get this reply."""
        return _as_tuple(self.replies[reply])

    def _changes(self, answer: Any, case: tuple) -> bool:
        """Whether an answer changes an array or a list that it is given for a case."""
        found = []

        def noted(*given: Any) -> Any:
            found.append(changes(answer, *copy.deepcopy(given)))
            return answer(*given)

        self.run(noted, *copy.deepcopy(case))
        return any(found)

    def _outputs(self, function: Callable, case: tuple) -> list[np.ndarray]:
        """What a function gives for a case, part by part."""
        value = self.run(function, *copy.deepcopy(case))
        return [numbers(part) for part in ((value,) if isinstance(self.what, str) else value)]

    def _explain(self, answer, found, right, case: tuple, at: int) -> None:
        """Say which wrong function agrees with the answer in all cases, or in this one."""
        signature = inspect.signature(self.right if self.run is call else self.run)
        names = list(signature.parameters)[self.run is not call :]
        known = dict(zip(names, case, strict=False)) | {"found": found[at], "right": right[at]}
        for given in ([*self._up_to_the_first_fault(answer)], [(case, found[: at + 1])]):
            for reply in self.replies:
                for wrong in self.wrong_functions(reply):
                    if all(self._agrees(wrong, *one) for one in given):
                        raise Wrong((self.prefix + reply).format(**known))
        what = self.what if isinstance(self.what, str) else self.what[at]
        array(found[at], right[at].shape, what.format(**known))
        other = self.otherwise[at] if isinstance(self.otherwise, tuple) else self.otherwise
        if callable(other):
            raise Wrong(other(found[at], *case))
        raise Wrong((self.prefix + other).format(**known))

    def _up_to_the_first_fault(self, answer: Any) -> Iterator[tuple[tuple, list[np.ndarray]]]:
        """Each case that the answer takes, with its outputs up to the first that is wrong."""
        for case in self.cases:
            with suppress(Wrong, NotYet):
                found, right = self._outputs(answer, case), self._outputs(self.right, case)
                same = [_same(*pair, self.tolerance) for pair in zip(found, right, strict=True)]
                yield case, found[: [*same, False].index(False) + 1]

    def _agrees(self, wrong: Callable, case: tuple, found: list[np.ndarray]) -> bool:
        try:
            with np.errstate(all="ignore"):
                made = self._outputs(wrong, case)
        except Wrong:  # it raises for this case
            return False
        return all(
            _same(*pair, min(self.tolerance, 1e-5)) for pair in zip(found, made, strict=False)
        )


def near_misses(
    name: str,
    right: Callable,
    cases: Iterable[tuple],
    replies: dict[str, Any],
    otherwise: Reply | tuple[Reply, ...] = NearMisses.otherwise,
    **options: Any,
) -> None:
    """Register an exercise that asks for a function, with the wrong ones that people write.

    right: the reference. cases: tuples of arguments. replies: from the reply to the wrong function
    (or functions) that get it; an answer is given the first reply whose function agrees with it in
    all cases, or else where it first differs from the reference. otherwise: the reply to all
    others, or a function of the output and the arguments that gives it. options: fields of
    `NearMisses`.
    In replies and names, {found}, {right} and the arguments' names are filled in.
    """
    exercise(name)(NearMisses(right, list(cases), replies, otherwise, **options))


@dataclass(frozen=True)
class NumericNearMisses:
    """The judge of an exercise that asks for a number; see `numeric_near_misses`."""

    right: float
    effect: Callable[[float], float]
    within: tuple[float, float]
    replies: dict[str, Any]
    otherwise: Reply
    what: str
    positive: str
    table: Callable[..., dict] | None = None

    def __call__(self, answer: object, **own: Any) -> None:
        """Judge an answer, with the values of a student's own question or with the book's."""
        if own and self.table is not None:
            return NumericNearMisses(**self.table(**own))(answer)
        given = numbers(answer)
        value = float(array(given.reshape(()) if given.size == 1 else given, (), self.what))
        if value <= 0:
            raise Wrong(self.positive)
        effect = self.effect(value)
        if self.within[0] <= effect <= self.within[1]:
            return
        for reply, wrong in self.replies.items():
            if any(close(value / number, 1, 1e-2) for number in _as_tuple(wrong)):
                raise Wrong(reply.format(effect=effect))
        text = self.otherwise(effect) if callable(self.otherwise) else self.otherwise
        raise Wrong(text.format(effect=effect))


def numeric_near_misses(
    name: str, table: Callable[..., dict], draw: Callable, *texts: str, **book: Any
) -> None:
    """Register an exercise that asks for a positive number with a given effect.

    table: from the question's values to a dict of these. right: one such number. within: the
    effects that are right, both ends included. replies: from the reply to the wrong number (or
    numbers) that get it, within a percent. otherwise: the reply to all others, or a function of
    the effect. what: its name. positive: the reply to one that is not. In replies, {effect} is
    filled in. draw, texts, book: as for `values`.
    """
    exercise(name)(NumericNearMisses(**table(**book), table=table))
    values(name, draw, lambda **own: table(**own)["right"], *texts, **book)


@dataclass(frozen=True)
class Diagnosis:
    """The judge of an exercise that asks which student made which mistake; see `diagnosis`."""

    bugs: dict[str, str]
    advice: str

    def of(self, order: Sequence[int] = range(4), seed: int = 0) -> dict[str, str]:
        """The right answer, where the mistakes come in another order."""
        names = [*self.bugs.values()]
        return {student: names[at] for student, at in zip(self.bugs, order, strict=True)}

    def __call__(self, answer: object, **own: Any) -> None:
        """Judge an answer, with the values of a student's own question or with the book's."""
        bugs = self.of(**own)
        if not isinstance(answer, dict) or set(answer) != set(bugs):
            raise Wrong(f"Give a dictionary with an entry for each of {', '.join(bugs)}.")
        still_open = [name for name in bugs if not str(answer[name]).strip()]
        if len(still_open) == len(bugs):
            raise NotYet
        if still_open:
            raise Wrong(f"Still open: {', '.join(still_open)}.")
        listed = {as_typed(bug) for bug in bugs.values()}
        unknown = sorted(str(bug) for bug in answer.values() if as_typed(bug) not in listed)
        if unknown:
            raise Wrong(f"{unknown[0]!r} is not one of the {len(bugs)} mistakes on the list.")
        right = [name for name, bug in bugs.items() if as_typed(answer[name]) == as_typed(bug)]
        if len(right) < len(bugs):
            names = f" ({', '.join(right)})" if right else ""
            raise Wrong(f"{len(right)} of the {len(bugs)} are right{names}. {self.advice}")


APART = 0.02  # of the outputs of a drawn *Which bug is it?*, at some number: it can be seen


def diagnosis(
    name: str,
    bugs: Mapping[str, tuple[str, Callable]],
    advice: str,
    book: Sequence | int = (),
    draw: Callable[[np.random.Generator], Iterable] | None = None,
) -> Callable[[], Any]:
    """Register an exercise that asks for a dict from student to mistake.

    bugs: by student, a mistake and what it makes of what is given. book: what the book gives, or
    its seed.
    draw: what a student is given in its place; without it the mistakes alone change places.
    Returns: a function to what is given, if anything, and a dict of outputs by student.
    """
    judge = Diagnosis({student: bug for student, (bug, _) in bugs.items()}, advice)
    makers = [make for _, make in bugs.values()]

    def given(seed: int) -> tuple:
        if not (seed or isinstance(book, int)):
            return tuple(book)
        return tuple(draw(np.random.default_rng(seed or book)))  # type: ignore[misc]

    def drawn(rng: Random) -> dict[str, Any]:
        order, seed = rng.sample(range(len(bugs)), len(bugs)), 0
        while draw and not (seed and _apart([make(*given(seed)) for make in makers])):
            seed = rng.randrange(1, 10**6)
        return {"order": order, "seed": seed}

    def which_bug() -> Any:
        own = mine(name) or {"order": range(len(bugs)), "seed": 0}
        made = [makers[at](*given(own["seed"])) for at in own["order"]]
        outputs = dict(zip(bugs, made, strict=True))
        shown = copy.deepcopy(given(own["seed"]))
        return (*shown, outputs) if len(shown) else outputs

    exercise(name)(judge)
    values(name, drawn, judge.of)
    return which_bug


def _apart(outputs: list[np.ndarray]) -> bool:
    """Whether each of them shows a difference from each other, at some number."""
    pairs = [(a, b) for a, b in combinations(outputs, 2) if a.shape == b.shape]
    return all(np.abs(a - b).max() > APART for a, b in pairs)


def as_typed(name: object) -> str:
    """A name without capitals and spaces, and with the signs that a keyboard has."""
    return "".join(unicodedata.normalize("NFKC", str(name)).lower().translate(KEYS).split())


def _as_tuple(wrong: Any) -> tuple:
    return wrong if isinstance(wrong, tuple) else (wrong,)


def _same(found: np.ndarray, right: np.ndarray, tolerance: float) -> bool:
    """Whether shapes and entries agree, nan with nan."""
    return found.shape == right.shape and np.allclose(
        found, right, rtol=tolerance, atol=tolerance, equal_nan=True
    )
