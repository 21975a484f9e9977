"""What students write in Markdown is shown, and nothing of it runs, loads or leads away."""

import re

import pytest
from bs4 import BeautifulSoup
from handins import CHOKING

from homework.report import prose
from homework.report.prose import Prose, code, typeset
from homework.run.worker import MOST_RESPONSE

PLAIN = Prose()
SAFE = {
    "p",
    "b",
    "em",
    "strong",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "blockquote",
    "br",
    "hr",
    "s",
    "span",
    "img",
}
DATA = "data:image/png;base64,AAAA"
HOSTILE = (
    "<script>alert(1)</script>",
    "<div>\n<img src=x onerror=alert(1)>\n</div>",
    "[a](javascript:alert(1)) [b](https://x.example 'onclick') <https://x.example>",
    "![a](https://x.example/a.png) ![b](file:///etc/passwd) ![c](data:text/html;base64,PHA+)",
    '![" onerror="alert(1)](attachment:p "\' onload=\'")',
    "# Total\n\n## 3 points\n\nSetext\n======",
    '``` " onclick=alert(1)\n</pre></code><script>\n```',
    "$\\href{javascript:alert(1)}{x}$ $\\text{<script>}$ $$</span><script>$$",
    "$\\mmlToken{mi}[style='position:fixed' id='count' class='bar']{x}$ $\\rule{9em}{9em}$",
    "&lt;script&gt; &#60;img src=x&#62; &#8238;gnp",
    "[x]: javascript:alert(1)\n\n[x] ![x]",
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_runs_loads_or_leads_away(text):
    html = Prose([text])(text, {"p": DATA})
    found = BeautifulSoup(html, "html.parser")
    for tag in found.find_all(True):
        if tag.find_parent("math") or tag.name == "math":
            assert not {"href", "style", "id", "class"} & set(tag.attrs), tag
            assert tag.name.startswith("m"), tag
            continue
        assert tag.name in SAFE, tag
        allowed = {"img": {"src", "alt"}, "span": {"class"}, "code": {"class"}}.get(tag.name, set())
        assert set(tag.attrs) <= allowed, tag
        assert tag.name != "img" or tag["src"] == DATA
    assert "\u202e" not in html


def test_markdown_is_rendered():
    html = PLAIN(
        "**so**, `x`\n\n1. one\n\n| a |\n|---|\n| 2 |\n\n![plot](attachment:p)", {"p": DATA}
    )
    found = BeautifulSoup(html, "html.parser")
    assert found.strong.get_text() == "so"
    assert found.ol.li.get_text() == "one"
    assert found.td.get_text() == "2"
    assert found.img.attrs == {"src": DATA, "alt": "plot"}
    assert "picture not shown: q" in PLAIN("![q](attachment:other)", {"p": DATA})
    assert (
        "see https://x.example"
        in BeautifulSoup(PLAIN("[see](https://x.example)"), "html.parser").get_text()
    )
    assert "$5 and $6" in PLAIN("$5 and $6")


def test_formulas_are_set_and_others_shown_as_their_source(monkeypatch):
    text = "$a_1$ and\n\n$$\n\\frac{1}{2}\n$$\n\n\\begin{align}b&=2\\end{align}\n\n$\\nosuch$"
    found = BeautifulSoup(Prose([text])(text), "html.parser")
    assert len(found("math")) == 3
    assert found.mfrac.get_text(strip=True) == "12"
    assert found.math.msub is not None
    assert [tag.get_text() for tag in found("code")] == ["\\nosuch"]
    assert not BeautifulSoup(PLAIN(text), "html.parser")("math")
    monkeypatch.setattr(prose, "find_spec", lambda name: None)
    assert typeset([("x", False)]) == {}
    assert "<code>a_1</code>" in Prose([text])(text)


def test_code_keeps_its_letters():
    source = "def f(x):\n    return '<b>' < x  # \u202e <script>\n"
    found = BeautifulSoup(f"<pre>{code(source)}</pre>", "html.parser").pre
    assert found.get_text() == source.replace("\u202e", "\ufffd")
    assert {tag.name for tag in found.find_all(True)} == {"span"}
    assert all(re.fullmatch(r"\w+", tag["class"][0]) for tag in found("span"))


@pytest.mark.parametrize("text", CHOKING, ids=range(len(CHOKING)))
def test_what_chokes_readers_is_shown(text):
    """At full length, as text: no error, which would keep all others from their pages."""
    assert Prose()(text[:MOST_RESPONSE])
