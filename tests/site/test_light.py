"""What makes pages light: rules and fonts cut down, formulas set beforehand, frames beside."""

import base64
import io
import json
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fontTools.ttLib import TTFont
from looks import bring_to_middle

from helpers.explore.page import data_uri, packed

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))

import passes  # noqa: E402
from content import cards  # noqa: E402
from passes import body, explorers, fonts, head, maths  # noqa: E402


def page_of(folder: Path, text: str, name: str = "notebooks/a.html") -> passes.Page:
    """A page of a site as the passes know it."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return passes.Page(file, folder)


def after(folder: Path, steps, text: str, name: str = "notebooks/a.html") -> str:
    """What steps make of a page; what they made they leave as it is."""
    for _ in range(2):
        page = page_of(folder, text, name)
        for step in steps:
            step(page)
        page.serialise()
        assert text == page.text or _ == 0
        text = page.text
    return text


def test_icons_that_pages_scripts_and_styles_name_are_kept(tmp_path):
    static = tmp_path / "_static"
    (static / "styles").mkdir(parents=True)
    sheet = (
        '.fa-house:before,.fa-home:before{content:"\\f015"}.fa-bell:before{content:"\\f0f3"}'
        '.fa-gear:before{content:"\\f013"}.hide:after{content:"\\f107"}:root{--less:"\uf010"}'
        '@font-face{src:url(../vendor/fontawesome/webfonts/fa-solid-900.woff2) format("woff2"),'
        'url(../vendor/fontawesome/webfonts/fa-solid-900.ttf) format("truetype")}'
    )
    (static / passes.static.SHEET).write_text(sheet, "utf-8")
    (static / "a.js").write_text('button.className = "fa-gear"', "utf-8")
    page = SimpleNamespace(text='<i class="fa-solid fa-home"></i>')
    passes.static.cut_icons(SimpleNamespace(outdir=tmp_path), [page])
    font = TTFont(static / passes.static.ICONS / "fa-solid-900.woff")
    assert set(font.getBestCmap()) == {0xF015, 0xF013, 0xF107, 0xF010}
    written = (static / passes.static.SHEET).read_text("utf-8")
    assert 'src:url(../vendor/fontawesome/webfonts/fa-solid-900.woff) format("woff")}' in written


def test_the_text_face_stands_in_its_sheet(html_root, tmp_path):
    """A subset of at most 60 kB, its licence beside it."""
    shutil.copytree(ROOT / "book" / "_assets" / "fonts", tmp_path / "_static" / "fonts")
    sheet = shutil.copy(ROOT / "book" / "_assets" / "fonts.css", tmp_path / "_static")
    for _ in range(2):
        passes.static.face_in_style(SimpleNamespace(outdir=tmp_path), [])
        assert Path(sheet).read_bytes() == (html_root / "_static" / "fonts.css").read_bytes()
    assert Path(sheet).stat().st_size <= 60_000
    left = {file.name for file in (tmp_path / "_static" / "fonts").iterdir()}
    assert left == {"MathJax-LICENSE.txt", "OFL.txt"}
    assert (html_root / "_static" / "fonts" / "OFL.txt").exists()


# --- fonts ----------------------------------------------------------------------------------------


def test_signs_of_a_sheet():
    css = r"""a::before{content:"q"} b{content: "\2211"} c{content:'\28 '} d{content:"\\"}"""
    assert fonts.signs(css) == {ord("q"), 0x2211, ord("("), ord("\\")}


def test_a_font_keeps_the_wanted_glyphs(tmp_path):
    source = maths.mathjax_root() / maths.FONTS / "MathJax_Main-Regular.woff"
    first, again = tmp_path / "a.woff", tmp_path / "b.woff"
    assert fonts.cut_down(source, {ord("1"), ord("+"), 0x1F600}, first)
    assert fonts.cut_down(source, {ord("1"), ord("+")}, again)
    assert first.read_bytes() == again.read_bytes()
    whole, cut = TTFont(source), TTFont(first)
    assert set(cut.getBestCmap()) == {ord("1"), ord("+")}
    assert cut["hmtx"]["one"] == whole["hmtx"]["one"]
    assert first.stat().st_size < source.stat().st_size / 5
    assert not fonts.cut_down(source, {0x1F600}, tmp_path / "none.woff")
    assert not (tmp_path / "none.woff").exists()


# --- formulas -------------------------------------------------------------------------------------


def typeset(*sources):
    return maths.typeset(list(sources), {"tex": {"macros": {"softmax": "\\operatorname{softmax}"}}})


def test_formulas_are_set():
    sources = r"\(\softmax(x)\)", "\\[\n\\sum_i x_i\n\\]", r"\begin{align}a&=b\end{align}"
    html, css = typeset(*sources)
    inline, display, align = html.values()
    assert 'display="true"' not in inline
    assert 'display="true"' in display
    assert "<mi>softmax</mi>" in inline
    assert "<math" in inline, "what a screen reader reads"
    assert "mjx-mtable" in align
    assert 0x2211 in fonts.signs(css)
    assert not any("data-mjx-error" in one for one in html.values())


@pytest.mark.parametrize("wrong", [r"\(\frac{1\)", r"\(\nonesuch\)"])
def test_a_formula_that_cannot_be_read_is_seen(wrong):
    html, _ = typeset(wrong)
    assert "data-mjx-error" in html[wrong]


def test_formulas_of_a_page_are_put_once():
    span = '<span class="math notranslate nohighlight"'
    page = f"<head></head>{span}>\\(a&lt;b\\)</span>"
    put = {r"\(a<b\)": '<mjx-container class="x">a</mjx-container>'}
    once = maths.with_formulas(page, put, "maths.css")
    assert f'{span} data-tex="\\(a&lt;b\\)"><mjx-container' in once
    assert once.count("maths.css") == 1
    assert maths.formulas_of(once) == maths.formulas_of(page) == {r"\(a<b\)"}
    assert maths.with_formulas(once, put, "maths.css") == once


def test_every_formula_is_set(html_root):
    for name in ("04_layernorm_vs_batchnorm", "12_inside_the_gpt"):
        text = (html_root / "notebooks" / f"{name}.html").read_text("utf-8")
        assert len(re.findall(r" data-tex=", text)) == len(re.findall(r"<mjx-container", text)) > 8
        assert not maths.FORMULA.search(text)


# --- frames ---------------------------------------------------------------------------------------


def test_frames_and_picture_of_an_explorer_lie_beside_the_page(tmp_path):
    line = '<path d="M 0 0 L 1 1" style="stroke: #0072b2"/>'
    svg = f'<svg viewBox="0 0 90 90">{line}{" " * 2000}</svg>'
    stored = packed([svg, svg.replace("L 1 1", "L 2 2")], ["one", "two"])
    text = (
        f'<figure class="explore"><img src="{data_uri(svg)}" width="30"/>'
        f'<script type="text/plain" class="explore-frames">{stored}</script></figure>'
    )
    light = after(tmp_path, [explorers.frames_beside_the_page], text)
    key, source = re.search(r'data-key="(\w+)" data-source="([^"]+)"', light).groups()
    script = (tmp_path / "notebooks" / source).resolve().read_text("utf-8")
    frames = explorers.in_both_modes(stored)
    assert script == f'(globalThis.bookFrames ??= {{}})["{key}"] = "{frames}";\n'
    held = json.loads(zlib.decompress(base64.b64decode(frames)))
    pictures = ["".join(held["pieces"][at] for at in frame) for frame in held["frames"]]
    assert [picture.count("var(--c0072b2)") for picture in pictures] == [1, 1]
    assert held["sentences"] == ["one", "two"]
    drawn = re.search(r'src="([^"]+\.svg)"[^>]* loading="lazy"', light)[1]
    assert (tmp_path / "notebooks" / drawn).resolve().read_text("utf-8") == svg


# --- head and marks -------------------------------------------------------------------------------


def test_scripts_wait_but_for_the_search_page(tmp_path):
    start = "<head></head>"
    html = (
        f'{start}<script src="a.js"></script><script>DOCUMENTATION_OPTIONS.pagename = 1;</script>'
        '<script src="../searchindex.js"></script><script>window.MathJax = {}</script>'
        '<script src="../_static/mathjax.js?v=1"></script>'
        '<script async="async" src="b.js"></script>'
    )
    steps = [head.scripts_that_wait]
    assert after(tmp_path, steps, html) == (
        f'{start}<script src="a.js" defer="defer"></script>'
        '<script async="async" src="b.js"></script>'
    )
    kept = after(tmp_path, steps, html, "search.html")
    assert "DOCUMENTATION_OPTIONS" in kept
    assert "searchindex" in kept
    assert "defer" not in kept


def test_attributes_come_back_as_they_were(tmp_path):
    written = """<p data-told="{&quot;a&quot;: &#x27;b&#x27;}" id="x" class="c">a &lt; b</p>"""
    assert after(tmp_path, (), written) == written.replace("&#x27;", "'")


def test_descriptions_end_with_a_sentence_or_a_word():
    assert cards.shortened("Short  words.") == "Short words."
    first = "One sentence of some length that ends here, and is long enough to stand alone."
    assert cards.shortened(f"{first} {'word ' * 40}") == first
    endless = cards.shortened("word " * 60)
    assert endless.endswith("word…")
    assert len(endless) <= cards.LONGEST


def test_code_and_tables_take_no_more_elements_than_they_need(tmp_path):
    code = '<span class="n">a</span><span class="o">=</span><span class="s2">&quot;b</span>'
    assert body.plain_code(code) == 'a=<span class="s2">&quot;b</span>'
    html = '<table><td class="x"><p>one</p>\n</td><td><p>two</p><p>more</p></td></table><p>d</p>'
    assert after(tmp_path, [body.cells_without_paragraphs], html) == (
        '<table><td class="x">one\n</td><td><p>two</p><p>more</p></td></table><p>d</p>'
    )


def test_heads_of_tables_say_what_they_head(tmp_path):
    html = (
        '<table><thead><tr><th class="head"><p></p></th><th>a</th><th scope="row">b</th></tr>'
        "</thead><tbody><tr><th>c</th></tr></tbody></table>"
    )
    found = after(tmp_path, [body.scopes_of_tables], html)
    assert '<tr><td><p></p></td><th scope="col">a</th><th scope="row">b</th>' in found
    assert '<th scope="row">c</th>' in found


def test_theme_is_chosen_before_anything_is_drawn(html_root):
    """In the theme's own script of the head, which a newer theme may write otherwise."""
    text = (html_root / "book" / "index.html").read_text("utf-8")
    assert head.CHOSEN in text
    assert 'rel="preload"' not in text


def test_node_runs_what_sets_formulas():
    done = subprocess.run(
        [maths.node(), ROOT / "book" / "_ext" / "passes" / "typeset.js"],
        input='{"root": "/none"}',
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1


# --- formulas that are laid out once they come near -----------------------------------------------

AWAY = """() => {
    document.querySelectorAll("details").forEach(folded => { folded.open = true });
    const late = document.querySelectorAll("mjx-math[style*=contain-intrinsic-size]");
    return [...late].map(formula => {
        const sizes = ["hidden", "visible"].map(state => {
            formula.style.contentVisibility = state;
            const { width, height } = formula.getBoundingClientRect();
            return [width, height];
        });
        formula.style.contentVisibility = "";
        return sizes;
    });
}"""


@pytest.mark.parametrize("stem", ["03_bigram_table", "07_heads_masks_positions"])
def test_formulas_take_the_room_that_they_say(visit, page, stem):
    visit(f"notebooks/{stem}.html")
    found = page.evaluate(AWAY)
    assert len(found) > 8
    for said, taken in found:
        assert said == pytest.approx(taken, abs=1.5)
        assert said[1] > 10


def inked(picture: bytes) -> np.ndarray:
    """First and last row and column of a picture in which something is drawn."""
    dark = plt.imread(io.BytesIO(picture))[..., :3].min(axis=-1) < 0.7
    return np.array([np.flatnonzero(dark.any(axis=axis))[[0, -1]] for axis in (0, 1)])


def test_nothing_of_a_formula_is_cut_off(visit, page):
    """A box that is laid out late shows nothing past its edges; they leave room enough."""
    visit("notebooks/04_layernorm_vs_batchnorm.html")
    for formula in page.locator("div.math mjx-container:visible").all():
        bring_to_middle(formula)
        formula.screenshot()  # its fonts are asked for when it is painted
        bring_to_middle(formula)
        cut = inked(formula.screenshot())
        formula.evaluate("formula => { formula.firstChild.style.contentVisibility = 'visible' }")
        np.testing.assert_allclose(cut, inked(formula.screenshot()), atol=1)
