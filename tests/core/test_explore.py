"""Predictions and explorers: the static form as HTML, the live form as ipywidgets."""

import base64
import html
import json
import os
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser

import ipywidgets
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from helpers.explore import Slider, explore, page, pencil, predict, predictions, sliders

WRONG = {"two": "One short: `len` counts from 1.", "four": "One too many."}


@pytest.fixture
def shown(monkeypatch):
    """What is displayed, in order: widgets, or dictionaries of forms by mime type."""
    displayed = []
    for module in (page, predictions, sliders):
        monkeypatch.setattr(module, "display", lambda what, **_: displayed.append(what))
    return displayed


@pytest.fixture
def live(monkeypatch, shown):
    monkeypatch.delenv("BOOK_STATIC", raising=False)
    return shown


@pytest.fixture
def static(monkeypatch, shown):
    monkeypatch.setenv("BOOK_STATIC", "1")
    return shown


def draw(height, width=1):
    figure, ax = plt.subplots(figsize=(2, 1))
    ax.plot([0, width], [0, height])
    ax.set_title(f"height {height}")
    return figure


def describe(height, width=1):
    return f"It rises by {height / width:.2f} & `stays` <there>."


def explorer(**controls):
    return explore(draw, title="Rise & fall", describe=describe, **(controls or {"height": [1, 2]}))


class Tags(HTMLParser):
    """The tags of a piece of HTML; fails on one that is not closed."""

    VOID = ("img", "input", "line", "circle", "path", "polyline")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def frames(text):
    """The pictures and sentences packed in an explorer's HTML."""
    packed = re.search(r'class="explore-frames">([^<]*)<', text).group(1)
    data = json.loads(zlib.decompress(base64.b64decode(packed)))
    pictures = ["".join(data["pieces"][piece] for piece in frame) for frame in data["frames"]]
    return pictures, data["sentences"]


# ------------------------------------------------------------- explorers on the page


def test_frames_are_what_draw_makes():
    pictures, sentences = frames(explorer(height=[1, 2, 5], width=[1, 2]).html())
    positions = [(h, w) for h in (1, 2, 5) for w in (1, 2)]  # the last control runs fastest
    assert pictures == [page.svg_of(draw(h, w)) for h, w in positions]
    assert len(set(pictures)) == 6
    assert sentences == [page.text(describe(h, w)) for h, w in positions]


def test_page_has_picture_words_and_labelled_controls():
    made = explorer(height=Slider([1, 2, 5], label="how high", start=2), step_width=[1, 2])
    made.draw = lambda height, step_width: draw(height, step_width)
    made.describe = lambda height, step_width: describe(height, step_width)
    tags = Tags(made.html())
    (image,) = tags.all("img")
    assert image["alt"] == "Rise & fall"
    uri = image["src"].removeprefix("data:image/svg+xml;base64,")
    assert base64.b64decode(uri).decode() == page.svg_of(draw(2, 1))  # where the sliders start
    assert int(image["width"]) == pytest.approx(2 * 96, abs=1)
    assert int(image["height"]) == pytest.approx(96, abs=1)
    first, second = tags.all("input")
    assert [first[key] for key in ("type", "min", "max", "value", "aria-valuetext")] == [
        "range",
        "0",
        "2",
        "1",
        "2",
    ]
    assert json.loads(first["data-labels"]) == ["1", "2", "5"]
    assert second["aria-valuetext"] == "1"
    assert "how high" in tags.words
    assert "step width" in tags.words
    assert "It rises by 2.00" in tags.words
    (caption,) = tags.all("figcaption")
    assert caption["aria-live"] == "polite"
    assert tags.all("figure")[0]["aria-label"] == "Explore: Rise & fall"


def test_text_form_holds_every_sentence():
    text = explorer(height=[0.5, 2.0], width=Slider([1, 2], label="wide")).text()
    assert text.splitlines() == [
        "Rise & fall",
        "height 0.5, wide 1: It rises by 0.50 & `stays` <there>.",
        "height 0.5, wide 2: It rises by 0.25 & `stays` <there>.",
        "height 2, wide 1: It rises by 2.00 & `stays` <there>.",
        "height 2, wide 2: It rises by 1.00 & `stays` <there>.",
    ]


def test_static_display_is_html_and_text_and_the_same_twice(static):
    explorer()._ipython_display_()
    explorer()._ipython_display_()
    assert set(static[0]) == {"text/html", "text/plain"}
    assert static[0] == static[1]


def test_drawing_leaves_no_figure_and_no_setting_behind():
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    explorer().html()
    assert plt.get_fignums() == figures
    assert dict(mpl.rcParams) == before


def test_svg_is_small_and_still_drawn():
    svg = page.svg_of(draw(1))
    assert svg.startswith("<svg")
    assert svg.endswith("</svg>")
    assert not re.search(r"<metadata|<!--|<\?xml|>\s+<", svg)
    assert not re.search(r' d="[^"]*\.\d{3}', svg)
    assert "height 1" in svg  # text stays text


# ------------------------------------------------------------- explorers in a kernel


@pytest.mark.skipif(
    ipywidgets.__version__.startswith("7."), reason="7 draws only where it is displayed"
)
def test_moving_a_slider_draws_and_says_anew(live):
    explorer(height=Slider([1, 2, 5], label="how high", start=2))._ipython_display_()
    title, *shown = live
    figure, sentence = (s for s in shown if not isinstance(s, ipywidgets.Widget))
    (interactive,) = (s for s in shown if isinstance(s, ipywidgets.Widget))
    assert figure.axes[0].get_title() == "height 2"
    assert "It rises by 2.00" in sentence.data
    assert "Rise &amp; fall" in title.data
    assert isinstance(interactive, ipywidgets.interactive)
    slider = interactive.children[0]
    assert slider.description == "how high"
    assert slider.value == 2
    del live[:]
    slider.value = 5
    figure, sentence = live
    assert figure.axes[0].get_title() == "height 5"
    assert "It rises by 5.00 &amp; <code>stays</code> &lt;there&gt;." in sentence.data
    assert not plt.fignum_exists(figure.number)


def test_every_position_can_be_reached_live(live):
    explorer(height=[0.5, 1.5], width=[1, 2])._ipython_display_()
    sliders = [c for c in live[-1].children if hasattr(c, "options")]
    assert [[v for _, v in slider.options] for slider in sliders] == [[0.5, 1.5], [1, 2]]
    assert [[label for label, _ in slider.options] for slider in sliders] == [
        ["0.5", "1.5"],
        ["1", "2"],
    ]


# ------------------------------------------------------------- predictions on the page


def asks(kind):
    if kind == "choice":
        return predict("How `many`?", ["two", "three", "four"], wrong=WRONG)
    return predict("How `many`?", number=True, wrong={64: "Added up.", 4: "One key."})


ANSWERS = {"choice": "three", "number": 8.01234}


@pytest.mark.parametrize("kind", ANSWERS)
def test_form_on_the_page(kind, static):
    prediction = asks(kind)
    (form,) = static
    tags = Tags(form["text/html"])
    (attrs,) = tags.all("form")
    assert (attrs["data-kind"], attrs["data-key"]) == (kind, prediction.key)
    assert "How many?" in tags.words
    assert len(tags.all("button")) == 1
    inputs = [i["type"] for i in tags.all("input")]
    assert inputs == {"choice": ["radio"] * 3, "number": ["number"]}[kind]
    assert len(tags.all("label")) == len(inputs)
    assert form["text/plain"].startswith("Predict. How `many`?")
    if kind == "choice":
        assert form["text/plain"].splitlines()[1:] == ["- two", "- three", "- four"]


@pytest.mark.parametrize("kind", ANSWERS)
def test_form_gives_no_result_away(kind, static):
    asks(kind)
    assert "One short" not in static[0]["text/html"]


@pytest.mark.parametrize("kind", ANSWERS)
def test_result_on_the_page(kind, static):
    prediction = asks(kind)
    prediction.reveal(ANSWERS[kind], because="Since `x` < 1.")
    result = static[1]
    tags = Tags(result["text/html"])
    (attrs,) = tags.all("details")
    assert attrs["data-key"] == prediction.key
    assert "open" not in attrs
    script = json.loads(attrs["data-told"])
    assert "Since x < 1." in tags.words
    assert result["text/plain"].endswith("Since `x` < 1.")
    if kind == "choice":
        assert script["answer"] == "three"
        assert script["replies"] == {k: page.text(v) for k, v in WRONG.items()}
        assert "Result: three" in tags.words
        assert result["text/plain"] == "Result: three. Since `x` < 1."
    if kind == "number":
        assert script["answer"] == 8.01
        assert script["replies"] == {"64": "Added up.", "4": "One key."}
        assert "Result: 8.01" in tags.words
        assert tags.all("circle")


@pytest.mark.parametrize("kind", ANSWERS)
def test_html_is_what_a_chapter_stores(kind, static):
    prediction = asks(kind)
    prediction.reveal(ANSWERS[kind], because="Since `x` < 1.")
    stored = [output["text/html"] for output in static]
    assert prediction.html(ANSWERS[kind], "Since `x` < 1.") == "".join(stored)
    with pytest.raises(ValueError):
        prediction.html({"choice": "five", "number": float("nan")}[kind])


def test_a_choice_with_code_in_it_is_found_again(static):
    predict("Which?", ["`a`", "`b`"], wrong={"`b`": "No: `b`."}).reveal("`a`")
    values = [i["value"] for i in Tags(static[0]["text/html"]).all("input")]
    script = json.loads(Tags(static[1]["text/html"]).all("details")[0]["data-told"])
    assert values == [script["answer"], *script["replies"]]  # the page compares just these


@pytest.mark.parametrize("kind", ANSWERS)
def test_key_is_that_of_the_question(kind, static):
    assert asks(kind).key == asks(kind).key
    assert predict("Other?", number=True).key != asks("number").key


def test_words_of_the_author_are_no_markup(static):
    predict('<b>"a" & `b`', ['<i>"x"', "y"], wrong={"y": "<u>"}).reveal('<i>"x"', because="<s>")
    for shown in static:
        tags = Tags(shown["text/html"])
        assert not {"i", "u", "s"} & {tag for tag, _ in tags.tags}
    assert 'value="&lt;i&gt;&quot;x&quot;"' in static[0]["text/html"]
    assert html.unescape(Tags(static[1]["text/html"]).words).count('<i>"x"') == 1


# ------------------------------------------------------------- predictions in a kernel


def parts(widget):
    _, *inputs, button = widget.children
    inputs = [field for field in inputs if not isinstance(field, ipywidgets.HTML)]
    return inputs, button


def guess(kind, inputs):
    if kind == "choice":
        inputs[0].value = "two"
    else:
        inputs[0].value = "64,0"


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("locked_first", [True, False])
def test_locking_shows_the_result_beside_the_guess(kind, locked_first, live):
    prediction = asks(kind)
    inputs, button = parts(live[0])
    if locked_first:
        guess(kind, inputs)
        button.click()
    prediction.reveal(ANSWERS[kind], because="Since.")
    result = live[1]
    if not locked_first:
        assert "Since." not in result.children[0].value
        guess(kind, inputs)
        button.click()
    said = result.children[0].value
    assert "Since." in said
    assert len(result.children) == 1  # the button to show it is gone
    assert all(field.disabled for field in inputs)
    assert button.disabled
    expected = {
        "choice": "You guessed “two”. One short: <code>len</code> counts from 1.",
        "number": "You guessed 64. Added up.",
    }
    assert expected[kind] in said


def test_a_guess_cannot_be_changed(live):
    prediction = asks("choice")
    prediction.lock("two")
    prediction.lock("three")
    assert prediction.guess == "two"


@pytest.mark.parametrize("kind", ANSWERS)
def test_nothing_given_locks_nothing(kind, live):
    prediction = asks(kind)
    inputs, button = parts(live[0])
    if kind == "number":
        inputs[0].value = "about eight"
    button.click()
    assert prediction.guess is None
    assert not button.disabled


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_result_can_be_seen_without_a_guess(kind, live):
    asks(kind).reveal(ANSWERS[kind], because="Since.")
    text, button = live[1].children
    button.click()
    assert "Since." in text.value
    assert "You guessed" not in text.value


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (8.01, "That is right."),
        (8.8, "That is right."),
        (7.3, "That is right."),
        (8.9, "That is not it."),
        (66, "Added up."),
        (4, "One key."),
        (-8, "That is not it."),
    ],
)
def test_a_number_is_right_within_a_tenth(said, reply, live):
    prediction = asks("number")
    prediction.lock(said)
    assert prediction.reply(8.01).endswith(reply)


def test_right_choice_is_called_right(live):
    prediction = asks("choice")
    prediction.lock("three")
    assert prediction.reply("three") == "You guessed “three”. That is right."


WITHOUT_WIDGETS = """
import sys
sys.modules["ipywidgets"] = None  # as where it is not installed
from matplotlib.figure import Figure
from helpers.explore import explore, page, predict, predictions
page.display = predictions.display = lambda what, **_: print(getattr(what, "data", what))
predict("How long?", ["one", "two"], wrong={"two": "Shorter."}).reveal("one")
explore(lambda n: Figure(), title="t", describe=lambda n: f"{n}", n=[1, 2])._ipython_display_()
"""


def test_without_ipywidgets_the_static_form_is_shown():
    environment = {**os.environ, "BOOK_STATIC": "", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WIDGETS],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert said.count("<code>ipywidgets</code> is not installed") == 2  # not at the result, too
    assert said.index('<form class="predict"') < said.index('<details class="reveal"')
    assert '<figure class="explore"' in said


def test_unanswered_predictions_stop_nothing(live):
    for kind in ANSWERS:
        prediction = asks(kind)
        prediction.reveal(ANSWERS[kind])
        assert prediction.guess is None


# ------------------------------------------------------------- drawings stand by themselves


def test_a_kernel_without_the_book_s_style_sheet_draws_too(live):
    prediction = asks("number")
    prediction.reveal(8.01)
    inputs, button = parts(live[0])
    inputs[0].value = "8"
    button.click()
    drawn = live[1].children[0].value
    assert "<svg" in drawn
    assert not re.search(r"var\(--[\w-]+\)", drawn)  # each colour has one to fall back on
    for tag in re.findall(r"<(?:line|path|polyline)[^>]*>", drawn):
        assert "stroke=" in tag


def test_near_a_result_of_zero_counts_as_right(live):
    prediction = predict("What is left?", number=True)
    prediction.lock(0.05)
    assert prediction.reply(0.0).endswith("That is right.")


@pytest.mark.parametrize(
    ("value", "right", "wrong"),
    [
        (0.6, ["0.6", ".6", "0,60", "0.602"], ["6", "0.61", "-0.6", "1.6", ""]),
        (-0.656, ["-0.656", "−.66", "-0.66"], ["0.66", "-0.7"]),
        (1.72, ["1.72", "1.720", "+1.72"], ["1.7", "0.72", "-1.72", "11.72"]),
        (2.0, ["2", "2.0"], ["20", "0.2"]),
    ],
)
def test_pencil_takes_the_number_as_people_write_it(value, right, wrong):
    html = pencil({"weight <of> fox": value}).data
    [pattern] = re.findall(r'pattern="([^"]*)"', html)
    assert "weight &lt;of&gt; fox" in html
    assert "[-" not in pattern  # which a browser's regular expressions refuse
    assert all(re.fullmatch(pattern, number) for number in right)
    assert not any(re.fullmatch(pattern, number) for number in wrong)
