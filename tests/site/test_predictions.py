"""Predictions on built pages: the result at its guess, and nothing told that is still closed."""

import json
import re

import pytest
from bs4 import BeautifulSoup, Tag
from support import NOTEBOOKS

CHAPTERS = [path.stem for path in NOTEBOOKS]

# --- with all predictions closed ------------------------------------------------------------------

NUMBER = re.compile(r"(?<![\w.,])[-−]?\d[\d,]*(?:\.\d+)?%?(?![\w%])")
SETTING = re.compile(r"(?:±|\brates?)\s*[\d.]+(?: and [\d.]+)?")  # or a spread: no result
FIGURE = r"picture|figure|panel|plot|chart"
READS = {  # words that lead to what is hidden, by what it is
    "img": rf"\b(?:the|this|these|both) (?:[\w-]+ )?(?:{FIGURE})s?\b",
    "table": r"\b(?:read|see) the (?:[\w-]+ )?(?:table|row|column)s?\b|"
    r"\b(?:last|first|next) (?:row|column)s?\b",
}


def words_of(part: Tag) -> str:
    """The words of a part as one line; folds, code and the choices of a question left out."""
    copied = BeautifulSoup(str(part), "html.parser")
    for closed in copied.select("details, pre, label, .predict-actions, form svg, script"):
        closed.decompose()
    return " ".join(copied.get_text(" ").split()).lower()


def open_below(reveal: Tag) -> list[Tag]:
    """What is open below a closed result, up to the next heading."""
    below = []
    for part in reveal.find_next_siblings():
        if part.name in ("section", "h2", "h3"):
            break
        if part.name != "details":
            below.append(part)
    return below


def telling(words: str) -> set[str]:
    """Numbers that were measured and do not come by chance: with a point, or percentages."""
    results = SETTING.sub(" ", words)
    return {number for number in NUMBER.findall(results) if re.search("[.%]", number)}


def leads(part: Tag, hidden: str) -> list[str]:
    """Words of a part that read a figure or table of a kind that is hidden."""
    return [] if part.select_one(hidden) else re.findall(READS[hidden], words_of(part))


def told_of(soup: BeautifulSoup) -> list[str]:
    """What open text tells of results that are closed, or leads to in them."""
    found = []
    closed = {part["id"] for part in soup.select("details.reveal [id]")}
    links = [a for a in soup.select('article a[href^="#"]') if not a.find_parent("details")]
    found += [f"leads to {a['href']}" for a in links if a["href"][1:] in closed]
    for reveal in soup.select("details.reveal"):
        form = soup.select_one(f'form[data-key="{reveal["data-key"]}"]')
        below = open_below(reveal)
        blocks = [words_of(part) for part in below]
        answer = json.loads(reveal["data-told"])["answer"]
        if isinstance(answer, str):
            option = re.sub("[`*]", "", answer.lower())
            # A single word comes by chance as well, in other senses: it counts where text goes on.
            near = " ".join(blocks if " " in option else blocks[:1])
            if len(option) > 3 and re.search(rf"(?<!\w){re.escape(option)}(?!\w)", near):
                found.append(f"tells {answer!r}")
        said = " ".join(p.get_text(" ") for p in reveal.find_all("p", recursive=False))
        asked = telling(form.get_text(" ").lower())
        found += [
            f"tells {number}"
            for number in sorted((telling(said.lower()) - asked) & telling(" ".join(blocks)))
        ]
        for hidden in READS:
            if not reveal.select_one(hidden):
                continue
            for part in below:
                if part.select_one(hidden):
                    break
                found += [f"reads what is hidden: {words}" for words in leads(part, hidden)]
    return found


@pytest.mark.parametrize("stem", CHAPTERS)
def test_open_text_tells_no_closed_result(html_root, stem):
    html = (html_root / "notebooks" / f"{stem}.html").read_text("utf-8")
    assert told_of(BeautifulSoup(html, "html.parser")) == []


# --- in a browser ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["choice", "number"])
def test_a_guess_is_locked_and_taken_back_by_the_keyboard(visit, page, kind):
    chapter = "04_layernorm_vs_batchnorm" if kind == "number" else "02_similarity_geometry"
    visit(f"notebooks/{chapter}.html")
    form = page.locator(f"form.predict[data-kind={kind}]").first
    field, told = form.locator("input").first, form.locator(".reveal-guess")
    field.focus()
    page.keyboard.press({"choice": "Space", "number": "3"}[kind])
    page.keyboard.press("Enter")
    assert field.is_disabled()
    assert told.inner_text()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Guess again"
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('details.reveal[open]') === null")
    assert told.text_content() == ""
    assert form.get_by_role("status").inner_text() == "Your guess is taken back."
    assert field.evaluate("field => field === document.activeElement")


def test_the_second_of_two_quick_clicks_takes_nothing_back(visit, page):
    visit("notebooks/05_attention_by_hand.html")
    form = page.locator("form.predict").first
    form.locator("input").first.check()
    form.get_by_role("button").dblclick()
    assert form.locator(".reveal-guess").is_visible()


def test_a_link_opens_the_fold_into_which_it_leads(visit, page):
    visit("notebooks/08_residual_add_and_norm.html")
    inside = page.locator("details.reveal figure[id]").first
    assert not inside.is_visible()
    page.evaluate("id => { location.hash = id }", inside.get_attribute("id"))
    inside.wait_for(state="visible")


STANDS = """() => [scrollY, [...document.querySelectorAll("form.predict")].map(form =>
    [form.innerText, form.dataset.locked ?? "",
        [...form.querySelectorAll("input")].map(i => i.checked || i.value)]),
    [...document.querySelectorAll("details.reveal[open]")].map(reveal => reveal.innerText)]"""


@pytest.mark.parametrize("way", ["reload", "back"])
def test_guesses_and_place_outlast_a_reload_and_back(visit, page, way):
    problems = visit("notebooks/04_layernorm_vs_batchnorm.html")
    for kind, key in {"choice": "Space", "number": "3"}.items():
        form = page.locator(f"form.predict[data-kind={kind}]").first
        form.locator("input").first.focus()
        page.keyboard.press(key)
        page.keyboard.press("Enter")
    form.get_by_role("button", name="Guess again").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    before = page.evaluate(STANDS)
    assert len(before[2]) == 2
    if way == "reload":
        page.reload()
    else:
        page.goto(page.url.replace("04_layernorm_vs_batchnorm", "03_bigram_table"))
        page.go_back()
    page.wait_for_function(f"({STANDS})()[2].length === 2")
    page.wait_for_function("at => Math.abs(scrollY - at) < 3", arg=before[0])
    assert page.evaluate(STANDS)[1:] == before[1:]
    form.get_by_role("button", name="Guess again").click()
    page.reload()
    page.wait_for_function(f"({STANDS})()[2].length === 1")
    # a page that is left breaks off what it was fetching
    assert not [problem for problem in problems if not problem.startswith("failed: ")]


def test_guesses_work_where_nothing_may_be_stored(visit, page):
    page.add_init_script(
        "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('no'); } })"
    )
    visit("notebooks/05_attention_by_hand.html")  # where the theme's own script complains
    form = page.locator("form.predict").first
    form.locator("input").first.check()
    form.get_by_role("button").click()
    assert form.locator(".reveal-guess").is_visible()
