"""The first page: what it shows at once, that it is computed, and that it can be used."""

import contextlib
import io
import itertools
import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup
from looks import CLEAR
from play.gpt import RESULTS
from support import ROOT
from test_gpt_page import answers, shipped

from helpers import corpus, minigpt
from helpers.chapters import BY_NUMBER, CHAPTERS
from helpers.figures import machine

INDEX = "book/index.html"


@pytest.fixture(scope="module")
def index(html_root) -> str:
    return (html_root / INDEX).read_text("utf-8")


def svg_of(index: str, kind: str) -> BeautifulSoup:
    return BeautifulSoup(index, "html.parser").select_one(f"svg.{kind}")


# --- the trained GPT, writing ---------------------------------------------------------------------


def test_text_is_what_the_code_on_the_page_prints(index):
    soup = BeautifulSoup(index, "html.parser")
    (code,) = (p.get_text() for p in soup.select("pre") if "checkpoint.load" in p.get_text())
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    shown = soup.select_one(".written-text").get_text()
    written = printed.getvalue()
    assert written.startswith(shown)
    assert re.search(r"[.!?]\"?$", shown)
    assert not re.search(r"[.!?]\s", written[len(shown) : -1]), "a whole sentence was left out"
    assert len(shown) > 100
    steps = json.loads(RESULTS.read_text("utf-8"))["curve"]["rows"][-1][0]
    assert f"after {steps:,} steps" in " ".join(soup.get_text().split())


# --- the first screen -----------------------------------------------------------------------------

TEXT = "The fox did not cross the stream because it was too"
EXPERIENCES = ("05_attention_by_hand", "11_small_gpt", "14_todays_block")


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_first_screen_shows_the_machine_at_work(visit, page, size, scheme):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    page.add_init_script(SHIFTS)
    assert visit(INDEX) == []
    seen = page.evaluate(SEEN)
    (overview,) = (chapter for chapter in CHAPTERS if chapter.overview)
    assert f"../{overview.docname}.html" in seen["links"]
    for stem in EXPERIENCES:
        assert any(link.startswith(f"../notebooks/{stem}.html") for link in seen["links"])
    assert any(link.startswith("number-by-number.html#text=") for link in seen["links"])
    assert "Transformer" in seen["words"]
    assert "python" not in seen["words"].lower()
    assert "make " not in seen["words"]
    box = page.locator("figure.hero").bounding_box()
    assert box["y"] + box["height"] <= size[1]
    assert page.evaluate(CLEAR, "figure.hero") == []
    assert page.get_by_label("A sentence of yours").evaluate(SHOWN_WHOLE)
    assert page.evaluate("globalThis.shifted ?? 0") < 0.01


SHIFTS = """new PerformanceObserver(list => {
    for (const { value } of list.getEntries())
        globalThis.shifted = (globalThis.shifted ?? 0) + value;
}).observe({ type: "layout-shift", buffered: true });"""
SHOWN_WHOLE = """field => field.value.length > 40 && field.scrollWidth <= field.clientWidth
    && field.scrollHeight <= field.clientHeight"""
SEEN = """() => {
    const within = element => {
        const box = element.getBoundingClientRect();
        return element.checkVisibility() && box.height > 0 && box.top < innerHeight;
    };
    const article = document.querySelector("article");
    return {
        links: [...article.querySelectorAll("a")].filter(within).map(a => a.getAttribute("href")),
        words: [...article.querySelectorAll("p, li, figcaption, summary")].filter(within)
            .map(element => element.innerText).join(" "),
    };
}"""


def likeliest(text: str) -> list[tuple[str, str]]:
    """The six likeliest tokens after a text, by the Python model with the page's weights."""
    tokenizer = shipped()[1]
    logits_TV = answers(tokenizer.encode(text).tolist())
    p_V = np.exp(logits_TV[-1] - logits_TV[-1].max())
    p_V /= p_V.sum()
    return [
        (tokenizer.vocab[i].strip(), f"{p_V[i]:.1%}" if p_V[i] >= 0.0005 else "< 0.1%")
        for i in np.argsort(-p_V)[:6]
    ]


def pictured(soup: BeautifulSoup) -> list[tuple[str, str]]:
    rows = soup.select(".hero-next li")
    return [(row.span.get_text(), row.b.get_text()) for row in rows]


def test_picture_is_the_model_s_without_scripts_too(index):
    soup = BeautifulSoup(index, "html.parser")
    assert [word.get_text() for word in soup.select(".hero-words span")] == TEXT.split()
    assert pictured(soup) == likeliest(TEXT)


def test_parts_of_the_picture_lead_to_their_chapters(visit, page):
    visit(INDEX)
    for link in page.locator(".hero-parts a").all():
        number = int(link.locator("b").inner_text().removeprefix("ch. "))
        assert link.get_attribute("href") == f"../{BY_NUMBER[number].docname}.html"
        assert link.get_attribute("title") == BY_NUMBER[number].title
    page.locator(".hero-words span").first.click()
    page.wait_for_url("**/13_tokens.html")


def test_a_sentence_of_ones_own_is_read_and_written_on(visit, page):
    problems = visit(INDEX)
    page.get_by_label("A sentence of yours").fill("Nell gave Anna the")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('.hero-words span:not(:empty)').length === 4")
    found = pictured(BeautifulSoup(page.content(), "html.parser"))
    assert found == likeliest("Nell gave Anna the")
    page.locator(".hero-next button").first.click()
    longer = f"Nell gave Anna the {found[0][0]}"
    assert page.get_by_label("A sentence of yours").input_value() == longer
    page.wait_for_function("document.querySelectorAll('.hero-words span:not(:empty)').length === 5")
    assert pictured(BeautifulSoup(page.content(), "html.parser")) == likeliest(longer)
    page.get_by_label("A sentence of yours").fill("The king and the")
    page.locator(".hero-said", has_text="does not know “king”").wait_for()
    page.get_by_label("A sentence of yours").fill(longer)
    page.get_by_role("link", name="Why this word?").click()
    typed = "text => document.querySelector('#machine-text')?.value === text"
    page.wait_for_function(typed, arg=longer)
    assert page.get_by_role("button", name="and see why").count()
    assert problems == []


def test_a_first_visit_asks_for_no_weights(page, site_url):
    seen = []
    page.on("request", lambda request: seen.append(request.url))
    page.goto(f"{site_url}/{INDEX}", wait_until="networkidle")
    assert any("gpt.js" in url for url in seen)
    assert not [url for url in seen if "gpt-weights" in url]


# --- the machine map ------------------------------------------------------------------------------


def test_list_of_parts_leads_to_every_chapter(index):
    links = BeautifulSoup(index, "html.parser").select(".machine-parts a[href*=notebooks]")
    assert {(link["href"], link.get_text()) for link in links} == {
        (f"../{chapter.docname}.html", f"{chapter.number} · {chapter.title}")
        for chapter in CHAPTERS
    }


def test_each_box_of_the_map_links_to_its_chapter(index):
    links = svg_of(index, "machine-map").select("a")
    assert len(links) == len(machine.PARTS)
    for name, link in zip(machine.PARTS, links, strict=True):
        (chapter,) = (c for c in CHAPTERS if f"../{c.docname}.html" == link["href"])
        assert name in chapter.parts
        assert link["aria-label"] == f"{name}: chapter {chapter.number}, {chapter.title}"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_drawings_can_be_read(visit, page, width, scheme):
    """No words over others or beyond the drawing, and each in a colour that shows."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    visit(INDEX)
    for kind in (".machine-map", ".nats-ladder"):
        assert page.evaluate(FITS, kind) == [[], []], kind
        assert page.evaluate(UNREADABLE, kind) == [], kind
    assert page.evaluate(OUT_OF_BOX) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


OUT_OF_BOX = """() => {
    const boxes = [...document.querySelectorAll(".machine-map a path")].map(
        e => e.getBoundingClientRect());
    return [...document.querySelectorAll(".machine-map text")].filter(text => {
        const { left, right, top } = text.getBoundingClientRect(), middle = (left + right) / 2;
        const box = boxes.find(b => b.left < middle && middle < b.right && b.top < top
            && top < b.bottom);
        return box && (left < box.left + 2 || right > box.right - 2);
    }).map(text => text.textContent);
}"""
FITS = """kind => {
    const svg = document.querySelector(kind), wide = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].map(t => [t.textContent,
        t.getBoundingClientRect()]);
    const out = boxes.filter(([, b]) => b.left < wide.left - 1 || b.right > wide.right + 1
        || b.bottom > wide.bottom + 1).map(([words]) => words);
    const over = [];
    boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
        if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3
            && q.top < p.bottom - 3) over.push(`${a} / ${b}`);
    }));
    return [out, over];
}"""
UNREADABLE = """kind => {
    const light = text => {
        const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const grounds = [document.body, ...document.querySelectorAll(`${kind} a path`)].map((e, n) =>
        light(n ? getComputedStyle(e).fill : getComputedStyle(e).backgroundColor));
    return [...document.querySelectorAll(`${kind} text`)].filter(t => grounds.some(ground => {
        const ink = light(getComputedStyle(t).fill);
        return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05) < 4.5;
    })).map(t => t.textContent);
}"""


@pytest.mark.parametrize("kind", ["machine-map", "nats-ladder"])
def test_drawings_answer_the_keyboard(visit, page, kind):
    visit(INDEX)
    links = page.locator(f".{kind} a")
    links.first.focus()
    for place in range(links.count()):
        assert links.nth(place).evaluate("link => link === document.activeElement"), place
        assert links.nth(place).evaluate(
            "link => parseFloat(getComputedStyle(link).outlineWidth) >= 2"
        ), "the focus does not show"
        page.keyboard.press("Tab")
    links.last.focus()
    target = links.last.get_attribute("href").removeprefix("..")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{target}")


# --- the nats ladder ------------------------------------------------------------------------------


def rungs(index: str) -> list[dict]:
    """The rungs as the page shows them: words, height of the thick line, where they lead."""
    svg = svg_of(index, "nats-ladder")
    lines = [path["d"] for path in svg.select("path") if "stroke-width: 4" in path["style"]]
    found = []
    for link, line in zip(svg.select("a"), lines, strict=True):
        loss, name, number = re.fullmatch(
            r"([\d.]+)\s+(.*) · (\d+)", link.get_text().strip()
        ).groups()
        height = float(re.search(r"M [\d.]+ ([\d.]+)", line)[1])
        found.append(
            {
                "loss": float(loss),
                "y": height,
                "href": link["href"],
                "name": name,
                "number": int(number),
            }
        )
    return found


def losses_by_hand() -> list[float]:
    """What the rungs should show: counted letter by letter, and read from the stored files."""
    text = corpus.load()
    ids = minigpt.Tokenizer(text).encode(text)
    letters, cut = sorted(set(text)), len(corpus.split(ids)[0])
    train, held = text[:cut], text[cut:]
    V, pairs, singles, firsts = len(letters), {}, {}, {}
    for a, b in itertools.pairwise(train):
        pairs[a, b] = pairs.get((a, b), 0) + 1
        firsts[a] = firsts.get(a, 0) + 1
    for a in train:
        singles[a] = singles.get(a, 0) + 1
    to_predict = list(itertools.pairwise(held))
    unigram = [np.log((singles.get(b, 0) + 1) / (len(train) + V)) for _, b in to_predict]
    bigram = [np.log((pairs.get(ab, 0) + 1) / (firsts.get(ab[0], 0) + V)) for ab in to_predict]
    results = ROOT / "helpers" / "data" / "results"
    stored = {f.stem: json.loads(f.read_text("utf-8")) for f in results.glob("*.json")}
    parts = {
        s["model"]: s["runs"] for s in stored["08_residual_add_and_norm"]["ladder"]["settings"]
    }
    runs = [
        *(
            parts[name]
            for name in ("attention alone", "with its residual", "with feed-forward", "with norms")
        ),
        stored["11_small_gpt"]["whole"]["settings"][0]["runs"],
    ]
    trained = [float(np.mean([run["validation"] for run in found])) for found in runs]
    assert len(text.encode()) == len(text), "a character of the tales is one byte"
    settings = [stored["13_tokens"][part]["settings"][-1] for part in ("vocabulary", "smollm2")]
    bits = [np.mean([run["bits"] for run in setting["runs"]]) for setting in settings]
    trained += [np.log(2) * each for each in bits]
    counted = [float(np.log(V)), -float(np.mean(unigram)), -float(np.mean(bigram))]
    return sorted(counted + trained, reverse=True)


def test_rungs_are_losses(index):
    shown = [rung["loss"] for rung in rungs(index)]
    np.testing.assert_allclose(shown, losses_by_hand(), atol=0.0051)
    assert shown == sorted(shown, reverse=True)


def test_rungs_lead_to_the_ladders_of_their_chapters(index, html_root):
    for rung in rungs(index):
        address, _, anchor = rung["href"].partition("#")
        number = int(re.search(r"(\d\d)_", address)[1])
        assert rung["number"] == number
        page = (html_root / "book" / address).resolve().read_text("utf-8")
        found = BeautifulSoup(page, "html.parser").select_one(f"#{anchor}")
        assert found.name == "section" or "nats ladder" in str(found)


# --- the prediction -------------------------------------------------------------------------------


def test_prediction_says_what_softmax_gives(index):
    from content import front

    scores = front.KEYS @ front.QUERY / 2**0.5
    for times, form in ((1, "{:.0f}\u00a0%"), (front.TIMES, "{:.1f}\u00a0%")):
        powers = np.exp(times * scores)
        wanted = ", ".join(form.format(100 * share) for share in powers / powers.sum())
        assert wanted in index
    assert powers[0] / powers.sum() > 0.95  # nearly all of it goes to key 1
    outcome = json.loads(re.search(r'data-told="(.*?)"', index)[1].replace("&quot;", '"'))
    assert outcome["answer"] == front.FIRST
    assert set(outcome["replies"]) == {front.STAY, front.EVEN, front.EACH}
