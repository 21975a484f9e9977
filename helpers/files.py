"""Files: read, or a sentence says why not; written completely or not at all."""

import glob
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

ABANDONED_S = 3600  # a file is written in far less


def read_bytes(path: str | Path) -> bytes:
    """A file's bytes. Raises OSError, in one sentence, where there is none."""
    path = Path(path).expanduser()
    if path.is_dir():
        raise FileNotFoundError(f"{path} is a folder: give a file in it")
    if not path.is_file():
        raise FileNotFoundError(f"no file at {path} (looked from {Path.cwd()})")
    return path.read_bytes()


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, with its line ends. As `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, data: bytes) -> None:
    """Replace a file atomically, and sync it to disk.

    Parent folders are created. Permissions are those of any new file.
    Raises OSError where it cannot be written; no partial file is left, and one that a killed
    process left over an hour ago is removed.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    start = f".{path.name[:50]}-"
    for left in path.parent.glob(f"{glob.escape(start)}{8 * '[0-9a-f]'}"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED_S:
                left.unlink()
    partial = path.with_name(f"{start}{secrets.token_hex(4)}")
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
