"""A private part for problem set 03; 05.py explains each kind of addition."""

from collections import Counter
from itertools import pairwise

import numpy as np

from helpers.exercises.verdict import Wrong, array, call, close
from homework.private import ProblemSet

own = ProblemSet()


@own.draw
def text_and_another(rng) -> dict:
    """Three rounds from a to a, which make another text in another order."""
    first, *others = rng.sample(["ab", "acb", "abbc", "acc", "abcb", "acbb"], 3)
    return {"text": "".join([first, *others, "a"]), "another": "".join([*others, first, "a"])}


@own.hidden("03.1", points=1, says="a text of a single token")
def no_pair(answer) -> None:
    """Nothing follows anything, so all rows are uniform."""
    if not close(array(call(answer, [1], 3), (3, 3), "The table"), np.full((3, 3), 1 / 3)):
        raise Wrong("With ids=[1] and V=3 a row is not uniform.")


own.task(
    "03.51",
    question="""**Another text, the same table.** Find a text `my_text` other than "{{ text }}" in
which letters follow each other exactly as often, so that no bigram table tells the two apart.""",
    stub='my_text = ""',
    answer="my_text",
    solution='my_text = "{{ another }}"',
)


@own.hidden("03.51", points=2, says="another text, with the same pairs of neighbours")
def same_pairs(answer, text) -> None:
    """Whatever the order of the rounds."""
    if answer == text or Counter(pairwise(answer)) != Counter(pairwise(text)):
        raise Wrong(f"{answer!r} for {text!r}")


own.free(
    "03.52",
    question="""**Whose table is better?** Ann's bigram table of characters loses 2.4 nats per
character on the validation text. Ben put everything into lower case first, and loses 2.2. "So mine
is the better model," says Ben. What do you answer, and how could the two be compared?""",
    rubric={
        "These are losses of two different texts, with different vocabularies": 1,
        "Ben's text is easier, as nobody has to guess where a capital stands": 1,
        "Compare on one text: put Ann's in lower case, too, or have Ben's predict the capitals": 1,
    },
)
