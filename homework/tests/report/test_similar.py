"""Answers that are alike are found, whatever their names and layout; what is everybody's is not."""

import pytest
from submissions import course, solved

from homework.report.similar import groups, lines_of

OWN = """
def my_weights(query, keys):
    total = []
    for k in keys:
        s = 0.0
        for a, b in zip(query, k):
            s += a * b
        total.append(s / len(query) ** 0.5)
    big = max(total)
    e = [np.exp(t - big) for t in total]
    return np.array(e) / sum(e)
"""
COPY = OWN.replace("total", "scores").replace("big", "m").replace("s = 0.0", "s   = 0.0 # start")
OTHER = """
def my_weights(query, keys):
    root = np.sqrt(query.shape[0])
    raw = np.einsum("d,td->t", query, keys)
    raw = raw / root
    raw -= np.amax(raw)
    powers = np.power(np.e, raw)
    whole = powers.sum(axis=0)
    return np.divide(powers, whole)
"""
WORDS = (
    "A dictionary gives back one value for a key that is exactly there. Attention gives back a "
    "little of every value, more of those whose keys are near. So nothing has to fit exactly! "
    "What it costs is that all keys are looked at each time. The weights come out of a softmax "
    "of scores. And they can be learnt because a softmax has a derivative."
)


def own(student, code="", words=""):
    texts = {"05.1": (code,), "05.8": (words,)}
    return student, {task: cells for task, cells in texts.items() if any(cells)}


def test_a_copy_with_other_names_spaces_and_comments_is_found_with_its_lines():
    answers = dict([own("ada", OWN), own("eve", COPY), own("kim", OTHER)])
    (group,) = groups(answers, course("05"))
    assert group.members == ("ada", "eve")
    assert group.pairs[0].share == 1
    assert "05.1: e = [np.exp(t - big) for t in total]" in group.pairs[0].lines
    assert "05.1: def my_weights(query, keys):" not in group.pairs[0].lines  # which was given


def test_prose_is_compared_by_sentences():
    answers = dict([own("ada", words=WORDS), own("eve", words=WORDS.upper())])
    found = groups(answers, course("05"))
    assert [group.members for group in found] == [("ada", "eve")]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (OWN, OTHER),
        (OWN, ""),
        ("total = 1", "total = 1"),
        ("def f(", "def f("),
    ],
)
def test_others_are_not_alike(mine, theirs):
    assert groups(dict([own("ada", mine), own("eve", theirs)]), course("05")) == []


def test_what_the_book_has_counts_for_nothing():
    assignment = course("05")
    texts = solved() | {task.name: task.stub.source for task in assignment.tasks if task.free}
    free = {task.name for task in assignment.tasks if task.free}
    one = {
        task: (f"{text} {assignment.tasks[5].solution}" if task in free else text,)
        for task, text in texts.items()
    }
    assert groups({"ada": one, "eve": one}, assignment) == []


def test_a_whole_class_is_one_group():
    names = [f"s{number:03d}" for number in range(200)]
    copies = dict(own(name, OWN.replace("big", f"big_{name}")) for name in names)
    (group,) = groups(copies, course("05"))
    assert group.members == tuple(names)
    assert len(group.pairs) + group.more == 199 * 200 // 2


def test_groups_of_two_copies_stay_two():
    answers = [own("a", OWN), own("b", COPY), own("c", OTHER), own("d", OTHER)]
    found = groups(dict(answers), course("05"))
    assert [group.members for group in found] == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("text", ["", "def f(:", "x" * 10**5, "x=" * 10**4, "%%bash\nls", "\0"])
def test_whatever_an_answer_is_it_has_lines(text):
    assert all(does and line for does, line in lines_of(text))
