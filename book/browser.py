"""Find a Chromium, which prints, draws and tests the site: ``python -m book.browser [--get]``.

Prints its path. With --get, Playwright's own is fetched where there is none. The exit status is 1
where there still is none.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"%ProgramFiles%\Google\Chrome\Application\chrome.exe",
)
MISSING = (
    "there is no Chromium that starts; install it (Debian and Ubuntu: apt-get install chromium) "
    "or Chrome, or set the environment variable CHROMIUM to the path of one"
)
PLAYWRIGHTS = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


def chromium() -> str | None:
    """The path of the one that CHROMIUM names, the system's, or Playwright's own."""
    for name in filter(None, (os.environ.get("CHROMIUM"), *NAMES)):
        if (path := shutil.which(os.path.expandvars(name))) and starts(path):
            return path
    # In a process of its own, since the caller's thread may be running Playwright.
    ask = [sys.executable, "-c", PLAYWRIGHTS]
    path = subprocess.run(ask, capture_output=True, text=True).stdout.strip()
    return path if Path(path).is_file() and starts(path) else None


def starts(path: str) -> bool:
    """Whether it runs: libraries may be missing, or it may only say how to install it."""
    if os.name == "nt":  # where a browser that is asked for its version opens a window
        return True
    return subprocess.run([path, "--version"], capture_output=True).returncode == 0


if __name__ == "__main__":
    if "--get" in sys.argv and chromium() is None:
        print("Downloading Chromium for the tests of the site …", file=sys.stderr, flush=True)
        get = [sys.executable, "-m", "playwright", "install", "chromium"]
        done = subprocess.run(get, capture_output=True, text=True)
        if done.returncode:
            why = re.search("Error: .+", done.stderr) or [done.stderr]
            print(f"Chromium was not downloaded: {why[0].strip()}", file=sys.stderr, flush=True)
    found = chromium()
    print(found or MISSING)
    sys.exit(found is None)
