"""Run the chapters in place and store clean outputs: ``python notebooks/execute.py [05 …]``.

A chapter runs from top to bottom in a fresh kernel of this very interpreter, with
``BOOK_STATIC=1``. What is stored depends on the code alone: running twice changes nothing.
A chapter that fails, or whose outputs name this machine, is left as it was. When, with what and
on what outputs were computed stands in book/outputs.json, in an entry that changes only when
the outputs do.
"""

import datetime
import getpass
import json
import os
import platform
import re
import socket
import sys
import time
from importlib.metadata import version
from pathlib import Path

import nbformat
from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import (
    CellExecutionError,
    CellTimeoutError,
    DeadKernelError,
)
from nbformat.v4 import new_code_cell

from helpers.explore import small_svg
from helpers.files import write_text

sys.path.insert(0, str(Path(__file__).resolve().parent))
import readings

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STAMPS = ROOT / "book" / "outputs.json"
TIMEOUT_S = 600  # a cell that takes longer does not belong into a chapter
KERNEL = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
# Asked of the kernel after the last cell: whether anything ran on an accelerator, and which kind.
DEVICE = """
import sys
_torch = sys.modules.get("torch")
_used = _torch is not None and _torch.cuda.is_available() and _torch.cuda.is_initialized()
print(_torch.cuda.get_device_name() if _used else "CPU", end="")
"""


class Failed(Exception):
    """A chapter could not be run, or its outputs cannot be stored; the message says why."""


class ThisKernel(AsyncKernelManager):
    """Starts kernels of the interpreter that runs this script, whatever else is installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """The kernel of this interpreter."""
        quiet = ["--log-level=40"]  # or it warns that it talks over TCP
        return KernelSpec(
            resource_dir=str(RESOURCES), **get_kernel_dict(quiet)
        )


# --- running --------------------------------------------------------------------------------


def execute(path: Path) -> tuple[nbformat.NotebookNode, str, float]:
    """Run a notebook in a fresh kernel; returns it with raw outputs, the device, and seconds."""
    notebook = _unrun(nbformat.read(path, as_version=4))
    notebook.cells.append(new_code_cell(DEVICE))
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        kernel_name="python3",
        kernel_manager_class=ThisKernel,
        record_timing=False,
        resources={"metadata": {"path": str(HERE)}},
    )
    began = time.monotonic()
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise Failed(
            f"{path.name}: {_where(notebook)}{_plain(str(error))}"
        ) from None
    seconds = time.monotonic() - began
    device = "".join(
        output.get("text", "") for output in notebook.cells.pop().outputs
    )
    return notebook, device, seconds


def _unrun(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without what an earlier run left in it, so that counts are of this run."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = None, []
    return notebook


def _where(notebook: nbformat.NotebookNode) -> str:
    """Which cell a run stopped at: the last one that was begun."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    failed = [
        c for c in code if any(o.output_type == "error" for o in c.outputs)
    ]
    begun = failed or [c for c in code if c.execution_count]
    cell = begun[-1] if begun else code[0]
    return f"cell {notebook.cells.index(cell) + 1} (id {cell.id}) failed.\n"


def _plain(words: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", words)


# --- cleaning -------------------------------------------------------------------------------


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Take out of a notebook that was run whatever is not the chapter's: in place."""
    notebook.metadata = nbformat.from_dict(KERNEL)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell.setdefault("id", f"cell-{number:03d}")
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = [
            _clean_output(output, count)
            for output in _coalesced(cell.outputs)
        ]
    return notebook


def _coalesced(outputs: list) -> list:
    """Outputs with everything that was written to one stream in one piece."""
    kept, streams = [], {}
    for output in outputs:
        if output.output_type == "stream" and output.name in streams:
            streams[output.name].text += output.text
            continue
        if output.output_type == "stream":
            streams[output.name] = output
        kept.append(output)
    return kept


def _clean_output(
    output: nbformat.NotebookNode, count: int
) -> nbformat.NotebookNode:
    if "metadata" in output:
        output.metadata = nbformat.NotebookNode()
    if output.output_type == "execute_result":
        output.execution_count = count
    if "image/svg+xml" in output.get("data", {}):
        output.data["image/svg+xml"] = small_svg(
            output.data["image/svg+xml"]
        )
    return output


# --- what must not be stored ----------------------------------------------------------------

# Long runs of base64 (packed frames, pictures) hold any short word by chance.
BLOB = re.compile(r"[A-Za-z0-9+/]{200,}={0,2}")
PATH = re.compile(
    r"(?<![\w.])/(?:home|root|Users|tmp|private|var|usr|opt|mnt|work|workspace)/[\w.]\S*"
    r"|\b[A-Z]:\\(?:Users|Windows|Program|Temp)\S*"
)


def leaks(notebook: nbformat.NotebookNode) -> list[str]:
    """What in the outputs tells of the machine they were computed on, or went to stderr."""
    found = []
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                found.append(
                    f"cell {number} wrote to stderr: {output.text.strip()[:300]}"
                )
            said = BLOB.sub(
                "", json.dumps(output, ensure_ascii=False)
            ).replace("\\\\", "\\")
            found += [
                f"cell {number} stores {what}" for what in _tells(said)
            ]
    return found


def _tells(said: str) -> list[str]:
    found = [
        f"the absolute path {path[:80]}" for path in PATH.findall(said)
    ]
    if " at 0x" in said:
        found.append("an object's address, which is another on every run")
    for what, where in (
        ("home folder", Path.home()),
        ("book's folder", ROOT),
    ):
        if len(where.parts) > 2 and str(where) in said:
            found.append(f"the path of your {what}, {where}")
    host, user = socket.gethostname(), _user()
    telling = re.search(r"[\d.-]", host)  # "model" or "main" are words
    if telling and re.search(rf"\b{re.escape(host)}\b", said):
        found.append(f"this machine's name, {host}")
    if user and re.search(rf"\b{re.escape(user)}@", said):
        found.append(f"the user's name, {user}")
    return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


# --- storing --------------------------------------------------------------------------------


def results(notebook: nbformat.NotebookNode) -> list:
    """The outputs of a notebook, cell by cell."""
    return [
        cell.outputs for cell in notebook.cells if cell.cell_type == "code"
    ]


def stamp(
    notebook: nbformat.NotebookNode, device: str, seconds: float
) -> dict:
    """When, on what and with what outputs were computed; no machine's name."""
    return {
        "cells": sum(cell.cell_type == "code" for cell in notebook.cells),
        "computed": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "device": device,
        "seconds": max(1, round(seconds)),
        "versions": {
            "python": platform.python_version(),
            "torch": version("torch").partition("+")[0],
            "numpy": version("numpy"),
            "matplotlib": version("matplotlib"),
            "helpers": version("transformers-worked-out"),
        },
    }


def store(
    path: Path, notebook: nbformat.NotebookNode, device: str, seconds: float
) -> bool:
    """Write the notebook and, where its outputs changed, its stamp; whether they changed."""
    if complaints := leaks(notebook):
        raise Failed(
            "\n".join([f"{path.name}: outputs not stored.", *complaints])
        )
    nbformat.validate(notebook)
    stamps = (
        json.loads(STAMPS.read_text("utf-8")) if STAMPS.exists() else {}
    )
    before = nbformat.read(path, as_version=4)
    changed = path.stem not in stamps or results(before) != results(
        notebook
    )
    write_text(path, nbformat.writes(notebook).rstrip("\n") + "\n")
    if changed:
        stamps[path.stem] = stamp(notebook, device, seconds)
    here = {chapter.stem for chapter in path.parent.glob("*.ipynb")}
    kept = {
        stem: entry
        for stem, entry in sorted(stamps.items())
        if stem in here
    }
    said = json.dumps(kept, indent=2) + "\n"
    if not STAMPS.exists() or STAMPS.read_text("utf-8") != said:
        write_text(STAMPS, said)
    return changed


def chosen(names: list[str]) -> list[Path]:
    """The notebooks that the arguments name by number, stem or path; all without arguments."""
    chapters = sorted(HERE.glob("[0-9][0-9]_*.ipynb"))
    if not names:
        return chapters
    picked = []
    for name in names:
        found = [
            c
            for c in chapters
            if c.stem.startswith(Path(name).name.removesuffix(".ipynb"))
        ]
        if not found:
            raise Failed(
                f"no chapter {name!r}; there are {[c.stem for c in chapters]}"
            )
        picked += [chapter for chapter in found if chapter not in picked]
    return picked


def main(names: list[str]) -> int:
    """Run the chapters named; the exit status is 1 if any failed."""
    os.environ["BOOK_STATIC"] = "1"
    os.environ["OMP_NUM_THREADS"] = (
        "1"  # one thread adds in one order, here and under nbval
    )
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = (
        "1"  # or ipykernel warns about frozen modules
    )
    # Figures are drawn in the notebook, whatever backend somebody likes.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    failed = 0
    try:
        chapters = chosen(names)
    except Failed as error:
        print(error, file=sys.stderr)
        return 2
    for path in chapters:
        try:
            notebook, device, seconds = execute(path)
            clean(notebook)
            readings.tell(notebook.cells)
            changed = store(path, notebook, device, seconds)
        except (Failed, OSError) as error:
            failed = 1
            print(
                f"{error}\n{path.name} is left as it was.", file=sys.stderr
            )
        else:
            print(
                f"{path.name}: {seconds:.0f} s, outputs {'changed' if changed else 'as before'}"
            )
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
