"""Formulas, set when the site is built: pages load no MathJax, only a style sheet and its fonts.

MathJax comes from the package sphinx-mathjax-offline and runs in the Node that playwright brings,
or one on the path. A formula's source stays beside it, in ``data-tex``, so that every build knows
the formulas of all pages, those included that it did not write: their rules stand in one style
sheet, and the fonts are cut down to their signs. A formula that MathJax cannot read is a warning,
and fails the build. Where there is no Node, pages load MathJax and set their formulas themselves.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from html import escape, unescape
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

from book_fonts import cut_down, signs
from book_head import built_pages, way_to
from sphinx.util import logging

logger = logging.getLogger(__name__)
KEEP = ("tex-chtml.js", "output/chtml/fonts/woff-v2/*.woff", "input/tex/extensions/*.js")
DROP = {"all-packages.js", "bussproofs.js", "mhchem.js", "physics.js"}
FONTS = "output/chtml/fonts/woff-v2"
STYLE = "styles/maths.css"
FORMULA = re.compile(r'<(span|div) class="([^"]*\bmath notranslate[^"]*)">([^<]*)</\1>')
KNOWN = re.compile(r' data-tex="([^"]*)"')
LATE = re.compile(r' style="contain-intrinsic-size:[^"]*"')
RUNTIME = re.compile(r"\s*<script>window\.MathJax = [^<]*</script>"
                     r"|\s*<script[^>]*/mathjax/tex-chtml\.js[^>]*></script>")  # fmt: skip
FACE = re.compile(r"@font-face[^{]*\{[^}]*/(MathJax_[\w-]+\.woff)[^}]*\}\s*")


def mathjax_root() -> Path:
    """Find MathJax in the installed package."""
    package = distribution("sphinx-mathjax-offline")
    return Path(package.locate_file("sphinx-mathjax-offline/static/mathjax"))


def node() -> str | None:
    """Find Node: the one in the package playwright, or the system's."""
    package = find_spec("playwright")
    own = Path(package.origin).parent / "driver" if package else Path()
    named = own / ("node.exe" if os.name == "nt" else "node")
    return str(named) if package and named.is_file() else shutil.which("node")


# --- setting -------------------------------------------------------------------------------------


def bare(source: str) -> tuple[str, bool]:
    r"""Return a formula without \( \) or \[ \] around it, and whether it stands on its own."""
    text = source.strip()
    if text.startswith(r"\(") and text.endswith(r"\)"):
        return text[2:-2], False
    if text.startswith(r"\[") and text.endswith(r"\]"):
        text = text[2:-2]
    return text, True


def typeset(program: str, sources: list[str], config: dict) -> tuple[dict[str, str], str]:
    """Return the HTML of each formula, and the rules that they need. Raises: RuntimeError."""
    config = {
        **config,
        "chtml": {**config.get("chtml", {}), "fontURL": "../fonts"},
        "tex": {**config.get("tex", {}), "packages": {"[-]": ["noundefined"]}},
    }
    asked = {"root": str(mathjax_root()), "config": config, "formulas": list(map(bare, sources))}
    script = Path(__file__).with_name("typeset.js")
    done = subprocess.run([program, str(script)], input=json.dumps(asked), capture_output=True,
                          text=True, encoding="utf-8")  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"MathJax failed: {done.stderr[-2000:]}")
    told = json.loads(done.stdout)
    return dict(zip(sources, told["html"], strict=True)), told["css"]


def write_style(css: str, static: Path) -> None:
    """Write the rules and the fonts that they name, cut down to what they show."""
    wanted = signs(css)

    def face(match: re.Match) -> str:
        source, target = mathjax_root() / FONTS / match[1], static / "fonts" / match[1]
        if match[1] == "MathJax_Zero.woff":  # has no sign; lines take their height from it, at once
            data = base64.b64encode(source.read_bytes()).decode()
            return re.sub(r"url\([^)]*\)", f"url(data:font/woff;base64,{data})", match[0])
        return match[0] if cut_down(source, wanted, target) else ""

    style = static / STYLE
    style.parent.mkdir(parents=True, exist_ok=True)
    style.write_text(FACE.sub(face, css), "utf-8")


def with_formulas(text: str, html: dict[str, str], style: str) -> str:
    """Put the set formulas and their style sheet, if it has some, into a page for MathJax.

    The first is laid out at once, so that its fonts are there before the others come near.
    """

    def put(match: re.Match) -> str:
        tag, classes, source = match.groups()
        kept = escape(unescape(source).strip())
        return f'<{tag} class="{classes}" data-tex="{kept}">{html[unescape(kept)]}</{tag}>'

    text, put_in = FORMULA.subn(put, RUNTIME.sub("", text))
    text = LATE.sub("", text, count=1) if put_in else text
    link = f'<link rel="stylesheet" href="{style}" />'
    return text if not style or link in text else text.replace("</head>", f"  {link}\n  </head>", 1)


def set_formulas(app, exception) -> None:
    """Set the formulas of all pages that were written."""
    if exception is not None or app.builder.format != "html":
        return
    program = node()
    if program is None:
        logger.info("there is no Node: pages will load MathJax")
        return copy_mathjax(app)
    pages = {page: page.read_text("utf-8") for page in built_pages(app)}
    found = {page: [match[3] for match in FORMULA.finditer(text)] + KNOWN.findall(text)
             for page, text in pages.items()}  # fmt: skip
    sources = sorted({unescape(one).strip() for of in found.values() for one in of})
    if not sources:
        return None
    html, css = typeset(program, sources, app.config.mathjax3_config or {})
    for source in (one for one in sources if "data-mjx-error" in html[one]):
        logger.warning("MathJax cannot read %s", source, type="book", subtype="maths")
    write_style(css, Path(app.outdir, "_static"))
    for page, text in pages.items():
        style = way_to(page, app, f"_static/{STYLE}") if found[page] else ""
        page.write_text(with_formulas(text, html, style), "utf-8")
    return None


# --- without Node --------------------------------------------------------------------------------


def copy_mathjax(app) -> None:
    """Copy what pages load, those files that are there already excepted."""
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
    app.connect("build-finished", set_formulas, priority=300)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
