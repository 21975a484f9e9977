"""How fast pages are on a slow telephone, and how accessible: Lighthouse, beside a stock book.

``python benchmarks/lighthouse.py [PAGE ...] [--runs 5] [--show]`` measures pages of the built site
(``make book`` first), such as ``notebooks/05_attention_by_hand``, and pages of a Jupyter Book with
its default settings, which it builds on the way: the template that `jupyter-book create` writes,
and the notebook of chapter 5 as it is. It writes helpers/data/results/lighthouse.json; where pages
are named, their rows alone, as after a run in which the machine was busy for a while. Lighthouse
comes from npm, into _build/lighthouse; without npm and Chromium nothing is done.

A local server sends pages compressed. Lighthouse loads each as a telephone does, on a first visit,
and simulates a slow network and processor; of each number the median of all runs counts. Nothing is
asked of the network, so the stock book gets MathJax from this server, too. A run takes about
ten seconds, everything about twenty minutes; on a busy machine pages seem slower.
"""

import argparse
import functools
import gzip
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from common import RESULTS, ROOT, about, store_table

from book.browser import chromium

LIGHTHOUSE = "12.8.2"
RUNS = 5
SITE = ROOT / "_build" / "html"
STORED = RESULTS / "lighthouse.json"
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
PAGES = [
    *("book/index", *(f"notebooks/{name}" for name in CHAPTERS)),
    *("book/number-by-number", "book/glossary", "book/notation", "book/results"),
    *("book/corrections", "genindex", "search"),
]
STOCK = {"notebooks": "stock: the template", "chapter": "stock: chapter 5"}
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
MATHS = ("/mathjax/", "/fonts/MathJax_", "/maths.css")
COLUMNS = [
    *("page", *CATEGORIES, "first paint (s)", "largest paint (s)", "blocked (ms)", "shift"),
    *("kB", "kB without maths"),
]
TEXT = {".html", ".css", ".js", ".svg", ".json", ".inv", ".txt", ".ipynb"}
CONFIG = """title: A stock book
execute:
  execute_notebooks: "off"
sphinx:
  config:
    mathjax_path: mathjax/tex-mml-chtml.js
"""


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
        from io import BytesIO

        return BytesIO(body)

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


def weights(items: Iterable[dict]) -> list[float]:
    """Kilobytes that came over the wire: all of them, and those without maths."""
    sizes = [
        (item.get("transferSize", 0) / 1000, any(part in item["url"] for part in MATHS))
        for item in items
        if not item["url"].startswith("data:")
    ]
    return [sum(size for size, _ in sizes), sum(size for size, maths in sizes if not maths)]


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
    return [
        *scores,
        *paints,
        *rest,
        *weights(audits["network-requests"]["details"]["items"]),
    ]


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
    digits = [0, 0, 0, 0, 1, 1, 0, 3, 0, 0]
    rounded = [round(value, places) for value, places in zip(middle, digits, strict=True)]
    return [
        name,
        *(value if places else int(value) for value, places in zip(rounded, digits, strict=True)),
    ]


def claim(rows: list[list]) -> str:
    """The table in words."""
    ours = [row for row in rows if row[0] not in STOCK.values()]
    stock = [row for row in rows if row[0] in STOCK.values()]
    at = {name: place for place, name in enumerate(COLUMNS)}
    least = [min(row[at[name]] for row in ours) for name in CATEGORIES]
    most = max(row[at["kB"]] for row in ours)
    words = (
        f"{len(ours)} pages of this site score at least {' / '.join(map(str, least))} "
        f"({', '.join(CATEGORIES)}) in Lighthouse {LIGHTHOUSE}, with at most {most} kB over the "
        f"wire and a layout shift of at most {max(row[at['shift']] for row in ours)}"
    )
    for row in stock:
        scores = " / ".join(str(row[at[name]]) for name in CATEGORIES)
        name = row[0].replace("stock:", "a stock Jupyter Book,")
        words += f"; {name}: {scores} with {row[at['kB']]} kB"
    return words + (
        ". As a telephone on a slow network, on a first visit, from a server that compresses; "
        f"the median of {RUNS} runs. kB count everything that a page loads before it is scrolled, "
        "heads of answers included"
    )


def table(rows: list[list]) -> dict:
    """What is stored."""
    return {
        "title": "Weight and speed of the pages",
        "claim": claim(rows),
        "columns": COLUMNS,
        "rows": rows,
    }


# ---------------------------------------------------------------- a stock book


def stock_book(folder: Path) -> Path:
    """Build a Jupyter Book with default settings; gives the folder of its site.

    Raises: CalledProcessError.
    """
    book = folder / "stock"
    tool = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*tool, "create", str(book)], **quiet)
    shutil.copyfile(ROOT / "notebooks" / "05_attention_by_hand.ipynb", book / "chapter.ipynb")
    (book / "_config.yml").write_text(CONFIG, "utf-8")
    toc = "format: jb-book\nroot: intro\nchapters:\n- file: notebooks\n- file: chapter\n"
    (book / "_toc.yml").write_text(toc, "utf-8")
    subprocess.run([*tool, "build", str(book)], **quiet)
    site = book / "_build" / "html"
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from passes.maths import mathjax_root

    shutil.copytree(mathjax_root(), site / "_static" / "mathjax")
    return site


# ---------------------------------------------------------------- the command


def measured(pages: dict[str, str], site: Path, script: Path, browser: str, runs: int) -> list:
    """Measure pages of a site; gives a row for each, and says what was found."""
    rows = []
    with served(site) as address:
        for page, name in pages.items():
            results = [report(script, browser, f"{address}/{page}.html") for _ in range(runs)]
            rows.append(row(name, results))
            print(dict(zip(COLUMNS, rows[-1], strict=True)), *failed(results[0]), flush=True)
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Measure this site and a stock one, and store the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as book/index; all chapters")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each page ({RUNS})")
    parser.add_argument("--show", action="store_true", help="only this site; nothing is stored")
    options = parser.parse_args(arguments)
    browser = chromium()
    if not (browser and shutil.which("npm") and shutil.which("node")):
        print("nothing is done without npm, Node and Chromium")
        return
    if not (SITE / "book" / "index.html").exists():
        raise ValueError("there is no built site in _build/html; run `make book` first")
    ours = {page: page for page in (name.removesuffix(".html") for name in options.pages or PAGES)}
    if missing := [page for page in ours if not (SITE / f"{page}.html").exists()]:
        raise ValueError(f"no such page: {', '.join(missing)}; the site has book/index, for one")
    if options.pages and not options.show and not STORED.exists():
        raise ValueError("no table is stored yet: name no page to measure all, or add --show")
    script = installed(ROOT / "_build" / "lighthouse")
    rows = measured(ours, SITE, script, browser, options.runs)
    if options.show:
        return
    if options.pages:
        rows = replaced(json.loads(STORED.read_text("utf-8"))["rows"], rows)
    else:
        rows += stock_rows(script, browser, options.runs)
    made = about(__file__, [], device="a local server; a telephone simulated by Lighthouse")
    made["versions"] = {"lighthouse": LIGHTHOUSE, **versions(browser)}
    store_table("lighthouse", made | table(rows))


def replaced(rows: list[list], by: list[list]) -> list[list]:
    """Stored rows, those of pages that were measured again in their place. Raises: ValueError."""
    order, found = [*PAGES, *STOCK.values()], {row[0]: row for row in (*rows, *by)}
    if unknown := sorted(set(found) - set(order)):
        raise ValueError(f"{', '.join(unknown)} should be in PAGES, or measured with --show")
    return [found[page] for page in order if page in found]


def stock_rows(script: Path, browser: str, runs: int) -> list:
    """Build and measure the stock book."""
    with tempfile.TemporaryDirectory() as folder:
        return measured(STOCK, stock_book(Path(folder)), script, browser, runs)


def versions(browser: str) -> dict[str, str]:
    """Of the browser and of the stock book."""
    from importlib.metadata import version

    said = subprocess.run([browser, "--version"], capture_output=True, text=True).stdout.split()
    number = next((word for word in said if word[:1].isdigit()), "unknown")
    return {"chromium": number, "jupyter-book": version("jupyter-book")}


if __name__ == "__main__":
    main()
