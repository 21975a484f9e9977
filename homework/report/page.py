"""What the pages of a report have in common: each is a file of its own that loads nothing.

Most of what they show was written by students. The templates in homework/report/pages escape all of
it; before that, each text loses what is not seen and changes how others are read (`harmless`).
"""

import re
from pathlib import Path
from urllib.parse import quote

import jinja2
from docutils.utils.math.latex2mathml import tex2mathml
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

TEMPLATES = Path(__file__).with_name("pages")
LONGEST = 700  # characters of a text that is not a response
UNSEEN = re.compile(  # controls, what turns text round, what has no width, halves of characters
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffc\ud800-\udfff\U000e0000-\U000e007f]"
)
_ACCENT = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
PILES = re.compile(f"({_ACCENT}{{4}}){_ACCENT}+")  # accents that would cover the lines above


def harmless(value: object) -> object:
    """A text without characters that are not seen or cover others; any other value as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return PILES.sub(r"\1", UNSEEN.sub("\ufffd", text))


def rendered(question: str) -> Markup:
    """A question's Markdown as HTML; what would load or lead somewhere, or is HTML, stays text."""
    plain = MarkdownIt("commonmark", {"html": False}).enable("table")
    plain = plain.disable(["image", "link", "autolink"])
    plain.use(dollarmath_plugin, double_inline=True, renderer=_formula)
    return Markup(plain.render(str(harmless(question))))


def _formula(source: str, about: dict) -> str:
    """A formula as MathML, which browsers show by themselves; its source where it is none."""
    try:
        return tex2mathml(source, as_block=about["display_mode"])
    except Exception:
        return escape(source)


def clip(text: object, most: int = LONGEST) -> str:
    """A text of at most so many characters, and how many more there were."""
    text = str(text)
    more = len(text) - most
    return text if more <= 0 else f"{text[:most]} … ({more} more characters)"


def number(points: float) -> str:
    """Points as they are read: 2, 1.5, 0.33."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def points_of(points: float) -> str:
    """Points with their word: 1 point, 2.5 points."""
    return f"{number(points)} point{'' if number(points) == '1' else 's'}"


def feedback_file(student: str) -> str:
    """The address of a student's page, as seen from the summary."""
    return f"feedback/{quote(str(harmless(student))[:LONGEST], safe='')}.html"


def _number_of(task: str) -> str:
    """The number that students know: "1" of "05.1"."""
    return task.partition(".")[2] or task


def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=harmless,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "clip": clip,
        "rendered": rendered,
        "points": number,
        "points_of": points_of,
        "exercise": _number_of,
        "feedback_file": feedback_file,
    }
    return made


PAGES = _templates()


def page(template: str, **context: object) -> str:
    """A page as HTML, of a template and what it asks for."""
    return PAGES.get_template(template).render(**context)
