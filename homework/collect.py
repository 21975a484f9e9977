"""From a folder or a zip of what students handed in to one file a student.

    collected(source, roster)   a Handed for each student, sorted by student

Names that are known: Canvas ("lovelaceada_LATE_12345_67890_05-1.ipynb": name, late or not, number
of the student, number of the file, its name; lib/content_zipper.rb of canvas-lms), Moodle ("Ada
Lovelace_1234_assignsubmission_file_" as a folder or before a file's name; mod/assign/locallib.php
of moodle), nbgrader ("submitted/ada/05/05.ipynb"), a folder for each student, and single files
("ada_05.ipynb", "Ada Lovelace - 05.ipynb"). Where a name says nothing, as "Copy of 05 (1).ipynb",
the cell does in which students write their names.

What is found is hostile until shown otherwise: no link is followed, nothing but plain files is
opened, nothing is written, and what cannot be read is said, not raised.
"""

import hashlib
import io
import json
import os
import re
import stat
import struct
import unicodedata
import warnings
import zipfile
import zlib
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from homework.roster import Roster, Student, digest, orders, safe, unique

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 64 * 2**20  # of a file
MOST_DIRECTORY = 4 * 2**20  # bytes of a zip's list of its members
MOST_NOTEBOOK = 16 * 2**20  # bytes of a notebook in which a name is looked for
MOST_FILES = 1000  # of a student are looked at
MOST_TRIED = 10  # files of a student are read to find one that can be, or to compare
MOST_NOTES = 5  # on files of a student that are left out
DEEPEST = 8  # folders within folders
LONGEST_SHOWN = 160  # characters of a name
CHUNK = 2**20

CANVAS = re.compile(
    r"(?:LATE_)?anon_(?P<anon>[A-Za-z0-9]{5})_(?P<anonfile>\d{1,18})_(?P<anonrest>.+)"
    r"|(?P<name>.+?)_(?:LATE_)?(?P<id>\d{1,18})_(?:(?P<file>\d{1,18})_(?P<rest>.+)"
    r"|(?P<online>text|link)\.html)",
    re.IGNORECASE | re.DOTALL,
)
MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<id>\d{1,18})_assignsubmission_(?P<kind>file|onlinetext)(?:_(?P<rest>.*))?",
    re.DOTALL,
)
COPY = re.compile(r"^\s*(copy of|kopie von|copie de|copia de)\s+", re.IGNORECASE)
AGAIN = re.compile(r"\s*\((?P<n>\d{1,6})\)$|[ _-]+copy(?: \d+)?$", re.IGNORECASE)
ABOUT_WORK = {  # words that speak of the work, not of who did it
    "ch", "chapter", "hw", "homework", "assignment", "exercise", "exercises", "submission",
    "submissions", "notebook", "lab", "week", "solution", "solutions", "final", "late", "untitled",
    "my", "copy", "v", "version", "hand", "handed", "in", "of", "for", "students",
}  # fmt: skip
ENDINGS = re.compile(
    r"(\.(ipynb|json|txt|zip|html?|pdf|py|docx?|md|png|jpe?g|rar|7z|tar|t?gz))+$", re.IGNORECASE
)
STUDENT = re.compile(
    r"""^[ \t]*student[ \t]*=[ \t]*[rRuU]?("{3}.*?"{3}|'{3}.*?'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\d+)""",
    re.MULTILINE,
)
SKIPPED = {"__macosx", "thumbs.db", "desktop.ini"}
BROKEN = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, OSError,
    ValueError, LookupError, ArithmeticError, MemoryError, TypeError, struct.error,
)  # fmt: skip


class UnreadableError(ValueError):
    """A file that cannot be read; says why in a sentence."""


@dataclass(frozen=True)
class Place:
    """Where a file lies: names below a folder, then numbers of members of zips in it."""

    folder: str
    parts: tuple[str, ...]
    members: tuple[int, ...] = ()


@dataclass(frozen=True)
class Handed:
    """What counts of a student: a key that is unique and a safe file name, a name to show or "",
    where the file came from, what to tell the teacher, and "" or why it cannot be read.
    """

    student: str
    name: str
    file: str
    notes: tuple[str, ...] = ()
    error: str = ""
    place: Place | None = field(default=None, repr=False)

    def read(self) -> bytes:
        """The file's bytes, read now. Raises: ValueError where it cannot be read."""
        if self.error or self.place is None:
            raise UnreadableError(self.error or "there is no file")
        return b"".join(_chunks(self.place))


@dataclass(frozen=True)
class Entry:
    """A name in a folder or zip; kind is "file", "folder", or why it is left out."""

    name: str
    kind: str
    time: float
    place: Place


@dataclass(frozen=True)
class Who:
    """What a name says of whose it is: the scheme, what tells one from another, a name to show, the
    platform's number of the file, and whether it is a text typed on the platform.
    """

    scheme: str
    id: str
    name: str = ""
    number: int = 0
    online: bool = False


@dataclass(frozen=True)
class Candidate:
    """A file that might count, what ranks it, and "" or why it cannot be read."""

    place: Place
    shown: str
    rank: tuple
    problem: str = ""


@dataclass(frozen=True)
class Hand:
    """All that one name stands for: what counts, why it is whose (a larger number is stronger
    evidence), a key of its own, the student of the roster that it claims, and a digest.
    """

    handed: Handed
    evidence: int
    student: Student | None = None
    seen: str = ""


def collected(
    source: Path, roster: Roster | None = None, assignment: str | None = None
) -> list[Handed]:
    """One Handed for each student, sorted by student, from a folder, a zip or a folder of zips.

    assignment: such as "05"; where a student has folders for several, its folder alone counts.
    A link given as the source itself is followed. Raises: ValueError where the source is none of
    these.
    """
    groups: dict[tuple, list[Candidate]] = {}
    whose: dict[tuple, Who] = {}
    for tree in _trees(Path(source), roster):
        level = _level(tree, roster)
        for entry in tree.children(level):
            if not level and _of_teacher(entry):
                continue
            who = _who(entry)
            anonymous = () if who.id else (*entry.place.parts, *entry.place.members)
            key = (who.scheme, who.id, *anonymous)
            whose.setdefault(key, who)
            groups.setdefault(key, []).extend(_candidates(tree, level, entry, who, assignment))
    hands = [_hand(whose[key], found, roster) for key, found in groups.items() if found]
    return sorted(_distinct(hands, roster), key=lambda handed: handed.student)


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


def _trees(source: Path, roster: Roster | None) -> list[Folder | Zipped]:
    """The source, or the platform's zips in it."""
    wanted = "give a folder of hand-ins, or the zip that the platform makes of them"
    try:
        root = source.resolve(strict=True)
        mode = root.stat().st_mode
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"there is no {str(source)!r}: {wanted}") from error
    if stat.S_ISREG(mode):
        try:
            return [Zipped(Place(str(root.parent), (root.name,)))]
        except UnreadableError as error:
            raise ValueError(f"{str(source)!r} is no zip ({error}): {wanted}") from error
    if not stat.S_ISDIR(mode):
        raise ValueError(f"{str(source)!r} is neither folder nor zip: {wanted}")
    tree = Folder(str(root))
    return _downloads(tree, roster) or [tree]


def _downloads(tree: Folder, roster: Roster | None) -> list[Zipped]:
    """The zips in a folder that holds nothing else, where they hold many students' work.

    Of several, all must be a platform's: else one student's zip could speak for others.
    """
    top = [entry for entry in tree.children(()) if not _of_teacher(entry)]
    if not top or not all(e.kind == "file" and _is_zip(e.name) for e in top):
        return []
    if any(_who(entry).scheme in ("canvas", "moodle") for entry in top):
        return []
    try:
        zips = [Zipped(entry.place) for entry in top]
    except UnreadableError:
        return []
    if len(zips) == 1:
        stem = _stem(top[0].name)
        return zips if _is_wrapper(stem, zips[0].children(()), roster) else []
    return zips if all(_is_platforms(z.children(_level(z, roster))) for z in zips) else []


def _is_platforms(entries: list[Entry]) -> bool:
    schemes = [_who(entry).scheme for entry in entries]
    return bool(schemes) and all(scheme in ("canvas", "moodle") for scheme in schemes)


def _of_teacher(entry: Entry) -> bool:
    """A table beside the hand-ins, such as the roster."""
    return entry.name.casefold().endswith(".csv") and _who(entry).scheme == "file"


def _level(tree: Folder | Zipped, roster: Roster | None) -> tuple[str, ...]:
    """The folder whose entries stand for students."""
    level: tuple[str, ...] = ()
    while len(level) < DEEPEST:
        here = tree.children(level)
        if any(entry.name == "submitted" and entry.kind == "folder" for entry in here):
            return (*level, "submitted")
        here = [entry for entry in here if not _of_teacher(entry)]
        if len(here) != 1 or here[0].kind != "folder" or _who(here[0]).scheme != "folder":
            return level
        inside = (*level, here[0].name)
        if not _is_wrapper(here[0].name, tree.children(inside), roster):
            return level
        level = inside
    return level


def _is_wrapper(name: str, inside: list[Entry], roster: Roster | None) -> bool:
    """Whether a folder or zip that lies alone holds students' work, and is not a student's own."""
    if roster is not None and roster.find(name):
        return False
    if _is_about_work(name):
        return True
    known = {_who(entry) for entry in inside}
    if any(who.scheme in ("canvas", "moodle") for who in known):
        return True
    files = [_stem(entry.name) for entry in inside if _may_count(entry)]
    people = {_about(name)[0] for name in files}
    people |= {_about(entry.name)[0] for entry in inside if entry.kind == "folder"}
    submitted = any(entry.name == "submitted" for entry in inside)
    return len(people - {""}) >= 2 or len(files) >= 2 or submitted


def _may_count(entry: Entry) -> bool:
    return entry.kind != "folder" and entry.name.casefold().endswith((".ipynb", ".zip"))


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


class _File(io.FileIO):
    """A file that gives only so much at a time; a zip's list of members is read at once."""

    def read(self, size: int = -1) -> bytes:
        """As asked. Raises: BadZipFile where that is more than MOST_DIRECTORY."""
        return _at_most(super().read, size)


class _Memory(io.BytesIO):
    """The same for what is in memory."""

    def read(self, size: int = -1) -> bytes:
        """As asked. Raises: BadZipFile where that is more than MOST_DIRECTORY."""
        return _at_most(super().read, size)


def _at_most(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size) if 0 <= size <= MOST_DIRECTORY else read(MOST_DIRECTORY + 1)
    if len(data) > MOST_DIRECTORY or size > MOST_DIRECTORY:
        raise zipfile.BadZipFile("its list of members is too long")
    return data


@contextmanager
def _opened(place: Place) -> Iterator[BinaryIO]:
    """A file on disk, or a member of a zip, which is then in memory. Raises: UnreadableError."""
    if place.members:
        yield _Memory(b"".join(_chunks(place)))
        return
    try:
        with _below(place.folder, place.parts, 0) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UnreadableError("the file is no plain file")
            with _File(fd, closefd=False) as file:
                yield file
    except OSError as error:
        raise UnreadableError(f"the file cannot be read ({error.strerror or 'damaged'})") from error


def _chunks(place: Place) -> Iterator[bytes]:
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


def _limited(file: BinaryIO) -> Iterator[bytes]:
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


# ---------------------------------------------------------------- whose it is


def _who(entry: Entry) -> Who:
    """What an entry's name says."""
    name = entry.name
    moodle, canvas = MOODLE.fullmatch(name), CANVAS.fullmatch(name)
    if moodle and canvas:  # the end of a name is the student's own: the first number counts
        at = canvas.start("anon") if canvas["anon"] else canvas.start("id")
        moodle = None if at < moodle.start("id") else moodle
    if found := moodle:
        return Who("moodle", found["id"], found["name"], online=found["kind"] == "onlinetext")
    if found := canvas:
        if found["anon"]:
            return Who("canvas", f"anon_{found['anon']}", "", int(found["anonfile"]))
        number, online = int(found["file"] or 0), bool(found["online"])
        return Who("canvas", found["id"], found["name"], number, online)
    if entry.kind == "folder":
        return Who("folder", name, name)
    text = _about(_stem(name))[0]
    return Who("file", text, re.sub(r"[_\s]+", " ", text))


def _stem(name: str) -> str:
    """A file's name without what says its type."""
    return ENDINGS.sub("", name).strip()


def _about(stem: str) -> tuple[str, int]:
    """What a file's name says of who made it, and the n of "(n)"."""
    copies = 0
    while found := AGAIN.search(stem):
        stem, copies = stem[: found.start()], max(copies, int(found["n"] or 1))
    while COPY.match(stem):
        stem = COPY.sub("", stem)
    for title in _titles():
        stem = re.sub(rf"(^|[ _-]){re.escape(title)}($|[ _-])", "_", stem, flags=re.I)
    groups = [
        [COPY.sub("", word).strip() for word in group.split("_") if not _is_about_work(word)]
        for group in re.split(r"\s+-\s+", stem)
    ]
    return " - ".join("_".join(words) for words in groups if words), copies


def _is_about_work(text: str) -> bool:
    """Whether there are only words such as "homework", "copy" and numbers of up to two digits."""
    words = re.findall(r"\d+|[^\W\d_]+", text.casefold())
    return all(word in ABOUT_WORK or (word.isdigit() and len(word) <= 2) for word in words)


@cache
def _titles() -> tuple[str, ...]:
    """Names of the chapters' notebooks, with and without their numbers."""
    stems = [path.stem for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))]
    return (*stems, *(stem[3:] for stem in stems if "_" in stem[3:]))


def shown(text: str) -> str:
    """A text that can be printed: no control characters, nothing that turns the direction of
    writing, and not long.
    """
    kept = "".join("?" if unicodedata.category(c)[0] == "C" else c for c in text[:2000])
    return kept if len(kept) <= LONGEST_SHOWN else f"{kept[: LONGEST_SHOWN - 1]}…"


def claimed(data: bytes) -> str:
    """What a notebook's student cell says: the text or number that is assigned to `student`.

    It is read, never run; "" where there is none. The cell is the one of that id or kind, else any.
    """
    try:
        notebook = json.loads(data) if len(data) <= MOST_NOTEBOOK else {}
        sheets = [notebook, *notebook.get("worksheets", [])]
        cells = [c for sheet in sheets for c in sheet.get("cells", []) if isinstance(c, dict)]
    except (ValueError, RecursionError, AttributeError, TypeError):
        return ""
    texts = [(not _is_student_cell(cell), _assigned(cell)) for cell in cells]
    return next((text for _, text in sorted(texts, key=lambda t: t[0]) if text), "")


def _is_student_cell(cell: dict) -> bool:
    metadata = cell.get("metadata")
    homework = metadata.get("homework") if isinstance(metadata, dict) else None
    kind = homework.get("kind") if isinstance(homework, dict) else None
    return cell.get("id") == "hw-student" or kind == "student"


def _assigned(cell: dict) -> str:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if cell.get("cell_type") != "code" or not isinstance(source, str):
        return ""
    if not (found := STUDENT.search(source[:10_000])):
        return ""
    if found[1].isdigit():  # as it stands, for a number may begin with 0
        return found[1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of \d in a text
            return " ".join(str(literal_eval(found[1])).split())
    except (ValueError, SyntaxError, MemoryError):
        return ""


# ---------------------------------------------------------------- which of several counts


def _is_zip(name: str) -> bool:
    return name.casefold().endswith(".zip")


def _is_notebook(candidate: Candidate) -> bool:
    return candidate.rank[0] >= 2


def _candidates(
    tree: Folder | Zipped, level: tuple[str, ...], entry: Entry, who: Who, assignment: str | None
) -> list[Candidate]:
    """The files that an entry stands for: itself, those in a folder, and those in a zip."""
    if entry.kind != "folder":
        return list(_looked_into((entry.name,), entry, who))
    found: list[Candidate] = []
    for top in _of_assignment(tree, (*level, entry.name), assignment):
        for parts, inner in _inside(tree, top):
            found += _looked_into(parts[len(level) :], inner, who)
    return found


def _of_assignment(
    tree: Folder | Zipped, top: tuple[str, ...], assignment: str | None
) -> list[tuple[str, ...]]:
    """A student's folder, or in it the one of the assignment, or none where there are others."""
    inside = tree.children(top, MOST_FILES)
    works = {e.name: _number(e.name) for e in inside if e.kind == "folder"}
    works = {name: n for name, n in works.items() if n is not None and _is_about_work(name)}
    if assignment is None or not works or any(map(_may_count, inside)):
        return [top]
    return [(*top, name) for name, number in works.items() if number == _number(assignment)]


def _number(name: str) -> int | None:
    found = re.search(r"\d{1,9}", name)
    return int(found[0]) if found else None


def _inside(tree: Folder | Zipped, top: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Entry]]:
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


def _looked_into(parts: tuple[str, ...], entry: Entry, who: Who) -> Iterator[Candidate]:
    """A file, or the files in it where it is a zip."""
    where = shown("/".join(parts))
    problem = "" if entry.kind == "file" else f"{entry.kind} left out"
    whole = Candidate(entry.place, where, _rank(entry, who), problem)
    if problem or not _is_zip(entry.name):
        yield whole
        return
    try:
        tree = Zipped(entry.place)
    except UnreadableError as error:
        yield replace(whole, problem=str(error))
        return
    inner = list(_inside(tree, ()))
    for names, member in inner:
        problem = "" if member.kind == "file" else f"{member.kind} left out"
        if _is_zip(member.name):
            problem = "a zip within a zip left out"
        place = f"{where}/{shown('/'.join(names))}"
        yield Candidate(member.place, place, _rank(member, who, entry.time), problem)
    if not inner:
        yield replace(whole, problem="the file is an empty zip")


def _rank(entry: Entry, who: Who, outer: float | None = None) -> tuple:
    """What makes a file count before another: being a notebook, then being later.

    outer: the time of the zip it is in.
    """
    name = entry.name.casefold()
    kind = 3 if name.endswith(".ipynb") else 2 if name.endswith((".ipynb.txt", ".json")) else 1
    found = CANVAS.fullmatch(entry.name) or MOODLE.fullmatch(entry.name)
    given = found.groupdict() if found else {}
    rest = given.get("rest") or given.get("anonrest") or entry.name
    stem = _stem(rest)
    again = re.search(r"-(\d{1,6})$", stem) if who.scheme == "canvas" else None
    text, copies = _about(stem)
    attempt = int(again[1]) if again else 0
    time = (entry.time, 0.0) if outer is None else (outer, entry.time)
    kind = 0 if who.online else kind
    return (kind, who.number, attempt, time, copies, text == "", entry.place.members)


def _chosen(found: list[Candidate]) -> tuple[Candidate, str, tuple[str, ...]]:
    """The file that counts, a digest of it ("" if it cannot be read), and notes on the others."""
    left = [c for c in found if c.problem.endswith("left out")]
    notes = [f"{c.problem}: {c.shown}" for c in left[:MOST_NOTES]]
    notes += [f"and {len(left) - MOST_NOTES} more left out"] if len(left) > MOST_NOTES else []
    able = [c for c in found if not c.problem.endswith("left out")]
    able = sorted(able, key=lambda c: c.rank, reverse=True)
    broken, seen = [], ""
    for candidate in able[:MOST_TRIED]:
        candidate, seen = _tried(candidate)
        if seen:
            break
        broken.append(candidate)
    if not seen:
        best = (broken or found)[0]
        return best, "", tuple(n for n in notes if not n.endswith(f": {best.shown}"))
    notes += [f"{c.shown} does not count: {c.problem}" for c in broken]
    others = (
        [c for c in able[len(broken) + 1 :] if _is_notebook(c)] if _is_notebook(candidate) else []
    )
    if len(others) > MOST_TRIED or any(_tried(c)[1] != seen for c in others):
        times = "twice" if len(others) == 1 else f"{len(others) + 1} times"
        names = ", ".join(c.shown for c in others[:3]) + (", …" if len(others) > 3 else "")
        notes.append(f"handed in {times}; the later one counts ({candidate.shown}), not {names}")
    later = [c for c in able if c.rank[0] == 1 and c.rank[1:5] > candidate.rank[1:5]]
    if _is_notebook(candidate) and later:
        why = later[0].problem or "it is no notebook"
        notes.append(f"a later file does not count: {later[0].shown} ({why})")
    return candidate, seen, tuple(notes)


def _tried(candidate: Candidate) -> tuple[Candidate, str]:
    """The candidate, and a digest of its bytes, or the problem and ""."""
    if candidate.problem:
        return candidate, ""
    known = hashlib.sha256()
    try:
        for chunk in _chunks(candidate.place):
            known.update(chunk)
    except UnreadableError as error:
        return replace(candidate, problem=str(error)), ""
    return candidate, known.hexdigest()


# ---------------------------------------------------------------- one key a student


def _hand(who: Who, found: list[Candidate], roster: Roster | None) -> Hand:
    """What counts of what one name stands for, under a key of its own."""
    best, seen, notes = _chosen(found)
    name = "" if re.fullmatch(r"participant", who.name, re.I) else who.name
    text = f"{who.name}_{who.id}" if who.scheme in ("canvas", "moodle") else who.id
    handed = Handed(safe(text), shown(name), best.shown, notes, "" if seen else best.problem,
                    best.place if seen else None)  # fmt: skip
    if who.scheme in ("canvas", "moodle"):
        student = _matched(roster, who) if roster else None
        return Hand(handed, 3, student, seen)
    student = roster.find(who.id) if roster and who.id else None
    if student or who.scheme == "folder" or (who.id and roster is None):
        return Hand(handed, 2, student, seen)
    return _by_cell(handed, who, roster, seen)


def _matched(roster: Roster, who: Who) -> Student | None:
    """The student of a platform's name; Moodle may put a group and a hyphen before it."""
    if student := roster.match(id=who.id, name=who.name):
        return student
    ends = [who.name[at + 1 :] for at, c in enumerate(who.name) if c == "-"]
    found = [s for end in ends if len(orders(end)) > 1 and (s := roster.match(who.id, name=end))]
    return found[0] if len({s.key for s in found}) == 1 else None


def _by_cell(handed: Handed, who: Who, roster: Roster | None, seen: str) -> Hand:
    """Whose a file is whose name says nothing, or nothing that the roster knows."""
    text = ""
    with suppress(UnreadableError):
        text = claimed(handed.read())
    student = roster.find(text) if roster and text else None
    if who.id and not student:
        return Hand(handed, 2)
    if text:
        note = "the file's name does not say whose it is; the notebook's first cells do"
        notes = (*handed.notes, note)
        handed = replace(handed, student=safe(text), name=shown(text), notes=notes)
        return Hand(handed, 1, student, seen)
    note = "neither the file's name nor the notebook says whose it is"
    key = f"{safe(_stem(handed.file.split('/')[-1]))}-{seen[:8] or digest(handed.file)}"
    return Hand(replace(handed, student=key, notes=(*handed.notes, note)), 0)


def _distinct(hands: list[Hand], roster: Roster | None) -> Iterable[Handed]:
    """All under distinct keys: what the strongest evidence gives to a student is theirs, and what
    several files claim with the same evidence is nobody's.
    """
    taken = {student.key for student in roster.students} if roster else set()
    claims: dict[tuple[str, bool], list[Hand]] = {}
    for hand in hands:
        key = hand.student.key if hand.student else hand.handed.student
        claims.setdefault((key, bool(hand.student)), []).append(hand)
    for (key, is_known), rivals in sorted(claims.items(), key=lambda claim: claim[0]):
        rivals = _once(rivals)
        is_clear = len(rivals) == 1 or rivals[0].evidence > rivals[1].evidence
        for at, hand in enumerate(rivals):
            notes = [*hand.handed.notes, *_rivalry(key, [r for r in rivals if r is not hand])]
            notes += [UNKNOWN] if roster and not hand.student else []
            handed = replace(hand.handed, notes=tuple(notes))
            if at == 0 and is_clear and is_known:
                yield replace(handed, student=key, name=hand.student.name or handed.name)
            elif at == 0 and is_clear:
                yield replace(handed, student=unique(key, taken))
            else:
                own = f"{handed.student}-{digest(handed.file)}"
                yield replace(handed, student=unique(own, taken))


def _once(rivals: list[Hand]) -> list[Hand]:
    """The strongest evidence first, less notebooks that alone say whose they are and are there
    already, to the last byte.
    """
    kept: list[Hand] = []
    for hand in sorted(rivals, key=lambda hand: (-hand.evidence, hand.handed.file)):
        if hand.evidence != 1 or hand.seen not in {other.seen for other in kept}:
            kept.append(hand)
    return kept


UNKNOWN = "the roster has no such student, or several"


def _rivalry(key: str, others: list[Hand]) -> tuple[str, ...]:
    if not others:
        return ()
    files = ", ".join(hand.handed.file for hand in others[:3]) + (", …" if others[3:] else "")
    return (f"more than one file may be of {key}; see also {files}",)
