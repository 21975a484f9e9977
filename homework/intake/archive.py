"""Folders and zips from people whom nobody knows, read without harm.

    in_folder(root), in_zip(place)   the files there, as a File each
    read(place)                      a file's bytes

No link is followed, nothing but plain files is opened, nothing is written, and a file gives no more
than it may. What cannot be read raises UnreadableError, whose message is a sentence.
"""

import io
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import IO, Any, BinaryIO

MOST_BYTES = 64 * 2**20  # of a file
MOST_DIRECTORY = 4 * 2**20  # bytes of a zip's list of its members
EMPTY = "an empty folder (or one of hidden files alone)"
LONGEST_SHOWN = 160  # characters of a name
CHUNK = 2**20
SKIPPED = {"__macosx", "thumbs.db", "desktop.ini"}
BROKEN = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    ArithmeticError,
    MemoryError,
    TypeError,
    struct.error,
)


class UnreadableError(ValueError):
    """A file that cannot be read, or is no notebook of the problem set; says why in a sentence."""


@dataclass(frozen=True)
class Place:
    """Where a file lies: names below a folder, then numbers of members of zips in it."""

    folder: str
    parts: tuple[str, ...]
    members: tuple[int, ...] = ()


@dataclass(frozen=True)
class File:
    """Names of folders and of a file in the last of them; kind is "file", or why it is left out."""

    parts: tuple[str, ...]
    kind: str
    time: float
    place: Place

    @property
    def name(self) -> str:
        """Its own."""
        return self.parts[-1]


def shown(text: str) -> str:
    """A text that can be printed: no control characters, nothing that turns the direction of
    writing, and not long.
    """
    kept = "".join("?" if unicodedata.category(c)[0] == "C" else c for c in text[:2000])
    return kept if len(kept) <= LONGEST_SHOWN else f"{kept[: LONGEST_SHOWN - 1]}…"


# ---------------------------------------------------------------- folders and zips


def in_folder(root: str) -> Iterator[File]:
    """The files in a folder, the upper ones first."""
    for top in _entries(root, ()):
        found = [top]  # which grows
        for one in found:
            if one.kind != "folder":
                yield one
            else:
                found += _entries(root, one.parts)
        if all(one.kind == "folder" for one in found):
            yield replace(top, kind=EMPTY)


def _entries(root: str, parts: tuple[str, ...]) -> list[File]:
    """What lies in a folder, by name, less what programs leave behind."""
    try:
        with _below(root, parts, os.O_DIRECTORY) as fd, os.scandir(fd) as found:
            entries = [
                File(
                    (*parts, one.name),
                    _kind(about.st_mode),
                    about.st_mtime,
                    Place(root, (*parts, one.name)),
                )
                for one in found
                if (about := one.stat(follow_symlinks=False))
            ]
    except OSError as error:
        if not parts:
            raise ValueError(f"{root} cannot be read: {error.strerror}") from error
        kind = f"a folder that may not be read ({error.strerror})"
        return [File(parts, kind, 0.0, Place(root, parts))]
    return sorted(
        (one for one in entries if not _is_skipped(one.name)), key=lambda e: os.fsencode(e.name)
    )


def in_zip(place: Place) -> list[File]:
    """The files in a zip, the upper ones first."""
    found = []
    for number, info in enumerate(_members(place)):
        parts, kind = _parts(info), _kind(info.external_attr >> 16)
        is_folder = kind == "folder" or info.filename.endswith(("/", "\\"))
        if not parts or is_folder or any(map(_is_skipped, parts)):
            continue
        inside = replace(place, members=(*place.members, number))
        found.append(File(parts, kind, _time(info), inside))
    return sorted(found, key=lambda one: (len(one.parts), one.parts))


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode) or not stat.S_IFMT(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "symbolic link" if stat.S_ISLNK(mode) else "a pipe, socket or device"


def _is_skipped(name: str) -> bool:
    return name.startswith((".", "~$")) or name.casefold() in SKIPPED


def _parts(info: zipfile.ZipInfo) -> tuple[str, ...]:
    """A member's name without what leads out of the folder; names are shown, never opened."""
    name = info.filename
    if not info.flag_bits & 0x800:  # not declared as UTF-8, and mostly is
        with suppress(UnicodeError):
            name = name.encode("cp437").decode()
    parts = re.sub(r"^[A-Za-z]:", "", name).replace("\\", "/").split("/")
    parts = [part for part in parts if part.strip() not in ("", ".", "..")]
    return tuple(part if len(part) < 256 else part[:200] + part[-55:] for part in parts)


def _time(info: zipfile.ZipInfo) -> float:
    """Something that grows with the time in a zip, which has no time zone."""
    year, month, day, hour, minute, second = info.date_time
    return ((((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute) * 60.0 + second


# ---------------------------------------------------------------- opening what is there


@contextmanager
def _below(root: str, parts: tuple[str, ...], flags: int) -> Iterator[int]:
    """A descriptor of what lies below a folder, with no link followed on the way."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for at, part in enumerate(parts):
            kind = flags if at == len(parts) - 1 else os.O_DIRECTORY
            options = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | kind
            inner = os.open(part, options, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


class _Sparing:
    """A file of which only so much is read at a time; a zip's list of members is read at once."""

    def __init__(self, file: BinaryIO):
        self.file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def read(self, size: int = -1) -> bytes:
        """As asked. Raises: BadZipFile where more than MOST_DIRECTORY is asked for."""
        data = self.file.read(size if 0 <= size <= MOST_DIRECTORY else MOST_DIRECTORY + 1)
        if len(data) > MOST_DIRECTORY or size > MOST_DIRECTORY:
            raise zipfile.BadZipFile("its list of members is too long")
        return data


@contextmanager
def _opened(place: Place) -> Iterator[BinaryIO]:
    """A file on disk, or a member of a zip, which is then in memory. Raises: UnreadableError."""
    if place.members:
        yield io.BytesIO(read(place))
        return
    try:
        with _below(place.folder, place.parts, 0) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UnreadableError("the file is no plain file")
            with open(fd, "rb", closefd=False) as file:
                yield file
    except OSError as error:
        raise UnreadableError(f"the file cannot be read ({error.strerror or 'damaged'})") from error


@contextmanager
def _zip(place: Place, fault: str) -> Iterator[zipfile.ZipFile]:
    """A zip. Raises: UnreadableError, which tells the fault, also for what is done with it."""
    with _opened(place) as file:
        try:
            with zipfile.ZipFile(_Sparing(file)) as archive:
                yield archive
        except UnreadableError:
            raise
        except BROKEN as error:
            raise UnreadableError(f"the file is {fault} ({shown(str(error))})") from error


def _members(place: Place) -> list[zipfile.ZipInfo]:
    """A zip's list of its members. Raises: UnreadableError."""
    with _zip(place, "no whole zip") as archive:
        return archive.infolist()


def read(place: Place) -> bytes:
    """A file's bytes. Raises: UnreadableError, also where there are more than MOST_BYTES."""
    if not place.members:
        with _opened(place) as file:
            return _limited(file)
    *outer, number = place.members
    with _zip(replace(place, members=tuple(outer)), "damaged") as archive:
        info = archive.infolist()[number]
        _check(info)
        with archive.open(info) as member:
            return _limited(member)


def _check(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & 0x1:
        raise UnreadableError("the file is encrypted")
    if info.file_size > MOST_BYTES:
        raise UnreadableError(TOO_BIG)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnreadableError(
            f"the file is packed in an uncommon way (method {info.compress_type})"
        )


TOO_BIG = f"the file is larger than {MOST_BYTES // 2**20} MiB"


def _limited(file: IO[bytes]) -> bytes:
    data = bytearray()
    while chunk := file.read(CHUNK):
        data += chunk
        if len(data) > MOST_BYTES:
            raise UnreadableError(TOO_BIG)
    return bytes(data)
