"""The entries of a folder or zip that stand for students."""

import stat
from pathlib import Path

from homework.intake.archive import Entry, Folder, Place, Tree, UnreadableError, Zipped, shown
from homework.intake.filenames import PLATFORMS, is_about_work, is_zip, whose, without_ending


def opened(source: Path) -> Tree:
    """The folder or zip of hand-ins; a link given as the source itself is followed."""
    wanted = "give a folder of hand-ins, or the zip that the platform makes of them"
    try:
        root = source.resolve(strict=True)
        mode = root.stat().st_mode
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"there is no {str(source)!r}: {wanted}") from error
    if stat.S_ISDIR(mode):
        return Folder(str(root))
    if not stat.S_ISREG(mode):
        raise ValueError(f"{str(source)!r} is neither folder nor zip: {wanted}")
    try:
        return Zipped(Place(str(root.parent), (root.name,)))
    except UnreadableError as error:
        raise ValueError(f"{str(source)!r} is no zip ({error}): {wanted}") from error


def of_teacher(entry: Entry) -> bool:
    """A table beside the hand-ins, such as the roster."""
    return entry.name.casefold().endswith(".csv") and whose(entry).scheme == "file"


def students(source: Path, tree: Tree) -> list[Entry]:
    """The entries that stand for students. Raises: ValueError where those lie a folder deeper."""
    here = [entry for entry in tree.children(()) if not of_teacher(entry)]
    wrappers = [entry for entry in here if _is_wrapper(entry)]
    if (wrappers and len(wrappers) == len(here)) or any(e.name == "submitted" for e in wrappers):
        names = ", ".join(shown(entry.name) for entry in wrappers[:3])
        raise ValueError(f"{source} holds no students but {names}: give that, or what is in it")
    return here


def _is_wrapper(entry: Entry) -> bool:
    """A folder or zip whose name speaks of the work and of nobody."""
    holds = entry.kind == "folder" or is_zip(entry.name)
    nobodys = entry.name == "submitted" or is_about_work(without_ending(entry.name))
    return holds and nobodys and whose(entry).scheme not in PLATFORMS
