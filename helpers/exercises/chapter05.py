"""Checks for chapter 05, attention worked by hand."""

import numpy as np

from helpers import numerics
from helpers.exercises.verdict import Wrong, array, call, close, exercise, explained

KEYS = np.array([[1.2, 0.2], [-0.9, 0.3], [0.1, 1.2], [-0.5, -0.8], [0.6, -0.6]])
FOX, STREAM = 0, 2
BUGS = {
    "Ada": "softmax down the columns",
    "Ben": "no scaling",
    "Cleo": "keys in place of values",
    "Dan": "divided by D",
}


def _example(queries: int, keys: int, width: int, seed: int):
    rng = np.random.default_rng(seed)
    shapes = ((queries, width), (keys, width), (keys, 3))
    return tuple(rng.standard_normal(shape) for shape in shapes)


@exercise("05.1")
def _weights(answer) -> None:
    q, k, _ = _example(1, 5, 9, seed=1)
    found = array(call(answer, q[0].copy(), k.copy()), (5,), "The result")
    scores = k @ q[0]
    if close(found, numerics.softmax(scores / 3)):
        return
    if close(found, scores / 3):
        raise Wrong("These are the scaled scores. One step is left: making them shares of 1.")
    if close(found, numerics.softmax(scores)):
        raise Wrong("The scores were not scaled before softmax.")
    if close(found, numerics.softmax(scores / 9)):
        raise Wrong("The scores were divided by D; it should be its root.")
    if close(found, numerics.softmax(scores / np.sqrt(5))):
        raise Wrong("You divided by the root of the number of keys, T; D is the length of a key.")
    if not np.isclose(found.sum(), 1):
        raise Wrong(f"The weights should sum to 1; yours sum to {found.sum():.3f}.")
    raise Wrong("The weights sum to 1 but are not those of softmax(q·k / √D).")


@exercise("05.2")
def _attention(answer) -> None:
    q, k, v = _example(4, 6, 9, seed=2)
    value = call(answer, q.copy(), k.copy(), v.copy())
    found = array(value, (4, 3), "The output, one row a query,")
    scores = q @ k.T
    if close(found, numerics.attention(q, k, v)):
        return
    if close(found, numerics.softmax(scores / 3, axis=0) @ v):
        raise Wrong("Softmax runs down the columns here: the weights of one query do not sum to 1.")
    if close(found, numerics.softmax(scores) @ v):
        raise Wrong("The scores were not scaled before softmax.")
    if close(found, numerics.softmax(scores / 9) @ v):
        raise Wrong("The scores were divided by D; it should be its root.")
    if close(found, scores @ v / 3):
        raise Wrong("The scores were used as weights as they are, without softmax.")
    raise Wrong("The shape is right, the numbers are not. Compare each step with the four steps.")


def which_bug():
    """q, k, v of three tokens of width 4, and four students' outputs, each with one mistake.

    Returns: q, k, v (3, 4), and a dict from the student's name to an output (3, 4).
    """
    rng = np.random.default_rng(7)
    q, k, v = (np.round(rng.normal(size=(3, 4)), 1) for _ in range(3))
    scores = q @ k.T
    softmax = numerics.softmax
    outputs = {
        "no scaling": softmax(scores) @ v,
        "divided by D": softmax(scores / 4) @ v,
        "softmax down the columns": softmax(scores / 2, axis=0) @ v,
        "keys in place of values": softmax(scores / 2) @ k,
    }
    return q, k, v, {student: outputs[bug] for student, bug in BUGS.items()}


@exercise("05.3")
def _which_bug(answer) -> None:
    if not isinstance(answer, dict) or set(answer) != set(BUGS):
        raise Wrong(f"Give a dictionary with an entry for each of {', '.join(BUGS)}.")
    unknown = sorted({str(bug) for bug in answer.values()} - set(BUGS.values()))
    if unknown:
        raise Wrong(f"{unknown[0]!r} is not one of the four mistakes on the list.")
    right = sum(answer[student] == bug for student, bug in BUGS.items())
    if right < len(BUGS):
        raise Wrong(f"{right} of the 4 are right. Make each mistake on purpose and compare.")


@exercise("05.4")
def _setting(answer) -> None:
    angle, length = array(answer, (2,), "The answer (angle, length)")
    query = length * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    weights = numerics.softmax(KEYS @ query / np.sqrt(2))
    fox, stream = weights[FOX], weights[STREAM]
    if abs(fox - stream) > 0.02:
        more = "fox" if fox > stream else "stream"
        raise Wrong(f"Here {more} is read more: fox {fox:.2f}, stream {stream:.2f}.")
    if fox + stream < 0.95:
        raise Wrong(f"They are level, but together they take only {fox + stream:.2f}.")


@exercise("05.5")
def _self_reading(answer) -> None:
    x = np.asarray(answer, dtype=np.float64)
    if x.ndim != 2 or len(x) < 2:
        raise Wrong(f"Give an array of shape (T, D) with at least two tokens, not {x.shape}.")
    if not np.isfinite(x).all():
        raise Wrong("The embeddings should be finite numbers.")
    scores = x @ x.T
    if (scores.max(axis=1) > np.diag(scores) + 1e-9).any():
        return
    if np.allclose(np.linalg.norm(x, axis=1), np.linalg.norm(x[0])):
        raise Wrong("All your vectors are equally long; then the claim holds. What if they differ?")
    raise Wrong("Here every token still reads itself most. Which of them could another outdo?")


@exercise("05.6")
def _bias_on_keys(answer) -> None:
    explained(
        answer,
        {
            "how the added number compares from key to key": r"same|constant|equal|every score",
            "what softmax does with it": r"cancel|ignor|invariant|unchanged|no effect|not see|"
            r"unaffected|does not change|leaves",
            "why not all weights can grow": r"sum|add up|share|total",
        },
    )


@exercise("05.7")
def _previous_token(answer) -> None:
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise Wrong("Give the three arrays as a tuple (q, k, v).")
    q, k, v = (np.asarray(part, dtype=np.float64) for part in answer)
    if q.ndim != 2 or q.shape != k.shape or len(q) != 5:
        raise Wrong(f"q and k should both have shape (5, D); they have {q.shape} and {k.shape}.")
    if not np.array_equal(v, np.eye(5)):
        raise Wrong("v should be the 5 by 5 identity matrix.")
    output = numerics.attention(q, k, v)
    off = np.abs(output[1:] - v[:-1]).max(axis=1)
    if (off <= 0.001).all():
        return
    token = int(off.argmax()) + 1
    most = int(output[token].argmax())
    if most != token - 1:
        raise Wrong(f"Token {token} reads token {most} most.")
    raise Wrong(
        f"Token {token} reads the right one, but only with weight {output[token, most]:.4f}."
    )
