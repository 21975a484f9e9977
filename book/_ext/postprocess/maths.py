"""Formulas, typeset at the build: pages load a style sheet and fonts, and no MathJax.

MathJax comes from the package sphinx-mathjax-offline and runs in the Node that playwright brings.
Its rules for all formulas of the site stand in one style sheet, and the fonts
are cut down to their signs. A formula that MathJax cannot read is a warning, and fails the build.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from html import escape, unescape
from importlib.metadata import distribution
from pathlib import Path

import playwright
from sphinx.util import logging

from postprocess.fonts import css_characters, subset_font

logger = logging.getLogger(__name__)
FONTS = "output/chtml/fonts/woff-v2"
STYLE = "styles/maths.css"
FORMULA = re.compile(r'<(span|div) class="([^"]*\bmath notranslate[^"]*)">([^<]*)</\1>')
LAZY_SIZE = re.compile(r' style="contain-intrinsic-size:[^"]*"')
FACE = re.compile(r"@font-face[^{]*\{[^}]*/(MathJax_[\w-]+\.woff)[^}]*\}\s*")


def mathjax_root() -> Path:
    """Find MathJax in the installed package."""
    package = distribution("sphinx-mathjax-offline")
    return Path(str(package.locate_file("sphinx-mathjax-offline/static/mathjax")))


def node() -> str:
    """Find the Node that the package playwright brings."""
    name = "node.exe" if os.name == "nt" else "node"
    return str(Path(playwright.__file__).parent / "driver" / name)


def in_node(scripts: list[str], function: str, *given):
    """Call a function in Node, after these scripts. Raises: RuntimeError."""
    call = f"Promise.resolve(({function})(...{json.dumps(given)}))"
    call += ".then((found) => process.stdout.write(JSON.stringify(found)));"
    done = subprocess.run(
        [node(), "-"],
        input="\n".join([*scripts, call]),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise RuntimeError(f"{function} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def strip_delimiters(source: str) -> tuple[str, bool]:
    r"""Return a formula without \( \) or \[ \] around it, and whether it stands on its own."""
    text = source.strip()
    if text.startswith(r"\(") and text.endswith(r"\)"):
        return text[2:-2], False
    if text.startswith(r"\[") and text.endswith(r"\]"):
        text = text[2:-2]
    return text, True


def typeset(sources: list[str], config: dict) -> tuple[dict[str, str], str]:
    """Return the HTML of each formula, and the rules that they need. Raises: RuntimeError."""
    config = {
        **config,
        "chtml": {**config.get("chtml", {}), "fontURL": "../fonts"},
        "tex": {**config.get("tex", {}), "packages": {"[-]": ["noundefined"]}},
    }
    asked = {
        "root": str(mathjax_root()),
        "config": config,
        "formulas": list(map(strip_delimiters, sources)),
    }
    script = Path(__file__).with_name("typeset.js").read_text("utf-8")
    answer = in_node([script], "typeset", asked)
    return dict(zip(sources, answer["html"], strict=True)), answer["css"]


def write_style(css: str, static: Path) -> None:
    """Write the rules and the fonts that they name, cut down to what they show."""
    wanted = css_characters(css)

    def face(match: re.Match) -> str:
        source, target = mathjax_root() / FONTS / match[1], static / "fonts" / match[1]
        if match[1] == "MathJax_Zero.woff":  # has no sign; lines take their height from it, at once
            data = base64.b64encode(source.read_bytes()).decode()
            return re.sub(r"url\([^)]*\)", f"url(data:font/woff;base64,{data})", match[0])
        return match[0] if subset_font(source, wanted, target) else ""

    style = static / STYLE
    style.parent.mkdir(parents=True, exist_ok=True)
    style.write_text(FACE.sub(face, css), "utf-8")


def insert_formulas(text: str, html: dict[str, str], style: str) -> str:
    """Insert typeset formulas and their style sheet into a page.

    The first is laid out at once, so that its fonts are there before the others come near.
    """

    def put(match: re.Match) -> str:
        tag, classes, source = match.groups()
        source = unescape(source).strip()
        return f'<{tag} class="{classes}" data-tex="{escape(source)}">{html[source]}</{tag}>'

    link = f'<link rel="stylesheet" href="{style}"/>'
    text = LAZY_SIZE.sub("", FORMULA.sub(put, text), count=1)
    return text.replace("</head>", f"  {link}\n  </head>", 1)


def typeset_formulas(app, pages) -> None:
    """Typeset the formulas of all pages."""
    found = {match[3] for page in pages for match in FORMULA.finditer(page.text)}
    sources = sorted(unescape(source).strip() for source in found)
    if not sources:
        return
    static = Path(app.outdir, "_static")
    html, css = typeset(sources, app.config.mathjax3_config or {})
    for source in sources:
        if "data-mjx-error" in html[source]:
            logger.warning("MathJax cannot read %s", source, type="book", subtype="maths")
    write_style(css, static)
    for page in pages:
        if FORMULA.search(page.text):
            page.text = insert_formulas(page.text, html, page.relative_url(f"_static/{STYLE}"))
