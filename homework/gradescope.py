"""Grade on Gradescope: the zip that an assignment there takes, and what it runs for a hand-in.

    python -m homework.release … --gradescope autograder.zip    writes the zip
    python -m homework.gradescope [FOLDER]                       grades one hand-in, over there

FOLDER is /autograder, as Gradescope lays it out: `source` (the zip), `submission`, `results`.
"""

import io
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from helpers.files import write_bytes, write_text
from homework import grade
from homework.command import command, parser
from homework.release.assignment import ROOT, Assignment, chapter_file
from homework.release.course import Course, released
from homework.report.gradebook import Gradebook, Record
from homework.run import sandbox
from homework.run.judging import Result
from homework.run.sandbox import SandboxError

SETUP = """#!/bin/bash
# Installs what the grader needs; Gradescope runs it once, when the zip is uploaded.
set -e
apt-get update && apt-get install -y bubblewrap curl
curl -LsSf https://astral.sh/uv/install.sh | env UV_INSTALL_DIR=/opt/uv sh
cd /autograder/source
export UV_PYTHON_INSTALL_DIR=/opt/python
/opt/uv/uv venv --python 3.13 .venv
/opt/uv/uv pip install --no-deps --require-hashes --requirement requirements-hashes.txt
/opt/uv/uv pip install --no-deps "$(grep -oE '^torch==[0-9.]+' requirements.txt)" \\
    --index-url https://download.pytorch.org/whl/cpu
"""
RUN = """#!/bin/bash
cd /autograder/source && exec .venv/bin/python -m homework.gradescope /autograder
"""


def write(out: Path, folder: Path, course: Course) -> None:
    """Write the zip. folder: of the course, with the record of the release."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, text in (("setup.sh", SETUP), ("run_autograder", RUN)):
            about = zipfile.ZipInfo(name)
            about.external_attr = 0o755 << 16
            zipped.writestr(about, text)
        for path in _files(course):
            zipped.write(path, path.relative_to(ROOT))
        zipped.write(folder / f"{course.chapter}.json", f"course/{course.chapter}.json")
        if course.private_file is not None and course.private_file.exists():
            zipped.write(course.private_file, f"private/{course.private_file.name}")
    write_bytes(out, made.getvalue())


def _files(course: Course) -> Iterator[Path]:
    """What of the book the grader needs."""
    yield chapter_file(course.chapter)
    names = ("pyproject.toml", "requirements.txt", "requirements-hashes.txt")
    yield from (ROOT / name for name in names)
    for room in ("helpers", "homework"):
        for path in sorted((ROOT / room).rglob("*")):
            if path.is_file() and not {"__pycache__", "private_example", "tests"} & set(path.parts):
                yield path


@command
def main(arguments: list[str] | None = None) -> None:
    """Grade the hand-in of a folder such as /autograder; see the head of this module."""
    asked = parser("homework.gradescope", __doc__)
    asked.add_argument("folder", type=Path, nargs="?", default=Path("/autograder"))
    folder = asked.parse_args(arguments).folder
    source = folder / "source"
    [chapter] = [path.stem for path in (source / "course").glob("*.json")]
    course = released(source / "course", chapter)
    if course.private:
        course = replace(course, private=str(source / "private"))
    with tempfile.TemporaryDirectory() as work:
        record = _graded(course, folder / "submission", Path(work))
    report = results(record, course.assignment())
    write_text(folder / "results" / "results.json", json.dumps(report, indent=1) + "\n")


def _graded(course: Course, submission: Path, work: Path) -> Record:
    shutil.copytree(submission, work / "given" / "student_1_assignsubmission_file_")  # as Moodle's
    write_text(work / "course" / f"{course.chapter}.json", json.dumps(vars(course)))
    arguments = [
        str(work / "given"),
        "--assignment",
        course.chapter,
        "--course",
        str(work / "course"),
        "--workers",
        "1",
    ]
    try:
        sandbox.check()
    except SandboxError as error:  # a container of Gradescope's is used for one hand-in alone
        print(f"graded without a sandbox of its own: {error}")
        arguments.append("--without-sandbox")
    if grade.main(arguments):
        raise RuntimeError("the hand-in could not be graded; see above")
    return Gradebook(work / "course" / "grading" / course.chapter).records()[0]


def results(record: Record, assignment: Assignment) -> dict:
    """What Gradescope shows: a test of its own for each of ours; notes for the teacher alone."""
    tests = [
        {
            "name": f"{one.task}, {_says(one, assignment) if one.hidden else 'the check'}",
            "score": one.points,
            "max_score": one.most,
            "visibility": "visible",
            "output": one.state
            if one.hidden
            else " ".join(filter(None, (f"{one.state}.", one.message, one.raised))),
        }
        for one in record.results
    ]
    if record.notes:
        tests.append(
            {
                "name": "to look at",
                "score": 0,
                "max_score": 0,
                "visibility": "hidden",
                "output": "\n".join(record.notes),
            }
        )
    free = [task.name for task in assignment.tasks if task.free]
    by_hand = f"Marked by a person: {', '.join(free)}." if free else ""
    score = sum(one.points for one in record.results)
    return {"score": score, "output": record.error or by_hand, "tests": tests}


def _says(result: Result, assignment: Assignment) -> str:
    """What a student is told of a hidden test."""
    tests = {(t.name, one.name): one.says for t in assignment.tasks for one in t.tests}
    return tests.get((result.task, result.test)) or "a hidden test"


if __name__ == "__main__":
    sys.exit(main())
