"""Helpers' tests and all chapters beside other packages: ``make matrix``.

    python benchmarks/matrix.py [NAME …] [--python PATH] [--torch …] [--report FILE]

``pins``      what requirements.txt pins
``plain``     the same, as on a processor without AVX
``oldest``    the oldest that pyproject.toml allows, and the kernel that Colab has
``newest``    the newest there are
``colab``     as in Colab: no helpers, but another package of that name; the first cell of each
              chapter installs ours from a git repository at its release

An environment holds the built wheel, what it declares and a kernel while the chapters run there, in
another folder; what tests need is added after that. A cell fails where it raises, where it shows
another number than it stored for the pins, or a headline number (of its manifest) beyond its
tolerance. What cannot be had on a machine stands in the table.
"""

import argparse
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

from common import RESULTS, ROOT, about, store_table

from book import environment
from book.address import addressed, stored
from helpers.files import write_text

NAMES = ["pins", "plain", "oldest", "newest", "colab"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = {one.partition(">=")[0]: one for one in PROJECT["dependencies"]}
PINS = re.findall(r"^[a-z0-9.-]+==[^ ;\n]+", (ROOT / "requirements.txt").read_text("utf-8"), re.M)
[TORCH] = [pin for pin in PINS if pin.startswith("torch==")]
PINNED = ["--constraint", str(ROOT / "requirements.txt")]
BARE = ["numpy", "matplotlib", "ipywidgets", "ipykernel"]  # and torch: of what is in Colab
OLD_KERNEL = "ipykernel==6.17.1"  # Colab's
FOR_TESTS = [
    "pytest", "pytest-xdist", "hypothesis", "beartype", "beautifulsoup4", "ipykernel", "nbclient",
    "nbformat", "nbval", "packaging", "pyyaml",
]  # fmt: skip
TESTS = ["tests/core", "tests/chapters/test_figures.py"]
# These hold the scripts of this folder, which the wheel has not.
OF_SCRIPTS = "tests/core/test_benchmarks_*.py"
# ipywidgets 7 draws when it is displayed, for which this test has no front end.
LEFT_OUT = {"oldest": ["tests/core/test_explore.py::test_moving_a_slider_draws_and_says_anew"]}
CELLS = runpy.run_path(str(ROOT / "tests" / "run.py"))["CELLS"][1]
PLAIN = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41",
         "OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"}  # fmt: skip
SHOWN = ["Python", "torch", "numpy", "matplotlib", "ipywidgets", "ipykernel", "safetensors"]
COLUMNS = ["environment", "versions, and when", "helpers' tests", "cells run", "cells that fail",
           "cells that print otherwise", "not to be had here"]  # fmt: skip
DIFFERS = "Cell outputs differ"
NO_BUILD = ("the place of torch's builds for the CPU does not answer, and the package index has "
            "it with CUDA's packages alone, several GB")  # fmt: skip


@dataclass
class Ran:
    """What came of tests or cells: counts, headline numbers, and what failed in a line each."""

    counts: Counter = field(default_factory=Counter)
    found: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def fail(self, words: str) -> None:
        """Count something that is wrong."""
        self.counts["failed"] += 1
        self.failed.append(words)

    def read(self, report: Path) -> None:
        """Add pytest's report in JUnit's form."""
        for case in ElementTree.parse(report).iter("testcase"):
            fault = next((one for one in case if one.tag in ("failure", "error")), None)
            said = "" if fault is None else f"{fault.get('message', '')} {fault.text or ''}"
            how = "passed" if fault is None else "differs" if DIFFERS in said else "failed"
            self.counts["skipped" if case.find("skipped") is not None else how] += 1
            self.found |= {one.get("name"): one.get("value") for one in case.iter("property")}
            if said:
                said = said.partition("Traceback:")[2] or said
                words = " ".join(re.sub(r"(\x1b|#x1B)\[[0-9;]*m", "", said).split())
                self.failed.append(f"{case.get('classname')} {case.get('name')}: {words[:300]}")


class Environment:
    """A fresh environment, and a folder that holds no helpers to run tests and chapters in."""

    def __init__(self, name: str, python: str, work: Path):
        self.name, self.work, self.away = name, work / name, work / name / "away"
        self.note, self.compared = "", name != "colab"
        call([python, "-m", "venv", str(self.work / "env")])
        self.python = self.work / "env" / environment.PYTHON.relative_to(environment.VENV)
        for part in ("tests", "notebooks", "book", "benchmarks"):
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(ROOT / part, self.away / part, ignore=ignored)
        for part in ("pyproject.toml", "_config.yml", "ARCHITECTURE.md"):
            shutil.copy(ROOT / part, self.away)
        spec = {"argv": [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": name, "language": "python"}  # fmt: skip
        write_text(self.work / "share" / "kernels" / name / "kernel.json", json.dumps(spec))
        self.chapters = sorted((self.away / "notebooks").glob("[0-9][0-9]_*.ipynb"))
        self.variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
            "JUPYTER_PATH": str(self.work / "share"), "OMP_NUM_THREADS": "1", "BOOK_STATIC": "1",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYTHONUTF8": "1",
        } | (PLAIN if name == "plain" else {})  # fmt: skip

    def pip(self, *words: str) -> None:
        """Call the environment's pip. Raises: RuntimeError where it fails."""
        call([str(self.python), "-m", "pip", *words, "--quiet", "--disable-pip-version-check"])

    def install_torch(self, wanted: str, otherwise: str) -> None:
        """Install torch's build for the CPU, or what is told to take otherwise, and say so."""
        if has_cpu_builds():
            self.pip("install", wanted, "--index-url", environment.CPU_BUILDS)
            return
        self.pip("install", *shlex.split(otherwise))
        if wanted != otherwise:
            self.note = f"{wanted}: {NO_BUILD}"

    def versions(self) -> dict[str, str]:
        """Of Python and of each package that is there."""
        asked = [str(self.python), "-m", "pip", "list", "--format", "json"]
        there = {one["name"].lower(): one["version"] for one in json.loads(call(asked))}
        python = call([str(self.python), "-c", "import platform; print(platform.python_version())"])
        return there | {"Python": python.strip()}

    def pytest(self, ran: Ran, command: list[str]) -> None:
        """Run tests or cells in the folder away and add what came of them."""
        report = self.work / "report.xml"
        report.unlink(missing_ok=True)
        subprocess.run([*command, f"--junitxml={report}"], cwd=self.away, env=self.variables)
        ran.read(report)

    def cells(self, ran: Ran, paths: list[str]) -> None:
        """Run chapters, whose kernel is this environment's; pytest and nbval are the book's."""
        start = CELLS[: CELLS.index("--nbval") + 1]
        rest = CELLS[CELLS.index("--nbval-current-env") :]
        start[-1] = "--nbval" if self.compared else "--nbval-lax"
        kernel = f"--nbval-kernel-name={self.name}"
        self.pytest(ran, [*start, *paths, *(kernel if one == "--nbval-current-env" else one
                                            for one in rest)])  # fmt: skip

    def tests(self) -> Ran:
        """Run the tests of helpers, for which their packages are added."""
        self.pip("install", *FOR_TESTS, *(PINNED if self.name in ("pins", "plain") else []))
        ran, left_out = Ran(), LEFT_OUT.get(self.name, [])
        command = [str(self.python), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
        command += [*TESTS, f"--ignore-glob={OF_SCRIPTS}"]
        self.pytest(ran, [*command, *(f"--deselect={one}" for one in left_out)])
        return ran


def has_cpu_builds() -> bool:
    """Whether the index of torch's builds for the CPU answers."""
    try:
        return urlopen(f"{environment.CPU_BUILDS}/torch/", timeout=15).status == 200
    except OSError:
        return False


def call(command: list[str]) -> str:
    """What a command prints. Raises: RuntimeError with what it says where it fails."""
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=variables)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:6])} …: {done.stderr.strip()[-400:]}")
    return done.stdout


def with_wheel(there: Environment, otherwise: str, made: Path) -> tuple[Ran, Ran]:
    """Install the wheel with what it declares and a kernel, run the chapters, then the tests."""
    oldest = DECLARED["torch"].replace(">=", "==")
    wanted = {"oldest": oldest, "newest": "torch"}.get(there.name, TORCH)
    there.install_torch(wanted, otherwise if there.name == "newest" else TORCH)
    versions = {
        "oldest": [OLD_KERNEL, *(one.replace(">=", "==") for name, one in DECLARED.items()
                                 if name != "torch")],
        "newest": ["ipykernel"],
    }.get(there.name, ["ipykernel", *PINNED])  # fmt: skip
    there.pip("install", str(made), *versions)
    cells = Ran()
    there.cells(cells, [one for one in CELLS if one.startswith("notebooks")])
    return cells, there.tests()


def as_in_colab(there: Environment) -> tuple[Ran, Ran]:
    """Run the chapters, each beginning with Colab's packages and another package named helpers."""
    there.install_torch(TORCH, TORCH)
    there.pip("install", *BARE, *PINNED)
    before, cells = there.versions(), Ran()
    where = "import site; print(site.getsitepackages()[0])"
    site = Path(call([str(there.python), "-c", where]).strip())
    write_text(site / "google" / "colab" / "__init__.py", "")
    write_text(site / "colab.pth", "import google.colab\n")
    release = stored(ROOT)[1]
    url = repository(there.work / "book", release)
    for path in there.chapters:
        for one in (site / "helpers", *site.glob("transformers_worked_out-*")):
            shutil.rmtree(one, ignore_errors=True)
        write_text(site / "helpers" / "__init__.py", "raise ImportError('not the book's')\n")
        write_text(path, addressed(path.read_text("utf-8"), path.stem, url, release))
        there.cells(cells, [f"notebooks/{path.name}"])
        if (came := origin(site)) != (url, release):
            cells.fail(f"{path.stem}: helpers came from {came}")
    after = there.versions()
    for name in [name for name in before if before[name] != after.get(name)]:
        cells.fail(f"{name} {before[name]} became {after.get(name)}")
    return cells, Ran()


def origin(site: Path) -> tuple[str, str]:
    """The address and the release that pip took helpers from."""
    records = [json.loads(path.read_text("utf-8"))
               for path in site.glob("transformers_worked_out-*/direct_url.json")]  # fmt: skip
    return next(((one["url"], one["vcs_info"]["requested_revision"]) for one in records), ("", ""))


def repository(folder: Path, release: str) -> str:
    """Make a git repository of what the wheel is built from, with a release; its address."""
    shutil.copytree(ROOT / "helpers", folder / "helpers",
                    ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
    for path in (ROOT / "pyproject.toml", ROOT / "README.md", *ROOT.glob("LICENSE*")):
        shutil.copy(path, folder)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init"], ["add", "."], ["commit", "-m", "The book"], ["tag", release]):
        call([*git, *words])
    return folder.as_uri()


def today() -> str:
    """The date of what is stored now; a row that is kept keeps its own."""
    return about(__file__, [])["date"]


def row(there: Environment, cells: Ran, tests: Ran) -> list[str]:
    """One row of the table; see COLUMNS."""
    versions = there.versions()
    ran = sum(cells.counts[how] for how in ("passed", "differs", "failed"))
    differs = str(cells.counts["differs"]) if there.compared else "not compared"
    tested = f"{tests.counts['passed']} passed, {tests.counts['failed']} failed"
    left_out = [OF_SCRIPTS, *LEFT_OUT.get(there.name, [])]
    tested += f"; left out: {', '.join(re.split('[/:]', one)[-1] for one in left_out)}"
    found = ", ".join(f"{name} {versions[name]}" for name in SHOWN if name in versions)
    return [
        there.name, f"{found}; {today()}",
        tested if tests.counts else "not run", str(ran), str(cells.counts["failed"]), differs,
        there.note,
    ]  # fmt: skip


def keep(rows: list[list[str]], found: dict[str, dict[str, str]]) -> None:
    """Store the table: the rows of now, and of environments that did not run now as they were."""
    path = RESULTS / "matrix.json"
    old = json.loads(path.read_text("utf-8")) if path.exists() else {"rows": [], "found": {}}
    every = {one[0]: one for one in (*old["rows"], *rows)}
    table = about(__file__, []) | {
        "title": "Beside other packages",
        "claim": "Helpers' tests and all chapters in clean environments that hold the built wheel, "
        "what it declares and a kernel, away from the book's folder",
        "columns": COLUMNS,
        "rows": [every[name] for name in NAMES if name in every],
        "found": old["found"] | found,
    }
    store_table("matrix", table)


def moved(there: Environment) -> list[str]:
    """The packages that are other than pinned."""
    names = {pin.partition("==")[0] for pin in PINS}
    now = [f"{name}=={version.partition('+')[0]}" for name, version in there.versions().items()
           if name in names]  # fmt: skip
    return sorted(set(now) - set(PINS))


def tried(name: str, chosen: argparse.Namespace, work: Path, made: Path) -> tuple:
    """Make one environment and run all in it: its row, its headline numbers, faults, a report."""
    there = Environment(name, chosen.python, work)
    cells, tests = (as_in_colab(there) if name == "colab"
                    else with_wheel(there, chosen.torch or TORCH, made))  # fmt: skip
    faults = cells.counts["failed"] + tests.counts["failed"]
    faults += cells.counts["differs"] * (name in ("pins", "newest"))
    one, wrong = row(there, cells, tests), cells.failed + tests.failed
    lines = [
        f"## {name}", *map(": ".join, zip(COLUMNS[1:], one[1:], strict=True)), "Other than pinned:",
        *moved(there), "Failed, or other than stored:", *(wrong or ["nothing"]),
    ]  # fmt: skip
    shutil.rmtree(there.work)
    return one, cells.found, faults, "\n- ".join(lines)


def main() -> int:
    """Run what is asked for and store the table; 1 where something failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="all without names")
    parser.add_argument("--python", default=sys._base_executable, help="of the environments")
    parser.add_argument("--torch", help="what pip installs where the newest is not to be had")
    parser.add_argument("--report", type=Path, help="a file for all that failed or moved")
    chosen = parser.parse_args()
    rows, found, faults, reports = [], {}, 0, []
    with tempfile.TemporaryDirectory() as folder:
        call(["make", "-C", str(ROOT), "wheel", f"DIST={folder}"])
        [made] = Path(folder).glob("*.whl")
        for name in chosen.names or NAMES:
            try:
                one, numbers, wrong, report = tried(name, chosen, Path(folder), made)
            except RuntimeError as error:  # of pip, of git
                one = [name, today(), "not run", "0", "", "", f"all of it: {error}"]
                numbers, wrong, report = {}, 1, f"## {name}: {one[-1]}"
            rows.append(one)
            found[name] = numbers
            faults += wrong
            reports.append(report)
            print(report, flush=True)
            keep(rows, found)
    if chosen.report:
        write_text(chosen.report, "\n\n".join(reports) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
