"""What a near miss is."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """What is changed where, and which tests must notice."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()[:40]} → {self.new.strip()[:40]}"
