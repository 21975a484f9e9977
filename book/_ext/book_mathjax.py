"""MathJax from the package sphinx-mathjax-offline, without what no page loads.

The package's own Sphinx extension copies 24 MB into every site; pages need one script, its fonts
and, now and then, a TeX extension.
"""

from __future__ import annotations

import shutil
from importlib.metadata import distribution
from pathlib import Path

KEEP = ("tex-chtml.js", "output/chtml/fonts/woff-v2/*.woff", "input/tex/extensions/*.js")
DROP = {"all-packages.js", "bussproofs.js", "mhchem.js", "physics.js"}


def mathjax_root() -> Path:
    """Find MathJax in the installed package."""
    package = distribution("sphinx-mathjax-offline")
    return Path(package.locate_file("sphinx-mathjax-offline/static/mathjax"))


def copy_mathjax(app) -> None:
    """Copy the kept files, those that are there already excepted."""
    if app.builder.format != "html":
        return
    root = mathjax_root()
    target = Path(app.outdir, "_static", "mathjax")
    for pattern in KEEP:
        for file in root.glob(pattern):
            copy = target / file.relative_to(root)
            if file.name in DROP or (copy.exists() and copy.stat().st_size == file.stat().st_size):
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def setup(app) -> dict:
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("builder-inited", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
