"""What the page needs: pictures as small SVG, frames packed together, words as HTML."""

import base64
import html
import io
import json
import os
import re
import zlib

import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython.display import HTML, display
from matplotlib.figure import Figure

try:
    import ipywidgets
except ImportError:  # the form of the page serves, too
    ipywidgets = None

WITHOUT_WIDGETS = (
    "<p><i>The package <code>ipywidgets</code> is not installed, so this stands still as on a page "
    "without scripts: <code>%pip install ipywidgets</code> and a new kernel let it move.</i></p>"
)


def static() -> bool:
    """Whether outputs are being stored for the page (``BOOK_STATIC=1``)."""
    return os.environ.get("BOOK_STATIC", "") == "1"


def still() -> bool:
    """Whether the form of the page is displayed: outputs are stored, or there are no widgets."""
    return static() or ipywidgets is None


def display_still(html: str, plain: str) -> None:
    """Display the form of the page; plain: what shows where no HTML does."""
    if not static():
        display(HTML(WITHOUT_WIDGETS))
    display({"text/html": html, "text/plain": plain}, raw=True)


def svg_of(figure: Figure) -> str:
    """The figure as a small SVG that is the same on every run; closes the figure."""
    stored = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "transformers-worked-out", "svg.fonttype": "none"}):
        figure.savefig(stored, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return small_svg(stored.getvalue())


def small_svg(svg: str) -> str:
    """The same picture in fewer bytes: two decimals in coordinates, nothing that is not drawn."""
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r'(?<= d=")[^"]*|(?<= [xy]=")[^"]*|translate\([^)]*\)', _shorter, svg)
    return re.sub(r">\s+<", "><", svg).strip()


def _shorter(match: re.Match) -> str:
    return re.sub(r"(\.\d\d)\d+", r"\1", re.sub(r"\s+", " ", match.group()))


def size_of(svg: str) -> tuple[int, int]:
    """Width and height in CSS pixels; matplotlib writes a view box in points."""
    [(width, height)] = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[:1]
    return round(float(width) * 4 / 3), round(float(height) * 4 / 3)


def packed(pictures: list[str], sentences: list[str]) -> str:
    """Pictures and sentences as compressed JSON; elements that pictures share stand once."""
    pieces: dict[str, int] = {}
    frames = [
        [pieces.setdefault(piece, len(pieces)) for piece in re.split(r"(?<=>)", picture)]
        for picture in pictures
    ]
    packed = {"pieces": list(pieces), "frames": frames, "sentences": sentences}
    raw = json.dumps(packed, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def data_uri(svg: str) -> str:
    """A picture as an address that holds it."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def text(words: str) -> str:
    """Plain words as HTML; `code` and *emphasis* are the only markup."""
    marked = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(words, quote=False))
    return re.sub(r"\*(\S|\S[^*]*\S)\*", r"<em>\1</em>", marked)


def attribute(words: str) -> str:
    """Plain words as the value of an HTML attribute."""
    return html.escape(words.replace("`", ""))


def shown(value) -> str:
    """A control's or an answer's value in words: a float with three digits, and a minus sign."""
    if isinstance(value, str):
        return value
    return (f"{value:.3g}" if isinstance(value, float) else str(value)).replace("-", "−")
