"""Whether shapes in annotations are checked at each call: in notebooks and tests, not elsewhere.

BOOK_CHECK_SHAPES=1 checks them everywhere, BOOK_CHECK_SHAPES=0 nowhere.
"""

import os
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

VARIABLE = "BOOK_CHECK_SHAPES"
TAKE_LISTS = ("numerics", "worked")
DRAW_OR_TEACH = ("chapters", "corrections", "exercises", "explore", "figures", "valley")
UNCHECKED = (*DRAW_OR_TEACH, *TAKE_LISTS, "fast")


def enabled() -> bool:
    """As BOOK_CHECK_SHAPES says; where it is not set, in IPython and under pytest."""
    if VARIABLE in os.environ:
        return os.environ[VARIABLE] == "1"
    ipython = sys.modules.get("IPython")
    return "pytest" in sys.modules or (ipython is not None and ipython.get_ipython() is not None)


def typechecker(function: Callable) -> Callable:
    """The function with its annotations checked; NumPy's numbers count as Python's."""
    import beartype
    import numpy as np

    numbers = {int: int | np.integer, float: float | int | np.number}
    conf = beartype.BeartypeConf(hint_overrides=beartype.FrozenDict(numbers))
    return beartype.beartype(conf=conf)(function)


def install(package: str, path: list[str]) -> None:
    """Check annotations in the modules of a package that are imported from here on."""
    import jaxtyping

    names = [module.name for module in pkgutil.iter_modules(path)]
    checked = [f"{package}.{name}" for name in names if name not in UNCHECKED]
    jaxtyping.install_import_hook(checked, f"{__name__}.typechecker")
    error: Any = jaxtyping.TypeCheckError
    error._render_traceback_ = lambda self: [str(self)]  # IPython shows its message alone
