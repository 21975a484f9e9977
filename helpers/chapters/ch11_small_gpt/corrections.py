"""Misconceptions of chapter 11: how a GPT writes, and what it can learn by heart."""

from itertools import pairwise

import torch

from helpers import corpus, minigpt
from helpers.chapters.lab import seeded
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


@corrects(
    claim="A language model doesn't memorise text, it only learns patterns.",
    says="“Nothing is stored, the model learns the statistics of language.”",
    why="Nothing in the loss forbids it. Characters drawn at random have no pattern, so what the "
    "model recites here it must have learned by heart. How much a model memorises depends on its "
    "size, on the text, and on how often it sees it.",
    section="What happens if the text is too short?",
)
def random_text_is_recited() -> str:
    """How much of a random text a small GPT, trained on it alone, recites from its beginning."""
    shares = []
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        ids = torch.randint(16, (48,), generator=generator)
        with seeded(seed):
            model = minigpt.GPT(16, T=47, C=32, H=1, L=1)
            list(minigpt.train(model, ids, steps=80, batch=1, lr=0.01))
            written_T = minigpt.generate(model, ids[None, :1], 47, top_k=1)[0]
        shares.append((written_T[1:] == ids[1:]).double().mean().item())
    return (
        f"A GPT of one block is trained on 48 characters drawn at random from 16. Given the first, "
        f"it recites {100 * min(shares):.0f} % of the others in the worst of {len(shares)} "
        f"trials. Guessing would get {100 / 16:.0f} % of them right."
    )
