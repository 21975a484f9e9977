"""Which section of the book an exercise rests on: what feedback tells a student to read again."""

from dataclasses import dataclass

from docutils.nodes import make_id

from helpers.chapters import CHAPTERS


@dataclass(frozen=True)
class Section:
    """A section of a chapter: its heading, and the address of that heading on the site."""

    title: str
    url: str


def section(task: str, site: str = "") -> Section | None:
    """The section on which a task such as "05.1" rests; None for a task that the book has not.

    The address begins with that of the site; without one it is relative to the site's first folder.
    """
    for chapter in CHAPTERS:
        for part in chapter.sections:
            if task in {f"{chapter.number:02d}.{number}" for number in part.exercises}:
                page = f"{chapter.docname}.html#{make_id(part.heading)}"
                return Section(part.heading, f"{site.rstrip('/')}/{page}" if site else page)
    return None
