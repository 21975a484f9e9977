"""How long the grading of 200 submissions takes, and how much memory the grader keeps.

``python benchmarks/homework_batch.py [COUNT]`` makes a batch by varying a perfect and a half-done
submission to problem set 05, grades it by the command of the book with two workers on two cores,
and checks every grade. Memory is that of the command and its judges, without the students'
processes in their sandboxes. A batch of 200 is stored in helpers/data/results/homework_batch.json,
any other is shown only. Nothing else should be at work meanwhile: the load of the machine before
and after is shown, too. It runs on Linux.
"""

import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import psutil
from common import ROOT, about, store_table

CHAPTER = "05"
COUNT, WORKERS = 200, 2
STEP = 25  # submissions a row of the table
EVERY = 1.0  # seconds between two looks at the memory
MIB = 2**20
FIRST = (
    "ada",
    "ben",
    "cleo",
    "dan",
    "eva",
    "finn",
    "gita",
    "hugo",
    "ines",
    "jonas",
    "kim",
    "lena",
    "mira",
    "noah",
    "olga",
    "paul",
    "rosa",
    "sami",
    "tara",
    "yuki",
)
LAST = (
    "abel",
    "brandt",
    "costa",
    "diaz",
    "evans",
    "fischer",
    "gupta",
    "haddad",
    "ito",
    "jansen",
)
REMARKS = ("my answer", "second try", "from the lecture", "see section 3", "checked by hand")
COLUMNS = ["graded", "seconds since the start", "memory on average, MiB", "at most, MiB"]


def suite() -> ModuleType:
    """homework/tests/submissions.py: submissions, and what each deserves."""
    for folder in (ROOT / "homework" / "tests", ROOT):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
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


# ---------------------------------------------------------------- the batch


@dataclass(frozen=True)
class Made:
    """A submission of the batch: its student, the file and the points of each task."""

    student: str
    raw: bytes
    points: Mapping[str, float]


def batch(count: int) -> list[Made]:
    """The first so many submissions; the odd ones are half done. Raises: ValueError, too many."""
    if not 1 <= count <= len(FIRST) * len(LAST):
        raise ValueError(f"count must be from 1 to {len(FIRST) * len(LAST)}, got {count}")
    return [_made(number) for number in range(count)]


def _made(number: int) -> Made:
    """Some tasks of a perfect or a half-done submission, spelt in a way of its own."""
    known, rng = suite(), random.Random(number)
    student = f"{FIRST[number % len(FIRST)]}-{LAST[number // len(FIRST)]}"
    half = number % 2 == 1
    kind = "half" if half else "perfect"
    answers = known.HALF if half else known.answered({})
    deserved = next(o.points for o in known.SUBMISSIONS if o.name == kind)
    kept = {task for task in answers if rng.random() < (0.75 if half else 0.9)}
    filled = {
        task: spelt(source, rng) if task in deserved else f"{source} ({student})"
        for task, source in answers.items()
        if task in kept
    }
    raw = known.written(known.fill(filled, student=student))
    return Made(student, raw, {task: p if task in kept else 0 for task, p in deserved.items()})


def spelt(source: str, rng: random.Random) -> str:
    """The same program with other names, other spaces or a remark."""
    if rng.random() < 0.5:
        tree = ast.parse(source)
        word = rng.choice(("_", "_own", "_2", "_x"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                _rename(node, word)
        source = ast.unparse(tree)
    return f"# {rng.choice(REMARKS)}\n{source}" if rng.random() < 0.5 else source


def _rename(function: ast.FunctionDef, word: str) -> None:
    """Give what is bound inside a function another name."""
    inside = [node for part in function.body for node in ast.walk(part)]
    arguments = [node for node in ast.walk(function) if isinstance(node, ast.arg)]
    names = [node for node in inside if isinstance(node, ast.Name)]
    own = {n.arg for n in arguments} | {n.id for n in names if isinstance(n.ctx, ast.Store)}
    for node in arguments:
        node.arg += word
    for node in names:
        if node.id in own:
            node.id += word


# ---------------------------------------------------------------- memory


@dataclass(frozen=True)
class Look:
    """What is seen at a moment: seconds since the start, submissions graded, bytes in memory."""

    seconds: float
    graded: int
    memory: int


def resident(process: psutil.Process) -> int:
    """Bytes of a process and all that it started, without sandboxes and what runs in them."""
    try:
        if process.name() == "bwrap":
            return 0
        return process.memory_info().rss + sum(map(resident, process.children()))
    except psutil.Error:  # it has ended
        return 0


def watched(process: subprocess.Popen, results: Path) -> Iterator[Look]:
    """Look now and then until the process ends.

    A process that is about to become a sandbox looks, for a millisecond, like a second judge; so
    of three looks the least counts.
    """
    start = time.monotonic()
    while process.poll() is None:
        graded = len(list(results.glob("[!.]*.json")))
        memory = min(_after(wait, process.pid) for wait in (0, 0.02, 0.02))
        if memory:
            yield Look(time.monotonic() - start, graded, memory)
        time.sleep(EVERY)
    yield Look(time.monotonic() - start, len(list(results.glob("[!.]*.json"))), 0)


def _after(seconds: float, pid: int) -> int:
    time.sleep(seconds)
    try:
        return resident(psutil.Process(pid))
    except psutil.Error:
        return 0


# ---------------------------------------------------------------- what comes of it


def graded(made: list[Made], root: Path) -> tuple[list[Look], int]:
    """Grade a batch by the command; what was seen on the way, and how many grades are right.

    Raises: RuntimeError where the command fails, with what it said.
    """
    source, course = release_into(root, CHAPTER)
    for one in made:
        (source / one.student).mkdir()
        (source / one.student / "05.ipynb").write_bytes(one.raw)
    argv = [sys.executable, "-m", "homework.grade", str(source), "--assignment", CHAPTER]
    argv += ["--course", str(course), "--workers", str(WORKERS)]
    folder = course / "grading" / CHAPTER
    with (root / "said.txt").open("wb") as said:
        process = subprocess.Popen(argv, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT)
        looks = list(watched(process, folder / "results"))
    if process.returncode:
        raise RuntimeError((root / "said.txt").read_text("utf-8")[-2000:])
    return looks, sum(is_right(one, folder / "results") for one in made)


def is_right(one: Made, results: Path) -> bool:
    """Whether each task has the points that it deserves."""
    record = json.loads((results / f"{one.student}.json").read_text("utf-8"))
    points: dict[str, float] = {}
    for result in record["results"]:
        points[result["task"]] = points.get(result["task"], 0) + result["points"]
    return not record["error"] and points == dict(one.points)


def rows(looks: list[Look], count: int) -> list[list]:
    """A row for every STEP submissions, and one for the pages and tables that follow the last."""
    found = []
    ends = [*range(STEP, count, STEP), count]
    for first, end in zip([0, *ends], ends, strict=False):
        reached = next(look.seconds for look in looks if look.graded >= end)
        within = [look for look in looks if first <= look.graded < end and look.memory]
        found.append([end, round(reached, 1), *_memory(within)])
    pages = [look for look in looks if look.graded >= count and look.memory]
    return [*found, ["pages and tables", round(looks[-1].seconds, 1), *_memory(pages)]]


def _memory(looks: list[Look]) -> list:
    """Mean and maximum in MiB, None where nobody looked."""
    amounts = [look.memory / MIB for look in looks]
    return [round(sum(amounts) / len(amounts)), round(max(amounts))] if amounts else [None, None]


def table(found: list[list], right: int) -> dict:
    """What is stored of a batch; all numbers come from the rows."""
    *steps, last = found
    count, memory = steps[-1][0], {row[0]: row[2] for row in steps}
    most = max(row[3] for row in found if row[3] is not None)
    at = next((end for end in memory if end >= 50), count)
    return {
        "title": "Homework: a batch",
        "claim": f"{count} submissions to problem set {CHAPTER}, half of them made by varying a "
        f"perfect one and half by varying a half-done one, graded by the command with {WORKERS} "
        f"workers: {last[1]:.0f} s in all, {last[1] / count:.2f} s each. {right} of {count} have "
        f"the grade that they deserve. The command and its judges together (without the students' "
        f"processes) take {memory[at]} MiB of memory up to submission {at}, {memory[count]} MiB up "
        f"to submission {count}, and never more than {most} MiB. Each row is about the "
        f"submissions since the row above",
        "right": right,
        "columns": COLUMNS,
        "rows": found,
    }


def main(arguments: list[str]) -> None:
    """Make a batch, grade it, and store what was seen, or show it. Raises: RuntimeError."""
    count = int(arguments[0]) if arguments else COUNT
    made = batch(count)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:WORKERS])  # and all it starts
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as root:
        looks, right = graded(made, Path(root))
    found = table(rows(looks, count), right)
    print(found["claim"], *found["rows"], sep="\n")
    print(f"load before and after: {before:.1f}, {os.getloadavg()[0]:.1f}")
    if right != count:
        raise RuntimeError(f"{count - right} of {count} grades are wrong; nothing is stored")
    if count == COUNT:
        device = f"CPU, {len(os.sched_getaffinity(0))} cores"
        store_table("homework_batch", about(__file__, [], device=device) | found)


if __name__ == "__main__":
    main(sys.argv[1:])
