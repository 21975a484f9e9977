"""Pack the built site, and the PDF if it was printed from it, for a stick: ``make zip``.

Unpacked, it is a folder named after the book and its version, with an ``index.html`` to open.
"""

import argparse
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

import yaml

from book.paper.__main__ import MARK, keywords
from book.paper.document import fingerprint

ROOT = Path(__file__).resolve().parents[1]
START = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>:root {{ color-scheme: light dark; font: 1.05rem/1.6 system-ui; padding: 1rem }}</style>
<h1>{title}</h1>
<ul><li><a href="site/book/index.html">Read the book</a>, without a network.
{lines}<li>The notebooks are in <a href="site/_sources/notebooks/">site/_sources/notebooks</a>;
<a href="site/book/how-to.html#run-the-chapters-yourself">how to run them</a>.</ul>
"""
PDF = '<li><a href="book.pdf">The book on paper</a> (PDF).\n'
HOMEWORK = """<li>This edition holds no solutions; the problem sets to hand in are in
<a href="site/homework/">site/homework</a>.\n"""


def pack(site: Path, pdf: Path, out: Path) -> str:
    """Write the archive of a built site; gives its path."""
    title = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    said = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    unsolved = (site / "homework").is_dir()
    printed = pdf.is_file() and keywords(pdf.read_bytes()) == MARK + fingerprint(site)
    with tempfile.TemporaryDirectory() as work:
        name = f"{said['name']}{'-without-solutions' * unsolved}-{said['version']}"
        shutil.copytree(site, Path(work, name, "site"), ignore=shutil.ignore_patterns(".*"))
        start = START.format(title=title, lines=PDF * printed + HOMEWORK * unsolved)
        Path(work, name, "index.html").write_text(start, "utf-8")
        if printed:
            shutil.copy(pdf, Path(work, name, "book.pdf"))
        else:
            print("Without the PDF: `make pdf` prints it from this site")
        return shutil.make_archive(str(out.with_suffix("")), "zip", work, name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m book.archive", description=pack.__doc__)
    for option, default in (("site", "html"), ("pdf", "book.pdf"), ("out", "book.zip")):
        parser.add_argument(f"--{option}", type=Path, default=ROOT / "_build" / default)
    chosen = parser.parse_args()
    if not (chosen.site / "book" / "index.html").is_file():
        sys.exit(f"zip: --site should be a built site (make book), got {chosen.site}")
    print("The book on a stick:", pack(chosen.site, chosen.pdf, chosen.out))
