"""minillama, SmolLM2 and its tokenizer held against Hugging Face's: part of ``make oracles``.

Random models are written by transformers into folders and read by `pretrained.from_folder`, with
tokenizers of the kinds that SmolLM2, Qwen2 and Llama 2 have; SmolLM2's file is read by both sides.
Both run in float32 and are compared layer by layer. Each tokenizer splits 10,000 strings in both.
Some of them, with their ids, are stored for the ordinary tests.
"""

import json
import random
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import tokenizers
import torch
import transformers as hf
from common import about, store_table
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor, nn

from helpers import corpus, gguf, pretrained
from helpers.files import write_text
from helpers.minillama import BytePairTokenizer, Llama, chat_ids, stream

LOGITS = 1e-4  # the largest difference that passes
STORED = Path(__file__).parents[1] / "tests" / "core"
OF_QWEN = (  # the regular expression of Qwen2's tokenizer.json
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SCRIPTS = """LATIN GREEK CYRILLIC ARMENIAN HEBREW ARABIC DEVANAGARI BENGALI TAMIL THAI TIBETAN
GEORGIAN HANGUL ETHIOPIC CHEROKEE KHMER MONGOLIAN HIRAGANA KATAKANA CJK"""
SPACES = [*" \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\ufeff"]
EMOJI = ["😀", "👩🏽‍💻", "🏳️‍🌈", "🇫🇷", "👨‍👩‍👧", "❤️", "☕", "1️⃣", "🦊"]
WORDS = r"""the fox didn't cross It's we'll THEY'RE I'd x'S ''s 1950 3.14 -7 f(x)=y_1; return -->
... https://a.b/c?d=e don’t naïve café #tag @me 100% <b> \n {} $5 a/b ²³ ½ Ⅷ ٣٤ १२"""


def strings(n: int) -> Iterator[str]:
    """Strings of all scripts, with numbers, marks, controls, emoji and odd white space."""
    draw = random.Random(0)
    old = unicodedata.ucd_3_2_0  # assigned long ago: the same class in each library's Unicode
    known = [chr(c) for c in range(0x2FA20) if old.category(chr(c)) not in ("Cn", "Cs", "Co")]
    by_script = {
        script: [c for c in known if unicodedata.name(c, "").startswith(script)]
        for script in SCRIPTS.split()
    }

    def piece() -> str:
        kind = draw.randrange(6)
        if kind == 0:
            return "".join(draw.choices(SPACES, k=draw.randint(1, 4)))
        if kind == 1:
            return draw.choice(EMOJI)
        if kind == 2:
            return draw.choice(WORDS.split())
        if kind == 3:
            return "".join(draw.choices(known, k=draw.randint(1, 5)))
        if kind == 4:
            return "".join(draw.choices([chr(c) for c in range(128)], k=draw.randint(1, 6)))
        letters = by_script[draw.choice([*by_script])]
        return "".join(draw.choices(letters, k=draw.randint(1, 8)))

    for _ in range(n):
        parts = [piece() for _ in range(draw.randint(1, 8))]
        yield draw.choice(["", " "]).join(parts)


def tokenizer_of(tokens: list[str], merges: list[str]) -> tokenizers.Tokenizer:
    """SmolLM2's tokenizer in Hugging Face's library."""
    pairs = [tuple(merge.split(" ")) for merge in merges]
    theirs = tokenizers.Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, pairs))
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    theirs.decoder = decoders.ByteLevel()
    return theirs


def like_qwen2() -> tokenizers.Tokenizer:
    """Bytes, split by another regular expression, trained on the tales."""
    theirs = tokenizers.Tokenizer(models.BPE())
    theirs.normalizer = normalizers.NFC()
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(OF_QWEN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    theirs.decoder = decoders.ByteLevel()
    every_byte = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=every_byte, special_tokens=["<|endoftext|>"]
    )
    theirs.train_from_iterator([corpus.load()], trainer)
    return theirs


def like_llama2() -> tokenizers.Tokenizer:
    """Characters with ▁ for spaces, and bytes for what is none of them, as from SentencePiece.

    Its files name every pair of tokens whose sum is a token, in the order of the sums.
    """
    trained = tokenizers.Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator([corpus.load()], trainers.BpeTrainer(vocab_size=500))
    found = trained.get_vocab()
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += [*sorted(found, key=found.__getitem__), "▁▁"]
    ids = {token: i for i, token in enumerate(tokens)}
    merges = [
        (token[:at], token[at:])
        for token in tokens[259:]
        for at in range(1, len(token))
        if token[:at] in ids and token[at:] in ids
    ]
    bpe = models.BPE(ids, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    theirs = tokenizers.Tokenizer(bpe)
    theirs.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    theirs.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    theirs.add_special_tokens(tokens[:3])
    return theirs


def differing(ours: BytePairTokenizer, theirs: tokenizers.Tokenizer, name: str) -> list[str]:
    """The strings of 10,000 that the two split differently, or put together."""
    texts = [*strings(10_000)]
    stored = {text: theirs.encode(text, add_special_tokens=False).ids for text in texts}
    cases = [f"{json.dumps(text)}: {ids}" for text, ids in stored.items()]
    n, head = 300, ""
    if name != "smollm2":
        n, head = 40, f'"tokenizer.json": {json.dumps(json.loads(theirs.to_str()))},\n'
    write_text(STORED / f"{name}_tokens.json", "{\n" + head + ",\n".join(cases[:n]) + "\n}\n")
    return [
        text
        for text, ids in stored.items()
        if ours.encode(text).tolist() != ids or ours.decode(ids) != theirs.decode(ids)
    ]


@torch.no_grad()
def apart(ours: Llama, theirs: nn.Module, ids_1T: Tensor) -> tuple[float, float]:
    """The largest difference of the logits, and of the residual stream in RMS of a token's vector.

    The stream is compared after the embedding and after every block, the last one normalised.
    """
    found = theirs(ids_1T, output_hidden_states=True)
    levels = [ours.embedding(ids_1T)]
    for block in ours.blocks:
        levels.append(block(levels[-1]))
    levels[-1] = ours.norm(levels[-1])
    stream = max(
        ((x - y).abs().amax(dim=-1) / y.square().mean(dim=-1).sqrt()).max().item()
        for x, y in zip(levels, found.hidden_states, strict=True)
    )
    return (ours(ids_1T) - found.logits).abs().max().item(), stream


def greedy(theirs: nn.Module, ids_1T: Tensor, n: int) -> list[int]:
    """What theirs writes, the likeliest every time."""
    settings = {"max_new_tokens": n, "min_new_tokens": n, "do_sample": False, "pad_token_id": 0}
    return theirs.generate(ids_1T, **settings)[0, ids_1T.shape[1] :].tolist()


def streamed(ours: Llama, ids_1T: Tensor, n: int) -> list[int]:
    """What ours writes."""
    return [i.item() for i in stream(ours, ids_1T, n)]


FOLDERS = {
    "tied": {"tie_word_embeddings": True},
    "head of its own, base 500,000, ε 1e-6": {
        "tie_word_embeddings": False,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0},
    },
    "one key for all queries, in shards": {"num_key_value_heads": 1},
    "full attention, bfloat16": {"num_key_value_heads": 6, "dtype": "bfloat16"},
    "a bias in every layer": {"attention_bias": True, "mlp_bias": True},
    "its own tokenizer, TinyLlama's kind": {"vocab_size": 800, "max_position_embeddings": 2048},
    "Qwen2, its own tokenizer": {"vocab_size": 700, "tie_word_embeddings": True},
}


def folders(every: dict[str, tokenizers.Tokenizer], differ: dict[str, list]) -> Iterator[list]:
    """A row for each random model that transformers wrote and both sides ran."""
    for name, changes in FOLDERS.items():
        kind = "qwen2" if "Qwen2" in name else "llama2" if "TinyLlama" in name else "smollm2"
        sizes = {"hidden_size": 96, "intermediate_size": 200, "num_hidden_layers": 3}
        sizes |= {"num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 49_152}
        torch.manual_seed(0)
        sizes |= {"initializer_range": 0.2, "eos_token_id": None}  # never ends
        if kind == "qwen2":
            theirs = hf.Qwen2ForCausalLM(hf.Qwen2Config(**sizes | changes))
        else:
            theirs = hf.LlamaForCausalLM(hf.LlamaConfig(**sizes | changes))
        for parameter_name, parameter in theirs.named_parameters():
            if parameter_name.endswith("bias"):
                nn.init.normal_(parameter, std=0.5)
        theirs = theirs.to(getattr(torch, changes.get("dtype", "float32")))
        with tempfile.TemporaryDirectory() as folder:
            size = "5MB" if "shards" in name else "5GB"
            theirs.save_pretrained(folder, max_shard_size=size)
            every[kind].save(f"{folder}/tokenizer.json")
            assert len([*Path(folder).glob("*.safetensors")]) > 1 or "shards" not in name
            ours, own = pretrained.from_folder(folder)
            theirs = type(theirs).from_pretrained(folder, dtype=torch.float32).eval()
        if kind != "smollm2":
            differ[kind] = differing(own, every[kind], kind)
        ids_1T = own.encode("The fox didn't cross the stream in 1950.")[None]
        same = greedy(theirs, ids_1T, 20) == streamed(ours, ids_1T, 20)
        yield [f"Folder: {name}", *apart(ours, theirs, ids_1T), same]


def smollm2(ours: Llama, own: BytePairTokenizer, file: bytes) -> Iterator[list]:
    """SmolLM2 as transformers reads its file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.gguf").write_bytes(file)
        theirs = hf.AutoModelForCausalLM.from_pretrained(
            folder, gguf_file="model.gguf", dtype=torch.float32
        ).eval()
    theirs.generation_config.eos_token_id = None  # never ends
    text = own.encode("The fox didn't cross the stream because it was too wide. " * 8)[None]
    yield ["SmolLM2-135M-Instruct, a text", *apart(ours, theirs, text), True]
    for question in ("What is the capital of France?", "Why is the sky blue?", "Count to 5."):
        ids_1T = chat_ids(own, [("user", question)])
        same = greedy(theirs, ids_1T, 20) == streamed(ours, ids_1T, 20)
        yield [f"SmolLM2-135M-Instruct: {question}", *apart(ours, theirs, ids_1T), same]


def main() -> int:
    """1 where something differs."""
    file = pretrained.fetch()
    metadata, _ = gguf.read_gguf(file)
    ours, own = pretrained.smollm2()
    tokens, merges = (metadata[f"tokenizer.ggml.{part}"] for part in ("tokens", "merges"))
    every = {"smollm2": tokenizer_of(tokens, merges)}
    every |= {"qwen2": like_qwen2(), "llama2": like_llama2()}
    differ = {"smollm2": differing(own, every["smollm2"], "smollm2")}
    rows = [*folders(every, differ), *smollm2(ours, own, file)]
    for name, wrong in differ.items():
        print(f"{name}: {len(wrong)} of 10,000 strings differ", *map(repr, wrong[:20]), sep="\n")
    table = about(__file__, [0]) | {
        "title": "SmolLM2 and models from folders held against Hugging Face's code",
        "claim": "The largest difference of the logits, and of the residual stream after the "
        "embedding and every block (in RMS of a token's vector), from the same weights in float32, "
        "whether 20 tokens of greedy text are the same, and how many of 10,000 strings differ in "
        "tokens",
        "columns": ["held against", "logits", "stream", "greedy text", "strings"],
        "rows": [
            *(
                [what, f"{logits:.1e}", f"{stream:.1e}", "the same" if same else "differs", ""]
                for what, logits, stream, same in rows
            ),
            *(
                [f"Tokenizer: {name}", "", "", "", str(len(wrong))]
                for name, wrong in differ.items()
            ),
        ],
    }
    for package in ("transformers", "tokenizers"):
        table["versions"][package] = version(package)
    store_table("oracles_llama", table)
    print(*(" | ".join(map(str, row)) for row in table["rows"]), sep="\n")
    right = all(max(logits, stream) <= LOGITS and same for _, logits, stream, same in rows)
    return int(any(differ.values()) or not right)


if __name__ == "__main__":
    sys.exit(main())
