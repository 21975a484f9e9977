"""The files of one student, and which of them counts: a notebook first, then the latest."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from homework.archive import (
    MOST_FILES,
    Entry,
    Place,
    Tree,
    UnreadableError,
    Zipped,
    chunks,
    files_below,
    shown,
)
from homework.filenames import (
    Who,
    about_whom,
    is_about_work,
    is_zip,
    may_count,
    number_in,
    own_name,
    without_ending,
)

MOST_TRIED = 10  # files of a student are read to find one that can be, or to compare
MOST_NOTES = 5  # on files of a student that are left out


@dataclass(frozen=True)
class Candidate:
    """A file that might count, what ranks it, "" or why it cannot be read, and where the file,
    folder or zip lies that was handed in and in which it is.
    """

    place: Place
    shown: str
    rank: tuple
    problem: str = ""
    entry: Place | None = None


def is_notebook(candidate: Candidate) -> bool:
    """Whether its name says that it is a notebook."""
    return candidate.rank[0] >= 2


def candidates(
    tree: Tree, level: tuple[str, ...], entry: Entry, who: Who, assignment: str | None
) -> list[Candidate]:
    """The files that an entry stands for: itself, those in a folder, and those in a zip."""
    found: list[Candidate] = []
    if entry.kind != "folder":
        found += _looked_into((entry.name,), entry, who)
    else:
        for top in _of_assignment(tree, (*level, entry.name), assignment):
            for parts, inner in files_below(tree, top):
                found += _looked_into(parts[len(level) :], inner, who)
    return [replace(candidate, entry=entry.place) for candidate in found]


def _of_assignment(
    tree: Tree, top: tuple[str, ...], assignment: str | None
) -> list[tuple[str, ...]]:
    """A student's folder, or in it the one of the assignment, or none where there are others."""
    inside = tree.children(top, MOST_FILES)
    works = {e.name: number_in(e.name) for e in inside if e.kind == "folder"}
    works = {name: n for name, n in works.items() if n is not None and is_about_work(name)}
    if assignment is None or not works or any(map(may_count, inside)):
        return [top]
    return [(*top, name) for name, number in works.items() if number == number_in(assignment)]


def _looked_into(parts: tuple[str, ...], entry: Entry, who: Who) -> Iterator[Candidate]:
    """A file, or the files in it where it is a zip."""
    where = shown("/".join(parts))
    problem = "" if entry.kind == "file" else f"{entry.kind} left out"
    whole = Candidate(entry.place, where, _rank(entry, who), problem)
    if problem or not is_zip(entry.name):
        yield whole
        return
    try:
        tree = Zipped(entry.place)
    except UnreadableError as error:
        yield replace(whole, problem=str(error))
        return
    inner = list(files_below(tree, ()))
    for names, member in inner:
        problem = "" if member.kind == "file" else f"{member.kind} left out"
        if is_zip(member.name):
            problem = "a zip within a zip left out"
        place = f"{where}/{shown('/'.join(names))}"
        yield Candidate(member.place, place, _rank(member, who, entry.time), problem)
    if not inner:
        yield replace(whole, problem="the file is an empty zip")


def _rank(entry: Entry, who: Who, outer: float | None = None) -> tuple:
    """What makes a file count before another: being a notebook, then being later.

    outer: the time of the zip it is in.
    """
    name = entry.name.casefold()
    kind = 3 if name.endswith(".ipynb") else 2 if name.endswith((".ipynb.txt", ".json")) else 1
    stem = without_ending(own_name(entry.name))
    again = re.search(r"-(\d{1,6})$", stem) if who.scheme == "canvas" else None
    text, copies = about_whom(stem)
    attempt = int(again[1]) if again else 0
    time = (entry.time, 0.0) if outer is None else (outer, entry.time)
    kind = 0 if who.online else kind
    return (kind, who.number, attempt, time, copies, text == "", entry.place.members)


def chosen(found: list[Candidate]) -> tuple[Candidate, str, tuple[str, ...]]:
    """The file that counts, a digest of it ("" if it cannot be read), and notes on the others."""
    left = [c for c in found if c.problem.endswith("left out")]
    notes = [f"{c.problem}: {c.shown}" for c in left[:MOST_NOTES]]
    notes += [f"and {len(left) - MOST_NOTES} more left out"] if len(left) > MOST_NOTES else []
    able = [c for c in found if not c.problem.endswith("left out")]
    able = sorted(able, key=lambda c: c.rank, reverse=True)
    broken, seen = [], ""
    for candidate in able[:MOST_TRIED]:
        candidate, seen = _tried(candidate)
        if seen:
            break
        broken.append(candidate)
    if not seen:
        best = (broken or found)[0]
        return best, "", tuple(n for n in notes if not n.endswith(f": {best.shown}"))
    notes += [f"{c.shown} does not count: {c.problem}" for c in broken]
    others = (
        [c for c in able[len(broken) + 1 :] if is_notebook(c)] if is_notebook(candidate) else []
    )
    if len(others) > MOST_TRIED or any(_tried(c)[1] != seen for c in others):
        times = "twice" if len(others) == 1 else f"{len(others) + 1} times"
        names = ", ".join(c.shown for c in others[:3]) + (", …" if len(others) > 3 else "")
        notes.append(f"handed in {times}; the later one counts ({candidate.shown}), not {names}")
    later = [c for c in able if c.rank[0] == 1 and c.rank[1:5] > candidate.rank[1:5]]
    if is_notebook(candidate) and later:
        why = later[0].problem or "it is no notebook"
        notes.append(f"a later file does not count: {later[0].shown} ({why})")
    return candidate, seen, tuple(notes)


def _tried(candidate: Candidate) -> tuple[Candidate, str]:
    """The candidate, and a digest of its bytes, or the problem and ""."""
    if candidate.problem:
        return candidate, ""
    known = hashlib.sha256()
    try:
        for chunk in chunks(candidate.place):
            known.update(chunk)
    except UnreadableError as error:
        return replace(candidate, problem=str(error)), ""
    return candidate, known.hexdigest()
