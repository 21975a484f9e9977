"""Checks for chapter 15, fast and large."""

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from helpers import exercises as ex
from helpers import minillama
from helpers.exercises import check as check
from helpers.exercises.pieces import drawn, piece


def _all_read(q, k, v, *, is_causal=False):
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)
    return mixed.transpose(1, 2).flatten(2)


def _cached(*, past=True, keeps=True, after=True, out=True, attend=minillama.attend):
    """The forward of cached attention, or one with a mistake."""

    def forward(self, x_BTC):
        old = self.cache
        q, *new = self.attention.project(x_BTC, old[0].shape[2] if old and past else 0)
        pairs = [*zip(old, new, strict=True)] if old else []
        all_of = [torch.cat(pair if after else pair[::-1], dim=2) for pair in pairs] or new
        self.cache = all_of if keeps else new
        k, v = all_of
        mixed_BTC = attend(q, k, v)
        return self.attention.out(mixed_BTC) if out else mixed_BTC

    return forward


piece(
    "15.1",
    minillama.CachedAttention,
    [drawn(minillama.CachedAttention, (24, 6, 2, 100, None), 2, 6, 24, scale=0.3)],
    {
        "Nothing is kept: each call reads its own tokens alone.": (
            lambda self, x_BTC: self.attention(x_BTC)
        ),
        "New tokens are rotated as if they were the first ones. How many came before?": (
            _cached(past=False)
        ),
        "The cache holds the tokens of the last call only.": _cached(keeps=False),
        "New keys and values belong after the old ones.": _cached(after=False),
        "The layer's `out` plays no part.": _cached(out=False),
        "Tokens that come together read those after them, too.": _cached(attend=_all_read),
        "A token that comes alone reads the first key only. Where does the mask put it?": (
            _cached(attend=partial(_all_read, is_causal=True))
        ),
    },
)

BLOCK = np.array([-0.5, 0.1, 0.32, -0.18, 1.0, 0.0, -0.44, 0.72])


def _codes(block, **_):
    return np.ptp(block) / 15, np.round(15 * (block - block.min()) / np.ptp(block))


def _block(rng):
    """Smallest, largest, 0 and another one on a level; four a fifth to two fifths of a step off."""
    scale, zero = rng.choice([0.1, 0.2]), rng.randint(3, 12)
    codes = rng.sample(sorted({*range(1, 15)} - {zero}), 5)
    off = [0, *rng.sample([-0.4, -0.3, -0.2, 0.2, 0.3, 0.4], 4)]
    levels = [0, 15, zero, *(code + part for code, part in zip(codes, off, strict=True))]
    block = [round(scale * (level - zero), 2) for level in levels]
    rng.shuffle(block)
    return {"block": np.array(block), "shown": ", ".join(map(str, block)).replace("-", "−")}


@ex.exercise("15.2")
def _by_pencil(answer, block=BLOCK, **_) -> None:
    scale, codes = ex.unpacked(answer, 2, "Give a scale and a list of eight codes.")
    scale, codes = (
        float(ex.array(scale, (), "The scale")),
        ex.array(codes, (8,), "The list of codes"),
    )
    right, _ = _codes(block)
    if ex.close(scale, np.ptp(block) / 16, 1e-3):
        raise ex.Wrong("Between sixteen levels there are fewer than sixteen steps.")
    if ex.close(scale, block.max() / 15, 1e-3) or ex.close(scale, block.max() / 16, 1e-3):
        raise ex.Wrong("The levels begin at the smallest number of the block, which is negative.")
    if not ex.close(scale, right, 1e-3):
        raise ex.Wrong(f"The scale is not {scale:.4g}. How far is it from smallest to largest?")
    steps = (block - block.min()) / right
    if not ex.close(codes, codes.round()) or codes.min() < 0 or codes.max() > 15:
        raise ex.Wrong("A code is a whole number from 0 to 15.")
    off = np.abs(codes - steps) > 0.5 + 1e-6
    if off.any() and ex.close(codes, np.floor(steps + 1e-6)):
        raise ex.Wrong("You always went down. Which level is nearest?")
    if off.any():
        at = int(off.argmax())
        raise ex.Wrong(f"{block[at]:g} is nearer to another level than to the one with your code.")


ex.values(
    "15.2",
    _block,
    _codes,
    "[{shown}], is to be",
    shown="−0.5, 0.1, 0.32, −0.18, 1.0, 0.0, −0.44, 0.72",
    block=BLOCK,
)
ex.spoken(
    "15.2",
    "How did you get your third code?",
    "The number less the smallest, divided by the scale, to the nearest whole number. The scale is "
    "the distance from smallest to largest in fifteen steps, since there are sixteen levels.",
)


def _merged(a, b):
    (m_a, s_a, o_a), (m_b, s_b, o_b) = a, b
    m = max(m_a, m_b)
    a, b = np.exp(m_a - m), np.exp(m_b - m)
    return m, a * s_a + b * s_b, a * o_a + b * o_b


def _triple(function, a, b):
    """The three parts of what a function makes of two triples."""
    return ex.unpacked(ex.call(function, a, b), 3, "Return a tuple (m, s, o).")


def _swapped(a, b):
    (m_a, s_a, o_a), (m_b, s_b, o_b) = a, b
    m = max(m_a, m_b)
    a, b = np.exp(m - m_a), np.exp(m - m_b)
    return m, a * s_a + b * s_b, a * o_a + b * o_b


def _divided(a, b):
    m, s, o = _merged(a, b)
    return m, s, o / s


ex.near_misses(
    "15.3",
    _merged,
    [
        ((1.0, 1.5, np.array([2.0, -1.0])), (3.0, 2.5, np.array([0.5, 4.0]))),
        ((2.0, 1.2, np.array([1.0, 0.0, 3.0])), (-1.0, 3.0, np.array([2.0, 2.0, -2.0]))),
        ((900.0, 1.0, np.array([1.0])), (-900.0, 1.0, np.array([5.0]))),
    ],
    {
        "Each s belongs to its own m, and can't be added as it is.": (
            lambda a, b: (max(a[0], b[0]), a[1] + b[1], a[2] + b[2])
        ),
        "Your factors have the wrong sign in the exponent: they make the smaller part larger.": (
            _swapped
        ),
        "The o of a triple isn't divided by s yet.": _divided,
        "s is corrected, o is not.": lambda a, b: (*_merged(a, b)[:2], a[2] + b[2]),
        "m is the largest score of both parts.": (
            lambda a, b: (min(a[0], b[0]), *_merged(a, b)[1:])
        ),
    },
    what=("m", "s", "o"),
    run=_triple,
)

DRAFT, TARGET = (0.4, 0.3, 0.2, 0.1), (0.1, 0.4, 0.2, 0.3)


def _verified(draft, target):
    """How often a drafted token is accepted, and the probabilities when it isn't."""
    lacking = np.subtract(target, draft).clip(0)
    return np.minimum(draft, target).sum(), lacking / lacking.sum()


def _two_models(rng):
    """Of two tokens the draft gives too little, of one of them less than of the other."""
    while True:
        draft, target = (tuple(rng.sample(DRAFT, 4)) for _ in range(2))
        lacking = np.subtract(target, draft).clip(0).round(1)
        if len({*lacking}) == 3 and lacking.sum() < 0.45:
            return {"draft": draft, "target": target}


@ex.exercise("15.4")
def _accepted(answer, draft=DRAFT, target=TARGET) -> None:
    accepted, instead = ex.unpacked(answer, 2, "Give a probability and a list of four.")
    accepted = float(ex.array(accepted, (), "The probability"))
    instead = ex.array(instead, (4,), "The list")
    right, probabilities = _verified(draft, target)
    if ex.close(accepted, 1 - right, 1e-3):
        raise ex.Wrong("This is how often a token is rejected.")
    if ex.close(accepted, np.dot(draft, target), 1e-3):
        raise ex.Wrong("Two models that draw independently would agree so often. Here one judges.")
    if not ex.close(accepted, right, 1e-3):
        raise ex.Wrong("The probability is not right. What is Σ q · min(1, p/q), term by term?")
    if ex.close(instead, np.array(target), 1e-3):
        raise ex.Wrong("Drawn from p again, tokens that the draft likes would come too often.")
    if ex.close(instead, np.subtract(target, draft).clip(0), 1e-3):
        raise ex.Wrong("These are the right proportions, but probabilities sum to 1.")
    if not ex.close(instead, probabilities, 1e-2):
        raise ex.Wrong("The list is not right. Which tokens does the draft give too little?")


ex.values(
    "15.4",
    _two_models,
    _verified,
    "q = {draft}, and the target p = {target}.",
    draft=DRAFT,
    target=TARGET,
)


def _best(N, D):
    n = (N * D / 20) ** 0.5
    return n, 20 * n


def _pair(function, N, D):
    """The two parts of what a function makes of a model."""
    return ex.unpacked(ex.call(function, N, D), 2, "Return a pair (parameters, tokens).")


ex.near_misses(
    "15.5",
    _best,
    [(175e9, 300e9), (405e9, 15.6e12), (70e9, 1.4e12)],
    {
        "The 6 is on both sides of the equation, so it cancels.": (
            lambda N, D: ((n := (6 * N * D / 20) ** 0.5), 20 * n)
        ),
        "With 20 n tokens, the operations grow with the square of n.": (
            lambda N, D: ((n := N * D / 20), 20 * n)
        ),
        "You kept the parameters. It is the operations that stay the same.": (
            lambda N, D: (N, 20 * N)
        ),
        "You kept the tokens. It is the operations that stay the same.": lambda N, D: (D / 20, D),
        "Twenty tokens for a parameter, not twenty parameters for a token.": (
            lambda N, D: ((20 * N * D) ** 0.5, (N * D / 20) ** 0.5)
        ),
    },
    "For N={N:g} and D={D:g} yours gives {found:.3g}: not right.",
    what=("The number of parameters", "The number of tokens"),
    run=_pair,
)

ex.explanation(
    "15.6",
    "The one new token still has to be compared with every key in the cache and mixes every value, "
    "and all of them have to be read from memory. So the time for a token grows with the length of "
    "the conversation, slowly at first, because reading the weights takes most of it, and then in "
    "proportion.",
    "The new query is compared with all keys in the cache.",
    "The cache has to be read for every token.",
    "So the time of a token grows with the length.",
)

TURNS = "AAABABBBAABBCAaBCCCBBCbAABCA"  # a letter writes a token, a small one leaves


def _turns(pages: int, size: int):
    """Calls of `append`, `keys` and `leave`, and of each what to expect: keys, or an error."""
    kept: dict[str, list[int]] = {}
    gone: set[str] = set()
    for token, turn in enumerate(TURNS, 1):
        who = turn.upper()
        if turn.islower():
            del kept[who]
            gone.add(who)
            yield ("leave", who), False, kept, gone
        else:
            used = sum(-(-len(keys) // size) for keys in kept.values())
            is_full = used == pages and len(kept.get(who, ())) % size == 0
            yield ("append", who, token), is_full, kept, gone
            if not is_full:
                kept.setdefault(who, []).append(token)
        for one in kept:
            yield ("keys", one), False, kept, gone


def _keys(tokens: list[int], D: int) -> torch.Tensor:
    """A key for each token by its number: none is 0, and no two are alike."""
    return torch.outer(torch.tensor(tokens), torch.arange(1, D + 1)).float()


def _wrong_keys(found, right, others: list[int], is_back: bool) -> str:
    """What is likely to have gone wrong, by which keys are where."""
    T = len(right)
    if is_back:
        return "A conversation that left and comes back is not a new one. What does `leave` forget?"
    if len(found) > T and ex.close(found[:T], right):
        return "`keys` gives the rest of the last page, too. How many tokens are there?"
    first, now = right[:, 0], found[:, 0]
    if np.isin(now, others).any():
        return "A conversation has keys of another one. Has each its own list of pages?"
    if len(now) and now[0] in first[1:]:
        if first[0] in now:
            return "Pages come in the wrong order. In which order did the conversation take them?"
        return "A key is written over an older one: a new page is taken a token too late."
    if (now[:T] == 0).any():
        return "There is an empty row amid the keys: a new page is taken a token too early."
    return "What `keys` gives are not the keys that were appended, in their order."


@ex.exercise("15.7")
def _pages(answer) -> None:
    for pages, size, D in ((4, 3, 2), (12, 1, 3), (3, 4, 2)):
        steps = [step for step, *_ in _turns(pages, size)]
        calls = [(*s[:2], *(_keys([n], D)[0] for n in s[2:])) for s in steps]
        said, pool = ex.within(answer, "calls", (pages, size, D), calls)
        for (step, is_full, kept, gone), what in zip(_turns(pages, size), said, strict=True):
            _judge_call(step, what, is_full, kept, gone, D)
        pool = ex.array(pool, (pages, size, D), "The pool")
        if not np.isin(np.hstack([*kept.values()]), pool[..., 0]).all():
            raise ex.Wrong("The keys are right, but not all of them are in `self.pool`.")


def _judge_call(step, said, is_full: bool, kept, gone, D: int) -> None:
    """Hold what a call gave to what it should. Raises: Wrong."""
    name, who, *_ = step
    raised = said if isinstance(said, str) else ""
    if is_full and not raised.startswith("ValueError"):
        but = f"raises {raised}" if raised else "takes a key all the same"
        raise ex.Wrong(f"When no page is free, `append` should raise a ValueError. Yours {but}.")
    if raised.startswith("ValueError") and name == "append" and not is_full:
        why = "those of one that left are not used again" if gone else "one is taken too early"
        raise ex.Wrong(f"`append` finds no free page where there should be one: {why}.")
    if raised and not is_full:
        raise ex.Wrong(f"`{name}` raises {raised}.")
    if name == "keys":
        if said is None:
            raise ex.NotYet("`keys` gives nothing back. Does it return its result?")
        found, right = ex.numbers(said), _keys(kept[who], D).numpy()
        if found.shape[1:] != right.shape[1:]:
            ex.array(found, right.shape, "What `keys` gives")
        if found.shape != right.shape or not ex.close(found, right):
            others = [n for one, tokens in kept.items() if one != who for n in tokens]
            raise ex.Wrong(_wrong_keys(found, right, others, bool(gone & kept.keys())))
