"""From a folder or a zip of what students handed in to one file a student.

    collected(source, roster)   a Handed for each student, sorted by student

Whose a file is, its name says (see `filenames`), or where it lies: a folder for each
student, as in nbgrader's "submitted". Where a name says nothing, as "Copy of 05
(1).ipynb", the cell does in which students write their names.

What is found is hostile until shown otherwise (see `archive`): what cannot be read is
said, not raised.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path

from homework.intake.archive import Place, UnreadableError, read, shown
from homework.intake.attempts import Candidate, candidates, chosen, is_notebook
from homework.intake.filenames import PLATFORMS, Who, whose, without_ending
from homework.intake.layout import opened, students
from homework.intake.namecell import claimed
from homework.intake.roster import Roster, Student, digest, orders, safe, unique

UNKNOWN = "the roster has no such student, or several"
SEVERAL = ("handed in ", "a later file ", "more than one file ")  # so begin notes on several files


@dataclass(frozen=True)
class Handed:
    """What counts of a student: a key that is unique and a safe file name, a name to show or "",
    where the file came from, what to tell the teacher, and "" or why it cannot be read.
    """

    student: str
    name: str
    file: str
    notes: tuple[str, ...] = ()
    error: str = ""
    place: Place | None = field(default=None, repr=False)

    def read(self) -> bytes:
        """The file's bytes, read now. Raises: ValueError where it cannot be read."""
        if self.error or self.place is None:
            raise UnreadableError(self.error or "there is no file")
        return read(self.place)


class Evidence(IntEnum):
    """What says whose a file is, the stronger the larger."""

    NONE = 0
    CELL = 1  # in which students write their names
    NAME = 2  # of a folder or file
    PLATFORM = 3


@dataclass(frozen=True)
class Hand:
    """All that one name stands for: what counts, under a key of its own, what says whose it is, and
    the student of the roster that it claims.
    """

    handed: Handed
    evidence: Evidence
    student: Student | None = None


def collected(
    source: Path, roster: Roster | None = None, assignment: str | None = None
) -> list[Handed]:
    """One Handed for each student, sorted by student, from a folder or a zip.

    assignment: such as "05"; where a student has folders for several, its folder alone counts.
    Raises: ValueError where the source is neither, or what students gave lies deeper in it.
    """
    groups: dict[tuple, list[Candidate]] = {}
    people: dict[tuple, Who] = {}
    tree = opened(Path(source))
    for entry in students(source, tree):
        who = whose(entry)
        anonymous = () if who.id else (*entry.place.parts, *entry.place.members)
        key = (who.scheme, who.id, *anonymous)
        people.setdefault(key, who)
        groups.setdefault(key, []).extend(candidates(tree, entry, who, assignment))
    hands = [
        _hand(who, own, roster)
        for key, found in groups.items() if found
        for who, own in _apart(people[key], found, roster)
    ]  # fmt: skip
    return sorted(_distinct(hands, roster), key=lambda handed: handed.student)


def _apart(
    who: Who, found: list[Candidate], roster: Roster | None
) -> list[tuple[Who, list[Candidate]]]:
    """The files of one name; each student's own, where the cells of loose ones name several.

    Many students call their file alike. A name that a platform gives is certain; so is a folder or
    a zip, in which a student may keep another's file.
    """
    if who.scheme != "file" or len(found) < 2:
        return [(who, found)]
    parts: dict[str, list[Candidate]] = {}
    for one in found:
        text = _claimed(one.place) if one.is_loose and is_notebook(one) and not one.problem else ""
        student = roster.find(text) if roster and text else None
        claim = student.key if student else min(orders(text), default="")
        parts.setdefault(claim, []).append(one)
    if len(parts.keys() - {""}) < 2:
        return [(who, found)]
    return [(Who("file", "") if claim else who, part) for claim, part in parts.items()]


def _claimed(place: Place) -> str:
    """Who a notebook says its student is, "" where it cannot be read."""
    with suppress(UnreadableError):
        return claimed(read(place))
    return ""


def _hand(who: Who, found: list[Candidate], roster: Roster | None) -> Hand:
    """What counts of what one name stands for, under a key of its own."""
    best, seen, notes = chosen(found)
    name = "" if re.fullmatch(r"participant", who.name, re.I) else who.name
    text = f"{who.name}_{who.id}" if who.scheme in PLATFORMS else who.id
    handed = Handed(safe(text), shown(name), best.shown, notes, "" if seen else best.problem,
                    best.place if seen else None)  # fmt: skip
    if who.scheme in PLATFORMS:
        student = roster.match(id=who.id, name=who.name) if roster else None
        return Hand(handed, Evidence.PLATFORM, student)
    student = roster.find(who.id) if roster and who.id else None
    if student or who.scheme == "folder" or (who.id and roster is None):
        return Hand(handed, Evidence.NAME, student)
    return _by_cell(handed, who, roster, seen)


def _by_cell(handed: Handed, who: Who, roster: Roster | None, seen: str) -> Hand:
    """Whose a file is whose name says nothing, or nothing that the roster knows."""
    text = _claimed(handed.place) if handed.place else ""
    student = roster.find(text) if roster and text else None
    if who.id and not student:
        return Hand(handed, Evidence.NAME)
    if text:
        note = "the file's name does not say whose it is; the notebook's first cells do"
        notes = (*handed.notes, note)
        handed = replace(handed, student=safe(text), name=shown(text), notes=notes)
        return Hand(handed, Evidence.CELL, student)
    note = "neither the file's name nor the notebook says whose it is"
    key = f"{safe(without_ending(handed.file.split('/')[-1]))}-{seen[:8] or digest(handed.file)}"
    return Hand(replace(handed, student=key, notes=(*handed.notes, note)), Evidence.NONE)


def _distinct(hands: list[Hand], roster: Roster | None) -> Iterable[Handed]:
    """All under distinct keys: what the strongest evidence gives to a student is theirs, and what
    several files claim with the same evidence is nobody's.
    """
    taken = {student.key for student in roster.students} if roster else set()
    claims: dict[tuple[str, bool], list[Hand]] = {}
    for hand in hands:
        key = hand.student.key if hand.student else hand.handed.student
        claims.setdefault((key, bool(hand.student)), []).append(hand)
    for (key, _), rivals in sorted(claims.items(), key=lambda claim: claim[0]):
        rivals.sort(key=lambda hand: (-hand.evidence, hand.handed.file))
        is_clear = len(rivals) == 1 or rivals[0].evidence > rivals[1].evidence
        for at, hand in enumerate(rivals):
            notes = [*hand.handed.notes, *_rivalry(key, [r for r in rivals if r is not hand])]
            notes += [UNKNOWN] if roster and not hand.student else []
            handed = replace(hand.handed, notes=tuple(notes))
            if at == 0 and is_clear and (known := hand.student):
                yield replace(handed, student=key, name=known.name or handed.name)
            elif at == 0 and is_clear:
                yield replace(handed, student=unique(key, taken))
            else:
                own = f"{handed.student}-{digest(handed.file)}"
                yield replace(handed, student=unique(own, taken))


def _rivalry(key: str, others: list[Hand]) -> tuple[str, ...]:
    files = ", ".join(hand.handed.file for hand in others[:3])
    more = ", …" if others[3:] else ""
    return (f"more than one file may be of {key}; see also {files}{more}",) if others else ()
