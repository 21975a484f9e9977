"""What book/_ext mends in the HTML of Sphinx and the theme, looked for on every built page.

The mends go by patterns. A newer theme may write its HTML otherwise, and then a pattern finds
nothing and says nothing: here each fault that a mend takes away is looked for by other means.
"""

import re

import pytest

ANYWHERE = {  # the fault: what it looks like
    "a script that is preloaded": r'<link\b[^>]*rel="preload"',
    "settings of a search service": r'<meta name="docsearch:',
    "the script that draws icons": r"fontawesome\.js",
    "MathJax": r"window\.MathJax\b|tex-chtml",
    "a role that a bibliography no longer has": r"doc-biblioentry|<div\b[^>]*role=\"list\"",
    "a role that a figure may not have": r'<figure class="explore"[^>]*\srole=',
    "a head cell that does not say what it heads": r"<th\b(?![^>]*\bscope=)",
    "columns that claim to be a table": r'<table\b(?![^>]*\brole="presentation")[^>]*indextable',
    "a token in the colour of plain code": r'<span class="(?:n|p|w|nn|o)">',
    "a paragraph alone in a cell": r"<t[dh]\b[^>]*><p>[^<]*</p>\s*</t[dh]>",
    "an explorer's frames in the page": r'class="explore-frames"[^>]*>[^<]',
}
NOT_FOR_SEARCH = {
    "a script of the search": r"<script\b[^>]*(?:searchtools|language_data|searchindex)\.js",
    "a script that the page waits for": r"<script\b(?![^>]*\b(?:defer|async)\b)[^>]*\bsrc=",
    "a setting of the documentation": r"DOCUMENTATION_OPTIONS\.",
}
ONCE = {
    "light or dark chosen at once": r'matchMedia\("\(prefers-color-scheme: dark\)"\)\.matches',
    "a sidebar with a name": r'id="pst-primary-sidebar" role="region" aria-label="This book"',
    "a heading": r"<h1\b",
}
UNREAD = re.compile(r'<(pre|code|script|style)\b.*?</\1>|data-tex="[^"]*"|<[^>]*>', re.DOTALL)


def faults(text: str, path: str) -> list[str]:
    """What a page has and should not, or the other way round."""
    unwanted = ANYWHERE if path == "search.html" else ANYWHERE | NOT_FOR_SEARCH
    found = [what for what, form in unwanted.items() if re.search(form, text)]
    found += [
        f"not once: {what}" for what, form in ONCE.items() if len(re.findall(form, text)) != 1
    ]
    if formula := re.search(r"\\[(\[].*|\\begin\{.*", UNREAD.sub("", text)):
        found.append(f"a formula in TeX: {formula[0][:40]}")
    return found


def test_every_mend_took_hold(html_root, path):
    assert faults((html_root / path).read_text("utf-8"), path) == []


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ('<link rel="preload" as="script" href="x.js">', "a script that is preloaded"),
        ('<div class="citation" role="doc-biblioentry">', "a role that a bibliography"),
        ('<figure class="explore" role="group">', "a role that a figure may not have"),
        ("<th class='head'>", "a head cell that does not say"),
        ('<table class="indextable">', "columns that claim"),
        ('<pre><span class="n">x</span></pre>', "a token in the colour"),
        ("<td><p>one</p>\n</td>", "a paragraph alone"),
        ('<script class="explore-frames">eJx1</script>', "an explorer's frames"),
        ('<script src="../searchindex.js" defer></script>', "a script of the search"),
        ('<script src="a.js"></script>', "a script that the page waits for"),
        ("<script>DOCUMENTATION_OPTIONS.pagename = 1</script>", "a setting of the documentation"),
        ("<h1>again</h1>", "not once: a heading"),
        ('<span class="maths">\\(x^2\\)</span>', "a formula in TeX: \\(x^2"),
    ],
)
def test_a_mend_that_found_nothing_is_noticed(html_root, written, fault):
    text = (html_root / "book" / "notation.html").read_text("utf-8")
    found = faults(text.replace("</article>", f"{written}</article>", 1), "book/notation.html")
    assert any(one.startswith(fault) for one in found), found


def test_the_search_page_keeps_its_scripts(html_root):
    text = (html_root / "search.html").read_text("utf-8")
    for script in ("searchtools.js", "language_data.js", "searchindex.js"):
        assert re.search(rf'<script src="(?:_static/)?{script}"></script>', text), script
