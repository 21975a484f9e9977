"""Groups of processes that the kernel counts together, one a student: cgroups of Linux.

A group's limits hold what no limit of a process does: memory that lies in files without a disk or
is shared, and the processors' time, of which each group has the same share. Version 2 of cgroups
is written where a subtree is ours, as in a container; else systemd makes a scope for each sandbox;
version 1 is written where only that has the controllers.
"""

import contextlib
import errno
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LACKING = (
    "there are no limits for groups of processes here (cgroups): {}. What students' programs may "
    "use is limited process by process, and their memory looked at twice a second; memory that no "
    "process shows is not counted, and who starts many processes slows the others down"
)
NAME, LEAF = "homework", "homework-grader"
SPARE = 16  # processes of the sandbox itself
TRIES = 10  # to move all processes of a group, while they start others
END = 10.0  # seconds at most in which the last process of a group goes


class NoGroupsError(RuntimeError):
    """There are no groups here; says why."""


@dataclass(frozen=True)
class Group:
    """A group, by what makes a process one of it: folders to write its id to, or a command."""

    folders: tuple[Path, ...] = ()
    command: tuple[str, ...] = ()

    def killed(self, pid: int) -> int:
        """How many processes the kernel has ended here for memory; pid: of a process in it."""
        with contextlib.suppress(OSError, KeyError, ValueError, StopIteration):
            first = self.folders[0] if self.folders else _own(pid)[""]
            name = "memory.events" if (first / "memory.events").exists() else "memory.oom_control"
            return _counted(first / name)
        return 0

    def close(self) -> None:
        """Remove it, once what it held has ended."""
        deadline = time.monotonic() + END
        for folder in self.folders:
            while folder.exists() and time.monotonic() < deadline:
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.02)


def kills(group: Group | None, pid: int) -> tuple[int, int]:
    """How many processes the kernel has ended for memory, in the group and elsewhere."""
    own = group.killed(pid) if group else 0
    with contextlib.suppress(OSError, StopIteration):
        return own, _counted(Path("/proc/vmstat")) - own
    return own, 0


def _counted(path: Path) -> int:
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return next(int(number) for name, number in lines if name == "oom_kill")


def made(number: int, memory: int, processes: int) -> Group:
    """A new group with a share of the processors like any other's. Raises: NoGroupsError.

    number: another for each group of this process. memory: in bytes.
    """
    base = _base()
    tasks = processes + SPARE
    if not base:
        limits = (f"MemoryMax={memory}", "MemorySwapMax=0", f"TasksMax={tasks}", "CPUWeight=100")
        return Group(command=(*_scope(), *(word for one in limits for word in ("-p", one)), "--"))
    group = Group(tuple(folder / f"{NAME}-{os.getpid()}-{number}" for folder in base))
    try:
        for folder in group.folders:
            _sweep(folder.parent)
            folder.mkdir(exist_ok=True)
            _limit(folder, memory, tasks)
    except OSError as error:
        group.close()
        raise NoGroupsError(f"one could not be made ({error})") from error
    return group


def _limit(folder: Path, memory: int, tasks: int) -> None:
    """Write those limits that a folder has; a kernel without swap lacks its two."""
    for name, value, is_needed in (
        ("memory.max", memory, True),
        ("memory.limit_in_bytes", memory, True),
        ("memory.swap.max", 0, False),
        ("memory.memsw.limit_in_bytes", memory, False),
        ("pids.max", tasks, True),
    ):
        if (folder / name).exists():
            with contextlib.nullcontext() if is_needed else contextlib.suppress(OSError):
                (folder / name).write_text(str(value))


def lacking() -> str:
    """What is missing where there are no groups, and what follows from it; else ""."""
    try:
        _base()
    except NoGroupsError as error:
        return LACKING.format(error)
    return ""


def _sweep(base: Path) -> None:
    """Remove what a grader left behind that was killed."""
    for folder in base.glob(f"{NAME}-*-*"):
        if not Path(f"/proc/{folder.name.split('-')[1]}").exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


@cache
def _base() -> tuple[Path, ...]:
    """The folders in which groups can be made; none where systemd makes them.

    Raises: NoGroupsError.
    """
    own = _own("self")
    if {"memory", "pids", "cpu"} <= own.keys():
        if all(os.access(own[name], os.W_OK) for name in ("memory", "pids", "cpu")):
            return tuple(dict.fromkeys(own[name] for name in ("memory", "pids", "cpu")))
        raise NoGroupsError("this user may not make them (version 1 of cgroups asks for root)")
    if "" not in own:
        raise NoGroupsError("the system has none, or does not show them")
    base = own[""].parent if own[""].name == LEAF else own[""]
    with contextlib.suppress(OSError):
        if _is_ours(base):
            return (_divided(base),)
    tried = "systemd-run is not there"
    if shutil.which("systemd-run"):
        done = subprocess.run([*_scope(), "--", "true"], capture_output=True, text=True)
        if done.returncode == 0:
            return ()
        tried = f"systemd-run cannot make them ({done.stderr.strip()[:100]})"
    raise NoGroupsError(f"this process may not divide its own, and {tried}")


def _own(pid: int | str) -> dict[str, Path]:
    """The folder of a process's group by controller; "" for version 2."""
    places: dict[str, tuple[str, str]] = {}
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        mount, _, rest = line.partition(" - ")
        root, at = mount.split()[3:5]
        kind, _, options = rest.split(maxsplit=2)
        if kind in ("cgroup", "cgroup2"):
            names = options.split(",") if kind == "cgroup" else [""]
            places |= dict.fromkeys(names, (root, at))
    found = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            if name in places:
                root, at = places[name]
                found[name] = Path(at, os.path.relpath(path, root))
    return {name: folder.resolve() for name, folder in found.items() if folder.is_dir()}


def _is_ours(base: Path) -> bool:
    """Whether a group of version 2 is all that is seen here, as in a container, or handed over."""
    if not {"memory", "pids"} <= set((base / "cgroup.controllers").read_text().split()):
        return False
    is_root = not (base.parent / "cgroup.procs").exists()
    return is_root or os.getxattr(base, "user.delegate") == b"1"


def _divided(base: Path) -> Path:
    """A group of version 2 made ready for others in it: its own processes go to a leaf.

    Raises: OSError.
    """
    control = base / "cgroup.subtree_control"
    if not {"memory", "pids"} <= set(control.read_text().split()):
        (base / LEAF).mkdir(exist_ok=True)
        for left in reversed(range(TRIES)):
            for pid in (base / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    (base / LEAF / "cgroup.procs").write_text(pid)
            try:
                control.write_text("+memory +pids")
                break
            except OSError as error:  # some process was started meanwhile
                if error.errno != errno.EBUSY or not left:
                    raise
    with contextlib.suppress(OSError):
        control.write_text("+cpu")
    if not os.access(base, os.W_OK):
        raise PermissionError(f"{base} cannot be written")
    return base


def _scope() -> list[str]:
    whose = [] if os.geteuid() == 0 else ["--user"]
    return ["systemd-run", *whose, "--scope", "--quiet", "--collect"]
