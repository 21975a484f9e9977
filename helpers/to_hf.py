"""A trained GPT as a folder that Hugging Face's transformers opens, and what converts from it."""

import json
import re
from pathlib import Path

import safetensors.torch

from helpers import files
from helpers.gpt import GPT
from helpers.norms import EPS

GPT2 = {"norm": "layer", "placement": "pre", "positions": "learned", "ngrams": 1, "qk_norm": False}
ACTIVATIONS = {"gelu": "gelu", "relu": "relu", "relu2": "relu2", "none": "linear"}
NAMES = {
    r"^embedding\.": "transformer.wte.",
    r"^position\.rows\.": "transformer.wpe.",
    r"^norm\.": "transformer.ln_f.",
    r"^head\.": "lm_head.",
    r"^blocks\.": "transformer.h.",
    r"attention\.norm": "ln_1",
    r"attention\.sublayer\.qkv": "attn.c_attn",
    r"attention\.sublayer\.out": "attn.c_proj",
    r"feed_forward\.norm": "ln_2",
    r"feed_forward\.sublayer\.up": "mlp.c_fc",
    r"feed_forward\.sublayer\.down": "mlp.c_proj",
}


def to_hf(model: GPT, folder: str | Path) -> None:
    """Write a GPT in GPT-2's arrangement so that GPT2LMHeadModel.from_pretrained(folder) reads it.

    Raises: ValueError where the model has a norm, positions or the like that GPT-2 lacks.
    """
    config = model.config
    if other := [f"{n}={v!r}" for n in GPT2 if (v := getattr(config, n)) != GPT2[n]]:
        raise ValueError(f"GPT-2 has no {', '.join(other)}")
    tensors = {}
    for name, tensor in model.state_dict().items():
        for ours, theirs in NAMES.items():
            name = re.sub(ours, theirs, name)
        if re.search(r"c_\w+\.weight", name):  # there stored as (fan_in, fan_out)
            tensor = tensor.T
        if name != "lm_head.weight" or not config.tied:
            tensors[name] = tensor.detach().cpu().contiguous()
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
        "attn_pdrop": 0.0,
        **dict.fromkeys(("bos_token_id", "eos_token_id")),
    }
    data = safetensors.torch.save(tensors, {"format": "pt"})
    files.write_bytes(Path(folder) / "model.safetensors", data)
    files.write_text(Path(folder) / "config.json", json.dumps(about, indent=1))
