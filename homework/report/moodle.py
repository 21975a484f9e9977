"""Pages of feedback in the zip that Moodle hands out to the students of an assignment.

    write_feedback(path, roster, pages)   the zip, given a page for each student's key

The roster is the assignment's grading worksheet. In Moodle the zip goes to "Upload multiple
feedback files in a zip", which is there where the assignment has the feedback type "Feedback
files"; how a file's name is read is in mod/assign/feedback/file/importziplib.php of
github.com/moodle/moodle. Where groups hand in together, newer versions read a group's number in the
place of a student's: there this zip is of no use.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from helpers.files import write_bytes
from homework.intake.roster import WORKSHEET, Roster

NAME = "Participant_{}_assignfeedback_file_feedback.html"  # Moodle reads the number alone
EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip can name; one day for all, so that zips compare


def takes_feedback(roster: Roster | None) -> bool:
    """Whether a roster says by which numbers Moodle knows its students."""
    return roster is not None and roster.kind == WORKSHEET


def write_feedback(path: Path, roster: Roster, pages: Mapping[str, str]) -> tuple[str, ...]:
    """Write the zip of the students' pages; give the keys to which Moodle has no number.

    The old zip or the new one is there at any time, and the same pages give the same bytes. Raises:
    ValueError where the roster is no grading worksheet.
    """
    if not takes_feedback(roster):
        raise ValueError(f"feedback for Moodle needs its grading worksheet, not a {roster.kind}")
    known = {student.key: student for student in roster.students if student.id}
    files = {NAME.format(known[key].id): page for key, page in pages.items() if key in known}
    with zipfile.ZipFile(made := io.BytesIO(), "w") as zipped:
        for name, page in sorted(files.items()):
            zipped.writestr(_member(name), page.encode("utf-8"))
    write_bytes(path, made.getvalue())
    return tuple(sorted(set(pages) - set(known)))


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system, info.external_attr = 3, 0o644 << 16  # on every system the same
    return info
