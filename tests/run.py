"""What `make test` runs after the book is built: every cell, then every test.

    python tests/run.py [arguments for the second pytest, such as -k attention]

First nbval runs the notebooks and compares each cell's output with the stored one; then the
tests in tests/, with the coverage of helpers measured. Both are run even if the first fails.
The mutations, which test the tests, are left to `make mutations`.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEAST_COVERED = "95"
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2"]
CELLS = [
    *PYTEST, "--dist", "loadscope", "-q", "--nbval", "notebooks", "--nbval-current-env",
    "--nbval-sanitize-with", "tests/nbval_sanitize.cfg", "--nbval-cell-timeout", "600",
    "-p", "tests.count_cells",
]  # fmt: skip
TESTS = [
    *PYTEST, "--dist", "loadfile", "-q", "tests", "--ignore=tests/test_mutations.py",
    "--durations=40", "--durations-min=5", "--cov=helpers",
    "--cov-report=term:skip-covered", f"--cov-fail-under={LEAST_COVERED}",
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


def run(what: str, command: list[str], **environment: str) -> str:
    """Run one of the two, showing its output; gives a line that says how it ended."""
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
    return f"{'ok    ' if status == 0 else 'FAILED'} {what}: {last} ({seconds:.0f} s)"


def main(arguments: list[str]) -> int:
    """Run both; the exit status is 1 unless both passed."""
    sys.stdout.reconfigure(errors="replace")  # a Windows console lacks signs that test ids hold
    get_browser()
    one_thread = {
        "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYTHONUTF8": "1",
    }  # fmt: skip
    ended = [
        run("cells of the notebooks", CELLS, BOOK_STATIC="1", **one_thread),
        run("tests", [*TESTS, *arguments], **one_thread),
    ]
    print("\n" + "\n".join(ended), flush=True)
    return int(any(line.startswith("FAILED") for line in ended))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
