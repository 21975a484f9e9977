"""The teacher's side of the book; readers never load it.

    release/   a chapter's problem set, a teacher's own part, the edition for students
    intake/    what was handed in: whose it is, which file counts, which cells answer what
    run/       a submission's cells in the sandbox, its answers judged outside of it
    report/    the gradebook, pages of feedback, tables for the platform

A room imports from itself and from those above it. The commands stand beside the rooms.
"""

import gc
import sys

# A fifth of each start: while modules load, hardly anything of theirs is garbage to be looked for.
gc.set_threshold(100_000, 20, 100)
# Some seconds of each start: jsonschema, which nbformat loads, would compile a grammar of
# international addresses if it found this package. It goes without, and notebooks name none.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
