"""Every page of the built site: its HTML read as a file, then opened in a real browser."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

FILE_NAME = re.compile(r"^\S+\.(svg|png|jpe?g|gif|webp)$|^[0-9a-f]{16,}|^data:", re.IGNORECASE)
ELSEWHERE = ("http://", "https://", "mailto:", "data:", "javascript:")


class Page(HTMLParser):
    """What the tests ask of a page: headings, ids, links, images and what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.h1, self.ids, self.links, self.images, self.loads = 0, [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.h1 += tag == "h1"
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if tag == "a" and "href" in attrs else []
        self.images += [attrs] if tag == "img" else []
        loaded = attrs.get("href") if tag == "link" else attrs.get("src")
        self.loads += [loaded] if loaded else []


@cache
def parsed(file: Path) -> Page:
    return Page(file.read_text("utf-8"))


def anchors(file: Path) -> set[str]:
    return {"", *parsed(file).ids}


# --- the files ----------------------------------------------------------------------------


def test_there_are_pages(html_root):
    assert (html_root / "book" / "index.html").exists()
    assert "book/index.html" in (html_root / "index.html").read_text("utf-8")


def test_one_h1(html_root, path):
    assert parsed(html_root / path).h1 == 1


def test_no_id_twice(html_root, path):
    ids = parsed(html_root / path).ids
    assert sorted({ident for ident in ids if ids.count(ident) > 1}) == []


def test_images_have_words(html_root, path):
    for image in parsed(html_root / path).images:
        alt = image.get("alt")
        assert alt is not None, f"no alt: {image.get('src', '')[:80]}"
        assert not FILE_NAME.match(alt), f"a file name for alt: {alt}"


def test_nothing_is_loaded_from_elsewhere(html_root, path):
    loads = parsed(html_root / path).loads
    assert [load for load in loads if load.startswith(("http:", "https:", "//"))] == []


def test_links_lead_somewhere(html_root, path):
    broken = []
    for link in parsed(html_root / path).links:
        if link.startswith(ELSEWHERE) or link == "#":
            continue
        address, anchor = urldefrag(link)
        target = (html_root / path).parent / unquote(address) if address else html_root / path
        target = target.resolve()
        is_page = target.suffix == ".html" and target.is_file()
        if not target.is_file() or (is_page and unquote(anchor or "") not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_no_page_brings_what_none_needs(html_root, path):
    text = (html_root / path).read_text("utf-8")
    for unwanted in ("fontawesome.js", "THEBE_JS_URL", "require.min.js", "html-manager", "unpkg"):
        assert unwanted not in text
    assert len(text.encode()) < 2_500_000, "a page of more than 2.5 MB"


def test_site_is_light(html_root):
    files = [file for file in (html_root / "_static").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 5_000_000


# --- in a browser: each page once on a desk in light, once on a telephone in the dark ----------

CONTRAST = """selector => {
    const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = rgb => {
        const [r, g, b] = rgb.slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = e => {
        for (; e; e = e.parentElement) {
            const rgb = parse(getComputedStyle(e).backgroundColor);
            if (rgb.length === 3 || rgb[3] > 0.99) return rgb;
        }
        return [255, 255, 255];
    };
    const poor = [];
    for (const e of document.querySelectorAll(selector)) {
        if (!e.checkVisibility() || !e.textContent.trim()) continue;
        const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) poor.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)}: `
                                   + e.textContent.trim().slice(0, 30));
    }
    return poor.slice(0, 8);
}"""
READ = ".bd-article :is(p, a, li, td, th, dt, h1, h2, h3, figcaption, summary, strong, span)"


NAMELESS = """() => [...document.querySelectorAll("button, summary, [role=button]")].filter(e => {
    const text = e.innerText.replace(/\\s+/g, " ").trim().toLowerCase();
    const label = (e.getAttribute("aria-label") || "").toLowerCase();
    const name = label || text || e.title || e.dataset.bsTitle
        || e.querySelector("svg[aria-label]");
    return e.checkVisibility() && (!name || (label && text && !label.includes(text)));
}).map(e => e.outerHTML.slice(0, 160))"""
WIDE = """() => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
    const scrolls = ".math, .highlight, .cell_output, .pst-scrollable-table-container,"
        + " .visually-hidden";
    const wide = [...document.querySelectorAll(".bd-article-container *")].filter(e =>
        e.getBoundingClientRect().right > innerWidth + 1 && e.checkVisibility()
        && !e.closest(scrolls));
    return [document.documentElement.scrollWidth,
            wide.slice(0, 5).map(e => `${e.tagName}.${e.className}`)];
}"""


def test_on_a_desk_in_light(visit, page, path):
    problems = visit(path)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.evaluate(CONTRAST, READ) == [], "text that is hard to read"
    assert page.evaluate(NAMELESS) == [], "a button whose name is not what it shows"
    page.wait_for_load_state("networkidle")
    assert problems == []


def test_on_a_telephone_in_the_dark(visit, page, path):
    page.set_viewport_size({"width": 320, "height": 640})
    page.emulate_media(color_scheme="dark")
    problems = visit(path)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    width, wide = page.evaluate(WIDE)
    assert width <= 320, f"{width} px wide; beyond the edge: {wide}"
    assert wide == []
    assert page.evaluate(CONTRAST, READ) == [], "text that is hard to read"
    assert problems == []


def test_search_finds_a_word(visit, page):
    problems = visit("search.html?q=softmax")
    page.wait_for_selector("#search-results li a")
    assert problems == []


def test_search_button_opens_one_field(visit, page):
    visit("book/notation.html")
    button = page.get_by_role("button", name=re.compile("^Search")).first
    button.click()
    assert page.locator("input[type=search]:visible").count() == 1
