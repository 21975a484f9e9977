"""Build the package ``helpers`` as a wheel: ``python -m book.wheel [--out FOLDER]``.

Built from a copy that holds nothing but sources, so that an older build's files cannot get in, and
packed as the book's archive is: the same sources give the same wheel, byte for byte, whenever,
where and by whomever it is built.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from book.archive import ROOT, computed, pack

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT.md")


def build(out: Path, root: Path = ROOT) -> Path:
    """Write the wheel into a folder; gives its path.

    Raises: ValueError where it cannot be built, OSError where it cannot be written.
    """
    with tempfile.TemporaryDirectory() as work:
        source, made = Path(work, "source"), Path(work, "made")
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(root / "helpers", source / "helpers", ignore=ignored)
        for name in SOURCES:
            shutil.copy(root / name, source)
        call = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
        call += ["--no-index", "--disable-pip-version-check", "--wheel-dir", str(made), str(source)]
        done = subprocess.run(call, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode:
            raise ValueError(f"pip could not build the wheel:\n{done.stderr[-2000:]}")
        [wheel] = made.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            held = {name: archive.read(name) for name in archive.namelist()}
        pack(held, computed(root)[-1], out / wheel.name)
    return out / wheel.name


def main(arguments: list[str] | None = None) -> int:
    """The command; see the head of this module."""
    parser = argparse.ArgumentParser(
        prog="python -m book.wheel",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder (dist)")
    try:
        wheel = build(parser.parse_args(arguments).out)
    except (ValueError, OSError) as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 2
    print(f"The package: {wheel}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
