"""Each typeset formula of the built site says all that its source says, and nothing else."""

import re
from collections import Counter
from html import unescape
from unicodedata import normalize

from postprocess.maths import strip_delimiters

FORMULA = re.compile(r'data-tex="([^"]*)"[^>]*>(<mjx-container.*?</mjx-container>)', re.DOTALL)
SIGNS = """alpha α  approx ≈  bar ¯  beta β  cdot ⋅  cdots ⋯  cos cos  dots …  ell ℓ  eta η  exp exp
gamma γ  hat ^  langle ⟨  le ≤  leftarrow ←  log log  lVert ‖  mid ∣  mu μ  nabla ∇  odot ⊙
omega ω  partial ∂  rangle ⟩  rVert ‖  sigma σ  sin sin  softmax softmax  sum ∑  times ×  top ⊤
varepsilon ε"""
SIGN_OF = dict(re.findall(r"(\S+) (\S+)", SIGNS))
TEX = re.compile(
    r"\\begin\{(?P<begin>\w+)\}(?:\[[tbc]\])?|\\end\{(?P<end>\w+)\}|\\(?:left|right)\."
    r"|\\(?:t?frac|sqrt|text|mathrm|mathbf|operatorname|left|right|q?quad)(?![A-Za-z])"
    r"|\\(?P<sign>[{}])|\\(?P<name>[A-Za-z]+)|\\[\\,;:! ]|[\s&_^{}]|(?P<plain>.)",
    re.DOTALL,
)


def letters(text: str) -> Counter:
    """The signs of a text, whatever their face."""
    seen = re.sub("[\\s\u2061-\u2064]", "", text)  # without invisible operators
    return Counter(normalize("NFKC", seen.replace("-", "−").replace("'", "′")))


def source_signs(tex: str) -> Counter:
    """What TeX asks for; an unknown macro is a KeyError."""
    said = []
    for found in TEX.finditer(strip_delimiters(tex)[0]):
        begin, end, sign, name, plain = found.groups()
        said.append("[" if begin == "bmatrix" else "]" if end == "bmatrix" else "")
        said.append(sign or plain or (name and SIGN_OF[name]) or "")
    return letters("".join(said))


def spoken_signs(html: str) -> Counter:
    """What a screen reader is given."""
    spoken = re.search(r"<math.*</math>", html, re.DOTALL)[0]
    return letters(unescape(re.sub("<[^>]*>", "", spoken)))


def test_each_formula_says_what_its_source_says(html_root):
    formulas = {
        (unescape(tex), html)
        for page in html_root.glob("*/*.html")
        for tex, html in FORMULA.findall(page.read_text("utf-8"))
    }
    assert len(formulas) > 250
    for tex, html in formulas:
        assert source_signs(tex) == spoken_signs(html), tex


WIDE = """() => {  // formulas, and lines that cells print, with a part outside their column
    for (const fold of document.querySelectorAll("article details")) fold.open = true;
    const column = e => e.closest("td, th, li, dd, p, figcaption, summary, h1, h2, h3, article");
    const outside = e => e.matches("span")
        ? e.getBoundingClientRect().right > column(e).getBoundingClientRect().right + 1
        : e.scrollWidth > e.clientWidth + 1;
    return [...document.querySelectorAll("article :is(.math, .cell_output pre)")]
        .filter(e => e.checkVisibility() && outside(e))
        .map(e => (e.dataset.tex ?? e.innerText).trim().slice(0, 80));
}"""


def test_no_formula_or_printed_line_is_wider_than_its_column(page, html_root):
    found = {}
    for file in sorted(html_root.glob("*/*.html")):
        page.goto(file.as_uri())
        page.add_style_tag(content="* { content-visibility: visible !important }")
        page.evaluate("document.fonts.ready.then(() => null)")
        for width in (390, 1280, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            found[file.stem, width] = page.evaluate(WIDE)
    assert {where: wide for where, wide in found.items() if wide} == {}
