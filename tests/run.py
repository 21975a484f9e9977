"""What `make check` and `make test` run.

    python tests/run.py check   style, types, layers, helpers, chapters: before each commit
    python tests/run.py         all of that and the book, then every cell, the site, the homework,
                                in one run: who waits in one room leaves the processor to another
    python tests/run.py PART    near, cells, site or homework, as CI runs them side by side;
                                elsewhere: near and cells, without comparing what is printed
    python tests/run.py nightly what is left to the night: all of what `make test` holds in places
    python tests/run.py processors [NAME …]
                                cells and corrections as other processors compute them, and with
                                two threads; of some chapters, or settings of tests/processors.toml
    python tests/run.py -k …    the tests alone, with these arguments for pytest

Each part is run even if one before it fails. The last lines say how each ended and how long it
took, what was skipped and why, and which tests were tried again. SmolLM2 is fetched first, if it
is not in the cache; cells that need it are skipped where that fails, and on CI all fails.
"""

import json
import os
import platform
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOME_FAILED, INTERRUPTED, NOTHING_CHOSEN = 1, 2, 5  # pytest's statuses
MOST_AGAIN = 20  # tests: where more fail, chance is not why
FETCH = "from helpers import pretrained; pretrained.fetch()"
CACHE = ROOT / "_build" / "pytest"  # holds which tests failed
PYTHON = [sys.executable, "-m"]
SINGLE = [*PYTHON, "pytest", "-q", "-o", f"cache_dir={CACHE}"]
ONCE_MORE = [*SINGLE, "--last-failed", "tests/site", "homework/tests"]
PYTEST = [*SINGLE, "--cache-clear", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
PYTEST += ["--max-worker-restart", "0", "-m", "not nightly"]


def files(*patterns: str) -> list[str]:
    """Each file once, in this order; of a folder those that are left, by name.

    pytest takes the files of a folder that it is given by name, whichever were named before it. A
    file is one process's: what is long comes first, or one process waits for another at the end.
    """
    found: dict[str, None] = {}
    for path in (path for pattern in patterns for path in ROOT.glob(pattern)):
        inside = sorted([*path.rglob("test_*.py"), *path.glob("*.ipynb")])
        found |= dict.fromkeys(p.relative_to(ROOT).as_posix() for p in inside or [path])
    return [*found]


def long_first(folder: str, names: str) -> list[str]:
    """A folder's tests: those that are named, those of its folder run, the others."""
    return files(*(f"{folder}/test_{name}.py" for name in names.split()), f"{folder}/run", folder)


def installed(command: str) -> str:
    """The path of a command that pip installed beside this Python."""
    return str(Path(sys.executable).with_name(command))


NEAR = files("tests/chapters/test_exercises.py", "tests/chapters", "tests/core", "tests/test_*.py")
NOTEBOOKS = files(*(f"notebooks/{number}_*" for number in ("11", "07", "12", "01")), "notebooks")
SITE = long_first("tests/site", "build pages gpt_page machine play_base widgets lab")
HOMEWORK = long_first("homework/tests", "submissions site grade")

STYLE = [
    ("style", [*PYTHON, "ruff", "check"]),
    ("format", [*PYTHON, "ruff", "format", "--check"]),
    ("scripts", [installed("oxlint"), "--deny-warnings"]),
    ("format of scripts", [installed("oxfmt"), "--check", "**/*.js", "**/*.css"]),
    ("types", [*PYTHON, "mypy"]),
    ("workflows", [installed("actionlint")]),
]
NEAR_ALL = ("helpers and chapters", [*PYTEST, *NEAR])
QUICK = ("helpers and chapters", [*PYTEST, *NEAR, "-m", "not slow and not nightly"])
AS_STORED = ["--nbval-current-env", "--nbval-sanitize-with", "tests/nbval_sanitize.cfg"]
AS_STORED += ["--nbval-cell-timeout", "600"]
CELLS = ("cells of the notebooks", [*PYTEST, "--nbval", *NOTEBOOKS, *AS_STORED])
# One more than cores: a browser's or a sandbox's waiting is another's time.
WIDE = [*PYTEST, "-n", "3", "--durations=20", "--durations-min=5"]
BOOK = ("book", [*PYTHON, "book.build"])
MIXED = [*HOMEWORK[:3], *NOTEBOOKS[:4], *SITE, *HOMEWORK[3:], *NOTEBOOKS[4:], *NEAR]
ALL = ("tests and cells", [*WIDE, "--nbval", *MIXED, *AS_STORED])
CHOSEN = ("tests", [*WIDE, *HOMEWORK, *SITE, *NEAR])
PROCESSORS = tomllib.loads((ROOT / "tests" / "processors.toml").read_text("utf-8"))
PARTS = {
    "check": [*STYLE, QUICK],
    "near": [*STYLE, NEAR_ALL],
    "cells": [CELLS],
    "site": [BOOK, ("site", [*WIDE, *SITE])],
    "homework": [BOOK, ("homework", [*WIDE, *HOMEWORK])],
    "nightly": [BOOK, ("at night", [*WIDE, "tests", "homework/tests", "-m", "nightly"])],
    "elsewhere": [
        NEAR_ALL,
        (CELLS[0], ["--nbval-lax" if one == "--nbval" else one for one in CELLS[1]]),
    ],
}


@dataclass
class Ended:
    """How a part ended: its exit status, its last line, and what else a reader should know."""

    what: str
    status: int
    said: str
    seconds: float
    notes: list[str]

    def __post_init__(self):
        counts = re.findall(r"(\d+) (passed|failed|error|skipped)", self.said)
        self.counts = Counter({kind: int(count) for count, kind in counts})

    def __str__(self) -> str:
        how = {0: "ok", NOTHING_CHOSEN: "none"}.get(self.status, "FAILED")
        said = re.sub(r" in \d+\.\d+s.*", "", self.said)
        line = f"{how:7} {self.what}: {said} ({self.seconds:.0f} s)"
        return "\n        ".join([line, *self.notes])


def run(what: str, command: list[str], *, show: bool = True, **held: str) -> Ended:
    """Run one part, with the variables in held.

    show: its output as it comes; without it only if the part fails, at its end.
    """
    environment = {
        "BOOK_STATIC": "1",  # explorers and predictions are stored as the page shows them
        "OMP_NUM_THREADS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONUTF8": "1",
    }
    began, last, kept = time.monotonic(), "", []
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment, **held},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    for line in process.stdout:
        kept.append(line)
        if show:
            print(line, end="", flush=True)
        last = line.strip().strip("=").strip() or last
    status = process.wait()
    if any("crashed while running" in line for line in kept):
        status = INTERRUPTED  # what that worker still had to do was not done
    if status and not show:
        print("".join(kept), flush=True)
    notes = [line.strip() for line in kept if line.startswith("skipped (")]
    return Ended(what, status, last or f"status {status}", time.monotonic() - began, notes)


def tests(what: str, command: list[str]) -> list[Ended]:
    """Run tests; what failed in a browser or the sandbox is run once more, with nothing beside it.

    Where all of it passes then, and nothing else failed, the tests have passed.
    """
    first = run(what, command)
    file = CACHE / "v" / "cache" / "lastfailed"
    is_known = first.status == SOME_FAILED and file.exists()
    failed = json.loads(file.read_text("utf-8")) if is_known else {}
    again = [name for name in failed if name.startswith(("tests/site/", "homework/tests/"))]
    if not 0 < len(again) <= MOST_AGAIN:
        return [first]
    second = run("second try, one by one", ONCE_MORE)
    first.notes += [f"failed at first: {name}" for name in again]
    first.counts["failed"], first.counts["error"] = len(failed) - len(again), 0
    if len(failed) == len(again):
        first.status = second.status
    return [first, second]


def processors(names: list[str]) -> list[Ended]:
    """Run cells and corrections as other processors compute them: all, or those that are named.

    names: of settings and of chapters, by number. A setting that this processor lacks is skipped.
    Raises: KeyError where the table lacks a name.
    """
    import torch

    *held, _ = PROCESSORS  # from the least to the most; the last is this processor's own
    here = platform.machine().lower()
    if here in ("x86_64", "amd64"):
        here = torch.backends.cpu.get_cpu_capability().lower()
    lacks = held[held.index(here) + 1 :] if here in held else held
    numbers = [name for name in names if name.isdecimal()]
    cells = [file for file in NOTEBOOKS if file[10:12] in numbers or not numbers]
    command = [*PYTEST, "--nbval", *cells, "tests/chapters/test_corrections.py", *AS_STORED]
    ended = []
    for name in [one for one in names if one not in numbers] or PROCESSORS:
        variables = PROCESSORS[name]
        if name in lacks:
            ended.append(Ended(name, 0, f"skipped, for this processor is {here}", 0, []))
        else:
            ended.append(run(name, command, **variables))
    return ended


def without_smollm2() -> str:
    """Why SmolLM2 cannot be had; nothing if it can. CI tries three times."""
    for _ in range(3 if "CI" in os.environ else 1):
        done = subprocess.run([*PYTHON[:1], "-c", FETCH], cwd=ROOT, capture_output=True, text=True)
        if not done.returncode:
            return ""
    return done.stderr.strip().splitlines()[-1]


def main(arguments: list[str]) -> int:
    """Run what is asked for; the exit status is 1 unless each part passed."""
    sys.stdout.reconfigure(errors="replace")  # a Windows console lacks signs that test ids hold
    began, (part, *names) = time.monotonic(), arguments or [""]
    if part not in ("check", "near", "cells", "elsewhere", "processors"):
        subprocess.run([*PYTHON, "book.browser", "--get"], cwd=ROOT, stdout=subprocess.DEVNULL)
    if part not in ("check", "site", "homework") and (why := without_smollm2()):
        if "CI" in os.environ:
            return print(f"FAILED: {why}") or 1
        os.environ["BOOK_WITHOUT_SMOLLM2"] = why
    if part == "processors":
        ended = processors(names)
    elif part in PARTS:
        *others, last = PARTS[part]
        ended = [*(run(*one) for one in others), *tests(*last)]
    elif arguments:
        ended = tests(CHOSEN[0], [*CHOSEN[1], *arguments])
    else:
        with ThreadPoolExecutor(1) as beside:  # each has work for one core
            book = beside.submit(run, *BOOK, show=False)
            ended = [*(run(*one) for one in STYLE), book.result()]
        ended += tests(*ALL)
    print("", *ended, "", sep="\n")
    counts = sum((one.counts for one in ended), Counter())
    failed, left_out = counts["failed"] + counts["error"], counts["skipped"]
    print(f"total: {counts['passed']} passed, {failed} failed, {left_out} skipped")
    status = int(any(one.status for one in ended))
    print(f"{'FAILED' if status else 'ok'} in {time.monotonic() - began:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
