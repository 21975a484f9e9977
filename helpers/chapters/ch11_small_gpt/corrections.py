"""A misconception of chapter 11: how a GPT writes."""

from itertools import pairwise

from helpers import corpus
from helpers.corrections import corrects


@corrects(
    claim="A GPT writes by taking the most likely next token each time.",
    says="“It always predicts the most probable next word.”",
    why="It gives a probability to every token. To take the likeliest is one way to choose, and "
    "it tends to run in circles. Usually the next token is drawn at random, by its probability.",
    section="How boldly should it write?",
)
def the_likeliest_runs_in_circles() -> str:
    """Where the likeliest next character leads in a bigram table of the tales."""
    text, path = corpus.load(), "T"
    while path.count(path[-1]) < 2:
        after = [b for a, b in pairwise(text) if a == path[-1]]
        path += max(sorted(set(after)), key=after.count)
    circle = len(path) - 1 - path.index(path[-1])
    return (
        f"In the bigram table of the tales, the likeliest path from T is “{path}”, and then "
        f"the same {circle} characters for ever."
    )
