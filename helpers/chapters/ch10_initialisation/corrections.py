"""Corrections for chapter 10: what the usual recipes for a Transformer's first weights do."""

import numpy as np
import torch
from torch import nn

from helpers.chapters.lab import seeded
from helpers.corrections import corrects, number
from helpers.positions import sinusoidal

GPT_STD = 0.02  # the standard deviation of GPT's and BERT's first weights

# ------------------------------------------------------------ what the measurements are made of


def _hook(model: nn.Module) -> None:
    """Draw a model's parameters by the one-stop hook: a rule for each of three kinds of module."""
    for module in model.modules():
        match module:
            case nn.Embedding():
                nn.init.normal_(module.weight, mean=0.0, std=GPT_STD)
            case nn.Linear():
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            case nn.LayerNorm():
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)


def _xavier_std(inputs: int, outputs: int) -> float:
    """Standard deviation of Xavier's weights (Glorot and Bengio 2010, equation 16)."""
    return (2 / (inputs + outputs)) ** 0.5


# --------------------------------------------------------------------- which recipe is whose


@corrects(
    claim="In the style of GPT and BERT the linear layers begin with Xavier's uniform weights.",
    says="“Common, time-tested defaults (GPT/BERT-style)”, and for the linear layers "
    "`nn.init.xavier_uniform_(m.weight)`",
    why="GPT and BERT draw the weights of their linear layers as they do their embeddings, with "
    "the standard deviation 0.02 whatever the shape; GPT-2 then shrinks those that write into the "
    "residual stream. Xavier's rule depends on the shape. It is a fair recipe too, which PyTorch's "
    "`nn.Transformer` uses, but another one.",
)
def xavier_is_another_recipe() -> str:
    """Xavier's standard deviation for a few shapes, beside GPT's."""
    shapes = ((768, 768), (768, 3072), (64, 64))
    each = (f"{number(_xavier_std(*shape))} for {shape[0]} → {shape[1]}" for shape in shapes)
    return (
        f"Xavier's weights have the standard deviation {', '.join(each)}; the rule of GPT and BERT "
        f"is {number(GPT_STD)} for each of them."
    )


@corrects(
    claim="Where token and position embeddings begin with standard deviation 0.02, as in GPT and "
    "BERT, it is standard to multiply the token embeddings by √C before the positions are added.",
    says="“optional but standard”: `token_emb(idx) * math.sqrt(n_embd) + pos_emb(pos_idx)`",
    why="Neither GPT nor BERT does so. The factor belongs to the Transformer of 2017, whose "
    "token embeddings can have deviation 1/√C and whose positions are sines and cosines. With two "
    "embedding matrices of one scale it drowns the positions.",
)
def scaling_drowns_the_positions() -> str:
    """Share of the positions in the variance of the sum, for C = 768 and three recipes."""
    C, N = 768, 512
    rng = np.random.default_rng(0)
    (tokens, positions), waves = rng.standard_normal((2, N, C)), sinusoidal(N, C).numpy()
    recipes = {
        "from two tables of 0.02": (GPT_STD * tokens, GPT_STD * positions),
        "with the factor": (GPT_STD * C**0.5 * tokens, GPT_STD * positions),
        "with the factor, a table of 1/√C, and sines and cosines": (tokens, waves),
    }
    shares = []
    for name, (token, position) in recipes.items():
        of_token, of_position = (float((table**2).mean()) for table in (token, position))
        shares.append(f"{number(100 * of_position / (of_position + of_token))} % {name}")
    return f"At C = {C} the positions make up this share of the mean square: {', '.join(shares)}."


# ------------------------------------------------------------------ the one-stop hook's traps


class _Tied(nn.Module):
    """An embedding and a head that share one matrix, registered in either order."""

    def __init__(self, vocabulary: int, width: int, *, head_last: bool):
        super().__init__()
        embedding = nn.Embedding(vocabulary, width)
        head = nn.Linear(width, vocabulary, bias=False)
        head.weight = embedding.weight
        parts = {"embedding": embedding, "head": head}
        for name in parts if head_last else reversed(parts):
            self.add_module(name, parts[name])


@corrects(
    claim="With the head tied to the token embeddings, a hook that walks through the modules gives "
    "the embeddings standard deviation 0.02 and the linear layers Xavier's weights.",
    says="“`Embedding ~ N(0, 0.02)`, `Linear → Xavier`, … and tie `lm_head` to token embeddings”",
    why="Tied, the two are one matrix, which the hook meets twice, once as an embedding and once "
    "as a linear layer. What is drawn last stays, so the order of registration decides. With the "
    "head last, as usual, the embeddings are Xavier's. Tying after the hook "
    "leaves them as meant.",
)
def tied_and_drawn_twice() -> str:
    """Standard deviation of a tied table after the hook, for both orders of registration."""
    V, C = 65, 384
    after = []
    for head_last in (True, False):
        with seeded(0):
            model = _Tied(V, C, head_last=head_last)
            _hook(model)
        after.append(number(model.embedding.weight.std().item()))
    return (
        f"With V = {V} and C = {C} the shared matrix has the standard deviation {after[0]} if the "
        f"head is registered last, {after[1]} if it is registered first; by Xavier's rule it is "
        f"{number(_xavier_std(C, V))}, and for V = 50257 and C = 768 it would be "
        f"{number(_xavier_std(768, 50257))}."
    )


@corrects(
    claim="A hook with a rule for `nn.Embedding`, `nn.Linear` and `nn.LayerNorm` draws all the "
    "weights of a Transformer, those of queries, keys and values among them.",
    says="Under “Linear layers (Q, K, V, output projections, MLPs)” a rule for `nn.Linear`; "
    "“Apply all at once”",
    why="It does where each of them is an `nn.Linear`. In PyTorch's own attention the matrices of "
    "queries, keys and values are one bare parameter, and a hook by kinds of module passes over "
    "bare parameters; a position table made with `nn.Parameter` is another. They keep what they "
    "had.",
)
def what_the_hook_passes_over() -> str:
    """Parameters of torch's attention that the hook leaves as they were, and what they hold."""
    C = 64
    with seeded(0):
        attention = nn.MultiheadAttention(C, 4)
        before = attention.in_proj_weight.std().item()
        for parameter in attention.parameters():
            nn.init.constant_(parameter, 7.0)
        _hook(attention)
    left = {name: p.numel() for name, p in attention.named_parameters() if (p == 7.0).all()}
    share = sum(left.values()) / sum(p.numel() for p in attention.parameters())
    return (
        f"In `nn.MultiheadAttention` of width {C} the hook does not touch "
        f"{' and '.join(f'`{name}`' for name in left)}, {number(100 * share)} % of the numbers. "
        f"The matrices keep PyTorch's weights, with standard deviation {number(before)}, where the "
        f"rule for a linear layer from {C} to {C} would give {number(_xavier_std(C, C))}."
    )


# ------------------------------------------------------------------------------ which precision


@corrects(
    claim="Embeddings should be in fp32 unless one trains in mixed precision.",
    says="“Use fp32 for embeddings on MPS/CUDA unless you’re doing mixed precision.”",
    why="That is what makes it mixed: the matrix products are done in fewer digits, while the "
    "parameters that the optimiser moves, embeddings included, are kept in fp32 (or a copy of "
    "them is). Parameters kept in bf16 alone would lose its small steps to rounding.",
)
def mixed_precision_keeps_fp32() -> str:
    """Types under autocast, and the share of bf16 weights that a small step leaves unmoved."""
    with seeded(0):
        table, linear = nn.Embedding(100, 64), nn.Linear(64, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        read = table(torch.arange(100))
        product = linear(read)
    product.float().sum().backward()
    types = [table.weight, table.weight.grad, read, product]
    weight, gradient, looked_up, multiplied = (str(t.dtype).removeprefix("torch.") for t in types)
    draw = GPT_STD * torch.randn(10_000, generator=torch.Generator().manual_seed(0))
    step, low = 1e-5, draw.bfloat16()
    still = (low + torch.tensor(step, dtype=torch.bfloat16) == low).double().mean().item()
    return (
        f"Under bfloat16 autocast the table is {weight}, its gradient {gradient}, a looked-up row "
        f"{looked_up}; only a linear layer's output is {multiplied}. Of weights drawn with "
        f"deviation {number(GPT_STD)} and kept in bfloat16, {number(100 * still)} % do not move at "
        f"all when {number(step)} is added."
    )
