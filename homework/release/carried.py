"""The first cell of an edition, which holds the book's functions and needs nothing beside it."""

import base64
import io
import lzma
import re
import zipfile
from functools import lru_cache
from pathlib import Path

import helpers

FIRST = """\
#@title Run this cell first: it brings the book's functions (helpers), packed in its last lines.
def unpack_helpers(packed, needs="{needs}"):
    import base64, importlib.util, io, lzma, sys, tempfile, zipfile

    if missing := [name for name in needs.split() if importlib.util.find_spec(name) is None]:
        print("installing", *missing)
        get_ipython().run_line_magic("pip", f"install --quiet {{' '.join(missing)}}")
    sys.modules.pop("helpers", None)
    sys.path.insert(0, tempfile.mkdtemp())
    files = io.BytesIO(lzma.decompress(base64.b64decode(packed)))
    zipfile.ZipFile(files).extractall(sys.path[0])
    importlib.invalidate_caches()
    try:
        import helpers.exercises
    except ImportError as error:
        exercises.why = f"The book's functions do not run here ({{error}}). With a network, run "
        exercises.why += f"%pip install {{needs}}, restart the kernel, and begin at the first cell."
        exercises.check()


if "exercises" not in globals():  # until the cells below import the checks

    class exercises:
        why = "Run the cells above this one, from the first one on."

        def check(*_, **__):
            from IPython.core.error import UsageError

            raise UsageError(exercises.why)


try:
    import helpers

    helpers.TRANSFORMERS_WORKED_OUT  # not another package of that name
except Exception:
    unpack_helpers("{packed}")
"""
PACKED = re.compile(r'(unpack_helpers\(\\?")[\w+/=]+')
LEFT_OUT = (".json", ".pyc", ".safetensors")  # what no exercise reads: stored runs and weights


def first_cell(dependencies: list[str]) -> str:
    """The cell's source. dependencies: the packages that the book's functions need."""
    needs = [name for name in dependencies if name not in ("ipython", "matplotlib-inline")]
    return FIRST.format(needs=" ".join(needs), packed=_packed())


def without_packed(source: str) -> str:
    """A cell, as it is or in JSON, without what is packed in it, which changes with the book."""
    return PACKED.sub(r"\1", source)


@lru_cache(1)
def _packed() -> str:
    """The folder `helpers` but for stored results, as text."""
    book = Path(helpers.__file__).parent
    with zipfile.ZipFile(made := io.BytesIO(), "w") as files:  # stored: all of it is packed at once
        for path in sorted(book.rglob("*")):
            if path.is_file() and path.suffix not in LEFT_OUT:
                name = f"helpers/{path.relative_to(book).as_posix()}"
                files.writestr(zipfile.ZipInfo(name), path.read_bytes())
    return base64.b64encode(lzma.compress(made.getvalue(), preset=9)).decode()
