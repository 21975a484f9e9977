"""Numbers of one's own: the values of an exercise's question, drawn for each student of a course.

A chapter declares them with `values`, beside the judge, which takes them by name and without them
judges by the book's. From the declaration come the question, the check that a student sees and the
homework's test. The site and the chapters have the book's values.
"""

import random
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any

from IPython.display import Markdown

VALUES: dict[str, "Values"] = {}
SPOKEN: dict[str, tuple[str, str]] = {}
NOBODY = (
    'Write your name or number between the quotes of student = "", as your course knows you, then '
    "run that cell and all below it again: some questions have numbers of your own."
)
_mine = {"course": "", "student": ""}


@dataclass(frozen=True)
class Values:
    """What an exercise draws: see `values`."""

    draw: Callable[[random.Random], dict[str, Any]]
    right: Callable[..., object]
    texts: tuple[str, ...]
    book: dict[str, Any]


def values(
    name: str, draw: Callable, right: Callable[..., object], *texts: str, **book: object
) -> None:
    """Declare that a student's question has values of its own.

    draw: from a `random.Random` to the values, a dict by name. right: from the values, by name, to
    a right answer. book: the book's values; the judge of that name has them as defaults. texts:
    phrases of the question with values in {braces}, which with the book's stand there once.
    """
    VALUES[name] = Values(draw, right, texts, book)


def spoken(name: str, question: str, listen_for: str) -> None:
    """Register what a teacher may ask aloud about a student's own numbers; once a chapter."""
    SPOKEN[name] = question, listen_for


def generator(*parts: str) -> random.Random:
    """A generator for a course and, where it draws for one, a student and an exercise."""
    return random.Random(int.from_bytes(sha256("/".join(parts).encode()).digest()[:8]))


def folded(student: str) -> str:
    """A student's name or number as it is compared: without case, accents and spaces."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", student).casefold())
    return "".join(c for c in text if not (c.isspace() or unicodedata.combining(c)))


@lru_cache(None)
def drawn(name: str, course: str, student: str) -> dict[str, Any]:
    """A student's values, with which the book's answer is wrong; none where they are the book's."""
    from helpers.exercises.verdict import CHECKS, judged  # which imports this module

    if not course or not student or name not in VALUES:
        return {}
    rng, values = generator(course, folded(student), name), VALUES[name]
    of_book = values.right(**values.book)
    while judged(partial(CHECKS[name], **(own := values.draw(rng))), of_book).state == "Right":
        pass
    return own


def mine(name: str, course: str = "") -> dict[str, Any] | None:
    """The values of whoever `numbers_of` named; None where it named none of the course."""
    known = _mine["student"] and course in ("", _mine["course"])
    if name in VALUES and (course or _mine["course"]) and not known:
        return None
    return drawn(name, **_mine)


def numbers_of(student: str, course: str) -> Markdown:
    """From now on questions and checks have the values of a student of a course, "" for no one."""
    _mine.update(course=course, student=folded(str(student)))
    return Markdown(f"The numbers are those of **{student}**." if _mine["student"] else NOBODY)


def question(name: str, text: str) -> Markdown:
    """An exercise's question with the values of whoever `numbers_of` named."""
    own = mine(name) if name in VALUES else None  # None: no judges yet
    return Markdown(NOBODY if own is None else filled(name, text, own))


def template(name: str, text: str) -> str:
    """The book's question with {names} in the place of its values.

    Raises: ValueError where a phrase that the exercise declares does not stand there once.
    """
    for phrase in VALUES[name].texts:
        known = phrase.format(**VALUES[name].book)
        if text.count(known) != 1:
            raise ValueError(f"{name}: the question has {known!r} {text.count(known)} times")
        text = text.replace(known, phrase)
    return text


def filled(name: str, text: str, own: dict[str, Any]) -> str:
    """A template with values, such as those that `drawn` gives."""
    for phrase in VALUES[name].texts:
        text = text.replace(phrase, phrase.format(**(own or VALUES[name].book)))
    return text
