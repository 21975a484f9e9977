"""The folder of a run: its records, a line of JSON each, its checkpoints, and a lock."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout

from helpers import files
from helpers.training import checkpoints
from helpers.training.checkpoints import Checkpoint

RECORDS, LOCK = "records.jsonl", ".lock"


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One step, number 0 first.

    loss (nats, mean over the batch) and gradient_norm (before clipping) are of the model before
    the update; rate is the learning rate of the update as a fraction of its peak; validation,
    where it was measured, is the loss after it, over the validation split or a fixed sample of it.
    seconds: spent on training so far, without evaluation and saving; two records that differ in it
    alone are equal.
    """

    step: int
    loss: float
    gradient_norm: float
    rate: float
    validation: float | None = None
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a run: a record for each step made, and whether it was interrupted."""

    records: tuple[StepRecord, ...]
    interrupted: bool = False


class RunFolder:
    """extra: JSON stored in each checkpoint."""

    def __init__(self, path: Path, extra: Mapping | None = None):
        json.dumps(extra)  # raises now, and not at the first checkpoint, if it is not JSON
        self.path, self.extra = path, dict(extra or {})
        self.lines: IO[str] | None = None
        self.lock = FileLock(path / LOCK)

    def open(self, *, resume: bool, write: bool) -> Checkpoint | None:
        """The last checkpoint, if a run is to be resumed; locks the folder, if it is to be written.

        Raises ValueError where another run is using the folder, or has left a checkpoint that is
        not to be resumed; CheckpointError where there is none to resume.
        """
        if write:
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                self.lock.acquire(timeout=0)
            except Timeout:
                raise ValueError(
                    f"another run is using {self.path}: wait for it, or take another folder"
                ) from None
            checkpoints.remove_partials(self.path)
        if resume:
            return checkpoints.load(self.path)
        if write and (found := checkpoints.list_checkpoints(self.path)):
            raise ValueError(f"{found[-1]} is of another run: resume it, or take another folder")
        return None

    def write(self, records: Iterable[StepRecord]) -> None:
        """Start the file of records anew with these, open for more."""
        files.write_text(self.path / RECORDS, "".join(map(_line, records)))
        self.lines = open(self.path / RECORDS, "a", encoding="utf-8")  # noqa: SIM115

    def append(self, record: StepRecord) -> None:
        """Add a line."""
        if self.lines is not None:
            self.lines.write(_line(record))
            self.lines.flush()

    def save(self, **parts: Any) -> None:
        """Write a checkpoint of these parts."""
        checkpoints.save(self.path, Checkpoint(extra=self.extra, **parts))

    def close(self) -> None:
        """Close the file of records, and unlock the folder."""
        try:
            if self.lines is not None:
                self.lines.close()
        finally:
            self.lock.release()


def _line(record: StepRecord) -> str:
    return json.dumps(asdict(record)) + "\n"
