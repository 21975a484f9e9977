"""The source of what a chapter imports, one click away on the page and in a kernel."""

import inspect
from collections.abc import Callable
from types import ModuleType

from IPython.display import Markdown


def source(*things: Callable | ModuleType, folded: bool = True) -> Markdown:
    """Show the code of functions, classes or modules, as Markdown that any front end renders.

    folded: behind a line to click on; False where the code is what a section is about.

    Raises: ValueError without anything to show; TypeError for what has no source of its own.
    """
    if not things:
        raise ValueError("things must hold at least one function, class or module")
    code = "\n\n\n".join(inspect.getsource(thing).rstrip() for thing in things)
    names = ", ".join(f"<code>{thing.__name__.rpartition('.')[2]}</code>" for thing in things)
    code = f"```python\n{code}\n```"
    summary = f"<details><summary>The code of {names}</summary>"
    return Markdown(f"{summary}\n\n{code}\n\n</details>" if folded else code)
