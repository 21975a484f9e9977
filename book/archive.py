"""Pack the built site as one archive for a stick: ``python -m book.archive [--site FOLDER]``.

Unpacked, it is a folder named after the book and its version: ``index.html`` to open by a
double click, the site, the notebooks that its pages offer for download, and the PDF if there is
one that was printed from this very site. A site without solutions is packed in a folder of a name
of its own, so that unpacking both mixes nothing. The same site gives the same archive,
byte for byte. (``make zip`` builds the site first.)
"""

from __future__ import annotations

import argparse
import io
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from html import escape
from pathlib import Path

import yaml

from book.paper.__main__ import MARK, computed, keywords
from book.paper.document import fingerprint
from helpers.files import write_bytes

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
LEFT_OUT = {".buildinfo", ".nojekyll"}
START = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 1.05rem/1.6 system-ui, sans-serif; margin: 12vh auto; max-width: 38rem; }}
  main {{ padding: 0 1.2rem; }}
  h1 {{ line-height: 1.2; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>Version {version}, to be read without a network: all that its pages show is in this folder.</p>
<ul>
{lines}
</ul>
</main>
</body>
</html>
"""


def project(root: Path) -> tuple[str, str]:
    """The name under which the book is packed, and its version."""
    said = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return said["name"], said["version"]


def has_solutions(site: Path) -> bool:
    """Whether a site holds solutions: one that was built without them has problem sets instead."""
    return not (site / "homework").is_dir()


def contents(site: Path, pdf: Path | None, root: Path = ROOT) -> dict[str, Path | str]:
    """What the folder holds: names in it, each with the file to take or the text to write.

    Raises: ValueError where the site is not built.
    """
    if not (site / "book" / "index.html").is_file():
        raise ValueError(f"--site should be a built site (make book), got {site}")
    files = [path for path in site.rglob("*") if path.is_file() and path.name not in LEFT_OUT]
    held = {f"site/{path.relative_to(site).as_posix()}": path for path in files}
    lines = ['<li><a href="site/book/index.html">Read the book</a></li>']
    if pdf is not None:
        held[pdf.name] = pdf
        lines.append(f'<li><a href="{pdf.name}">The book on paper</a> (PDF)</li>')
    lines.append(
        '<li>The notebooks are in <a href="site/_sources/notebooks/">site/_sources/notebooks</a>; '
        '<a href="site/book/how-to.html#run-the-chapters-yourself">how to run them</a></li>'
    )
    if not has_solutions(site):
        lines.append(
            "<li>This edition holds no solutions; the problem sets to hand in are in "
            '<a href="site/homework/">site/homework</a></li>'
        )
    title = yaml.safe_load((root / "_config.yml").read_text("utf-8"))["title"]
    start = START.format(title=escape(title), version=project(root)[1], lines="\n".join(lines))
    return {"index.html": start, **held}


def current_pdf(pdf: Path, site: Path) -> Path | None:
    """The PDF, unless it is not there or was not printed from this very site."""
    if not pdf.is_file():
        return None
    return pdf if keywords(pdf.read_bytes()) == MARK + fingerprint(site) else None


def pack(held: Mapping[str, Path | str | bytes], date: str, out: Path) -> None:
    """Write an archive: names in order, every file of the same date and mode."""
    year, month, day = map(int, date.split("-"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(held):
            what = held[name]
            entry = zipfile.ZipInfo(name, (year, month, day, 0, 0, 0))
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = 0o100644 << 16
            data = what.read_bytes() if isinstance(what, Path) else what
            archive.writestr(entry, data, compresslevel=9)
    write_bytes(out, packed.getvalue())


def main(arguments: list[str] | None = None) -> int:
    """The command; see the head of this module."""
    parser = argparse.ArgumentParser(
        prog="python -m book.archive",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--site", type=Path, default=SITE, help="a built site (_build/html)")
    parser.add_argument("--pdf", type=Path, help="the book on paper, packed if it is there")
    parser.add_argument("--out", type=Path, help="the archive (_build/NAME.zip)")
    chosen = parser.parse_args(arguments)
    name, version = project(ROOT)
    out = chosen.out or ROOT / "_build" / f"{name}.zip"
    pdf = chosen.pdf or ROOT / "_build" / f"{name}.pdf"
    try:
        printed = current_pdf(pdf, chosen.site)
        held = contents(chosen.site, printed)
        edition = "" if has_solutions(chosen.site) else "-without-solutions"
        folder = f"{name}{edition}-{version}"
        held = {f"{folder}/{inside}": what for inside, what in held.items()}
        pack(held, computed(ROOT)[-1], out)
    except (ValueError, OSError) as error:
        print(f"zip: {error}", file=sys.stderr)
        return 2
    print(f"The book on a stick: {out} ({len(held)} files, {out.stat().st_size / 1e6:.1f} MB)")
    if printed is None:
        print(f"Without the PDF: {pdf.name} is not there, or not printed from this site; make pdf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
