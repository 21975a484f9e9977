"""What is known of an assignment's grades, on disk: a folder that can be read with any editor.

    course/grading/05/
        results/ada.json    what came of a submission, one file a student
        marks.csv           points that a person gave: free responses, appeals
        grades.csv, feedback/, summary.html, …   made from these, anew in each run

A file is written whole or not at all. One grader at a time works in the folder; another waits.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from filelock import BaseFileLock, FileLock

from helpers.files import write_text
from homework.intake import tables
from homework.release.assignment import Assignment
from homework.run.judging import Result

MARKS = ("student", "task", "points", "of", "automatic", "answer", "remark")
MARKED = "marks.csv"
EARLIER = "an earlier answer had {}"


@dataclass(frozen=True)
class Record:
    """What came of a submission.

    key: of what was graded and with which tests; the same key need not be graded again. error: why
    there is nothing to grade, or "". notes: on the file. looks: for the teacher alone. before,
    answers: the student's own cells before the first task, and of each. responses: answers that a
    person marks. when: the day and time of grading. tests: the fingerprint of those it was judged
    by. ours: whether an error is the grader's fault. order: of the file, as `HandIn` has it. seen:
    digests of the files that were collected, this one last. late: whether the platform calls it so.
    numbers: the name by which its own numbers were drawn, or "".
    """

    student: str
    name: str
    file: str
    key: str
    error: str = ""
    notes: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    results: tuple[Result, ...] = ()
    before: tuple[str, ...] = ()
    answers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    responses: dict[str, str] = field(default_factory=dict)
    when: str = ""
    tests: str = ""
    ours: bool = False
    order: tuple[str, float] = ("", 0.0)
    seen: tuple[str, ...] = ()
    late: bool = False
    numbers: str = ""

    def is_later_than(self, order: tuple[str, float], content: str) -> bool:
        """Whether another file came before this one: by what the platform numbers or dates them by,
        else by having been collected before.
        """
        if order[0] and order[0] == self.order[0] and order[1] != self.order[1]:
            return order[1] < self.order[1]
        return content != "" and content in self.seen[:-1]

    def points(self) -> dict[str, float]:
        """Of each task that was judged by its tests."""
        found: dict[str, float] = {}
        for result in self.results:
            found[result.task] = found.get(result.task, 0.0) + result.points
        return found


@dataclass(frozen=True)
class Mark:
    """Points that a person gave, or is asked for (None); `answer` is the response's fingerprint."""

    student: str
    task: str
    points: float | None
    possible: float
    automatic: str = ""
    answer: str = ""
    remark: str = ""


class Gradebook:
    """The folder of an assignment's grades."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.results = folder / "results"
        self.results.mkdir(parents=True, exist_ok=True)

    def lock(self, timeout: float = -1) -> BaseFileLock:
        """Held by the one grader that works here. Raises: filelock.Timeout after some seconds."""
        return FileLock(self.folder / ".lock", timeout=timeout)

    def get(self, student: str) -> Record | None:
        """What is known of a student's submission; None where there is nothing whole."""
        try:
            data = json.loads((self.results / f"{student}.json").read_text("utf-8"))
            given = data.pop("results")
            results = tuple(Result(**r | {"fits": tuple(r.get("fits", ()))}) for r in given)
            data |= {
                n: tuple(data[n])
                for n in data.keys() & {"notes", "looks", "order", "seen", "before"}
            }
            data["answers"] = {task: tuple(cells) for task, cells in data["answers"].items()}
            return Record(**data, results=results)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def put(self, record: Record) -> None:
        """Keep what came of a submission in the place of what was there, and what was seen then."""
        known = self.get(record.student)
        earlier = (c for c in (known.seen if known else ()) if c not in record.seen)
        record = replace(record, seen=(*earlier, *record.seen))
        text = json.dumps(asdict(record), indent=1, ensure_ascii=True)
        write_text(self.results / f"{record.student}.json", text + "\n")

    @property
    def tried(self) -> str:
        """The fingerprint of the tests that were last tried on the solutions here, or ""."""
        path = self.folder / "tried.txt"
        return path.read_text("utf-8").strip() if path.exists() else ""

    @tried.setter
    def tried(self, version: str) -> None:
        write_text(self.folder / "tried.txt", f"{version}\n")

    def records(self) -> list[Record]:
        """All that is known, by student. Raises: ValueError that names a file that is damaged."""
        found = []
        for path in sorted(self.results.glob("[!.]*.json")):
            record = self.get(path.stem)
            if record is None:
                raise ValueError(
                    f"{path} is damaged, or of a newer version of the grader; delete it and grade "
                    f"{path.stem} again"
                )
            found.append(record)
        return found

    # ------------------------------------------------------------ points that a person gave

    def marks(self, path: Path | None = None) -> dict[tuple[str, str], Mark]:
        """What stands in marks.csv. Raises: ValueError that names the line that cannot be read."""
        path = path or self.folder / MARKED
        if not path.exists():
            return {}
        found = {}
        table = tables.read(path, MARKS, "cp1252")  # as Excel saves on Windows
        if missing := {"student", "task", "points"} - set(tables.folded(table.header)):
            raise ValueError(
                f"{path} has no column {', '.join(sorted(missing))}; its first line is "
                f"{','.join(MARKS)} (delete the file to start anew)"
            )
        for line, row in table.named():
            mark = _mark(row, line, path)
            if (mark.student, mark.task) in found:
                raise ValueError(f"{path}, line {line}: {mark.student} has {mark.task} twice")
            found[mark.student, mark.task] = mark
        return found

    def _of_markers(self, marks: dict[tuple[str, str], Mark]) -> None:
        """Add the points of other markers' files, marks-NAME.csv, where there are none yet.

        Says where two differ; then marks.csv has to decide, and counts.
        """
        given: dict[tuple[str, str], list[tuple[str, Mark]]] = {}
        for path in sorted(self.folder.glob("marks-*.csv")):
            for key, mark in self.marks(path).items():
                if mark.points is not None:
                    given.setdefault(key, []).append((path.name, mark))
        for key, by in sorted(given.items()):
            decided = marks.get(key)
            if decided is not None and decided.points is not None:
                by = [(MARKED, decided), *by]
            elif len({mark.points for _, mark in by}) == 1:
                marks[key] = by[0][1]
            if len({mark.points for _, mark in by}) > 1:
                said = ", ".join(f"{name} has {mark.points:g}" for name, mark in by)
                counts = "counts" if by[0][0] == MARKED else "has to decide"
                print(f"{', '.join(key)}: {said}; {MARKED} {counts}")

    def update_marks(self, records: Iterable[Record], assignment: Assignment) -> dict:
        """Ask for the points of each free response, keep what was given, and write marks.csv."""
        marks = self.marks()
        self._of_markers(marks)
        _check(marks, assignment, self.folder / MARKED)
        for record in records:
            automatic = record.points()
            for task in assignment.tasks:
                key = record.student, task.name
                if task.free and task.name in record.responses:
                    marks[key] = _asked(marks.get(key), record, task)
                elif key in marks:
                    earned = f"{automatic.get(task.name, 0.0):g}"
                    mark = marks[key] if record.ours else _asked(marks[key], record, task)
                    marks[key] = replace(mark, possible=task.points, automatic=earned)
        rows = [_row(marks[key]) for key in sorted(marks)]
        if rows or (self.folder / MARKED).exists():
            write_text(self.folder / MARKED, tables.text(MARKS, rows))
        return marks


def digest(raw: bytes | None) -> str:
    """What tells the content of a file from others; "" where it could not be read."""
    return "" if raw is None else hashlib.sha256(raw).hexdigest()[:20]


def _mark(row: dict, line: int, path: Path) -> Mark:
    def number(name: str) -> float | None:
        text = (row.get(name) or "").strip().replace(",", ".")
        return float(text) if text else None

    try:
        points, possible = number("points"), number("of")
        if not row["student"] or not row["task"] or (points is not None and not 0 <= points < 1e6):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"{path}, line {line}: a mark has student, task and points from 0 on (or none yet); "
            f"found {row}"
        ) from None
    texts = {name: (row.get(name) or "").strip() for name in ("automatic", "answer", "remark")}
    task = row["task"].strip()
    task = f"0{task}" if re.fullmatch(r"\d\.\d+", task) else task  # as a spreadsheet leaves 05.1
    return Mark(row["student"].strip(), task, points, possible or 0.0, **texts)


def _check(marks: dict[tuple[str, str], Mark], assignment: Assignment, path: Path) -> None:
    most = {task.name: task.points for task in assignment.tasks}
    for (student, task), mark in marks.items():
        if task in most and mark.points is not None and mark.points > most[task]:
            raise ValueError(f"{path}: {student} has {mark.points:g} of {most[task]:g} for {task}")


def _asked(mark: Mark | None, record: Record, task) -> Mark:
    """The mark of an answer; points for an earlier answer are asked for again."""
    text = record.responses.get(task.name, "\0".join(record.answers.get(task.name, ())))
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    answer = f"r{digest[:10]}"  # with a letter, or a spreadsheet may take it for a number
    if mark is None:
        return Mark(record.student, task.name, None, task.points, answer=answer)
    if mark.answer in ("", answer) or mark.points is None:
        return replace(mark, possible=task.points, answer=answer)
    remark = "; ".join(filter(None, [EARLIER.format(f"{mark.points:g}"), mark.remark]))
    return replace(mark, points=None, possible=task.points, answer=answer, remark=remark)


def _row(mark: Mark) -> list[str]:
    points = "" if mark.points is None else f"{mark.points:g}"
    texts = [mark.automatic, mark.answer, mark.remark]
    return [mark.student, mark.task, points, f"{mark.possible:g}", *texts]


def points_by_task(
    record: Record, assignment: Assignment, marks: Mapping
) -> dict[str, float | None]:
    """Points of each task: a person's where there are any, else the tests'.

    None waits for a person, or, where the grader failed, for a run in which it does not.
    """
    automatic = record.points()
    found: dict[str, float | None] = {}
    for task in assignment.tasks:
        mark = marks.get((record.student, task.name))
        waits = record.ours or (task.free and task.name in record.responses)
        found[task.name] = None if waits else automatic.get(task.name, 0.0)
        if mark is not None and mark.points is not None:
            found[task.name] = mark.points
    return found
