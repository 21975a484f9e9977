"""A process in a sandbox for students' code: what it can reach and use up, and talk with it.

Bubblewrap gives it a file system of its own (Python, the book's helpers and nothing of the course,
all read-only, and an empty /tmp in memory), no network, and no sight of other processes. Limits of
the kernel hold what it uses; they do not hold root, so a grader that is root hands over to a user
that owns nothing.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from homework.run.wire import MOST_BYTES, WireError, decode, encode

ROOT = Path(__file__).resolve().parents[2]
BOOK = "/book"  # where the sandbox has it
INSIDE = (
    "helpers",
    "homework/__init__.py",
    *(f"homework/run/{name}.py" for name in ("__init__", "wire", "lending", "inside")),
)
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/fonts")
PYTHON = (sys.base_prefix, sys.prefix, os.path.realpath(sys.prefix))  # it may be a link
NOBODY = range(40_000, 60_000)  # ids that own no files; each process has its own
STARTED = itertools.count()
MOST_TEXT = 2_000  # characters of an error and of its message
HELPERS = """
import pathlib, torch, helpers.exercises, homework.run.inside, matplotlib.font_manager
for path in pathlib.Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
    print(path.relative_to("/tmp"), path.read_text(), sep="\\n")
"""
PATIENCE = 4.0  # at most, how many times longer a process may take on a busy machine
END = 2.0  # seconds that a copy of a process has to end
INSTALL = "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)"


class SandboxError(RuntimeError):
    """There is no sandbox, or it cannot be started; says what to do."""


class LostError(RuntimeError):
    """A process has ended, or was ended because it took too long or made no sense."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a process may use.

    memory: of a process, in MiB of address space. resident: of all processes together, in MiB of
    what they really hold, looked at twice a second while an answer is waited for. files: all it
    writes, in both runs, in MiB (they lie in memory, too). processes: at a time, threads counted.
    cpu: seconds of a process in all. answer, given: seconds on the clock for one question, and for
    a cell of the release. task: seconds for a task's cells, and again for its tests, in each run.
    submission: seconds after which nothing new is judged. Where others want the processors too,
    the seconds on the clock are up to `PATIENCE` times as many, see `patience`.
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


def patience() -> float:
    """How many times longer a process may take on a machine that is busy: 1 to PATIENCE.

    What waits for a processor is not charged for it, and nobody gains much by making it busy.
    """
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return min(max(waiting, 1.0), PATIENCE)


def until(seconds: float) -> float:
    """When so many seconds are over, on the monotonic clock, with `patience`."""
    return time.monotonic() + seconds * patience()


def command(limits: Limits, program: Sequence[str], *, number: int = 0) -> list[str]:
    """The command line that runs a program in the sandbox.

    number: each process that runs at the same time has another, for limits are counted by user.
    Raises: SandboxError where bubblewrap is missing.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxError(f"there is no sandbox to run students' code in: {INSTALL}")
    is_root = os.geteuid() == 0
    places = {p: p for p in (*SYSTEM, *PYTHON) if Path(p).exists()}
    places |= {f"{BOOK}/{name}": str(ROOT / name) for name in INSIDE}
    environment = {
        "HOME": "/tmp", "PATH": os.defpath, "PYTHONPATH": BOOK, "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8",
    }  # fmt: skip
    options = [
        bwrap, "--die-with-parent", "--new-session", "--clearenv",
        *(["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if is_root else []),
        *([] if is_root else ["--unshare-user"]),
        "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
        "--perms", "1777", "--size", str(limits.files * 2**20), "--tmpfs", "/tmp",
        *_bound(places), "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev",
        "--remount-ro", "/", "--chdir", "/tmp", "--hostname", "sandbox",
        *(word for name, value in environment.items() for word in ("--setenv", name, value)),
    ]  # fmt: skip
    return [*options, "--", *_limited(limits), *_handed_over(is_root, number), *program]


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
        "choom", "--adjust", "1000", "--",  # if the machine's memory ends, these end first
        "prlimit", f"--as={limits.memory * 2**20}", f"--cpu={limits.cpu}", "--core=0",
        f"--nproc={limits.processes}", f"--fsize={limits.files * 2**20}", "--nofile=64",
    ]  # fmt: skip


def _handed_over(is_root: bool, number: int) -> list[str]:
    if not is_root:
        return ["setpriv", "--no-new-privs"]
    user = str(NOBODY[(97 * os.getpid() + 13 * next(STARTED) + number) % len(NOBODY)])
    return [
        "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs",
        "--inh-caps=-all", "--bounding-set=-all",
    ]  # fmt: skip


class Talk:
    """A process that runs cells, and questions to it; a context that ends the process when left.

    behind: while a copy of it answers, the process that waits for the copy's end. lost: whether
    what answered has ended or was ended; then only `copy` may give something new to ask.
    """

    def __init__(
        self, argv: Sequence[str], limits: Limits, environment: dict[str, str] | None = None
    ):
        self.limits = limits
        self.given: list[Callable] = []  # functions of ours that it may ask for
        self.pending = bytearray()
        self.deadline = float("inf")  # on the monotonic clock, for any question
        self.looked = time.monotonic()  # at what memory it holds
        self.lost = False
        self.behind: psutil.Process | None = None
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        os.set_blocking(self.stdout.fileno(), False)
        os.set_blocking(self.stdin.fileno(), False)

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the process, and in the sandbox all that it started."""
        self.process.kill()
        self.process.wait()
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
            raise LostError("the process has ended")
        line = encode(question, self._give)
        within = self.limits.answer if within is None else within
        deadline = min(until(within), self.deadline)
        try:
            self._send(line, deadline)
            while True:
                told = _checked(decode(self._line(deadline), fetch))
                if "ask" not in told:
                    if ("ended" in told) != (question["do"] == "end"):
                        raise LostError("the process has ended")
                    return told
                self._send(self._reply(told), deadline)
        except LostError:
            self._give_up()
            raise
        except Exception as error:  # whatever an answer was made to raise
            self._give_up()
            said = str(error)[:200] if isinstance(error, WireError) else type(error).__name__
            raise LostError(f"the process made no sense: {said}") from error

    def copy(self) -> bool:
        """Let a copy of the process answer; whether there is one. Raises: LostError.

        What the copy leaves behind goes with it, when it is asked to end or is lost.
        """
        self.lost, self.behind, self.deadline = False, None, float("inf")
        if self.ask(str, do="fork").get("value") is not True:
            return False
        with contextlib.suppress(psutil.Error, IndexError):
            init = psutil.Process(self.process.pid).children()[0]
            self.behind = init.children()[0]
        return True

    def _give_up(self) -> None:
        """End what answered, and all of it unless the process behind it is left, alone."""
        self.lost = True
        behind, self.behind = self.behind, None
        try:
            if behind is None or not self._is_alone(behind) or not self._is_in_step():
                self.end()
        except (psutil.Error, LostError, OSError):
            self.end()

    def _is_alone(self, behind: psutil.Process) -> bool:
        """End the copy; whether nothing is left in the sandbox but what was there before it."""
        behind.send_signal(signal.SIGUSR1)
        sandbox, until = psutil.Process(self.process.pid), time.monotonic() + END
        while len(sandbox.children(recursive=True)) != 2:  # its first process, and the one behind
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return behind.is_running()

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

    def _reply(self, told: dict) -> bytes:
        """Call the function of ours that it asks for."""
        function = self.given[int(str(told["ask"]).removeprefix("g"))]
        try:
            return encode({"value": function(*told["args"], **told["kwargs"])}, self._give)
        except Exception as error:
            return encode({"error": f"{type(error).__name__}: {error}"})

    def _wait(self, pipe, event: int, deadline: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, event)
            while (left := deadline - time.monotonic()) > 0:
                ready = selector.select(min(left, 0.5))
                if time.monotonic() - self.looked > 0.5:
                    self.looked = time.monotonic()
                    most = self.limits.resident * 2**20
                    if resident(self.process.pid) > most < resident(self.process.pid, shared=True):
                        raise LostError("it took more memory than it may")
                if ready:
                    return
        raise LostError("it took longer than it may")

    def _send(self, line: bytes, deadline: float) -> None:
        left = memoryview(line)
        while left:
            self._wait(self.stdin, selectors.EVENT_WRITE, deadline)
            left = left[os.write(self.stdin.fileno(), left) :]

    def _line(self, deadline: float) -> bytes:
        while (end := self.pending.find(b"\n")) < 0:
            self._wait(self.stdout, selectors.EVENT_READ, deadline)
            more = os.read(self.stdout.fileno(), 2**20)
            if not more:
                raise LostError("the process has ended")
            self.pending += more
            if len(self.pending) > MOST_BYTES:
                raise LostError(f"an answer of more than {MOST_BYTES} bytes")
        line = bytes(self.pending[: end + 1])
        del self.pending[: end + 1]
        return line


def _checked(told: object) -> dict[str, Any]:
    """A message from there, its texts cut. Raises: WireError where it is none."""
    if not isinstance(told, dict):
        raise WireError("the answer is no dict")
    if not {"value", "error", "ask", "ended"} & set(told):
        raise WireError("the answer says nothing")
    for name in ("error", "text", "ask"):
        if not isinstance(told.get(name, ""), str):
            raise WireError(f"{name} is no text")
    return told | {name: told[name][:MOST_TEXT] for name in ("error", "text") if name in told}


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
    limits: Limits, *, number: int = 0, unsafe: bool = False, files: dict[str, str] | None = None
) -> Talk:
    """Start a process for a submission's cells in the sandbox; `unsafe` starts it without one.

    files: texts to begin with, by their paths in the sandbox's /tmp.
    """
    program = [sys.executable, "-m", "homework.run.inside"]
    if unsafe:
        return Talk(program, limits)
    # Bubblewrap's own process, which students' code can look at, knows no more than a path.
    talk = Talk(command(limits, program, number=number), limits, {"PATH": os.defpath})
    for name, text in (files or {}).items():
        talk.ask(str, within=limits.given, do="write", name=name, text=text)
    return talk


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
            f"bubblewrap is there but cannot start a sandbox ({tried.stderr.strip()[:200]}); the "
            "system has to allow user namespaces (Ubuntu since 24.04: sudo sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0), and the tools setpriv and prlimit "
            "(util-linux)"
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
