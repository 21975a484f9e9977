"""Build the site into ``_build/html``: ``python -m book.build [--get-model]``.

Where nothing has changed since the last build nothing is done, else all pages are made afresh. A
warning is an error. (``make book`` sets up first.) The chat model's file is put into the site where
this machine keeps it; with --get-model it is fetched.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from book.address import address
from helpers.files import write_text

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "_config.yml",
    "_toc.yml",
    "CITATION.cff",
    "requirements.txt",
    "book",
    "notebooks",
    "helpers",
    "benchmarks",
    "homework/private_example",
)
MODEL = "_static/downloads/SmolLM2-135M-Instruct.Q4_1.gguf"  # of the page with the chat
RECORD = "built-from.txt"  # beside what Sphinx remembers
# Hardly anything of pages in the making is garbage: it is looked for less often than Python would.
BUILD = (
    "import gc; gc.set_threshold(100_000, 20, 100); from jupyter_book.cli.main import main; main()"
)


def state(root: Path) -> str:
    """Hash what a site is made from: its sources and their names, and where it is to live."""
    digest = hashlib.sha256(repr([address(root), os.environ.get("BOOK_SITE")]).encode())
    for source in SOURCES:
        for file in sorted([root / source, *(root / source).rglob("*")]):
            inside = file.relative_to(root)
            beside = any(part.startswith((".", "__pycache__")) for part in inside.parts)
            if file.is_file() and not beside:
                digest.update(f"{inside.as_posix()}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def jupyter_book(source: Path, out: Path, **how) -> subprocess.CompletedProcess:
    """Build a book into out/_build/html with its own helpers, whatever others are installed."""
    call = [sys.executable, "-c", BUILD, "build", str(source), "--path-output", str(out)]
    paths = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
    # Figures are drawn into files, whatever backend somebody likes.
    # One thread: what is computed is small, and two wait for each other on a busy machine.
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "PYTHONUTF8": "1",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run([*call, "-W", "--keep-going"], cwd=source, env=environment, **how)


def add_model(html: Path, get: bool) -> None:
    """Put the chat model's file into the site, or say how. Raises: as `pretrained.fetch`."""
    from helpers import corpus, pretrained  # takes a while

    if get or (corpus.cache_dir() / Path(MODEL).name).is_file():
        (html / MODEL).parent.mkdir(parents=True, exist_ok=True)
        (html / MODEL).write_bytes(pretrained.fetch())
    else:
        told = "book: the chat's page has no model; `python -m book.build --get-model` adds it"
        print(told, file=sys.stderr)


def main(root: Path = ROOT) -> int:
    """The command; see the head of this module."""
    out, start = root / "_build", root / "_build" / "html" / "index.html"
    record = out / ".doctrees" / RECORD
    try:
        out.mkdir(exist_ok=True)
        now = state(root)
        if not start.exists() or not record.exists() or record.read_text("utf-8") != now:
            for stale in (start.parent, record.parent):
                shutil.rmtree(stale, ignore_errors=True)
            if status := jupyter_book(root, root).returncode:
                record.unlink(missing_ok=True)
                return status
            write_text(record, now)
        if not (start.parent / MODEL).exists():
            add_model(start.parent, "--get-model" in sys.argv)
    except (ValueError, OSError) as error:  # an address that is none, a folder of somebody else's
        print(f"book: {error}", file=sys.stderr)
        return 2
    print(f"The book: {start}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
