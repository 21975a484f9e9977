"""Whose a file's name says it is.

Names that are known: Canvas ("lovelaceada_LATE_12345_67890_05-1.ipynb": name, late or not, number
of the student, number of the file, its name; lib/content_zipper.rb of canvas-lms), Moodle ("Ada
Lovelace_1234_assignsubmission_file_" as a folder or before a file's name; mod/assign/locallib.php
of moodle), a folder for each student, and single files ("ada_05.ipynb", "Ada Lovelace - 05.ipynb").
"""

import re
from dataclasses import dataclass

from helpers.chapters import CHAPTERS
from homework.intake.archive import Entry

PLATFORMS = ("canvas", "moodle")
CANVAS = re.compile(
    r"(?:LATE_)?anon_(?P<anon>[A-Za-z0-9]{5})_(?P<anonfile>\d{1,18})_(?P<anonrest>.+)"
    r"|(?P<name>.+?)_(?:LATE_)?(?P<id>\d{1,18})_(?:(?P<file>\d{1,18})_(?P<rest>.+)"
    r"|(?P<online>text|link)\.html)",
    re.IGNORECASE | re.DOTALL,
)
MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<id>\d{1,18})_assignsubmission_(?P<kind>file|onlinetext)(?:_(?P<rest>.*))?",
    re.DOTALL,
)
COPY = re.compile(r"^\s*(copy of|kopie von|copie de|copia de)\s+", re.IGNORECASE)
AGAIN = re.compile(r"\s*\((?P<n>\d{1,6})\)$|[ _-]+copy(?: \d+)?$", re.IGNORECASE)
ABOUT_WORK = {  # words that speak of the work, not of who did it
    "ch", "chapter", "hw", "homework", "assignment", "exercise", "exercises", "submission",
    "submissions", "notebook", "lab", "week", "solution", "solutions", "final", "late", "untitled",
    "my", "copy", "v", "version", "hand", "handed", "in", "of", "for", "students", "problem", "set",
    "responses", "class",
}  # fmt: skip
# Names of the chapters' notebooks, with and without their numbers.
TITLES = tuple(title for one in CHAPTERS for title in (one.stem, one.stem[3:]))
ENDINGS = re.compile(
    r"(\.(ipynb|json|txt|zip|html?|pdf|py|docx?|md|png|jpe?g|rar|7z|tar|t?gz))+$", re.IGNORECASE
)


@dataclass(frozen=True)
class Who:
    """What a name says of whose it is: the scheme, what tells one from another, a name to show, the
    platform's number of the file, and whether it is a text typed on the platform.
    """

    scheme: str
    id: str
    name: str = ""
    number: int = 0
    online: bool = False


def whose(entry: Entry) -> Who:
    """What an entry's name says."""
    name = entry.name
    moodle, canvas = MOODLE.fullmatch(name), CANVAS.fullmatch(name)
    if moodle and canvas:  # the end of a name is the student's own: the first number counts
        at = canvas.start("anon") if canvas["anon"] else canvas.start("id")
        moodle = None if at < moodle.start("id") else moodle
    if found := moodle:
        return Who("moodle", found["id"], found["name"], online=found["kind"] == "onlinetext")
    if found := canvas:
        if found["anon"]:
            return Who("canvas", f"anon_{found['anon']}", "", int(found["anonfile"]))
        number, online = int(found["file"] or 0), bool(found["online"])
        return Who("canvas", found["id"], found["name"], number, online)
    if entry.kind == "folder":
        return Who("folder", name, name)
    text = about_whom(without_ending(name))[0]
    return Who("file", text, re.sub(r"[_\s]+", " ", text))


def own_name(name: str) -> str:
    """The name that a student gave a file, of the one that a platform made of it."""
    found = CANVAS.fullmatch(name) or MOODLE.fullmatch(name)
    given = found.groupdict() if found else {}
    return given.get("rest") or given.get("anonrest") or name


def without_ending(name: str) -> str:
    """A file's name without what says its type."""
    return ENDINGS.sub("", name).strip()


def about_whom(stem: str) -> tuple[str, int]:
    """What a file's name says of who made it, and the n of "(n)"."""
    copies = 0
    while found := AGAIN.search(stem):
        stem, copies = stem[: found.start()], max(copies, int(found["n"] or 1))
    while COPY.match(stem):
        stem = COPY.sub("", stem)
    for title in TITLES:
        stem = re.sub(rf"(^|[ _-]){re.escape(title)}($|[ _-])", "_", stem, flags=re.I)
    groups = [
        [COPY.sub("", word).strip() for word in group.split("_") if not is_about_work(word)]
        for group in re.split(r"\s+-\s+", stem)
    ]
    return " - ".join("_".join(words) for words in groups if words), copies


def is_about_work(text: str) -> bool:
    """Whether there are only words such as "homework", "copy" and numbers of up to two digits."""
    words = re.findall(r"\d+|[^\W\d_]+", text.casefold())
    return all(word in ABOUT_WORK or (word.isdigit() and len(word) <= 2) for word in words)


def number_in(name: str) -> int | None:
    """The first number in a name, such as 5 in "hw-05"."""
    found = re.search(r"\d{1,9}", name)
    return int(found[0]) if found else None


def is_zip(name: str) -> bool:
    """Whether a file's name says that it is a zip."""
    return name.casefold().endswith(".zip")


def may_count(entry: Entry) -> bool:
    """Whether it may be a notebook or hold some."""
    return entry.kind != "folder" and entry.name.casefold().endswith((".ipynb", ".zip"))
