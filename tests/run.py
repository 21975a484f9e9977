"""What `make check` and `make test` run.

    python tests/run.py check   style, types, layers, helpers, chapters: before each commit
    python tests/run.py         all of that and the book, then every cell, the site, the homework,
                                in one run, for who waits leaves the processor to another
    python tests/run.py PART    near, cells, site or homework, as CI runs them side by side;
                                elsewhere: near and cells, without comparing what is printed
    python tests/run.py nightly what is left to the night: stored runs computed again, a second
                                build, and all of what `make test` holds in places
    python tests/run.py processors [NAME …]
                                cells and corrections as other processors compute them, and with
                                two threads; of some chapters, or settings of tests/processors.toml
    python tests/run.py -k …    the tests alone, with these arguments for pytest

Each part is run even if one before it fails; the last lines say how each ended, and its time.
SmolLM2 is fetched first, if it is not in the cache; cells that need it are skipped where that
fails, and on CI all fails. conftest.py says what is tried again.
"""

import os
import platform
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {
    "BOOK_STATIC": "1",  # explorers and predictions are stored as the page shows them
    "OMP_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONUTF8": "1",
}
FETCH = "from helpers import pretrained; pretrained.fetch()"
PYTHON = [sys.executable, "-m"]
PYTEST = [*PYTHON, "pytest", "-q", "--max-worker-restart", "0", "-m", "not nightly"]
# Cells of a notebook, and tests that share what a file has made, stay in one process.
BY_FILE = [*PYTEST, "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
# One more than cores: a browser's or a sandbox's waiting is another's time.
WIDE = [*BY_FILE, "-n", "3", "--durations", "20", "--durations-min", "5"]
STORED = ["--nbval-current-env", "--nbval-sanitize-with", "tests/nbval_sanitize.cfg"]
STORED += ["--nbval-cell-timeout", "600"]
NEAR = ["tests/chapters", "tests/core", "tests/test_repository.py"]
NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("notebooks/*.ipynb"))


class Part(NamedTuple):
    """A command that prints as it goes, or only where it fails."""

    what: str
    command: list[str]
    prints: bool = True


def installed(command: str) -> str:
    """The path of a command that pip installed beside this Python."""
    return str(Path(sys.executable).with_name(command))


STYLE = [
    Part("style", [*PYTHON, "ruff", "check"], False),
    Part("format", [*PYTHON, "ruff", "format", "--check"], False),
    Part("scripts", [installed("oxlint"), "--deny-warnings"], False),
    Part("format of scripts", [installed("oxfmt"), "--check", "**/*.js", "**/*.css"], False),
    Part("types", [*PYTHON, "mypy"], False),
    Part("workflows", [installed("actionlint")], False),
]
BOOK = Part("book", [*PYTHON, "book.build"], False)
QUICK = ["-n", "2", "--dist", "worksteal", *NEAR]
CHECK = Part("helpers and chapters", [*PYTEST, *QUICK, "-m", "not slow and not nightly"])
HELPERS = Part("helpers and chapters", [*PYTEST, *QUICK])
CELLS = Part("cells of the notebooks", [*BY_FILE, "--nbval", *NOTEBOOKS, *STORED])
EVERYTHING = ["homework/tests", *NOTEBOOKS, "tests/site", *NEAR]
PARTS = {  # in stages; what stands in one is run two at a time
    "check": [[CHECK, *STYLE]],
    "near": [[HELPERS, *STYLE]],
    "cells": [[CELLS]],
    "site": [[BOOK], [Part("site", [*WIDE, "tests/site"])]],
    "homework": [[BOOK], [Part("homework", [*WIDE, "homework/tests"])]],
    "test": [[BOOK, *STYLE], [Part("tests and cells", [*WIDE, "--nbval", *EVERYTHING, *STORED])]],
    "nightly": [[BOOK], [Part("at night", [*WIDE, "tests", "homework/tests", "-m", "nightly"])]],
    "elsewhere": [
        [HELPERS],
        [Part(CELLS.what, ["--nbval-lax" if one == "--nbval" else one for one in CELLS.command])],
    ],
}
PROCESSORS = tomllib.loads((ROOT / "tests" / "processors.toml").read_text("utf-8"))


class Ended(NamedTuple):
    """How a part ended."""

    what: str
    status: int
    seconds: float

    def __str__(self) -> str:
        return f"{'FAILED' if self.status else 'ok':7} {self.what} ({self.seconds:.0f} s)"


def run(part: Part, **held: str) -> Ended:
    """Run a part, with the variables in held."""
    began, variables = time.monotonic(), {**os.environ, **ENVIRONMENT, **held}
    kept = {} if part.prints else {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    text = {"encoding": "utf-8", "errors": "replace"}
    done = subprocess.run(part.command, cwd=ROOT, env=variables, **kept, **text)
    if done.returncode and not part.prints:
        print(f"\n{part.what}:\n{done.stdout}", flush=True)
    return Ended(part.what, done.returncode, time.monotonic() - began)


def processors(names: list[str]) -> list[Ended]:
    """Run cells and corrections as other processors compute them: all, or those that are named.

    names: of settings and of chapters, by number. A setting that this processor lacks is skipped.
    """
    import torch

    *held, _ = PROCESSORS  # from the least to the most; the last is this processor's own
    here = platform.machine().lower()
    if here in ("x86_64", "amd64"):
        here = torch.backends.cpu.get_cpu_capability().lower()
    lacks = held[held.index(here) + 1 :] if here in held else held
    numbers = [name for name in names if name.isdecimal()]
    cells = [file for file in NOTEBOOKS if file[10:12] in numbers or not numbers]
    command = [*BY_FILE, "--nbval", *cells, "tests/chapters/test_corrections.py", *STORED]
    chosen = [name for name in names if name not in numbers] or PROCESSORS
    print(*(f"skipped, for this processor is {here}: {name}" for name in chosen if name in lacks))
    return [run(Part(n, command), **PROCESSORS[n]) for n in chosen if n not in lacks]


def without_smollm2() -> str:
    """Why SmolLM2 cannot be had; nothing if it can. CI tries three times."""
    for _ in range(3 if "CI" in os.environ else 1):
        done = subprocess.run([*PYTHON[:1], "-c", FETCH], cwd=ROOT, capture_output=True, text=True)
        if not done.returncode:
            return ""
    return done.stderr.strip().splitlines()[-1]


def main(arguments: list[str]) -> int:
    """Run what is asked for; the exit status is 1 unless each part passed."""
    sys.stdout.reconfigure(errors="replace")  # a Windows console lacks signs that a part prints
    began, (part, *names) = time.monotonic(), arguments or ["test"]
    if part not in ("check", "near", "cells", "elsewhere", "processors"):
        subprocess.run([*PYTHON, "book.browser", "--get"], cwd=ROOT, stdout=subprocess.DEVNULL)
    if part not in ("check", "site", "homework") and (why := without_smollm2()):
        if "CI" in os.environ:
            return print(f"FAILED: {why}") or 1
        os.environ["BOOK_WITHOUT_SMOLLM2"] = why
    ended = processors(names) if part == "processors" else []
    chosen = [[Part("tests", [*WIDE, "homework/tests", "tests", *arguments])]]
    for stage in PARTS.get(part, [] if ended else chosen):
        with ThreadPoolExecutor(2) as beside:
            ended += beside.map(run, stage)
    print("", *ended, sep="\n")
    status = int(any(one.status for one in ended))
    print(f"{'FAILED' if status else 'ok'} in {time.monotonic() - began:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
