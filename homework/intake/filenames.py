"""Whose a name says that a file or folder is: the names that Canvas and Moodle write.

Else there is a folder for each student, as nbgrader has it.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

BY_NUMBER = ("canvas", "moodle")  # whose rosters have the number that is in the names
PATTERNS = {
    # mod/assign/locallib.php of moodle: a folder, or before a file's name
    "moodle": r"(?P<name>.+?)_(?P<id>\d{1,18})_assignsubmission_(?P<kind>file|onlinetext)(?:_.*)?",
    # lib/content_zipper.rb of canvas-lms: a later file has a larger number; a name may be empty
    "canvas": r"(?:(?:(?P<l>LATE_)?anon_(?P<anon>[a-z0-9]{5})|(?P<name>.*?)_(?P<late>LATE_)?"
    r"(?P<id>\d{1,18})))_(?:(?P<file>\d{1,18})_.+|(?P<kind>text|link)\.html)",
}
ALIKE = 0.7  # at least, of a name on the roster and what Canvas makes of it


@dataclass(frozen=True)
class Owner:
    """What a name says of whose it is: the scheme, what tells one from another, a name to show, the
    platform's number of the file, whether it is a text typed there, and whether the platform calls
    it late.
    """

    scheme: str
    id: str
    name: str = ""
    number: int = 0
    online: bool = False
    late: bool = False


def schemes_of(names: Sequence[str]) -> list[str]:
    """The platforms that may have written all of these names; of some, where none wrote all."""
    return [s for s in PATTERNS if all(_match(s, name) for name in names)] or [*PATTERNS]


def _match(scheme: str, name: str) -> re.Match | None:
    return re.fullmatch(PATTERNS[scheme], name, re.IGNORECASE | re.DOTALL)


def parse_owner(name: str, is_file: bool, schemes: Sequence[str] = tuple(PATTERNS)) -> Owner | None:
    """What a name says; None of a file that none of these platforms named."""
    found = {scheme: one for scheme in schemes if (one := _match(scheme, name))}
    if not found:
        return None if is_file else Owner("folder", name, name)
    # The end of a name is the student's own, so the number that comes first counts.
    scheme = min(found, key=lambda one: max(found[one].start("id"), 0))
    part = {key: text or "" for key, text in found[scheme].groupdict().items()}
    id = f"anon_{part['anon']}" if part.get("anon") else part["id"]
    number, online = int(part.get("file") or 0), part.get("kind", "") not in ("", "file")
    is_late = bool(part.get("l") or part.get("late"))
    return Owner(scheme, id, part.get("name", ""), number, online, is_late)


def readings(name: str) -> Iterator[Owner]:
    """What Canvas may have meant by a name in which a student's own has numbers, too."""
    for at in re.finditer(r"_(LATE_)?(\d{1,18})(?=_(\d{1,18})_)", name):
        yield Owner("canvas", at[2], name[: at.start()], int(at[3]), False, bool(at[1]))


def is_of(name: str, on_roster: str) -> bool:
    """Whether Canvas makes this name of one on the roster; of a Chinese one it makes nothing."""
    return not name or SequenceMatcher(None, letters(name), letters(on_roster)).ratio() >= ALIKE


def letters(name: str) -> str:
    """A name without all that is no letter or digit of ASCII."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(c for c in plain if c.isascii() and c.isalnum())
