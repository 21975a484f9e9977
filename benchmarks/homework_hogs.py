"""Whether one student's program costs another points, where five of sixty take all they can get.

``python benchmarks/homework_hogs.py [COUNT]`` grades a batch of honest submissions to problem set
05 by the command of the book, with two workers on two cores, and again with five submissions among
them, by the order of names, that hoard memory (of processes, of a file without a disk, of many
together), start 28 processes that compute without end, and answer with an array that its judge
cannot hold. A batch of sixty is stored in helpers/data/results/homework_hogs.json, any other is
shown only. It runs on Linux.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from common import about, store_table
from homework_batch import CHAPTER, WORKERS, Made, batch, graded, is_right, suite

COUNT = 60
FORKS = "import os, time\nfor _ in range({}):\n    if os.fork() == 0:\n        {}\n{}"
HOGS = {
    "hoards-memory": "kept = []\nwhile True: kept.append(bytearray(2**24))",
    "hoards-by-many": FORKS.format(20, "x = bytearray(2**28); time.sleep(600)", "time.sleep(600)"),
    "hides-memory": "import os\nfile = os.memfd_create('x')\n"
    "while True: os.write(file, bytes(2**20))",
    "spins": FORKS.format(28, "while True: pass", "while True: pass"),
    "answers-hugely": "counterexample = np.random.rand(18000, 1)",
}
COLUMNS = ["batch", "honest submissions", "of them as deserved", "seconds in all"]


def hogs() -> list[Made]:
    """Submissions of which the last answer but one is a hog's, the others right."""
    known = suite()
    full = next(one.points for one in known.SUBMISSIONS if one.name == "perfect")
    return [
        Made(name, known.written(known.fill(known.answered({"05.5": source}))), full | {"05.5": 0})
        for name, source in HOGS.items()
    ]


def run(made: list[Made]) -> tuple[float, dict[str, dict], set[str]]:
    """Grade a batch: the seconds it took, each student's results, and whose are as deserved."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        graded(made, Path(folder))
        seconds = time.monotonic() - start
        results = Path(folder) / "course" / "grading" / CHAPTER / "results"
        records = {one.student: json.loads((results / f"{one.student}.json").read_text("utf-8"))
                for one in made}  # fmt: skip
        return seconds, records, {one.student for one in made if is_right(one, results)}


def grades(record: dict) -> list:
    """What of a result is the student's: the points of each test and why there are no others."""
    return [record["error"], *((r["task"], r["test"], r["points"], r["state"])
                               for r in record["results"])]  # fmt: skip


def table(rows: list[list], differ: list[str], lost: list[str]) -> dict:
    """What is stored of both batches."""
    from homework.run import cgroup

    held = cgroup.lacking() or "Each student's processes are held by a cgroup"
    return {
        "title": "Homework: resource hogs in a batch",
        "claim": f"{rows[0][1]} honest submissions to problem set {CHAPTER}, graded without and "
        f"with {len(HOGS)} among them that take all the memory and processor time they can get, by "
        f"{WORKERS} workers: the grades of {len(differ)} honest submissions differ. The hogs that "
        f"have other points than they deserve: {', '.join(lost) or 'none'}. {held}",
        "differ": differ,
        "columns": COLUMNS,
        "rows": rows,
    }


def main(arguments: list[str]) -> None:
    """Grade both batches, and store how they differ, or show it. Raises: RuntimeError."""
    count = int(arguments[0]) if arguments else COUNT
    honest, bad = batch(count - len(HOGS)), hogs()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:WORKERS])  # and all it starts
    rows, found = [], []
    for name, made in (("without hogs", honest), ("with hogs", honest + bad)):
        seconds, records, right = run(made)
        found.append((records, right))
        names = {one.student for one in honest}
        rows.append([name, len(names), len(names & right), round(seconds, 1)])
        print(rows[-1], flush=True)
    (alone, _), (beside, right) = found
    differ = [one.student for one in honest
              if grades(alone[one.student]) != grades(beside[one.student])]  # fmt: skip
    summary = table(rows, differ, [one.student for one in bad if one.student not in right])
    print(summary["claim"])
    if count == COUNT:
        device = f"CPU, {len(os.sched_getaffinity(0))} cores"
        store_table("homework_hogs", about(__file__, [], device=device) | summary)
    if differ:
        raise RuntimeError(f"the grades of {', '.join(differ)} differ")


if __name__ == "__main__":
    main(sys.argv[1:])
