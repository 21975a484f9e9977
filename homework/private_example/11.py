"""A private part for problem set 11; 05.py explains each kind of addition."""

import numpy as np

from helpers.exercises.verdict import Wrong, array, call, close
from homework.private import ProblemSet

own = ProblemSet()


@own.draw
def budget(rng) -> dict:
    """The vocabulary, and how many thousands of parameters may be spent."""
    return {"V": rng.randrange(60, 160), "most": rng.randrange(700, 3000, 50)}


@own.hidden("11.1", points=1, says="logits in the thousands")
def large_logits(answer) -> None:
    """Whose exponentials overflow where the largest is not taken off first."""
    found = array(call(answer, np.array([2000.0, 2001.0, 1000.0]), 1.0, 2), (3,), "The result")
    if not close(found, np.array([1, np.e, 0]) / (1 + np.e)):
        raise Wrong(f"For logits of 2000, 2001 and 1000 it gives {found}.")


own.task(
    "11.51",
    question="""**Spend a budget.** With {{ V }} characters in the vocabulary and a context of 64,
find a width C and a number of blocks L for our `GPT`, so that it has at most {{ most }},000
parameters and at least 95% of that. C should be a multiple of 4, and between 20 and 70 times L.""",
    stub="C_and_L = (..., ...)",
    answer="C_and_L",
    solution="""
def of_gpt(C, L):
    return L * (12 * C * C + 13 * C) + 2 * C + (2 * {{ V }} + 64) * C

C_and_L = next((C, L) for L in range(2, 9) for C in range(20 * L, 70 * L + 1, 4)
               if 0.95 <= of_gpt(C, L) / {{ most }}_000 <= 1)
""",
)


@own.hidden("11.51", points=2, says="the number of parameters, and the shape")
def spent(answer, V, most) -> None:
    """Counted one after the other, as the class has them."""
    C, L = array(answer, (2,), "The answer")
    attention, network, norms = 4 * C * C + 4 * C, 8 * C * C + 5 * C, 4 * C
    share = (L * (attention + network + norms) + 2 * C + (2 * V + 64) * C) / (1000 * most)
    if C % 4 or L % 1 or not 20 * L <= C <= 70 * L or not 0.95 <= share <= 1:
        raise Wrong(f"C = {C:g} and L = {L:g} take {share:.1%} of the budget.")


own.free(
    "11.52",
    question="""**Does it help?** A student trains the same GPT twice, without dropout and with 0.1.
The validation losses are 1.503 and 1.497. "Dropout helps," he writes. What would you ask him to do
before you believe it?""",
    rubric={
        "Train each several times with other seeds, and show mean and spread": 1,
        "Give both the learning rate and the steps that suit them best": 1,
        "Say whether 0.006 nats would matter even if they were real": 1,
    },
)
