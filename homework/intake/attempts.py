"""The files of one student, and which of them counts: a notebook first, then the latest."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from homework.intake.archive import (
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
from homework.intake.filenames import (
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
    """A file that might count, what ranks it, "" or why it cannot be read, whether it is left out
    unread, and whether it lies alone, in no student's folder or zip.
    """

    place: Place
    shown: str
    rank: tuple
    problem: str = ""
    is_left_out: bool = False
    is_loose: bool = False


def is_notebook(candidate: Candidate) -> bool:
    """Whether its name says that it is a notebook."""
    return candidate.rank[0] >= 2


def candidates(tree: Tree, entry: Entry, who: Who, assignment: str | None) -> list[Candidate]:
    """The files that an entry stands for: itself, those in a folder, and those in a zip."""
    if entry.kind != "folder":
        found = list(_looked_into((entry.name,), entry, who))
        return [replace(one, is_loose=one.place == entry.place) for one in found]
    return [
        candidate
        for top in _of_assignment(tree, (entry.name,), assignment)
        for parts, inner in files_below(tree, top)
        for candidate in _looked_into(parts, inner, who)
    ]


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
    whole = Candidate(entry.place, where, _rank(entry, who))
    if entry.kind != "file":
        yield _left_out(whole, entry.kind)
        return
    if not is_zip(entry.name):
        yield whole
        return
    try:
        tree = Zipped(entry.place)
    except UnreadableError as error:
        yield replace(whole, problem=str(error))
        return
    inner = list(files_below(tree, ()))
    for names, member in inner:
        place = f"{where}/{shown('/'.join(names))}"
        part = Candidate(member.place, place, _rank(member, who, entry.time))
        kind = "a zip within a zip" if is_zip(member.name) else member.kind
        yield part if kind == "file" else _left_out(part, kind)
    if not inner:
        yield replace(whole, problem="the file is an empty zip")


def _left_out(candidate: Candidate, kind: str) -> Candidate:
    return replace(candidate, problem=f"{kind} left out", is_left_out=True)


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
    left = [c for c in found if c.is_left_out]
    able = sorted((c for c in found if not c.is_left_out), key=lambda c: c.rank, reverse=True)
    broken: list[Candidate] = []
    for candidate in able[:MOST_TRIED]:
        candidate, seen = _tried(candidate)
        if seen:
            notes = [*_on_left_out(left), *_on_broken(broken)]
            notes += _on_others(candidate, seen, able[len(broken) + 1 :])
            return candidate, seen, (*notes, *_on_later(candidate, able))
        broken.append(candidate)
    best = (broken or found)[0]
    return best, "", tuple(_on_left_out([c for c in left if c is not best]))


def _on_left_out(left: list[Candidate]) -> Iterator[str]:
    for candidate in left[:MOST_NOTES]:
        yield f"{candidate.problem}: {candidate.shown}"
    if len(left) > MOST_NOTES:
        yield f"and {len(left) - MOST_NOTES} more left out"


def _on_broken(broken: list[Candidate]) -> Iterator[str]:
    for candidate in broken:
        yield f"{candidate.shown} does not count: {candidate.problem}"


def _on_others(best: Candidate, seen: str, others: list[Candidate]) -> Iterator[str]:
    """A note where other notebooks differ from the one that counts."""
    others = [c for c in others if is_notebook(c)] if is_notebook(best) else []
    if len(others) > MOST_TRIED or any(_tried(c)[1] != seen for c in others):
        times = "twice" if len(others) == 1 else f"{len(others) + 1} times"
        names = ", ".join(c.shown for c in others[:3]) + (", …" if len(others) > 3 else "")
        yield f"handed in {times}; the later one counts ({best.shown}), not {names}"


def _on_later(best: Candidate, able: list[Candidate]) -> Iterator[str]:
    """A note where something that is no notebook came after the notebook that counts."""
    later = [c for c in able if c.rank[0] == 1 and c.rank[1:5] > best.rank[1:5]]
    if is_notebook(best) and later:
        why = later[0].problem or "it is no notebook"
        yield f"a later file does not count: {later[0].shown} ({why})"


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
