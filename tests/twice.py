"""Each cell of each chapter run twice in a row: ``python tests/twice.py [05 …]``; nightly.

A reader who runs a cell again gets no error, and none later for having done so.
"""

import copy
import os
import sys

import nbformat
from nbclient import NotebookClient
from support import execute

os.environ |= {"BOOK_STATIC": "1", "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def failed(notebook: nbformat.NotebookNode) -> list[str]:
    """The ids of the cells that raise where each is run twice, with what they say."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells = [copy.deepcopy(cell) for cell in code for _ in range(2)]
    for cell, time in zip(notebook.cells, ["first", "second"] * len(code), strict=True):
        cell.id = f"{cell.id[:50]}-{time}"
        cell.metadata.tags = []
    NotebookClient(
        notebook,
        timeout=execute.TIMEOUT_S,
        kernel_name="python3",
        allow_errors=True,
        kernel_manager_class=execute.ThisKernel,
        resources={"metadata": {"path": execute.HERE}},
    ).execute()
    return [
        f"{cell.id}: {output.ename}: {output.evalue[:200]}"
        for cell in notebook.cells
        for output in cell.outputs
        if output.output_type == "error"
    ]


if __name__ == "__main__":
    found = False
    for path in execute.chosen(sys.argv[1:]):
        faults = failed(nbformat.read(path, as_version=4))
        print(path.stem, *(faults or ["ok"]), sep="\n  ", flush=True)
        found = found or bool(faults)
    sys.exit(found)
