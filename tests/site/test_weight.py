"""What a first visit weighs: every page, over a server that compresses, and that nothing moves.

What Chromium loads is counted as it comes over the wire, before anything is scrolled; then the page
is read to its end, and what moves by itself on the way is summed up as a layout shift.
"""

import re

import pytest
from chapters import ROOT, script

lighthouse = script(ROOT / "benchmarks" / "lighthouse.py")
MOST, MOST_WITH_MATHS = 450_000, 750_000  # bytes
OBSERVE = """() => {
    globalThis.moved = 0;
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) moved += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
}"""
READ = """async () => {
    const next = () => new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)));
    for (let y = 0; y < document.body.scrollHeight; y += 600) { scrollTo(0, y); await next(); }
    return moved;
}"""


@pytest.fixture(scope="module")
def compressed_url(html_root):
    with lighthouse.served(html_root) as address:
        yield address


@pytest.fixture
def telephone(browser):
    context = browser.new_context(viewport={"width": 412, "height": 823}, is_mobile=True)
    page = context.new_page()
    page.add_init_script(f"({OBSERVE})()")
    yield page
    context.close()


@pytest.fixture
def loaded(telephone):
    """Return a function that opens a page and gives the bytes of every file that comes."""

    def go(url: str) -> dict[str, int]:
        names, sizes = {}, {}
        session = telephone.context.new_cdp_session(telephone)
        session.send("Network.enable")
        session.on(
            "Network.responseReceived",
            lambda event: names.update({event["requestId"]: event["response"]["url"]}),
        )
        session.on(
            "Network.loadingFinished",
            lambda event: sizes.update({event["requestId"]: int(event["encodedDataLength"])}),
        )
        telephone.goto(url, wait_until="networkidle")
        return {names[request]: size for request, size in sizes.items()}

    return go


def test_first_visit_is_light_and_nothing_moves(loaded, telephone, compressed_url, path):
    sizes = loaded(f"{compressed_url}/{path}")
    assert any(url.endswith(path) for url in sizes)
    maths = sum(size for url, size in sizes.items() if any(m in url for m in lighthouse.MATHS))
    heaviest = sorted(((size, url) for url, size in sizes.items()), reverse=True)[:4]
    assert sum(sizes.values()) - maths < MOST, heaviest
    assert sum(sizes.values()) < MOST_WITH_MATHS, heaviest
    assert telephone.evaluate(READ) < 0.02


def test_pictures_say_their_size(html_root, path):
    text = (html_root / path).read_text("utf-8")
    article = text.partition("<article")[2].partition("</article>")[0]
    for tag in re.findall(r"<img\b[^>]*>", article):
        assert re.search(r'\bwidth="\d+"', tag), tag[:200]
        assert re.search(r'\bheight="\d+"', tag), tag[:200]


def test_page_says_what_it_is_about(html_root, path):
    said = re.findall(
        r'<meta name="description" content="([^"]*)"', (html_root / path).read_text("utf-8")
    )
    assert len(said) == 1
    assert 20 <= len(said[0]) <= 400  # entities count more than the signs that they stand for


def test_fonts_hold_what_pages_show(loaded, compressed_url):
    """The formulas' and icons' fonts are cut down, and used: those that are asked for are there."""
    sizes = loaded(f"{compressed_url}/book/notation.html")
    fonts = {url.rpartition("/")[2]: size for url, size in sizes.items() if "/fonts/" in url}
    assert "fa-solid-900.woff" in fonts
    assert "MathJax_Math-Italic.woff" in fonts
    assert sum(fonts.values()) < 100_000


def test_the_server_compresses_and_the_count_sees_it(loaded, tmp_path):
    (tmp_path / "page.html").write_text(f"<!DOCTYPE html><title>x</title><p>{'wide ' * 50_000}")
    with lighthouse.served(tmp_path) as address:
        (size,) = [n for url, n in loaded(f"{address}/page.html").items() if "page.html" in url]
    assert size < 5_000
