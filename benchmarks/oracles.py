"""Our GPT's configurations held against Hugging Face's code: ``make oracles``.

Random weights are copied across, both sides get the same tokens in float32, and the logits and the
gradients of the loss are compared, number by number. Each side is set up as far as our
configuration expresses the other; what had to be set, and what it cannot express, stands in the
table. It fails where logits differ by more than 1e-5 or gradients by more than 1e-6.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version

import torch
import transformers as hf
from common import about, store_table
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.gpt import GPT, GPTConfig
from helpers.to_hf import to_hf

LOGITS, GRADIENTS = 1e-5, 1e-6  # the largest differences that pass
V, T, L, H, C = 61, 32, 3, 4, 64
NAMES = {  # ours to theirs, inside of a layer
    "gpt2": ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"),
    "neox": (
        "input_layernorm",
        "attention.query_key_value",
        "attention.dense",
        "post_attention_layernorm",
        "mlp.dense_h_to_4h",
        "mlp.dense_4h_to_h",
    ),
    "bloom": (
        "input_layernorm",
        "self_attention.query_key_value",
        "self_attention.dense",
        "post_attention_layernorm",
        "mlp.dense_h_to_4h",
        "mlp.dense_4h_to_h",
    ),
    "llama": (
        "input_layernorm",
        "self_attn.{}_proj",
        "self_attn.o_proj",
        "post_attention_layernorm",
        "mlp.up_proj",
        "mlp.down_proj",
    ),
}
OURS = (
    "attention.norm",
    "attention.sublayer.qkv",
    "attention.sublayer.out",
    "feed_forward.norm",
    "feed_forward.sublayer.up",
    "feed_forward.sublayer.down",
)
TABLES = {  # of each: layers, token table, position table, last norm, head
    "gpt2": ("transformer.h", "transformer.wte", "transformer.wpe", "transformer.ln_f", ""),
    "gpt1": ("transformer.h", "transformer.tokens_embed", "transformer.positions_embed", "", ""),
    "neox": ("gpt_neox.layers", "gpt_neox.embed_in", "", "gpt_neox.final_layer_norm", "lm_head"),
    "bloom": ("transformer.h", "transformer.word_embeddings", "", "transformer.ln_f", ""),
    "llama": ("model.layers", "model.embed_tokens", "", "model.norm", "lm_head"),
}
# What our configuration cannot express, and why; the rows above come as near as it can.
NOT_EXPRESSED = {
    "GPT-2, GPT-1 and Bloom: GELU by tanh": "ours is the exact GELU",
    "GPT-NeoX: parallel residual, rotation of a quarter of a head": "ours add one after the other "
    "and turn whole heads",
    "Llama and Qwen3: SwiGLU": "ours has no gate; with ReLU and one matrix for gate and up it is "
    "ReLU squared, which ours has",
    "Llama and Qwen3: grouped-query attention": "ours has as many keys as queries",
    "Qwen3: gains in the norm of queries and keys": "ours has none: they are set to 1",
    "Bloom: layer norm right after the table": "ours has none there: it is taken out",
}


def renamed(ours: dict[str, Tensor], kind: str, heads: int) -> Iterator[tuple[str, Tensor]]:
    """Our tensors by their names and in their layout: weights and gradients alike."""
    layers, *tables = TABLES[kind]
    tops = dict(zip(("embedding", "position.rows", "norm", "head"), tables, strict=True))
    inner = dict(zip(OURS, NAMES["gpt2" if kind == "gpt1" else kind], strict=True))
    for name, tensor in ours.items():
        module, _, end = name.rpartition(".")
        if not module.startswith("blocks."):
            if tops[module]:
                yield f"{tops[module]}.{end}", tensor
            continue
        _, layer, ours_in = module.split(".", 2)
        theirs = f"{layers}.{layer}.{inner[ours_in]}"
        is_qkv = ours_in.endswith("qkv")
        if is_qkv and kind in ("neox", "bloom"):  # head by head, not all queries first
            tensor = tensor.unflatten(0, (3, heads, -1)).transpose(0, 1).flatten(0, 2)
        if kind in ("gpt1", "gpt2") and tensor.ndim == 2:  # their maps are written x W
            tensor = tensor.T
        if is_qkv and kind == "llama":
            yield from (
                (f"{theirs.format(n)}.{end}", t)
                for n, t in zip("qkv", tensor.chunk(3), strict=True)
            )
        else:
            yield f"{theirs}.{end}", tensor


def _llama(model: nn.Module) -> nn.Module:
    for layer in model.model.layers:
        layer.mlp.gate_proj = layer.mlp.up_proj
    return model


def _bloom(**sizes: int) -> nn.Module:
    model = hf.BloomForCausalLM(
        hf.BloomConfig(vocab_size=V, n_layer=L, hidden_dropout=0.0, attention_dropout=0.0, **sizes)
    )
    model.transformer.word_embeddings_layernorm = nn.Identity()
    for block in model.transformer.h:
        block.mlp.gelu_impl = nn.GELU()
    return model


def _of_llamas_kind(model: type, config: type, **more) -> nn.Module:
    return _llama(
        model(
            config(
                vocab_size=V,
                hidden_size=C,
                intermediate_size=4 * C,
                num_hidden_layers=L,
                num_attention_heads=H,
                num_key_value_heads=H,
                head_dim=C // H,
                hidden_act="relu",
                max_position_embeddings=T,
                rms_norm_eps=1e-5,
                attention_bias=True,
                **more,
            )
        )
    )


ROPE = {"positions": "rope", "tied": False}
RMS = {**ROPE, "norm": "rms", "activation": "relu2"}
PAIRS: dict[str, tuple[str, str, dict, Callable[[], nn.Module]]] = {
    "Hugging Face GPT-2": (
        "gpt2",
        "exact GELU",
        {},
        lambda: hf.GPT2LMHeadModel(
            hf.GPT2Config(
                vocab_size=V,
                n_positions=T,
                n_embd=C,
                n_layer=L,
                n_head=H,
                activation_function="gelu",
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
            )
        ),
    ),
    "Hugging Face GPT-1": (
        "gpt1",
        "ReLU",
        {"placement": "post", "activation": "relu"},
        lambda: hf.OpenAIGPTLMHeadModel(
            hf.OpenAIGPTConfig(
                vocab_size=V,
                n_positions=T,
                n_embd=C,
                n_layer=L,
                n_head=H,
                afn="relu",
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
            )
        ),
    ),
    "Hugging Face GPT-NeoX": (
        "neox",
        "sequential residual, whole heads turned",
        ROPE,
        lambda: hf.GPTNeoXForCausalLM(
            hf.GPTNeoXConfig(
                vocab_size=V,
                hidden_size=C,
                num_hidden_layers=L,
                num_attention_heads=H,
                intermediate_size=4 * C,
                max_position_embeddings=T,
                use_parallel_residual=False,
                rope_parameters={
                    "rope_type": "default",
                    "rope_theta": 10_000.0,
                    "partial_rotary_factor": 1.0,
                },
            )
        ),
    ),
    "Hugging Face Llama": (
        "llama",
        "ReLU, one matrix for gate and up, biases",
        RMS,
        lambda: _of_llamas_kind(hf.LlamaForCausalLM, hf.LlamaConfig, mlp_bias=True),
    ),
    "Hugging Face Qwen3": (
        "llama",
        "as Llama; no biases in the feed-forward, gains of queries and keys 1",
        {**RMS, "qk_norm": True},
        lambda: _of_llamas_kind(hf.Qwen3ForCausalLM, hf.Qwen3Config),
    ),
    "Hugging Face Bloom": (
        "bloom",
        "exact GELU, no norm after the table",
        {"positions": "alibi"},
        lambda: _bloom(n_head=H, hidden_size=C),
    ),
    "Hugging Face Bloom, 6 heads": (
        "bloom",
        "as before",
        {"positions": "alibi", "heads": 6, "width": 96},
        lambda: _bloom(n_head=6, hidden_size=96),
    ),
}


def difference(kind: str, config: GPTConfig, theirs: nn.Module) -> tuple[float, float]:
    """The largest difference of the logits, and of the gradients, with the same random weights."""
    generator = torch.Generator().manual_seed(0)
    ours = GPT(config, generator=generator)
    if config.tied:
        theirs.lm_head.weight = theirs.get_input_embeddings().weight
    with torch.no_grad():
        for p in ours.parameters():
            p += 0.1 * torch.randn(p.shape, generator=generator)
        for name, p in ours.named_parameters():
            if "feed_forward.sublayer" in name and name.endswith("bias") and kind == "llama":
                p *= any(n.endswith("up_proj.bias") for n, _ in theirs.named_parameters())
    parameters = dict(theirs.named_parameters(remove_duplicate=False))  # what is tied stands twice
    weights = dict(renamed(dict(ours.named_parameters()), kind, config.heads))
    with torch.no_grad():
        for name in weights.keys() & parameters.keys():
            parameters[name].copy_(weights[name])
    copied = {id(parameters[name]) for name in weights.keys() & parameters.keys()}
    gains = ("q_norm.weight", "k_norm.weight")  # start at 1
    left = {n for n, p in parameters.items() if id(p) not in copied and not n.endswith(gains)}
    if left:
        raise ValueError(f"{sorted(left)} have no weights of ours")
    x, y = (torch.randint(V, (4, T), generator=generator) for _ in range(2))
    found = []
    for model in (ours, theirs.train()):
        out = model(x)
        logits = out if model is ours else out.logits
        F.cross_entropy(logits.flatten(0, 1), y.flatten()).backward()
        found.append(logits.detach())
    gradients = dict(renamed({n: p.grad for n, p in ours.named_parameters()}, kind, config.heads))
    apart = max(
        (gradients[name] - parameters[name].grad).abs().max().item()
        for name in gradients.keys() & parameters.keys()
    )
    return (found[0] - found[1]).abs().max().item(), apart


def written_by_to_hf() -> float:
    """The largest difference of logits between a model and what transformers opens of it."""
    generator = torch.Generator().manual_seed(0)
    sizes = {"vocab_size": V, "context": T, "layers": L, "heads": H, "width": C, "start": "fan_in"}
    ours = GPT(GPTConfig(**sizes, tied=False), generator=generator)
    with torch.no_grad():
        ours.head.weight.normal_(std=0.2, generator=generator)
    with tempfile.TemporaryDirectory() as folder:
        to_hf(ours, folder)
        theirs = hf.AutoModelForCausalLM.from_pretrained(folder)
    x = torch.randint(V, (4, T), generator=generator)
    return (ours.eval()(x) - theirs(x).logits).abs().max().item()


def rows() -> list[list]:
    """A row an oracle, then a row for each thing that cannot be expressed."""
    sizes = {"vocab_size": V, "context": T, "layers": L, "heads": H, "width": C, "start": "fan_in"}
    found: list[list] = []
    for name, (kind, settings, changes, make) in PAIRS.items():
        config = GPTConfig(**{**sizes, **changes})
        logits, gradients = difference(kind, config, make())
        found.append([name, settings, f"{logits:.1e}", f"{gradients:.1e}"])
    found.append(["to_hf, opened by transformers", "", f"{written_by_to_hf():.1e}", ""])
    return found + [[f"not held: {what}", why, "", ""] for what, why in NOT_EXPRESSED.items()]


def main() -> int:
    """Store the table; 1 where a difference is too large."""
    table = about(__file__, [0]) | {
        "title": "Held against others' code",
        "claim": "The largest difference from Hugging Face's models, with the same random weights, "
        "in float32",
        "columns": ["held against", "what was set", "logits", "gradients"],
        "rows": rows(),
    }
    table["versions"]["transformers"] = version("transformers")
    store_table("oracles", table)
    limits = (LOGITS, GRADIENTS)
    wide = [
        f"{row[0]}: {difference}"
        for row in table["rows"]
        for difference, limit in zip(row[2:], limits, strict=True)
        if difference and not float(difference) <= limit
    ]
    print("\n".join([*(" | ".join(row) for row in table["rows"]), *wide]))
    return 1 if wide else 0


if __name__ == "__main__":
    sys.exit(main())
