"""Every page of the built site: its HTML read as a file, then opened once in a real browser.

Each looks for all that can be wrong with a page and names it. In the browser a page is first met on
a telephone, over a server that compresses: what comes over the wire is counted, then the page is
read to its end, and what moves by itself on the way is summed up. The same page is looked at in the
dark and narrow, then wide and in light. There axe-core, which is slow, has its say on a page of
each kind (`KINDS`), about colours in the dark too; on all pages scripts of ours hold the contrast
of text in both, names, headings and tables, and at night axe-core is asked about all others.
"""

import re
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urldefrag

import playing
import pytest
from looks import too_small

from helpers.chapters import CHAPTERS

MOST = 450_000  # bytes of a first visit
MOST_STYLE = 90_000  # of these, of style sheets: nothing is painted before them
KINDS = {
    f"{name}.html"
    for name in (
        "book/index",
        "book/glossary",
        "book/notation",
        "notebooks/05_attention_by_hand",
        "search",
    )
}

# --- the file -------------------------------------------------------------------------------------

FILE_NAME = re.compile(r"^\S+\.(svg|png|jpe?g|gif|webp)$|^[0-9a-f]{16,}|^data:", re.IGNORECASE)
ELSEWHERE = ("http://", "https://", "mailto:", "data:", "javascript:")
INDEXED = re.compile(r"\b[A-Za-z]_[A-Za-z0-9]\b.{,20}")
HOW_TO_RUN = re.compile(r'id="exercises">(?:(?!</section>).)*how-to.html#run', re.DOTALL)
UNREAD = re.compile(r'<(pre|code|script|style)\b.*?</\1>|data-tex="[^"]*"|<[^>]*>', re.DOTALL)


class Page(HTMLParser):
    """What is asked of a page: ids, links, images, what it says of itself and what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.links, self.glossary, self.loads = [], [], [], []
        self.images, self.meta, self.inside = [], {}, 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
            self.glossary += [attrs["href"]] if "gloss" in attrs.get("class", "").split() else []
        self.inside += tag == "article"
        self.images += [attrs | {"inside": self.inside > 0}] if tag == "img" else []
        name = attrs.get("property") or attrs.get("name")
        if tag == "meta" and name:
            self.meta.setdefault(name, []).append(attrs.get("content", ""))
        loaded = attrs.get("href") if tag == "link" else attrs.get("src")
        self.loads += [loaded] if loaded and attrs.get("rel") != "canonical" else []

    def handle_endtag(self, tag):
        self.inside -= tag == "article"


@cache
def parsed(file: Path) -> Page:
    return Page(file.read_text("utf-8"))


def broken_links(file: Path, links: list[str]) -> list[str]:
    """Links of a file that lead nowhere."""
    found = []
    for link in links:
        if link.startswith(ELSEWHERE) or link == "#":
            continue
        address, anchor = urldefrag(link)
        target = (file.parent / unquote(address)).resolve() if address else file
        is_page = target.suffix == ".html" and target.is_file()
        known = {"", *parsed(target).ids} if is_page else {anchor}
        if target.name == "number-by-number.html" and "=" in anchor:
            known.add(unquote(anchor))  # of a number: test_machine.py follows these
        if not target.is_file() or unquote(anchor) not in known:
            found.append(f"a link that leads nowhere: {link}")
    return found


def poor_images(images: list[dict]) -> list[str]:
    """Images without words, or without room that is kept for them."""
    found = []
    for image in images:
        alt, source = image.get("alt"), image.get("src", "")[:80]
        if alt is None or FILE_NAME.match(alt):
            found.append(f"an image without words: {source}")
        sized = image.get("width", "").isdigit() and image.get("height", "").isdigit()
        if image["inside"] and not sized:
            found.append(f"an image without its size: {source}")
    return found


def faults_of_tags(path: str, meta: dict[str, list[str]]) -> list[str]:
    """What is wrong with what a page says of itself."""
    wanted = {
        "og:type": "website" if path == "book/index.html" else "article",
        "og:site_name": "Transformers, Worked Out",
    }
    described = meta.get("description", [""])[0]
    for chapter in CHAPTERS:
        if path == f"{chapter.docname}.html":
            wanted |= {"og:title": chapter.title, "og:description": chapter.question}
            if not described.startswith(chapter.question):
                wanted["description"] = chapter.question
    found = [
        f"{name} is {meta.get(name)}" for name, value in wanted.items() if meta.get(name) != [value]
    ]
    names = ("description", "og:title", "og:description", "og:site_name", "og:image", "viewport")
    found += [
        f"{name} not once: {meta.get(name)}"
        for name in names
        if len(meta.get(name, ())) != 1 or not meta[name][0].strip()
    ]
    if not 20 <= len(described) <= 160:
        found.append("a description that is too short or too long")
    return found


def faults(text: str, path: str, file: Path) -> list[str]:
    """All that is wrong with a page's HTML."""
    page = Page(text)
    found = ["not one h1"] if text.count("<h1") != 1 else []
    if formula := re.search(r"\\[(\[].*|\\begin\{.*", UNREAD.sub("", text)):
        found.append(f"a formula in TeX: {formula[0][:40]}")
    if index := INDEXED.search(UNREAD.sub("", text)):
        found.append(f"an index on the line: {index[0]}")
    if 'id="exercises"' in text and not HOW_TO_RUN.search(text):
        found.append("exercises without a way to run them")
    found += [f"an id twice: {ident}" for ident in set(page.ids) if page.ids.count(ident) > 1]
    found += [
        f"a term linked twice: {term}"
        for term in set(page.glossary)
        if page.glossary.count(term) > 1
    ]
    found += [
        f"loaded from elsewhere: {load}"
        for load in page.loads
        if load.startswith(("http:", "https:", "//"))
    ]
    found += broken_links(file, page.links)
    found += poor_images(page.images)
    found += faults_of_tags(path, page.meta)
    if len(text.encode()) > 2_500_000:
        found.append("a page of more than 2.5 MB")
    return found


def test_the_file_of_each_page_is_sound(html_root, path):
    file = html_root / path
    assert faults(file.read_text("utf-8"), path, file) == []


def test_the_site_is_called_as_the_book(html_root):
    """In the inventory that other books link by, and in the titles of pages."""
    assert b"# Project: Transformers, Worked Out\n" in (html_root / "objects.inv").read_bytes()
    titles = {
        re.search("<title>(.*?)</title>", file.read_text("utf-8"))[1].partition(" — ")[::2]
        for file in html_root.glob("*/*.html")
        if not file.parent.name.startswith("_")
    }
    assert ("Transformers, Worked Out", "") in titles
    assert {book for _, book in titles} == {"", "Transformers, Worked Out"}


def test_the_site_is_light_and_its_first_page_leads_on(html_root):
    assert "book/index.html" in (html_root / "index.html").read_text("utf-8")
    static = html_root / "_static"
    held = [one for one in static.rglob("*.*") if one.suffix != ".gguf"]  # the model, on a press
    assert sum(file.stat().st_size for file in held) < 5_000_000


# --- in a browser ---------------------------------------------------------------------------------

LUMINANCE = """
    const light = ([r, g, b]) => {
        [r, g, b] = [r, g, b].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
    const ground = e => {
        for (; e; e = e.parentElement) {
            const rgb = parse(getComputedStyle(e).backgroundColor);
            if (rgb.length === 3 || rgb[3] > 0.99) return rgb;
        }
        return [255, 255, 255];
    };"""
LOOKS = {  # each gives a list of what is wrong
    "text that is hard to read": f"""() => {{ {LUMINANCE}
        const read = ".bd-article :is(p, a, li, td, th, dt, h1, h2, h3, figcaption, summary, "
            + "strong, span)";
        return [...document.querySelectorAll(read)].filter(e => {{
            if (!e.checkVisibility() || !e.textContent.trim()) return false;
            const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
        }}).slice(0, 8).map(e => `${{e.tagName}}.${{e.className}}: ${{e.textContent.trim()}}`);
    }}""",
    "a picture that stands on no light card": f"""() => {{ {LUMINANCE}
        return [...document.querySelectorAll(".bd-article img:not(.themed)")]
            .filter(e => e.checkVisibility() && light(ground(e)) < 0.7).map(e => e.src.slice(-60));
    }}""",
    "wider than the window": """() => {
        const scrolls = ".math, .highlight, .cell_output, .pst-scrollable-table-container,"
            + " .visually-hidden, .machine-window";
        const wide = [...document.querySelectorAll(".bd-article-container *")].filter(e =>
            e.getBoundingClientRect().right > innerWidth + 1 && e.checkVisibility()
            && !e.closest(scrolls));
        const whole = document.documentElement.scrollWidth > innerWidth ? ["the page"] : [];
        return [...whole, ...wide.slice(0, 5).map(e => `${e.tagName}.${e.className}`)];
    }""",
    "a button whose name is not what it shows": """() =>
        [...document.querySelectorAll("button, summary, [role=button], a[aria-label]")
            ].filter(e => {
            const text = (e.innerText ?? e.textContent).replace(/\\s+/g, " ").trim().toLowerCase();
            const label = (e.ariaLabel || "").replace(/\\s+/g, " ").toLowerCase();
            const name = label || text || e.title || e.dataset.bsTitle
                || e.querySelector("svg[aria-label]");
            return e.checkVisibility() && (!name || (label && text && !label.includes(text)));
        }).map(e => e.outerHTML.slice(0, 160))""",
    "a table without heads, or a head that does not say of what": """() =>
        [...document.querySelectorAll("table:not([role=presentation])")].filter(table => {
            const heads = [...table.querySelectorAll("th")];
            return !heads.length || heads.some(e => !/^(col|row)(group)?$/.test(e.scope));
        }).map(table => table.outerHTML.slice(0, 200))""",
    "what scrolls and no key reaches": """() =>
        [...document.querySelectorAll(".bd-article *")].filter(e => e.tabIndex < 0
            && e.scrollWidth > e.clientWidth && e.clientWidth && e.checkVisibility()
            && /auto|scroll/.test(getComputedStyle(e).overflowX)
            && !e.querySelector("a[href], button, input, select, textarea, summary, [tabindex='0']")
        ).map(e => `${e.outerHTML.slice(0, 100)} ${e.scrollWidth}`)""",
}
HEADINGS = """() => [...document.querySelectorAll(
    "main :is(h1, h2, h3, h4, h5, h6, [role=heading])")].filter(e => e.checkVisibility()).map(e =>
    [Number(e.ariaLevel || e.tagName[1]), e.textContent.trim().slice(0, 40)])"""
OBSERVE = """(() => {
    globalThis.moved = 0;
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) moved += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
})()"""
READ = """async () => {
    const next = () => new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)));
    for (let y = 0; y < document.body.scrollHeight; y += 600) { scrollTo(0, y); await next(); }
    scrollTo(0, 0);
    return moved;
}"""
OPEN = "() => { for (const folded of document.querySelectorAll('details')) folded.open = true }"
THIN = """() => {  // of code, one token of each colour on each ground is looked at
    const kinds = new Set();
    for (const token of document.querySelectorAll(".highlight pre span[class]")) {
        const place = token.closest(".cell_output, .cell_input, .admonition, blockquote, details");
        const kind = `${token.className} ${place?.className} ${!!token.closest("blockquote")}`;
        if (kinds.has(kind)) token.replaceWith(...token.childNodes);
        kinds.add(kind);
    }
}"""
AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
RUN = """async which => {
    const rules = { "target-size": { enabled: true } };
    const options = { resultTypes: ["violations"], rules };
    const colours = ["color-contrast", "link-in-text-block"];
    if (which === "colours") options.runOnly = colours;
    if (which === "no colours")
        for (const rule of colours) rules[rule] = { enabled: false };
    const { violations } = await axe.run(document, options);
    const words = ({ target, html, failureSummary }) =>
        [target.join(" "), html.slice(0, 160), failureSummary.slice(0, 300)].join(" | ");
    return violations.map(({ id, nodes }) => `${id}: ` + nodes.slice(0, 5).map(words).join("\\n"));
}"""
SHOWN = """link => {
    const { top, height } = link.getBoundingClientRect();
    return top >= 0 && height > 10;
}"""


@pytest.fixture
def telephone(browser):
    context = browser.new_context(viewport={"width": 412, "height": 823}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.add_init_script(OBSERVE)
    yield page
    context.close()


def loaded(page, url: str) -> dict[str, int]:
    """Open a page, and give the bytes of every file that comes."""
    names, sizes = {}, {}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on(
        "Network.responseReceived",
        lambda event: names.update({event["requestId"]: event["response"]["url"]}),
    )
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.update({event["requestId"]: int(event["encodedDataLength"])}),
    )
    page.goto(url, wait_until="networkidle")
    page.evaluate("document.fonts.ready.then(() => null)")
    session.detach()
    return {
        names[request]: size
        for request, size in sizes.items()
        if not names[request].startswith("data:")
    }


def looked_at(page, *names: str) -> list[str]:
    """What is wrong with the page that is open, by these looks."""
    return [f"{name}: {found}" for name in names if (found := page.evaluate(LOOKS[name]))]


def show(page, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(playing.SHOWN, arg=[width, scheme])


def too_heavy(sizes: dict[str, int], path: str) -> list[str]:
    """What a first visit weighs, if it is too much."""
    style = sum(size for url, size in sizes.items() if ".css" in url)
    heavy = sum(sizes.values()) >= MOST or style >= MOST_STYLE
    heavy |= not any(url.endswith(path) for url in sizes)
    return [f"{sum(sizes.values())} bytes: {sorted(sizes.items())}"] if heavy else []


def headings(page) -> list[str]:
    """Headings before which a level is left out."""
    levels = page.evaluate(HEADINGS)
    first = [] if levels[0][0] == 1 else ["the first heading is not the page's"]
    return first + [
        f"a level is left out before {words!r}"
        for (above, _), (level, words) in pairwise(levels)
        if level > above + 1
    ]


def skip_link(page, path: str) -> list[str]:
    """Follow the first link that the keyboard meets: into the text."""
    if path == "search.html":  # its field has the focus from the start
        page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    link = page.locator("#pst-skip-link a")
    if not link.evaluate("link => link === document.activeElement"):
        return ["the first link does not skip to the text"]
    page.wait_for_function(SHOWN, arg=link.element_handle())  # it slides in
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    inside = page.evaluate("!!document.activeElement.closest('main')")
    return [] if inside else ["the skip link does not lead into the text"]


def complaints(page, which: str = "all") -> list[str]:
    """What axe finds on the page that is open, by all its rules, "colours" or "no colours"."""
    page.evaluate(AXE)
    return page.evaluate(RUN, which)


def test_each_page_in_a_browser(telephone, watched, site_url, path):
    page = telephone
    problems = watched(page, f"{site_url}/")
    found = too_heavy(loaded(page, f"{site_url}/{path}"), path)
    found += [] if (moved := page.evaluate(READ)) < 0.02 else [f"moves by itself: {moved}"]
    page.evaluate(OPEN)
    page.set_viewport_size({"width": 390, "height": 844})
    found += too_small(page)
    show(page, 320, "dark")
    hard, card, wide, nameless, heads, reached = LOOKS
    found += looked_at(page, wide, card, hard, nameless, reached)
    show(page, 1280, "light")
    found += headings(page) + looked_at(page, hard, nameless, heads)
    found += problems  # later axe asks for style sheets in its own way
    if path in KINDS:
        page.evaluate(THIN)
        found += complaints(page)
        show(page, 1280, "dark")
        found += complaints(page, "colours")
    found += skip_link(page, path)
    assert found == []


@pytest.mark.nightly
def test_axe_finds_nothing_on_any_page(visit, page, path):
    visit(path)
    page.evaluate(OPEN)
    page.evaluate(THIN)
    assert complaints(page, "no colours") == []


UP = """() => new Promise(done => {
    addEventListener("scroll", () => requestAnimationFrame(() => {
        scrollTo(0, scrollY - 600);
        done();
    }), { once: true });
    scrollTo(0, 4000);
})"""


def states(page):
    """Bring the first page into one state after the other, and name each."""
    page.evaluate(UP)
    page.locator("#pst-back-to-top").wait_for()
    yield "scrolled up"
    form = page.locator("form.predict[data-kind=choice]").first
    form.locator("input").first.check()
    form.locator("button").first.click()
    page.evaluate(OPEN)
    yield "locked and opened"
    show(page, 390, "dark")
    for which in ("primary", "secondary"):
        page.locator(f"button.{which}-toggle").press("Enter")
        page.locator(f"dialog[open]#pst-{which}-sidebar-modal .drawer-shut").click(trial=True)
        yield f"the {which} list opened"
        page.keyboard.press("Escape")
        page.wait_for_function(
            "which => document.activeElement.matches(`.${which}-toggle`)", arg=which
        )
    page.keyboard.press("Control+k")
    page.locator("dialog[open] input").wait_for()
    yield "searching"


def test_axe_finds_nothing_in_any_state(visit, page):
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": 1000, "height": 800})
    visit("book/index.html")
    found = [(state, said) for state in states(page) if (said := complaints(page))]
    visit("search.html?q=attention")
    page.locator("#search-results li").first.wait_for()
    assert [*found, *complaints(page)] == []


# --- how a chapter begins, and its margin --------------------------------------------------------

CROSSED = """() => {
    const notes = [...document.querySelectorAll(".callout-afterwards, .cell_output figcaption")];
    const others = document.querySelectorAll(
        "article :is(p, li, img, pre, table, summary, h2, h3, figcaption, form), .bd-sidebar nav");
    const box = e => e.getBoundingClientRect();
    return notes.flatMap(note => [...others].filter(other => {
        if (note.contains(other) || other.contains(note) || !other.checkVisibility()) return false;
        const [a, b] = [box(note), box(other)];
        return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    }).map(other => `${note.textContent.trim().slice(0, 30)} | ${other.textContent.slice(0, 30)}`));
}"""


CUT = """() => [...document.querySelectorAll(
    "article :is(mjx-container[display=true], .cell_output .output pre)")].filter(e =>
    e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 50))"""


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.number)
def test_a_chapter_begins_with_its_picture_and_nothing_is_cut(visit, page, chapter):
    for width in (390, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        visit(f"{chapter.docname}.html")
        picture = page.locator("article figure > img").first.bounding_box()
        assert width == 390 or picture["y"] < 900  # before the second screen
        page.evaluate(OPEN)
        assert page.evaluate(CROSSED) == [], width
        assert page.evaluate(CUT) == [], width
    key = page.locator("article figure > figcaption").first.bounding_box()
    assert key["x"] > picture["x"] + picture["width"]


def test_a_pencil_takes_roundings_and_no_wrong_sign(visit, page):
    visit("notebooks/05_attention_by_hand.html")
    field = page.get_by_label("score cross").first
    for typed, fits in {"–0.71": True, "-0,7234": True, "0.72": False, "-0.7": False}.items():
        field.fill(typed)
        assert field.evaluate("field => field.validity.valid") == fits, typed


# --- where the focus is ---------------------------------------------------------------------------

UNSEEN = """() => {
    const all = document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex='0']");
    const unseen = [];
    for (const e of all) {
        if (!e.checkVisibility({ visibilityProperty: true }) || e.disabled) continue;
        e.focus({ preventScroll: true });
        if (document.activeElement !== e) continue;
        const style = getComputedStyle(e);
        const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        if (!e.matches(":focus-visible") || !outlined) unseen.push(e.outerHTML.slice(0, 120));
    }
    return [all.length, unseen.slice(0, 8)];
}"""


@pytest.mark.parametrize(
    "where",
    [
        "book/index.html",
        "book/glossary.html",
        "search.html",
        "notebooks/05_attention_by_hand.html",
        "notebooks/12_inside_the_gpt.html",
    ],
)
def test_focus_is_seen(visit, page, where):
    page.emulate_media(reduced_motion="reduce")
    visit(where)
    page.evaluate(OPEN)
    page.keyboard.press("Tab")
    for scheme in ("light", "dark"):
        show(page, 1280, scheme)
        count, unseen = page.evaluate(UNSEEN)
        assert count > 20
        assert unseen == [], scheme
