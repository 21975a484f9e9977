"""What `make test` runs after the book is built: every cell, then every test.

    python tests/run.py [arguments for pytest, such as -k attention, for the tests alone]

First nbval runs the notebooks and compares each cell's output with the stored one. Then come the
tests: those of homework and of the site, and all others. With the others the coverage of helpers is
measured, which slows them down, unless there are arguments. Each is run even if one before it
fails. The mutations, which test the tests, are left to `make mutations`.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEAST_COVERED = "95"
NOTHING_CHOSEN = 5  # pytest's status
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2"]
CELLS = [
    *PYTEST, "--dist", "loadscope", "-q", "--nbval", "notebooks", "--nbval-current-env",
    "--nbval-sanitize-with", "tests/nbval_sanitize.cfg", "--nbval-cell-timeout", "600",
    "-p", "tests.count_cells",
]  # fmt: skip
TESTS = [
    *PYTEST, "--dist", "loadfile", "--no-loadscope-reorder", "-q", "--durations=40",
    "--durations-min=5",
]  # fmt: skip
LONG = ("submissions", "grading", "grade", "walkthrough", "site")  # first, or one worker waits
HOMEWORK = {path.stem.removeprefix("test_homework_"): f"tests/{path.name}"
            for path in sorted(ROOT.glob("tests/test_homework_*.py"))}  # fmt: skip
AROUND = [*dict.fromkeys([*(HOMEWORK[name] for name in LONG), *HOMEWORK.values()]), "tests/site"]
OTHERS = [
    "tests", "--ignore=tests/test_mutations.py", "--ignore-glob=*/test_homework*",
    "--ignore=tests/site", "--cov=helpers", "--cov-report=term:skip-covered",
    f"--cov-fail-under={LEAST_COVERED}",
]  # fmt: skip


def get_browser() -> None:
    """Try to get a Chromium where there is none; tests/site says what is left out without."""
    names = (os.environ.get("CHROMIUM", ""), "chromium-headless-shell", "chromium",
             "chromium-browser", "google-chrome")  # fmt: skip
    if not any(shutil.which(name) for name in names if name):
        get = [sys.executable, "-m", "playwright", "install", "chromium"]
        done = subprocess.run(get, capture_output=True, text=True)
        if done.returncode:
            print("No Chromium, and none could be fetched: tests of the site in a browser are "
                  "left out (on CI they fail).", flush=True)  # fmt: skip


def run(what: str, command: list[str], **environment: str) -> tuple[int, str]:
    """Run one of them, showing its output; gives its status and a line that says how it ended."""
    began, last = time.monotonic(), ""
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    for line in process.stdout:
        print(line, end="", flush=True)
        last = line.strip().strip("=").strip() or last
    status = process.wait()
    seconds = time.monotonic() - began
    ended = {0: "ok    ", NOTHING_CHOSEN: "none  "}.get(status, "FAILED")
    return status, f"{ended} {what}: {last} ({seconds:.0f} s)"


def main(arguments: list[str]) -> int:
    """Run all; the exit status is 1 unless each passed, and some test was run."""
    sys.stdout.reconfigure(errors="replace")  # a Windows console lacks signs that test ids hold
    get_browser()
    one_thread = {
        "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYTHONUTF8": "1",
    }  # fmt: skip
    chosen = [*arguments, "--no-cov"] if arguments else []
    ended = [
        run("cells of the notebooks", CELLS, BOOK_STATIC="1", **one_thread),
        run("tests of homework and site", [*TESTS, *AROUND, *chosen], **one_thread),
        run("all other tests", [*TESTS, *OTHERS, *chosen], **one_thread),
    ]
    print("\n" + "\n".join(line for _, line in ended), flush=True)
    cells, *tests = (status for status, _ in ended)
    if chosen and 0 in tests:  # what was chosen may stand in one of the two alone
        tests = [status for status in tests if status != NOTHING_CHOSEN]
    return int(any([cells, *tests]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
