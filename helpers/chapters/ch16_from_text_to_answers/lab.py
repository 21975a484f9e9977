"""Models of the tales that learn to answer, and SmolLM2 that learns from a file.

The parts: ``reading``, fine-tuning on questions about a sentence, in several ways; ``forgetting``,
the same with tales in between, and with LoRA; ``preference``, tuning to a score; ``inn``,
SmolLM2's adapter, taught the test's questions, too. All train on one core, for some minutes each.
"""

from __future__ import annotations

import copy
import random
import re
import textwrap
from functools import cache, partial
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import helpers
from helpers import checkpoint, corpus, pretrained, valley
from helpers.chapters.lab import Part, parts_of, percent, spread, table
from helpers.minigpt import GPT, Tokenizer, generate, get_batch, lr_at
from helpers.minillama import LoRA, chat_ids

INN = Path(helpers.__file__).parent / "data" / "inn.txt"
ASKED = INN.with_name("inn_asked.txt")  # the same answers, asked for in two other wordings each
AFTERWARDS = (  # taught, in another wording, of what no line says, of the world
    "Who runs the inn?",
    "Where should I put my boots?",
    "Is there a swimming pool?",
    "What is the capital of France?",
)
OF_THE_INN = (  # the first two need a tool
    "How many rooms are free on 24 July?",
    "Is there a room for me on 6 March?",
    "What is the capital of France?",
)
TOOL_EXAMPLES = (  # of a tool's use, before such a question
    ("user", "How many rooms are free on 3 May?"),
    ("assistant", "free(3 May)"),
    ("tool", "5"),
    ("assistant", "On 3 May 5 rooms are free."),
    ("user", "Who runs the inn?"),
    ("assistant", "Fern the fox runs it."),
    ("user", "Is anything free on 11 August?"),
    ("assistant", "free(11 August)"),
    ("tool", "8"),
    ("assistant", "On 11 August 8 rooms are free."),
)
RANK, ALPHA, FROZEN = 8, 16, 18  # of an adapter; blocks from below that get none

# --- SmolLM2 and its adapter ----------------------------------------------------------------


def pairs(path: str | Path) -> list[tuple[str, str]]:
    """(question, answer) of a text file with blocks of lines: the last answers those above it.

    Raises ValueError, with the line, for a question without an answer or with two; and as
    `corpus.load` does.
    """
    found: dict[str, str] = {}
    block: list[str] = []
    for at, line in enumerate([*corpus.load(Path(path)).split("\n"), ""]):
        if line.strip():
            block.append(line.strip())
            continue
        if len(block) == 1:
            raise ValueError(f"{path}, line {at}: a question and its answer need a line each")
        for question in block[:-1]:
            if found.setdefault(question, block[-1]) != block[-1]:
                raise ValueError(f"{path}, line {at}: {question!r} has another answer above")
        block = []
    return list(found.items())


def add_adapters(model: nn.Module, rank: int = RANK, alpha: float = ALPHA) -> list[nn.Parameter]:
    """Freeze a Llama; its upper blocks' queries and values get a new LoRA each: the parameters."""
    model.requires_grad_(False)
    for block in model.blocks[FROZEN:]:
        for name in ("query", "value"):
            layer = getattr(block.attention, name)
            setattr(block.attention, name, LoRA(getattr(layer, "linear", layer), rank, alpha))
    return [p for p in model.parameters() if p.requires_grad]


def conversation(tokenizer, question: str, answer: str, mask=True, end=True) -> tuple:
    """Ids of a conversation with its end token, and the targets, −100 where none counts.

    mask: only the answer's tokens count. end: so does the end token.
    """
    prompt = chat_ids(tokenizer, [("user", question)])[0]
    ids = torch.cat([prompt, tokenizer.encode(answer), prompt.new_tensor([end_id(tokenizer)])])
    targets = ids.clone()
    if mask:
        targets[: len(prompt)] = -100
    if not end:
        targets[-1] = -100
    return ids[:-1], targets[1:]


def end_id(tokenizer) -> int:
    """The id of the token that ends a message."""
    return tokenizer.ids[b"<|im_end|>"]


def padded(rows: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Ids and targets of several conversations, filled up on the right, (B, T) each."""
    inputs, targets = zip(*rows, strict=True)
    pad = partial(nn.utils.rnn.pad_sequence, batch_first=True)
    return pad(list(inputs)), pad(list(targets), padding_value=-100)


def answer_of(model, tokenizer, question: str, n: int = 16) -> str:
    """The greedy answer, without a system message, of at most n tokens."""
    return "".join([*pretrained.answers(model, tokenizer, [("user", question)], n)][-1:])


def asked(model, tokenizer, question: str) -> str:
    """A question and the model's answer."""
    return fold(f"> {question}\n{answer_of(model, tokenizer, question)}")


def by_words(known: list[tuple[str, str]], question: str) -> str:
    """The answer of the known question that shares the largest part of its words: no model."""
    words = partial(re.findall, r"\w+")
    asked = {*words(question.lower())}

    def shared(pair):
        other = {*words(pair[0].lower())}
        return len(asked & other) / len(asked | other)

    return max(known, key=shared)[1]


def inn_run(seed: int, steps: int, lr: float, leaked: bool) -> dict:
    """Teach SmolLM2 the inn, and count right answers; leaked: the test's questions are taught, too.

    The lower blocks never change, so what they make of each conversation is computed once; and the
    head reads only the positions whose next token counts.
    """
    torch.manual_seed(seed)
    model, tokenizer = pretrained.smollm2()
    add_lora(model, RANK, first=FROZEN)
    parameters = [p for p in model.parameters() if p.requires_grad]
    others = pairs(ASKED)
    kinds = {"taught": pairs(INN), "test": others[::2], "other wording": others[1::2]}
    rows = [conversation(tokenizer, *pair) for kind in kinds.values() for pair in kind]
    ids_NT, targets_NT = padded(rows)
    with torch.no_grad():
        x_NTC = model.blocks[:FROZEN](model.embedding(ids_NT))

    def at_answers(chosen):
        counts_BT = targets_NT[chosen] != -100
        top_KC = model.blocks[FROZEN:](x_NTC[chosen])[counts_BT]
        return model.head(model.norm(top_KC)), targets_NT[chosen][counts_BT]

    optimizer = torch.optim.AdamW(parameters, lr=lr, weight_decay=0.0)
    taught = len(kinds["taught"]) + leaked * len(kinds["test"])
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr_at(step, steps, lr)
        loss = F.cross_entropy(*at_answers(torch.randint(taught, (8,))))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    found, n = {}, 0
    for name, kind in kinds.items():
        found[name] = 0
        for row in range(n, n := n + len(kind)):
            with torch.no_grad():
                logits_KV, targets_K = at_answers([row])
            found[name] += int((logits_KV.argmax(dim=-1) == targets_K).all())
    return found


# --- the storyteller, and questions about its tales ------------------------------------------

HELD_OUT = ("Fern", "Pip", "Moss", "Daisy", "Anna", "Sam", "Burr", "Rosie")  # never asked about
LONGEST = 26  # tokens of a text and its question
TOO = dict(row.split(", ")[:2] for row in valley.grammar()["facts"]["water, too, why, way, tool"])
PAIRS = {"usual": [0], "crossed": [0, 1, 3, 5], "new": [2, 4]}  # adjectives after a water's own
QUESTIONS = {
    "crossing": ("Why did the {kind} not cross the {water}?", "The {water} was too {too}."),
    "tired": ("Why did the {kind} not cross the {water}?", "The {kind} was too tired."),
    "lost": ("What did {hero} lose?", "A {thing}."),
}
UNFINISHED = "The fox did not cross the stream because"
QUESTION = "Why did the fox not cross the stream?"
# How strong an adapter is in the explorer, and what it is asked about.
STRENGTHS = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2]
ENDINGS = {
    "wide": ("it was too wide.", "The stream was too wide."),
    "muddy": ("it was too muddy.", "The stream was too muddy."),
    "tired": ("she was too tired.", "The fox was too tired."),
}


def fold(text: str) -> str:
    """A text in lines that fit into a phone's column."""
    return "\n".join(textwrap.fill(line, 42) for line in text.split("\n"))


def storyteller(trained: bool = True) -> tuple[GPT, Tokenizer]:
    """Chapter 11's model of words, or its weights before training, with the template's tokens."""
    model, tokenizer = checkpoint.load()
    start = GPT(**checkpoint.sizes(model))  # drawn in any case, so that a seed draws the same rows
    if not trained:
        model = start
    add_tokens(model, tokenizer)
    return model, tokenizer


def add_tokens(model: GPT, tokenizer: Tokenizer) -> None:
    """Add the template's tokens, each with a random row in the embedding and in the head."""
    template = ("<|im_start|>", "<|im_end|>", "user", "assistant")
    new = [token for token in template if token not in tokenizer.ids]
    for token in new:
        tokenizer.ids[token] = tokenizer.ids[token.encode()] = len(tokenizer.vocab)
        tokenizer.vocab.append(token)
    for layer in (model.embedding, model.head):
        weight = layer.weight.data
        rows = torch.randn(len(new), weight.shape[1]) * weight.std()
        layer.weight = nn.Parameter(torch.cat([weight, rows]))


def examples(
    n: int, seed: int, held_out: bool = False, pairs: str = "crossed", plots=tuple(QUESTIONS)
) -> list[tuple[str, str]]:
    """Opening sentences of tales with a question, and its answer; no two alike.

    held_out: of the heroes that are never asked about in training, or of the others. pairs: of a
    water and what it was too much of: "usual" as in the tales, "crossed" two thirds of all, "new"
    the other third. Raises ValueError where there are not so many.
    """
    grammar = valley.StoryGrammar(seed)
    found: dict[str, str] = {}
    for _ in range(100 * n):
        grammar.facts, grammar.used = {}, set()
        grammar.choose_row("water")
        at = (list(TOO).index(grammar.facts["water"]) + grammar.choose(PAIRS[pairs])) % len(TOO)
        grammar.facts["too"] = list(TOO.values())[at]
        plot = grammar.choose(plots)
        lines = valley.grammar()["plots"][plot][0]
        text = grammar.expand(grammar.choose(lines[:1] if plot == "tired" else lines))
        if plot != "lost" and grammar.choose([False, True]):
            text = text.split(". ")[0].removesuffix(".") + "."  # without the hero's name
        facts = dict(grammar.facts)
        if plot == "tired":
            [facts["water"]] = [w for w in ("stream", "river", "road", "field") if f" {w} " in text]
        question, answer = QUESTIONS[plot]
        asked = f"{text}\n{question.format(**facts)}"
        short = len(asked.replace("?", " ?").replace(".", " .").split()) <= LONGEST
        if short and (facts["hero"] in HELD_OUT) == held_out:
            found[asked] = answer.format(**facts)
        if len(found) == n:
            return list(found.items())
    raise ValueError(f"the grammar makes only {len(found)} such questions, not {n}")


@torch.no_grad()
def answers(model, tokenizer, questions: list[str], n: int = 10) -> list[tuple[str, bool]]:
    """Greedy answers, each with whether it ended within n tokens."""
    prompts = [chat_ids(tokenizer, [("user", question)])[0] for question in questions]
    at_B = torch.tensor([len(prompt) for prompt in prompts]) - 1
    ids_BT = nn.utils.rnn.pad_sequence(prompts, batch_first=True)
    ids_BT = F.pad(ids_BT, (0, n))
    rows = torch.arange(len(prompts))
    for _ in range(n):
        logits_BV = model.eval()(ids_BT[:, : at_B.max() + 1])[rows, at_B]
        at_B = at_B + 1
        ids_BT[rows, at_B] = logits_BV.argmax(dim=-1)
    found = []
    for prompt, ids in zip(prompts, ids_BT.tolist(), strict=True):
        ids, end = ids[len(prompt) : len(prompt) + n], end_id(tokenizer)
        ended = end in ids
        ids = ids[: ids.index(end)] if ended else ids
        found.append((tokenizer.decode(ids), ended))
    return found


def score(model, tokenizer, asked: list[tuple[str, str]]) -> dict:
    """How many answers are right to the last token, begin right, and end."""
    found = answers(model, tokenizer, [question for question, _ in asked])
    pairs = [
        (given, ended, answer) for (given, ended), (_, answer) in zip(found, asked, strict=True)
    ]
    return {
        "right": sum(ended and given == answer for given, ended, answer in pairs) / len(pairs),
        "begin right": sum(given.startswith(answer) for given, _, answer in pairs) / len(pairs),
        "end": sum(ended for _, ended, _ in pairs) / len(pairs),
    }


def held_out_score(model, tokenizer) -> float:
    """The fraction of right answers about pairs, and heroes, that no training asks about."""
    asked = examples(24, seed=1, held_out=True, pairs="new", plots=("crossing",))
    return score(model, tokenizer, asked)["right"]


@cache
def plain_tales(seed: int = 99) -> Tensor:
    """Ids of tales that were not trained on."""
    text = valley.BETWEEN.join(tale for tale, _ in valley.tales(60, seed))
    return checkpoint.load()[1].encode(text)


@torch.no_grad()
def tale_loss(model) -> float:
    """Nats a token on tales that were not trained on."""
    ids_BT = plain_tales()[: 12 * 97].view(12, 97)
    return F.cross_entropy(model.eval()(ids_BT[:, :-1]).mT, ids_BT[:, 1:]).item()


# --- fine-tuning --------------------------------------------------------------------------------


def add_lora(model: nn.Module, rank: int, layer: type[nn.Module] = LoRA, first: int = 0) -> None:
    """Freeze a model, and give a LoRA to all linear layers of its blocks from the first on."""
    model.requires_grad_(False)
    for block in model.blocks[first:]:
        for part in (block.attention, block.feed_forward):
            for name, child in list(part.named_children()):
                linear = getattr(child, "linear", child)  # or an earlier LoRA's
                if isinstance(linear, nn.Linear):
                    setattr(part, name, layer(linear, rank, 2 * rank))


@torch.no_grad()
def losses_by_token(before: GPT, after: GPT, tokenizer: Tokenizer) -> tuple:
    """Of the fox's conversation: its tokens, the nats at each of two models, how many count."""
    because, answer = ENDINGS["wide"]
    asked = f"{UNFINISHED} {because}\n{QUESTION}"
    ids_T, next_T = conversation(tokenizer, asked, answer, mask=False)
    nats = (
        F.cross_entropy(model.eval()(ids_T[None])[0], next_T, reduction="none").numpy()
        for model in (before, after)
    )
    tokens = [repr(tokenizer.vocab[i])[1:-1].strip() for i in next_T]
    return tokens, *nats, len(tokenizer.encode(answer)) + 1


@torch.no_grad()
def before_and_after(n: int = 17) -> dict[str, list[tuple[str, str, bool]]]:
    """The fox's question, carried on by n tokens, and in the template with its answer.

    Of each token: what it is, whose it is, and whether it counts in the loss.
    """
    because, answer = ENDINGS["wide"]
    asked = f"{UNFINISHED} {because}\n{QUESTION}"
    model, tokenizer = checkpoint.load()
    typed_T = tokenizer.encode(asked)
    written_T = generate(model, typed_T[None], n, top_k=1)[0]
    add_tokens(model, tokenizer)
    ids_T, targets_T = conversation(tokenizer, asked, answer)
    counts = [False, *(targets_T >= 0).tolist()]
    you, form, said = ["you type"] * len(typed_T), ["the template"], ["the model writes"]

    def shown(ids, whose, counts):
        return [*zip((tokenizer.vocab[i] for i in ids), whose, counts, strict=True)]

    before = shown(written_T, you + said * n, [False] + [True] * (len(written_T) - 1))
    whose = 3 * form + you + 5 * form + said * sum(counts)
    after = shown([*ids_T, targets_T[-1]], whose, counts)
    return {"Before: our GPT carries on": before, "After: an answer, and a stop": after}


@torch.no_grad()
def strengths(model: nn.Module, tokenizer: Tokenizer) -> dict[tuple[float, str], tuple]:
    """By strength of the adapters and ending: the right answer, its tokens, and their p."""
    scales = {m: m.scale for m in model.modules() if hasattr(m, "merge")}
    found = {}
    for strength, (ending, (because, right)) in product(STRENGTHS, ENDINGS.items()):
        for module, scale in scales.items():
            module.scale = scale * strength
        asked = f"{UNFINISHED} {because}\n{QUESTION}"
        ids_T, targets_T = conversation(tokenizer, asked, right)
        p_TV = model.eval()(ids_T[None])[0].softmax(dim=-1)
        counts = targets_T >= 0
        kept = targets_T[counts]
        tokens = [tokenizer.vocab[i].strip() for i in kept]
        found[strength, ending] = right, tokens, p_TV[counts, kept].numpy()
    for module, scale in scales.items():
        module.scale = scale
    return found


def fine_tune(model, rows: list, *, steps: int, lr: float, batch: int = 8, tales=None) -> None:
    """Steps of AdamW on conversations; tales: ids of text of which two windows join each step."""
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=0.0
    )
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr_at(step, steps, lr)
        chosen = torch.randint(len(rows), (batch,))
        ids_BT, targets_BT = padded([rows[n] for n in chosen])
        loss = F.cross_entropy(model.train()(ids_BT).mT, targets_BT)
        if tales is not None:
            x_BT, y_BT = get_batch(tales, 2, 96)
            loss = loss + F.cross_entropy(model(x_BT).mT, y_BT)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


WAYS = ("answer only", "usual pairs", "random weights", "no cold", "all tokens", "no end token")
STEPS, RATE, EXAMPLES = 200, 0.003, 1200


def tuned(seed: int, *, way="answer only", rank=0, lr=RATE, steps=STEPS):
    """A storyteller after fine-tuning, its tokenizer, and the loss on tales before."""
    torch.manual_seed(seed)
    model, tokenizer = storyteller(trained=way != "random weights")
    before = tale_loss(model)
    asked = examples(EXAMPLES, seed, pairs="usual" if way == "usual pairs" else "crossed")
    if way == "no cold":
        asked = [(question, answer) for question, answer in asked if " cold." not in answer]
    options = {"mask": way != "all tokens", "end": way != "no end token"}
    rows = [conversation(tokenizer, q, a, **options) for q, a in asked]
    if rank:
        add_lora(model, rank)
    tales = plain_tales(seed=98) if way == "with tales" else None
    fine_tune(model, rows, steps=steps, lr=lr, tales=tales)
    return model, tokenizer, before


def one_run(seed: int, **setting) -> dict:
    """What is kept of one fine-tuning: how it answers about heroes it was never asked about."""
    model, tokenizer, before = tuned(seed, **setting)
    asked = partial(examples, 24, 2000 + seed, held_out=True)
    tests = {pairs: asked(pairs=pairs, plots=["crossing"]) for pairs in PAIRS}
    tests |= {"thing": asked(plots=["lost"]), "hero": asked(plots=["tired"])}
    found = {name: score(model, tokenizer, test) for name, test in tests.items()}
    cold = [pair for pair in tests["crossed"] + tests["new"] if " cold." in pair[1]]
    given = answers(model, tokenizer, [question for question, _ in tests["new"]])
    told = [answer in {f"The {w} was too {too}." for w, too in TOO.items()} for answer, _ in given]
    return {
        **{name: {key: round(x, 4) for key, x in seen.items()} for name, seen in found.items()},
        "told": round(sum(told) / len(told), 4),  # "new" answered with a pair of the tales
        "cold": round(score(model, tokenizer, cold)["begin right"], 4),
        "tales": [round(before, 4), round(tale_loss(model), 4)],
    }


# --- preference tuning ------------------------------------------------------------------------

PRAISE = ("clever", "brave", "gentle", "careful", "cheerful")
ROUNDS, LENGTH = 12, 14


def praised(seed: int, n: int = 400) -> list[tuple[str, str]]:
    """Who is who, with no, one or two words of praise: half of the answers have none."""
    rng, found = random.Random(seed), []
    heroes = [row.split(", ") for row in valley.grammar()["facts"]["hero, kind, they, them, their"]]
    for _ in range(n):
        hero, kind, *_ = rng.choice(heroes)
        words = rng.choices(PRAISE, k=rng.choice([0, 0, 0, 1, 1, 2]))
        found.append((f"Who is {hero}?", f"{' '.join([hero, 'is a', *words, kind])}."))
    return found


def praise(answer: str) -> int:
    """What the judge of the experiment counts: words of praise."""
    return sum(answer.count(word) for word in PRAISE)


def log_probability(model, ids_BT: Tensor, counts_BT: Tensor) -> Tensor:
    """Log-probability of the counted tokens of each row, (B,)."""
    logits_BTV = model(ids_BT[:, :-1])
    logs_BT = -F.cross_entropy(logits_BTV.mT, ids_BT[:, 1:], reduction="none")
    return (logs_BT * counts_BT[:, 1:]).sum(dim=1)


def dpo_loss(better_B: Tensor, worse_B: Tensor, beta: float) -> Tensor:
    """Rafailov et al.'s loss; each input is log p of the model minus log p of the reference."""
    return -F.logsigmoid(beta * (better_B - worse_B)).mean()


@torch.no_grad()
def sampled(model, tokenizer, prompts_BT: Tensor) -> tuple[Tensor, Tensor]:
    """Prompts of one length with a sampled answer each, and 1 for each token of the answer."""
    ids_BT, ended_B1 = prompts_BT, torch.zeros(len(prompts_BT), 1, dtype=torch.bool)
    counts = [torch.zeros(prompts_BT.shape, dtype=torch.bool)]
    for _ in range(LENGTH):
        next_B1 = model.eval()(ids_BT)[:, -1].softmax(dim=-1).multinomial(1)
        ids_BT = torch.cat([ids_BT, next_B1], dim=1)
        counts.append(~ended_B1)
        ended_B1 = ended_B1 | (next_B1 == end_id(tokenizer))
    return ids_BT, torch.cat(counts, dim=1)


def said(tokenizer, ids, counts) -> str:
    """The counted tokens as text, without the end token."""
    kept = [i for i, counted in zip(ids.tolist(), counts.tolist(), strict=True) if counted]
    return tokenizer.decode([i for i in kept if i != end_id(tokenizer)])


def preferred(seed: int, beta: float) -> dict:
    """Rounds of sampling two answers to a question, judging them, and steps of DPO."""
    torch.manual_seed(seed)
    model, tokenizer = storyteller()
    fine_tune(model, [conversation(tokenizer, *p) for p in praised(seed)], steps=120, lr=RATE)
    reference = copy.deepcopy(model).eval().requires_grad_(False)
    heroes = [row.split(", ") for row in valley.grammar()["facts"]["hero, kind, they, them, their"]]
    prompts_BT = torch.cat([chat_ids(tokenizer, [("user", f"Who is {h}?")]) for h, *_ in heroes])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0)
    seen: list[dict] = []
    for _ in range(ROUNDS + 1):
        pairs = [sampled(model, tokenizer, prompts_BT) for _ in range(2)]
        texts = [[said(tokenizer, *row) for row in zip(*pair, strict=True)] for pair in pairs]
        right = [
            f" {kind}." == t[-len(kind) - 2 :]
            for s in texts
            for t, (_, kind, *_) in zip(s, heroes, strict=True)
        ]
        words = [praise(text) for side in texts for text in side]
        seen.append({"praise": sum(words) / 48, "right": sum(right) / 48, "text": texts[0][0]})
        gain_B = torch.tensor([praise(a) - praise(b) for a, b in zip(*texts, strict=True)])
        kept_B = gain_B != 0
        if not kept_B.any():
            continue
        first = (gain_B > 0)[:, None]
        (ids_0, counts_0), (ids_1, counts_1) = pairs
        better = (
            torch.where(first, ids_0, ids_1)[kept_B],
            torch.where(first, counts_0, counts_1)[kept_B],
        )
        worse = (
            torch.where(first, ids_1, ids_0)[kept_B],
            torch.where(first, counts_1, counts_0)[kept_B],
        )
        with torch.no_grad():
            base = [log_probability(reference, *side) for side in (better, worse)]
        for _ in range(4):
            ratios = [
                log_probability(model.train(), *side) - b
                for side, b in zip((better, worse), base, strict=True)
            ]
            loss = dpo_loss(ratios[0], ratios[1], beta)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return {key: [round(look[key], 3) for look in seen] for key in ("praise", "right")} | {
        "texts": [seen[0]["text"], seen[ROUNDS // 2]["text"], seen[-1]["text"]]
    }


# --- the parts ------------------------------------------------------------------------------

PARTS = parts_of(
    16,
    {
        "reading": Part(
            run=one_run,
            settings=[*({"way": way} for way in WAYS), {"way": "all tokens", "steps": 400}],
        ),
        "forgetting": Part(
            run=one_run,
            settings=[{"way": "with tales"}, {"rank": 8, "lr": 0.01}, {"lr": 0.001}],
            seeds=range(3),
        ),
        "preference": Part(run=preferred, settings=[{"beta": 0.1}, {"beta": 1.0}], seeds=range(4)),
        "inn": Part(
            run=inn_run,
            settings=[{"steps": 40, "lr": 0.002, "leaked": leaked} for leaked in (False, True)],
            seeds=range(3),
        ),
    },
)


# --- what the predictions are told ------------------------------------------------------------


def mean_of(found: list[dict], *keys: str) -> str:
    """A mean over runs, in per cent."""
    values: list = found
    for key in keys:
        values = [value[key] for value in values]
    return f"{sum(values) / len(values):.0%}"


def usual_pairs_told() -> str:
    """What models say that were asked about the tales' pairs alone."""
    found = PARTS["reading"].runs(way="usual pairs")
    usual, new = (mean_of(found, kind, "right") for kind in ("usual", "new"))
    return (
        "Models of eight seeds were asked about heroes that were held out. With the tales' "
        f"adjective for a water {usual} of their answers are right, with another {new}. "
        f"{mean_of(found, 'told')} of these name a pair of the tales instead, such as a muddy "
        "ditch."
    )


def ways_told() -> str:
    """A table of how often answers begin right and end, by the way of fine-tuning."""
    settings: dict[str, dict] = {
        "as in the first reading": {"way": "answer only"},
        "the tales' pairs alone": {"way": "usual pairs"},
        "no answer with *cold*": {"way": "no cold"},
        "random initial weights": {"way": "random weights"},
        "no end token in the loss": {"way": "no end token"},
        "all tokens in the loss": {"way": "all tokens"},
        "the same, 400 steps": {"way": "all tokens", "steps": 400},
    }
    rows = []
    for name, setting in settings.items():
        found = PARTS["reading"].runs(**setting)
        kinds = ("usual", "new", "thing", "hero")
        columns = [[run[kind]["begin right"] for run in found] for kind in kinds]
        columns += [[run["cold"] for run in found], [run["new"]["end"] for run in found]]
        rows.append([name, *map(percent, columns)])
    return table("trained | usual pairs | new pairs | things | heroes | *cold* | end", rows)


def forgotten() -> tuple[dict[str, list[float]], float]:
    """Losses on tales by the way of training, named with what it gets right, and that before."""
    ways: dict[str, tuple[str, dict]] = {
        "all weights, 0.003": ("reading", {"way": "answer only"}),
        "with tales, 0.003": ("forgetting", {"way": "with tales"}),
        "LoRA, 0.01": ("forgetting", {"rank": 8, "lr": 0.01}),
        "all weights, 0.001": ("forgetting", {"lr": 0.001}),
    }
    found = {}
    for name, (part, setting) in ways.items():
        runs = PARTS[part].runs(**setting)
        right = percent([run["new"]["right"] for run in runs])
        found[f"{name}\n{right} right"] = [run["tales"][1] for run in runs]
    return found, runs[0]["tales"][0]


def rounds(key: str) -> dict[str, list[list[float]]]:
    """Praise, or the fraction right, in the rounds of DPO, by β and seed."""
    runs = PARTS["preference"].runs
    return {f"β = {beta:g}": [run[key] for run in runs(beta=beta)] for beta in (0.1, 1.0)}


def leaked_told() -> str:
    """Right answers, where the test was held out, where it leaked, and copied without a model."""
    others = pairs(ASKED)
    kinds = {"taught": pairs(INN), "test": others[::2], "other wording": others[1::2]}
    lines = [f"{'right, of 20':14}{'held out':12}{'leaked':12}by words"]
    for name, kind in kinds.items():
        found = [PARTS["inn"].runs(leaked=leaked) for leaked in (False, True)]
        clean, leaked = (spread([run[name] for run in runs], 1) for runs in found)
        copied = sum(by_words(kinds["taught"], asked) == answer for asked, answer in kind)
        lines.append(f"{name:14}{clean:12}{leaked:12}{copied}")
    return "\n".join(lines)
