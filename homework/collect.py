"""From a folder or a zip of what students handed in to one file a student.

    collected(source, roster)   a Handed for each student, sorted by student

Whose a file is, its name says (see `homework.filenames`), or where it lies: a folder for each
student, nbgrader's "submitted/ada/05/05.ipynb". Where a name says nothing, as "Copy of 05
(1).ipynb", the cell does in which students write their names.

What is found is hostile until shown otherwise (see `homework.archive`): what cannot be read is
said, not raised.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path

from homework.archive import Place, UnreadableError, chunks, shown
from homework.attempts import Candidate, candidates, chosen
from homework.claims import separated
from homework.filenames import FOLDERS, PLATFORMS, Who, whose, without_ending
from homework.layout import of_teacher, students_level, trees
from homework.roster import Roster, Student, digest, orders, safe, unique
from homework.studentcell import claimed

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
        return b"".join(chunks(self.place))


class Evidence(IntEnum):
    """What says whose a file is, the stronger the larger."""

    NONE = 0
    CELL = 1  # in which students write their names
    NAME = 2  # of a folder or file
    PLATFORM = 3


@dataclass(frozen=True)
class Hand:
    """All that one name stands for: what counts, under a key of its own, what says whose it is, the
    student of the roster that it claims, and a digest.
    """

    handed: Handed
    evidence: Evidence
    student: Student | None = None
    seen: str = ""


def collected(
    source: Path, roster: Roster | None = None, assignment: str | None = None
) -> list[Handed]:
    """One Handed for each student, sorted by student, from a folder, a zip or a folder of zips.

    assignment: such as "05"; where a student has folders for several, its folder alone counts.
    A link given as the source itself is followed. Raises: ValueError where the source is none of
    these.
    """
    groups: dict[tuple, list[Candidate]] = {}
    people: dict[tuple, Who] = {}
    for tree in trees(Path(source), roster):
        level = students_level(tree, roster)
        for entry in tree.children(level):
            if not level and of_teacher(entry):
                continue
            who = whose(entry)
            if who.scheme == "folder" and level[-1:] == ("submitted",):
                who = replace(who, scheme="nbgrader")
            anonymous = () if who.id else (*entry.place.parts, *entry.place.members)
            key = (who.scheme, who.id, *anonymous)
            people.setdefault(key, who)
            groups.setdefault(key, []).extend(candidates(tree, level, entry, who, assignment))
    hands = [hand for key, found in groups.items() for hand in _hands(people[key], found, roster)]
    return sorted(_distinct(hands, roster), key=lambda handed: handed.student)


def _hands(who: Who, found: list[Candidate], roster: Roster | None) -> list[Hand]:
    """What counts of what goes by one name: mostly one file, of several students one each."""
    own, others = separated(who, found, roster)
    hands = [_hand(who, own, roster)] if own else []
    hands += [_hand(Who("file", ""), part, roster) for part in others]
    return [_noted(hand, [h for h in hands if h is not hand]) for hand in hands]


def _noted(hand: Hand, others: list[Hand]) -> Hand:
    if not others:
        return hand
    note = f"more than one file goes by this name, and they name different students; {_see(others)}"
    return replace(hand, handed=replace(hand.handed, notes=(*hand.handed.notes, note)))


def _hand(who: Who, found: list[Candidate], roster: Roster | None) -> Hand:
    """What counts of what one name stands for, under a key of its own."""
    best, seen, notes = chosen(found)
    name = "" if re.fullmatch(r"participant", who.name, re.I) else who.name
    text = f"{who.name}_{who.id}" if who.scheme in PLATFORMS else who.id
    handed = Handed(safe(text), shown(name), best.shown, notes, "" if seen else best.problem,
                    best.place if seen else None)  # fmt: skip
    if who.scheme in PLATFORMS:
        student = _matched(roster, who) if roster else None
        return Hand(handed, Evidence.PLATFORM, student, seen)
    student = roster.find(who.id) if roster and who.id else None
    if student or who.scheme in FOLDERS or (who.id and roster is None):
        return Hand(handed, Evidence.NAME, student, seen)
    return _by_cell(handed, who, roster, seen)


def _matched(roster: Roster, who: Who) -> Student | None:
    """The student of a platform's name; Moodle may put a group and a hyphen before it."""
    if student := roster.match(id=who.id, name=who.name):
        return student
    ends = [who.name[at + 1 :] for at, c in enumerate(who.name) if c == "-"]
    found = [s for end in ends if len(orders(end)) > 1 and (s := roster.match(who.id, name=end))]
    return found[0] if len({s.key for s in found}) == 1 else None


def _by_cell(handed: Handed, who: Who, roster: Roster | None, seen: str) -> Hand:
    """Whose a file is whose name says nothing, or nothing that the roster knows."""
    text = ""
    with suppress(UnreadableError):
        text = claimed(handed.read())
    student = roster.find(text) if roster and text else None
    if who.id and not student:
        return Hand(handed, Evidence.NAME)
    if text:
        note = "the file's name does not say whose it is; the notebook's first cells do"
        notes = (*handed.notes, note)
        handed = replace(handed, student=safe(text), name=shown(text), notes=notes)
        return Hand(handed, Evidence.CELL, student, seen)
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
    for (key, is_known), rivals in sorted(claims.items(), key=lambda claim: claim[0]):
        rivals = _once(rivals)
        is_clear = len(rivals) == 1 or rivals[0].evidence > rivals[1].evidence
        for at, hand in enumerate(rivals):
            notes = [*hand.handed.notes, *_rivalry(key, [r for r in rivals if r is not hand])]
            notes += [UNKNOWN] if roster and not hand.student else []
            handed = replace(hand.handed, notes=tuple(notes))
            if at == 0 and is_clear and is_known:
                yield replace(handed, student=key, name=hand.student.name or handed.name)
            elif at == 0 and is_clear:
                yield replace(handed, student=unique(key, taken))
            else:
                own = f"{handed.student}-{digest(handed.file)}"
                yield replace(handed, student=unique(own, taken))


def _once(rivals: list[Hand]) -> list[Hand]:
    """The strongest evidence first, less notebooks that alone say whose they are and are there
    already, to the last byte.
    """
    kept: list[Hand] = []
    for hand in sorted(rivals, key=lambda hand: (-hand.evidence, hand.handed.file)):
        if hand.evidence != Evidence.CELL or hand.seen not in {other.seen for other in kept}:
            kept.append(hand)
    return kept


def _rivalry(key: str, others: list[Hand]) -> tuple[str, ...]:
    return (f"more than one file may be of {key}; {_see(others)}",) if others else ()


def _see(others: list[Hand]) -> str:
    files = ", ".join(hand.handed.file for hand in others[:3])
    return f"see also {files}{', …' if others[3:] else ''}"
