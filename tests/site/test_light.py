"""What makes pages light: rules and fonts cut down, formulas set beforehand, frames beside."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fontTools.ttLib import TTFont

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))

import book_fonts  # noqa: E402
import book_frames  # noqa: E402
import book_head  # noqa: E402
import book_marks  # noqa: E402
import book_mathjax  # noqa: E402
import book_styles  # noqa: E402

# --- styles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("css", "left"),
    [
        (".on{a:b}.off{a:b}", ".on{a:b}"),
        (".on, .off , p{a:b}", ".on,p{a:b}"),
        ("#on .off{a:b}", ""),
        ("p:not(.off){a:b}", "p:not(.off){a:b}"),
        (".on.off{a:b}", ""),
        ('.on[x=".off"]{a:b}', '.on[x=".off"]{a:b}'),
        (".o\\6e{a:b}", ".on{a:b}"),
        ("@media print{.off{a:b}}", ""),
        ("@media print{.off{a:b}.on{a:b}}", "@media print{.on{a:b}}"),
        ("@keyframes off{from{a:b}}", "@keyframes off{from{a:b}}"),
        (".on{/* why */a:b}", ".on{a:b}"),
    ],
)
def test_rules_go_that_no_page_can_use(css, left):
    found = book_styles.pruned(book_styles.parsed(css), {"on"})
    plain = "".join(found.split()), "".join(left.split())
    assert plain[0] == plain[1]


def test_a_sheet_that_cannot_be_read_is_an_error():
    with pytest.raises(ValueError, match="cannot be read"):
        book_styles.pruned(book_styles.parsed(".on"), {"on"})


def test_words_of_pages_and_scripts():
    used = book_styles.used_words(['<p class="a b" id="c">'], ['x.classList.add("d-e")'])
    assert used >= {"a", "b", "c", "d-e"}


def test_addresses_in_a_sheet_that_moves(tmp_path):
    (tmp_path / "styles").mkdir()
    (tmp_path / "a.css").write_text('@import "styles/b.css";p{background:url(x.png)}')
    (tmp_path / "styles" / "b.css").write_text("i{background:url('../y.png')url(data:z)}")
    found = book_styles.whole(tmp_path, "a.css")
    assert found == "i{background:url(../y.png)url(data:z)}p{background:url(../x.png)}"


def test_an_import_of_another_form_is_an_error(tmp_path):
    (tmp_path / "a.css").write_text("@import url(b.css);p{a:b}")
    with pytest.raises(ValueError, match=r"a\.css imports"):
        book_styles.whole(tmp_path, "a.css")


def test_sheets_that_all_pages_load():
    one = '<link rel="stylesheet" href="../_static/{}?v=1" />'
    pages = ["".join(map(one.format, names)) for names in (["a.css", "b.css"], ["a.css"], [])]
    assert book_styles.common(pages) == ["a.css"]
    linked = book_styles.with_link(pages[0], ["a.css"], "<link new>")
    assert re.findall(r"<link[^>]*>", linked) == ["<link new>", one.format("b.css")]


def test_every_class_of_the_site_that_the_theme_styles_is_styled(html_root):
    """Of each sheet that went into the one, the rules for what a page holds are there."""
    sheet = (html_root / "_static" / book_styles.SHEET).read_text("utf-8")
    own = (ROOT / "book" / "_assets" / "book.css").read_text("utf-8")
    pages = [(html_root / "notebooks" / "05_attention_by_hand.html").read_text("utf-8")]
    used = book_styles.used_words(pages, [])
    wanted = book_styles.pruned(book_styles.parsed(own), used)
    for rule in filter(None, wanted.split("\n")):
        assert rule in sheet


# --- fonts ----------------------------------------------------------------------------------------


def test_signs_of_a_sheet():
    css = r"""a::before{content:"q"} b{content: "\2211"} c{content:'\28 '} d{content:"\\"}"""
    assert book_fonts.signs(css) == {ord("q"), 0x2211, ord("("), ord("\\")}


def test_a_font_keeps_the_wanted_glyphs(tmp_path):
    source = book_mathjax.mathjax_root() / book_mathjax.FONTS / "MathJax_Main-Regular.woff"
    first, again = tmp_path / "a.woff", tmp_path / "b.woff"
    assert book_fonts.cut_down(source, {ord("1"), ord("+"), 0x1F600}, first)
    assert book_fonts.cut_down(source, {ord("1"), ord("+")}, again)
    assert first.read_bytes() == again.read_bytes()
    whole, cut = TTFont(source), TTFont(first)
    assert set(cut.getBestCmap()) == {ord("1"), ord("+")}
    assert cut["hmtx"]["one"] == whole["hmtx"]["one"]
    assert first.stat().st_size < source.stat().st_size / 5
    assert not book_fonts.cut_down(source, {0x1F600}, tmp_path / "none.woff")
    assert not (tmp_path / "none.woff").exists()


# --- formulas -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def typeset():
    program = book_mathjax.node()
    assert program, "the package playwright brings Node"
    return lambda *sources: book_mathjax.typeset(
        program, list(sources), {"tex": {"macros": {"softmax": "\\operatorname{softmax}"}}}
    )


def test_formulas_are_set(typeset):
    sources = r"\(\softmax(x)\)", "\\[\n\\sum_i x_i\n\\]", r"\begin{align}a&=b\end{align}"
    html, css = typeset(*sources)
    inline, display, align = html.values()
    assert 'display="true"' not in inline
    assert 'display="true"' in display
    assert "<mi>softmax</mi>" in inline
    assert "<math" in inline, "what a screen reader reads"
    assert "mjx-mtable" in align
    assert 0x2211 in book_fonts.signs(css)
    assert not any("data-mjx-error" in one for one in html.values())


@pytest.mark.parametrize("wrong", [r"\(\frac{1\)", r"\(\nonesuch\)"])
def test_a_formula_that_cannot_be_read_is_seen(typeset, wrong):
    html, _ = typeset(wrong)
    assert "data-mjx-error" in html[wrong]


def test_formulas_of_a_page_are_put_once():
    page = (
        '<head></head><span class="math notranslate nohighlight">\\(a&lt;b\\)</span>'
        "<script>window.MathJax = {}</script>"
        '<script defer="defer" src="../_static/mathjax/tex-chtml.js?v=1"></script>'
    )
    once = book_mathjax.with_formulas(page, {r"\(a<b\)": "<mjx-container>"}, "maths.css")
    assert 'data-tex="\\(a&lt;b\\)"><mjx-container></span>' in once
    assert "script" not in once
    assert once.count("maths.css") == 1
    assert book_mathjax.with_formulas(once, {}, "maths.css") == once


def test_no_page_loads_mathjax_or_shows_a_formulas_source(html_root, path):
    text = (html_root / path).read_text("utf-8")
    assert "tex-chtml.js" not in text
    assert len(book_mathjax.KNOWN.findall(text)) == len(re.findall(r"<mjx-container", text))
    assert not book_mathjax.FORMULA.search(text)


# --- frames ---------------------------------------------------------------------------------------


def test_frames_and_picture_of_an_explorer_lie_beside_the_page(tmp_path):
    app = SimpleNamespace(outdir=tmp_path)
    page = tmp_path / "notebooks" / "a.html"
    picture = "data:image/svg+xml;base64," + "QUJD" * 600
    text = f'<img src="{picture}"><script type="text/plain" class="explore-frames">eJx1</script>'
    light = book_frames.lightened(text, page, app)
    key, source = re.search(r'data-key="(\w+)" data-source="([^"]+)"', light).groups()
    script = (page.parent / source).resolve().read_text("utf-8")
    assert script == f'(globalThis.bookFrames ??= {{}})["{key}"] = "eJx1";\n'
    drawn = re.search(r'src="([^"]+\.svg)" loading="lazy"', light)[1]
    assert (page.parent / drawn).resolve().read_bytes() == b"ABC" * 600
    assert book_frames.lightened(light, page, app) == light


def test_frames_on_the_site_are_those_of_the_notebook(html_root):
    notebook = json.loads((ROOT / "notebooks" / "05_attention_by_hand.ipynb").read_text("utf-8"))
    outputs = json.dumps([cell.get("outputs", []) for cell in notebook["cells"]])
    wanted = re.findall(r'explore-frames\\*">([^<]+)<', outputs)
    page = html_root / "notebooks" / "05_attention_by_hand.html"
    sources = re.findall(r'data-source="([^"]+)"', page.read_text("utf-8"))
    found = [(page.parent / source).read_text("utf-8") for source in sources]
    assert [re.search(r'= "(.*)";', text)[1] for text in found] == wanted
    assert wanted


# --- head and marks -------------------------------------------------------------------------------


def test_scripts_wait_but_for_the_search_page():
    html = '<script src="a.js"></script><script>DOCUMENTATION_OPTIONS.pagename = 1;</script>'
    assert book_head.deferred(html, "book/index") == '<script defer="defer" src="a.js"></script>'
    assert book_head.deferred(html, "search") == html
    done = '<script defer src="a.js"></script><script>let a</script>'
    assert book_head.deferred(done, "book/index") == done


def test_descriptions_end_with_a_sentence_or_a_word():
    assert book_head.shortened("Short  words.") == "Short words."
    first = "One sentence of some length that ends here, and is long enough to stand alone."
    assert book_head.shortened(f"{first} {'word ' * 40}") == first
    endless = book_head.shortened("word " * 60)
    assert endless.endswith("word…")
    assert len(endless) <= book_head.LONGEST


def test_code_and_tables_take_no_more_elements_than_they_need():
    html = (
        '<pre><span class="n">a</span><span class="o">=</span><span class="sa">f</span>'
        '<span class="s2">&quot;b</span><span class="si">{</span>c<span class="si">}</span></pre>'
        "<table><td class='x'><p>one</p>\n</td><td><p>two</p><p>more</p></td></table><p>d</p>"
    )
    assert book_marks.with_fewer_elements(html) == (
        '<pre>a=<span class="s2">f&quot;b{</span>c<span class="s2">}</span></pre>'
        "<table><td class='x'>one</td><td><p>two</p><p>more</p></td></table><p>d</p>"
    )


@pytest.mark.parametrize(
    ("selector", "written"),
    [
        ("a > :is(p, h1)", "a > p,a > h1"),
        ("a :is(p, .b)", "a :is(p, .b)"),  # a tag is less specific than the list
        ("a:is(p, h1)", "a:is(p, h1)"),
        ("a :is(p, h1) b", "a :is(p, h1) b"),
    ],
)
def test_lists_of_tags_are_written_out(selector, written):
    assert book_styles.spread(selector) == written


def test_heads_of_tables_say_what_they_head():
    head = "<tr><th class='head'><p></p></th><th>a<th scope='row'>b"
    html = f"<table><thead>{head}</thead><tbody><tr><th>c</tbody></table>"
    found = book_marks.with_scopes(html)
    assert '<tr><td></td><th scope="col">a' in found
    assert "<th scope='row'>b" in found
    assert '<th scope="row">c' in found


def test_theme_is_chosen_before_anything_is_drawn(html_root):
    """In the theme's own script of the head, which a newer theme may write otherwise."""
    text = (html_root / "book" / "index.html").read_text("utf-8")
    assert book_head.CHOSEN in text
    assert 'rel="preload"' not in text


def test_node_runs_what_sets_formulas():
    done = subprocess.run(
        [book_mathjax.node(), ROOT / "book" / "_ext" / "typeset.js"],
        input='{"root": "/none"}', capture_output=True, text=True,
    )  # fmt: skip
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


@pytest.mark.parametrize("stem", ["04_layernorm_vs_batchnorm", "07_heads_masks_positions"])
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
        formula.scroll_into_view_if_needed()
        cut = inked(formula.screenshot())
        formula.evaluate("formula => { formula.firstChild.style.contentVisibility = 'visible' }")
        np.testing.assert_allclose(cut, inked(formula.screenshot()), atol=1)
