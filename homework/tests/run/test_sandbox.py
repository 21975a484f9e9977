"""The sandbox: what students' code can reach, use up and break, by trying."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from homework.run import sandbox
from homework.run.sandbox import Limits, LostError, SandboxClient, SandboxError, started

PARTS = ("__init__", "wire", "seccomp", "inside")  # that are in the sandbox
SMALL = Limits(answer=20, files=8, processes=32)
pytestmark = pytest.mark.usefixtures("bubblewrap")


@pytest.fixture(scope="module")
def client():
    """One process for all tests that leave it alive."""
    with started(SMALL) as client:
        yield client


def run(client, source):
    return client.ask(lambda name: ("kept", name), do="run", source=source)


def value(client, name):
    return client.ask(lambda name: ("kept", name), do="value", name=name)["value"]


def called(client, name, *args):
    (_, number) = value(client, name)
    question = {"do": "call", "name": number, "args": list(args), "kwargs": {}}
    return client.ask(lambda name: ("kept", name), **question)


def refused(client, source, *kinds):
    found = run(client, source)
    assert found.get("error") in kinds, found


# ------------------------------------------------------------- what it is for


def test_cells_run_as_in_a_notebook(client):
    found = run(client, "import numpy as np\nprint('hello')\nx = [np.ones(2), (1, ...)]\n%pwd")
    assert found["value"] is None
    assert found["said"].startswith("hello\n")
    assert value(client, "x")[1] == (1, ...)
    assert run(client, "1 / 0")["error"] == "ZeroDivisionError"
    assert run(client, "1 /")["error"] == "SyntaxError"
    assert run(client, "import sys; sys.exit(3)")["error"] == "SystemExit"
    assert run(client, "input()")["error"] == "EOFError"
    assert value(client, "x")[1] == (1, ...)  # all is still there


def test_functions_are_called_and_call_back(client):
    run(client, "def twice(x, f=None):\n    return x * 2 if f is None else f(x) + f(1)")
    assert np.array_equal(called(client, "twice", np.arange(3.0))["value"], [0, 2, 4])
    assert torch.equal(called(client, "twice", torch.ones(2))["value"], torch.full((2,), 2.0))
    assert called(client, "twice", 3, lambda x: 10 * x)["value"] == 40
    failed = called(client, "twice", 3, lambda x: x / 0)
    assert (failed["error"], failed["text"]) == ("ZeroDivisionError", "division by zero")
    assert called(client, "twice", None)["error"] == "TypeError"


def test_the_books_helpers_are_there(client):
    assert run(client, "from helpers import exercises, numerics").get("error") is None


# ------------------------------------------------------------- what it cannot reach


def test_nothing_of_the_course_is_in_sight(client):
    run(client, "import os\nseen = [os.path.join(a, f) for a, _, b in os.walk('/book') for f in b]")
    seen = set(value(client, "seen"))
    assert {"/book/homework/__init__.py", *(f"/book/homework/run/{name}.py" for name in PARTS)} == {
        path for path in seen if path.startswith("/book/homework") and path.endswith(".py")
    }
    run(client, f"there = os.path.exists({str(sandbox.ROOT / 'tests')!r})")
    assert value(client, "there") is False
    for path in ("/etc/shadow", "/etc/passwd", "/var", str(Path.home() / ".ssh")):
        run(client, f"there = os.path.exists({path!r})")
        assert value(client, "there") is False, path
    for folder in {Path("/home"), Path.home().parent, Path.home()} - {Path("/")}:
        pythons = [Path(one) for one in sandbox.PYTHON if Path(one).is_relative_to(folder)]
        leads = {one.relative_to(folder).parts[0] for one in pythons}  # where Python lies in a home
        run(client, f"there = os.path.exists({str(folder)!r}) and os.listdir({str(folder)!r})")
        assert set(value(client, "there") or ()) <= leads, folder


def test_no_other_process_is_in_sight(client):
    run(client, "import os, signal\npids = [int(p) for p in os.listdir('/proc') if p.isdigit()]")
    assert len(value(client, "pids")) <= 4
    assert run(client, "me = os.getuid()")["value"] is None
    assert value(client, "me") != 0
    refused(client, "os.setuid(0)", "PermissionError", "OSError")  # where an ordinary user grades
    assert run(client, "assert os.getuid() == me")["value"] is None


CALLS = """
import ctypes, os
from homework.run import seccomp
libc = ctypes.CDLL(None, use_errno=True)
_, column = seccomp.MACHINES[os.uname().machine]
def refused(number, *arguments):
    return (libc.syscall(number, *arguments), ctypes.get_errno())
"""


def test_calls_that_no_program_of_a_student_needs_are_refused(client):
    """Each by its number, and a namespace of users by both of the calls that make one."""
    run(client, CALLS)
    run(client, "found = {n: refused(c[column], 0, 0, 0, 0, 0) for n, c in seccomp.DENIED.items()}")
    assert {name for name, result in value(client, "found").items() if result != (-1, 1)} == set()
    run(client, "found = refused(seccomp.CLONE[column], 0x10000000 | 17, 0, 0, 0, 0)")
    assert value(client, "found") == (-1, 1)
    run(client, "found = refused(seccomp.CLONE3[column], 0, 0)")
    assert value(client, "found") == (-1, 38)
    run(client, "import subprocess\nfound = subprocess.run(['unshare', '-U', 'true']).returncode")
    assert value(client, "found") != 0


# ------------------------------------------------------------- what it cannot use up


def test_memory_is_counted_over_all_processes():
    """Each of them keeps below its own limit; together they do not."""
    hoard = (
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n"
        "        x = b'x' * (120 * 2**20)\n        time.sleep(60)\ntime.sleep(60)"
    )
    more = pytest.raises(LostError, match="more memory than it may")
    with started(Limits(answer=30, resident=700)) as client, more:
        run(client, hoard)
    assert sandbox.resident(client.process.pid) == 0


def test_course_inside_the_python_folder_is_refused(tmp_path):
    with pytest.raises(SandboxError, match=r"would see .*course, for it lies in"):
        sandbox.check(Path(sys.prefix) / "lib" / "course")
    sandbox.check(tmp_path)


def test_what_is_said_is_cut(client):
    found = run(client, "print('x' * 10**6)")
    assert len(found["said"]) == 20_000


@pytest.mark.parametrize(
    ("kills", "said", "outside"), [(1, "memory was out", True), (0, "ended", False)]
)
def test_kernel_that_is_out_of_memory_is_no_fault_of_the_student(kills, said, outside, monkeypatch):
    """Somebody ends it; what the kernel counts meanwhile tells who that was."""
    with started(SMALL) as client:
        run(client, "pass")
        monkeypatch.setattr(sandbox, "memory_kills", lambda: kills)
        client.kills = 0
        os.kill(client._all()[-1].pid, 9)
        with pytest.raises(LostError, match=said) as raised:
            run(client, "pass")
        assert raised.value.outside is outside


@pytest.mark.parametrize(
    ("source", "is_short", "outside"),
    [("import time; time.sleep(60)", True, False), ("while True: pass", True, True),
     ("while True: pass", False, False)],
    ids=["sleeps", "waits", "computes"],
)  # fmt: skip
def test_starved_process_differs_from_a_slow_one(source, is_short, outside, monkeypatch):
    """It waits for a processor where others have the seconds."""
    with started(SMALL) as client:
        run(client, "pass")
        if is_short:
            monkeypatch.setattr(SandboxClient, "_seconds", lambda self: 0.0)
        client.limits = Limits(answer=0.5)
        with pytest.raises(LostError) as raised:
            run(client, source)
        assert raised.value.outside is outside


def test_what_no_longer_ends_with_its_parent_is_ended_too():
    with SandboxClient(["sh", "-c", "sleep 60 & exec sleep 60"], SMALL) as client:
        while not (started_by_it := psutil.Process(client.process.pid).children()):
            time.sleep(0.01)
    deadline = time.monotonic() + 20  # far from the minute after which they end by themselves
    while any(map(runs, started_by_it)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def runs(process: psutil.Process) -> bool:
    """Whether it has not ended; who waits for its end may not have fetched it yet."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def test_the_graders_environment_is_in_no_process_of_the_sandbox(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "sesame")
    with started(SMALL) as client:
        run(client, "pass")
        environment = Path(f"/proc/{client.process.pid}/environ").read_bytes()
    assert b"sesame" not in environment
    assert b"PATH" in environment


def test_python_below_the_temporary_folder_is_in_sight(tmp_path, monkeypatch):
    """A checkout may lie there, as the Docker recipe of For teachers puts it."""
    assert tmp_path.is_relative_to("/tmp")
    tmp_path.chmod(0o755)
    (tmp_path / "part").write_text("seen")
    monkeypatch.setattr(sandbox, "PYTHON", (*sandbox.PYTHON, str(tmp_path)))
    monkeypatch.setattr(sandbox, "PARTS", (*sandbox.PARTS, "part"))
    read = ["sh", "-c", f"cat {tmp_path}/part && ! touch {tmp_path}/new 2>&1 && touch /tmp/mine"]
    done = subprocess.run(sandbox.command(Limits(), read), capture_output=True, text=True)
    assert done.stdout.startswith("seen")
    assert "cannot touch" in done.stdout
    assert done.returncode == 0, done.stderr


def test_python_outside_the_sandbox_is_reported(monkeypatch):
    monkeypatch.setattr(sandbox, "PYTHON", (sys.base_prefix,))  # what is installed is out of sight
    with pytest.raises(SandboxError, match=r"cannot run the book's helpers in it \(.+\): it shows"):
        sandbox.check_python()


def test_nothing_but_what_the_book_needs_is_there_of_what_is_installed(client):
    names = ["torch", "IPython", "matplotlib", "pytest", "nbformat", "homework.private"]
    run(
        client,
        f"import importlib.util\nfound = [n for n in {names} if importlib.util.find_spec(n)]",
    )
    assert value(client, "found") == ["torch", "IPython", "matplotlib"]


def test_helpers_that_are_installed_where_the_sandbox_sees_them_stop_it(tmp_path, monkeypatch):
    place = tmp_path / "installed"
    (place / "helpers").mkdir(parents=True)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(sandbox, "PYTHON", (*sandbox.PYTHON, str(place)))
    monkeypatch.setattr(sandbox, "PARTS", (*sandbox.PARTS, "helpers"))
    monkeypatch.setattr(sandbox.helpers, "__file__", str(place / "helpers" / "__init__.py"))
    with pytest.raises(SandboxError, match=r"would see .*helpers"):
        sandbox.check()
