"""Files that are written as a whole or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, its line ends as they stand. As `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file so that at any time the old one or the new one is there, and force it to disk.

    Folders on the way are made. Who may read it is decided as for any new file.
    Raises OSError where it cannot be written; nothing is left then of what was begun.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name[:50]}-{secrets.token_hex(4)}")
    try:
        with open(unfinished, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
