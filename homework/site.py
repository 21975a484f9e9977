"""Build the site without solutions: the book's own build, of sources without the cells that have
the tag `solution`; each chapter links to its problem set.

    python -m homework.site      (make book SOLUTIONS=no), into _build/without-solutions
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
import yaml

from book.build import SOURCES, jupyter_book
from helpers.chapters import TAUGHT
from homework.command import command
from homework.release.assignment import ROOT, read_assignment
from homework.release.edition import edition
from homework.release.leaks import LeakError, leaks

OUT = ROOT / "_build" / "without-solutions"
NOTEBOOK_LINK = re.compile(r"\[[^\]]*\]\(https?://[^()\s]+\.ipynb[^()\s]*\)")  # with solutions
FOLDED = re.compile(r"The\s+solution\s+is\s+folded;\s+it\s+ends\s+with\s+the\s+same\s+check\.")
LINK = '\n\n<a href="../homework/{}.ipynb" download>Problem set: the exercises, to hand in</a>\n\n'


def prepare(root: Path, source: Path) -> None:
    """Copy the sources of a book without its solutions.

    Raises: ValueError for a solution without the tag.
    """
    for name in SOURCES:
        if (root / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(root / name, source / name, ignore=ignored)
        elif (root / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, source / name)
    config = yaml.safe_load((source / "_config.yml").read_text("utf-8"))
    config.pop("launch_buttons", None)  # they open the public repository's notebooks
    (source / "_config.yml").write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
    for path in (source / "notebooks").glob("[0-9][0-9]_*.ipynb"):
        notebook = json.loads(path.read_text("utf-8"))
        cells = [c for c in notebook["cells"] if "solution" not in c["metadata"].get("tags", [])]
        for cell in cells:
            text = "".join(cell["source"])
            if "BEGIN SOLUTION" in text:
                raise ValueError(f"{path.name}: {cell['id']} is a solution without the tag")
            if cell["cell_type"] == "markdown":
                text = FOLDED.sub("This site holds no solutions.", NOTEBOOK_LINK.sub("", text))
                if text.startswith("# ") and path.stem in {one.stem for one in TAUGHT}:
                    title, _, rest = text.partition("\n")
                    text = title + LINK.format(path.name[:2]) + rest.lstrip()
                cell["source"] = text
        notebook["cells"] = cells
        notebook["metadata"].pop("widgets", None)
        path.write_text(json.dumps(notebook), "utf-8")


def problem_sets(folder: Path) -> None:
    """Write the student edition of each chapter. Raises: LeakError."""
    folder.mkdir(parents=True)
    for chapter in TAUGHT:
        assignment = read_assignment(ROOT / "notebooks" / f"{chapter.stem}.ipynb")
        made = edition(assignment)
        text = nbformat.writes(made) + "\n"
        if found := leaks(text.encode(), assignment, made):
            raise LeakError(f"{assignment.chapter}: " + "; ".join(found))
        (folder / f"{assignment.chapter}.ipynb").write_text(text, "utf-8")


@command
def main(root: Path = ROOT, out: Path = OUT) -> None:
    """Build the site in place of an older one, which stays where the build fails."""
    with tempfile.TemporaryDirectory() as work:
        source, html = Path(work, "source"), Path(work, "_build", "html")
        source.mkdir()
        prepare(root, source)
        if jupyter_book(source, Path(work)).returncode:
            raise ValueError("the build failed; see above")
        problem_sets(html / "homework")
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(html, out)
    print(f"The book without solutions: {out / 'index.html'}")


if __name__ == "__main__":
    sys.exit(main())
