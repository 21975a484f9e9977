"""How many of the hostile and honest submissions of the tests nbgrader's autograde gets right.

``python benchmarks/homework_nbgrader.py --nbgrader ENVIRONMENT`` grades the submissions of
tests/homework/submissions.py by the book's command and by `nbgrader autograde`, and writes
helpers/data/results/homework_nbgrader.json. ENVIRONMENT is a virtual environment with what
homework/requirements.txt names; without one nothing is done.

nbgrader runs students' code with the teacher's rights. Here it is put into the sandbox of this
book's grader, which is to its advantage: each submission alone, with a copy of the course, as a
user that owns nothing. It is asked for what it can do: the tests that students see, in a notebook
under the right name. On a quiet machine it takes about twenty minutes; on one that is busy, cells
that are right run out of time.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import nbformat
from common import ROOT, about, store_table
from homework_batch import release_into, suite

LIMITS = {"answer": 15, "task": 30, "cpu": 120, "given": 60, "submission": 180}  # of both
FILES = 1024  # MiB that nbgrader may write: it keeps outputs, and the course lies there
CONFIG = f"""
c.Execute.timeout = {LIMITS["answer"]}
c.Execute.iopub_timeout = {LIMITS["answer"]}  # for what a cell prints; 4 is its own choice
"""
SIZES = ("hundred-megabytes", "long-cells")  # refused because of a limit that the book's grader has
LONGEST = 100_000  # bytes of what it says are kept
COURSE = "/course"  # where the sandbox has the course
COMMAND = (
    "import sys; from homework import grade; from homework.run.sandbox import Limits; "
    f"sys.exit(grade.main(sys.argv[1:], Limits(**{LIMITS!r})))"
)
MARKS = """import json, sqlite3
query = ("select base_cell.name, grade.auto_score from grade"
         " join base_cell on base_cell.id = grade.cell_id")
print(json.dumps(sqlite3.connect("/course/gradebook.db").execute(query).fetchall()))"""
RAISED = re.compile(r"^\s*(?:\w+\.)*(\w*(?:Error|Exception|Invalid\w*)):", re.MULTILINE)
COLUMNS = ["case", "what it is", "deserved", "this book's", "nbgrader's"]
NOT_ITS_TASK, WRONG = "not its task", "✗ "
Points = Mapping[str, float]


@dataclass(frozen=True)
class Outcome:
    """What a grader gives: points by task, or None and why."""

    points: dict[str, float] | None
    why: str = ""


# ---------------------------------------------------------------- the cases


def visible(assignment) -> dict[str, float]:
    """Points of each task for tests that students see; tasks without such tests are left out."""
    found = {t.name: sum(x.points for x in t.tests if not x.hidden) for t in assignment.tasks}
    return {name: points for name, points in found.items() if points}


def deserved(one, assignment) -> dict[str, float] | None:
    """Points that a submission deserves for tests that students see; None: it cannot be read.

    Raises: ValueError where the points of a task do not say which of its tests were passed.
    """
    if one.error or not one.points:
        return None
    names = visible(assignment)
    return {task.name: _seen(task, one) for task in assignment.tasks if task.name in names}


def _seen(task, one) -> float:
    sums = {(0.0, 0.0)}  # of visible tests and of all, for each choice of tests
    for test in task.tests:
        seen = 0.0 if test.hidden else test.points
        sums |= {(a + seen, b + test.points) for a, b in sums}
    found = {a for a, b in sums if b == one.points[task.name]}
    if len(found) != 1:
        raise ValueError(f"{one.name}: {one.points[task.name]:g} points of {task.name} may be any "
                         f"of {sorted(found)} for its visible tests")  # fmt: skip
    return found.pop()


def notebook_of(one) -> bytes | None:
    """The file that nbgrader is given, or None where the case is about something else.

    That is finding the right file, telling whose it is, or a limit of the book's own.
    """
    files = one.files()
    ((name, raw), *others) = files.items()
    whose = one.key and one.chapter == "05"  # in 04 and 07 a platform's names
    if others or whose or one.name in SIZES or callable(raw) or not name.endswith(".ipynb"):
        return None
    return raw.replace(b"@PLACES@", b"[]").replace(b"@PORT@", b"9")


# ---------------------------------------------------------------- this book's grader


def ours(cases: Sequence, chapter: str, assignment) -> dict[str, Outcome]:
    """Grade the submissions to a problem set by the book's command. Raises: RuntimeError."""
    with tempfile.TemporaryDirectory() as folder:
        source, course = release_into(Path(folder), chapter)
        for one in cases:
            one.plant(source, PLACES="[]", PORT="9")
        argv = [sys.executable, "-c", COMMAND, str(source), "--assignment", chapter]
        argv += ["--course", str(course), "--workers", "2"]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the book's grader failed: {(done.stdout + done.stderr)[-2000:]}")
        results = course / "grading" / chapter / "results"
        return {one.name: our_outcome(results / f"{one.student}.json", assignment) for one in cases}


def our_outcome(path: Path, assignment) -> Outcome:
    """What the gradebook has, for tests that students see."""
    record = json.loads(path.read_text("utf-8"))
    if record["error"]:
        return Outcome(None, "not readable")
    points = dict.fromkeys(visible(assignment), 0.0)
    for result in record["results"]:
        if not result["hidden"]:
            points[result["task"]] += result["points"]
    return Outcome(points)


# ---------------------------------------------------------------- nbgrader


class Nbgrader:
    """nbgrader in an environment of its own, with a course for each problem set."""

    def __init__(self, environment: Path, scratch: Path):
        self.environment, self.scratch = environment.resolve(), scratch
        self.courses: dict[str, Path] = {}

    def version(self) -> str:
        """Of nbgrader. Raises: ValueError where the environment has none."""
        program = "from importlib.metadata import version; print(version('nbgrader'))"
        python = self.environment / "bin" / "python"
        try:
            done = subprocess.run([python, "-Ic", program], capture_output=True, text=True)
        except OSError as error:
            raise ValueError(f"{self.environment} must be a virtual environment: {error}") from None
        if done.returncode:
            raise ValueError(f"there is no nbgrader in {self.environment}")
        return done.stdout.strip()

    def prepare(self, chapter: str, assignment) -> None:
        """Make the course of a problem set as a teacher does. Raises: RuntimeError."""
        from homework.release.edition import edition

        course = self.courses[chapter] = self.scratch / chapter
        (course / "source" / chapter).mkdir(parents=True)
        nbformat.write(edition(assignment), course / "source" / chapter / f"{chapter}.ipynb")
        config = (ROOT / "homework" / "nbgrader_config.py").read_text("utf-8") + CONFIG
        (course / "nbgrader_config.py").write_text(config, "utf-8")
        _open(course)
        status, log = self._run(course, ["-m", "nbgrader", "generate_assignment", chapter])
        if status != 0:
            raise RuntimeError(f"nbgrader generate_assignment failed: {log[-2000:]}")

    def grade(self, raw: bytes, chapter: str, assignment) -> Outcome:
        """What `nbgrader autograde` gives for a notebook, in a fresh copy of the course."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            course = Path(folder) / "course"
            shutil.copytree(self.courses[chapter], course)
            handed = course / "submitted" / "ada" / chapter
            handed.mkdir(parents=True)
            (handed / f"{chapter}.ipynb").write_bytes(raw)
            _open(course)
            autograde = ["-m", "nbgrader", "autograde", chapter, "--student", "ada"]
            status, log = self._run(course, autograde)
            if status != 0:
                return Outcome(None, reason(status, log))
            _, log = self._run(course, ["-Ic", MARKS])
            return marks(log, assignment)

    def _run(self, course: Path, program: Sequence[str]) -> tuple[int | None, str]:
        """Run its Python in the sandbox; the exit status, None when it took too long, the log."""
        process = subprocess.Popen(
            command(self.environment, course, program),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        log = bytearray()
        reader = threading.Thread(target=_keep_the_end, args=(process.stdout, log), daemon=True)
        reader.start()
        try:
            status = process.wait(LIMITS["submission"])
        except subprocess.TimeoutExpired:
            status = None
        finally:
            process.kill()  # and with it all that it started
            process.wait()
        reader.join()
        return status, log.decode("utf-8", "replace")


def _open(course: Path) -> None:
    """Let every user write to a course; in the sandbox it is another one."""
    for path in (course, *course.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)


def _keep_the_end(pipe: IO[bytes], kept: bytearray) -> None:
    """Read what is written until nobody can write any more; students write a lot."""
    with pipe:
        while more := pipe.read1(2**16):
            kept += more
            del kept[:-LONGEST]


def command(environment: Path, course: Path, program: Sequence[str]) -> list[str]:
    """The sandbox's command line, with the environment and a course that can be written to."""
    from homework.run.sandbox import Limits, command

    config = (environment / "pyvenv.cfg").read_text("utf-8")
    base = Path(re.search(r"^home\s*=\s*(.+)$", config, re.MULTILINE)[1]).parent
    argv = command(Limits(**LIMITS, files=FILES), [f"{environment}/bin/python", *program])
    places = []
    for place in {base, environment} - {Path(sys.base_prefix)}:
        for folder in reversed(place.parents[:-1]):
            places += ["--perms", "0755", "--dir", str(folder)]
        places += ["--ro-bind", str(place), str(place)]
    places += ["--bind", str(course), COURSE]
    at = argv.index("--remount-ro")
    argv[argv.index("--chdir") + 1] = COURSE
    argv[argv.index("PATH") + 1] = f"{environment}/bin:{os.defpath}"
    return [*argv[:at], *places, *argv[at:]]


def reason(status: int | None, log: str) -> str:
    """Why nbgrader gave no points, in a few words."""
    if status is None:
        return "timed out"
    if "kernel became unresponsive" in log:
        return "failed: kernel unresponsive"
    if status > 128:
        return "failed: killed"
    found = RAISED.findall(log)
    return f"failed: {found[-1]}" if found else f"failed: status {status}"


def marks(log: str, assignment) -> Outcome:
    """Points by task, from the cells and scores of nbgrader's gradebook; no score is nothing.

    A student's code could write to that gradebook, so what comes from it may be anything.
    """
    try:
        scores = dict(json.loads(log.strip().rpartition("\n")[2]))
        tasks = visible(assignment)
        points = {t: float(scores.get(f"check-{t.replace('.', '-')}") or 0) for t in tasks}
    except (ValueError, TypeError):
        return Outcome(None, "failed: no gradebook")
    return Outcome(points)


def theirs(cases: Sequence, nbgrader: Nbgrader, sets: Mapping) -> dict[str, Outcome]:
    """What nbgrader gives for each case that is its task."""
    found = {}
    for one in cases:
        if (raw := notebook_of(one)) is None:
            continue
        if one.chapter not in nbgrader.courses:
            nbgrader.prepare(one.chapter, sets[one.chapter])
        found[one.name] = nbgrader.grade(raw, one.chapter, sets[one.chapter])
        print(one.name, found[one.name], flush=True)
    return found


# ---------------------------------------------------------------- the table


def is_right(wanted: Points | None, got: Outcome) -> bool:
    """Whether a grader gave what is deserved: for what cannot be read, no points."""
    if wanted is None:
        return got.points is None or not any(got.points.values())
    return got.points == wanted


def shown(wanted: Points | None, got: Outcome) -> str:
    """What a grader gave, with a cross where it is not deserved."""
    text = got.why if got.points is None else as_text(got.points)
    return text if is_right(wanted, got) else WRONG + text


def as_text(points: Points | None) -> str:
    """Points in the order of the tasks."""
    return "no notebook" if points is None else " ".join(f"{p:g}" for p in points.values())


def table(cases: Sequence, sets: Mapping, own: Mapping, other: Mapping) -> dict:
    """What is stored: a row for each case, and the counts."""
    found = []
    for one in cases:
        wanted = deserved(one, sets[one.chapter])
        beside = shown(wanted, other[one.name]) if one.name in other else NOT_ITS_TASK
        found.append([one.name, one.why, as_text(wanted), shown(wanted, own[one.name]), beside])
    return {
        "title": "Homework: beside nbgrader",
        "claim": claim(found),
        "columns": COLUMNS,
        "rows": found,
    }


def claim(rows: list[list[str]]) -> str:
    """The counts, in words."""
    asked = [row for row in rows if row[4] != NOT_ITS_TASK]
    counted = ((rows, 3), (asked, 3), (asked, 4))
    all_right, right, beside = (
        sum(not row[at].startswith(WRONG) for row in chosen) for chosen, at in counted
    )
    return (
        f"Of {len(rows)} submissions, honest and hostile, this book's grader gives {all_right} "
        f"what they deserve. {len(asked)} of them are notebooks that nbgrader can be asked to "
        f"grade (the others are about collecting files, or too large for a limit of this book's); "
        f"of these, nbgrader's autograde gets {beside} right and this book's grader {right}. A "
        f"case counts where the points of all its tasks are those deserved, for the tests that "
        f"students see; hidden tests and free responses are left out. Points stand in the order "
        f"of the tasks, and {WRONG.strip()} marks what is not deserved. nbgrader graded each "
        f"notebook alone in this book's sandbox, without which it runs students' code with the "
        f"teacher's rights; both had {LIMITS['answer']} seconds for a cell and "
        f"{LIMITS['submission']} for a submission"
    )


def main(arguments: list[str] | None = None) -> None:
    """Grade everything by both and store the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--nbgrader", type=Path, help="a virtual environment that has nbgrader")
    parser.add_argument("--only", nargs="+", metavar="CASE", help="these alone; nothing is stored")
    options = parser.parse_args(arguments)
    if options.nbgrader is None:
        print("nothing is done without --nbgrader and an environment that has it")
        return
    known = suite()
    cases = [one for one in known.SUBMISSIONS if not options.only or one.name in options.only]
    sets = {chapter: known.course(chapter) for chapter in sorted({o.chapter for o in cases})}
    with tempfile.TemporaryDirectory() as scratch:
        nbgrader = Nbgrader(options.nbgrader, Path(scratch))
        version = nbgrader.version()
        other = theirs(cases, nbgrader, sets)
    own: dict[str, Outcome] = {}
    for chapter, assignment in sets.items():
        own |= ours([one for one in cases if one.chapter == chapter], chapter, assignment)
    found = table(cases, sets, own, other)
    print(found["claim"], *found["rows"], sep="\n")
    if not options.only:
        made = about(__file__, [], device="CPU")
        made["versions"] |= {"nbgrader": version}
        store_table("homework_nbgrader", made | found)


if __name__ == "__main__":
    main()
