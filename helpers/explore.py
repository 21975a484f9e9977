"""Predictions before results, and figures with sliders, live in a kernel and on the static page.

``predict`` asks the reader for a guess (a choice, a number or a sketched curve) and ``reveal``
shows the result beside it. ``explore`` puts sliders on a figure. In a kernel both are ipywidgets.
With ``BOOK_STATIC=1`` in the environment (set when outputs are stored for the book) both display
plain HTML, which book/_assets/book.js brings to life on the page and which reads well without it.
"""

import base64
import hashlib
import html
import io
import itertools
import json
import math
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import ipywidgets
import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython.display import HTML, display
from matplotlib.figure import Figure

MOST_FRAMES = 150
CLOSE = 0.1  # a guessed number within a tenth of the answer counts as right (of 1, for a 0)
SAID = {  # what is said to a guess, here and by the page's script
    "guessed": "You guessed",
    "right": "That is right.",
    "other": "That is not it.",
    "curve": "Dashed: your sketch. Solid: what was computed.",
}


def static() -> bool:
    """Whether outputs are being stored for the page (``BOOK_STATIC=1``)."""
    return os.environ.get("BOOK_STATIC", "") == "1"


# --- figures with sliders -------------------------------------------------------------------


@dataclass(frozen=True)
class Slider:
    """A control of an explorer: its values in order, a label, and the value it starts at."""

    values: Sequence
    label: str = ""
    start: object = None

    def __post_init__(self):
        if len(self.values) < 2:
            raise ValueError(f"a slider needs at least two values, got {list(self.values)}")
        if self.start is not None and self.start not in self.values:
            raise ValueError(f"start must be one of {list(self.values)}, got {self.start!r}")

    @property
    def first(self) -> int:
        """Index of the value the slider starts at."""
        return 0 if self.start is None else list(self.values).index(self.start)


def explore(
    draw: Callable[..., Figure], *, title: str, describe: Callable[..., str], **controls
) -> "Explorer":
    """Give a figure sliders: live ones in a kernel, stored frames on the page.

    Args:
        draw: called with one value per control, returns a new matplotlib Figure.
        title: what is being explored; also the name that a screen reader says.
        describe: called like ``draw``, returns a sentence that says what the picture shows.
        controls: for each, a list of values or a ``Slider``.
    Raises: ValueError without controls, or with more than 150 positions in all.
    """
    if not controls:
        raise ValueError("explore needs at least one control, such as angle=[0, 45, 90]")
    sliders = {
        name: given if isinstance(given, Slider) else Slider(list(given))
        for name, given in controls.items()
    }
    positions = math.prod(len(slider.values) for slider in sliders.values())
    if positions > MOST_FRAMES:
        raise ValueError(
            f"controls make {positions} positions, at most {MOST_FRAMES} can be stored: "
            "give them fewer values"
        )
    return Explorer(draw, title, describe, sliders)


class Explorer:
    """A figure with sliders; displays itself as the last value of a cell."""

    def __init__(self, draw, title, describe, sliders: dict[str, Slider]):
        self.draw, self.title, self.describe, self.sliders = draw, title, describe, sliders

    def positions(self) -> list[dict]:
        """Every combination of the controls' values, the last control running fastest."""
        values = (slider.values for slider in self.sliders.values())
        return [dict(zip(self.sliders, at, strict=True)) for at in itertools.product(*values)]

    def label(self, name: str) -> str:
        """The control's label, or its name in words."""
        return self.sliders[name].label or name.replace("_", " ")

    def widget(self) -> ipywidgets.interactive:
        """The live form: an ipywidgets ``interactive``, to be displayed by itself."""
        controls = {
            name: ipywidgets.SelectionSlider(
                options=[(_value(value), value) for value in slider.values],
                index=slider.first,
                description=self.label(name),
                style={"description_width": "initial"},
                layout={"width": "40em"},
            )
            for name, slider in self.sliders.items()
        }

        def show(**at):
            figure = self.draw(**at)
            display(figure)
            plt.close(figure)
            display(HTML(f"<p>{_text(self.describe(**at))}</p>"))

        return ipywidgets.interactive(show, **controls)

    def html(self) -> str:
        """The static form: the first picture and sentence, and all others packed behind them."""
        positions = self.positions()
        pictures = [_svg(self.draw(**at)) for at in positions]
        sentences = [_text(self.describe(**at)) for at in positions]
        first = positions.index({n: s.values[s.first] for n, s in self.sliders.items()})
        width, height = _size(pictures[first])
        packed = _pack(pictures, sentences)
        controls = "".join(self._control(name) for name in self.sliders)
        return (
            f'<figure class="explore" role="group" aria-label="{_attr("Explore: " + self.title)}">'
            f'<p class="explore-title">{_text(self.title)}</p>'
            f'<img alt="{_attr(self.title)}" width="{width}" height="{height}" '
            f'src="{_data_uri(pictures[first])}">'
            f'<div class="explore-controls" hidden>{controls}</div>'
            f'<figcaption class="explore-says" aria-live="polite">{sentences[first]}</figcaption>'
            f'<script type="text/plain" class="explore-frames">{packed}</script></figure>'
        )

    def text(self) -> str:
        """Every position and its sentence, a line each."""
        lines = [
            f"{', '.join(f'{self.label(n)} {_value(v)}' for n, v in at.items())}: "
            f"{self.describe(**at)}"
            for at in self.positions()
        ]
        return "\n".join([self.title, *lines])

    def _control(self, name: str) -> str:
        slider = self.sliders[name]
        labels = [_value(value) for value in slider.values]
        return (
            f'<label class="explore-control"><span>{_text(self.label(name))}</span>'
            f'<input type="range" min="0" max="{len(labels) - 1}" step="1" value="{slider.first}" '
            f'autocomplete="off" data-labels="{_attr(json.dumps(labels, ensure_ascii=False))}" '
            f'aria-valuetext="{_attr(labels[slider.first])}">'
            f'<output aria-hidden="true">{_text(labels[slider.first])}</output></label>'
        )

    def _ipython_display_(self):
        if static():
            display({"text/html": self.html(), "text/plain": self.text()}, raw=True)
        else:
            display(HTML(f"<b>{_text(self.title)}</b>"))
            display(self.widget())


# --- figures that follow a run --------------------------------------------------------------


@contextmanager
def live(draw: Callable[[list], Figure], *, seconds: float = 1.0) -> Iterator[Callable]:
    """Show a figure that is drawn anew as values come in.

    In ``with live(draw) as see:``, ``see(value)`` takes a value more (so it can be a trainer's
    ``on_record``), and ``draw(values)`` draws all of them so far, at most once in so many
    seconds, and once more at the end. With ``BOOK_STATIC=1`` it is drawn at the end alone.
    """
    values, handle, due = [], None, 0.0

    def show() -> None:
        nonlocal handle
        figure = draw(list(values))
        if handle is None:
            handle = display(figure, display_id=not static() or None)
        else:
            handle.update(figure)
        plt.close(figure)

    def see(value: object) -> None:
        nonlocal due
        values.append(value)
        if not static() and time.monotonic() >= due:
            show()
            due = time.monotonic() + seconds

    try:
        yield see
    finally:
        if values:
            show()


# --- predictions ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """Where a curve is to be sketched: positions along x, the range of y, a line per name."""

    x: Sequence
    y: tuple[float, float]
    names: Sequence[str] = ("your guess",)
    x_label: str = ""
    y_label: str = ""

    def __post_init__(self):
        if len(self.x) < 2:
            raise ValueError(f"x must hold at least two positions, got {list(self.x)}")
        if not self.y[0] < self.y[1]:
            raise ValueError(f"y must be a range (low, high) with low < high, got {self.y}")


def predict(
    question: str,
    choices: Sequence[str] | None = None,
    *,
    number: bool = False,
    curve: Curve | None = None,
    wrong: Mapping | None = None,
) -> "Prediction":
    """Ask for a guess before a result is shown: a choice, a number or a sketched curve.

    Args:
        question: what is asked; `code` in backquotes is set as code.
        choices: the answers to choose from; exactly one of them has no entry in ``wrong``.
        number, curve: ask for a number, or for a curve (a ``Curve``), instead.
        wrong: a reply to each mistaken choice (or number), naming what leads there.
    Returns: the prediction, displayed; call its ``reveal`` with the computed result.
    Raises: ValueError when it is not one of the three kinds, or a reply is missing or stray.
    """
    if sum((choices is not None, number, curve is not None)) != 1:
        raise ValueError("give exactly one of choices=[…], number=True and curve=Curve(…)")
    replies = dict(wrong or {})
    if choices is not None:
        unanswered = [choice for choice in choices if choice not in replies]
        stray = [reply for reply in replies if reply not in choices]
        if len(unanswered) != 1 or stray:
            raise ValueError(
                "wrong must hold a reply to every choice but the right one: "
                f"without a reply are {unanswered}, not among the choices {stray}"
            )
    prediction = Prediction(question, choices, curve, replies)
    prediction.show()
    return prediction


class Prediction:
    """A question put to the reader; ``guess`` is None until they lock one."""

    def __init__(self, question, choices, curve: Curve | None, replies: dict):
        self.question, self.choices, self.curve, self.replies = question, choices, curve, replies
        self.kind = "choice" if choices is not None else "curve" if curve else "number"
        self.key = "p" + hashlib.sha256(question.encode()).hexdigest()[:8]
        self.guess = None
        self._when_locked = []

    def show(self) -> None:
        """Display the question and its form."""
        if static():
            display({"text/html": self._form(), "text/plain": self._plain()}, raw=True)
        else:
            display(self._form_widget())

    def reveal(self, answer, because: str = "") -> None:
        """Show the computed result, and the reader's guess against it.

        Args:
            answer: the choice, the number, or for each named curve its values along x.
            because: a sentence of explanation, shown with the result.
        Raises: ValueError when the result is a choice that ``wrong`` calls a mistake, or does
            not have the form that was asked for.
        """
        answer = self._checked(answer)
        if static():
            plain = f"Result: {self._say(answer)}. {because}".strip()
            display({"text/html": self._result(answer, because), "text/plain": plain}, raw=True)
        else:
            display(self._result_widget(answer, because))

    def lock(self, guess) -> None:
        """Take the guess; it cannot be changed afterwards."""
        if self.guess is None:
            self.guess = guess
            for tell in self._when_locked:
                tell()

    def reply(self, answer) -> str:
        """What to say to the guess that was locked, given the result."""
        if self.kind == "curve":
            return SAID["curve"]
        if self.kind == "choice":
            right = self.guess == answer
            reply = self.replies.get(self.guess, "")
        else:
            right = _near(self.guess, answer)
            reply = next((r for n, r in self.replies.items() if _near(self.guess, n)), "")
        verdict = SAID["right"] if right else reply or SAID["other"]
        return f"{SAID['guessed']} {self._say(self.guess)}. {verdict}"

    def _checked(self, answer):
        if self.kind == "choice":
            if answer not in self.choices:
                raise ValueError(f"answer must be one of {list(self.choices)}, got {answer!r}")
            if answer in self.replies:
                raise ValueError(f"the result is {answer!r}, which wrong calls a mistake")
            return answer
        if self.kind == "number":
            if not math.isfinite(answer):
                raise ValueError(f"answer must be a finite number, got {answer}")
            return _rounded(float(answer))
        if set(answer) != set(self.curve.names) or any(
            len(answer[name]) != len(self.curve.x) for name in answer
        ):
            raise ValueError(
                f"answer must hold {len(self.curve.x)} values for each of "
                f"{list(self.curve.names)}, got { ({n: len(y) for n, y in answer.items()}) }"
            )
        rounded = {name: [_rounded(float(y)) for y in answer[name]] for name in self.curve.names}
        if not all(map(math.isfinite, itertools.chain(*rounded.values()))):
            raise ValueError(f"answer must hold finite numbers only, got {rounded}")
        return rounded

    def _say(self, answer) -> str:
        if self.kind == "curve":
            return "; ".join(f"{name}: {', '.join(map(_value, y))}" for name, y in answer.items())
        return answer if self.kind == "choice" else _value(answer)

    def _plain(self) -> str:
        return "\n".join([f"Predict. {self.question}", *(f"- {c}" for c in self.choices or ())])

    # -- on the page

    def _form(self) -> str:
        fields = {"choice": self._choices, "number": self._number, "curve": self._sketch}
        return (
            f'<form class="predict" method="dialog" data-key="{self.key}" data-kind="{self.kind}" '
            f'autocomplete="off"><fieldset><legend><b>Predict.</b> {_text(self.question)}</legend>'
            f"{fields[self.kind]()}</fieldset>"
            '<p class="predict-actions"><button type="submit">Lock my guess</button> '
            '<span class="predict-locked" role="status"></span></p></form>'
        )

    def _choices(self) -> str:
        return "".join(
            f'<label><input type="radio" name="{self.key}" value="{_attr(choice)}" required> '
            f"<span>{_text(choice)}</span></label>"
            for choice in self.choices
        )

    def _number(self) -> str:
        return (
            '<label><span>Your guess:</span> <input type="number" step="any" '
            'inputmode="decimal" required></label>'
        )

    def _sketch(self) -> str:
        low, high = self.curve.y
        first = self._first_sketch()
        rows = "".join(
            f'<div class="predict-sliders" role="group" aria-label="{_attr(name)}" '
            f'style="accent-color: {_ink(line)}"><span style="color: {_ink(line)}">'
            f"{_text(name)}</span>"
            + "".join(
                f'<label><span class="visually-hidden">{_text(name)} at {_value(x)}</span>'
                f'<input type="range" min="{low:g}" max="{high:g}" step="{(high - low) / 100:g}" '
                f'value="{first[name][at]:g}" data-line="{line}" data-at="{at}"></label>'
                for at, x in enumerate(self.curve.x)
            )
            + "</div>"
            for line, name in enumerate(self.curve.names)
        )
        return _plot(self.curve, guess=first) + rows

    def _first_sketch(self) -> dict[str, list[float]]:
        """Flat lines, one above the other, for the reader to bend."""
        (low, high), count = self.curve.y, len(self.curve.names)
        heights = [low + (high - low) * (count - line) / (count + 1) for line in range(count)]
        flat = zip(self.curve.names, heights, strict=True)
        return {name: [height] * len(self.curve.x) for name, height in flat}

    def _result(self, answer, because: str) -> str:
        told = {"answer": answer, "close": CLOSE, "said": SAID}
        told["replies"] = {str(key): _text(reply) for key, reply in self.replies.items()}
        said = "" if self.kind == "curve" else f"<p><b>Result:</b> {_text(self._say(answer))}</p>"
        drawn = ""
        if self.kind == "number":
            drawn = self._line(answer)
        elif self.kind == "curve":
            values = f'<p class="visually-hidden">{_text(self._say(answer))}</p>'
            drawn = _plot(self.curve, truth=answer, guess={}) + values
        why = f"<p>{_text(because)}</p>" if because else ""
        return (
            f'<details class="reveal" data-key="{self.key}" data-kind="{self.kind}" '
            f'data-told="{_attr(json.dumps(told, ensure_ascii=False))}">'
            "<summary>Show the result</summary>"
            f'<p class="reveal-guess" role="status"></p>{said}{drawn}{why}</details>'
        )

    def _line(self, answer: float, guess: float | None = None) -> str:
        numbers = [answer, 0.0, *(float(n) for n in self.replies)]
        low, high = min(numbers), max(numbers)
        room = 0.15 * (high - low or 1.0)
        return _number_line(low - room, high + room, answer, guess)

    # -- in a kernel

    def _form_widget(self) -> ipywidgets.Widget:
        question = ipywidgets.HTML(f"<b>Predict.</b> {_text(self.question)}")
        inputs, read, sketch = self._inputs()
        button = ipywidgets.Button(description="Lock my guess", button_style="primary")

        def pressed(_):
            if read() is None:
                button.description = "Answer first"
                return
            self.lock(read())
            for field in [*inputs, button]:
                field.disabled = True
            button.description = "Locked"

        button.on_click(pressed)
        shown = (
            [question, *inputs, button] if sketch is None else [question, sketch, *inputs, button]
        )
        return ipywidgets.VBox(shown)

    def _inputs(self):
        if self.kind == "choice":
            field = ipywidgets.RadioButtons(
                options=self.choices, index=None, layout={"width": "max-content"}
            )
            return [field], lambda: field.value, None
        if self.kind == "number":
            field = ipywidgets.Text(placeholder="a number")
            return [field], lambda: _parsed(field.value), None
        low, high = self.curve.y
        first = self._first_sketch()
        fields = [
            ipywidgets.FloatSlider(
                min=low, max=high, step=(high - low) / 100, value=first[name][0],
                description=f"{name} at {self.curve.x_label or 'x'} = {_value(x)}",
                style={"description_width": "12em"}, layout={"width": "30em"},
            )
            for name in self.curve.names
            for x in self.curve.x
        ]  # fmt: skip
        count, sketch = len(self.curve.x), ipywidgets.HTML()

        def read():
            values = [field.value for field in fields]
            return {
                name: values[line * count : (line + 1) * count]
                for line, name in enumerate(self.curve.names)
            }

        def redraw(_=None):
            sketch.value = _plot(self.curve, guess=read())

        for field in fields:
            field.observe(redraw, "value")
        redraw()
        return fields, read, sketch

    def _result_widget(self, answer, because: str) -> ipywidgets.Widget:
        shown = ipywidgets.HTML("<i>Lock a guess above, or show the result without one.</i>")
        button = ipywidgets.Button(description="Show the result")
        box = ipywidgets.VBox([shown, button])

        def open_it(_=None):
            shown.value = self._verdict(answer, because)
            box.children = [shown]

        button.on_click(open_it)
        self._when_locked.append(open_it)
        if self.guess is not None:
            open_it()
        return box

    def _verdict(self, answer, because: str) -> str:
        parts = [] if self.guess is None else [f"<p>{_text(self.reply(answer))}</p>"]
        if self.kind == "curve":
            parts.append(_plot(self.curve, truth=answer, guess=self.guess or {}))
        else:
            parts.append(f"<p><b>Result:</b> {_text(self._say(answer))}</p>")
        if self.kind == "number":
            parts.append(self._line(answer, self.guess))
        return "".join([*parts, f"<p>{_text(because)}</p>" if because else ""])


# --- small drawings and text, the same in a kernel and on the page ----------------------------

WIDTH, HEIGHT, EDGE, TOP = 440, 220, 44, 20
COLOURS = ("#0072b2", "#b84c00", "#00795a", "#a3487a")  # the page has its own for dark mode
INKS = tuple(f"var(--book-ink-{line}, {colour})" for line, colour in enumerate(COLOURS, start=1))


def _ink(line: int) -> str:
    return INKS[line % len(INKS)]


def _number_line(low: float, high: float, truth: float, guess: float | None) -> str:
    def at(value):
        share = min(max((value - low) / (high - low), 0), 1)
        return f"{EDGE + share * (WIDTH - 2 * EDGE):.1f}"

    place = ' visibility="hidden"' if guess is None else f' x="{at(guess)}"'
    line = 'stroke="currentColor" class="axis"'
    return (
        f'<svg class="number-line" viewBox="0 0 {WIDTH} 64" width="{WIDTH}" height="64" role="img" '
        f'aria-label="A number line with the result at {_value(truth)}" '
        f'data-low="{_value(low)}" data-high="{_value(high)}" data-edge="{EDGE}">'
        f'<line x1="{EDGE}" x2="{WIDTH - EDGE}" y1="34" y2="34" {line}/>'
        f'<line x1="{at(0)}" x2="{at(0)}" y1="30" y2="38" {line}/>'
        f'<text x="{at(0)}" y="52" fill="currentColor" text-anchor="middle">0</text>'
        f'<circle cx="{at(truth)}" cy="34" r="6" fill="{_ink(2)}" class="truth"/>'
        f'<text x="{at(truth)}" y="52" fill="currentColor" text-anchor="middle">'
        f"{_value(truth)}</text>"
        f'<text y="22" fill="{_ink(1)}" text-anchor="middle" class="guess"{place}>'
        "▼ your guess</text></svg>"
    )


def _plot(curve: Curve, *, truth: Mapping | None = None, guess: Mapping | None = None) -> str:
    """An SVG plot of curves over equally spaced positions; the page's script moves the guess."""
    lines = []
    for line, name in enumerate(curve.names):
        ink = f'fill="none" stroke="{_ink(line)}"'
        lines.append(
            f'<polyline class="guess" data-line="{line}" {ink} stroke-width="2" '
            f'stroke-dasharray="5 4" points="{_points(curve, (guess or {}).get(name, []))}"/>'
        )
        if truth:
            points = _points(curve, truth[name])
            lines.append(f'<polyline class="truth" {ink} stroke-width="2.5" points="{points}"/>')
        lines.append(
            f'<text x="{EDGE + 8}" y="{14 + 15 * line}" fill="{_ink(line)}">{_text(name)}</text>'
        )
    low, high = curve.y
    said = f"A plot of {', '.join(curve.names)}: {curve.y_label} against {curve.x_label}"
    return (
        f'<svg class="sketch" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{_attr(said)}" data-low="{low:g}" data-high="{high:g}" '
        f'data-edge="{EDGE}" data-top="{TOP}">{_axes(curve)}{"".join(lines)}</svg>'
    )


def _points(curve: Curve, values: Sequence) -> str:
    (low, high), foot = curve.y, HEIGHT - EDGE
    step = (WIDTH - 2 * EDGE) / (len(curve.x) - 1)
    heights = [(min(max(y, low), high) - low) / (high - low) for y in values]
    return " ".join(
        f"{EDGE + at * step:.1f},{foot - height * (foot - TOP):.1f}"
        for at, height in enumerate(heights)
    )


def _axes(curve: Curve) -> str:
    (low, high), foot, middle = curve.y, HEIGHT - EDGE, HEIGHT // 2
    step = (WIDTH - 2 * EDGE) / (len(curve.x) - 1)

    def words(x, y, said, anchor="middle", more=""):
        place = f'x="{x}" y="{y}" text-anchor="{anchor}"{more}'
        return f'<text {place} fill="currentColor">{_text(said)}</text>'

    ticks = [words(f"{EDGE + at * step:.1f}", foot + 16, _value(x)) for at, x in enumerate(curve.x)]
    return (
        f'<path d="M{EDGE} {TOP}V{foot}H{WIDTH - EDGE}" fill="none" stroke="currentColor" '
        'class="axis"/>'
        + words(EDGE - 6, foot, f"{low:g}", "end")
        + words(EDGE - 6, TOP + 4, f"{high:g}", "end")
        + "".join(ticks)
        + words(WIDTH // 2, HEIGHT - 8, curve.x_label)
        + words(12, middle, curve.y_label, more=f' transform="rotate(-90 12 {middle})"')
    )


def _svg(figure: Figure) -> str:
    """The figure as a small SVG that is the same on every run; closes the figure."""
    stored = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "transformers-worked-out", "svg.fonttype": "none"}):
        figure.savefig(stored, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return small_svg(stored.getvalue())


def small_svg(svg: str) -> str:
    """The same picture in fewer bytes: two decimals in coordinates, nothing that is not drawn."""
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r'(?<= d=")[^"]*|(?<= [xy]=")[^"]*|translate\([^)]*\)', _shorter, svg)
    return re.sub(r">\s+<", "><", svg).strip()


def _shorter(match: re.Match) -> str:
    return re.sub(r"(\.\d\d)\d+", r"\1", re.sub(r"\s+", " ", match.group()))


def _size(svg: str) -> tuple[int, int]:
    """Width and height in CSS pixels; matplotlib writes a view box in points."""
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups()
    return round(float(width) * 4 / 3), round(float(height) * 4 / 3)


def _pack(pictures: list[str], sentences: list[str]) -> str:
    """Pictures and sentences as compressed JSON; elements that pictures share stand once."""
    pieces: dict[str, int] = {}
    frames = [
        [pieces.setdefault(piece, len(pieces)) for piece in re.split(r"(?<=>)", picture)]
        for picture in pictures
    ]
    packed = {"pieces": list(pieces), "frames": frames, "sentences": sentences}
    raw = json.dumps(packed, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def _data_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _text(words: str) -> str:
    """Plain words as HTML; `code` and *emphasis* are the only markup."""
    marked = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(words, quote=False))
    return re.sub(r"\*(\S|\S[^*]*\S)\*", r"<em>\1</em>", marked)


def _attr(words: str) -> str:
    return html.escape(words.replace("`", ""))


def _value(value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _near(guess: float, number: float) -> bool:
    return abs(guess - number) <= CLOSE * (abs(number) or 1)


def _parsed(words: str) -> float | None:
    try:
        return float(words.replace(",", "."))
    except ValueError:
        return None
