"""The chapters' cells of code, each by a digest, to tell which of them ran somewhere."""

import hashlib
import json
from pathlib import Path


def digests(root: Path) -> list[str]:
    """Six hexadecimal digits for each cell of code in a folder's notebooks, in their order."""
    paths = sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    cells = (cell for path in paths for cell in json.loads(path.read_text("utf-8"))["cells"])
    sources = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return [hashlib.sha256(source.encode()).hexdigest()[:6] for source in sources]
