"""A private part for problem set 15; 05.py explains each kind of addition."""

import numpy as np

from helpers.exercises.verdict import Wrong, array, call, close, unpacked
from homework.private import ProblemSet

own = ProblemSet()


@own.draw
def model_and_card(rng) -> dict:
    """Billions of parameters, bits each, layers, heads of keys and values; gigabytes of memory."""
    shape = {"billions": rng.choice([7, 8, 9]), "L": rng.choice([28, 32, 40])}
    return shape | {
        "bits": rng.choice([4, 5, 8]),
        "G": rng.choice([4, 8]),
        "memory": rng.choice([12, 16]),
    }


@own.hidden("15.3", points=1, says="a part in which every key is masked")
def all_masked(answer) -> None:
    """Its m is minus infinity, its s and o are 0: it adds nothing."""
    part, nothing = (1.0, 1.5, np.array([2.0, -1.0])), (-np.inf, 0.0, np.zeros(2))
    for pair in ((part, nothing), (nothing, part)):
        found = unpacked(call(answer, *pair), 3, "Return three.")
        if not all(close(a, np.asarray(b)) for a, b in zip(found, part, strict=True)):
            raise Wrong("A part without any key changes the result.")


own.task(
    "15.51",
    question="""**Does the conversation fit?** A model has {{ billions }} billion parameters of
{{ bits }} bits, {{ L }} layers, and {{ G }} heads of keys and values of width 128. Its cache is in
16 bits, and the card has {{ memory }} GB (of 10⁹ bytes), of which 1 GB is kept free for everything
else. How long can a conversation be, in tokens?""",
    stub="my_tokens = ...",
    answer="my_tokens",
    solution="""
left = ({{ memory }} - 1 - {{ billions }} * {{ bits }} / 8) * 1e9
my_tokens = left // (2 * {{ L }} * {{ G }} * 128 * 2)
""",
)


@own.hidden("15.51", points=2, says="the number of tokens, to a tenth of a per cent")
def tokens(answer, billions, bits, L, G, memory) -> None:
    """Bytes that are left, over bytes of a token."""
    right = (memory - 1 - billions * bits / 8) * 1e9 / (512 * L * G)
    if not close(array(answer, (), "The number"), right, 1e-3):
        raise Wrong(f"{answer} tokens, not {right:.0f}.")


own.free(
    "15.52",
    question="""**A personal touch.** An assistant has the same 6,000 tokens of instructions for
everybody, and a server that keeps their cache. Somebody proposes to put the user's name in front of
them. What does that cost, and what do you propose instead?""",
    rubric={
        "Keys and values depend on all tokens before them, so none after the name can be shared": 1,
        "So the 6,000 tokens pass through the model for each user, who waits, and needs a cache": 1,
        "Put the name behind the instructions": 1,
    },
)
