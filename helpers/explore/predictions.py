"""Predictions: a guess is asked for, and the result shown beside it."""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from IPython.display import display

from helpers.explore.page import attribute, display_still, ipywidgets, shown, still, text

CLOSE = 0.1  # a guessed number within a tenth of the answer counts as right (of 1, for a 0)
SAID = {  # what is said to a guess, here and by the page's script
    "guessed": "You guessed",
    "right": "That is right.",
    "other": "That is not it.",
    "curve": "Dashed: your sketch. Solid: what was computed.",  # only in what is stored so far
}


def predict(
    question: str,
    choices: Sequence[str] | None = None,
    *,
    number: bool = False,
    wrong: Mapping | None = None,
) -> "Prediction":
    """Ask for a guess before a result is shown: a choice or a number.

    Args:
        question: what is asked; `code` in backquotes is set as code.
        choices: the answers to choose from; exactly one of them has no entry in ``wrong``.
        number: ask for a number instead.
        wrong: a reply to each mistaken choice (or number), naming what leads there.
    Returns: the prediction, displayed; call its ``reveal`` with the computed result.
    Raises: ValueError when it is not one of the two kinds, or a reply is missing or stray.
    """
    if (choices is None) != number:
        raise ValueError("give either choices=[…] or number=True")
    prediction = Number(question, wrong) if choices is None else Choice(question, choices, wrong)
    prediction.show()
    return prediction


class Prediction(ABC):
    """A question put to the reader; ``guess`` is None until they lock one.

    What the two kinds have in common: how they are asked, locked and revealed, on the page and
    in a kernel. A kind says which input it has, how it shows a result, and what answer it takes.
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
            answer: the choice or the number.
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
    def _input(self) -> "tuple[ipywidgets.Widget, Callable[[], object]]":
        """The input in a kernel, and what reads it (None where nothing is given)."""

    def _say(self, answer) -> str:
        return shown(answer)

    def _quoted(self, guess) -> str:
        return self._say(guess)

    def _same(self, guess, answer) -> bool:
        return guess == answer

    def _plain(self) -> str:
        return f"Predict. {self.question}"

    def _drawn(self, answer, guess=None) -> str:
        """The result in words; a number also on a line, which may have the guess on it."""
        return f"<p><b>Result:</b> {text(self._say(answer))}</p>"

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
            f"{self._drawn(answer)}{why}</details>"
        )

    # -- in a kernel

    def _form_widget(self) -> "ipywidgets.Widget":
        question = ipywidgets.HTML(f"<b>Predict.</b> {text(self.question)}")
        field, read = self._input()
        button = ipywidgets.Button(description="Lock my guess", button_style="primary")

        def pressed(_):
            if read() is None:
                button.description = "Answer first"
                return
            self.lock(read())
            field.disabled = button.disabled = True
            button.description = "Locked"

        button.on_click(pressed)
        return ipywidgets.VBox([question, field, button])

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

    def _input(self):
        layout = {"width": "max-content"}
        field = ipywidgets.RadioButtons(options=self.choices, index=None, layout=layout)
        return field, lambda: field.value


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

    def _input(self):
        field = ipywidgets.Text(placeholder="a number")
        return field, lambda: _parsed(field.value)


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _parsed(words: str) -> float | None:
    try:
        return float(words.replace(",", "."))
    except ValueError:
        return None


WIDTH, EDGE = 440, 44  # of a number line


def number_line(low: float, high: float, truth: float, guess: float | None) -> str:
    """An SVG number line from low to high with the result, and a place for the guess."""

    def at(value):
        share = min(max((value - low) / (high - low), 0), 1)
        return f"{EDGE + share * (WIDTH - 2 * EDGE):.1f}"

    place = ' visibility="hidden"' if guess is None else f' transform="translate({at(guess)})"'
    line = 'stroke="currentColor" class="axis"'
    return (
        f'<svg class="number-line" viewBox="0 0 {WIDTH} 64" width="{WIDTH}" height="64" role="img" '
        f'aria-label="A number line with the result at {shown(truth)}" '
        f'data-low="{low:g}" data-high="{high:g}" data-edge="{EDGE}">'
        f'<line x1="{EDGE}" x2="{WIDTH - EDGE}" y1="34" y2="34" {line}/>'
        f'<line x1="{at(0)}" x2="{at(0)}" y1="30" y2="38" {line}/>'
        f'<text x="{at(0)}" y="52" fill="currentColor" text-anchor="middle">0</text>'
        f'<circle cx="{at(truth)}" cy="34" r="6" fill="var(--book-ink-3, #00795a)" class="truth"/>'
        f'<text x="{at(truth)}" y="52" fill="currentColor" text-anchor="middle">'
        f"{shown(truth)}</text>"
        f'<g fill="var(--book-ink-2, #b84c00)" text-anchor="middle" class="guess"{place}>'
        '<text y="11">your guess</text><text y="26">▼</text></g></svg>'
    )
