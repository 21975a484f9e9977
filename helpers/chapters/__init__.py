"""What each chapter owns, a folder a chapter; what all of it comes to, read from its manifest.

A folder ``chNN_subject`` belongs to ``notebooks/NN_subject.ipynb``. Its ``chapter.toml`` says what
pages, plans and tests need to know of the chapter; ``figures``, ``corrections``, ``exercises`` and
``lab`` are modules, each of them only where there is something to put in it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

from helpers.corrections import Correction
from helpers.exercises import CHECKS

FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Section:
    """One section of a chapter: its topics, and what a teacher does with it, in minutes.

    one: minutes in a single lecture; two: which of two lectures, and minutes; None where the
    section is left to reading at home. vote, show: a prediction put to the class, in words of its
    question, and an explorer, by its title. do: what the class does by hand. move: figures that the
    page computes itself, by their titles. exercises: number to minutes, of those that rest on this
    section. topics, corrections: what the section is about, and the slugs of corrections that rest
    on it. terms: the field's usual names, by which search leads to this section first.
    """

    heading: str
    one: int | None = None
    two: tuple[int, int] | None = None
    vote: str = ""
    show: str = ""
    do: str = ""
    move: tuple[str, ...] = ()
    exercises: Mapping[int, int] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One chapter, as its ``chapter.toml`` describes it.

    short: its title in a word or two, for the picture of what needs what. card: the cell whose
    figure stands for the chapter where its address is posted. needs: the numbers of earlier
    chapters it builds on, each with what for. parts: of the machine map, those that lead to this
    chapter on the first page. widgets: figures that play in the page, each with the id of the cell
    that it follows. headlines: a number or two, and how far another machine may be from them, as
    ``book/headlines.py`` reads them. overview: it shows the whole before the chapters take it to
    pieces; it has no exercises, no laboratory, and no plan for a lecture.
    """

    folder: Path
    number: int
    title: str
    short: str
    question: str
    card: str
    needs: Mapping[int, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    widgets: tuple[Mapping[str, str], ...] = ()
    headlines: tuple[Mapping[str, Any], ...] = ()
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


def _section(section: dict[str, Any]) -> Section:
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in section.items()}
    minutes = {int(n): minutes for n, minutes in section.get("exercises", {}).items()}
    return Section(**plain | {"exercises": minutes})


def read(folder: Path) -> Chapter:
    """Read the manifest of one folder. Raises: TypeError for a key that no chapter has."""
    data = tomllib.loads((folder / "chapter.toml").read_text("utf-8"))
    sections = tuple(map(_section, data.pop("sections", ())))
    return Chapter(
        folder=folder,
        number=int(folder.name[2:4]),
        needs={int(n): why for n, why in data.pop("needs", {}).items()},
        parts=tuple(data.pop("parts", ())),
        widgets=tuple(data.pop("widgets", ())),
        headlines=tuple(data.pop("headlines", ())),
        sections=sections,
        **data,
    )


CHAPTERS = tuple(read(file.parent) for file in sorted(FOLDER.glob("ch*/chapter.toml")))
BY_NUMBER = {chapter.number: chapter for chapter in CHAPTERS}
TAUGHT = tuple(chapter for chapter in CHAPTERS if not chapter.overview)  # with exercises and plans


@cache
def corrections() -> tuple[Correction, ...]:
    """The corrections of all chapters, in the order of the book."""
    modules = (chapter.module("corrections") for chapter in CHAPTERS)
    return tuple(found for module in modules if module for found in module.CORRECTIONS)


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
