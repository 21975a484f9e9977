"""A private part for problem set 05, to copy into a folder of your own and to change.

What stands here is not in the book and not on its site; keep your copy out of public repositories.
`make homework CHAPTER=05 OUT=course SEED=autumn-2027 PRIVATE=folder` merges it into the release.
How each kind of addition works: homework/private.py.
"""

import numpy as np

from helpers import numerics
from helpers.chapters.ch05_attention_by_hand.exercises import FOX, KEYS
from helpers.exercises.verdict import Wrong, array, call, close
from homework.private import ProblemSet

own = ProblemSet()
WORDS = {"cross": 1, "stream": 2, "because": 3, "it": 4}


@own.draw
def numbers(rng) -> dict:
    """What is drawn from the seed: other courses have another word and another ratio."""
    word = rng.choice(sorted(WORDS))
    return {"word": word, "place": WORDS[word], "ratio": rng.choice([3, 4, 5, 6, 8])}


# A test of an exercise of the book that students do not see. `says` is all that they are told.


@own.hidden("05.1", points=1, says="entries that are whole numbers")
def whole_numbers(answer) -> None:
    """An array of whole numbers cannot be divided in place."""
    query, keys = np.array([2, 1]), np.array([[3, 0], [0, 3], [1, 2]])
    found = array(call(answer, query, keys), (3,), "The result")
    if not close(found, numerics.softmax(keys @ query / 2**0.5)):
        raise Wrong(f"It gives {found} for whole numbers.")


@own.hidden("05.2", points=1, says="one query alone")
def one_query(answer) -> None:
    """A single query must not be taken for a vector."""
    rng = np.random.default_rng(5)
    q, k, v = rng.standard_normal((1, 4)), rng.standard_normal((6, 4)), rng.standard_normal((6, 3))
    found = array(call(answer, q, k, v), (1, 3), "The output")
    if not close(found, numerics.attention(q, k, v)):
        raise Wrong("It is wrong for one query and six keys.")


# A task in the place of the book's, with numbers of this course.

own.leave_out("05.4")
own.task(
    "05.4",
    question="""
**Find the query.** Take `keys` as given above, in the order of `words`. Give a query `my_query`, an
array of two numbers, with which *fox* is read {{ ratio }} times as much as *{{ word }}*: the ratio
of the two weights, with scores divided by √D, is {{ ratio }} to within one per cent.

<details><summary>Hint</summary>

What is the ratio of two weights of one softmax, in terms of the two scores?
</details>
""",
    stub="my_query = (..., ...)",
    answer="my_query",
    check="""
assert np.shape(my_query) == (2,), "Give an array of two numbers."
assert np.isfinite(np.asarray(my_query, dtype=float)).all(), "The numbers should be finite."
print("The form is right; the ratio is tested when you hand in.")
""",
    solution="""
apart = keys[0] - keys[{{ place }}]
my_query = np.log({{ ratio }}) * 2**0.5 * apart / (apart @ apart)
""",
)


@own.hidden("05.4", points=2, says="the ratio of the two weights")
def ratio_of_weights(answer, place, ratio) -> None:
    """Of fox and the word that was drawn."""
    weights = numerics.softmax(KEYS @ array(answer, (2,), "The query") / 2**0.5)
    if not abs(weights[FOX] / weights[place] / ratio - 1) < 0.01:
        raise Wrong(f"The ratio is {weights[FOX] / weights[place]:.3g}, not {ratio}.")


# A question that a person marks.

own.free(
    "05.51",
    question="""
**Where does the comparison break down?** "Attention is a dictionary: you look a query up among the
keys and get the value." In a few sentences: what is right about this, and what is not?
""",
    rubric={
        "Query, key and value play the parts they have in a lookup": 1,
        "All values come back, mixed by weight, not one of them": 1,
        "A match is a matter of degree (a dot product), so no key is ever missing": 1,
    },
)
