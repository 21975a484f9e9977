"""How fast and how accessible the pages are on a slow telephone, by Lighthouse.

``python benchmarks/lighthouse.py [PAGE ...] [--runs 5]`` measures pages of the built site (``make
book`` first), such as ``notebooks/05_attention_by_hand``; all that are in `PAGES` are stored in
helpers/data/results/lighthouse.json, a selection is only shown. Lighthouse comes from npm, into
_build/lighthouse; without npm and Chromium nothing is done. A local server sends pages compressed,
Lighthouse simulates a slow network and processor, and of each number the median of all runs counts.
"""

import argparse
import functools
import gzip
import http.server
import io
import json
import os
import shutil
import statistics
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from common import ROOT, about, store_table

from book.browser import chromium

LIGHTHOUSE = "12.8.2"
RUNS = 5
SITE = ROOT / "_build" / "html"
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
PAGES = [
    *("book/index", *(f"notebooks/{name}" for name in CHAPTERS)),
    *("book/number-by-number", "book/glossary", "book/notation", "book/results"),
    *("book/corrections", "genindex", "search"),
]
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
COLUMNS = [
    *("page", *CATEGORIES, "first paint (s)", "largest paint (s)", "blocked (ms)", "shift"),
    "kB",
]
TEXT = {".html", ".css", ".js", ".svg", ".json", ".inv", ".txt", ".ipynb"}
# ---------------------------------------------------------------- the server


@functools.lru_cache(maxsize=4096)
def compressed(path: str, changed: float) -> bytes:
    """A file as a server sends it; compressed once, as long as it does not change."""
    return gzip.compress(Path(path).read_bytes(), compresslevel=6, mtime=0)


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Sends text compressed, as servers of sites do."""

    def send_head(self):
        """Send the head; gives the body, or leaves both to the parent."""
        path = Path(self.translate_path(self.path))
        takes = "gzip" in self.headers.get("Accept-Encoding", "")
        if not (takes and path.is_file() and path.suffix in TEXT):
            return super().send_head()
        body = compressed(str(path), path.stat().st_mtime)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; gives the address, without a slash at the end."""
    handler = functools.partial(Compressing, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


# ---------------------------------------------------------------- Lighthouse


def installed(folder: Path) -> Path:
    """Get Lighthouse from npm, unless it is there. Raises: CalledProcessError."""
    script = folder / "node_modules" / "lighthouse" / "cli" / "index.js"
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        get = ["npm", "install", f"lighthouse@{LIGHTHOUSE}", "--prefix", str(folder)]
        subprocess.run([*get, "--no-audit", "--no-fund", "--ignore-scripts"], check=True)
    return script


def report(script: Path, browser: str, url: str) -> dict:
    """Measure a page once. Raises: RuntimeError."""
    flags = "--headless=new --no-sandbox --disable-dev-shm-usage --disable-background-networking"
    command = ["node", str(script), url, "--quiet", "--output=json", f"--chrome-flags={flags}"]
    command.append(f"--only-categories={','.join(CATEGORIES)}")
    done = subprocess.run(
        command, env={**os.environ, "CHROME_PATH": browser}, capture_output=True, text=True
    )
    result = json.loads(done.stdout) if done.returncode == 0 else {"runtimeError": done.stderr}
    if "runtimeError" in result:
        raise RuntimeError(f"Lighthouse failed on {url}: {str(result['runtimeError'])[-2000:]}")
    return result


# ---------------------------------------------------------------- what a report says


def numbers(result: dict) -> list[float]:
    """One run as a row of numbers, in the order of the columns."""
    audits = result["audits"]
    scores = [100 * (result["categories"][name]["score"] or 0) for name in CATEGORIES]
    paints = [
        audits[name]["numericValue"] / 1000
        for name in ("first-contentful-paint", "largest-contentful-paint")
    ]
    rest = [
        audits[name]["numericValue"] for name in ("total-blocking-time", "cumulative-layout-shift")
    ]
    items = audits["network-requests"]["details"]["items"]
    sizes = [one.get("transferSize", 0) for one in items if not one["url"].startswith("data:")]
    return [*scores, *paints, *rest, sum(sizes) / 1000]


def failed(result: dict) -> list[str]:
    """What a page lost points for, apart from speed."""
    return [
        name
        for category in CATEGORIES[1:]
        for name in (
            ref["id"] for ref in result["categories"][category]["auditRefs"] if ref["weight"]
        )
        if result["audits"][name]["score"] not in (None, 1)
    ]


def row(name: str, runs: Sequence[dict]) -> list:
    """A row of the table: the median of each number."""
    middle = [statistics.median(column) for column in zip(*map(numbers, runs), strict=True)]
    digits = [0, 0, 0, 0, 1, 1, 0, 3, 0]
    rounded = [round(value, places) for value, places in zip(middle, digits, strict=True)]
    return [
        name,
        *(value if places else int(value) for value, places in zip(rounded, digits, strict=True)),
    ]


def claim(rows: list[list]) -> str:
    """The table in words."""
    at = {name: place for place, name in enumerate(COLUMNS)}
    least = [min(row[at[name]] for row in rows) for name in CATEGORIES]
    most = max(row[at["kB"]] for row in rows)
    return (
        f"{len(rows)} pages of this site score at least {' / '.join(map(str, least))} "
        f"({', '.join(CATEGORIES)}) in Lighthouse {LIGHTHOUSE}, with at most {most} kB over the "
        f"wire and a layout shift of at most {max(row[at['shift']] for row in rows)}. As a "
        f"telephone on a slow network, on a first visit, from a server that compresses; the median "
        f"of {RUNS} runs"
    )


# ---------------------------------------------------------------- the command


def main(arguments: list[str] | None = None) -> None:
    """Measure the site, and store the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as book/index; else all")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each page ({RUNS})")
    options = parser.parse_args(arguments)
    browser = chromium()
    if not (browser and shutil.which("npm") and shutil.which("node")):
        print("nothing is done without npm, Node and Chromium")
        return
    pages = [page.removesuffix(".html") for page in options.pages or PAGES]
    if missing := [page for page in pages if not (SITE / f"{page}.html").exists()]:
        raise ValueError(f"not in _build/html: {', '.join(missing)} (run `make book` first)")
    script, rows = installed(ROOT / "_build" / "lighthouse"), []
    with served(SITE) as address:
        for page in pages:
            runs = [report(script, browser, f"{address}/{page}.html") for _ in range(options.runs)]
            rows.append(row(page, runs))
            print(dict(zip(COLUMNS, rows[-1], strict=True)), *failed(runs[0]), flush=True)
    if not options.pages:
        made = about(__file__, [], device="a local server; a telephone simulated by Lighthouse")
        made |= {"title": "Weight and speed of the pages", "claim": claim(rows)}
        made |= {"versions": {"lighthouse": LIGHTHOUSE}, "columns": COLUMNS, "rows": rows}
        store_table("lighthouse", made)


if __name__ == "__main__":
    main()
