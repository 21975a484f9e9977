"""Markdown, formulas and code that students wrote, as HTML in which nothing runs and nothing loads.

    prose = Prose(texts)            sets the formulas of all texts, at once
    prose(text, pictures)           the HTML of a text in Markdown
    code(source)                    the HTML of Python code, in the colours of CODE_STYLE

HTML in a text is shown as it was typed. Formulas become MathML, which browsers set themselves, made
by the MathJax with which the site is built; where that is missing their source is shown.

nbconvert is not used, for its pages have the HTML and the outputs that a file came with, and fetch
MathJax and other scripts from a server when they are opened.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from homework.report.page import harmless

SCRIPT = Path(__file__).with_name("maths.js")
PATIENCE = 120.0  # seconds for all formulas
LONGEST_FORMULA = 2_000  # characters
ATTACHED = "attachment:"  # before the name of a picture, in the source of a cell
NONE: Mapping[str, str] = MappingProxyType({})
Formula = tuple[str, bool]  # its TeX, and whether it stands on a line of its own


# ---------------------------------------------------------------- code


def _colours() -> str:
    """Rules for the parts of code, in light and dark: those of the book's pages."""
    light, dark = (
        "\n".join(HtmlFormatter(style=f"a11y-high-contrast-{name}").get_token_style_defs(".code"))
        for name in ("light", "dark")
    )
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"


PYTHON, SPANS = PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)
CODE_STYLE = Markup(_colours())


@lru_cache(256)  # what is given to all, and what many write
def code(source: str) -> Markup:
    """Python code as HTML, each part in a span with a class."""
    return Markup(highlight(str(harmless(source)), PYTHON, SPANS))


# ---------------------------------------------------------------- formulas


def typeset(formulas: Sequence[Formula]) -> dict[Formula, str]:
    """The MathML of each formula that MathJax can read; none where it or Node is missing."""
    package = find_spec("playwright")  # which brings a Node
    if not formulas or package is None or package.origin is None:
        return {}
    try:
        mathjax = distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline")
        request = json.dumps({"root": f"{mathjax}/static/mathjax", "formulas": formulas})
        done = subprocess.run(
            [Path(package.origin).parent / "driver" / "node", SCRIPT],
            input=request,
            check=True,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    except (PackageNotFoundError, OSError, subprocess.SubprocessError):
        return {}
    made = zip(formulas, json.loads(done.stdout), strict=True)
    return {formula: html for formula, html in made if html}


# ---------------------------------------------------------------- Markdown


class Prose:
    """Makes HTML of Markdown."""

    def __init__(self, texts: Iterable[str] = ()):
        """texts: whose formulas are to be set; of other texts the source of formulas is shown."""
        self._reader = MarkdownIt("js-default").disable("reference")  # its time grows by squares
        self._reader.use(dollarmath_plugin, allow_space=False, double_inline=True)
        self._reader.use(amsmath_plugin)
        for kind, rule in RULES.items():
            self._reader.add_render_rule(kind, rule)
        found: dict[Formula, str] = {}
        for text in texts:
            self._render(text, {"found": found})
        self.maths = typeset([formula for formula in found if len(formula[0]) <= LONGEST_FORMULA])

    def __call__(self, text: str, pictures: Mapping[str, str] = NONE) -> Markup:
        """The HTML of a text; pictures: the data of those that it shows as attachment:NAME."""
        return self._render(text, {"pictures": pictures, "maths": self.maths})

    def _render(self, text: str, env: MutableMapping[str, Any]) -> Markup:
        html = self._reader.render(str(harmless(text)), env)
        return Markup(harmless(html))  # once more: &#8238; has become a character


def _formula(
    _: object, tokens: Sequence[Token], at: int, options: object, env: MutableMapping
) -> str:
    formula = tokens[at].content.strip(), tokens[at].type != "math_inline"
    env.setdefault("found", {})[formula] = ""
    shown = env.get("maths", {}).get(formula) or f"<code>{escape(formula[0])}</code>"
    return f'<span class="maths{" own" if formula[1] else ""}">{shown}</span>'


def _link_end(_: object, tokens: Sequence[Token], at: int, *__: object) -> str:
    """The address of a link, as text: nobody follows a student's link by mistake."""
    start = next(token for token in reversed(tokens[:at]) if token.type == "link_open")
    return f" <code>{escape(start.attrs['href'])}</code>"


def _image(
    _: object, tokens: Sequence[Token], at: int, options: object, env: MutableMapping
) -> str:
    source, alt = str(tokens[at].attrs["src"]), escape(tokens[at].content)
    data = env.get("pictures", NONE).get(source.removeprefix(ATTACHED))
    if data:
        return f'<img src="{escape(data)}" alt="{alt or "picture"}">'
    return f'<span class="soft">[picture not shown: {alt} <code>{escape(source)}</code>]</span>'


RULES: Mapping[str, Any] = {
    "link_open": lambda *_: "",
    "link_close": _link_end,
    "image": _image,
    **dict.fromkeys(("math_inline", "math_inline_double", "math_block", "amsmath"), _formula),
    "heading_open": lambda *_: "<p><b>",  # a student's heading is none of the page's
    "heading_close": lambda *_: "</b></p>\n",
}
