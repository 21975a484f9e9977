"""The walk-through of the page "For teachers": run its commands with an invented class of eight.

    python -m homework.walkthrough FOLDER      writes what the page shows: book/walkthrough

The commands are run as they stand, in a folder of their own; only the name of that folder is taken
off what they print. A test runs them again and holds the page to what comes out.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import nbformat

from helpers.files import write_text
from homework.command import command, parser
from homework.release.assignment import ROOT
from homework.release.course import Course
from homework.release.edition import edition

STUDENTS = {  # who hands in what, under a name as Canvas makes it
    "Ada Lovelace": "lovelaceada_101_9001_05.ipynb",
    "Charles Babbage": "babbagecharles_102_9002_Copy of 05.ipynb",
    "Emmy Noether": "noetheremmy_103_9003_05 (1).ipynb",
    "Alan Turing": "turingalan_LATE_104_9004_05-1.ipynb",
    "Grace Hopper": "hoppergrace_105_9005_homework.pdf",
    "Mary Cartwright": "cartwrightmary_106_9006_05.ipynb",
    "Srinivasa Ramanujan": "ramanujansrinivasa_107_9007_05.ipynb",
    "Sofia Kovalevskaya": "",  # hands in later
}
LATE = "kovalevskayasofia_108_9008_05.ipynb"
HASTE = """
def my_weights(query, keys):
    scores = keys @ query
    scores /= len(query) ** 0.5
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()
"""
BY_D = """
def my_weights(query, keys):
    powers = np.exp(keys @ query / len(query))
    return powers / powers.sum()
"""
TOO_BIG = "def my_weights(query, keys):\n    return np.zeros((10**6, 10**6))[0]\n"
PRYING = "import os\nprint(os.listdir('/'), os.environ)\n"
REPLY = (
    "Right: a query is held against keys, and values come back. Not right: every value comes back, "
    "each by its weight, and nothing has to match exactly."
)


class Walk:
    """A folder in which commands are run, and what they print."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.outputs: dict[str, str] = {}

    def run(self, name: str, *commands: str) -> None:
        """Run commands of a shell in the folder and keep what they print."""
        lines = []
        for line in commands:
            lines += [f"$ {line}", self._shown(self.printed(line))]
        self.outputs[name] = "\n".join(lines).replace("\n\n$", "\n$").rstrip() + "\n"

    def printed(self, line: str) -> str:
        """Run a command; what it prints."""
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            line,
            shell=True,
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": tools, "PYTHONPATH": str(ROOT), "MAKEFLAGS": ""},
        )
        return done.stdout + done.stderr

    def _shown(self, text: str) -> str:
        """What a command printed, without what hangs on the machine and on where the book lies."""
        here = r"^note: (the first cell installs|there are no limits for groups) .*\n"
        text = re.sub(here, "", text, flags=re.MULTILINE)
        text = re.sub(r"(?<=\d\d:\d\d:\d\d) +\d+$| +Size$", "", text, flags=re.MULTILINE)
        return text.replace(f"{self.folder}{os.sep}", "").replace(str(self.folder), ".")


def class_of_eight(course: Course, folder: Path) -> None:
    """Write class.zip as Canvas gives it, the gradebook that it exports, and a late notebook."""
    assignment = course.assignment()
    right = {task.name: task.solution for task in assignment.tasks if task.solution}
    right |= {"05.8": REPLY}
    half = {name: right[name] for name in ("05.1", "05.2", "05.3", "05.8")}
    handed = {
        "Ada Lovelace": right,
        "Charles Babbage": half,
        "Emmy Noether": right | {"05.1": BY_D},
        "Alan Turing": right | {"05.1": TOO_BIG},
        "Mary Cartwright": right | {"05.1": HASTE, "05.8": "It is one."},
        "Srinivasa Ramanujan": right | {"05.7": PRYING + right["05.7"]},
    }
    with zipfile.ZipFile(folder / "class.zip", "w") as file:
        for name, answers in handed.items():
            file.writestr(_entry(STUDENTS[name]), _notebook(assignment, answers))
        file.writestr(_entry(STUDENTS["Grace Hopper"]), b"%PDF-1.7\n")
    with zipfile.ZipFile(folder / "late.zip", "w") as file:
        file.writestr(_entry(LATE), _notebook(assignment, half))
    names = [name.split() for name in STUDENTS]
    rows = [
        f'"{last}, {first}",{n},{n}00,{_login(first, last)},Lectures,'
        for n, (first, last) in enumerate(names, start=101)
    ]
    head = "Student,ID,SIS User ID,SIS Login ID,Section,Problem set 05 (4711)\n"
    head += f"    Points Possible,,,,,{assignment.points:g}\n"
    write_text(folder / "canvas.csv", head + "\n".join(rows) + "\n")


def _login(first: str, last: str) -> str:
    return f"{first[0]}{last}".lower()


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (2027, 10, 1, 12, 0, 0))


def _notebook(assignment, answers: dict[str, str]) -> str:
    """A student edition with these answers filled in."""
    notebook = edition(assignment)
    for cell in notebook.cells:
        if cell.metadata.homework.kind == "stub" and cell.metadata.homework.task in answers:
            cell.source = answers[cell.metadata.homework.task].strip()
    return nbformat.writes(notebook)


def walk(folder: Path) -> dict[str, str]:
    """Run the whole and give what each step prints, by the name of its file."""
    shutil.copytree(
        ROOT / "homework" / "private_example",
        folder / "private",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    step = Walk(folder)
    grade = "python -m homework.grade {} --assignment 05 --roster course/canvas.csv"
    step.run(
        "release",
        f"make -C '{ROOT}' homework CHAPTER=05 OUT=$PWD/course SEED=autumn-2027 "
        "PRIVATE=$PWD/private",
    )
    step.outputs["release"] = re.sub(r"-C '.*?' |\$PWD/|make.*: .*\n", "", step.outputs["release"])
    private = str(folder / "private")
    class_of_eight(Course("05", "autumn-2027", private), folder / "course")
    step.run(
        "collect", "python -m zipfile --list course/class.zip", grade.format("course/class.zip")
    )
    step.run("grades", "cat course/grading/05/grades.csv", "cat course/grading/05/marks.csv")
    step.run(
        "mark",
        "sed -i 's/^\\(.*,05.[68]\\),,/\\1,3,/; s/^\\(mcartwright,05.8\\),3,/\\1,0,/' "
        "course/grading/05/marks.csv",
        grade.format("course/class.zip"),
    )
    step.run("late", grade.format("course/late.zip"))
    step.run(
        "appeal",
        "echo 'enoether,05.1,2.5,,,,right but for the root' >> course/grading/05/marks.csv",
        grade.format("course/late.zip"),
    )
    step.run(
        "regrade",
        "sed -i 's/- 1) < 0.01:/- 1) < 0.02:/' private/05.py",
        grade.format("course/class.zip"),
    )
    step.run("import", "cat course/grading/05/grades-to-import.csv")
    page = (folder / "course/grading/05/feedback/enoether.html").read_text("utf-8")
    step.outputs["feedback.html"] = re.sub(r"Graded [-\d]+ [:\d]+ UTC\. ", "", page)
    return step.outputs


@command
def main(arguments: list[str] | None = None) -> None:
    """The command; see the head of this module."""
    asked = parser("homework.walkthrough", __doc__)
    asked.add_argument("out", type=Path, metavar="FOLDER", help="such as book/walkthrough")
    out = asked.parse_args(arguments).out
    with tempfile.TemporaryDirectory() as work:
        outputs = walk(Path(work).resolve())
    for name, text in outputs.items():
        write_text(out / (name if "." in name else f"{name}.txt"), text)


if __name__ == "__main__":
    sys.exit(main())
