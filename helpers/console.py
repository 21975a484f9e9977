"""Output and exit status of a command: no traceback reaches its user."""

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

EXIT_SIGINT = 130  # as a shell has it after Ctrl-C
EXIT_SIGPIPE = 141  # and after a broken pipe
Main = Callable[[Sequence[str] | None], int]


def command(main: Main) -> Callable[..., int]:
    """Give a command its exit status: 2 after an error, 130 after Ctrl-C, 141 for a broken pipe.

    An error is a ValueError or an OSError; its message goes to standard error. A character that
    the console lacks is shown by its number.
    """

    @functools.wraps(main)
    def wrapper(arguments: Sequence[str] | None = None) -> int:
        with suppress(AttributeError):
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return main(arguments)
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - Python flushes it at its end
            return EXIT_SIGPIPE
        except (OSError, ValueError) as error:
            reason = error if getattr(error, "filename", None) else getattr(error, "strerror", None)
            print(f"\nerror: {reason or error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("\nstopped; earlier checkpoints are still there", file=sys.stderr)
            return EXIT_SIGINT

    return wrapper
