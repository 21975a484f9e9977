"""Files that are written completely or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, with its line ends. As `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, data: bytes) -> None:
    """Replace a file atomically, and sync it to disk.

    Parent folders are created. Permissions are those of any new file.
    Raises OSError where it cannot be written; no partial file is left.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name[:50]}-{secrets.token_hex(4)}")
    try:
        with open(partial, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
