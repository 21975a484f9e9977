"""minigpt held against Hugging Face's GPT-2: ``make oracles``.

Random weights are copied across, and the shipped ones; both sides get the same tokens in float64.
Logits, the gradients of the loss and the likeliest text are compared, number by number. It fails
where a logit or a gradient differs by more than 1e-9, or a token differs.
"""

import sys
from collections.abc import Iterator
from importlib.metadata import version

import torch
import transformers as hf
from common import about, store_table
from torch import Tensor, nn
from torch.nn import functional as F

from helpers import checkpoint, minigpt

LIMIT = 1e-9  # the largest difference that passes
RANDOM = {"V": 61, "T": 32, "C": 64, "H": 4, "L": 3}
WRITTEN = 20  # tokens of the likeliest text
NAMES = {  # ours to theirs, where they differ
    "embedding.": "transformer.wte.",
    "position.": "transformer.wpe.",
    "blocks.": "transformer.h.",
    "norm_1.": "ln_1.",
    "norm_2.": "ln_2.",
    "attention.qkv.": "attn.c_attn.",
    "attention.out.": "attn.c_proj.",
    "feed_forward.up.": "mlp.c_fc.",
    "feed_forward.down.": "mlp.c_proj.",
    "head.": "lm_head.",
}


def renamed(ours: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Our tensors by their names and as their layers, x W, have them: weights and gradients."""
    for name, tensor in ours.items():
        if name.startswith("norm."):
            name = f"transformer.ln_f{name.removeprefix('norm')}"
        for own, other in NAMES.items():
            name = name.replace(own, other)
        yield name, tensor.T if ".c_" in name and tensor.ndim == 2 else tensor


def hugging_face(sizes: dict[str, int]) -> nn.Module:
    """Hugging Face's GPT-2 with a head of its own and the exact GELU."""
    return hf.GPT2LMHeadModel(
        hf.GPT2Config(
            vocab_size=sizes["V"],
            n_positions=sizes["T"],
            n_embd=sizes["C"],
            n_layer=sizes["L"],
            n_head=sizes["H"],
            activation_function="gelu",
            tie_word_embeddings=False,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


def compared(ours: nn.Module, theirs: nn.Module) -> list[str]:
    """The largest difference of logits and of gradients, and how many tokens are written alike."""
    ours, theirs = ours.double(), theirs.double()
    parameters = dict(theirs.named_parameters())
    weights = dict(renamed(dict(ours.named_parameters())))
    if weights.keys() != parameters.keys():
        raise ValueError(f"only one side has {sorted(weights.keys() ^ parameters.keys())}")
    with torch.no_grad():
        for name, weight in weights.items():
            parameters[name].copy_(weight)
    generator = torch.Generator().manual_seed(0)
    V, T = ours.head.out_features, ours.T
    x_BT, y_BT = (torch.randint(V, (4, T), generator=generator) for _ in range(2))
    logits = [ours.train()(x_BT), theirs.train()(x_BT).logits]
    for one in logits:
        F.cross_entropy(one.flatten(0, 1), y_BT.flatten()).backward()
    ours_grads = dict(renamed({n: p.grad for n, p in ours.named_parameters()}))
    apart = max((grad - parameters[n].grad).abs().max().item() for n, grad in ours_grads.items())
    prompt_BT = x_BT[:, :5]
    written = minigpt.generate(ours, prompt_BT, WRITTEN, top_k=1)
    same = written == theirs.eval().generate(prompt_BT, max_new_tokens=WRITTEN, do_sample=False)
    difference = (logits[0] - logits[1]).abs().max().item()
    return [f"{difference:.1e}", f"{apart:.1e}", f"{same[:, 5:].sum()} of {4 * WRITTEN}"]


def rows() -> list[list[str]]:
    """A row for each set of weights."""
    torch.manual_seed(0)
    drawn = minigpt.GPT(**RANDOM)
    with torch.no_grad():
        for parameter in drawn.parameters():
            parameter += 0.1 * torch.randn(parameter.shape)
    shipped, _ = checkpoint.load()
    return [
        ["Hugging Face GPT-2", words, *compared(ours, hugging_face(checkpoint.sizes(ours)))]
        for words, ours in (("random weights", drawn), ("the shipped weights", shipped))
    ]


def main() -> int:
    """Store the table; 1 where a difference is too large."""
    table = about(__file__, [0]) | {
        "title": "Held against others' code",
        "claim": "The largest difference between minigpt and others' GPT-2 with the same weights, "
        "in float64. GELU is the exact one, where OpenAI's GPT-2 has an approximation by tanh, and "
        "the head is a matrix of its own",
        "columns": ["held against", "with", "logits", "gradients", "likeliest text, tokens alike"],
        "rows": rows(),
    }
    table["versions"]["transformers"] = version("transformers")
    store_table("oracles", table)
    wide = [
        row
        for row in table["rows"]
        if max(map(float, row[2:4])) > LIMIT or len({*row[4].split(" of ")}) > 1
    ]
    print("\n".join(" | ".join(row) for row in table["rows"]))
    print(*(f"too far apart: {row}" for row in wide), sep="\n")
    return 1 if wide else 0


if __name__ == "__main__":
    sys.exit(main())
