"""Folders and zips from people whom nobody knows, read without harm.

    Folder(path), Zipped(place)   names in a folder or zip; children(parts) gives an Entry for each
    files_below(tree, top)        the files in a folder and in those within
    chunks(place)                 a file's bytes, a piece at a time

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, BinaryIO

MOST_BYTES = 64 * 2**20  # of a file
MOST_DIRECTORY = 4 * 2**20  # bytes of a zip's list of its members
MOST_FILES = 1000  # of a student are looked at
DEEPEST = 8  # folders within folders
LONGEST_SHOWN = 160  # characters of a name
CHUNK = 2**20
SKIPPED = {"__macosx", "thumbs.db", "desktop.ini"}
BROKEN = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, OSError,
    ValueError, LookupError, ArithmeticError, MemoryError, TypeError, struct.error,
)  # fmt: skip


class UnreadableError(ValueError):
    """A file that cannot be read, or is no notebook of the problem set; says why in a sentence."""


@dataclass(frozen=True)
class Place:
    """Where a file lies: names below a folder, then numbers of members of zips in it."""

    folder: str
    parts: tuple[str, ...]
    members: tuple[int, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A name in a folder or zip; kind is "file", "folder", or why it is left out."""

    name: str
    kind: str
    time: float
    place: Place


def shown(text: str) -> str:
    """A text that can be printed: no control characters, nothing that turns the direction of
    writing, and not long.
    """
    kept = "".join("?" if unicodedata.category(c)[0] == "C" else c for c in text[:2000])
    return kept if len(kept) <= LONGEST_SHOWN else f"{kept[: LONGEST_SHOWN - 1]}…"


# ---------------------------------------------------------------- folders and zips


class Folder:
    """The names in a folder on disk."""

    def __init__(self, root: str):
        self.root = root

    def children(self, parts: tuple[str, ...], most: int | None = None) -> list[Entry]:
        """What lies there, by name, less what programs leave behind; at most that many."""
        try:
            with _below(self.root, parts, os.O_DIRECTORY) as fd, os.scandir(fd) as found:
                entries = [self._entry(parts, entry) for entry in islice(found, most)]
        except OSError as error:
            if not parts:
                raise ValueError(f"{self.root} cannot be read: {error.strerror}") from error
            place = Place(self.root, parts)
            return [Entry(parts[-1], f"a folder that may not be read ({error.strerror})", 0, place)]
        return sorted(
            (e for e in entries if not _is_skipped(e.name)), key=lambda e: os.fsencode(e.name)
        )

    def _entry(self, parts: tuple[str, ...], entry: os.DirEntry) -> Entry:
        try:
            status = entry.stat(follow_symlinks=False)
            kind, time = _kind(status.st_mode), status.st_mtime
        except OSError:
            kind, time = "a file that is gone", 0.0
        return Entry(entry.name, kind, time, Place(self.root, (*parts, entry.name)))


class Zipped:
    """The names in a zip."""

    def __init__(self, place: Place):
        self.tree: dict[tuple[str, ...], list[Entry]] = {(): []}
        for number, info in enumerate(_members(place)):
            *above, name = _parts(info) or ("",)
            if not name or any(map(_is_skipped, (*above, name))):
                continue
            is_folder = info.filename.endswith(("/", "\\"))
            kind = "folder" if is_folder else _kind(info.external_attr >> 16)
            if len(above) > DEEPEST:
                above, kind = above[:DEEPEST], f"a file more than {DEEPEST} folders deep"
            inside = replace(place, members=(*place.members, number))
            self._add(tuple(above), Entry(name, kind, _time(info), inside))
        self.place = place

    def _add(self, above: tuple[str, ...], entry: Entry) -> None:
        for depth in range(len(above)):
            if above[: depth + 1] not in self.tree:
                self.tree[above[: depth + 1]] = []
                folder = Entry(above[depth], "folder", 0.0, entry.place)
                self.tree[above[:depth]].append(folder)
        if entry.kind != "folder":
            self.tree[above].append(entry)
        elif (*above, entry.name) not in self.tree:
            self.tree[*above, entry.name] = []
            self.tree[above].append(entry)

    def children(self, parts: tuple[str, ...], most: int | None = None) -> list[Entry]:
        """What lies there, by name; at most that many."""
        return sorted(self.tree.get(parts, [])[:most], key=lambda e: e.name)


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


Tree = Folder | Zipped


def files_below(tree: Tree, top: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Entry]]:
    """Files in a folder and in those within, the upper ones first; not more than MOST_FILES."""
    folders, left = [top], MOST_FILES
    while folders and left > 0:
        at = folders.pop(0)
        for entry in tree.children(at, left + 1):
            left -= 1
            parts = (*at, entry.name)
            if left < 0:
                kind = f"more than {MOST_FILES} files, some of them"
                yield parts, replace(entry, kind=kind)
                return
            if entry.kind != "folder":
                yield parts, entry
            elif len(parts) - len(top) >= DEEPEST:
                yield parts, replace(entry, kind=f"a folder more than {DEEPEST} folders deep")
            else:
                folders.append(parts)


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


def _sparing(read: Callable[[int], bytes], size: int) -> bytes:
    """Read only so much at a time; a zip's list of members is read at once.

    Raises: BadZipFile where more than MOST_DIRECTORY is asked for.
    """
    data = read(size if 0 <= size <= MOST_DIRECTORY else MOST_DIRECTORY + 1)
    if len(data) > MOST_DIRECTORY or size > MOST_DIRECTORY:
        raise zipfile.BadZipFile("its list of members is too long")
    return data


class _File(io.FileIO):
    """On disk."""

    def read(self, size: int | None = -1) -> bytes:
        """As asked, sparingly."""
        return _sparing(super().read, -1 if size is None else size)


class _Memory(io.BytesIO):
    """In memory."""

    def read(self, size: int | None = -1) -> bytes:
        """As asked, sparingly."""
        return _sparing(super().read, -1 if size is None else size)


@contextmanager
def _opened(place: Place) -> Iterator[BinaryIO]:
    """A file on disk, or a member of a zip, which is then in memory. Raises: UnreadableError."""
    if place.members:
        yield _Memory(read(place))
        return
    try:
        with _below(place.folder, place.parts, 0) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UnreadableError("the file is no plain file")
            with _File(fd, closefd=False) as file:
                yield file
    except OSError as error:
        raise UnreadableError(f"the file cannot be read ({error.strerror or 'damaged'})") from error


def chunks(place: Place) -> Iterator[bytes]:
    """A file's bytes, a piece at a time, up to MOST_BYTES. Raises: UnreadableError."""
    if not place.members:
        with _opened(place) as file:
            yield from _limited(file)
        return
    *outer, number = place.members
    with _opened(replace(place, members=tuple(outer))) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                info = archive.infolist()[number]
                _check(info)
                with archive.open(info) as member:
                    yield from _limited(member)
        except UnreadableError:
            raise
        except BROKEN as error:
            raise UnreadableError(f"the file is damaged ({shown(str(error))})") from error


def read(place: Place) -> bytes:
    """A file's bytes. Raises: UnreadableError."""
    return b"".join(chunks(place))


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


def _limited(file: IO[bytes]) -> Iterator[bytes]:
    left = MOST_BYTES
    while chunk := file.read(min(CHUNK, MOST_DIRECTORY, left + 1)):
        left -= len(chunk)
        if left < 0:
            raise UnreadableError(TOO_BIG)
        yield chunk


def _members(place: Place) -> list[zipfile.ZipInfo]:
    """A zip's list of its members. Raises: UnreadableError."""
    with _opened(place) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return archive.infolist()
        except BROKEN as error:
            raise UnreadableError(f"the file is no whole zip ({shown(str(error))})") from error
