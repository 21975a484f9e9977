"""A figure that follows a run."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.figure import Figure

from helpers.explore.page import static


@contextmanager
def live(draw: Callable[[list], Figure], *, seconds: float = 1.0) -> Iterator[Callable]:
    """Show a figure that is drawn anew as values come in.

    In ``with live(draw) as see:``, ``see(value)`` takes a value more (so it can be a trainer's
    ``on_record``), and ``draw(values)`` draws all of them so far, at most once in so many
    seconds, and once more at the end. With ``BOOK_STATIC=1`` it is drawn at the end alone.
    """
    values: list = []
    handle, due = None, 0.0

    def show() -> None:
        nonlocal handle
        figure = draw(list(values))
        if handle is None:
            handle = display(figure, display_id=not static() or None)
        else:
            handle.update(figure)
        plt.close(figure)

    def see(value: object) -> None:
        nonlocal due
        values.append(value)
        if not static() and time.monotonic() >= due:
            show()
            due = time.monotonic() + seconds

    try:
        yield see
    finally:
        if values:
            show()
