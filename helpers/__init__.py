"""The code shared by the chapters of *Transformers, Worked Out*, one module a subject."""
