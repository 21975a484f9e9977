"""The page with the chat model, as readers use it: getting the file, talking, and asking why.

What it says of a word is held to Python, which hides positions by a mask of its own.
"""

import re

import pytest
import torch
from playwright.sync_api import expect

from book import build
from book.build import MODEL
from helpers import corpus, minillama, pretrained

PAGE, CHAPTER = "book/chat.html", "notebooks/14_todays_block.html"
CAPITAL = "What is the capital of France?"
SAID = "The capital of France is Paris."


@pytest.fixture(scope="module")
def file(smollm2):
    """The path of the model's file."""
    return corpus.cache_dir() / pretrained.MEMBER.rpartition("/")[2]


@pytest.fixture
def talking(page, html_root, file, watched):
    """The page from a disk, with the model from a file, and an answer."""
    problems = watched(page, f"{html_root.as_uri()}/")
    page.goto(f"{html_root.as_uri()}/{PAGE}")
    page.get_by_label("The file of the model").set_input_files(file)
    press(page, CAPITAL)
    answered(page, SAID)
    yield page
    assert problems == []


def press(page, name: str):
    page.get_by_role("button", name=name, exact=True).click()


def answered(page, text: str):
    """Wait for an answer, all of it, as a screen reader hears it."""
    page.locator(".chat-said", has_text=f"SmolLM2 says: {text}").wait_for(state="attached")


# --- the file -------------------------------------------------------------------------------------


def test_without_the_file_the_page_shows_stored_answers(browser, site_url):
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(f"{site_url}/{PAGE}")
    assert "17 + 25 = 32." in plain.locator(".chat-its").all_text_contents()
    assert plain.locator(".chat button:visible").count() == 0
    context.close()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"status": 404}, "doesn’t hold the file"),
        ({"status": 429}, "host won’t send the file now"),
        ({"status": 200, "body": "short"}, "came incomplete"),
        (None, "you may be offline"),
    ],
)
def test_a_file_that_does_not_come_is_told_in_a_sentence(page, site_url, answer, told):
    page.route(f"**/{MODEL}", lambda it: it.fulfill(**answer) if answer else it.abort())
    page.goto(f"{site_url}/{PAGE}")
    page.get_by_role("button", name=re.compile("98 MB")).click()
    page.locator(".chat-coming", has_text=told).wait_for()
    expect(page.get_by_role("button", name=re.compile("98 MB"))).to_be_visible()


def test_a_foreign_file_is_told_in_a_sentence(page, html_root):
    page.goto(f"{html_root.as_uri()}/{PAGE}")
    other = {"name": "a.gguf", "mimeType": "", "buffer": b"no model" * 9}
    page.get_by_label("The file of the model").set_input_files(other)
    page.locator(".chat-coming", has_text="no GGUF file").wait_for()


def test_the_site_s_file_is_kept_until_it_is_removed(page, html_root, site_url, file):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    if not (html_root / MODEL).exists():  # built where it was not kept yet
        build.add_model(html_root, True)
    page.goto(f"{site_url}/{PAGE}")
    assert not [url for url in asked if url.endswith(MODEL)]
    page.get_by_role("button", name=re.compile("98 MB")).click()
    page.locator(".chat-coming", has_text="keeps the file").wait_for()
    page.reload()
    press(page, "Start the model (this browser has kept it)")
    press(page, CAPITAL)
    answered(page, SAID)
    assert len([url for url in asked if url.endswith(MODEL)]) == 1
    page.locator(".chat-bold summary").click()
    press(page, "Remove the file from this browser")
    page.get_by_role("button", name="Remove").wait_for(state="hidden")
    page.reload()
    page.get_by_role("button", name=re.compile("98 MB")).wait_for()


# --- talking, and asking why ----------------------------------------------------------------------


def test_several_turns_and_stop(talking):
    talking.get_by_role("textbox", name="You").fill("Tell me a long story.")
    press(talking, "Say it")  # what is typed stays in the page, and out of its address
    talking.wait_for_function("document.querySelectorAll('.chat-its')[1].textContent.length > 40")
    press(talking, "Stop")
    talking.locator(".chat-state", has_text="You stopped it").wait_for()
    talking.locator(".chat-reading summary").click()
    read = talking.locator(".chat-tokens")
    read.get_by_text("Paris").first.wait_for()
    assert read.inner_text().count("<|im_start|>") == 5  # of the system and two turns
    assert "?" not in talking.url


@torch.no_grad()
def probability(smollm2, said: str, word: str, places) -> float:
    """Of a word after what the model has said, with these places of a word hidden from others."""
    model, tokenizer = smollm2
    asked = [("system", pretrained.SYSTEM), ("user", CAPITAL)]
    ids = [*minillama.chat_ids(tokenizer, asked)[0].tolist(), *tokenizer.encode(said).tolist()]
    hidden = [[t for t, i in enumerate(ids) if tokenizer.decode([i]) == word][n] for n in places]

    def attend(q, k, v):
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
        sees = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
        for t in hidden:
            sees[t + 1 :, t] = False
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minillama, "attend", attend)
        return model(torch.tensor([ids]))[0, -1].softmax(-1)[tokenizer.encode(" Paris")[0]].item()


def test_which_words_mattered_is_what_python_finds(talking, smollm2):
    """By the keyboard: an arrow to the last word, a bet; each France alone, and both."""
    words = talking.locator(".chat-word")
    words.first.focus()
    for _ in range(5):
        talking.keyboard.press("ArrowRight")
    talking.keyboard.press("Enter")
    talking.locator(".chat-bets").get_by_role("button", name="France").press("Enter")
    verdict = talking.locator(".chat-verdict", has_text="It needed no single one")
    verdict.wait_for()
    found = talking.locator(".chat-words li", has=talking.get_by_text("France", exact=True))
    shown = [float(text) for text in re.findall(r"([\d.]+)%", " ".join(found.all_inner_texts()))]
    said = SAID.removesuffix(" Paris.")
    expected = [probability(smollm2, said, " France", places) for places in ([0], [1], [0, 1])]
    assert shown == pytest.approx([100 * p for p in expected], abs=0.15)
    assert shown[2] < 10 < 80 < min(shown[:2])
    assert "France (95.1% →" in verdict.inner_text()


def test_further_inside_adds_up_and_a_swap_turns_the_answer(talking, smollm2):
    talking.locator(".chat-word", has_text="Paris").click()
    press(talking, "no single one")
    talking.locator(".chat-inside summary").click()
    rows = talking.locator(".chat-parts td")
    talking.locator(".chat-reader", has_text="of its weight").wait_for()
    *parts, whole = (float(x.replace("−", "-")) for x in rows.all_inner_texts())
    assert sum(parts) == pytest.approx(whole, abs=0.06)
    talking.locator('[name="from"]').select_option("France")
    for other, told in (("Liechtenstein", "as many tokens"), ("Italy", "it would say “Rome”")):
        talking.locator('[name="to"]').fill(other)
        press(talking, "Swap")
        talking.locator(".chat-turned", has_text=told).wait_for()
    talking.locator(".chat-grid span").first.wait_for()


def test_the_figures_of_chapter_14_share_one_model(page, html_root, file):
    page.goto(f"{html_root.as_uri()}/{CHAPTER}")
    page.get_by_label("The file of the model").set_input_files(file)
    second = page.locator(".chat").nth(1)
    second.get_by_role("button", name=re.compile("it was too wide")).click()
    second.locator(".chat-word", has_text="fox").first.wait_for()
