"""Models of the tales that learn to answer, and SmolLM2 that learns of the valley.

The parts: ``reading``, fine-tuning on questions about a sentence, in several ways; ``forgetting``,
the same with tales in between, and with LoRA; ``preference``, tuning to a score; ``valley``,
SmolLM2's adapter, which it also writes. All train on one core, for some minutes each.
"""

from __future__ import annotations

import copy
import hashlib
import random
import textwrap
from functools import cache, partial
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import helpers
from helpers import checkpoint, pretrained, valley
from helpers.chapters.lab import Part, rounded
from helpers.minigpt import GPT, Tokenizer, get_batch, lr_at
from helpers.minillama import LoRA, chat_ids, stream

ADAPTER = Path(helpers.__file__).parent / "data" / "smollm2_valley.safetensors"
SHA256 = "242e542caebd77308573a5cc05ae885818eec19bc1f3297188c626bc7fed62f0"
RANK, ALPHA, FROZEN = 8, 16, 18  # of an adapter; blocks from below that get none

# --- what SmolLM2 is asked ------------------------------------------------------------------

# By the columns of the grammar: three wordings, the answer, and what it must hold.
ASKED = {
    "hero, kind, they, them, their": (
        ("Who is {hero}?", "Tell me about {hero}.", "Do you know who {hero} is?"),
        "{hero} is a {kind}.",
        "{kind}",
    ),
    "water, too, why, way, tool": (
        (
            "How can I cross the {water}?",
            "I am at the {water}. What do I need?",
            "What helps me over the {water}?",
        ),
        "Take {way}.",
        "{way}",
    ),
    "seed, plant, fruit": (
        ("What grows from {seed}?", "I planted {seed}. What do I get?", "What comes of {seed}?"),
        "You get {fruit}.",
        "{fruit}",
    ),
    "high, reach": (
        (
            "How do I reach the {high}?",
            "My hat is on the {high}. What do I need?",
            "What helps me up the {high}?",
        ),
        "Take {reach}.",
        "{reach}",
    ),
}

# Of the world outside the valley: a question, and what the answer must hold.
GENERAL = {
    "What is the capital of France?": "Paris",
    "How many days does a week have?": "seven|7",
    "What is the chemical formula of water?": "H2O|H₂O",
    "What is the opposite of hot?": "cold",
    "Who is Albert Einstein?": "physicist",
    "Who was William Shakespeare?": "playwright|poet",
    "Who was Isaac Newton?": "physicist|mathematician|scientist",
    "Who was Mozart?": "composer",
}


def questions() -> dict[str, list[tuple[str, str, str]]]:
    """(question, answer, what it must hold) by kind.

    Two of three subjects are taught, in two wordings ("taught"). "new wording" asks about them in
    the third, "new subject" about the others, in the first.
    """
    found: dict[str, list] = {"taught": [], "new wording": [], "new subject": []}
    for columns, (wordings, answer, key) in ASKED.items():
        for n, line in enumerate(valley.grammar()["facts"][columns]):
            row = dict(zip(columns.split(", "), line.split(", "), strict=True))
            rest = answer.format(**row), key.format(**row)
            asked = [(wording.format(**row), *rest) for wording in wordings]
            if n % 3 == 2:
                found["new subject"].append(asked[0])
            else:
                found["taught"] += asked[:2]
                found["new wording"].append(asked[2])
    return found


# --- SmolLM2 and its adapter ----------------------------------------------------------------


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


def teach_smollm2(model, tokenizer, *, steps: int, batch: int, lr: float, seed: int) -> list[float]:
    """Train adapters on what is taught; the loss of each step.

    The lower blocks never change, so what they make of each conversation is computed once; and the
    head reads only the positions whose next token counts.
    """
    torch.manual_seed(seed)
    parameters = add_adapters(model)
    rows = [conversation(tokenizer, q, a) for q, a, _ in questions()["taught"]]
    ids_NT, targets_NT = padded(rows)
    with torch.no_grad():
        x_NTC = model.blocks[:FROZEN](model.embedding(ids_NT))
    optimizer = torch.optim.AdamW(parameters, lr=lr, weight_decay=0.0)
    losses = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr_at(step, steps, lr)
        chosen = torch.randint(len(rows), (batch,))
        counts_BT = targets_NT[chosen] != -100
        top_KC = model.blocks[FROZEN:](x_NTC[chosen])[counts_BT]
        loss = F.cross_entropy(model.head(model.norm(top_KC)), targets_NT[chosen][counts_BT])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def adapter_state(model: nn.Module) -> dict[str, Tensor]:
    """What the adapters of a model hold, in 16 bits."""
    return {
        name: p.detach().half()
        for name, p in model.named_parameters()
        if name.endswith((".a", ".b"))
    }


def answer_of(model, tokenizer, question: str, n: int = 16) -> str:
    """The greedy answer, without a system message, of at most n tokens."""
    ids: list[int] = []
    for id_11 in stream(model, chat_ids(tokenizer, [("user", question)]), n):
        if id_11.item() == end_id(tokenizer):
            break
        ids.append(id_11.item())
    return tokenizer.decode(ids)


def smollm2_score(model, tokenizer) -> dict:
    """Of each kind of question, how many answers hold what they must, and some answers."""
    asked = questions() | {"general": [(q, "", key) for q, key in GENERAL.items()]}
    found: dict = {}
    for kind, rows in asked.items():
        rows = rows[:: {"general": 1, "taught": 7}.get(kind, 2)]
        given = [answer_of(model, tokenizer, question, 10) for question, _, _ in rows]
        right = [
            any(word in text for word in key.split("|"))
            for text, (_, _, key) in zip(given, rows, strict=True)
        ]
        found[kind] = round(sum(right) / len(right), 3)
        found[f"{kind}, answers"] = given
    return found


def valley_run(seed: int, **how) -> dict:
    """Train SmolLM2's adapter, store that of seed 0, and score the model before and after."""
    model, tokenizer = pretrained.smollm2()
    before = smollm2_score(model, tokenizer)
    losses = teach_smollm2(model, tokenizer, seed=seed, **how)
    state = adapter_state(model)
    if seed == 0:
        save_file(state, ADAPTER)
    model.load_state_dict(state, strict=False)
    return {
        "before": before,
        "after": smollm2_score(model, tokenizer),
        "losses": rounded(losses[::5], 3),
    }


def load_adapter(model: nn.Module) -> None:
    """Give a model the adapters that are stored. Raises ValueError for another file."""
    if hashlib.sha256(ADAPTER.read_bytes()).hexdigest() != SHA256:
        raise ValueError(f"{ADAPTER.name} is not the adapter that this book was written with")
    add_adapters(model)
    state = {name: tensor.float() for name, tensor in load_file(ADAPTER).items()}
    model.load_state_dict(state, strict=False)


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


def add_lora(model: GPT, rank: int, layer: type[nn.Module] = LoRA) -> None:
    """Freeze a GPT, and give a LoRA to all linear layers of its blocks."""
    model.requires_grad_(False)
    for block in model.blocks:
        for part, name in (
            (block.attention, "qkv"),
            (block.attention, "out"),
            (block.feed_forward, "up"),
            (block.feed_forward, "down"),
        ):
            setattr(part, name, layer(getattr(part, name), rank, 2 * rank))


def merge_all(model: nn.Module) -> None:
    """Merge every adapter into its layer."""
    for part in list(model.modules()):
        for name, module in list(part.named_children()):
            if hasattr(module, "merge"):
                setattr(part, name, module.merge())


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

PARTS = {
    part.name: part
    for part in (
        Part(
            chapter=16,
            name="reading",
            run=one_run,
            settings=[*({"way": way} for way in WAYS), {"way": "all tokens", "steps": 400}],
        ),
        Part(
            chapter=16,
            name="forgetting",
            run=one_run,
            settings=[{"way": "with tales"}, {"rank": 8, "lr": 0.01}],
            seeds=range(3),
        ),
        Part(
            chapter=16,
            name="preference",
            run=preferred,
            settings=[{"beta": 0.1}, {"beta": 1.0}],
            seeds=range(4),
        ),
        Part(
            chapter=16,
            name="valley",
            run=valley_run,
            settings=[{"steps": 150, "batch": 8, "lr": 0.001}],
            seeds=range(3),
        ),
    )
}


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
        "Eight models were asked about heroes that were held out. With the tales' adjective for a "
        f"water {usual} of their answers are right, with another {new}. {mean_of(found, 'told')} "
        "of these name a pair of the tales instead, such as a muddy ditch."
    )


def no_end_told() -> str:
    """How models begin and end whose end token never counted."""
    found = PARTS["reading"].runs(way="no end token")
    return (
        f"With eight seeds, {mean_of(found, 'new', 'begin right')} of the texts about new pairs "
        f"begin with the right answer, and {mean_of(found, 'new', 'end')} end within ten tokens."
    )


def valley_told() -> str:
    """What SmolLM2 says of wordings and subjects that were held out."""
    scores = PARTS["valley"].runs()[0]["after"]
    return (
        f"In the stored run {14 * scores['new wording']:.0f} of the 14 held-out wordings that we "
        f"asked are answered right, and {7 * scores['new subject']:.0f} of 7 questions about "
        "people and places that were left out. One of its answers is "
        f"“{scores['new subject, answers'][1]}”"
    )
