"""What a check says: not yet, not right because of something, or right."""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Num

CHECKS: dict[str, Callable] = {}
LARGEST = 1e50  # of an answer's numbers; products of a few of them are still finite
FILL_IN = "Fill in the cell above, then run it and this one again."


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


def exercise(name: str) -> Callable:
    """Register a check under the exercise's name, such as "05.1".

    The check takes the reader's answer, returns nothing when it is right, and raises ``Wrong``
    or ``NotYet`` otherwise.
    """

    def register(judge: Callable) -> Callable:
        CHECKS[name] = judge
        return judge

    return register


def check(name: str, answer: object, *, solution: bool = False) -> Verdict:
    """Judge an answer to the exercise ``name``; never raises for a wrong or broken answer.

    With ``solution`` the verdict says that it is of the book's solution, not of the reader's.

    Raises: ValueError when there is no exercise of that name.
    """
    if name not in CHECKS:
        raise ValueError(f"name must be one of {sorted(CHECKS)}, got {name!r}")
    verdict = judged(CHECKS[name], answer)
    if solution and verdict.state == "Right":
        return Verdict("Right", "This is the book's solution.")
    return verdict


def judged(judge: Callable[[object], None], answer: object) -> Verdict:
    """What a judge says of an answer; whatever it raises on the way is a verdict, too."""
    try:
        if _empty(answer):
            raise NotYet
        judge(answer)
    except NotYet as open_question:
        return Verdict("Not yet", str(open_question) or FILL_IN)
    except Wrong as wrong:
        return Verdict("Not right", str(wrong))
    except Exception as error:
        return Verdict(
            "Not right",
            f"The check could not use this answer ({type(error).__name__}: {error}). "
            "Does it have the form that the exercise asks for?",
        )
    return Verdict("Right")


def call(function: object, *arguments: object) -> Any:
    """Call the reader's function; nothing returned is "not yet", an error is not right."""
    if not callable(function):
        raise Wrong(f"A function is asked for, this is {type(function).__name__}.")
    try:
        value = function(*arguments)
    except NotImplementedError:
        raise NotYet from None
    except Exception as error:
        raise Wrong(f"Your function raised {type(error).__name__}: {error}") from error
    if value is None:
        raise NotYet("Your function gives nothing back. Does it return its result?")
    if _empty(value):
        raise NotYet
    return value


def numbers(value: object) -> Float[np.ndarray, "..."]:
    """Whatever array, tensor or list the reader gave, as float64 NumPy of the same shape."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    return np.asarray(value, dtype=np.float64)


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


def close(
    value: Num[np.ndarray, "..."] | float,
    expected: Num[np.ndarray, "..."] | float,
    tolerance: float = 1e-6,
) -> bool:
    """Whether every entry is within the tolerance, absolute and relative."""
    return bool(np.allclose(value, expected, rtol=tolerance, atol=tolerance))


def diagnosed(answer: object, bugs: dict[str, str], advice: str) -> None:
    """Hold an assignment of mistakes to students to the right one, a dict from name to mistake.

    Raises: NotYet where nothing is filled in, otherwise Wrong with what is open, unknown or off.
    """
    if not isinstance(answer, dict) or set(answer) != set(bugs):
        raise Wrong(f"Give a dictionary with an entry for each of {', '.join(bugs)}.")
    still_open = [name for name in bugs if not str(answer[name]).strip()]
    if len(still_open) == len(bugs):
        raise NotYet
    if still_open:
        raise Wrong(f"Still open: {', '.join(still_open)}.")
    unknown = sorted({str(bug) for bug in answer.values()} - set(bugs.values()))
    if unknown:
        raise Wrong(f"{unknown[0]!r} is not one of the {len(bugs)} mistakes on the list.")
    right = [name for name, bug in bugs.items() if answer[name] == bug]
    if len(right) < len(bugs):
        names = f" ({', '.join(right)})" if right else ""
        raise Wrong(f"{len(right)} of the {len(bugs)} are right{names}. {advice}")


def explained(answer: object, rubric: dict[str, str]) -> None:
    """Hold a written explanation to a rubric: for each point, words any of which show it.

    A word list can tell that a point is missing, not that the reasoning is sound; the reader
    compares with the model answer, a teacher grades by hand.
    """
    if not isinstance(answer, str):
        raise Wrong(f"A text is asked for, this is {type(answer).__name__}.")
    if len(answer.split()) < 8:
        raise Wrong("Give one or two whole sentences.")
    for point, words in rubric.items():
        if not re.search(words, answer, flags=re.IGNORECASE):
            raise Wrong(
                f"These words do not seem to say yet {point}. If yours do, compare with the "
                "solution: this check only looks for words."
            )


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
