"""Where in a folder or zip the entries lie that stand for students."""

import stat
from pathlib import Path

from homework.archive import DEEPEST, Entry, Folder, Place, Tree, UnreadableError, Zipped
from homework.filenames import (
    PLATFORMS,
    about_whom,
    is_about_work,
    is_zip,
    may_count,
    whose,
    without_ending,
)
from homework.roster import Roster


def trees(source: Path, roster: Roster | None) -> list[Tree]:
    """The source, or the platform's zips in it."""
    wanted = "give a folder of hand-ins, or the zip that the platform makes of them"
    try:
        root = source.resolve(strict=True)
        mode = root.stat().st_mode
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"there is no {str(source)!r}: {wanted}") from error
    if stat.S_ISREG(mode):
        try:
            return [Zipped(Place(str(root.parent), (root.name,)))]
        except UnreadableError as error:
            raise ValueError(f"{str(source)!r} is no zip ({error}): {wanted}") from error
    if not stat.S_ISDIR(mode):
        raise ValueError(f"{str(source)!r} is neither folder nor zip: {wanted}")
    tree = Folder(str(root))
    return _downloads(tree, roster) or [tree]


def _downloads(tree: Folder, roster: Roster | None) -> list[Zipped]:
    """The zips in a folder that holds nothing else, where they hold many students' work.

    Of several, all must be a platform's: else one student's zip could speak for others.
    """
    top = [entry for entry in tree.children(()) if not of_teacher(entry)]
    if not top or not all(e.kind == "file" and is_zip(e.name) for e in top):
        return []
    if any(whose(entry).scheme in PLATFORMS for entry in top):
        return []
    try:
        zips = [Zipped(entry.place) for entry in top]
    except UnreadableError:
        return []
    if len(zips) == 1:
        stem = without_ending(top[0].name)
        return zips if _is_wrapper(stem, zips[0].children(()), roster) else []
    return zips if all(_is_platforms(z.children(students_level(z, roster))) for z in zips) else []


def _is_platforms(entries: list[Entry]) -> bool:
    schemes = [whose(entry).scheme for entry in entries]
    return bool(schemes) and all(scheme in PLATFORMS for scheme in schemes)


def of_teacher(entry: Entry) -> bool:
    """A table beside the hand-ins, such as the roster."""
    return entry.name.casefold().endswith(".csv") and whose(entry).scheme == "file"


def students_level(tree: Tree, roster: Roster | None) -> tuple[str, ...]:
    """The folder whose entries stand for students."""
    level: tuple[str, ...] = ()
    while len(level) < DEEPEST:
        here = tree.children(level)
        if any(entry.name == "submitted" and entry.kind == "folder" for entry in here):
            return (*level, "submitted")
        here = [entry for entry in here if not of_teacher(entry)]
        if len(here) != 1 or here[0].kind != "folder" or whose(here[0]).scheme != "folder":
            return level
        inside = (*level, here[0].name)
        if not _is_wrapper(here[0].name, tree.children(inside), roster):
            return level
        level = inside
    return level


def _is_wrapper(name: str, inside: list[Entry], roster: Roster | None) -> bool:
    """Whether a folder or zip that lies alone holds students' work, and is not a student's own."""
    if roster is not None and roster.find(name):
        return False
    if is_about_work(name):
        return True
    known = {whose(entry) for entry in inside}
    if any(who.scheme in PLATFORMS for who in known):
        return True
    files = [without_ending(entry.name) for entry in inside if may_count(entry)]
    people = {about_whom(name)[0] for name in files}
    people |= {about_whom(entry.name)[0] for entry in inside if entry.kind == "folder"}
    submitted = any(entry.name == "submitted" for entry in inside)
    return len(people - {""}) >= 2 or len(files) >= 2 or submitted
