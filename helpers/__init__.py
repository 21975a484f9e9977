"""The code shared by the chapters of *Transformers, Worked Out*, one module a subject."""

import signal
import sys
from contextlib import suppress

from helpers import shape_checks

TRANSFORMERS_WORKED_OUT = True  # by which a notebook knows it from other packages named helpers

if sys.argv[:1] == ["-m"]:  # a command, which Ctrl-C ends without a traceback until it is loaded
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with suppress(ImportError):  # arrow keys
        import readline  # noqa: F401
if shape_checks.enabled():
    shape_checks.install(__name__, __path__)
