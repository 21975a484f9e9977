"""What `make check` and `make test` run.

    python tests/run.py check   style, types, layers, helpers, chapters, prose: before each commit
    python tests/run.py         all of that and the book, then every cell, the site, the homework
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
          "--no-loadscope-reorder", "--max-worker-restart", "0"]  # fmt: skip
# What is long comes first, or one worker waits for the other at the end.
NEAR = ["tests/chapters", "tests/core", "tests/test_repository.py"]
NOTEBOOKS = [f"notebooks/{name}.ipynb" for name in (
    "11_small_gpt", "07_heads_masks_positions", "12_inside_the_gpt", "01_embeddings_as_features",
)] + ["notebooks"]  # fmt: skip
SITE_AND_HOMEWORK = [
    "tests/homework/test_submissions.py", "tests/site/test_pages.py",
    "tests/homework/test_walkthrough.py", "tests/homework", "tests/site",
]  # fmt: skip

STYLE = [
    ("style", [*PYTHON, "ruff", "check"]),
    ("format", [*PYTHON, "ruff", "format", "--check"]),
    ("types", [*PYTHON, "mypy"]),
]
NEAR_ALL = ("helpers and chapters", [*PYTEST, *NEAR])
QUICK = ("helpers and chapters", [*PYTEST, *NEAR, "-m", "not slow"])
CELLS = ("cells of the notebooks", [
    *PYTEST, "--nbval", *NOTEBOOKS, "--nbval-current-env", "--nbval-sanitize-with",
    "tests/nbval_sanitize.cfg", "--nbval-cell-timeout", "600", "-p", "tests.count_cells",
])  # fmt: skip
AROUND = ("homework and site", [  # one more than cores: a browser's waiting is another's time
    *PYTEST, "-n", "3", *SITE_AND_HOMEWORK, "--durations=20", "--durations-min=5",
])  # fmt: skip
BOOK = ("book", ["make", "--no-print-directory", "book"])


def get_browser() -> None:
    """Try to get a Chromium where there is none; tests/site says what is left out without."""
    names = (os.environ.get("CHROMIUM", ""), "chromium-headless-shell", "chromium",
             "chromium-browser", "google-chrome")  # fmt: skip
    if not any(shutil.which(name) for name in names if name):
        get = [*PYTHON, "playwright", "install", "chromium"]
        if subprocess.run(get, capture_output=True, text=True).returncode:
            print("No Chromium, and none could be fetched: tests of the site in a browser are "
                  "left out (on CI they fail).", flush=True)  # fmt: skip


def run(what: str, command: list[str], *, show: bool = True) -> tuple[int, str]:
    """Run one part; gives its status and a line that says how it ended.

    show: its output as it comes; without it only if the part fails, at its end.
    """
    environment = {
        "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYTHONUTF8": "1",
    }  # fmt: skip
    if "--nbval" in command:
        environment["BOOK_STATIC"] = "1"
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
    if arguments == ["check"]:
        ended = [run(*part) for part in (*STYLE, QUICK)]
    elif arguments:
        get_browser()
        ended = [run(what, [*part, *arguments]) for what, part in (NEAR_ALL, AROUND)]
    else:
        get_browser()
        with ThreadPoolExecutor(1) as beside:  # the build has work for one core
            book = beside.submit(run, *BOOK, show=False)
            ended = [run(*part) for part in (*STYLE, NEAR_ALL, CELLS)]
            ended += [book.result(), run(*AROUND)]
    print("\n" + "\n".join(line for _, line in ended), flush=True)
    statuses = [status for status, _ in ended]
    if arguments and 0 in statuses:  # what was chosen may stand in one of the parts alone
        statuses = [status for status in statuses if status != NOTHING_CHOSEN]
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
