"""Who it is whose name or number a student filled in, which draws the numbers of questions."""

from collections.abc import Iterable
from dataclasses import dataclass

from helpers.exercises import folded

JUDGED = "judged with the numbers of"


@dataclass(frozen=True)
class Names:
    """What students may fill in.

    known: students' keys, by names and numbers that are folded. complete: whether there is nobody
    else in the course.
    """

    known: dict[str, str]
    complete: bool = False

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], *, complete: bool = False) -> "Names":
        """Of pairs of a name and a key, without names that two students have."""
        keys: dict[str, set[str]] = {}
        for name, key in pairs:
            keys.setdefault(folded(name), set()).add(key)
        return cls({n: min(k) for n, k in keys.items() if n and len(k) == 1}, complete)

    def whose(self, typed: str, student: str) -> tuple[str, tuple[str, ...]]:
        """By which name a student's numbers are drawn, and what is to be noted on it."""
        name = folded(typed)
        if not name:
            return student, (f"no name or number was filled in at the top; {JUDGED} {student}",)
        if self.known.get(name, student) != student:
            return student, (
                f"{typed!r} was filled in, which is somebody else's; {JUDGED} {student}",
            )
        if name not in self.known and self.complete:
            return name, (f"{typed!r} was filled in, who is not in the roster; {JUDGED} that name",)
        return name, ()

    def others(self, student: str) -> dict[str, str]:
        """The other students, by each of their names."""
        return {name: key for name, key in self.known.items() if key != student}
