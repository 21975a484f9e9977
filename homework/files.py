"""Files that are written whole or not at all."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write a text in UTF-8, as it stands, so that at any time the old or the new file is there."""
    handle, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)  # it can be read by whoever a new file can be read by
        os.umask(mask)
        os.chmod(new, 0o666 & ~mask)
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise
