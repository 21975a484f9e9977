"""What a student wrote, by task, kept for the pages that show it: code, words and pictures.

keep(folder, record, raw, released)   reads it from the file, once that is graded
work(folder, record)                  what was kept of the file that the record is of
"""

import base64
import hashlib
import json
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from nbformat import NotebookNode

from helpers.files import write_text
from homework.intake.archive import UnreadableError
from homework.intake.cellcode import source_of
from homework.intake.notebook import notebook_of
from homework.intake.repair import repaired
from homework.report.gradebook import Record
from homework.report.prose import ATTACHED
from homework.run.worker import MOST_RESPONSE

MOST_PICTURES = 8 * 2**20  # bytes of a student's pictures; further ones are not kept
MOST_ATTACHED = 50  # files of a cell
KINDS = ("png", "jpeg", "gif", "webp")  # of pictures, none of which can hold a script
PASTED = re.compile(r"data:image/([\w.+-]+);base64,([\w+/=]+)")  # as Colab writes pictures
IMAGE = re.compile(rf"<img\b[^>]{{0,200}}?\bsrc=[\"']?({ATTACHED}[^\"'\s>]+)[^>]{{0,200}}>")


@dataclass(frozen=True)
class Work:
    """A student's own cells: before the first task, and of each; pictures: data by their names."""

    before: tuple[str, ...] = ()
    answers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)


def keep(folder: Path, record: Record, raw: bytes | None, released: NotebookNode) -> Record:
    """Keep what a student wrote in a file that could be graded, in the place of what was there.

    Gives the record; in its responses a picture has a name that changes with the picture.
    """
    path = folder / "handed-in" / f"{record.student}.json"
    if raw is None or record.error:
        path.unlink(missing_ok=True)
        return record
    try:
        found = read(raw, released)
    except UnreadableError:  # nor will the pages show it
        found = Work()
    write_text(path, json.dumps({"key": record.key, **asdict(found)}) + "\n")
    own = {
        task: "\n\n".join(found.answers.get(task, (text,)))[:MOST_RESPONSE]
        for task, text in record.responses.items()
    }
    return replace(record, responses=own)


def work(folder: Path, record: Record) -> Work:
    """What was kept; nothing where it is damaged, or of another file."""
    try:
        data = json.loads((folder / "handed-in" / f"{record.student}.json").read_text("utf-8"))
        if data["key"] != record.key:
            return Work()
        answers = {task: tuple(cells) for task, cells in data["answers"].items()}
        return Work(tuple(data["before"]), answers, data["pictures"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Work()


def read(raw: bytes, released: NotebookNode) -> Work:
    """What a student wrote in a file. Raises: UnreadableError."""
    notebook = notebook_of(raw, [])
    pictures: dict[str, str] = {}
    cells = notebook.get("cells")
    for cell in cells if isinstance(cells, list) else []:
        if isinstance(cell, dict):
            cell.pop("outputs", None)  # which nobody grades
            if cell.get("cell_type") == "markdown":
                cell["source"] = _named(source_of(cell), cell.get("attachments"), pictures)
    found = repaired(json.dumps(notebook).encode(), released)
    return Work(found.before, found.answers, pictures)


def _named(source: str, attached: object, pictures: dict[str, str]) -> str:
    """A text whose pictures have names of one kind, however they came; the pictures are taken out.

    attached: of the cell, by name a picture's data by its type.
    """
    source = PASTED.sub(lambda found: _kept(found[1], found[2], pictures), source)
    source = IMAGE.sub(r"![picture](\1)", source)
    files = attached if isinstance(attached, dict) else {}
    for name, kinds in list(files.items())[:MOST_ATTACHED]:
        if isinstance(kinds, dict) and kinds:
            kind, data = next(iter(kinds.items()))
            text = "".join(map(str, data)) if isinstance(data, list) else data or ""
            address = _kept(kind.removeprefix("image/"), "".join(str(text).split()), pictures)
            for written in {name, quote(name), quote(name, safe="()")}:
                source = source.replace(f"({ATTACHED}{written})", f"({address})")
    return source


def _kept(kind: str, data: str, pictures: dict[str, str]) -> str:
    """The address of a picture among those that are kept; what is said where it is not."""
    kind = kind.lower().replace("jpg", "jpeg")
    try:
        found = base64.b64decode(data, validate=True)
    except ValueError:
        found = b""
    if not found:
        return "damaged"
    if kind not in KINDS:
        return "of-another-kind"
    name = hashlib.sha256(found).hexdigest()[:16]
    if name not in pictures:
        if sum(map(len, pictures.values())) + len(data) > MOST_PICTURES:
            return f"{len(found) / 2**20:.1f}-MiB"
        pictures[name] = f"data:image/{kind};base64,{base64.b64encode(found).decode()}"
    return f"{ATTACHED}{name}"
