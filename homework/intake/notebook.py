"""From the bytes of a file to the cells of a notebook, in any encoding."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from homework.intake.archive import MOST_BYTES, UnreadableError
from homework.intake.cellcode import source_of

MOST_CELLS = 5000
FENCED = re.compile(r"\s*```(?:i?python)?\n(.*?)\n?```\s*", re.DOTALL)  # code as Markdown has it
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


def notebook_of(raw: bytes) -> dict:
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
    text = raw.decode(json.detect_encoding(raw), "replace").strip("\ufeff\0 \t\r\n")
    try:
        notebook = json.loads(text)
    except ValueError:
        is_damaged = text.startswith("{")
        what = "a notebook that is damaged or cut off" if is_damaged else "no notebook"
        raise UnreadableError(f"this is {what}: {HAND_IN}") from None
    if isinstance(notebook, dict) and isinstance(sheets := notebook.get("worksheets"), list):
        sheets = [one["cells"] for one in sheets if isinstance(one, dict) and "cells" in one]
        notebook["cells"] = list(itertools.chain(*(one for one in sheets if isinstance(one, list))))
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise UnreadableError(f"this is JSON, but no notebook (it has no cells): {HAND_IN}")
    return notebook


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
        if found := FENCED.fullmatch(source):
            source = found[1]
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
