"""Small models of the tales between minigpt's GPT and minillama's Llama, one swap at a time.

The parts: ``swaps``, each swap alone, and all of them (five minutes on one core), and some for
twice as long (two minutes); ``linear``, attention against gated linear attention (ten minutes).
Each small model is trained by minigpt's own `train`, on eight windows a step. The rest looks into
a Llama.
"""

from __future__ import annotations

import importlib.resources
import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import example, interpret, minigpt
from helpers.chapters import lab
from helpers.chapters.ch14_todays_block import linear
from helpers.chapters.lab import Part, characters, parts_of, seeded, spread
from helpers.minigpt import LayerNorm, init_weights
from helpers.minillama import GroupedQueryAttention, RMSNorm, rotate, set_attention
from helpers.worked import Step, Worked, matrix, number, softmax_steps

C, H, L, T = 48, 4, 2, 32
STEPS, BATCH = 300, 8
RATES = (0.002, 0.005)
SWAPS: dict[str, tuple[str, ...]] = {
    "GPT": (),
    "RMSNorm": ("RMSNorm",),
    "RoPE": ("RoPE",),
    "grouped queries": ("grouped",),
    "SwiGLU": ("SwiGLU",),
    "no biases": ("no biases",),
    "tied": ("tied",),
    "Llama": ("RMSNorm", "RoPE", "grouped", "SwiGLU", "no biases", "tied"),
    "Llama, as many parameters": (
        *("RMSNorm", "RoPE", "grouped", "SwiGLU", "no biases", "tied"),
        "larger",
    ),
}


class Attention(nn.Module):
    """Causal attention of H heads that share G heads of keys and values, rotated or not."""

    def __init__(self, G: int, *, rotary: bool, bias: bool):
        super().__init__()
        self.G, self.rotary = G, rotary
        self.query = nn.Linear(C, C, bias=bias)
        self.key = nn.Linear(C, C // H * G, bias=bias)
        self.value = nn.Linear(C, C // H * G, bias=bias)
        self.out = nn.Linear(C, C, bias=bias)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        heads = ((self.query, H), (self.key, self.G), (self.value, self.G))
        q, k, v = (layer(x_BTC).unflatten(-1, (n, -1)).transpose(1, 2) for layer, n in heads)
        if self.rotary:
            q, k = rotate(q, 0, 10_000), rotate(k, 0, 10_000)
        k, v = (x.repeat_interleave(H // self.G, dim=1) for x in (k, v))
        mixed_BHTD = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed_BHTD.transpose(1, 2).flatten(2))


class Network(nn.Module):
    """Feed-forward with GELU, or with SwiGLU where it is gated."""

    def __init__(self, hidden: int, *, gated: bool, bias: bool):
        super().__init__()
        self.gate = nn.Linear(C, hidden, bias=bias) if gated else None
        self.up = nn.Linear(C, hidden, bias=bias)
        self.down = nn.Linear(hidden, C, bias=bias)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        if self.gate is None:
            return self.down(F.gelu(self.up(x_BTC)))
        return self.down(F.silu(self.gate(x_BTC)) * self.up(x_BTC))


class Layer(nn.Module):
    """A pre-norm block."""

    def __init__(self, norm: type[nn.Module], attention: nn.Module, feed_forward: nn.Module):
        super().__init__()
        self.norm_1, self.norm_2 = norm(C), norm(C)
        self.attention, self.feed_forward = attention, feed_forward

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x_BTC = x_BTC + self.attention(self.norm_1(x_BTC))
        return x_BTC + self.feed_forward(self.norm_2(x_BTC))


class Between(nn.Module):
    """minigpt's GPT with any of the swaps; with all of them it is minillama's Llama.

    What a swap saves among the weights that multiply goes to the hidden numbers of the feed-forward
    layer; "larger" gives them the weights of the embeddings that are saved, too.
    """

    def __init__(self, swaps: Iterable[str] = ()):
        super().__init__()
        has = {name: name in swaps for name in SWAPS["Llama, as many parameters"]}
        V, G, self.T = len(characters().tokenizer.vocab), H // 2 if has["grouped"] else H, T
        norm, bias = RMSNorm if has["RMSNorm"] else LayerNorm, not has["no biases"]
        spare = 2 * C * C * (H - G) // H + has["larger"] * (V + T) * C // L
        matrices = 3 if has["SwiGLU"] else 2
        hidden = round((8 * C * C + spare) / (matrices * C))

        self.embedding = nn.Embedding(V, C)
        self.position = None if has["RoPE"] else nn.Embedding(T, C)
        attentions = (Attention(G, rotary=has["RoPE"], bias=bias) for _ in range(L))
        self.blocks = nn.Sequential(
            *(
                Layer(norm, one, Network(hidden, gated=has["SwiGLU"], bias=bias))
                for one in attentions
            )
        )
        self.norm, self.head = norm(C), nn.Linear(C, V, bias=False)
        if has["tied"]:
            self.head.weight = self.embedding.weight
        init_weights(self)

    def forward(self, ids_BT: Tensor) -> Tensor:
        """Ids (B, T) to logits (B, T, V)."""
        x_BTC = self.embedding(ids_BT)
        if self.position is not None:
            x_BTC = x_BTC + self.position.weight[: ids_BT.shape[1]]
        return self.head(self.norm(self.blocks(x_BTC)))


def parameters(model: nn.Module) -> int:
    """How many parameters a model has, tied ones once."""
    return sum(p.numel() for p in model.parameters())


@cache
def some_windows() -> tuple[Tensor, Tensor]:
    """400 windows of the validation text, and the character after each position, (400, T)."""
    ids = characters().validation[: 400 * T + 1]
    return ids[:-1].view(-1, T), ids[1:].view(-1, T)


@torch.no_grad()
def validation(model: nn.Module) -> float:
    """Mean loss on some of the validation text, in nats a character."""
    x_NT, y_NT = some_windows()
    return F.cross_entropy(model.eval()(x_NT).flatten(0, 1), y_NT.flatten()).item()


# --- training ---------------------------------------------------------------------------------

BLOCK = 50  # losses are stored as means over so many steps


def trained(model: nn.Module, lr: float, steps: int = STEPS) -> list[float]:
    """Train a model by minigpt's loop, whose batches come from torch's generator: its losses."""
    run = minigpt.train(model, characters().train, steps, BATCH, lr)
    return [loss for _, loss in run]


def kept(losses: list[float], model: nn.Module) -> dict:
    """What is stored of a run."""
    found = lab.stored_losses(losses, BLOCK) | {"validation": round(validation(model), 4)}
    return found | {"parameters": parameters(model)}


def one_swap(seed: int, swaps: str, lr: float, steps: int = STEPS) -> dict:
    """Train a model with some of the swaps."""
    with seeded(seed):
        model = Between(SWAPS[swaps])
        return kept(trained(model, lr, steps), model)


# --- what the chapter shows -----------------------------------------------------------------

TEXT = """The old harbour lay quiet in the morning. Two boats had come in during the night, and \
the men were sorting their nets on the wall while the gulls waited. Anna walked past them with a \
basket of bread. She had promised her brother to be back before noon, because the ferry to the \
island left at one, and he never remembered to bring the tickets himself. When she reached the \
yellow house, the door stood open and a kettle was boiling over. Nobody answered. On the table lay \
a map of the coast, a broken pencil and her brother's watch, which had stopped at ten minutes past \
six. She turned off the stove, sat down, and tried to remember what he had said about the wind."""
"""Written for this chapter, so that no model has read it."""


EXAMPLES = (  # animal, what it did not do, to what, because it was too …, and which was
    ("horse", "jump", "fence", "old", "horse"),
    ("bear", "lift", "stone", "weak", "bear"),
    ("dog", "climb", "hill", "steep", "hill"),
    ("cat", "eat", "bread", "dry", "bread"),
)


def prompt(how: str, examples: Iterable[tuple] = EXAMPLES, third: str = "it") -> str:
    """The fox's sentence after some examples, up to where the next word says what "it" was."""
    shown = "".join(
        f"The {animal} did not {verb} the {thing} because it was too {adjective}. "
        f"The {meant} was too {adjective}.\n"
        for animal, verb, thing, adjective, meant in examples
    )
    return f"{shown}The fox did not cross the stream because {third} was too {how}. The"


def against_gpt(part: str, **setting) -> str:
    """The losses of a setting and, in a second column, less those of the GPT, seed by seed."""
    found, gpt = (PARTS[part].final(**setting | more) for more in ({}, {"swaps": "GPT"}))
    return f"{spread(found, 3)} | {spread(found - gpt, 3, signed=True)}"


@torch.no_grad()
def next_word(model: nn.Module, tokenizer, text: str) -> Tensor:
    """Logarithms of the probabilities that " fox" and that " stream" come next, (2,)."""
    both = [tokenizer.encode(word).item() for word in (" fox", " stream")]
    return model(tokenizer.encode(text)[None])[0, -1].log_softmax(dim=-1)[both]


def differences(model, tokenizer, known, examples=EXAMPLES, third="it") -> list[float]:
    """The logit of " stream" less that of " fox", with "wide" and with "tired"; known, by text."""
    texts = [prompt(how, examples, third) for how in ("wide", "tired")]
    new = {text: next_word(model, tokenizer, text) for text in texts if text not in known}
    return [(known | new)[text].diff().item() for text in texts]


def patterns(model, tokenizer) -> tuple[list[str], int, dict[str, np.ndarray]]:
    """The prompt's words, where its last sentence begins, and what heads read in it, (L, H, T)."""
    texts = {how: tokenizer.encode(prompt(how)) for how in ("wide", "tired")}
    words = [tokenizer.decode([i]) for i in texts["wide"]]
    start = len(words) - words[::-1].index(" fox") - 2
    it = start + words[start:].index(" it")
    wide, tired = (
        interpret.attention_weights(model, ids_T[None])[:, 0].numpy() for ids_T in texts.values()
    )
    reads = {"it": wide[:, :, it], "it, tired": tired[:, :, it]}
    return words, start, reads | {"The (wide)": wide[:, :, -1], "The (tired)": tired[:, :, -1]}


def carried(model, tokenizer, known, levels: Iterable[int], positions: Iterable[int]) -> np.ndarray:
    """How far the answer moves to that of "tired" where one vector is swapped, (R, P)."""
    kept = interpret.stream(model, tokenizer.encode(prompt("tired"))[None])
    wide, tired = differences(model, tokenizer, known)

    def swapped(level: int, at: int) -> float:
        with interpret.patched(model, level, at, kept[level][:, at]):
            return next_word(model, tokenizer, prompt("wide")).diff().item()

    moved_RP = np.array([[swapped(level, at) for at in positions] for level in levels])
    return (moved_RP - wide) / (tired - wide)


def _factor(value: float) -> str:
    return f"({number(value)})" if value < 0 else number(value)


def _on_two_lines(name: str, working: str, value: np.ndarray) -> Step:
    lines = rf"{working} \\ &= {matrix(value)}"
    return Step(name, rf"\begin{{aligned}}[t] & {lines} \end{{aligned}}", value)


def turned_by_hand(x: np.ndarray, halves: bool) -> Worked:
    """Four numbers at position 1, turned pair by pair by 1 and by 1/10 radian."""
    pairs, steps, turned = ((0, 2), (1, 3)) if halves else ((0, 1), (2, 3)), [], np.zeros(4)
    for (i, j), angle in zip(pairs, (1.0, 0.1), strict=True):
        a, b, cos, sin = x[i], x[j], np.cos(angle), np.sin(angle)
        turned[i], turned[j] = a * cos - b * sin, a * sin + b * cos
        for at, sign, one, other in ((i, "-", cos, sin), (j, "+", sin, cos)):
            said = rf"{_factor(a)} \cdot {number(one)} {sign} {_factor(b)} \cdot {number(other)}"
            steps.append(Step(f"k_{at + 1}", f"{said} = {number(turned[at])}", turned[at]))
    steps.append(Step(r"\text{turned}", matrix(turned), turned))
    title = (
        "Halves: 1st with 3rd by 1, 2nd with 4th by 0.1"
        if halves
        else "Neighbours: 1st with 2nd by 1, 3rd with 4th by 0.1"
    )
    return Worked(title, tuple(steps))


def shared_keys_by_hand() -> Worked:
    """What both heads of "it" read where the second has the keys and values of the first."""
    x, K, V = example.X[-1], example.X @ example.W_K, example.X @ example.W_V
    steps = [Step("K", rf"{matrix(K)} \quad V = {matrix(V)}", K)]
    for n, W in ((1, example.W_Q), (2, example.W_Q2)):
        scores = K @ (x @ W) / 2**0.5
        weights = softmax_steps(f"w_{n}", scores)
        output = weights.value @ V
        steps.append(_on_two_lines(f"s_{n}", rf"K q_{n} / \sqrt{{2}}", scores))
        steps += [weights, Step(f"w_{n} V", matrix(output), output)]
    title = "Two queries of “it”, and one set of keys and values"
    return Worked(title, tuple(steps))


def gate_by_hand(x: np.ndarray, gate: np.ndarray, up: np.ndarray, down: np.ndarray) -> Worked:
    """SwiGLU of one token, step by step."""
    g, u = x @ gate, x @ up
    opened = g / (1 + np.exp(-g))
    shown = ", ".join(rf"\frac{{{number(one)}}}{{1 + e^{{{number(-one)}}}}}" for one in g)
    hidden = opened * u
    products = r" & ".join(
        rf"{_factor(a)} \cdot {_factor(b)}" for a, b in zip(opened, u, strict=True)
    )
    rows = " + ".join(rf"{number(h)} {matrix(row)}" for h, row in zip(hidden, down, strict=True))
    products = rf"\begin{{bmatrix}} {products} \end{{bmatrix}}"
    return Worked(
        "What SwiGLU makes of “it”",
        (
            _on_two_lines(r"x\,W_{\text{gate}}", matrix(x) + matrix(gate), g),
            Step(r"\text{silu}", rf"({shown}) = {matrix(opened)}", opened),
            _on_two_lines(r"x\,W_{\text{up}}", matrix(x) + matrix(up), u),
            _on_two_lines(r"\text{hidden}", products, hidden),
            _on_two_lines(r"\text{output}", rows, hidden @ down),
        ),
    )


# --- looking into a Llama -------------------------------------------------------------------


@torch.no_grad()
def losses_of(model: nn.Module, ids_1T: Tensor) -> Tensor:
    """The loss at each position of one text but the last, (T - 1,), in nats."""
    return F.cross_entropy(model(ids_1T)[0, :-1], ids_1T[0, 1:], reduction="none")


def oracle() -> list[list[str]]:
    """How far SmolLM2 in our class is from Hugging Face's, a row for each text (`make oracles`)."""
    path = importlib.resources.files("helpers") / "data" / "results" / "oracles_llama.json"
    rows = json.loads(path.read_text("utf-8"))["rows"]
    return [row for row in rows if row[0].startswith("SmolLM2-135M")]


def loss_on_text(model: nn.Module, tokenizer, text: str = TEXT) -> float:
    """The mean loss on a text, in nats per token."""
    return losses_of(model, tokenizer.encode(text)[None]).mean().item()


def rotate_halves(x_BHTD: Tensor, first: int, base: float) -> Tensor:
    """As `rotate`, with i and i + D/2 for pairs. Shapes: (B, H, T, D)."""
    neighbours = torch.stack(x_BHTD.chunk(2, dim=-1), dim=-1).flatten(-2)
    return rotate(neighbours, first, base).unflatten(-1, (-1, 2)).mT.flatten(-2)


def centred_norms(model: nn.Module) -> AbstractContextManager:
    """Subtract the mean before each norm of a Llama: its RMSNorms become LayerNorms without β."""

    def centre(norm, given):
        return (given[0] - given[0].mean(dim=-1, keepdim=True),)

    norms = (norm for norm in model.modules() if isinstance(norm, RMSNorm))
    return interpret.hooked(*(norm.register_forward_pre_hook(centre) for norm in norms))


class HidingAttention(GroupedQueryAttention):
    """The layers of another one, in which no later position reads this one."""

    def __init__(self, attention: GroupedQueryAttention, position: int):
        nn.Module.__init__(self)
        self.D, self.base, self.position = attention.D, attention.base, position
        self.query, self.key = attention.query, attention.key
        self.value, self.out = attention.value, attention.out

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        q, k, v = self.project(x_BTC)
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
        sees_TT = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).tril()
        sees_TT[self.position + 1 :, self.position] = False
        mixed_BHTD = F.scaled_dot_product_attention(q, k, v, sees_TT)
        return self.out(mixed_BHTD.transpose(1, 2).flatten(2))


@contextmanager
def hidden_position(model: nn.Module, position: int, layers: Iterable[int]) -> Iterator[None]:
    """Let no later position read this one in these layers of a Llama, counted from 1."""
    plain = [block.attention for block in model.blocks]
    for layer in layers:
        model.blocks[layer - 1].attention = HidingAttention(plain[layer - 1], position)
    try:
        yield
    finally:
        set_attention(model, plain)


# --- the parts ------------------------------------------------------------------------------

PARTS = parts_of(
    14,
    {
        "swaps": Part(
            run=one_swap,
            settings=[{"swaps": s, "lr": lr} for s, lr in itertools.product(SWAPS, RATES)],
            more={"block": BLOCK},
        ),
        "swaps, longer": Part(
            run=one_swap,
            settings=[
                {"swaps": s, "lr": RATES[0], "steps": 2 * STEPS} for s in ("GPT", "RoPE", "Llama")
            ],
            more={"block": BLOCK},
        ),
        "linear": Part(
            run=linear.one_run,
            settings=[
                {"kind": kind, "lr": lr}
                for kind, lr in itertools.product(linear.KINDS, linear.RATES)
            ],
        ),
    },
)
