"""minillama, SmolLM2 and its tokenizer held against Hugging Face's: part of ``make oracles``.

Random models are written by transformers into folders and read by `pretrained.from_folder`; SmolLM2
runs in both from the same float32 weights; its tokenizer splits 10,000 strings in both. 300 of
them, with their ids, are stored for the ordinary tests.
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
from tokenizers import decoders, models, pre_tokenizers
from torch import Tensor, nn

from helpers import gguf, pretrained
from helpers.files import write_text
from helpers.minillama import BytePairTokenizer, Llama, chat_ids, stream

LOGITS = 1e-4  # the largest difference that passes
STORED = Path(__file__).parents[1] / "tests" / "core" / "smollm2_tokens.json"
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


def differing(ours: BytePairTokenizer, theirs: tokenizers.Tokenizer) -> list[str]:
    """The strings of 10,000 that the two split differently, or put together."""
    texts = [*strings(10_000)]
    stored = {text: theirs.encode(text, add_special_tokens=False).ids for text in texts}
    cases = [f"{json.dumps(text)}: {ids}" for text, ids in stored.items()]
    write_text(STORED, "{\n" + ",\n".join(cases[:300]) + "\n}\n")
    return [
        text
        for text, ids in stored.items()
        if ours.encode(text).tolist() != ids or ours.decode(ids) != theirs.decode(ids)
    ]


def apart(ours: nn.Module, theirs: nn.Module, ids_1T: Tensor) -> float:
    """The largest difference of the logits."""
    with torch.no_grad():
        return (ours(ids_1T) - theirs(ids_1T).logits).abs().max().item()


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
}


def folders(tokenizer: tokenizers.Tokenizer) -> Iterator[list]:
    """A row for each random model that transformers wrote and both sides ran."""
    for name, changes in FOLDERS.items():
        sizes = {"hidden_size": 96, "intermediate_size": 200, "num_hidden_layers": 3}
        sizes |= {"num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 49_152}
        torch.manual_seed(0)
        sizes |= {"initializer_range": 0.2, "eos_token_id": None}  # never ends
        theirs = hf.LlamaForCausalLM(hf.LlamaConfig(**sizes | changes))
        theirs = theirs.to(getattr(torch, changes.get("dtype", "float32")))
        with tempfile.TemporaryDirectory() as folder:
            size = "5MB" if "shards" in name else "5GB"
            theirs.save_pretrained(folder, max_shard_size=size)
            tokenizer.save(f"{folder}/tokenizer.json")
            assert len([*Path(folder).glob("*.safetensors")]) > 1 or "shards" not in name
            ours, own = pretrained.from_folder(folder)
            theirs = hf.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        ids_1T = own.encode("The fox didn't cross the stream in 1950.")[None]
        same = greedy(theirs, ids_1T, 20) == streamed(ours, ids_1T, 20)
        yield ["Llama from a folder: " + name, apart(ours, theirs, ids_1T), same]


def halves(rows: Tensor, D: int) -> Tensor:
    """Rows of queries or keys as Hugging Face has them: entries 2i before entries 2i + 1."""
    return rows.unflatten(0, (-1, D // 2, 2)).transpose(1, 2).flatten(0, 2)


def smollm2(ours: Llama, own: BytePairTokenizer, tensors: dict[str, Tensor]) -> Iterator[list]:
    """SmolLM2 in Hugging Face's class, from the file's own names."""
    config = hf.LlamaConfig(
        vocab_size=49_152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        eos_token_id=None,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
    )
    theirs = hf.LlamaForCausalLM(config).eval()
    state = {}
    for name, tensor in tensors.items():
        place = name
        for old, new in {
            "token_embd": "model.embed_tokens",
            "output_norm": "model.norm",
            "blk": "model.layers",
            "attn_norm": "input_layernorm",
            "attn_output": "self_attn.o_proj",
            "attn_": "self_attn.",
            "ffn_norm": "post_attention_layernorm",
            "ffn_": "mlp.",
        }.items():
            place = place.replace(old, new)
        for letter in ("q", "k", "v"):
            place = place.replace(f"self_attn.{letter}.", f"self_attn.{letter}_proj.")
        for part in ("gate", "up", "down"):
            place = place.replace(f"mlp.{part}.", f"mlp.{part}_proj.")
        turns = "q_proj" in place or "k_proj" in place
        state[place] = halves(tensor, 64) if turns else tensor
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    theirs.load_state_dict(state)
    text = own.encode("The fox didn't cross the stream because it was too wide. " * 8)[None]
    yield ["SmolLM2-135M-Instruct, a text", apart(ours, theirs, text), True]
    for question in ("What is the capital of France?", "Why is the sky blue?", "Count to 5."):
        ids_1T = chat_ids(own, [("user", question)])
        same = greedy(theirs, ids_1T, 20) == streamed(ours, ids_1T, 20)
        yield [f"SmolLM2-135M-Instruct: {question}", apart(ours, theirs, ids_1T), same]


def main() -> int:
    """1 where something differs."""
    metadata, tensors = gguf.read_gguf(pretrained.fetch())
    ours, own = pretrained.smollm2()
    theirs = tokenizer_of(metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.merges"])
    wrong = differing(own, theirs)
    rows = [*folders(theirs), *smollm2(ours, own, tensors)]
    print(f"{len(wrong)} of 10,000 strings differ", *map(repr, wrong[:20]), sep="\n")
    table = about(__file__, [0]) | {
        "title": "SmolLM2 and Llama held against Hugging Face's code",
        "claim": "The largest difference of the logits, from the same weights in float32, whether"
        " 20 tokens of greedy text are the same, and how many of 10,000 strings differ in tokens",
        "columns": ["held against", "logits", "greedy text", "strings"],
        "rows": [
            *(
                [what, f"{apart:.1e}", "the same" if same else "differs", ""]
                for what, apart, same in rows
            ),
            ["SmolLM2's tokenizer", "", "", str(len(wrong))],
        ],
    }
    for package in ("transformers", "tokenizers"):
        table["versions"][package] = version(package)
    store_table("oracles_llama", table)
    print(*(" | ".join(map(str, row)) for row in table["rows"]), sep="\n")
    return int(bool(wrong) or not all(apart <= LOGITS and same for _, apart, same in rows))


if __name__ == "__main__":
    sys.exit(main())
