"""Whether files under one name are several students', by the cells that say who they are.

    separated(who, found, roster)   the files that are the name's own, and those of each other one

Many students call their file alike, and a folder may be a group's and not a student's. A name that
a platform gives is certain; so is a folder or zip in which one file says what its name says, for a
student may keep another's file there.
"""

from collections.abc import Iterable

from homework.archive import Place, UnreadableError, chunks
from homework.attempts import Candidate, is_notebook
from homework.filenames import CERTAIN, Who
from homework.roster import Roster, fold, orders
from homework.studentcell import MOST_NOTEBOOK, claimed

MOST_BYTES = 256 * 2**20  # of the files under one name in which students' names are looked for


def separated(
    who: Who, found: list[Candidate], roster: Roster | None
) -> tuple[list[Candidate], list[list[Candidate]]]:
    """The files that are the name's own, and those of each other student that they name.

    All are the name's own where they name one student or none. Else those are that name nobody, or
    the student whom the name may mean.
    """
    if who.scheme in CERTAIN or sum(map(is_notebook, found)) < 2:
        return found, []
    claims = _settled(who, found, _claims(found), roster)
    meant = _meant(who, set(claims.values()) - {""}, roster)
    own: list[Candidate] = []
    others: dict[object, list[Candidate]] = {}
    for candidate in found:
        claim = claims[candidate.place]
        if not claim or claim in meant:
            own.append(candidate)
        else:
            others.setdefault(_person(claim, roster), []).append(candidate)
    if len(others) + bool(meant) < 2:
        return found, []
    return own, list(others.values())


def _claims(found: list[Candidate]) -> dict[Place, str]:
    """Whom each file names, "" where it names nobody or is no notebook."""
    claims, left = {}, MOST_BYTES
    for candidate in found:
        data = b""
        if is_notebook(candidate) and not candidate.problem and left > 0:
            data = _read(candidate.place)
        left -= len(data)
        claims[candidate.place] = claimed(data)
    return claims


def _read(place: Place) -> bytes:
    """A file's bytes, or enough of them to see that it is too large; none where it is damaged."""
    data = bytearray()
    try:
        for chunk in chunks(place):
            data += chunk
            if len(data) > MOST_NOTEBOOK:
                break
    except UnreadableError:
        return b""
    return bytes(data)


def _settled(
    who: Who, found: list[Candidate], claims: dict[Place, str], roster: Roster | None
) -> dict[Place, str]:
    """The claims, with one for all files of a folder or zip that can be a single student's."""
    settled = dict(claims)
    inside: dict[Place, list[Candidate]] = {}
    for candidate in found:
        inside.setdefault(candidate.entry, []).append(candidate)
    for entry, files in inside.items():
        told = {claims[c.place] for c in files} - {""}
        if not told or all(c.place == entry for c in files):
            continue
        is_known = who.scheme == "folder" and roster is not None and roster.find(who.id)
        if is_known or any(_agrees(who, claim, roster) for claim in told):
            one = who.id
        elif _is_anyone_apart(told):
            continue
        else:
            one = max((c for c in files if claims[c.place]), key=lambda c: c.rank)
            one = claims[one.place]
        settled |= dict.fromkeys((c.place for c in files), one)
    return settled


def _meant(who: Who, told: set[str], roster: Roster | None) -> set[str]:
    """The claims of the one student whom a file's name may mean; none where it may mean several."""
    near = {claim for claim in told if _agrees(who, claim, roster)}
    words = [_words(claim) for claim in near]
    if all(a <= b or b <= a for a in words for b in words):
        return near
    named = roster.find(who.id) if roster else None
    return {claim for claim in near if named and roster.find(claim) == named}


def _agrees(who: Who, claim: str, roster: Roster | None) -> bool:
    """Whether a file's name may mean the student whom a cell names."""
    named, told = (roster.find(text) if roster else None for text in (who.id, claim))
    if named and told:
        return named == told
    a, b = _words(who.id), _words(claim)
    unspaced = [{form.replace(" ", "") for form in orders(text)} for text in (who.id, claim)]
    return bool(a and b) and (a <= b or b <= a or bool(unspaced[0] & unspaced[1]))


def _person(claim: str, roster: Roster | None) -> object:
    """The same for two claims that name one student."""
    student = roster.find(claim) if roster else None
    return student.key if student else frozenset(orders(claim) or {claim})


def _is_anyone_apart(told: Iterable[str]) -> bool:
    """Whether two claims have no word in common; else one student may have written them all."""
    words = [_words(claim) for claim in told]
    return any(not a & b for a in words for b in words)


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(text).split())
