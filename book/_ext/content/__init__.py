"""Directives that render manifests, notebooks and stored results."""

from importlib import import_module

MODULES = (
    "chapters",
    "path",
    "glossary",
    "corrections",
    "results",
    "topics",
    "front",
    "drawings",
    "opengraph",
)


def setup(app) -> dict:
    for name in MODULES:
        import_module(f"{__name__}.{name}").setup(app)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
