"""The code shared by the chapters of *Transformers, Worked Out*, one module a subject."""

TRANSFORMERS_WORKED_OUT = True  # by which a notebook knows it from other packages named helpers
