"""Which section of the book an exercise rests on: what feedback tells a student to read again.

It stands in book/lecture.yml, where each section of a chapter lists the exercises that rest on it.
"""

from dataclasses import dataclass
from functools import cache

import yaml
from docutils.nodes import make_id

from homework.assignment import ROOT, chapter_file


@dataclass(frozen=True)
class Section:
    """A section of a chapter: its heading, and the address of that heading on the site."""

    title: str
    url: str


def section(task: str, site: str = "") -> Section | None:
    """The section on which a task such as "05.1" rests; None for a task that the book has not.

    The address begins with that of the site: the one given, or the `html: baseurl` of _config.yml;
    without either it is relative to the site's first folder.
    """
    title = _headings().get(task)
    if title is None:
        return None
    base = (site or _baseurl()).rstrip("/")
    page = f"notebooks/{chapter_file(task[:2]).stem}.html#{make_id(title)}"
    return Section(title, f"{base}/{page}" if base else page)


@cache
def _headings() -> dict[str, str]:
    """The heading of each task's section, by the task's name."""
    plans = yaml.safe_load((ROOT / "book" / "lecture.yml").read_text("utf-8"))["chapters"]
    return {
        f"{chapter:02d}.{number}": part["section"]
        for chapter, plan in plans.items()
        for part in plan
        for number in part.get("exercises", {})
    }


@cache
def _baseurl() -> str:
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    return config.get("html", {}).get("baseurl") or ""
