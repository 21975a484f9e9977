"""What runs in the sandbox: it runs cells and answers questions about what they made.

    python -m homework.run.inside     talks by lines of `homework.run.wire` on its standard streams

It is asked, one line at a time, with a dict, and answers each with a dict:

    {"do": "run", "source": …}                  run a cell, as a notebook would
    {"do": "write", "name": …, "text": …}   write a file
    {"do": "value", "name": …}                  what a name stands for
    {"do": "call", "name": …, "args": …, "kwargs": …}   call something kept here
    {"do": "fork"}              go on in a copy of this process, which spares the next run its start
    {"do": "end"}               end the copy; this process goes on as it was
    {"do": "echo", "value": …}  say it back, at once

    {"value": …, "said": …}     what came of it, and what was written on the way
    {"error": …, "text": …}     or the type of what was raised, and its message
    {"ended": …}                the copy has ended

What is not plain data stays here and is named by a number. Functions of the grader that came as
arguments have a name with a g, and are asked for by {"ask": name, "args": …, "kwargs": …} first.
The value of a call is [what it gave, the numbers of what was lent]. Nothing in this process is
trusted: it holds no hidden test.
"""

import contextlib
import ctypes
import gc
import io
import os
import platform
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homework.run.lending import borrow, returned
from homework.run.wire import WireError, decode, encode

COLLECTED = (700, 10, 10)  # as often as Python does
MOST_SAID = 20_000  # characters of what a cell writes are passed on


class Cells:
    """The cells' namespace, and what of it the grader has been told of by a number."""

    def __init__(self, ask: Callable[[str, tuple, dict], object]):
        from IPython.core.interactiveshell import InteractiveShell

        self.shell = InteractiveShell()
        if self.shell.history_manager is not None:
            self.shell.history_manager.enabled = False
        self.run_cell = self.shell.run_cell  # as it is now, whatever cells do to it
        self.kept: list[Any] = []
        self.ask = ask

    def answer(self, question: dict) -> dict:
        """Do what is asked for; whatever is raised on the way is an answer, too."""
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                value = getattr(self, f"do_{question.pop('do')}")(**question)
            answered = {"value": value}
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers as well
            answered = {"error": type(error).__name__, "text": _message(error)}
        return answered | {"said": said.getvalue()[:MOST_SAID]}

    def do_run(self, source: str) -> None:
        """Run a cell; what it raised is raised here."""
        result = self.run_cell(source, store_history=False, silent=False)
        result.raise_error()

    def do_write(self, name: str, text: str) -> None:
        """Write a file in the folder in which this runs."""
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def do_value(self, name: str) -> object:
        """What a name stands for. Raises: NameError where nothing has that name."""
        if name not in self.shell.user_ns:
            raise NameError(f"there is no {name}")
        return self.shell.user_ns[name]

    def do_call(self, name: str, args: list, kwargs: dict) -> object:
        """Call something kept here; what came as lent goes back as what the call made of it."""
        copies: list[object] = []
        args, kwargs = borrow([args, kwargs], copies)
        value = self.kept[int(name)](*args, **kwargs)
        return list(returned(value, copies)) if copies else [value, []]

    def keep(self, value: object) -> str:
        """A number for what cannot cross."""
        self.kept.append(value)
        return str(len(self.kept) - 1)

    def fetch(self, name: str) -> object:
        """What stands here for something named: the grader's functions have a name with a g."""
        if name.startswith("g"):
            return lambda *args, **kwargs: self.ask(name, args, kwargs)
        return self.kept[int(name)]


def _message(error: BaseException) -> str:
    try:
        return str(error)[:MOST_SAID]
    except Exception:  # a message of the student's own making
        return ""


def serve(questions, answers) -> None:
    """Answer the lines that come until there are no more."""

    def send(message: dict) -> None:
        try:
            line = encode(message, cells.keep)
        except WireError as error:
            line = encode({"error": "WireError", "text": str(error), "said": ""})
        answers.write(line)
        answers.flush()

    def ask(name: str, args: tuple, kwargs: dict) -> object:
        send({"ask": name, "args": list(args), "kwargs": kwargs})
        told = decode(questions.readline(), cells.fetch)
        if "error" in told:
            raise RuntimeError(told["error"])
        return told["value"]

    cells = Cells(ask)
    for line in questions:
        question = decode(line, cells.fetch)
        if question == {"do": "fork"}:
            send(_forked())
        elif question == {"do": "end"}:
            os._exit(0)
        elif question.get("do") == "echo":
            send({"value": question["value"]})
        else:
            send(cells.answer(question))


def _forked() -> dict:
    """Go on in a copy, which says whether there is one; this process waits and says that it ended.

    What cells of the release made is there in both, so that they need not be run twice. A copy has
    a folder of its own: it does not find the files that an earlier one wrote there. A signal from
    the grader ends a copy that does not end by itself.
    """
    folder, state, copy = tempfile.mkdtemp(), random.getstate(), 0

    def end(*_: object) -> None:
        if copy:
            os.kill(copy, signal.SIGKILL)

    signal.signal(signal.SIGUSR1, end)
    try:
        copy = os.fork()
    except OSError:  # there are as many processes as there may be
        return {"value": False}
    if copy == 0:
        os.chdir(folder)
        gc.set_threshold(*COLLECTED)
        random.setstate(state)  # Python gives a copy another
        return {"value": True}
    status = os.waitpid(copy, 0)[1]
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    shutil.rmtree(folder, ignore_errors=True)
    return {"ended": status}


def _leave_keyring() -> None:
    """Join an empty session keyring: the kernel hands that of the grader down, and keeps it."""
    number = {"x86_64": 250, "aarch64": 219, "riscv64": 219}.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None).syscall(number, 1, None)  # keyctl(KEYCTL_JOIN_SESSION_KEYRING)


def main() -> None:
    """Keep the two ends of the talk for this module; cells find others in their place."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    _leave_keyring()
    sys.stdin = io.StringIO()
    serve(questions, answers)


if __name__ == "__main__":
    main()
