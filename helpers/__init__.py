"""The code shared by the chapters of *Transformers, Worked Out*, one module a subject."""

import signal
import sys

from helpers import shape_checks

TRANSFORMERS_WORKED_OUT = True  # by which a notebook knows it from other packages named helpers

if sys.argv[:1] == ["-m"]:  # until a command is loaded, Ctrl-C ends it without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)
if shape_checks.enabled():
    shape_checks.install(__name__, __path__)
