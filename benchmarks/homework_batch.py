"""How long the grading of 200 submissions takes, and how much memory the grader keeps.

``python benchmarks/homework_batch.py [COUNT]`` copies a perfect and a half-done submission to
problem set 05 for so many students, grades them by the command of the book with two workers on two
cores, and checks every grade. Memory is that of the command and its judges, without the students'
processes in their sandboxes. A batch of 200 is stored in helpers/data/results/homework_batch.json,
any other is only shown. Nothing else should run meanwhile. It runs on Linux.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import psutil
from common import ROOT, about, store_table

CHAPTER = "05"
COUNT, WORKERS = 200, 2
EVERY = 1.0  # seconds between two measurements of memory


def suite() -> ModuleType:
    """The submissions of the tests of homework, and what each deserves."""
    sys.path[:0] = [str(path.parent) for path in ROOT.glob("*/*/submissions.py")] + [str(ROOT)]
    import submissions

    return submissions


def release_into(root: Path, chapter: str) -> tuple[Path, Path]:
    """Release a course with the template's private part; a folder to hand in, and the course's."""
    known = suite()
    from homework.release.course import Course, release

    private, source, course = root / "private", root / "submissions", root / "course"
    shutil.copytree(known.TEMPLATE, private, ignore=shutil.ignore_patterns("__pycache__"))
    release(Course(chapter, known.SEED, str(private)), course)
    source.mkdir()
    return source, course


@dataclass(frozen=True)
class Made:
    """A submission of the batch: its student, the file and the points of each task."""

    student: str
    raw: bytes
    points: Mapping[str, float]


def batch(count: int) -> list[Made]:
    """So many submissions, alternately perfect and half done."""
    known, made = suite(), []
    deserved = {one.name: one.points for one in known.SUBMISSIONS}
    for number in range(count):
        student, half = f"student-{number:03d}", number % 2 == 1
        answers = known.HALF if half else known.answered({})
        raw = known.written(known.fill(answers, student=student))
        made.append(Made(student, raw, deserved["half" if half else "perfect"]))
    return made


def resident(process: psutil.Process) -> int:
    """Bytes of a process and all that it started, without sandboxes and what runs in them."""
    try:
        if process.name() == "bwrap":
            return 0
        return process.memory_info().rss + sum(map(resident, process.children()))
    except psutil.Error:  # it has ended
        return 0


def graded(made: list[Made], root: Path) -> tuple[float, int, int]:
    """Grade a batch by the command: seconds, most bytes in memory, how many grades are right.

    Raises: RuntimeError where the command fails, with what it said.
    """
    source, course = release_into(root, CHAPTER)
    for one in made:
        (source / one.student).mkdir()
        (source / one.student / "05.ipynb").write_bytes(one.raw)
    argv = [sys.executable, "-m", "homework.grade", str(source), "--assignment", CHAPTER]
    argv += ["--course", str(course), "--workers", str(WORKERS)]
    start, most = time.monotonic(), 0
    with (root / "said.txt").open("wb") as said:
        process = subprocess.Popen(argv, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT)
        while process.poll() is None:
            most = max(most, resident(psutil.Process(process.pid)))
            time.sleep(EVERY)
    seconds = time.monotonic() - start
    if process.returncode:
        raise RuntimeError((root / "said.txt").read_text("utf-8")[-2000:])
    results = course / "grading" / CHAPTER / "results"
    return seconds, most, sum(is_right(one, results) for one in made)


def is_right(one: Made, results: Path) -> bool:
    """Whether each task has the points that it deserves."""
    record = json.loads((results / f"{one.student}.json").read_text("utf-8"))
    points: dict[str, float] = {}
    for result in record["results"]:
        points[result["task"]] = points.get(result["task"], 0) + result["points"]
    return not record["error"] and points == dict(one.points)


def main(arguments: list[str]) -> None:
    """Make a batch, grade it, and store the result, or show it. Raises: RuntimeError."""
    count = int(arguments[0]) if arguments else COUNT
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:WORKERS])  # and all it starts
    with tempfile.TemporaryDirectory() as root:
        seconds, most, right = graded(batch(count), Path(root))
    if right != count:
        raise RuntimeError(f"{count - right} of {count} grades are wrong; nothing is stored")
    claim = (
        f"{count} submissions to problem set {CHAPTER}, half of them perfect and half of them half "
        f"done, graded by the command with {WORKERS} workers; all have the grade that they "
        "deserve. Memory is that of the command and its judges, without the students' processes"
    )
    columns = ["submissions", "seconds", "seconds each", "memory at most, MiB"]
    row = [count, round(seconds, 1), round(seconds / count, 2), round(most / 2**20)]
    print(claim, dict(zip(columns, row, strict=True)), sep="\n")
    if count == COUNT:
        made = about(__file__, [], device=f"CPU, {WORKERS} cores")
        made |= {"title": "Homework: a batch", "claim": claim, "columns": columns, "rows": [row]}
        store_table("homework_batch", made)


if __name__ == "__main__":
    main(sys.argv[1:])
