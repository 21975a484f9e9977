"""What the commands have in common: arguments from a module's head, and errors told in a line."""

import argparse
import errno
import sys
import tempfile
from collections.abc import Callable
from functools import wraps


def parser(module: str, head: str) -> argparse.ArgumentParser:
    """A parser of arguments whose help is the head of the command's module."""
    return argparse.ArgumentParser(
        f"python -m {module}",
        description=head,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def command(run: Callable[..., None]) -> Callable[..., int]:
    """The function as a command: its exit status is 0, or 2 where it raises and says why."""

    @wraps(run)
    def main(*arguments: object, **options: object) -> int:
        try:
            run(*arguments, **options)
        except (ValueError, OSError, RuntimeError) as error:
            full = getattr(error, "errno", 0) == errno.ENOSPC and not getattr(error, "filename", "")
            where = f" (where course and {tempfile.gettempdir()} lie)" if full else ""
            print(f"homework: {error}{where}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("homework: stopped; the same command goes on where it was", file=sys.stderr)
            return 2
        return 0

    return main
