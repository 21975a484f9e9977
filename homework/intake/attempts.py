"""The files of one student, and which of them counts: a notebook of the set, then the latest."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from homework.intake.archive import File, Place, UnreadableError, in_zip, read, shown
from homework.intake.filenames import Owner

MOST_TRIED = 10  # files of a student are read to find one of the problem set
MOST_NOTES = 5  # on files of a student that do not count
COPY = re.compile(r"\((\d{1,6})\)\.ipynb$")  # by browsers, of what is saved once more
STAMP = "timestamp.txt"  # in which nbgrader writes when a folder was handed in


@dataclass(frozen=True)
class Candidate:
    """A file that might count: what ranks it, and "" or why it cannot be read."""

    place: Place
    shown: str
    rank: tuple
    who: Owner
    problem: str = ""


def of_assignment(files: list[File], assignment: str) -> list[File]:
    """A student's files; where nbgrader made the folder, those in that of the assignment."""
    inside = [file for file in files if file.parts[1:2] == (assignment,) and file.parts[2:]]
    is_nbgraders = any(file.parts[2:] == (STAMP,) for file in files)
    return inside if inside or is_nbgraders else files


def candidates(file: File, who: Owner) -> Iterator[Candidate]:
    """A file, or the files in it where it is a zip."""
    where = shown("/".join(file.parts))
    whole = Candidate(file.place, where, _rank(file, who), who)
    if file.kind != "file":
        yield replace(whole, problem=f"{file.kind} left out")
        return
    if not _is_zip(file.name):
        yield whole
        return
    try:
        inner = in_zip(file.place)
    except UnreadableError as error:
        yield replace(whole, problem=str(error))
        return
    for member in inner:
        kind = "a zip within a zip" if _is_zip(member.name) else member.kind
        yield Candidate(
            member.place,
            f"{where}/{shown('/'.join(member.parts))}",
            _rank(member, who, file.time),
            who,
            "" if kind == "file" else f"{kind} left out",
        )
    if not inner:
        yield replace(whole, problem="the file is an empty zip")


def _is_zip(name: str) -> bool:
    return name.casefold().endswith(".zip")


def _rank(file: File, who: Owner, outer: float | None = None) -> tuple:
    """What makes a file count before another: being a notebook, then being later.

    outer: the time of the zip it is in.
    """
    name = file.name.casefold()
    kind = 3 if name.endswith(".ipynb") else 2 if name.endswith((".ipynb.txt", ".json")) else 1
    time = (file.time, 0.0) if outer is None else (outer, file.time)
    copy = int(found[1]) if (found := COPY.search(name)) else 0
    return (0 if who.online else kind, who.number, time, copy, file.place.members)


def chosen(
    found: list[Candidate], is_wanted: Callable[[bytes], bool] = lambda raw: True
) -> tuple[Candidate, bool, tuple[str, ...]]:
    """The file that counts, whether it can be read, and notes on the others.

    is_wanted: whether a file's bytes seem to be of the problem set; of several the latest that
    does counts, and the latest of all where none does.
    """
    ranked = sorted(found, key=lambda one: (not one.problem, one.rank), reverse=True)
    tried = [_tried(candidate, is_wanted) for candidate in ranked[:MOST_TRIED]]
    readable = [one for one in tried if not one[0].problem]
    best = next((one for one, wanted in readable if wanted), (readable or tried)[0][0])
    others = [one for one, _ in tried if one is not best] + ranked[MOST_TRIED:]
    return best, bool(readable), tuple(_on_others(best, others))


def _tried(one: Candidate, is_wanted: Callable[[bytes], bool]) -> tuple[Candidate, bool]:
    """The candidate, with why it cannot be read, and whether it is wanted."""
    try:
        return one, not one.problem and is_wanted(read(one.place))
    except UnreadableError as error:
        return replace(one, problem=str(error)), False


def _on_others(best: Candidate, others: list[Candidate]) -> Iterator[str]:
    """Notes on notebooks that do not count, and on what cannot be read."""
    notebooks = [one.shown for one in others if one.rank[0] >= 2 and not one.problem]
    if best.rank[0] >= 2 and notebooks:
        names = ", ".join(notebooks[:3]) + (", …" if notebooks[3:] else "")
        yield f"{len(notebooks) + 1} notebooks; {best.shown} counts, not {names}"
    broken = [one for one in others if one.problem]
    for one in broken[:MOST_NOTES]:
        yield f"{one.shown} does not count: {one.problem}"
    if len(broken) > MOST_NOTES:
        yield f"and {len(broken) - MOST_NOTES} more do not count"
