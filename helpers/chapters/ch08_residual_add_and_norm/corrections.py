"""Misconceptions of chapter 8: what attention, a residual connection and a norm do and don't."""

import numpy as np

from helpers import example
from helpers.corrections import corrects, number, vector
from helpers.numerics import softmax


def _attention(x_TC: np.ndarray) -> np.ndarray:
    """What the running example's first head makes of a sentence."""
    scores_TT = (x_TC @ example.W_Q) @ (x_TC @ example.W_K).T / np.sqrt(2)
    return softmax(scores_TT) @ x_TC @ example.W_V


def _normalised(x_TC: np.ndarray) -> np.ndarray:
    """LayerNorm without ε, γ and β."""
    x_TC = x_TC - x_TC.mean(axis=1, keepdims=True)
    return x_TC / x_TC.std(axis=1, keepdims=True)


@corrects(
    claim="Attention is linear, so without the feed-forward network a Transformer is linear.",
    says="“It only takes weighted sums. All non-linearity is in the feed-forward network.”",
    why="The sum is linear in the values as long as the weights stay the same. But the weights are "
    "a softmax of products of the input with itself, so they change with the input. Only a token "
    "that has nobody else to read is mapped linearly.",
    section="What does the feed-forward network add?",
)
def attention_is_not_linear() -> str:
    """How far attention to twice the input is from twice the attention, for five words and one."""
    missed = []
    for x_TC in (example.X, example.X[:1]):
        once, twice = 2 * _attention(x_TC), _attention(2 * x_TC)
        missed.append(number(100 * np.linalg.norm(twice - once) / np.linalg.norm(once)))
    return (
        f"If we double the five words of the running example, attention's output misses the "
        f"doubled output by {missed[0]} % of its length. With the first word alone it misses it by "
        f"{missed[1]} %."
    )


@corrects(
    claim="A residual connection makes sure that nothing of the input is lost.",
    says="“The original signal is carried along untouched.”",
    why="The next sub-layer gets one vector, the sum, and can't take it apart. The connection "
    "makes it easy to keep x, because a sub-layer that adds little keeps it. A sub-layer can "
    "still take away what it likes.",
    section="What does the residual connection keep?",
)
def the_sum_is_all_there_is() -> str:
    """A sum with its parts exchanged, and what is left if the sub-layer puts out minus x."""
    x, y = example.X[-1], np.array([-0.286, 0.397, 0.429])
    return (
        f"x = {vector(x)} and f(x) = {vector(y)} give {vector(x + y)}, and so they do with the two "
        f"exchanged. If the sub-layer returns −x, what is passed on is {vector(x - x)}."
    )


@corrects(
    claim="LayerNorm keeps the numbers of a deep stack at one size.",
    says="“The norms keep the residual signal at a predictable magnitude.”",
    why="That's so where a norm comes after each addition, as in 2017. In pre-norm models, GPT "
    "among them, the norm is on the branch. Each sub-layer reads numbers of one size, but the sum "
    "is never normalised, and it grows with every layer.",
    section="How fast does the stream grow?",
)
def the_stream_grows() -> str:
    """Root mean square of the stream after 12 and 48 blocks of random sub-layers."""
    after = []
    for order in ("pre-norm", "post-norm"):
        rng, sizes = np.random.default_rng(0), []
        x_TC = _normalised(rng.standard_normal((16, 64)))
        for _ in range(2 * 48):
            f = rng.standard_normal((64, 64)) / 8
            x_TC = x_TC + (_normalised(x_TC) if order == "pre-norm" else x_TC) @ f
            x_TC = x_TC if order == "pre-norm" else _normalised(x_TC)
            sizes.append(f"{np.sqrt((x_TC**2).mean()):.1f}")
        after.append(f"{sizes[23]} after 12 blocks and {sizes[95]} after 48 in {order}")
    return (
        f"The stream begins with a root mean square of 1. With random sub-layers it comes to "
        f"{', and to '.join(after)}."
    )
