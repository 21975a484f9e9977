"""A trained GPT as a folder that Hugging Face's transformers opens, and what converts from it."""

import json
from pathlib import Path

import safetensors.torch

from helpers import files
from helpers.gpt import GPT
from helpers.norms import EPS

GPT2 = {"norm": "layer", "placement": "pre", "positions": "learned", "ngrams": 1, "qk_norm": False}
ACTIVATIONS = {"gelu": "gelu", "relu": "relu", "relu2": "relu2", "none": "linear"}
NAMES = {  # of modules, ours to theirs
    "embedding": "transformer.wte",
    "position.rows": "transformer.wpe",
    "norm": "transformer.ln_f",
    "head": "lm_head",
    "attention.norm": "ln_1",
    "attention.sublayer.qkv": "attn.c_attn",
    "attention.sublayer.out": "attn.c_proj",
    "feed_forward.norm": "ln_2",
    "feed_forward.sublayer.up": "mlp.c_fc",
    "feed_forward.sublayer.down": "mlp.c_proj",
}


def to_hf(model: GPT, folder: str | Path) -> None:
    """Write a GPT in GPT-2's arrangement so that GPT2LMHeadModel.from_pretrained(folder) reads it.

    Raises: ValueError where the model has a norm, positions or the like that GPT-2 lacks.
    """
    config = model.config
    if other := [f"{n}={v!r}" for n in GPT2 if (v := getattr(config, n)) != GPT2[n]]:
        raise ValueError(f"GPT-2 has no {', '.join(other)}")
    tensors = {}
    for name, tensor in model.named_parameters():  # a tied one comes once
        module, _, end = name.rpartition(".")
        block = ""
        if module.startswith("blocks."):
            _, number, module = module.split(".", 2)
            block = f"transformer.h.{number}."
        values = tensor.T if block and tensor.ndim == 2 else tensor  # there (fan_in, fan_out)
        tensors[f"{block}{NAMES[module]}.{end}"] = values.detach().cpu().contiguous()
    about = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config.vocab_size,
        "n_positions": config.context,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "activation_function": ACTIVATIONS[config.activation],
        "layer_norm_epsilon": EPS,
        "tie_word_embeddings": config.tied,
        **dict.fromkeys(("resid_pdrop", "embd_pdrop"), config.dropout),
        "attn_pdrop": config.attention_dropout,
        **dict.fromkeys(("bos_token_id", "eos_token_id")),
    }
    data = safetensors.torch.save(tensors, {"format": "pt"})
    files.write_bytes(Path(folder) / "model.safetensors", data)
    files.write_text(Path(folder) / "config.json", json.dumps(about, indent=1))
