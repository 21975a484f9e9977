"""What tests share: where the book is, its chapters' cells, and scripts imported as modules."""

import importlib.util
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat

import helpers
from book import address
from helpers import chapters

ROOT = Path(__file__).resolve().parents[1]
HELPERS = Path(helpers.__file__).parent  # where they are installed, when that is elsewhere
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
OVERVIEWS = {one.stem for one in chapters.CHAPTERS if one.overview}
TAUGHT = [path for path in NOTEBOOKS if path.stem not in OVERVIEWS]  # those with exercises
CHECKED = re.compile(r"""\bcheck\(\s*["'](\d\d\.\d+)["']""")


@dataclass(frozen=True)
class Chapter:
    """A notebook with the name it has in the book."""

    stem: str
    notebook: nbformat.NotebookNode
    size: int = 0

    @property
    def number(self) -> str:
        return self.stem[:2]

    @property
    def cells(self) -> list:
        return self.notebook.cells

    @property
    def code(self) -> list:
        return [cell for cell in self.cells if cell.cell_type == "code"]

    @property
    def prose(self) -> str:
        return "\n\n".join(cell.source for cell in self.cells if cell.cell_type == "markdown")

    def tagged(self, tag: str) -> list:
        return [cell for cell in self.code if tag in cell.metadata.get("tags", [])]


@cache
def chapter(path: Path) -> Chapter:
    return Chapter(path.stem, nbformat.read(path, as_version=4), path.stat().st_size)


def script(path: Path):
    """A Python file that is no module of a package, imported."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


readings = script(ROOT / "notebooks" / "readings.py")
execute = script(ROOT / "notebooks" / "execute.py")


@cache
def repository() -> str:
    """The address of the book's repository, as _config.yml has it."""
    return address.stored(ROOT)[0]


@cache
def release() -> str:
    """The tag of the release that pages install, such as v0.1.0."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return f"v{project['version']}"


def exercises(chapter: Chapter) -> list[str]:
    """The names of the exercises that the chapter's check cells judge, in order."""
    return [m.group(1) for cell in chapter.tagged("check") if (m := CHECKED.search(cell.source))]
