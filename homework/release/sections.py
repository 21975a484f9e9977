"""Which section of the book an exercise rests on: what feedback tells a student to read again."""

from dataclasses import dataclass
from functools import cache

import yaml
from docutils.nodes import make_id

from helpers.chapters import CHAPTERS
from homework.release.assignment import ROOT


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
    for chapter in CHAPTERS:
        for part in chapter.sections:
            if task in {f"{chapter.number:02d}.{number}" for number in part.exercises}:
                base = (site or _baseurl()).rstrip("/")
                page = f"{chapter.docname}.html#{make_id(part.heading)}"
                return Section(part.heading, f"{base}/{page}" if base else page)
    return None


@cache
def _baseurl() -> str:
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    return config.get("html", {}).get("baseurl") or ""
