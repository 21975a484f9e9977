"""Predictions: a guess is asked for, and the result shown beside it."""

import hashlib
import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from IPython.display import display

from helpers.explore.page import attribute, display_still, ipywidgets, shown, still, text
from helpers.explore.sketches import Curve, ink_of, number_line, plot_of

CLOSE = 0.1  # a guessed number within a tenth of the answer counts as right (of 1, for a 0)
SAID = {  # what is said to a guess, here and by the page's script
    "guessed": "You guessed",
    "right": "That is right.",
    "other": "That is not it.",
    "curve": "Dashed: your sketch. Solid: what was computed.",
}


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
    prediction: Prediction
    if choices is not None:
        prediction = Choice(question, choices, replies)
    else:
        prediction = Sketch(question, curve, replies) if curve else Number(question, replies)
    prediction.show()
    return prediction


class Prediction(ABC):
    """A question put to the reader; ``guess`` is None until they lock one.

    What the three kinds have in common: how they are asked, locked and revealed, on the page and
    in a kernel. A kind says which inputs it has, how it draws a result, and what answer it takes.
    """

    kind: str
    wanted: str  # what an answer has to be

    def __init__(self, question: str, replies: Mapping | None = None):
        self.question, self.replies = question, dict(replies or {})
        self.key = "p" + hashlib.sha256(question.encode()).hexdigest()[:8]
        self.guess = None
        self._when_locked: list[Callable[[], None]] = []

    def show(self) -> None:
        """Display the question and its form."""
        if still():
            display_still(self._form(), self._plain())
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
        answer = self._taken(answer)
        if still():
            plain = f"Result: {self._say(answer)}. {because}".strip()
            display({"text/html": self._result(answer, because), "text/plain": plain}, raw=True)
        else:
            display(self._result_widget(answer, because))

    def html(self, answer, because: str = "") -> str:
        """Question and result as the page has them, for a page that is no notebook.

        Arguments and errors as in ``reveal``.
        """
        return self._form() + self._result(self._taken(answer), because)

    def lock(self, guess) -> None:
        """Take the guess; it cannot be changed afterwards."""
        if self.guess is None:
            self.guess = guess
            for show_result in self._when_locked:
                show_result()

    def reply(self, answer) -> str:
        """What to say to the guess that was locked, given the result."""
        replies = (r for mistake, r in self.replies.items() if self._same(self.guess, mistake))
        verdict = next(replies, "") or SAID["other"]
        if self._same(self.guess, answer):
            verdict = SAID["right"]
        return f"{SAID['guessed']} {self._quoted(self.guess)}. {verdict}"

    def _taken(self, answer):
        """The answer as it is stored. Raises ValueError, which names the question."""
        try:
            return self._checked(answer)
        except (TypeError, AttributeError):
            message = f"answer must be {self.wanted}, got {answer!r}"
        except ValueError as error:
            message = str(error)
        raise ValueError(
            f"{message}. The question asked last is “{self.question}”: for another one, run the "
            "cell that asks it, then this one"
        )

    # -- what a kind of prediction is

    @abstractmethod
    def _checked(self, answer):
        """The answer as it is stored. Raises ValueError where it has not the form asked for."""

    @abstractmethod
    def _fields(self) -> str:
        """The inputs of the form on the page."""

    @abstractmethod
    def _inputs(self) -> "tuple[list[ipywidgets.Widget], Callable[[], object], list]":
        """Inputs in a kernel, what reads them (None where nothing is given), what stands above."""

    def _say(self, answer) -> str:
        return shown(answer)

    def _quoted(self, guess) -> str:
        return self._say(guess)

    def _same(self, guess, answer) -> bool:
        return guess == answer

    def _plain(self) -> str:
        return f"Predict. {self.question}"

    def _drawn(self, answer, guess=None) -> str:
        """The result in words or as a drawing, which may have the guess in it."""
        return f"<p><b>Result:</b> {text(self._say(answer))}</p>"

    def _read_out(self, answer) -> str:
        """What a screen reader says of a result that is drawn alone."""
        return ""

    # -- on the page

    def _form(self) -> str:
        return (
            f'<form class="predict" method="dialog" data-key="{self.key}" data-kind="{self.kind}" '
            f'autocomplete="off"><fieldset><legend><b>Predict.</b> {text(self.question)}</legend>'
            f"{self._fields()}</fieldset>"
            '<p class="predict-actions"><button type="submit">Lock my guess</button> '
            '<span class="predict-locked" role="status"></span></p></form>'
        )

    def _result(self, answer, because: str) -> str:
        script = {"answer": answer, "close": CLOSE, "said": SAID}
        script["replies"] = {str(key): text(reply) for key, reply in self.replies.items()}
        why = f"<p>{text(because)}</p>" if because else ""
        return (
            f'<details class="reveal" data-key="{self.key}" data-kind="{self.kind}" '
            f'data-told="{attribute(json.dumps(script, ensure_ascii=False))}">'
            '<summary>Show the result</summary><p class="reveal-guess" role="status"></p>'
            f"{self._drawn(answer)}{self._read_out(answer)}{why}</details>"
        )

    # -- in a kernel

    def _form_widget(self) -> "ipywidgets.Widget":
        question = ipywidgets.HTML(f"<b>Predict.</b> {text(self.question)}")
        inputs, read, above = self._inputs()
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
        return ipywidgets.VBox([question, *above, *inputs, button])

    def _result_widget(self, answer, because: str) -> "ipywidgets.Widget":
        result = ipywidgets.HTML("<i>Lock a guess above, or show the result without one.</i>")
        button = ipywidgets.Button(description="Show the result")
        box = ipywidgets.VBox([result, button])

        def open_it(_=None):
            result.value = self._verdict(answer, because)
            box.children = [result]

        button.on_click(open_it)
        self._when_locked.append(open_it)
        if self.guess is not None:
            open_it()
        return box

    def _verdict(self, answer, because: str) -> str:
        reply = "" if self.guess is None else f"<p>{text(self.reply(answer))}</p>"
        why = f"<p>{text(because)}</p>" if because else ""
        return reply + self._drawn(answer, self.guess) + why


class Choice(Prediction):
    """A choice among named answers. Raises ValueError unless all but one have a reply."""

    kind = "choice"
    wanted = "one of the choices"

    def __init__(self, question: str, choices: Sequence[str], replies: Mapping | None = None):
        super().__init__(question, replies)
        self.choices = choices
        unanswered = [choice for choice in choices if choice not in self.replies]
        stray = [reply for reply in self.replies if reply not in choices]
        if len(unanswered) != 1 or stray:
            raise ValueError(
                "wrong must hold a reply to every choice but the right one: "
                f"without a reply are {unanswered}, not among the choices {stray}"
            )

    def _checked(self, answer):
        if answer not in self.choices:
            raise ValueError(f"answer must be one of {list(self.choices)}, got {answer!r}")
        if answer in self.replies:
            raise ValueError(f"the result is {answer!r}, which wrong calls a mistake")
        return answer

    def _quoted(self, guess) -> str:
        return f"“{guess}”"

    def _plain(self) -> str:
        return "\n".join([super()._plain(), *(f"- {choice}" for choice in self.choices)])

    def _fields(self) -> str:
        return "".join(
            f'<label><input type="radio" name="{self.key}" value="{attribute(choice)}" required> '
            f"<span>{text(choice)}</span></label>"
            for choice in self.choices
        )

    def _inputs(self):
        layout = {"width": "max-content"}
        field = ipywidgets.RadioButtons(options=self.choices, index=None, layout=layout)
        return [field], lambda: field.value, []


class Number(Prediction):
    """A number, right within a tenth."""

    kind = "number"
    wanted = "a number"

    def _checked(self, answer):
        if not math.isfinite(answer):
            raise ValueError(f"answer must be a finite number, got {answer}")
        return _rounded(float(answer))

    def _same(self, guess, answer) -> bool:
        return abs(guess - answer) <= CLOSE * (abs(answer) or 1)

    def _drawn(self, answer, guess=None) -> str:
        numbers = [answer, 0.0, *(float(mistake) for mistake in self.replies)]
        low, high = min(numbers), max(numbers)
        room = 0.15 * (high - low or 1.0)
        return super()._drawn(answer) + number_line(low - room, high + room, answer, guess)

    def _fields(self) -> str:
        return (
            '<label><span>Your guess:</span> <input type="number" step="any" '
            'inputmode="decimal" required></label>'
        )

    def _inputs(self):
        field = ipywidgets.Text(placeholder="a number")
        return [field], lambda: _parsed(field.value), []


class Sketch(Prediction):
    """One or more curves, sketched point by point; there is no right and wrong."""

    kind = "curve"
    wanted = "a dictionary with the values of each curve"

    def __init__(self, question: str, curve: Curve, replies: Mapping | None = None):
        super().__init__(question, replies)
        self.curve = curve

    def reply(self, answer) -> str:
        """What the lines of the drawing are."""
        return SAID["curve"]

    def _checked(self, answer):
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
        return "; ".join(f"{name}: {', '.join(map(shown, y))}" for name, y in answer.items())

    def _drawn(self, answer, guess=None) -> str:
        return plot_of(self.curve, truth=answer, guess=guess or {})

    def _read_out(self, answer) -> str:
        return f'<p class="visually-hidden">{text(self._say(answer))}</p>'

    def _fields(self) -> str:
        low, high = self.curve.y
        first = self._first_sketch()
        rows = "".join(
            f'<div class="predict-sliders" role="group" aria-label="{attribute(name)}" '
            f'style="accent-color: {ink_of(line)}"><span style="color: {ink_of(line)}">'
            f"{text(name)}</span>"
            + "".join(
                f'<label><span class="visually-hidden">{text(name)} at {shown(x)}</span>'
                f'<input type="range" min="{low:g}" max="{high:g}" step="{(high - low) / 100:g}" '
                f'value="{first[name][at]:g}" data-line="{line}" data-at="{at}"></label>'
                for at, x in enumerate(self.curve.x)
            )
            + "</div>"
            for line, name in enumerate(self.curve.names)
        )
        return plot_of(self.curve, guess=first) + rows

    def _first_sketch(self) -> dict[str, list[float]]:
        """Flat lines, one above the other, for the reader to bend."""
        (low, high), count = self.curve.y, len(self.curve.names)
        heights = [low + (high - low) * (count - line) / (count + 1) for line in range(count)]
        flat = zip(self.curve.names, heights, strict=True)
        return {name: [height] * len(self.curve.x) for name, height in flat}

    def _inputs(self):
        low, high = self.curve.y
        first = self._first_sketch()
        fields = [
            ipywidgets.FloatSlider(
                min=low,
                max=high,
                step=(high - low) / 100,
                value=first[name][0],
                description=f"{name} at {self.curve.x_label or 'x'} = {shown(x)}",
                style={"description_width": "12em"},
                layout={"width": "30em"},
            )
            for name in self.curve.names
            for x in self.curve.x
        ]
        count, sketch = len(self.curve.x), ipywidgets.HTML()

        def read():
            values = [field.value for field in fields]
            return {
                name: values[line * count : (line + 1) * count]
                for line, name in enumerate(self.curve.names)
            }

        def redraw(_=None):
            sketch.value = plot_of(self.curve, guess=read())

        for field in fields:
            field.observe(redraw, "value")
        redraw()
        return fields, read, [sketch]


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _parsed(words: str) -> float | None:
    try:
        return float(words.replace(",", "."))
    except ValueError:
        return None
