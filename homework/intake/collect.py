"""From a folder or a zip of what students handed in to one file a student.

    collected(source, roster)   a HandIn for each student, sorted by student

Whose a file is, the name says that a platform gave it (see `filenames`), or the folder in which it
lies, one for each student, as in nbgrader's "submitted". Nothing else does.

What is found is hostile until shown otherwise (see `archive`): what cannot be read is said, not
raised.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from homework.intake.archive import (
    File,
    Place,
    UnreadableError,
    in_folder,
    in_zip,
    read,
    shown,
)
from homework.intake.attempts import STAMP, Candidate, candidates, chosen, of_assignment
from homework.intake.filenames import BY_NUMBER, Owner, is_of, parse_owner, readings, schemes_of
from homework.intake.roster import Roster, safe, unique

UNKNOWN = "the roster has no such student, or several"
WANTED = "give the zip that your platform makes, or a folder with a folder for each student"
BESIDE = (".csv", ".yml")  # files beside the students', such as the roster


@dataclass(frozen=True)
class HandIn:
    """What counts of a student: a key that is unique and a safe file name, a name to show or "",
    where the file came from, what to tell the teacher, and "" or why it cannot be read.

    order: by what the platform numbers or dates its files, and that: of two by the same the one
    with the larger counts. late: whether the platform calls it so.
    """

    student: str
    name: str
    file: str
    notes: tuple[str, ...] = ()
    error: str = ""
    place: Place | None = field(default=None, repr=False)
    order: tuple[str, float] = ("", 0.0)
    late: bool = False

    def read(self) -> bytes:
        """The file's bytes, read now. Raises: ValueError where it cannot be read."""
        if self.error or self.place is None:
            raise UnreadableError(self.error or "there is no file")
        return read(self.place)


def collected(
    source: Path,
    roster: Roster | None = None,
    assignment: str | None = None,
    is_wanted: Callable[[bytes], bool] = lambda raw: True,
) -> list[HandIn]:
    """One HandIn for each student, sorted by student, from a folder or a zip.

    assignment: such as "05"; where nbgrader has folders for several, its folder alone counts.
    is_wanted: as for `attempts.chosen`. Raises: ValueError where the source is neither, holds a
    file of which nothing says whose it is, where two folders have one student's name, and where two
    names have one student's number: one of them is made up.
    """
    given, is_zipped = _given(Path(source))
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for who, files in _students(source, given, assignment, roster).items():
        found = groups.setdefault((who.scheme, who.id), [])
        found += [one for file in files if file.name != STAMP for one in candidates(file, who)]
    by_key: dict[str, HandIn] = {}
    for found in groups.values():
        if others := [one for one in found if one.who.name != found[0].who.name]:
            raise ValueError(
                f"{source}: {found[0].shown} and {others[0].shown} bear one student's number and "
                "two names; see whose each is, and give each student one folder"
            )
    for one in (_hand(found, roster, is_zipped, is_wanted) for found in groups.values() if found):
        if (other := by_key.setdefault(one.student, one)) is not one:
            raise ValueError(
                f"{source}: {other.file} and {one.file} both seem to be of {one.student}: give "
                "each student one folder, with a name of its own"
            )
    return [by_key[key] for key in sorted(by_key)]


def _given(source: Path) -> tuple[list[File], bool]:
    """All files of a folder or zip, and whether it is a zip; a link given as the source itself is
    followed.
    """
    if not source.exists():
        raise ValueError(f"there is no {str(source)!r}: {WANTED}")
    root = source.resolve()
    if root.is_dir():
        return list(in_folder(str(root))), False
    try:
        return in_zip(Place(str(root.parent), (root.name,))), True
    except UnreadableError as error:
        raise ValueError(f"{str(source)!r} is no zip ({error}): {WANTED}") from error


def _students(
    source: Path, given: list[File], assignment: str | None, roster: Roster | None
) -> dict[Owner, list[File]]:
    """Whose each folder is, or each file that a platform named, and the files that count of it."""
    tops: dict[str, list[File]] = {}
    for file in given:
        tops.setdefault(file.parts[0], []).append(file)
    found: dict[Owner, list[File]] = {}
    schemes = schemes_of([name for name in tops if not name.casefold().endswith(BESIDE)])
    for name, files in tops.items():
        is_file = any((one.parts, one.kind) == ((name,), "file") for one in files)
        if who := parse_owner(name, is_file, schemes):
            if who.scheme == "canvas" and roster:
                who = next((r for r in readings(name) if roster.is_exactly(r.id, r.name)), who)
            if who.scheme == "folder" and assignment:
                files = of_assignment(files, assignment)
            found.setdefault(who, []).extend(files)
        elif not name.casefold().endswith(BESIDE):
            raise ValueError(f"{source}: nothing says whose {shown(name)} is; {WANTED}")
    return found


def _hand(
    found: list[Candidate],
    roster: Roster | None,
    is_zipped: bool,
    is_wanted: Callable[[bytes], bool],
) -> HandIn:
    """What counts of all that one student handed in."""
    best, is_read, notes = chosen(found, is_wanted)
    who = best.who
    is_numbered = who.scheme in BY_NUMBER
    order = ("", 0.0)
    if who.number:
        order = ("number of the file", float(who.number))
    elif is_zipped and who.scheme == "moodle":  # which dates all that is in a zip by the download
        order = ("download", best.rank[2][0])
    key = safe(f"{who.name}_{who.id}" if is_numbered and who.name else who.id)
    name = "" if who.name == "Participant" else shown(who.name)
    finds = roster and (roster.match if is_numbered else roster.find)
    known = finds(who.id if is_numbered else who.name or who.id) if finds else None
    if known and (who.scheme != "canvas" or is_of(who.name, known.name)):
        key, name = known.key, known.name or name
    elif roster:
        key, notes = unique(key, {one.key for one in roster.students}), (*notes, UNKNOWN)
    return HandIn(
        key,
        name,
        best.shown,
        notes,
        "" if is_read else best.problem,
        best.place if is_read else None,
        order,
        who.late or (known is not None and known.late),
    )
