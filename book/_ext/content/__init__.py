"""What pages show that nobody types: made from the chapters' manifests, notebooks and results."""

from importlib import import_module

MODULES = (
    "chapters",
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
