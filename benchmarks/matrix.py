"""Helpers' tests and all chapters beside other packages: ``make matrix``.

    python benchmarks/matrix.py [NAME …] [--python PATH] [--report FILE]

``pins``      what requirements.txt pins
``oldest``    the oldest that pyproject.toml allows, and the kernel that Colab has
``newest``    the newest there are
``colab``     Colab's releases, no helpers, but another package of that name; the first cell of each
              chapter installs ours from a git repository at its release

An environment holds the built wheel, what it declares and a kernel while the chapters run there, in
another folder; what tests need is added after that. A cell fails where it raises, or shows another
number than it stored for the pins.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from common import ROOT
from packaging.requirements import Requirement

from book.address import addressed, stored
from helpers import pretrained
from helpers.files import write_text

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = {Requirement(one).name: one for one in PROJECT["dependencies"]}
PINS = re.findall(r"^[a-z0-9.-]+==[^ ;\n]+", (ROOT / "requirements.txt").read_text("utf-8"), re.M)
PINNED = [pin for pin in PINS if pin.partition("==")[0] in {*DECLARED, "ipykernel"}]
[TORCH] = [pin for pin in PINNED if pin.startswith("torch==")]
OF_COLAB = ["numpy==2.0.2", "matplotlib==3.10.0", "ipython==7.34.0", "ipykernel==6.17.1"]
NAMED = {
    "pins": PINNED,
    "oldest": ["ipykernel==6.17.1", *(one.replace(">=", "==") for one in DECLARED.values())],
    "newest": ["torch", "ipykernel"],
    "colab": [TORCH, *OF_COLAB, "ipywidgets==7.7.1"],
}
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
FOR_TESTS = "beartype beautifulsoup4 hypothesis nbclient nbformat nbval packaging pytest"
OF_SCRIPTS = ["diagnose", "speedrun"]  # tests that need this folder, which is not in the wheel
TESTS = ["tests/core", "tests/chapters/test_figures.py"]
TESTS += [f"--ignore=tests/core/test_{name}.py" for name in OF_SCRIPTS]
PYTEST = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
CELLS = ["--nbval-sanitize-with=tests/nbval_sanitize.cfg", "--nbval-cell-timeout=600"]
# IPython only prints a UsageError, which passes for an output, unless the kernel is told otherwise.
RAISE = (
    "--IPKernelApp.exec_lines=get_ipython().set_custom_exc((__import__('IPython').core.error."
    "UsageError,), lambda shell, kind, one, *_, **__: shell._showtraceback(kind, one, [str(one)]))"
)


@dataclass
class Ran:
    """Results of tests or cells: counts, and a line for each failure."""

    counts: Counter = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def read(self, report: Path) -> None:
        """Add pytest's report in JUnit's form."""
        for case in ElementTree.parse(report).iter("testcase"):
            fault = next((one for one in case if one.tag in ("failure", "error")), None)
            said = "" if fault is None else f"{fault.get('message', '')} {fault.text or ''}"
            differs = "differs" if "Cell outputs differ" in said else "failed"
            how = "passed" if fault is None else differs
            self.counts["skipped" if case.find("skipped") is not None else how] += 1
            if said:
                said = said.partition("Traceback:")[2] or said
                words = " ".join(re.sub(r"(\x1b|#x1B)\[[0-9;]*m", "", said).split())
                self.failed.append(f"{case.get('classname')} {case.get('name')}: {words[:300]}")


class Environment:
    """A fresh environment, and a folder that holds no helpers to run tests and chapters in."""

    def __init__(self, name: str, python: str, work: Path):
        self.name, self.work, self.away = name, work / name, work / name / "away"
        call(python, "-m", "venv", self.work / "env")
        self.python = (
            self.work / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        )
        for part in ("tests", "notebooks", "book"):
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(ROOT / part, self.away / part, ignore=ignored)
        for part in ("pyproject.toml", "_config.yml", "ARCHITECTURE.md"):
            shutil.copy(ROOT / part, self.away)
        kernel = [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}", RAISE]
        spec = {"argv": kernel, "display_name": name, "language": "python"}
        write_text(self.work / "share" / "kernels" / name / "kernel.json", json.dumps(spec))
        self.variables = os.environ | {
            "JUPYTER_PATH": str(self.work / "share"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "BOOK_STATIC": "1",
            "PYTHONUTF8": "1",
        }
        self.variables.pop("PYTHONPATH", None)

    def install(self, *more: str | Path) -> None:
        """Install what it names; torch's small build for the CPU where its index answers."""
        pip, named = [self.python, "-m", "pip", "install", "--quiet"], NAMED[self.name]
        [torch] = [one for one in named if one.partition("==")[0] == "torch"]
        call(*pip, torch, "--extra-index-url", CPU_BUILDS, "--retries", "0")
        pinned = ["--constraint", ROOT / "requirements.txt"] * (named is PINNED)
        call(*pip, *named, *more, *pinned)

    def moved(self) -> list[str]:
        """The packages that are there in other releases than requirements.txt pins."""
        there = json.loads(call(self.python, "-m", "pip", "list", "--format", "json"))
        found = {one["name"].lower().replace("_", "-"): one["version"] for one in there}
        pinned = dict(pin.split("==") for pin in PINS)
        return [f"{n}=={v}" for n, v in found.items() if v.partition("+")[0] != pinned.get(n, v)]

    def pytest(self, ran: Ran, python: str | Path, *words: str) -> None:
        """Run tests or cells in the folder away and add what came of them."""
        report = self.work / "report.xml"
        report.unlink(missing_ok=True)
        command = [str(python), *PYTEST, *words, f"--junitxml={report}"]
        subprocess.run(command, cwd=self.away, env=self.variables)
        ran.read(report)

    def cells(self, ran: Ran, *paths: Path) -> None:
        """Run chapters, whose kernel is this environment's; pytest and nbval are the book's."""
        how = "--nbval-lax" if self.name == "colab" else "--nbval"
        kernel = f"--nbval-kernel-name={self.name}"
        self.pytest(ran, sys.executable, how, *map(str, paths), kernel, *CELLS)

    def tests(self) -> Ran:
        """Run the tests of helpers, for which their packages are added."""
        self.install(*FOR_TESTS.split(), "pytest-xdist", "pyyaml")
        ran = Ran()
        self.pytest(ran, self.python, *TESTS)
        return ran


def call(*command: str | Path) -> str:
    """What a command prints. Raises: RuntimeError with what it says where it fails."""
    words = [str(word) for word in command]
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(words, capture_output=True, encoding="utf-8", env=variables)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[1:6])} …: {done.stderr.strip()[-400:]}")
    return done.stdout


def as_in_colab(there: Environment, chapters: list[Path], url: str, release: str) -> Ran:
    """Run the chapters, each beginning with Colab's packages and another package named helpers."""
    cells = Ran()
    where = "import site; print(site.getsitepackages()[0])"
    site = Path(call(there.python, "-c", where).strip())
    write_text(site / "google" / "colab" / "__init__.py", "")
    write_text(site / "colab.pth", "import google.colab\n")
    for path in chapters:
        for one in (site / "helpers", *site.glob("transformers_worked_out-*")):
            shutil.rmtree(one, ignore_errors=True)
        write_text(site / "helpers" / "__init__.py", "ANOTHER = 'package'\n")
        write_text(path, addressed(path.read_text("utf-8"), path.stem, url, release))
        there.cells(cells, path)
        records = [one.read_text("utf-8") for one in site.glob("transformers_*/direct_url.json")]
        if not any(url in one and f'"{release}"' in one for one in records):
            cells.counts["failed"] += 1
            cells.failed.append(f"{path.stem}: helpers came from {records}")
    return cells


def repository(folder: Path, release: str) -> str:
    """Make a git repository of what the wheel is built from, with a release; its address."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "helpers", folder / "helpers", ignore=ignored)
    for path in (ROOT / "pyproject.toml", ROOT / "README.md", *ROOT.glob("LICENSE*")):
        shutil.copy(path, folder)
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init"], ["add", "."], ["commit", "-m", "The book"], ["tag", release]):
        call(*git, *words)
    return folder.as_uri()


def tried(name: str, python: str, work: Path, url: str, release: str) -> tuple[int, str]:
    """Make an environment and run all in it: faults, and a report.

    Raises: RuntimeError where its releases are not to be had.
    """
    there = Environment(name, python, work)
    chapters = sorted((there.away / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    cells, tests = Ran(), Ran()
    if name == "colab":
        there.install()
        cells = as_in_colab(there, chapters, url, release)
    else:
        there.install(*work.glob("*.whl"))
        there.cells(cells, *chapters)
        tests = there.tests()
    faults = cells.counts["failed"] + tests.counts["failed"]
    faults += cells.counts["differs"] * (name == "pins")
    lines = [f"## {name}", f"Cells: {dict(cells.counts)}", f"Tests: {dict(tests.counts)}"]
    lines += ["Other than pinned:", *there.moved(), "Failed, or other than stored:"]
    shutil.rmtree(there.work)
    return faults, "\n- ".join([*lines, *(cells.failed + tests.failed or ["nothing"])])


def main() -> int:
    """Run what is asked for and print a report; 1 where something failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*NAMED, []], help="all without names")
    parser.add_argument("--python", default=sys._base_executable, help="of the environments")
    parser.add_argument("--report", type=Path, help="a file for all that failed or moved")
    chosen = parser.parse_args()
    faults, reports, release = 0, [], stored(ROOT)[1]
    pretrained.fetch()  # in a cell the lines of a download would be printed otherwise than stored
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        url = repository(work / "book", release)
        build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", work]
        call(sys.executable, "-m", "pip", *build, f"git+{url}@{release}")
        for name in chosen.names or NAMED:
            try:
                wrong, report = tried(name, chosen.python, work, url, release)
            except RuntimeError as error:  # of pip
                wrong, report = 1, f"## {name}\n- not run: {error}"
            faults += wrong
            reports.append(report)
            print(report, flush=True)
    if chosen.report:
        write_text(chosen.report, "\n\n".join(reports) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
