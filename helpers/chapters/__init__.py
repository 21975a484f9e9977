"""The chapters, a folder for each, and what their manifests say.

A folder ``chNN_subject`` belongs to ``notebooks/NN_subject.ipynb``. Its ``chapter.toml`` says what
the site needs to know of the chapter; ``figures``, ``corrections``, ``exercises`` and ``lab``
are modules, each only where there is something to put in it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

from helpers.corrections import CORRECTIONS, Correction
from helpers.exercises import CHECKS

FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Section:
    """One section of a chapter.

    topics: what it is about, for the page of topics and for search. terms: the field's usual names,
    by which search leads to this section first. exercises: numbers of those that rest on it.
    """

    heading: str
    topics: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    exercises: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One chapter, as its ``chapter.toml`` describes it.

    parts: of the machine map, those that lead to this chapter on the first page. widgets: figures
    that play in the page, each with the id of the cell that it follows, and how many paragraphs
    come between. overview: shows the whole before the chapters take it apart, without exercises and
    without a laboratory.
    """

    folder: Path
    number: int
    title: str
    question: str
    parts: tuple[str, ...] = ()
    widgets: tuple[Mapping[str, str], ...] = ()
    overview: bool = False
    sections: tuple[Section, ...] = ()

    @property
    def stem(self) -> str:
        """The notebook's name without its ending, such as "05_attention_by_hand"."""
        return self.folder.name.removeprefix("ch")

    @property
    def docname(self) -> str:
        """The name by which Sphinx knows the notebook."""
        return f"notebooks/{self.stem}"

    def module(self, name: str) -> ModuleType | None:
        """Import what the chapter has of ``figures``, ``corrections``, ``exercises``, ``lab``.

        Gives None where it has no such module.
        """
        full = f"{__name__}.{self.folder.name}.{name}"
        return import_module(full) if util.find_spec(full) else None


def read(folder: Path) -> Chapter:
    """Read the manifest of one folder. Raises: TypeError for a key that no chapter has."""
    data = tomllib.loads((folder / "chapter.toml").read_text("utf-8"))
    tables = data.pop("sections", ())
    sections = tuple(Section(**{k: _frozen(v) for k, v in table.items()}) for table in tables)
    plain = {key: _frozen(value) for key, value in data.items()}
    return Chapter(folder=folder, number=int(folder.name[2:4]), sections=sections, **plain)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


CHAPTERS = tuple(read(file.parent) for file in sorted(FOLDER.glob("ch*/chapter.toml")))
BY_NUMBER = {chapter.number: chapter for chapter in CHAPTERS}
TAUGHT = tuple(chapter for chapter in CHAPTERS if not chapter.overview)  # with exercises


def built_before(number: int) -> list[str]:
    """The parts of the machine map that the chapters before this one built."""
    return [part for one in CHAPTERS if one.number < number for part in one.parts]


@cache
def corrections() -> tuple[Correction, ...]:
    """The corrections of all chapters, in the order of the book."""
    for chapter in CHAPTERS:
        chapter.module("corrections")
    return tuple(sorted(CORRECTIONS, key=lambda correction: correction.chapter))


@cache
def judges() -> Mapping[str, Callable[[object], None]]:
    """The judges of all chapters' exercises, by name such as "05.1"."""
    for chapter in CHAPTERS:
        chapter.module("exercises")
    return dict(sorted(CHECKS.items()))


@cache
def stored(number: int) -> dict[str, dict]:
    """What was measured for a chapter by ``benchmarks/chapters.py``, part by part; read once.

    Raises: ValueError for a chapter of which nothing is stored.
    """
    file = FOLDER.parent / "data" / "results" / f"{BY_NUMBER[number].stem}.json"
    if not file.exists():
        raise ValueError(f"number={number}: nothing is stored for this chapter, there is no {file}")
    return json.loads(file.read_text("utf-8"))
