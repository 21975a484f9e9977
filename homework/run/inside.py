"""What runs in the sandbox: it runs cells and answers questions about what they made.

    python -m homework.run.inside     talks by lines of `homework.run.wire` on its standard streams

It is asked, one line at a time, with a dict, and answers each with a dict:

    {"do": "run", "source": …}                  run a cell, as a notebook would
    {"do": "write", "name": …, "text": …}   write a file
    {"do": "value", "name": …}                  what a name stands for
    {"do": "call", "name": …, "args": …, "kwargs": …}   call something kept here
    {"do": "inside", "name": …, "look": …, "args": …}   look at it; see `helpers.exercises.inside`

    {"value": …, "said": …}     what came of it, and what was written on the way
    {"error": …, "text": …}     or the type of what was raised, and its message

What is not plain data stays here and is named by a number. Functions of the grader that came as
arguments have a name with a g, and are asked for by {"ask": name, "args": …, "kwargs": …} first.
Nothing in this process is trusted: it holds no hidden test.
"""

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.exercises import to_plain
from homework.run.wire import WireError, decode, encode

# magics, not done here; a reset at the top would take what the given cells made
OF_NOTEBOOKS = ("autosave", "conda", "connect_info", "qtconsole", "reset", "store")
CORES = 4  # that are told of, for there may be few processes
ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
KNOWN = {kind.__name__: kind for base in ERRORS for kind in (base, *base.__subclasses__())}
MOST_SAID = 20_000  # characters of what a cell writes are passed on


class Cells:
    """The cells' namespace, and what of it the grader has been told of by a number."""

    def __init__(self, ask: Callable[[str, tuple, dict], object]):
        import torch  # noqa: F401 - answers are looked at with it; now it costs none its time
        from IPython.core.interactiveshell import InteractiveShell

        self.shell = InteractiveShell.instance()  # the only one, which has the name __main__
        if self.shell.history_manager is not None:
            self.shell.history_manager.enabled = False
        self.run_cell = self.shell.run_cell  # as it is now, whatever cells do to it
        self._do_without_a_notebook()
        self.kept: list[Any] = []
        self.ask = ask

    def _do_without_a_notebook(self) -> None:
        """Let pass what a notebook does and this need not: nobody looks at what would be shown."""
        import matplotlib

        shell: Any = self.shell
        shell.enable_gui = lambda gui=None: None
        shell.enable_matplotlib = lambda gui=None: (gui, "agg")
        matplotlib.use = lambda *_, **__: None
        for name in OF_NOTEBOOKS:
            shell.register_magic_function(lambda line: None, "line", name)

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
        importlib.invalidate_caches()  # a file that an earlier one has just written can be imported
        result = self.run_cell(source, store_history=False, silent=False)
        result.raise_error()

    def do_write(self, name: str, text: str) -> None:
        """Write a file in the folder in which this runs."""
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def do_value(self, name: str) -> object:
        """What a name stands for, made plain. Raises: NameError where nothing has that name."""
        if name not in self.shell.user_ns:
            raise NameError(f"there is no {name}")
        return to_plain(self.shell.user_ns[name])

    def do_call(self, name: str, args: list, kwargs: dict) -> object:
        """Call something kept here, which gives plain data."""
        return self.kept[int(name)](*args, **kwargs)

    def do_inside(self, name: str, look: str, args: list) -> object:
        """What `helpers.exercises.inside` says of something kept here."""
        return self.kept[int(name)].inside(look, *args)

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
        places, names = to_plain([list(args), kwargs])
        send({"ask": name, "args": places, "kwargs": names})
        reply = decode(questions.readline(), cells.fetch)
        if "error" in reply:
            raise KNOWN.get(reply["error"], RuntimeError)(reply["text"])
        return reply["value"]

    cells = Cells(ask)
    for line in questions:
        question = decode(line, cells.fetch)
        send(cells.answer(question))


def main() -> None:
    """Keep the two ends of the talk for this module; cells find others in their place."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    sys.stdin = io.StringIO()
    sys.path.insert(0, "")  # the folder in which this runs, as in a notebook
    os.cpu_count = os.process_cpu_count = lambda: CORES  # type: ignore[attr-defined]
    os.sched_getaffinity = lambda pid: set(range(CORES))
    os.environ["PIP_RETRIES"] = "0"  # there is no network
    serve(questions, answers)


if __name__ == "__main__":
    main()
