"""Whose a name says that a file or folder is: the names that learning platforms write.

Else there is a folder for each student, as nbgrader has it, or `gh classroom clone student-repos`,
which puts ASSIGNMENT-LOGIN into the folder ASSIGNMENT-submissions (docs.github.com, "Using GitHub
Classroom with GitHub CLI"; not tried with one). In a folder of Google Classroom's each file has the
name that its student chose, which says nothing.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

BY_NUMBER = ("canvas", "moodle")  # whose rosters have the number that is in the names
PATTERNS = {
    # mod/assign/locallib.php of moodle: a folder, or before a file's name
    "moodle": r"(?P<name>.+?)_(?P<id>\d{1,18})_assignsubmission_(?P<kind>file|onlinetext)(?:_.*)?",
    # lib/content_zipper.rb of canvas-lms: a later file has a larger number; a name may be empty
    "canvas": r"(?:(?:LATE_)?anon_(?P<anon>[a-z0-9]{5})|(?P<name>.*?)_(?:LATE_)?(?P<id>\d{1,18}))"
    r"_(?:(?P<file>\d{1,18})_.+|(?P<kind>text|link)\.html)",
    # README.md of kwurst/bb-file-cleanup, not tried with a Blackboard: the .txt holds a comment
    "blackboard": r".+?_(?P<id>[^_]+)_attempt_(?P<time>\d{4}(?:-\d\d){5})(?:_.+|(?P<kind>\.txt))",
    # No source of the vendor's, not tried with a Brightspace; all of a folder may have one number
    "brightspace": r"(?P<id>\d+-\d+) - (?P<name>.+?) - "
    r"(?P<day>[A-Z][a-z]{2} \d\d?, \d{4}) (?P<clock>\d{3,4} [AP]M)(?: - .+)?",
}


@dataclass(frozen=True)
class Owner:
    """What a name says of whose it is: the scheme, what tells one from another, a name to show, the
    platform's number of the file, whether it is a text typed there, and when it was handed in,
    where that is known.
    """

    scheme: str
    id: str
    name: str = ""
    number: int = 0
    online: bool = False
    time: datetime | None = None


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
    if scheme == "brightspace":
        id = f"{part['name']} {id}"
    number = int("".join(re.findall(r"\d", part.get("file") or part.get("time", ""))) or 0)
    with suppress(ValueError):
        clock = f"{part.get('day')} {part.get('clock', ''):0>7}"
        number = int(f"{datetime.strptime(clock, '%b %d, %Y %I%M %p'):%Y%m%d%H%M}")
    online = part.get("kind", "") not in ("", "file")
    return Owner(scheme, id, part.get("name", ""), number, online)
