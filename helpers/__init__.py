"""The code shared by the chapters of *Transformers, Worked Out*, one module a subject."""

from helpers import shape_checks

TRANSFORMERS_WORKED_OUT = True  # by which a notebook knows it from other packages named helpers

if shape_checks.enabled():
    shape_checks.install(__name__, __path__)
