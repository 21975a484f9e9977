"""How long the grading of 200 submissions takes, and how much memory the grader keeps.

``python benchmarks/homework_batch.py [COUNT]`` copies a perfect and a half-done submission to
problem set 05 for so many students, grades them by the command of the book with two workers on two
cores, and checks every grade. Memory is that of the command and its judges, without the students'
processes in their sandboxes. A batch of 200 is stored in helpers/data/results/homework_batch.json,
any other is only shown. Nothing else should run meanwhile. It runs on Linux.
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from common import ROOT, about, store_table

CHAPTER = "05"
COUNT, WORKERS = 200, 2
EVERY = 1.0  # seconds between two measurements of memory


def batch(count: int, root: Path) -> dict[str, float]:
    """Release a course, and hand in alternately perfect and half done; all points by student."""
    sys.path[:0] = [str(ROOT / "homework" / "tests"), str(ROOT)]
    from test_hand_ins import HAND_INS, TEMPLATE

    from homework.release.course import Course, release

    private = root / "private"
    shutil.copytree(TEMPLATE, private, ignore=shutil.ignore_patterns("__pycache__"))
    release(Course(CHAPTER, "suite", str(private)), root / "course")
    known = {one.name: one for one in HAND_INS}
    deserved = {}
    for number in range(count):
        student, one = f"student-{number:03d}", known["half" if number % 2 else "perfect"]
        (root / "submissions" / student).mkdir(parents=True)
        (root / "submissions" / student / "05.ipynb").write_bytes(one.notebook())
        deserved[student] = sum(one.points.values())
    return deserved


def resident(process: psutil.Process) -> int:
    """Bytes of a process and all that it started, without sandboxes and what runs in them."""
    try:
        if process.name() == "bwrap":
            return 0
        return process.memory_info().rss + sum(map(resident, process.children()))
    except psutil.Error:  # it has ended
        return 0


def graded(root: Path) -> tuple[float, int]:
    """Grade a batch by the command: seconds, and most bytes in memory.

    Raises: RuntimeError where the command fails, with what it said.
    """
    argv = [sys.executable, "-m", "homework.grade", str(root / "submissions")]
    argv += ["--assignment", CHAPTER, "--course", str(root / "course"), "--workers", str(WORKERS)]
    start, most = time.monotonic(), 0
    with (root / "said.txt").open("wb") as said:
        process = subprocess.Popen(argv, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT)
        while process.poll() is None:
            most = max(most, resident(psutil.Process(process.pid)))
            time.sleep(EVERY)
    seconds = time.monotonic() - start
    if process.returncode:
        raise RuntimeError((root / "said.txt").read_text("utf-8")[-2000:])
    return seconds, most


def main(arguments: list[str]) -> None:
    """Make a batch, grade it, and store the result, or show it. Raises: RuntimeError."""
    count = int(arguments[0]) if arguments else COUNT
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:WORKERS])  # and all it starts
    with tempfile.TemporaryDirectory() as folder:
        deserved = batch(count, Path(folder))
        seconds, most = graded(Path(folder))
        table = Path(folder, "course", "grading", CHAPTER, "grades.csv").read_text("utf-8")
    totals = {row["student"]: float(row["total"]) for row in csv.DictReader(table.splitlines())}
    if totals != deserved:
        raise RuntimeError("some grades are wrong; nothing is stored")
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
