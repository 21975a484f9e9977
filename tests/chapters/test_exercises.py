"""The exercises: a stub is told "Not yet", a solution "Right", a wrong answer what is wrong.

Most exercises are tables, which hold their right and their wrong answers themselves. What is in no
table is in a chapter's wrong_answers.py, in two dictionaries by the exercise's name: RIGHT[name] is
a list of answers, WRONG[name] a list of (answer, fragment), where the fragment is what the message
must say to be of help.
"""

import copy
import importlib
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from support import CHECKED, NOTEBOOKS, TAUGHT, chapter, exercises

from helpers import minillama
from helpers.chapters import judges
from helpers.exercises import (
    EXPLANATIONS,
    Diagnosis,
    NearMisses,
    NumericNearMisses,
    Verdict,
    check,
)
from helpers.exercises import verdict as verdicts
from helpers.exercises.pieces import Piece

CHECKS = judges()
FUNCTIONS, VALUES, DIAGNOSES = (
    sorted(name for name, judge in CHECKS.items() if isinstance(judge, kind))
    for kind in (NearMisses, NumericNearMisses, Diagnosis)
)
PIECES = [name for name in FUNCTIONS if isinstance(CHECKS[name], Piece)]
ANSWERS = [
    importlib.import_module(f"chapters.{path.parent.name}.wrong_answers")
    for path in sorted(Path(__file__).parent.glob("ch*/wrong_answers.py"))
]
RIGHT = {name: answers for module in ANSWERS for name, answers in module.RIGHT.items()}
WRONG = {name: answers for module in ANSWERS for name, answers in module.WRONG.items()}


def has_form(message: str, template: str) -> bool:
    """Whether a message is a reply with its {…} filled in."""
    return re.fullmatch(re.sub(r"\\\{.*?\\\}", ".*", re.escape(template)), message) is not None


# ------------------------------------------------------------- all are covered


def test_every_exercise_has_right_and_wrong_answers():
    open_questions = set(CHECKS) - {*FUNCTIONS, *VALUES, *DIAGNOSES}
    assert set(RIGHT) == open_questions
    assert set(WRONG) >= open_questions


def test_exercises_of_a_chapter_are_those_of_its_notebook():
    asked = {name for path in NOTEBOOKS for name in exercises(chapter(path))}
    here = {path.stem[:2] for path in NOTEBOOKS}
    known = {name for name in (*CHECKS, *EXPLANATIONS) if name[:2] in here}
    assert known - asked == set(), "no cell tagged check asks for these"
    assert asked - known == set(), "no judge knows these"


# ------------------------------------------------------------- tables


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_wrong_function_gets_its_own_reply(name):
    judge = CHECKS[name]
    for reply in judge.replies:
        for wrong in judge.wrong_functions(reply):
            with np.errstate(all="ignore"):
                verdict = check(name, wrong)
            assert verdict.state == "Not right"
            assert has_form(verdict.message, judge.prefix + reply), (verdict.message, reply)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in PIECES])
@pytest.mark.parametrize("give", [np.asarray, np.float32, torch.tensor, np.ndarray.tolist])
def test_reference_is_right_in_each_form_of_its_result(name, give):
    right = CHECKS[name].right

    def in_this_form(part):
        return give(np.asarray(part))

    def answer(*given):
        value = right(*given)
        return tuple(map(in_this_form, value)) if isinstance(value, tuple) else in_this_form(value)

    assert check(name, answer) == Verdict("Right")


@pytest.mark.parametrize("name", PIECES)
def test_piece_of_the_book_is_right(name):
    assert check(name, CHECKS[name].right) == Verdict("Right")


@pytest.mark.parametrize("path", TAUGHT, ids=lambda path: path.stem[:2])
def test_homework_notes_torch_where_the_question_asks_for_numpy(path):
    cells = chapter(path).cells
    for name in (n for n in FUNCTIONS if n.startswith(path.stem[:2])):
        [question] = [c.source for c in cells if f"> **Exercise {name[-1]}.**" in c.source]
        asked = re.search(r"in NumPy|(?<!is )an? NumPy array (of shape|with)", question)
        assert CHECKS[name].numpy == bool(asked), f"{name} has numpy=True if it asks for NumPy"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("05.1", lambda *case: CHECKS["05.1"].right(*case) + 0j),
        ("05.1", lambda *case: [str(weight) for weight in CHECKS["05.1"].right(*case)]),
    ],
)
def test_right_numbers_that_are_not_what_was_asked_for_are_refused(name, answer):
    assert check(name, answer).state == "Not right"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_that_gives_something_else_is_told_so(name):
    right = CHECKS[name].right
    for wrong in (
        lambda *given: np.nan * np.asarray(right(*given), dtype=float),
        lambda *given: np.ones((2, 9, 2)),
        lambda *given: "text",
        lambda *given: right(*given, *given),
    ):
        verdict = check(name, wrong)
        assert verdict.state == "Not right"
        assert len(verdict.message) > 20
    assert check(name, lambda *given: None).state == "Not yet"


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if CHECKS[name].unchanged])
def test_function_that_changes_its_arguments_is_told_so(name):
    changed = []

    def answer(*given):
        result = CHECKS[name].right(*copy.deepcopy(given))
        for part in (one for x in given for one in (x if type(x) is tuple else [x])):
            if type(part) in (list, np.ndarray) and np.any(part):
                part[:] = part[::-1] if isinstance(part, list) else 2 * part
                changed.append(part)
        return result

    message = check(name, answer).message
    assert message == (CHECKS[name].unchanged if changed else "")


@pytest.mark.parametrize("name", VALUES)
def test_each_wrong_number_gets_its_own_reply(name):
    judge = CHECKS[name]
    assert check(name, np.float32(judge.right)).state == "Right"
    for reply, numbers in judge.replies.items():
        for number in numbers:
            message = check(name, number).message
            assert has_form(message, reply)
            assert f"{judge.right:.3g}" not in message, "it gives the answer away"
    assert check(name, -judge.right).message == judge.positive
    assert "should have shape" in check(name, [1.0, 2.0]).message
    for number in (1e-3 * judge.right, 1e3 * judge.right):
        assert check(name, number).state == "Not right"


@pytest.mark.parametrize("name", DIAGNOSES)
def test_diagnosis_says_how_many_students_are_right(name):
    bugs = CHECKS[name].bugs
    one = next(iter(bugs))
    assert check(name, bugs) == Verdict("Right")
    for answer, says in (
        (dict.fromkeys(bugs, bugs[one]), f"1 of the 4 are right ({one})"),
        (dict(zip(bugs, reversed(bugs.values()), strict=True)), "0 of the 4 are right"),
        ({**bugs, one: "wrong sign"}, "'wrong sign' is not one of the 4"),
        ({**bugs, one: ""}, f"Still open: {one}."),
        ({one: bugs[one]}, "an entry for each of"),
        (list(bugs.values()), "Give a dictionary"),
    ):
        assert says in check(name, answer).message


class MyGroupedQueryAttention(torch.nn.Module):
    """With Hugging Face's names and a mask in a buffer."""

    def __init__(self, C, H, G, base):
        super().__init__()
        self.D, self.base = C // H, base
        self.q_proj = torch.nn.Linear(C, C, bias=False)
        self.k_proj = torch.nn.Linear(C, G * self.D, bias=False)
        self.v_proj = torch.nn.Linear(C, G * self.D, bias=False)
        self.o_proj = torch.nn.Linear(C, C, bias=False)
        self.register_buffer("mask", torch.ones(64, 64, dtype=torch.bool).tril())

    def forward(self, x_BTC):
        T, projections = x_BTC.shape[1], (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (p(x_BTC).unflatten(-1, (-1, self.D)).transpose(1, 2) for p in projections)
        q, k = (minillama.rotate(x, 0, self.base) for x in (q, k))
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, self.mask[:T, :T])
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


def test_piece_may_have_buffers_and_names_of_its_own():
    assert check("14.4", MyGroupedQueryAttention) == Verdict("Right")


class MyLoRA(minillama.LoRA):
    """Both matrices begin at random, so the layer is not what it was."""

    def __init__(self, linear, rank, alpha):
        super().__init__(linear, rank, alpha)
        torch.nn.init.normal_(self.b, std=0.01)


def test_piece_is_judged_by_what_it_begins_with():
    assert "begins otherwise" in check("16.3", MyLoRA).message


def test_merge_that_gives_nothing_back_is_told_so():
    forgets = type("MyLoRA", (minillama.LoRA,), {"merge": lambda self: None})
    assert "`merge` should return" in check("16.3", forgets).message


def test_words_without_spaces_are_counted():
    for words in (
        "冻结的层仍然要全部计算，所以并不会更快。",
        "凍結された層も計算されるので速くならない。",
    ):
        assert check("16.6", words) is EXPLANATIONS["16.6"]


# ------------------------------------------------------------- answers in no table


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_right_answer_is_called_right(name):
    for answer in RIGHT[name]:
        verdict = check(name, answer)
        assert verdict.state == "Right", verdict.message


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_answer_is_told_what_is_wrong(name):
    for answer, fragment in WRONG[name]:
        verdict = check(name, answer)
        assert verdict.state == "Not right", answer
        assert fragment in verdict.message


# ------------------------------------------------------------- answers in words


@pytest.mark.parametrize("name", sorted(EXPLANATIONS))
def test_words_are_shown_beside_a_good_answer(name):
    for nothing in (None, ..., "", "  ", "It cancels.", 3, ["a"] * 20):
        assert check(name, nothing).state == "Not yet"
    for words in (EXPLANATIONS[name].model, "What the student says is right, as far as I can see."):
        assert check(name, words) is EXPLANATIONS[name]
    assert check(name, solution=True) is EXPLANATIONS[name]


def test_explanation_shows_three_or_four_points_to_tick():
    for name, explanation in EXPLANATIONS.items():
        assert 3 <= len(explanation.points) <= 4, name
        shown, plain = explanation._repr_html_(), repr(explanation)
        assert shown.count('<input type="checkbox">') == len(explanation.points)
        for text in (explanation.model, *explanation.points):
            assert text in plain
            assert text in shown


def test_homework_gives_a_mark_for_each_point_of_a_good_answer():
    points = {
        found[1]: cell.metadata["nbgrader"]["points"]
        for path in NOTEBOOKS
        for cell in chapter(path).tagged("check")
        if (found := CHECKED.search(cell.source)) and found[1] in EXPLANATIONS
    }
    assert points == {name: len(explanation.points) for name, explanation in EXPLANATIONS.items()}


# ------------------------------------------------------------- in the notebooks


def verdict_of(cell) -> str:
    """What a check cell displays, as text; nbval holds it to what the cell says on each run."""
    shown = [o.data.get("text/plain", "") for o in cell.outputs if "data" in o]
    return shown[-1] if shown else ""


@pytest.mark.parametrize("path", TAUGHT, ids=lambda path: path.stem)
def test_untouched_stubs_are_told_not_yet_and_solutions_right(path):
    for tag, state in (("check", "Not yet"), ("solution", ("Right", "A good answer"))):
        said = {cell.id: verdict_of(cell) for cell in chapter(path).tagged(tag)}
        assert said
        assert {cell: words for cell, words in said.items() if not words.startswith(state)} == {}


# ------------------------------------------------------------- whatever is typed

numbers = st.one_of(st.floats(), st.integers(-5, 5), st.complex_numbers(), st.booleans())
things = st.recursive(
    st.one_of(
        st.none(),
        st.just(...),
        numbers,
        st.text(max_size=60),
        st.binary(max_size=5),
        st.builds(lambda n: np.ones(n), st.lists(st.integers(0, 3), max_size=3)),
        st.builds(lambda n: torch.ones(n), st.lists(st.integers(0, 3), max_size=3)),
        st.just(np.array(["a", None], dtype=object)),
        st.just(object()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.tuples(inner, inner),
        st.tuples(inner, inner, inner),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
        inner.map(lambda value: lambda *_, **__: value),
    ),
    max_leaves=6,
)


def raising(error):
    def answer(*_, **__):
        raise error

    return answer


@pytest.mark.parametrize("name", sorted(CHECKS))
@settings(max_examples=20)  # of each of a hundred exercises
@given(answer=things)
def test_check_never_raises(name, answer):
    verdict = check(name, answer)
    assert isinstance(verdict, Verdict)
    assert verdict.state in ("Not yet", "Not right", "Right")
    assert verdict.state == "Right" or verdict.message
    assert f"<b>{verdict.state}.</b>" in verdict._repr_html_()
    assert repr(verdict).startswith(verdict.state)


@pytest.mark.parametrize(
    "error", [NotImplementedError(), ZeroDivisionError("division by zero"), KeyError("x")]
)
def test_functions_that_fail_are_told_so_or_not_yet(error):
    assert [name for name in CHECKS if check(name, raising(error)).state == "Right"] == []


@pytest.mark.parametrize("nothing", [None, ..., "", "  ", (), [], {}, (..., 1), {"a": None}])
def test_nothing_is_not_yet(nothing):
    assert {check(name, nothing).state for name in CHECKS} <= {"Not yet"}


# ------------------------------------------------------------- verdicts


def test_an_unknown_exercise_is_named():
    with pytest.raises(ValueError, match=r"'99\.9'"):
        check("99.9", 1)


def test_message_is_no_markup():
    shown = Verdict("Not right", "<b> & 'x'")._repr_html_()
    assert "&lt;b&gt; &amp; 'x'" in shown
    assert 'class="verdict verdict-not-right"' in shown
    assert repr(Verdict("Right")) == "Right."


@pytest.mark.parametrize("value", [torch.ones(2, requires_grad=True), [1, 1], (1.0, 1.0)])
def test_array_takes_what_holds_numbers(value):
    assert verdicts.array(value, (2,), "It").tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("value", "says"), [([1, 2, 3], r"\(2,\), yours has \(3,\)"), ([1, np.inf], "finite")]
)
def test_array_says_what_is_wrong(value, says):
    with pytest.raises(verdicts.Wrong, match=says):
        verdicts.array(value, (2,), "It")


def test_call_tells_apart():
    assert verdicts.call(lambda x: x + 1, 1) == 2
    with pytest.raises(verdicts.NotYet):
        verdicts.call(lambda: None)
    with pytest.raises(verdicts.NotYet):
        verdicts.call(raising(NotImplementedError()))
    with pytest.raises(verdicts.Wrong, match="ZeroDivisionError: by zero"):
        verdicts.call(raising(ZeroDivisionError("by zero")))
    with pytest.raises(verdicts.Wrong, match="A function is asked for, this is int"):
        verdicts.call(3)
