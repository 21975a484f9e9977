"""What `make check` and `make test` run.

    python tests/run.py check   style, types, layers, helpers, chapters, prose: before each commit
    python tests/run.py         all of that and the book, then every cell, the site, the homework,
                                in one run: who waits in one room leaves the processor to another
    python tests/run.py PART    near, cells, site or homework, as CI runs them side by side;
                                elsewhere: near and cells, without comparing what is printed
    python tests/run.py nightly what is left to the night: all of what `make test` holds in places
    python tests/run.py -k …    the tests alone, with these arguments for pytest

Each part is run even if one before it fails; a last line says how each ended and how long it took.
"""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTHING_CHOSEN = 5  # pytest's status
PYTHON = [sys.executable, "-m"]
PYTEST = [*PYTHON, "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile",
          "--no-loadscope-reorder", "--max-worker-restart", "0", "-m", "not nightly"]  # fmt: skip


def files(*names: str) -> list[str]:
    """Each file once, in this order; of a folder those that are left, by name.

    pytest takes the files of a folder that it is given by name, whichever were named before it. A
    file is one process's: what is long comes first, or one process waits for another at the end.
    """
    found: dict[str, None] = {}
    for path in map(ROOT.joinpath, names):
        inside = sorted([*path.rglob("test_*.py"), *path.glob("*.ipynb")])
        found |= dict.fromkeys(p.relative_to(ROOT).as_posix() for p in inside or [path])
    return [*found]


NEAR = files("tests/chapters/test_exercises.py", "tests/chapters", "tests/core",
             "tests/test_repository.py", "tests/test_mutations.py")  # fmt: skip
NOTEBOOKS = files(*(f"notebooks/{name}.ipynb" for name in (
    "11_small_gpt", "07_heads_masks_positions", "12_inside_the_gpt", "01_embeddings_as_features",
)), "notebooks")  # fmt: skip
SITE = files(*(f"tests/site/test_{name}.py" for name in (
    "build", "pages", "gpt_page", "machine", "play_base", "widgets", "lab",
)), "tests/site")  # fmt: skip
HOMEWORK = files(*(f"tests/homework/test_{name}.py" for name in (
    "submissions", "site", "walkthrough", "grade",
)), "tests/homework/run", "tests/homework")  # fmt: skip

STYLE = [
    ("style", [*PYTHON, "ruff", "check"]),
    ("format", [*PYTHON, "ruff", "format", "--check"]),
    ("types", [*PYTHON, "mypy"]),
]
NEAR_ALL = ("helpers and chapters", [*PYTEST, *NEAR])
QUICK = ("helpers and chapters", [*PYTEST, *NEAR, "-m", "not slow and not nightly"])
AS_STORED = ["--nbval-current-env", "--nbval-sanitize-with", "tests/nbval_sanitize.cfg",
             "--nbval-cell-timeout", "600", "-p", "tests.count_cells"]  # fmt: skip
CELLS = ("cells of the notebooks", [*PYTEST, "--nbval", *NOTEBOOKS, *AS_STORED])
# One more than cores: a browser's or a sandbox's waiting is another's time.
WIDE = [*PYTEST, "-n", "3", "--durations=20", "--durations-min=5"]
BOOK = ("book", [*PYTHON, "book.build"])
ALL = ("tests and cells", [
    *WIDE, "--nbval", *HOMEWORK[:4], *NOTEBOOKS[:4], *SITE, *HOMEWORK[4:], *NOTEBOOKS[4:], *NEAR,
    *AS_STORED,
])  # fmt: skip
CHOSEN = ("tests", [*WIDE, *HOMEWORK, *SITE, *NEAR])
PARTS = {
    "check": [*STYLE, QUICK],
    "near": [*STYLE, NEAR_ALL],
    "cells": [CELLS],
    "site": [BOOK, ("site", [*WIDE, *SITE])],
    "homework": [BOOK, ("homework", [*WIDE, *HOMEWORK])],
    "nightly": [BOOK, ("at night", [*WIDE, "tests", "-m", "nightly"])],
    "elsewhere": [NEAR_ALL, (CELLS[0], ["--nbval-lax" if one == "--nbval" else one
                                        for one in CELLS[1]])],
}  # fmt: skip


def get_browser() -> None:
    """Try to get a Chromium where there is none; tests/site says what is left out without."""
    names = (os.environ.get("CHROMIUM", ""), "chromium-headless-shell", "chromium",
             "chromium-browser", "google-chrome")  # fmt: skip
    if not any(shutil.which(name) for name in names if name):
        get = [*PYTHON, "playwright", "install", "chromium"]
        if subprocess.run(get, capture_output=True).returncode:
            print("No Chromium, and none could be fetched: tests of the site in a browser are "
                  "left out (on CI they fail).", flush=True)  # fmt: skip


def run(what: str, command: list[str], *, show: bool = True) -> tuple[int, str]:
    """Run one part; gives its status and a line that says how it ended.

    show: its output as it comes; without it only if the part fails, at its end.
    """
    environment = {
        "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYTHONUTF8": "1",
    }  # fmt: skip
    began, last, kept = time.monotonic(), "", []
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    for line in process.stdout:
        kept.append(line)
        if show:
            print(line, end="", flush=True)
        last = line.strip().strip("=").strip() or last
    status = process.wait()
    if status and not show:
        print("".join(kept), flush=True)
    ended = {0: "ok    ", NOTHING_CHOSEN: "none  "}.get(status, "FAILED")
    return status, f"{ended} {what}: {last} ({time.monotonic() - began:.0f} s)"


def main(arguments: list[str]) -> int:
    """Run what is asked for; the exit status is 1 unless each part passed."""
    sys.stdout.reconfigure(errors="replace")  # a Windows console lacks signs that test ids hold
    if len(arguments) == 1 and arguments[0] in PARTS:
        if arguments[0] in ("site", "homework", "nightly"):
            get_browser()
        ended = [run(*part) for part in PARTS[arguments[0]]]
    elif arguments:
        get_browser()
        ended = [run(CHOSEN[0], [*CHOSEN[1], *arguments])]
    else:
        get_browser()
        with ThreadPoolExecutor(1) as beside:  # each has work for one core
            book = beside.submit(run, *BOOK, show=False)
            ended = [*(run(*part) for part in STYLE), book.result()]
        ended.append(run(*ALL))
    print("\n" + "\n".join(line for _, line in ended), flush=True)
    return int(any(status for status, _ in ended))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
