"""Explorers and predictions on the built pages, as a reader without a mouse meets them.

Every explorer is moved, and held to what its notebook stored for that position: the sentence to the
list that stands beside the frames, the picture to the frames. Every prediction is answered, locked
and held to its result. Nothing here runs a kernel: the page works from what is stored in it. That
cells compute these sentences is held where all cells run, at every position.
"""

import base64
import html
import itertools
import json
import re
import zlib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest
from looks import LOADED
from postprocess import figures
from support import ROOT

from helpers.explore.page import text

HTML = Path(__file__).parents[2] / "_build" / "html"

EXPLORER, FORM = "figure.explore", "form.predict"
WITH_WIDGETS = [
    page.relative_to(HTML).as_posix()
    for page in sorted(HTML.rglob("*.html"))
    if re.search(r'class="(?:explore|predict)"', page.read_text("utf-8"))
]
SEVERAL = 7  # positions between an explorer's ends that are looked at
FARTHEST = 150  # pixels from a guess to its verdict


# --- explorers ------------------------------------------------------------------------------------


class Stored(NamedTuple):
    """An explorer as its notebook has it: its cell's id, its HTML and its plain text."""

    cell: str
    page: str
    plain: str

    @property
    def sizes(self) -> list[int]:
        """How many positions each slider has, from the page's own controls."""
        return [
            int(most) + 1 for most in re.findall(r'type="range" min="0" max="(\d+)"', self.page)
        ]

    @property
    def labels(self) -> list[list[str]]:
        """What each slider calls its positions."""
        found = re.findall(r'data-labels="([^"]*)"', self.page)
        return [json.loads(html.unescape(words)) for words in found]

    def lines(self) -> list[str]:
        """A line for each position, "label value, label value: sentence"."""
        return self.plain.splitlines()[1:]

    def pictures(self) -> list[str]:
        """What the page shows, a picture for each position: as stored, and in both modes."""
        packed = re.search(r'class="explore-frames">([^<]*)<', self.page)[1]
        held = json.loads(zlib.decompress(base64.b64decode(packed)))
        frames = ["".join(held["pieces"][piece] for piece in frame) for frame in held["frames"]]
        return figures.with_colour_schemes(frames)

    def positions(self) -> list[tuple[int, ...]]:
        """All positions, the last slider running fastest."""
        return list(itertools.product(*map(range, self.sizes)))

    def some(self) -> list[int]:
        """Numbers of several positions: both ends, and places between that fall on all sliders."""
        count = len(self.positions())
        return sorted({round(n * (count - 1) / (SEVERAL - 1)) for n in range(SEVERAL)})


def explorers(where: str) -> list[Stored]:
    """The explorers that a page's notebook has stored; none where it is no notebook's page."""
    notebook = (ROOT / where).with_suffix(".ipynb")
    cells = json.loads(notebook.read_text("utf-8"))["cells"] if notebook.exists() else []
    found = []
    for cell in cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            page = "".join(data.get("text/html", ""))
            if 'class="explore"' in page:
                found.append(Stored(cell["id"], page, "".join(data["text/plain"])))
    return found


def words_of(sentence: str) -> str:
    """A stored sentence as its page shows it."""
    return html.unescape(re.sub(r"<[^>]+>", "", text(sentence)))


SHOWN = """async (explorer, positions) => {  // what is shown at each, sliders moved one by one
    const sliders = [...explorer.querySelectorAll("input[type=range]")];
    const others = () => [...document.querySelectorAll("figure.explore")]
        .filter(e => e !== explorer).map(e => e.querySelector(".explore-says").innerHTML).join();
    const found = [], beside = others();
    for (const at of positions) {
        for (const [i, slider] of sliders.entries()) {
            if (Number(slider.value) === at[i]) continue;
            delete explorer.dataset.at;
            slider.value = at[i];
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            for (let n = 0; n < 3000 && !explorer.dataset.at; n++) {
                await new Promise(done => setTimeout(done, 5));
            }
            if (!explorer.dataset.at) throw new Error(`nothing came at ${at}`);
        }
        const image = explorer.querySelector("img");
        await image.decode();
        found.push({
            said: explorer.querySelector(".explore-says").textContent,
            picture: image.src,
            names: sliders.map(slider => slider.getAttribute("aria-valuetext")),
            outputs: [...explorer.querySelectorAll("output")].map(output => output.textContent),
            whole: Boolean(image.alt && image.complete && image.naturalWidth),
            alone: others() === beside,
        });
    }
    return found;
}"""


def answers_the_arrow_keys(page, explorer) -> None:
    slider = explorer.locator("input[type=range]").first
    key = "ArrowLeft" if slider.input_value() == slider.get_attribute("max") else "ArrowRight"
    says = slider.get_attribute("aria-valuetext")
    slider.focus()
    page.keyboard.press(key)
    explorer.locator("xpath=self::*[@data-at]").wait_for(state="attached")
    assert slider.get_attribute("aria-valuetext") != says


def shows_what_is_stored(explorer, stored: Stored) -> None:
    """Each slider forth from where it stands, and back; then positions from end to end."""
    lines, labels = stored.lines(), stored.labels
    pictures = stored.pictures()
    positions = stored.positions()
    called = explorer.locator(".explore-control > span").all_text_contents()
    assert len(lines) == len(positions) == len(pictures)
    start = [int(slider.input_value()) for slider in explorer.locator("input[type=range]").all()]
    steps = []
    for n, most in enumerate(stored.sizes):
        beside = start[n] + (1 if start[n] + 1 < most else -1)
        steps += [[*start[:n], beside, *start[n + 1 :]], start]
    asked = [*steps, *(list(positions[number]) for number in stored.some()), start]
    found = explorer.evaluate(SHOWN, asked)
    for at, shown in zip(asked, found, strict=True):
        number = positions.index(tuple(at))
        names = [label[n] for label, n in zip(labels, at, strict=True)]
        assert shown["names"] == shown["outputs"] == names
        head = ", ".join(f"{what} {name}" for what, name in zip(called, names, strict=True))
        assert f"{head}: {shown['said']}" == words_of(lines[number])
        drawn = pictures[number]
        assert shown["picture"].startswith("data:image/svg+xml")
        assert unquote(shown["picture"].partition(",")[2]) == drawn, (stored.cell, at)
        assert shown["whole"]
        assert shown["alone"], "another explorer has moved"
    for moved, back in zip(found[: len(steps) : 2], found[1 : len(steps) : 2], strict=True):
        assert moved["picture"] != back["picture"], "the picture stays"
        assert moved["names"] != back["names"]
    assert len({shown["said"] for shown in found}) > 1, f"{stored.cell} says the same everywhere"


# --- predictions ----------------------------------------------------------------------------------

ASK = """form => {  // lock some answer, then each choice; gives what is wrong
    const wrong = [], button = form.querySelector("button");
    const fields = form.querySelector("fieldset"), kind = form.dataset.kind;
    const found = document.querySelectorAll(`details.reveal[data-key="${form.dataset.key}"]`);
    const [reveal] = found, verdict = reveal?.querySelector(".reveal-guess");
    const again = [...form.querySelectorAll("button")].at(-1);
    const want = (holds, what) => holds || wrong.push(what);
    want(found.length === 1, `${found.length} results`);
    button.click();
    want(!fields.disabled && !reveal.open, "locks without an answer");
    want(!reveal.open && verdict.textContent === "", "tells before it is asked");
    if (kind === "choice") form.querySelector("input[type=radio]").click();
    else form.querySelector("input").value = "3.5";
    button.click();
    want(fields.disabled && button.hidden && reveal.open, "does not lock and uncover");
    want(verdict.checkVisibility() && verdict.innerText.length > 10, "has no verdict");
    want(document.activeElement === verdict, "does not give its verdict the focus");
    want(verdict.innerText.startsWith("You guessed"), "forgets the guess");
    const said = verdict.innerHTML;
    form.dispatchEvent(new Event("submit", { cancelable: true }));
    want(verdict.innerHTML === said, "can be locked twice");
    const { answer, replies } = JSON.parse(reveal.dataset.told);
    if (kind === "choice") for (const choice of form.querySelectorAll("input[type=radio]")) {
        again.click();
        want(!fields.disabled && !reveal.open && !verdict.textContent, "is not taken back");
        choice.click();
        button.click();
        const plain = document.createElement("p");
        plain.innerHTML = replies[choice.value] ?? "";
        want(choice.value === answer ? verdict.innerHTML.endsWith("That is right.")
            : plain.textContent.length > 10 && verdict.textContent.includes(plain.textContent),
            `answers ${choice.value} with ${verdict.textContent}`);
    }
    if (kind === "choice") {
        again.click();
        form.querySelector("input[type=radio]").click();
        button.click();
    }
    return wrong;
}"""
STANDS = """form => {  // where the verdict on the first answer stands, and the code
    const given = form.querySelector("input");
    const verdict = form.querySelector(".reveal-guess");
    const result = document.querySelector(`details.reveal[data-key="${form.dataset.key}"]`);
    const code = [...result.querySelectorAll("details.above-input")].at(-1);
    return {
        away: verdict.getBoundingClientRect().top - given.getBoundingClientRect().bottom,
        below: result.getBoundingClientRect().top - form.getBoundingClientRect().bottom,
        said: verdict.checkVisibility() && verdict.innerText.length > 10,
        last: !code || (code.closest(".cell") === result.lastElementChild && !code.open),
    };
}"""


def stands_at_its_guess(form) -> None:
    found = form.evaluate(STANDS)
    assert 0 <= found["away"] <= FARTHEST, found
    assert 0 <= found["below"] <= FARTHEST, found
    assert found["said"], found
    assert found["last"], found


# Before another takes its place: a request that the page gives up counts as one that has failed.
@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_every_explorer_and_prediction_answers(visit, page, where):
    """Each is moved and answered by its own events; the first explorer by the keyboard, too."""
    problems = visit(where)
    on_page = page.locator(EXPLORER).all()
    for number, (explorer, stored) in enumerate(zip(on_page, explorers(where), strict=True)):
        explorer.scroll_into_view_if_needed()
        explorer.locator("img").first.evaluate(LOADED)
        if number == 0:
            answers_the_arrow_keys(page, explorer)
        shows_what_is_stored(explorer, stored)
    forms = page.locator(FORM).all()
    keys = [form.get_attribute("data-key") for form in forms]
    assert len(set(keys)) == len(keys), "two questions of a page share a key"
    for key, form in zip(keys, forms, strict=True):
        assert form.evaluate(ASK) == [], key
    for width in (1280, 390) if where.startswith("notebooks/") else ():
        page.set_viewport_size({"width": width, "height": 900})
        for form in forms:
            stands_at_its_guess(form)
    assert problems == []


@pytest.mark.parametrize("where", ["book/index.html", "notebooks/05_attention_by_hand.html"])
def test_page_reads_without_scripts(browser, site_url, where):
    """With no script the first picture, its sentence and the folded results are still there."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{site_url}/{where}")
    chapter = page.locator("#pst-primary-sidebar").get_by_text("Similarity geometry")
    page.get_by_role("link", name="Chapters", exact=True).click()
    assert 0 < chapter.bounding_box()["y"] < 844, "the link at the top leads down to the list"
    assert page.locator(".sidebar-toggle:visible").count() == 0, "what needs a script"
    for explorer in page.locator(EXPLORER).all():
        assert explorer.locator("img").is_visible()
        assert explorer.locator(".explore-says").inner_text()
        assert not explorer.locator(".explore-controls").is_visible()
    for reveal in page.locator("details.reveal").all():
        assert reveal.locator("> summary").is_visible()
    for kind in page.locator(
        ".hero svg, .hero-next li, .written-text, .machine-map a, .nats-ladder a"
    ).all():
        assert kind.is_visible()
    assert not page.locator(".hero form").is_visible()
    context.close()
