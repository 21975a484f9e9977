# ruff: noqa: E501 (lines of hand-ins are as their authors left them)
"""Hand-ins of people who want more than they deserve, or that others get less.

As in `submissions`, an answer is right if the cheat worked and wrong if it did not. HARSH are those
who reach beyond the copy of a process in which they run.
"""

import os
from pathlib import Path

from submissions import (
    ALL,
    FORGE,
    NONE,
    SUBMISSIONS,
    Content,
    answers,
    but,
    code,
    deserves,
    fill,
    perfect,
    reaches,
    text,
    unreadable,
    written,
    zipped,
)

from homework.intake.roster import safe

KNOWN = len(SUBMISSIONS)

# ------------------------------------------------------------- objects that lie

answers(
    "iterates-for-ever",
    {
        "05.4": """class Rows(list):
    def __iter__(self):
        while True: yield self
my_query = Rows([1, 2])""",
        "05.5": """class Rows(dict):
    def __len__(self): return 2
    def items(self):
        n = 0
        while True: yield (n := n + 1), 0
counterexample = Rows(a=1)""",
    },
    but(t4=0, t5=0),
    "up to what an answer may hold",
    says={"05.4": "deep", "05.5": "too large"},
)
answers(
    "making-plain-replaced",
    {
        "05.1": """import sys
answers = sys.modules["helpers.exercises.answers"]
inside = sys.modules.get("homework.run.inside") or sys.modules["__main__"]
for module in (answers, inside, exercises):
    module.to_plain = lambda value: value
answers._Making.made = lambda self, value, depth: value
answers.MOST_BYTES = answers.MOST_ENTRIES = answers.DEEPEST = 10**18
class Yes(float):
    def __eq__(self, other): return True
my_weights = lambda q, k: [Yes(1)] * len(k)""",
        "05.5": "counterexample = np.ones((2, 2)).astype(object)",
        "05.7": "head = (Yes(0), exercises, torch)",
    },
    NONE | {"05.2": 3, "05.3": 2, "05.4": 2},
    "it is done once more where answers are judged",
)
answers(
    "memory-that-is-not-theirs",
    {
        "05.1": """class Weights:
    __array_interface__ = {"shape": (5,), "typestr": "<f8", "version": 3, "data": (4096, False)}
def my_weights(q, k): return Weights()""",
        "05.2": "import ctypes\ndef my_attention(q, k, v):\n    "
        "return np.ctypeslib.as_array(ctypes.cast(8, ctypes.POINTER(ctypes.c_double)), (len(q), 3))",
        "05.3": """x = 1.0
for _ in range(38): x = (x, x)
diagnosis = {who: x for who in bug_outputs}""",
        "05.5": "counterexample = np.lib.stride_tricks.as_strided(np.ones(1), (3, 3), (2**40, 2**40))",
        "05.7": """import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))  # a call to the kernel as 32 bits have it
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
head = (30 * np.roll(np.eye(5), -1, 1), np.eye(5), np.eye(5))""",
    },
    NONE | {"05.4": 2},
    "addresses of nothing, parts shared without end, calls of another machine",
)
answers(
    "numbers-on-the-edge",
    {
        "05.1": "def my_weights(query, keys): return np.full(len(keys), np.nan, np.complex128)",
        "05.2": "def my_attention(q, k, v): return np.full((len(q), 3), 1e308)",
        "05.4": "my_query = (1e50, -1e50)",
        "05.5": "counterexample = np.array([[1e308, -1e308], [1e308, -1e308], [5e-324, 0]])",
        "05.7": "head = (np.full((5, 3), 1e200), np.full((5, 3), 1e200), np.eye(5))",
    },
    NONE | {"05.3": 2},
    "overflow, underflow and what is no number are not right",
)

# ------------------------------------------------------------- the process that runs them

answers(
    "leaves-things-behind",
    {
        "05.1": [
            FORGE,
            """import atexit, gc, signal, sys, threading, weakref
def later(*_, **__):
    forge({"value": ["list", 1], "said": ""}, {"ended": 0}, {"error": "", "text": ""})
    return later
sys.settrace(later); sys.setprofile(later); threading.settrace(later); threading.setprofile(later)
atexit.register(later); gc.callbacks.append(later); sys.excepthook = sys.unraisablehook = later
sys.displayhook = sys.breakpointhook = later
for number in (signal.SIGALRM, signal.SIGUSR1, signal.SIGCHLD, signal.SIGTERM):
    signal.signal(number, later)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
class Gone:
    def __del__(self): later()
kept = [Gone() for _ in range(3)]; kept[0].cycle = kept
weakref.finalize(kept[1], later)
threading.Thread(target=lambda: [later() for _ in range(10**4)], daemon=True).start()
def my_weights(query, keys): return [1.0] + [0.0] * (len(keys) - 1)""",
        ],
        "05.5": "counterexample = np.eye(2)",
    },
    but(t1=0, t5=0),
    "hooks, signals, threads and finalisers that write into the talk",
)
answers(
    "namespace-of-its-own",
    {
        "05.5": """class Space(dict):
    def __getitem__(self, name):
        if name == "counterexample":
            raise SystemExit
        return super().__getitem__(name)
    def __contains__(self, name):
        raise KeyboardInterrupt
get_ipython().user_ns = Space(get_ipython().user_ns)
counterexample = 1""",
    },
    but(t5=0, t7=0),
    "who breaks the namespace loses what comes later",
)
reaches(
    "the-process-behind",
    "it cannot be ended, stopped, slowed, read or written",
    """import ctypes, os, resource, signal
won, mine, libc = False, os.getpid(), ctypes.CDLL(None, use_errno=True)
others = [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != mine]
is_open = os.stat("/proc/1").st_uid == os.getuid()  # to an ordinary user's sandbox, but not ended
acts = [lambda p: os.kill(p, signal.SIGKILL), lambda p: os.kill(p, signal.SIGSTOP),
        lambda p: os.kill(p, signal.SIGUSR1), lambda p: os.kill(-p, signal.SIGKILL),
        lambda p: os.pidfd_open(p) and signal.pidfd_send_signal(os.pidfd_open(p), signal.SIGKILL),
        lambda p: open(f"/proc/{p}/mem", "rb").read(1), lambda p: os.listdir(f"/proc/{p}/fd"),
        lambda p: open(f"/proc/{p}/mem", "r+b").close(), lambda p: os.listdir(f"/proc/{p}/root"),
        lambda p: open(f"/proc/{p}/environ").read(1) or 1 / 0, lambda p: open(f"/proc/{p}/maps").read(1)]
for pid in others:
    for act in acts[:5] if pid == 1 and is_open else acts:
        try:
            act(pid); won = True
        except (OSError, ZeroDivisionError):
            pass
for act in (lambda: os.kill(-1, signal.SIGKILL), lambda: os.killpg(os.getpgid(1), 9)):
    try:
        act(); won = won
    except OSError:
        pass
""",
)
reaches(
    "other-namespaces-otherwise",
    "by each of clone's flags, other tables of calls, programs, vsock",
    """import ctypes, os, socket, subprocess
libc, won = ctypes.CDLL(None, use_errno=True), False
NEW = 0x10000000
if os.uname().machine == "x86_64":
    for flag in (NEW, 0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x20000000, 0x40000000):
        for high in (0, 1 << 32):
            pid = libc.syscall(56, ctypes.c_ulong(flag | high | 17), 0, 0, 0, 0)
            if pid == 0: os._exit(0)
            won |= pid > 0 or libc.syscall(272, ctypes.c_ulong(flag | high)) == 0
    for number in (0x40000000 + 272, 0x40000000 + 56, 0x40000000 + 520):
        won |= libc.syscall(number, NEW, 0, 0, 0, 0) >= 0
for program in ("unshare -Ur true", "bwrap --dev-bind / / true", "setpriv --reuid 0 true",
                "mount -t tmpfs x /tmp", "nsenter -t 1 -a true"):
    try:
        won |= subprocess.run(program.split(), capture_output=True, timeout=5).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        pass
for family in set(range(60)) - {1, 2, 10, 16}:
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close(); won = True
        except OSError:
            pass
""",
)
reaches(
    "a-child-that-stays",
    "what the first run started has ended before the second",
    """import os, pathlib, time
mark = pathlib.Path("/dev/shm/pid")
won = mark.exists() and pathlib.Path("/proc/" + mark.read_text()).exists()
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if child := os.fork():
        os.write(write, str(child).encode())
    else:
        time.sleep(60)
    os._exit(0)
mark.write_text(os.read(read, 99).decode())
""",
)

# ------------------------------------------------------------- the talk, and whoever judges

answers(
    "asks-for-ever",
    {
        "05.5": [
            FORGE,
            """import threading
def asking():
    while True: forge({"ask": "g0", "args": ["list"], "kwargs": ["dict"]})
counterexample = 1; threading.Thread(target=asking, daemon=True).start(); asking()""",
        ],
        "05.7": [
            FORGE,
            """head = 1
for told in ({"ask": "g" + "9" * 4000, "args": None, "kwargs": None}, {"ask": ["list"]},
             {"ended": 0}, {"value": ["kept", "g0"]}, {"ask": "g0", "args": ["kept", "x"]}):
    forge(told)""",
        ],
    },
    but(t5=0, t7=0),
    "questions to the grader that it never gave",
)
SEND = """import os
def send(told):
    for fd in range(3, 40):
        try:
            at = 0
            while at < len(told): at += os.write(fd, told[at:])
        except OSError:
            pass
"""
answers(
    "lines-to-choke-on",
    {
        "05.2": [SEND, "send(b'[' * 6_000_000 + b'\\n')\nmy_attention = 1"],
        "05.3": [SEND, "send(b'[\"list\",' + b'[],' * 15_000_000 + b'[]]\\n')\ndiagnosis = 1"],
        "05.4": [SEND, "send(b'[\"float\",\"0x' + b'f' * 40_000_000 + b'\"]\\n')\nmy_query = 1"],
        "05.5": [
            SEND,
            """same = ",".join(str(k * (2**61 - 1)) for k in range(10_000))
send(('["dict",["value",["list",' + ",".join([f'["set",{same}]'] * 200) + ']]]\\n').encode())
counterexample = 1""",
        ],
    },
    but(rest=0, t1=3, t7=3),
    "deep, wide and long lines, and sets whose entries all have one hash",
    says={"05.2": "was ended", "05.5": "was ended"},
)
answers(
    "pickles",
    {
        "05.1": """import pickle
class Bomb:
    def __reduce__(self): return (exec, ("import os; os.abort()",))
def my_weights(query, keys): return pickle.dumps(Bomb())""",
        "05.2": "import io\ndef my_attention(q, k, v):\n    torch.save(Bomb(), f := io.BytesIO())\n"
        "    return f.getvalue()",
        "05.5": [
            FORGE,
            """bomb = ["bytes", __import__("base64").b64encode(pickle.dumps(Bomb())).decode()]
forge(["dict", ["value", ["ref", 0, "module", bomb]], ["said", ""]],
      ["dict", ["value", ["ref", -1, "optimizer", ["list", "lr_scheduler.LambdaLR", ["list"]]]]])
counterexample = 1""",
        ],
        "05.7": "head = np.array([Bomb(), Bomb(), Bomb()], dtype=object)",
    },
    but(rest=0, t3=2, t4=2),
    "nothing is unpickled by who judges",
)
# ------------------------------------------------------------- notebooks that are none


@deserves("odd-types", ALL, "fields that hold anything")
def _types() -> bytes:
    notebook = perfect()
    odd = [None, 0, "x", [], {}, [[]], True, 1e308, {"a": {"b": []}}]
    for number, cell in enumerate(notebook["cells"]):
        one = odd[number % len(odd)]
        cell["metadata"] |= {"homework": one, "nbgrader": one, "tags": one, "id": one}
        cell |= {"attachments": one, "execution_count": one, "outputs": one, "id": one}
    odd_cells = [
        {"cell_type": one, "source": other, "metadata": one} for one in odd for other in odd
    ]
    notebook |= {
        "nbformat": [],
        "nbformat_minor": {},
        "cells": [*notebook["cells"], *odd, *odd_cells],
    }
    notebook["metadata"] = {"homework": {"assignment": [], "edition": {}}, "kernelspec": 1}
    return written(notebook)


@deserves("keys-twice", NONE, "of two lists of cells the last one counts, as in Jupyter")
def _twice() -> bytes:
    good, bad = (written(one)[1:-1] for one in (perfect(), fill({"05.1": "x = 1"})))
    return b"{" + good + b"," + bad + b"}"


@deserves("notes-by-the-thousand", ALL, "a page of what is odd has an end")
def _notes() -> bytes:
    notebook = perfect()
    eval_ = [code(f"eval('{n}'); import subprocess as s{n}") for n in range(200)]
    texts = [text(f"> **Exercise 1.** my_weights = {n}") for n in range(200)]
    notebook["cells"] += eval_ + texts
    return written(notebook)


unreadable("numbers-too-long", "damaged", "a whole number of a million digits")(
    lambda: b'{"nbformat": ' + b"9" * 1_000_000 + b', "cells": []}'
)
# ------------------------------------------------------------- files and whose they are


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


def _loop(path: Path) -> None:
    path.mkdir()
    (path / "a").symlink_to("..")
    (path / "b.ipynb").symlink_to("b.ipynb")
    os.mkfifo(path / "d.ipynb")
    (path / "e.ipynb").mkdir()


unreadable("sparse", "64 MiB", "a file that claims a tebibyte")(lambda: {"sparse.ipynb": _sparse})
unreadable("loops", "", "links to itself, a pipe, a folder called notebook")(
    lambda: {"loops": _loop}
)


@deserves("names-in-a-zip", ALL, "names that paint, run or lead out", key="names-in-a-zip")
def _painted() -> dict[str, Content]:
    odd = (
        "\x1b[2J.txt",
        "<script>alert(9)<|script>.txt",
        "\u202egpj.txt",
        "=cmd|x!A1.csv",
        "a" * 60_000,
        "-rf.sh",
        "$(reboot).txt",
        "CON",
        "nul.ipynb.txt",
        "..",
        "/",
        "\\\\server\\share\\x.txt",
        "a\nb",
    )
    files = dict.fromkeys(odd, b"x") | {"05.ipynb": written(perfect())}
    return {"names-in-a-zip.zip": zipped(files)}


def named(file: str, why: str) -> None:
    """Register right answers in a file of that name."""
    deserves(f"named-{safe(file)}", ALL, why, key=safe(file))(
        lambda: {f"{file}.ipynb": written(perfect())}
    )


named("$(touch owned) --again", "what a shell would run, or a program take for an option")
named("=1+1", "what a spreadsheet would compute")
named(os.fsdecode(b"\xff\x1b[31m\xfe"), "bytes that are no text, and paint")
named("\u202egpj.\u2066x", "marks that turn text round")

HARSH = {"lines-to-choke-on", "the-process-behind"}

MORE = SUBMISSIONS[KNOWN:]
