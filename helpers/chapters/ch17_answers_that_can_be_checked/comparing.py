"""SmolLM2 says which of two numbers is larger, and an adapter learns from rewards for it."""

from itertools import permutations

import torch
from torch import Tensor, nn

from helpers import pretrained
from helpers.chapters.ch16_from_text_to_answers.lab import add_adapters
from helpers.minigpt import make_optimizer

COUNTED = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
NUMBERS = COUNTED.split()
UNASKED = {"three", "seven", "twelve", "sixteen", "nineteen"}  # in no question that is paid for
COMPARED = {
    "larger": (max, "The larger of two and nine is nine. The larger of eight and five is eight."),
    "smaller": (min, "The smaller of two and nine is two. The smaller of eight and five is five."),
}
FACTS = (
    "The capital of France is Paris. The capital of Italy is Rome. The opposite of hot is cold. "
    "The opposite of up is down. One, two, three, four. Monday, Tuesday, Wednesday. "
    "The color of snow is white. Two plus two is four"
)


def questions(tokenizer, which: str, is_new: bool) -> list[Tensor]:
    """Texts, (N, T), the right next token and that of the other number, (N,) each.

    is_new: those with one or two numbers of UNASKED, or all others.
    """
    best, shown = COMPARED[which]
    pairs = [p for p in permutations(NUMBERS, 2) if bool(UNASKED & {*p}) == is_new]
    right = [best(pair, key=NUMBERS.index) for pair in pairs]
    wrong = [pair[pair[0] == word] for pair, word in zip(pairs, right, strict=True)]
    texts = [tokenizer.encode(f"{shown} The {which} of {a} and {b} is") for a, b in pairs]
    words = [torch.cat([tokenizer.encode(f" {w}") for w in each]) for each in (right, wrong)]
    return [torch.stack(texts), *words]


def next_token(model: nn.Module, ids_NT: Tensor) -> Tensor:
    """The logits after texts, (N, V)."""
    return model.head(model.norm(model.blocks(model.embedding(ids_NT))[:, -1]))


@torch.no_grad()
def look(model: nn.Module, tokenizer) -> dict[str, float]:
    """The mean probability of the right number for new questions, and of the last word of FACTS.

    "of two": what it is if one of the two numbers is said.
    """
    found = {}
    for which in COMPARED:
        ids_NT, *words = (each[::3] for each in questions(tokenizer, which, is_new=True))
        p_NV = next_token(model, ids_NT).softmax(dim=-1)
        right_N, wrong_N = (p_NV.gather(1, word_N[:, None]) for word_N in words)
        found[which] = right_N.mean()
        found[f"{which}, of two"] = (right_N / (right_N + wrong_N)).mean()
    p = []
    for text, _, word in (fact.rpartition(" ") for fact in FACTS.split(". ")):
        p_1V = next_token(model, tokenizer.encode(text)[None]).softmax(dim=-1)
        p.append(p_1V[0, tokenizer.encode(f" {word}")])
    found["facts"] = torch.cat(p).mean()
    return {kind: round(mean.item(), 3) for kind, mean in found.items()}


def compared(seed: int, reward: str, updates: int = 30) -> dict[str, list[float]]:
    """SmolLM2 before and after updates by REINFORCE, whose answers are here a token each."""
    torch.manual_seed(seed)
    model, tokenizer = pretrained.smollm2()
    add_adapters(model)
    optimizer = make_optimizer(model, 0.0005)
    ids_NT, right_N, _ = questions(tokenizer, "larger", is_new=False)
    found = [look(model, tokenizer)]
    for _ in range(updates):
        n = torch.randint(len(ids_NT), (16,))
        logits_NV = next_token(model, ids_NT[n])
        drawn_NG = logits_NV.softmax(dim=-1).multinomial(8, replacement=True)
        accepted_NG = drawn_NG == right_N[n, None]
        paid_NG = (accepted_NG if reward == "checker" else torch.rand(16, 8) < 0.5).float()
        advantage_NG = paid_NG - paid_NG.mean(dim=1, keepdim=True)
        log_p_NG = logits_NV.log_softmax(dim=-1).gather(1, drawn_NG)
        optimizer.zero_grad()
        (-advantage_NG * log_p_NG).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    found.append(look(model, tokenizer))
    return {key: [one[key] for one in found] for key in found[0]}
