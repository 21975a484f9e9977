"""Whose a name says that a file or folder is.

Canvas writes "lovelaceada_LATE_12345_67890_05-1.ipynb": name, late or not, number of the student,
number of the file (a later file has a larger one), its name; lib/content_zipper.rb of canvas-lms.
Moodle writes "Ada Lovelace_1234_assignsubmission_file_" as a folder or before a file's name;
mod/assign/locallib.php of moodle. Else there is a folder for each student, as nbgrader has it.
"""

import re
from dataclasses import dataclass
from datetime import datetime

PLATFORMS = ("canvas", "moodle")
CANVAS = re.compile(
    r"(?:(?:LATE_)?anon_(?P<anon>[A-Za-z0-9]{5})"
    r"|(?P<name>.+?)_(?:LATE_)?(?P<id>\d{1,18}))_(?:(?P<file>\d{1,18})_.+|(?P<online>text|link)\.html)",
    re.IGNORECASE | re.DOTALL,
)
MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<id>\d{1,18})_assignsubmission_(?P<kind>file|onlinetext)(?:_.*)?",
    re.DOTALL,
)


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


def parse_owner(name: str, is_file: bool) -> Owner | None:
    """What a name says; None of a file that no platform named."""
    moodle, canvas = MOODLE.fullmatch(name), CANVAS.fullmatch(name)
    if moodle and canvas:  # the end of a name is the student's own: the first number counts
        at = canvas.start("anon") if canvas["anon"] else canvas.start("id")
        moodle = None if at < moodle.start("id") else moodle
    if found := moodle:
        return Owner("moodle", found["id"], found["name"], online=found["kind"] == "onlinetext")
    if found := canvas:
        id = f"anon_{found['anon']}" if found["anon"] else found["id"]
        online = bool(found["online"])
        return Owner("canvas", id, found["name"] or "", int(found["file"] or 0), online)
    return None if is_file else Owner("folder", name, name)
