"""A model of the book for Hugging Face's transformers and for llama.cpp.

    python -m helpers.to_hf my-run/model.safetensors my-hf

minigpt's GPT becomes a GPT-2 and minillama's Llama a Llama, in the files that `AutoTokenizer` and
`AutoModelForCausalLM` open. With byte pairs as tokens there is `model.gguf` for llama.cpp, too.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from helpers import checkpoint, command, files
from helpers.families import NAMES
from helpers.minigpt import GPT, WORDS, Tokenizer
from helpers.minillama import BytePairTokenizer
from helpers.pretrained_tokenizers import DIGITS, LETTERS

SIZES = {  # ours, those of GGUF, of Hugging Face's GPT-2 and of its Llama
    "V": ("vocab_size", "vocab_size", "vocab_size"),
    "T": ("context_length", "n_positions", "max_position_embeddings"),
    "C": ("embedding_length", "n_embd", "hidden_size"),
    "H": ("attention.head_count", "n_head", "num_attention_heads"),
    "G": ("attention.head_count_kv", "", "num_key_value_heads"),
    "L": ("block_count", "n_layer", "num_hidden_layers"),
    "hidden": ("feed_forward_length", "n_inner", "intermediate_size"),
    "base": ("rope.freq_base", "", "rope_theta"),
}

GPT2_NAMES = {  # minigpt's parts in GGUF and in GPT-2, as families.NAMES has minillama's
    "embedding": ("token_embd", "transformer.wte"),
    "position": ("position_embd", "transformer.wpe"),
    "blocks.{}.norm_1": ("blk.{}.attn_norm", "transformer.h.{}.ln_1"),
    "blocks.{}.attention.qkv": ("blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn"),
    "blocks.{}.attention.out": ("blk.{}.attn_output", "transformer.h.{}.attn.c_proj"),
    "blocks.{}.norm_2": ("blk.{}.ffn_norm", "transformer.h.{}.ln_2"),
    "blocks.{}.feed_forward.up": ("blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc"),
    "blocks.{}.feed_forward.down": ("blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj"),
    "norm": ("output_norm", "transformer.ln_f"),
    "head": ("output", "lm_head"),
}
# minigpt's patterns in Hugging Face's tokenizers, which has no Python \\w.
PATTERNS = {r"(?s).": r"[\s\S]", WORDS: r" ?[\p{L}\p{N}_]+|[^\p{L}\p{N}_]"}


def tensors(model: nn.Module, column: int) -> dict[str, Tensor]:
    """The weights by GGUF's names (column 0), or by Hugging Face's (1) and in its layout.

    Its GPT-2 has the blocks' linear layers transposed; its Llama turns entries i and i + D / 2 of
    queries and keys, where ours turns 2i and 2i + 1.
    """
    names, found = GPT2_NAMES if isinstance(model, GPT) else NAMES, {}
    for name, parameter in model.named_parameters():
        (layer, _, kind), weights = name.rpartition("."), parameter.detach().cpu()
        if column and isinstance(model, GPT) and "blocks" in name and weights.ndim == 2:
            weights = weights.T
        if column and layer.endswith(("query", "key")):
            pairs = weights.unflatten(0, (-1, model.blocks[0].attention.D // 2, 2))
            weights = pairs.transpose(1, 2).flatten(0, 2)
        place = names[re.sub(r"\.\d+\.", ".{}.", layer)][column]
        found[f"{place.format(*re.findall('[0-9]+', layer))}.{kind}"] = weights.contiguous()
    return found


def config(model: nn.Module) -> dict[str, Any]:
    """What config.json holds."""
    column, about = 1 if isinstance(model, GPT) else 2, dict[str, Any]()
    about |= {SIZES[name][column]: size for name, size in checkpoint.sizes(model).items()}
    about |= {"bos_token_id": None, "eos_token_id": None, "dtype": "float32"}
    about["tie_word_embeddings"] = model.head.weight is model.embedding.weight
    if isinstance(model, GPT):
        about |= {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}
        return about | {"activation_function": "gelu", "layer_norm_epsilon": model.norm.eps}
    about |= {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu"}
    about["rms_norm_eps"] = model.norm.eps
    return about | {"rope_parameters": {"rope_type": "default", "rope_theta": about["rope_theta"]}}


def words(tokenizer: Any) -> dict[str, Any]:
    """What tokenizer.json holds. Of two merges that make one token, only the last has it.

    Raises ValueError for tokens that are neither minigpt's nor minillama's.
    """
    about: dict[str, Any] = {"version": "1.0", "added_tokens": [], "normalizer": None}
    if type(tokenizer) is BytePairTokenizer:
        spelt = {token: "".join(LETTERS[b] for b in token) for token in tokenizer.ids}
        names = {i: spelt[token] for token, i in tokenizer.ids.items()}
        tokens = [names.get(i, f"<unused {i}>") for i in range(len(tokenizer.vocab))]
        merges = [[spelt[left], spelt[right]] for left, right in tokenizer.rank]
        cuts = [step | {"trim_offsets": True} for step in DIGITS]
        about["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": cuts}
        about |= {"decoder": cuts[1], "model": {"type": "BPE", "merges": merges}}
    elif getattr(tokenizer, "pattern", None) in PATTERNS:
        tokens, cut = tokenizer.vocab, {"Regex": PATTERNS[tokenizer.pattern]}
        how = {"type": "Split", "behavior": "Isolated", "invert": False}
        about |= {"pre_tokenizer": how | {"pattern": cut}, "decoder": {"type": "Fuse"}}
        about["model"] = {"type": "WordLevel", "unk_token": "<unknown>"}
    else:
        raise ValueError("its tokens are neither minigpt's nor minillama's")
    about["model"]["vocab"] = {token: i for i, token in enumerate(tokens)}
    return about | {"post_processor": None}


def write_gguf(path: Path, model: nn.Module, pairs: dict[str, Any]) -> None:
    """Write a GGUF file in float32. pairs: the vocabulary and the merges, as in tokenizer.json."""
    import gguf

    kind = "gpt2" if isinstance(model, GPT) else "llama"
    norm = "layer_norm_epsilon" if isinstance(model, GPT) else "layer_norm_rms_epsilon"
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, kind)
    for name, size in {"hidden": 4 * model.norm.weight.numel(), **checkpoint.sizes(model)}.items():
        add = writer.add_float32 if name == "base" else writer.add_uint32
        add(f"{kind}.{SIZES[name][0]}", size)
    writer.add_float32(f"{kind}.attention.{norm}", model.norm.eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")  # cuts a text where minillama.SPLIT does
    writer.add_token_list([*pairs["vocab"]])
    writer.add_token_merges([" ".join(pair) for pair in pairs["merges"]])
    writer.add_eos_token_id(0)  # llama.cpp wants one: a byte that no text holds
    for name, weights in tensors(model, 0).items():
        writer.add_tensor(name, weights.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write(folder: str | Path, model: nn.Module, tokenizer: Tokenizer | BytePairTokenizer) -> None:
    """Write a model into a new folder. Raises FileExistsError where one is not empty."""
    folder = Path(folder).expanduser()
    how = {"model_max_length": model.T, "clean_up_tokenization_spaces": False}
    how |= {"tokenizer_class": "PreTrainedTokenizerFast"}
    texts = {"config": config(model), "tokenizer": words(tokenizer), "tokenizer_config": how}
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} isn't empty: name a new folder")
    if isinstance(tokenizer, BytePairTokenizer):
        write_gguf(folder / "model.gguf", model, texts["tokenizer"]["model"])
    for name, about in texts.items():
        files.write_text(folder / f"{name}.json", json.dumps(about, indent=1))
    weights = safetensors.torch.save(tensors(model, 1), {"format": "pt"})
    files.write_bytes(folder / "model.safetensors", weights)


def run(arguments: list[str]) -> None:
    """Do it from a console."""
    parser = argparse.ArgumentParser("python -m helpers.to_hf", description=__doc__.split("\n")[0])
    parser.add_argument("path", help="a model of the book, as helpers.train and minigpt keep it")
    parser.add_argument("folder", help="a new folder")
    given = parser.parse_args(arguments)
    with command.one_line("stopped"):
        model, tokenizer = checkpoint.load(given.path)
        write(given.folder, model, tokenizer)
    pairs = isinstance(tokenizer, BytePairTokenizer)
    also = "llama.cpp its model.gguf" if pairs else "but llama.cpp knows byte pairs alone"
    print(f"transformers opens {given.folder}, {also}")


if __name__ == "__main__":
    run(sys.argv[1:])
