"""From the bytes of a file to the cells of a notebook, in any encoding."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from homework.intake.archive import MOST_BYTES, UnreadableError
from homework.intake.cellcode import parsed, source_of

MOST_CELLS = 5000
HAND_IN = "hand in the .ipynb file itself (Jupyter: File, Download; Colab: File, Download .ipynb)"
SURROGATES = re.compile("[\ud800-\udfff]")
OTHER_FILES = {  # what a file is that begins so
    (b"%PDF",): "a PDF",
    (b"PK\x03\x04",): "a zip archive, or a Word or Excel document",
    (b"\xd0\xcf\x11\xe0",): "an old Word or Excel document",
    (b"\x89PNG", b"\xff\xd8\xff"): "a picture",
    (b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!"): "an archive",
}


@dataclass(frozen=True)
class Cell:
    """A cell that was handed in; ids: what says which one it is."""

    at: int
    type: str
    source: str
    metadata: dict
    ids: tuple[str, ...]


def notebook_of(raw: bytes, notes: list[str]) -> dict:
    """The JSON object of a notebook. Raises: UnreadableError that says what came instead."""
    if len(raw) > MOST_BYTES:
        raise UnreadableError(
            f"the file has {len(raw) / 2**20:.0f} MiB; at most {MOST_BYTES / 2**20:.0f} are read: "
            "clear the outputs and hand it in again"
        )
    for begins, what in OTHER_FILES.items():
        if raw.startswith(begins):
            raise UnreadableError(f"this is {what}, not a notebook: {HAND_IN}")
    if not raw.strip(b"\xef\xbb\xbf\xfe\xff\0 \t\r\n"):
        raise UnreadableError(f"the file is empty: {HAND_IN}")
    text = _decoded(raw, notes)
    try:
        notebook = json.loads(text.strip("\ufeff\0 \t\r\n"))
    except ValueError as error:
        raise UnreadableError(f"{_no_json(text, error)}: {HAND_IN}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        what = "JSON, but no notebook (it has no cells)"
        if isinstance(notebook, dict) and "worksheets" in notebook:
            what = "a notebook of the format before 2015; open it in Jupyter and save it"
        raise UnreadableError(f"this is {what}: {HAND_IN}")
    return notebook


def _decoded(raw: bytes, notes: list[str]) -> str:
    encoding = json.detect_encoding(raw)
    if encoding.startswith("utf-8"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            notes.append("the file is not in UTF-8; it was read as Windows-1252")
            try:
                return raw.decode("cp1252")
            except UnicodeDecodeError:
                return raw.decode("latin-1")
    notes.append(f"the file is in {encoding.upper()}, not in UTF-8")
    return raw.decode(encoding, "replace")


def _no_json(text: str, error: ValueError) -> str:
    start = text.lstrip("\ufeff \t\r\n")[:500].lower()
    if start.startswith(("<!doctype html", "<html", "<head", "<?xml")):
        return "this is a web page (HTML), not a notebook"
    if "<<<<<<< " in text and "\n>>>>>>> " in text:
        return "the notebook holds the marks of a Git conflict"
    if start.startswith("{"):
        place = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return f"the notebook is damaged or cut off: its JSON is wrong{place}"
    if (tree := parsed(text)) is not None and not _only_words(tree):
        return "this is a Python program, not a notebook"
    return "this is no notebook"


def _only_words(tree: ast.Module) -> bool:
    return all(
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Name | ast.Constant) for s in tree.body
    )


def cells_of(notebook: dict, notes: list[str]) -> Iterator[Cell]:
    """The cells of a notebook, outputs dropped, sources as plain text."""
    raw = notebook["cells"]
    if len(raw) > MOST_CELLS:
        raise UnreadableError(f"the notebook has {len(raw)} cells; at most {MOST_CELLS} are read")
    cells = [cell for cell in raw if isinstance(cell, dict)]
    if broken := len(raw) - len(cells):
        notes.append(f"damaged cells were left out: {broken}")
    odd = 0
    for at, cell in enumerate(cells):
        written = source_of(cell)
        source = SURROGATES.sub("\ufffd", written.replace("\0", "")).replace("\r\n", "\n")
        odd += "\0" in written or SURROGATES.search(written) is not None
        metadata = cell.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        ids = tuple(i for i in (cell.get("id"), metadata.get("id")) if isinstance(i, str))
        yield Cell(at, _type(cell), source.replace("\r", "\n"), metadata, ids)
    if odd:
        notes.append(f"cells with impossible characters were cleaned: {odd}")


def _type(cell: dict) -> str:
    kind = cell.get("cell_type")
    if kind in ("code", "markdown", "raw"):
        return kind
    return "code" if "outputs" in cell else "raw"
