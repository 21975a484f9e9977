"""What the choice of tokens does to minigpt on the tales, and to a small model that adds numbers.

The parts: ``vocabulary``, four vocabularies at equal work (two minutes on one core); ``sums``,
additions in digits and in whole numbers (three); both for twice as long (four and three);
``smollm2``, the chat model on the tales (one). A run on the tales keeps the size of its vocabulary,
the bytes a token of the validation text, its steps, its first training losses, and its bits per
byte on the validation text.
"""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers import corpus, minigpt, pretrained
from helpers.chapters.lab import Part, parts_of, percent, rounded, seeded, spread, table
from helpers.minigpt import GPT, Tokenizer
from helpers.minillama import BytePairTokenizer, join, learn_merges

C, H, L, T, BATCH, LR = 32, 4, 2, 64, 12, 0.01
STEPS, FIRST = 300, 10  # steps of the character model; losses kept
CHARACTERS = None  # in place of a number of merges
MERGES = (CHARACTERS, 64, 256, 512)


@cache
def texts() -> tuple[str, str]:
    """The tales to train on and to validate with."""
    text = corpus.load()
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:]


@cache
def merges(n: int) -> list[tuple[bytes, bytes]]:
    """The first merges of the training text."""
    return learn_merges(texts()[0], n)


@cache
def tokenizer(n: int | None) -> Tokenizer | BytePairTokenizer:
    """Characters, or bytes with n merges of the training text."""
    if n is CHARACTERS:
        return Tokenizer(corpus.load())
    return BytePairTokenizer(merges(64 if n <= 64 else max(MERGES[1:]))[:n])


@cache
def encoded(n: int | None) -> tuple[Tensor, Tensor]:
    """Both texts as ids."""
    train, validation = texts()
    return tokenizer(n).encode(train), tokenizer(n).encode(validation)


def work(V: int, T: int = T) -> int:
    """Multiplications of one token forward: matrices of the blocks, attention, the head."""
    return L * (12 * C**2 + 2 * T * C) + V * C


def steps_for(merges: int | None, of_characters: int = STEPS) -> int:
    """As many steps as cost what those of the character model cost."""
    V, V_characters = (len(tokenizer(n).vocab) for n in (merges, CHARACTERS))
    return round(of_characters * work(V_characters) / work(V))


@torch.no_grad()
def nats(model: GPT, ids: Tensor) -> float:
    """The sum of −log p over all tokens of a text but the first, in windows of the context."""
    model.eval()
    return sum(
        F.cross_entropy(model(x_BT).flatten(0, 1), y_BT.flatten(), reduction="sum").item()
        for x_BT, y_BT in corpus.windows(ids, model.T)
    )


def bits_per_byte(model: GPT, n: int | None) -> float:
    """On the validation text."""
    size = len(texts()[1].encode())
    return nats(model, encoded(n)[1]) / size / math.log(2)


def trained(seed: int, merges: int | None, of_characters: int = STEPS, steps: int | None = None):
    """A model and the losses of its steps; steps: after how many to stop."""
    full = steps_for(merges, of_characters)
    with seeded(seed):
        model = GPT(len(tokenizer(merges).vocab), T=T, C=C, H=H, L=L)
        run = minigpt.train(model, encoded(merges)[0], full, BATCH, LR)
        losses = [loss for _, loss in itertools.islice(run, steps or full)]
    return model, losses


def of_tales(seed: int, merges: int | None, of_characters: int = STEPS) -> dict:
    """What is kept of a run on the tales."""
    model, losses = trained(seed, merges, of_characters)
    return {
        "V": len(tokenizer(merges).vocab),
        "length": round(len(texts()[1].encode()) / len(encoded(merges)[1]), 3),
        "steps": len(losses),
        "first": rounded(losses[:FIRST], 3),
        "bits": round(bits_per_byte(model, merges), 4),
    }


@torch.no_grad()
def of_smollm2(seed: int, context: int) -> dict:
    """SmolLM2's bits per byte on the validation text, in windows of the context."""
    model, tokenizer = pretrained.smollm2()
    windows = corpus.windows(tokenizer.encode(texts()[1]), context, batch_size=1)
    found = sum(
        F.cross_entropy(model(x_1T).mT, y_1T, reduction="sum").item() for x_1T, y_1T in windows
    )
    return {"bits": round(found / len(texts()[1].encode()) / math.log(2), 4)}


# --- sums -----------------------------------------------------------------------------------

DIGITS, NUMBERS = r"\d|\D", r"\d+|\D"


@cache
def sums(pattern: str) -> tuple[Tokenizer, Tensor, int]:
    """All a+b=c of two-digit numbers, shuffled, as ids, (8100, T), and how many belong to c."""
    lines = [f"{a}+{b}={a + b:03}" for a in range(10, 100) for b in range(10, 100)]
    tokenizer = Tokenizer(" ".join(lines), pattern)
    ids_NT = torch.stack([tokenizer.encode(line) for line in lines])
    order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(0))
    return tokenizer, ids_NT[order], len(tokenizer.encode("100"))


def sum_steps(pattern: str, of_digits: int) -> int:
    """As many steps as are the work of so many with digits."""

    def of_a_line(pattern: str) -> int:
        tokenizer, ids_NT, _ = sums(pattern)
        T = ids_NT.shape[1] - 1
        return T * work(len(tokenizer.vocab), T)

    return round(of_digits * of_a_line(DIGITS) / of_a_line(pattern))


def adder(seed: int, pattern: str, of_digits: int = 800) -> dict:
    """The share of sums that it gets right: of those that it learned from, and of others."""
    tokenizer, ids_NT, answer = sums(pattern)
    steps = sum_steps(pattern, of_digits)
    half = len(ids_NT) // 2
    with seeded(seed):
        model = GPT(len(tokenizer.vocab), T=ids_NT.shape[1] - 1, C=C, H=H, L=L)
        optimizer = minigpt.make_optimizer(model, LR)
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = minigpt.lr_at(step, steps, LR)
            rows_BT = ids_NT[torch.randint(half, (128,))]
            logits_BTV = model.train()(rows_BT[:, :-1])[:, -answer:]
            loss = F.cross_entropy(logits_BTV.mT, rows_BT[:, -answer:])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    return {
        "steps": steps,
        "seen": right(model, ids_NT[:half], answer),
        "unseen": right(model, ids_NT[half:], answer),
    }


@torch.no_grad()
def right(model: GPT, ids_NT: Tensor, answer: int) -> float:
    """The share of lines whose tokens after = are all the likeliest."""
    guess_NT = model.eval()(ids_NT[:, :-1])[:, -answer:].argmax(dim=-1)
    return round((guess_NT == ids_NT[:, -answer:]).all(dim=1).float().mean().item(), 4)


PARTS = parts_of(
    13,
    {
        "vocabulary": Part(run=of_tales, settings=[{"merges": n} for n in MERGES], seeds=range(3)),
        "vocabulary, longer": Part(
            run=of_tales,
            settings=[{"merges": n, "of_characters": 2 * STEPS} for n in MERGES],
            seeds=range(3),
        ),
        "sums": Part(run=adder, settings=[{"pattern": DIGITS}, {"pattern": NUMBERS}]),
        "sums, longer": Part(
            run=adder,
            settings=[{"pattern": p, "of_digits": 1600} for p in (DIGITS, NUMBERS)],
            seeds=range(4),
        ),
        "smollm2": Part(run=of_smollm2, settings=[{"context": 512}], seeds=range(1)),
    },
)


# --- characters and tokens in the open, and four languages -------------------------------------

# From the Universal Declaration of Human Rights.
ARTICLE = {
    "English": "All human beings are born free and equal in dignity and rights.",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
}


def race(racers: dict, steps: int, say: Callable[[str], None]) -> dict[str, GPT]:
    """Train a GPT of width 64 on each racer's tokens, for the work of so many steps of the first.

    say: gets what each writes on the way.
    """
    models = {}
    costs = {name: 2 * (12 * 64**2 + 2 * 64**2) + 64 * len(t.vocab) for name, t in racers.items()}
    for name, chosen in racers.items():
        torch.manual_seed(0)
        last = round(steps * next(iter(costs.values())) / costs[name])
        model = GPT(len(chosen.vocab), T=64, C=64, H=4, L=2)
        ids = chosen.encode(texts()[0])
        n = 80 * len(ids) // len(texts()[0])
        for step, _ in minigpt.train(model, ids, last, batch=12, lr=0.008):
            if step in (20, 100, 300, last):
                start_BT = chosen.encode("\n\n\n")[None]  # between two tales
                written_BT = minigpt.generate(model, start_BT, n, temperature=0.6)
                written = " ".join(chosen.decode(written_BT[0]).split())
                say(textwrap.fill(f"{name}, step {step}: {written}", 42))
        models[name] = model
    return models


def languages_told(tokenizer: BytePairTokenizer) -> str:
    """How many tokens and bytes each language's sentence takes."""
    told = (
        f"{name} takes {len(tokenizer.encode(line))} tokens for {len(line.encode())} bytes"
        for name, line in ARTICLE.items()
    )
    why = "Hindi needs three bytes for a letter or a vowel sign, but that isn't all."
    return f"{'; '.join(told)}. {why}"


def splits(split: str) -> dict[str, str]:
    """A pattern, and the same with marks as letters."""
    marks = split.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s", r"[^\s\p{M}")
    return {"our SPLIT": split, "marks as letters": marks}


# --- merge by merge, and the letters of a token -----------------------------------------------

TEN = ["wide", "wide", "wide", "wider", "tired", "tired", "tire", "wire", "wider", "fire"]
Round = tuple[list[tuple[str, str]], Counter, dict[str, list[str]]]


def rounds(words: Sequence[str], most: int | None = None) -> list[Round]:
    """After 0, 1, 2, … merges: the merges, the pairs of the next round, the tokens of each word.

    most: merges after which to stop, else when each word is one token.
    """
    often, merges = Counter(words), list[tuple[str, str]]()
    tokens = {word: list(word) for word in often}
    found = []
    while True:
        pairs: Counter = Counter()
        for word, parts in tokens.items():
            for pair in itertools.pairwise(parts):
                pairs[pair] += often[word]
        found.append((list(merges), pairs, tokens))
        if not pairs or len(merges) == most:
            return found
        merges.append(max(pairs, key=pairs.__getitem__))
        tokens = {word: join(parts, merges[-1]) for word, parts in tokens.items()}


def cut_with(merges: list, text: str, counts: Sequence[int] = (0, 16, 64, 256)) -> dict:
    """The tokens of a text after so many merges."""
    rows = {}
    for n in counts:
        smaller = BytePairTokenizer(merges[:n])
        tokens = [smaller.decode([i]) for i in smaller.encode(text)]
        rows[f"{n} merges: {len(tokens)}"] = tokens
    return rows


def cut_by(merges: Sequence[tuple[str, str]], word: str) -> list[str]:
    """The tokens of a word: its characters, joined by one merge after the other."""
    tokens = list(word)
    for pair in merges:
        tokens = join(tokens, pair)
    return tokens


def after(states: list[Round], often: Counter, merges: int, new: str) -> tuple[dict, dict]:
    """What is drawn: a row of tokens for each word and a new one, and the pairs, most first."""
    learned, pairs, tokens = states[merges]
    rows = {f"{often[word]} × {word}": parts for word, parts in tokens.items()}
    rows |= {f"new: {new}": cut_by(learned, new)}
    return rows, {f"{a}+{b}": n for (a, b), n in pairs.most_common(6)}


def in_words(states: list[Round], often: Counter, merges: int, new: str) -> str:
    """The same in a sentence or two."""
    learned, pairs, tokens = states[merges]
    count = sum(often[word] * len(parts) for word, parts in tokens.items())
    said = f"Merges: {merges}. The ten words are {count} tokens, and {new} is cut into "
    said += " | ".join(cut_by(learned, new)) + ". "
    if not pairs:
        return said + "There is nothing left to join."
    (left, right), n = pairs.most_common(1)[0]
    return said + f"The next merge is {left}+{right}, which occurs {n} times."


WORD = re.compile(rb" [a-z]{4,}")  # a token that is a word with its space
PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}


def spelling(rows_VC: Tensor, vocab: Sequence[bytes], seed: int) -> dict[str, list[float]]:
    """How well a linear map finds a letter of a word from its token's row of the embedding.

    Words begin with a space and have four small letters or more. The map is fitted to four fifths
    of them by ridge regression; no two words of the same first four letters are on both sides.
    Gives for each place the share that is right, the same after shuffling the letters among the
    words that are fitted, and the share of the commonest letter.
    """
    chosen = [(i, word[1:].decode()) for i, word in enumerate(vocab) if WORD.fullmatch(word)]
    generator = torch.Generator().manual_seed(seed)
    families = sorted({word[:4] for _, word in chosen})
    order = torch.randperm(len(families), generator=generator).tolist()
    fitted = {families[n] for n in order[: len(order) * 4 // 5]}
    fit_N = torch.tensor([word[:4] in fitted for _, word in chosen])
    x_NC = rows_VC.detach()[[i for i, _ in chosen]]
    x_NC = torch.cat([(x_NC - x_NC.mean(0)) / x_NC.std(), torch.ones(len(x_NC), 1)], dim=1)
    square_CC = x_NC[fit_N].mT @ x_NC[fit_N] + 10 * torch.eye(x_NC.shape[1])
    found = {}
    for name, place in PLACES.items():
        y_N = torch.tensor([ord(word[place]) - ord("a") for _, word in chosen])
        shuffled_N = y_N[fit_N][torch.randperm(int(fit_N.sum()), generator=generator)]
        shares = []
        for target_N in (y_N[fit_N], shuffled_N):
            wanted_N26 = F.one_hot(target_N, 26).float()
            map_C26 = torch.linalg.solve(square_CC, x_NC[fit_N].mT @ wanted_N26)
            shares.append((x_NC[~fit_N] @ map_C26).argmax(dim=1) == y_N[~fit_N])
        shares.append(y_N[~fit_N] == y_N[fit_N].mode().values)
        found[name] = [share.float().mean().item() for share in shares]
    return found


# --- the tables of the chapter ------------------------------------------------------------------


def name_of(n: int | None) -> str:
    """A vocabulary as a table has it."""
    return "characters" if n is CHARACTERS else f"bytes and {n:,} merges"


def vocabulary_table() -> str:
    """A row for each vocabulary: its size, what a token holds, the steps, and the bits."""
    rows = []
    for n in MERGES:
        both = (PARTS["vocabulary"], PARTS["vocabulary, longer"])
        bits = [spread(part.final("bits", merges=n), 3) for part in both]
        sizes = both[0].runs(merges=n)[0]
        rows.append((name_of(n), sizes["V"], sizes["length"], sizes["steps"], *bits))
    head = "tokens | V | bytes a token | steps | bits per byte | after twice the steps"
    return table(head, rows)


def sums_table() -> str:
    """A row for each way to write numbers and each length of training: the sums that are right."""
    rows = []
    for part in (PARTS["sums"], PARTS["sums, longer"]):
        for name, pattern in (("a digit", DIGITS), ("a number", NUMBERS)):
            seen, unseen = (part.final(key, pattern=pattern) for key in ("seen", "unseen"))
            shares = map(percent, (seen, unseen, seen - unseen))
            rows.append((name, part.runs(pattern=pattern)[0]["steps"], *shares))
    return table("a token is | steps | right of those it learned from | of the others | less", rows)


def spelling_table(found: Sequence[dict[str, list[float]]]) -> str:
    """A row for each letter of a word, over several splits of the words."""
    rows = [
        (f"{name} letter", *(percent([run[name][at] for run in found]) for at in range(3)))
        for name in PLACES
    ]
    return table("which | found | letters shuffled | always the commonest", rows)
