"""Groups of processes: what is counted and held there, by processes that try."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from homework.run import cgroup, sandbox
from homework.run.cgroup import NoGroupsError
from homework.run.sandbox import Limits

MIB = 2**20
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cgroups are of Linux")


@pytest.fixture
def group():
    """A group of 60 MiB."""
    try:
        made = cgroup.made(7, 60 * MIB, processes=8)
    except NoGroupsError as error:
        pytest.skip(f"no groups here: {error}")
    if not made.folders:
        pytest.skip("systemd makes the groups here: they have no folder to look into")
    yield made
    made.close()
    assert not any(folder.exists() for folder in made.folders)


def argv(group, source):
    return [*sandbox._entering(group), sys.executable, "-S", "-c", source]


MEMFD = "import os; f = os.memfd_create('x'); [os.write(f, bytes(2**20)) for _ in range(200)]"
SHARED = """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
held = libc.shmget(0, 200 * 2**20, 0o1600)
at = libc.shmat(held, None, 0)
libc.shmctl(held, 0, None)  # it goes with its last process
ctypes.memset(at, 1, 200 * 2**20)
"""
TMPFS = "with open('/dev/shm/{}', 'wb') as f: [f.write(bytes(2**20)) for _ in range(200)]"


@pytest.mark.parametrize("source", [MEMFD, SHARED, TMPFS], ids=["memfd", "shared", "tmpfs"])
def test_memory_that_no_process_shows_is_counted(group, source):
    file = Path("/dev/shm") / f"book-{os.getpid()}"
    try:
        process = subprocess.Popen(argv(group, source.replace("{}", file.name)))
        assert process.wait(timeout=60) == -9
        assert group.killed(process.pid) == 1
    finally:
        file.unlink(missing_ok=True)


def test_process_within_its_limits_is_not_killed(group):
    process = subprocess.run(argv(group, "x = bytes(2**20)"))
    assert process.returncode == 0
    assert group.killed(0) == 0


def test_processes_have_an_end(group):
    source = "import os\nfor _ in range(99):\n    if not os.fork(): import time; time.sleep(60)"
    process = subprocess.Popen(argv(group, source), stderr=subprocess.PIPE)
    children = []
    try:
        assert any(b"BlockingIOError" in line for line in process.stderr)
        listed = (group.folders[0] / "cgroup.procs").read_text().split()
        children = [int(pid) for pid in listed]
        assert 8 <= len(children) <= 8 + cgroup.SPARE
    finally:
        for pid in children:
            psutil.Process(pid).kill()
        process.kill()
        process.communicate()


# ------------------------------------------------------------- where it is otherwise


@pytest.fixture
def second(tmp_path, monkeypatch):
    """A tree of version 2 in plain files, with this process in it."""
    cgroup._base.cache_clear()
    own = tmp_path / "own"
    own.mkdir()
    for name, text in (
        ("cgroup.controllers", "cpu memory pids"),
        ("cgroup.subtree_control", ""),
        ("cgroup.procs", "12\n"),
    ):
        (own / name).write_text(text)
    monkeypatch.setattr(cgroup, "_own", lambda pid: {"": own})
    yield own
    cgroup._base.cache_clear()


def test_a_container_of_version_2_is_divided(second, monkeypatch):
    assert cgroup._base() == (second,)
    assert (second / cgroup.LEAF / "cgroup.procs").read_text() == "12"
    assert (second / "cgroup.subtree_control").read_text() in ("+memory +pids", "+cpu")
    cgroup._base.cache_clear()
    monkeypatch.setattr(cgroup, "_own", lambda pid: {"": second / cgroup.LEAF})  # the next one
    assert cgroup._base() == (second,)


def test_where_systemd_makes_groups_each_sandbox_is_a_scope(second, tmp_path, monkeypatch):
    """By a systemd-run that takes the same words, and makes none."""
    (second.parent / "cgroup.procs").touch()  # so it is not all, and nobody handed it over
    program = tmp_path / "systemd-run"
    program.write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/arguments\n'
        'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert cgroup.lacking() == ""
    made = cgroup.made(0, 60 * MIB, processes=8)
    done = subprocess.run(
        sandbox.command(Limits(), ["echo", "inside"], group=made), capture_output=True, text=True
    )
    assert done.stdout == "inside\n", done.stderr
    arguments = (tmp_path / "arguments").read_text()
    for words in ("--scope", f"-p MemoryMax={60 * MIB}", "-p TasksMax=24", "-p CPUWeight"):
        assert words in arguments


def test_where_there_are_none_it_is_told_what_that_means(second, monkeypatch):
    (second.parent / "cgroup.procs").touch()
    monkeypatch.setattr(cgroup.shutil, "which", lambda name: None)
    assert "systemd-run is not there" in cgroup.lacking()
    assert "slows the others down" in cgroup.lacking()
    with pytest.raises(NoGroupsError):
        cgroup.made(0, 60 * MIB, processes=8)
