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
varepsilon ε  varphi φ"""
SIGN_OF = dict(re.findall(r"(\S+) (\S+)", SIGNS))
TEX = re.compile(
    r"\\begin\{(?P<begin>\w+)\}(?:\[[tbc]\])?(?:\{[lcr]+\})?|\\end\{(?P<end>\w+)\}|\\(?:left|right)\."
    r"|\\(?:t?frac|sqrt|text|textit|mathrm|mathbf|operatorname|left|right|q?quad)(?![A-Za-z])"
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
        said.append({"bmatrix": "[", "pmatrix": "("}.get(begin, ""))
        said.append({"bmatrix": "]", "pmatrix": ")"}.get(end, ""))
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
