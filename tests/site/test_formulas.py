"""Each typeset formula of the built site says all that its source says, and nothing else."""

import re
from collections import Counter
from functools import cache
from html import unescape
from unicodedata import normalize

from postprocess.maths import strip_delimiters, typeset

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
STRETCHED = re.compile(r"<mjx-stretchy-[vh].*?</mjx-stretchy-[vh]>", re.DOTALL)
BRACKETS = set("()[]{}|∣‖⟨⟩√¯^")  # which are stretched, or drawn


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


def drawn_signs(html: str) -> Counter:
    """What the eye is given, but for brackets."""
    drawn = STRETCHED.sub("", html.partition("<mjx-assistive-mml")[0])
    signs = re.findall(r'<mjx-c class="mjx-c([0-9A-F]+)|<mjx-utext[^>]*>([^<]*)', drawn)
    return without_brackets(letters("".join(u or chr(int(code, 16)) for code, u in signs)))


def without_brackets(signs: Counter) -> Counter:
    return Counter({sign: n for sign, n in signs.items() if sign not in BRACKETS})


@cache
def differences(tex: str, html: str) -> list[str]:
    """How what is typeset differs from its source."""
    asked, spoken, drawn = source_signs(tex), spoken_signs(html), drawn_signs(html)
    found = [f"lost {lost!r}" for lost in [dict(asked - spoken)] if lost]
    found += [f"added {added!r}" for added in [dict(spoken - asked)] if added]
    if without_brackets(asked) != drawn:
        found.append(f"drawn otherwise: {drawn - asked}, {without_brackets(asked) - drawn}")
    return found


def test_each_formula_says_what_its_source_says(html_root):
    formulas = {
        (unescape(tex), html)
        for page in html_root.glob("*/*.html")
        for tex, html in FORMULA.findall(page.read_text("utf-8"))
    }
    assert len(formulas) > 250
    assert {tex: wrong for tex, html in formulas if (wrong := differences(tex, html))} == {}


def test_a_swallowed_bracket_is_found():
    """A bracket where a row may have an option is lost."""
    tex = r"\[\begin{aligned} [1, 2]\,W \end{aligned}\]"
    html, _ = typeset([tex], {"tex": {}})
    assert differences(tex, html[tex])
