"""Checks for chapter 17, answers that can be checked."""

import math

import numpy as np

from helpers import exercises as ex
from helpers.exercises import check as check


def _less(rewards, mean):
    return np.asarray(rewards) - mean


ex.near_misses(
    "17.1",
    lambda rewards: rewards - rewards.mean(axis=1, keepdims=True),
    [
        (np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]]),),
        (np.array([[0.94, -0.06], [0.61, 0.44], [0.2, 0.9]]),),
    ],
    {
        "You subtracted the mean of all rewards; each question has a mean of its own.": (
            lambda rewards: _less(rewards, rewards.mean())
        ),
        "You took the mean over the questions; take it over the answers to one question.": (
            lambda rewards: _less(rewards, rewards.mean(axis=0))
        ),
        "The sign is wrong: an answer better than its group has a positive advantage.": (
            lambda rewards: rewards.mean(axis=1, keepdims=True) - rewards
        ),
        "You divided by the standard deviation, too. That is GRPO's; here it stays out.": (
            lambda r: (
                _less(r, r.mean(axis=1, keepdims=True)) / (r.std(axis=1, keepdims=True) + 1e-8)
            ),
            lambda r: (
                _less(r, r.mean(axis=1, keepdims=True))
                / (r.std(axis=1, keepdims=True, ddof=1) + 1e-8)
            ),
        ),
        "You subtracted the sum of the group; subtract its mean.": (
            lambda rewards: _less(rewards, rewards.sum(axis=1, keepdims=True))
        ),
        "These are the rewards themselves.": lambda rewards: 1.0 * rewards,
        "Subtract the mean, not the median.": (
            lambda rewards: _less(rewards, np.median(rewards, axis=1, keepdims=True))
        ),
    },
)


def _push(p, drawn, advantages, baseline=1.0):
    return advantages @ (np.eye(len(p))[drawn] - baseline * p) / len(drawn)


ex.near_misses(
    "17.2",
    _push,
    [
        (np.array([0.5, 0.25, 0.25]), np.array([0, 0, 1, 2]), np.array([-0.5, -0.5, 0.5, 0.5])),
        (np.array([0.7, 0.2, 0.1]), np.array([2, 0, 2]), np.array([1.0, 0.0, 0.5])),
        (np.array([0.1, 0.6, 0.2, 0.1]), np.array([1, 3]), np.array([0.25, 1.5])),
    ],
    {
        "Every logit is also pushed down, by its probability times the advantage.": (
            lambda p, drawn, advantages: _push(p, drawn, advantages, baseline=0.0)
        ),
        "Divide by the number of answers that were drawn.": (
            lambda p, drawn, advantages: len(drawn) * _push(p, drawn, advantages)
        ),
        "You divided by the number of logits; divide by that of the answers.": (
            lambda p, drawn, advantages: len(drawn) / len(p) * _push(p, drawn, advantages)
        ),
        "The sign is wrong: an answer with a positive advantage should gain.": (
            lambda p, drawn, advantages: -_push(p, drawn, advantages)
        ),
        "You multiplied by the probability of the answer. A probable one is drawn more often, "
        "and that is weight enough.": (
            lambda p, drawn, advantages: _push(p, drawn, advantages * p[drawn])
        ),
        "You divided by the probability, as for a gradient of p. This one is of log p, for the "
        "logits.": lambda p, drawn, advantages: _push(p, drawn, advantages / p[drawn]),
        "The advantages play no part.": (
            lambda p, drawn, advantages: _push(p, drawn, np.ones(len(drawn)))
        ),
    },
    numpy=True,
)


def _loss(logits, targets, rewards, group, *, sums=True, of=None, counted=None, sign=1):
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    counts = targets >= 0 if counted is None else counted(targets)
    nats = -np.take_along_axis(log_p, np.maximum(targets, 0)[..., None], axis=-1)[..., 0] * counts
    each = nats.sum(axis=1) if sums else nats.sum(axis=1) / counts.sum(axis=1)
    grouped = rewards.reshape(-1, group)
    advantages = (of or (lambda r: r - r.mean(axis=1, keepdims=True)))(grouped).ravel()
    return sign * (advantages * each).mean()


def _case(seed, B, T, V, group):
    rng = np.random.default_rng(seed)
    targets = rng.integers(V, size=(B, T))
    ends = rng.integers(2, T, size=B)
    targets[:, 0] = -100
    targets[np.arange(T) > ends[:, None]] = -100
    return rng.normal(size=(B, T, V)), targets, np.round(rng.random(B), 2), group


ex.near_misses(
    "17.3",
    _loss,
    [_case(0, 4, 5, 3, 2), _case(1, 6, 4, 5, 3)],
    {
        "You took the mean over an answer's tokens. Its −log p is their sum, or short answers "
        "would weigh more.": lambda *given: _loss(*given, sums=False),
        "The mean is taken over all answers; each group has its own.": (
            lambda *given: _loss(*given, of=lambda r: r - r.mean())
        ),
        "The rewards are not compared with the mean of their group.": (
            lambda *given: _loss(*given, of=lambda r: r)
        ),
        "The groups are mixed: the answers to one question follow each other.": (
            lambda logits, targets, rewards, group: _loss(
                logits,
                targets,
                rewards,
                group,
                of=lambda r: r - np.tile(r.reshape(group, -1).mean(axis=0), group).reshape(r.shape),
            )
        ),
        "Tokens with the target −100 count, too.": (
            lambda *given: _loss(*given, counted=lambda targets: np.ones_like(targets))
        ),
        "The sign is wrong: this loss falls where answers below the mean become more probable.": (
            lambda *given: _loss(*given, sign=-1)
        ),
        "You divided by the standard deviation, too. That is GRPO's; here it stays out.": (
            lambda *given: _loss(
                *given,
                of=lambda r: (r - r.mean(axis=1, keepdims=True)) / r.std(axis=1, keepdims=True),
            ),
            lambda *given: _loss(
                *given,
                of=lambda r: (
                    (r - r.mean(axis=1, keepdims=True)) / r.std(axis=1, keepdims=True, ddof=1)
                ),
            ),
        ),
        "You added up over the answers; take their mean.": (
            lambda *given: len(given[2]) * _loss(*given)
        ),
    },
    "For these logits yours is {found:.4g}: not right.",
    numpy=True,
)

ex.near_misses(
    "17.4",
    lambda n, right, k: 1 - math.comb(n - right, k) / math.comb(n, k),
    [(16, 4, 2), (10, 3, 5), (8, 6, 4), (5, 0, 3)],
    {
        "That is for draws with replacement. You have n answers, and choose k different ones.": (
            lambda n, right, k: 1 - (1 - right / n) ** k
        ),
        "This is how often one answer is right; it doesn't hang on k.": (
            lambda n, right, k: right / n
        ),
        "This is how often none of the k is right.": (
            lambda n, right, k: math.comb(n - right, k) / math.comb(n, k)
        ),
        "This is how often all of the k are right; one is enough.": (
            lambda n, right, k: math.comb(right, k) / math.comb(n, k)
        ),
        "You added up the chances of the k answers. Two may be right at once.": (
            lambda n, right, k: k * right / n,
            lambda n, right, k: min(1.0, k * right / n),
        ),
        "This is how often exactly one of the k is right.": (
            lambda n, right, k: right * math.comb(n - right, k - 1) / math.comb(n, k)
        ),
    },
    "For n = {n}, right = {right} and k = {k} yours is {found:.3f}: not right.",
)

ex.near_misses(
    "17.5",
    lambda p, chance: math.ceil(math.log(1 - chance) / math.log(1 - p) - 1e-9),
    [(0.05, 0.9), (0.0002, 0.5), (0.3, 0.9), (0.25, 0.578125)],
    {
        "Where the result is whole, as for p = 0.25 and chance = 0.578125, rounding may leave it a "
        "little too large. Take off 1e-9 before you round up.": (
            lambda p, chance: math.ceil(math.log(1 - chance) / math.log(1 - p))
        ),
        "This is the mean wait for the first one, whatever the chance.": (
            lambda p, chance: 1 / p,
            lambda p, chance: math.ceil(1 / p),
        ),
        "You added up the chances. The answer may come twice, so it takes more.": (
            lambda p, chance: chance / p,
            lambda p, chance: math.ceil(chance / p),
        ),
        "After that many the chance that it was NOT seen is still too large. Which of the two "
        "does `chance` stand for?": (
            lambda p, chance: math.ceil(math.log(chance) / math.log(1 - p))
        ),
        "One more is needed: round up.": (
            lambda p, chance: math.floor(math.log(1 - chance) / math.log(1 - p))
        ),
        "Samples come whole: round up.": (lambda p, chance: math.log(1 - chance) / math.log(1 - p)),
        "That's one too many.": (
            lambda p, chance: math.ceil(math.log(1 - chance) / math.log(1 - p) - 1e-9) + 1
        ),
        "log(1 − p) is only nearly −p; for a large p it matters.": (
            lambda p, chance: math.ceil(-math.log(1 - chance) / p)
        ),
    },
    "For p = {p} and chance = {chance} yours is {found:.0f}: not right.",
)

ex.explanation(
    "17.6",
    "The mean reward says how often the checker accepted an answer, and no more. It also rises if "
    "the model finds answers that the checker accepts though they are wrong, like *far near*. To "
    "know whether the model got better, one counts right answers by another measure, for which it "
    "was not paid, before and after, and reads some of them.",
    "The reward is what the checker accepts, which need not be what was wanted.",
    "It may rise because the model found a gap in the checker.",
    "Another measure, for which the model was not paid, has to say whether it got better.",
)

ex.spoken(
    "17.4",
    "What does yours give for pass_at_k(10, 3, 2), and why isn't it 1 − 0.7²?",
    "The picks are different answers, so the second is one of nine: 1 − 7/10 · 6/9. With 0.7² the "
    "same wrong answer could be picked twice.",
)
