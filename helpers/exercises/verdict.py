"""What a check says: not yet, not right because of something, or right.

The judges are in the chapters' ``exercises.py``; most are tables (see near_misses.py).
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Num

from helpers.exercises.answers import NotSerialisable, to_plain
from helpers.exercises.values import NOBODY, mine

CHECKS: dict[str, Callable] = {}
EXPLANATIONS: dict[str, "Explanation"] = {}
LARGEST = 1e50  # of an answer's numbers; products of a few of them are still finite
FILL_IN = "Fill in the cell above, then run it and this one again."
ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)  # of an object, as Python shows it
WORD = re.compile("[\u3040-\u9fff\uac00-\ud7af]|[^\\s\u3040-\u9fff\uac00-\ud7af]+")
MIN_WORDS = 8  # that are taken for an explanation; those of Chinese and Japanese have no spaces
WRITE = (
    "Write a sentence or two into the cell above, then run it and this one again. Nothing judges "
    "your words: you will see a good answer and what it says, to tick for yourself."
)


class NotYet(Exception):
    """There is no answer to judge yet."""


class Wrong(Exception):
    """The answer is not right; the message says what is wrong without giving the answer."""


class NotRight(AssertionError):
    """A check that is held to be right and is not; a notebook shows its message alone."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check: ``state`` is "Not yet", "Not right" or "Right"."""

    state: str
    message: str = ""

    def __repr__(self) -> str:
        return f"{self.state}. {self.message}".strip()

    def hold(self) -> "Verdict":
        """Itself, if it is "Right"; in graded notebooks, where a check that fails has to raise.

        Raises: NotRight (an AssertionError) otherwise, shown in one line.
        """
        if self.state != "Right":
            raise NotRight(repr(self))
        return self

    def _repr_html_(self) -> str:
        kind = self.state.lower().replace(" ", "-")
        return (
            f'<p class="verdict verdict-{kind}"><b>{self.state}.</b> '
            f"{html.escape(self.message, quote=False)}</p>"
        )


@dataclass(frozen=True)
class Explanation:
    """What is put beside a reader's own words: a good answer, and what it says, to be ticked."""

    name: str
    model: str
    points: tuple[str, ...]

    def __repr__(self) -> str:
        ticks = "\n".join(f"[ ] {point}" for point in self.points)
        return f"A good answer: {self.model}\n\nTick what yours says, too:\n{ticks}"

    def _repr_html_(self) -> str:
        model, *points = (html.escape(text, quote=False) for text in (self.model, *self.points))
        ticks = "".join(
            f'<li><label><input type="checkbox"> {point}</label></li>' for point in points
        )
        return (
            f'<div class="verdict model_{self.name.replace(".", "_")}">'
            f"<p><b>A good answer.</b> {model}</p>"
            f'<p>Tick what yours says, too:</p><ul class="points">{ticks}</ul></div>'
        )


def explanation(name: str, model: str, *points: str) -> None:
    """Register an exercise that is answered in words, which nothing judges.

    model: a good answer; nowhere else does it stand. points: three or four things that it says;
    in homework a person marks, a point for each.
    """
    EXPLANATIONS[name] = Explanation(name, model, points)


def exercise(name: str) -> Callable:
    """Register a check under the exercise's name, such as "05.1".

    The check takes the reader's answer, returns nothing when it is right, and raises ``Wrong``
    or ``NotYet`` otherwise.
    """

    def register(judge: Callable) -> Callable:
        CHECKS[name] = judge
        return judge

    return register


def check(
    name: str, answer: object = None, *, solution: bool = False, course: str = ""
) -> Verdict | Explanation:
    """Judge an answer to the exercise ``name``; never raises for a wrong or broken answer.

    Words are not judged: whoever has written some sees a good answer to compare them with. With
    ``solution`` a verdict says that it is of the book's solution, not of the reader's. With a
    ``course`` it is by the student's own values, once `numbers_of` has drawn them.

    Raises: ValueError when there is no exercise of that name.
    """
    if registered := EXPLANATIONS.get(name):
        is_written = isinstance(answer, str) and len(WORD.findall(answer)) >= MIN_WORDS
        return registered if solution or is_written else Verdict("Not yet", WRITE)
    if name not in CHECKS:
        known = sorted([*CHECKS, *EXPLANATIONS])
        raise ValueError(f"name must be one of {known}, got {name!r}")
    own = {} if solution else mine(name, course)
    if own is None:
        return Verdict("Not yet", NOBODY)
    verdict = judged(partial(CHECKS[name], **own), answer)
    if solution and verdict.state == "Right":
        return Verdict("Right", "This is the book's solution.")
    return verdict


def judged(judge: Callable[[object], None], answer: object) -> Verdict:
    """What a judge says of an answer made plain; what it raises on the way is a verdict, too."""
    try:
        answer = to_plain(answer)
        if _empty(answer):
            raise NotYet
        judge(answer)
    except NotYet as open_question:
        return Verdict("Not yet", str(open_question) or FILL_IN)
    except (Wrong, NotSerialisable) as wrong:
        return Verdict("Not right", without_addresses(str(wrong)))
    except Exception as error:
        what = without_addresses(f"{type(error).__name__}: {error}")
        return Verdict(
            "Not right",
            f"The check could not use this answer ({what}). "
            "Does it have the form that the exercise asks for?",
        )
    return Verdict("Right")


def without_addresses(message: str) -> str:
    """A message in which no object is shown with its place in memory, which tells nobody a thing.

    It is another in each run, so that a notebook's message and the grader's would differ.
    """
    return ADDRESS.sub("", message)


def call(function: object, *arguments: object) -> Any:
    """Call the reader's function; nothing returned is "not yet", an error is not right."""
    if not callable(function):
        raise Wrong(f"A function is asked for, this is {type(function).__name__}.")
    try:
        value = function(*arguments)
    except NotImplementedError:
        raise NotYet from None
    except NotSerialisable:
        raise
    except Exception as error:
        raise Wrong(f"Your function raised {type(error).__name__}: {error}") from error
    if value is None:
        raise NotYet("Your function gives nothing back. Does it return its result?")
    if _empty(value):
        raise NotYet
    return value


def within(function: Any, look: str, *arguments: object) -> Any:
    """What a function of `inside` says of the reader's, where that lives; else as `call`."""
    return call(partial(function.inside, look) if callable(function) else function, *arguments)


def changes(function: Any, *arguments: object) -> bool:
    """Whether the reader's function, called once more, changes an array or list that it is given.

    Homework calls it in another process, and compares here what comes back of the arguments.
    """
    after = function.inside("arguments_after", *arguments)
    pairs = zip(_single(arguments), _single(after), strict=True)
    return any(isinstance(a, list | np.ndarray) and not np.array_equal(a, b) for a, b in pairs)


def _single(parts: Iterable) -> Iterator[Any]:
    """The parts, with those of tuples one by one."""
    for part in parts:
        yield from _single(part) if isinstance(part, tuple) else (part,)


def numbers(value: Any) -> Float[np.ndarray, "..."]:
    """Whatever array, tensor or list the reader gave, as float64 NumPy of the same shape.

    Raises: Wrong where it holds anything else than real numbers, such as the text "40".
    """
    if hasattr(value, "detach"):  # a tensor of PyTorch, which need not be loaded for this
        value = value.detach().cpu()
        value = (value if value.is_complex() else value.double()).numpy()
    found = np.asarray(value)
    if found.dtype.kind not in "biufO":  # whole numbers above 2**64 are objects to NumPy
        kind = "complex numbers" if found.dtype.kind == "c" else "something else"
        raise Wrong(f"Real numbers are asked for, yours holds {kind}.")
    return found.astype(np.float64)


def array(value: object, shape: tuple[int, ...], what: str) -> Float[np.ndarray, "..."]:
    """The value as float64, after holding it to the shape that is expected."""
    found = numbers(value)
    if found.shape != shape:
        raise Wrong(f"{what} should have shape {shape}, yours has {found.shape}.")
    if not np.isfinite(found).all():
        raise Wrong(f"{what} should hold finite numbers only, yours holds nan or inf.")
    if np.abs(found).max(initial=0.0) > LARGEST:
        raise Wrong(f"{what} holds numbers so large that what is computed from them overflows.")
    return found


def unpacked(answer: Any, count: int, request: str) -> Any:
    """The parts of a tuple, a list or an array, after holding it to how many are asked for."""
    is_row = isinstance(answer, tuple | list) or getattr(answer, "ndim", 0) > 0
    if not is_row or len(answer) != count:
        raise Wrong(request)
    return answer


def close(
    value: Num[np.ndarray, "..."] | float,
    expected: Num[np.ndarray, "..."] | float,
    tolerance: float = 1e-6,
) -> bool:
    """Whether every entry is within the tolerance, absolute and relative."""
    return bool(np.allclose(value, expected, rtol=tolerance, atol=tolerance))


def _empty(value) -> bool:
    if value is None or value is Ellipsis:
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, tuple | list | dict) and (
        len(value) == 0 or any(part is None or part is Ellipsis for part in _parts(value))
    )


def _parts(value):
    return value.values() if isinstance(value, dict) else value
