"""Checks for chapter 05, attention worked by hand."""

from itertools import pairwise

import numpy as np

from helpers import exercises as ex
from helpers import numerics
from helpers.exercises import check as check
from helpers.numerics import softmax

KEYS = np.array([[1.2, 0.2], [-0.9, 0.3], [0.1, 1.2], [-0.5, -0.8], [0.6, -0.6]])
FOX = 0
MAX_TOKENS = 1000  # of exercise 5, whose scores are as many squared


def _examples(*sizes: tuple[int, int, int, int]):
    """Random queries, keys and values for each of (queries, keys, width, seed)."""
    for queries, keys, width, seed in sizes:
        rng = np.random.default_rng(seed)
        shapes = ((queries, width), (keys, width), (keys, 3))
        yield tuple(rng.standard_normal(shape) for shape in shapes)


def _weights(query, keys, *, root=None):
    return softmax(keys @ query / (len(query) ** 0.5 if root is None else root))


def _one_softmax(scores):
    """Over all scores at once."""
    return np.exp(scores) / np.exp(scores).sum()


def _not_weights(found, query, keys) -> str:
    scores = keys @ query
    if not np.isclose(found.sum(), 1):
        return f"The weights should sum to 1; yours sum to {found.sum():.3f}."
    if (found < 0).any() or ex.close(found, scores / scores.sum()):
        return "These are scores divided by their sum. Did you take exponentials?"
    return "The weights sum to 1 but are not those of softmax(q·k / √D)."


ex.near_misses(
    "05.1",
    _weights,
    [(q[0], k) for q, k, _ in _examples((1, 5, 9, 1), (1, 7, 8, 2))],
    {
        "These are the scaled scores. One step is left: making them shares of 1.": (
            lambda q, k: k @ q / len(q) ** 0.5
        ),
        "The scores were not scaled before softmax.": lambda q, k: _weights(q, k, root=1),
        "The scores were divided by D; it should be its root.": (
            lambda q, k: _weights(q, k, root=len(q))
        ),
        "You divided by the root of the number of keys; D is the width of a key.": (
            lambda q, k: _weights(q, k, root=len(k) ** 0.5)
        ),
    },
    _not_weights,
    numpy=True,
)


def _attend(q, k, v, *, root=None, axis=-1):
    scores = q @ k.T / (q.shape[1] ** 0.5 if root is None else root)
    return softmax(scores, axis=axis) @ v


ex.near_misses(
    "05.2",
    numerics.attention,
    _examples((4, 6, 9, 2), (5, 7, 8, 3)),
    {
        "Softmax runs down the columns here: the weights of one query do not sum to 1.": (
            lambda q, k, v: _attend(q, k, v, axis=0)
        ),
        "One softmax runs over the whole matrix; each query needs its own.": (
            lambda q, k, v: _one_softmax(q @ k.T / q.shape[1] ** 0.5) @ v
        ),
        "The scores were not scaled before softmax.": lambda q, k, v: _attend(q, k, v, root=1),
        "The scores were divided by D; it should be its root.": (
            lambda q, k, v: _attend(q, k, v, root=q.shape[1])
        ),
        "You divided by the root of the wrong number: D is the width of a key.": tuple(
            lambda q, k, v, of=of: _attend(q, k, v, root=of(q, k, v) ** 0.5)
            for of in (lambda q, k, v: len(q), lambda q, k, v: len(k), lambda q, k, v: v.shape[1])
        ),
        "The scores were used as weights as they are, without softmax.": (
            lambda q, k, v: q @ k.T @ v / q.shape[1] ** 0.5
        ),
    },
    "The shape is right, the numbers are not. Compare each step with the four steps.",
    what="The output, one row a query,",
    numpy=True,
)


BUGS = {
    "Ada": ("softmax down the columns", lambda q, k, v: _attend(q, k, v, axis=0)),
    "Ben": ("no scaling", lambda q, k, v: _attend(q, k, v, root=1)),
    "Cleo": ("keys in place of values", lambda q, k, v: _attend(q, k, k)),
    "Dan": ("divided by D", lambda q, k, v: _attend(q, k, v, root=4)),
}


which_bug = ex.diagnosis(
    "05.3",
    BUGS,
    "Make each mistake on purpose and compare.",
    7,
    lambda rng: [np.round(rng.normal(size=(3, 4)), 1) for _ in range(3)],
)


WORDS = ("fox", "cross", "stream", "because", "it")
NEIGHBOURS = list(pairwise([0, 2, 1, 3, 4, 0]))  # on the rubber band round the keys


def _angle_and_length(first, second, least, most, **_):
    """Perpendicular to what lies between two keys, away from the others."""
    a, b = (KEYS[WORDS.index(word)] for word in (first, second))
    angle = np.degrees(np.arctan2(*(a - b)[::-1])) - 90
    direction = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    if direction @ (a - KEYS.mean(axis=0)) < 0:
        angle, direction = angle + 180, -direction
    lengths = np.linspace(0.5, 40, 4000)
    shares = softmax(np.outer(lengths, KEYS @ direction) / np.sqrt(2))
    together = shares[:, [WORDS.index(first), WORDS.index(second)]].sum(axis=1)
    return angle, lengths[int((together >= (least + min(most, 0.99)) / 2).argmax())]


def _two_words(rng):
    a, b = rng.choice(NEIGHBOURS)
    share = rng.randint(80, 95) / 100
    bounds = {"least": share, "most": share + 0.02}
    how = f"between {share:.2f} and {share + 0.02:.2f}"
    return {
        "first": WORDS[a],
        "second": WORDS[b],
        "together": how,
        "sliders": "The sliders",
        **bounds,
    }


@ex.exercise("05.4")
def _setting(answer, first="fox", second="stream", least=0.95, most=1.0, **_) -> None:
    angle, length = ex.array(answer, (2,), "The answer (angle, length)")
    query = length * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    weights = softmax(KEYS @ query / np.sqrt(2))
    a, b = weights[WORDS.index(first)], weights[WORDS.index(second)]
    if abs(a - b) > 0.02:
        raise ex.Wrong(f"Here {first} gets {a:.3f} and {second} {b:.3f}: {abs(a - b):.3f} apart.")
    if not least <= a + b <= most:
        only = "only " if a + b < least else ""
        raise ex.Wrong(f"They are level, but together they take {only}{a + b:.3f}.")


ex.values(
    "05.4",
    _two_words,
    _angle_and_length,
    "*{first}* and *{second}* can be read equally",
    "together they take {together}.",
    "{sliders} show you roughly",
    first="fox",
    second="stream",
    together="at least 0.95",
    sliders="No setting of the sliders does it, but they",
    least=0.95,
    most=1.0,
)


@ex.exercise("05.5")
def _self_reading(answer) -> None:
    x = ex.numbers(answer)
    if x.ndim != 2 or len(x) < 2:
        raise ex.Wrong(f"Give an array of shape (T, D) with at least two tokens, not {x.shape}.")
    if len(x) > MAX_TOKENS:
        raise ex.Wrong(f"{len(x):,} tokens; a few suffice, at most {MAX_TOKENS:,} are taken.")
    if not np.isfinite(x).all():
        raise ex.Wrong("The embeddings should be finite numbers.")
    x = x / max(np.abs(x).max(), 1e-300)  # the claim does not depend on the scale
    scores = x @ x.T
    if (scores.max(axis=1) > np.diag(scores) * (1 + 1e-9) + 1e-12).any():
        return
    if np.allclose(np.linalg.norm(x, axis=1), np.linalg.norm(x[0])):
        raise ex.Wrong(
            "All your vectors are equally long; then the claim holds. What if they differ?"
        )
    raise ex.Wrong("Here every token still reads itself most. Which of them could another outdo?")


ex.explanation(
    "05.6",
    "For one query the bias adds the same constant q·b to every score of its row, and softmax "
    "ignores a constant of the row: it cancels. The weights sum to 1 before and after, so they "
    "cannot all grow; in fact none of them changes.",
    "For one query, b adds the same number q·b to the score of every key.",
    "Softmax ignores what all scores of a row share, so no weight changes.",
    "The weights sum to 1, so they cannot all grow.",
)


def _sources(rng):
    order = rng.sample(range(5), 5)
    while any(order[t] in (t, t - 1) for t in range(5)):
        rng.shuffle(order)
    said = ", ".join(f"token {t} that of token {order[t]}" for t in range(1, 5))
    wanted = f"token 0 receives the value of token {order[0]}, {said}, each to within 0.001"
    return {"title": "Read one token", "wanted": wanted, "which": "token to read", "order": order}


@ex.exercise("05.7")
def _previous_token(answer, order=(None, 0, 1, 2, 3), **_) -> None:
    q, k, v = map(ex.numbers, ex.unpacked(answer, 3, "Give the three arrays as a tuple (q, k, v)."))
    if q.ndim != 2 or q.shape != k.shape or len(q) != 5:
        raise ex.Wrong(f"q and k should both have shape (5, D); they have {q.shape} and {k.shape}.")
    if not np.array_equal(v, np.eye(5)):
        raise ex.Wrong("v should be the 5 by 5 identity matrix.")
    output = numerics.attention(q, k, v)
    off = [
        0 if at is None else np.abs(row - v[at]).max()
        for row, at in zip(output, order, strict=True)
    ]
    if np.max(off) <= 0.001:
        return
    token = int(np.argmax(off))
    most = int(output[token].argmax())
    if most != order[token]:
        raise ex.Wrong(f"Token {token} reads token {most} most.")
    raise ex.Wrong(
        f"Token {token} reads the right one, but only with weight {output[token, most]:.5f}."
    )


ex.values(
    "05.7",
    _sources,
    lambda order=(0, 0, 1, 2, 3), **_: (30 * np.eye(5)[[*order]], np.eye(5), np.eye(5)),
    "**{title}.**",
    "so that {wanted}. Give",
    "the key of the {which},",
    title="Read the token before",
    wanted="token t receives the value of token t − 1 to within 0.001, for t = 1 … 4; token 0 may "
    "receive anything",
    which="token before",
)

ex.spoken(
    "05.4",
    "How did you find your angle, and what is the length for?",
    "Perpendicular to the difference of the keys, towards them; the length sets their share.",
)
