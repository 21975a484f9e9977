"""Looking into a GPT or a Llama: stream, attention weights, ablation, patching, logit attribution.

Works on minigpt's models, their variants and minillama's. Layers and heads are counted from 1,
positions from 0. What changes a model does so inside a `with` statement, and puts it back.
Axes as in minigpt.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

Ids = Int[Tensor, "B T"]
Stream = Float[Tensor, "B T C"]
Weights = Float[Tensor, "B H T T"]


@contextmanager
def hooked(*handles: torch.utils.hooks.RemovableHandle) -> Iterator[None]:
    """Keep hooks for a while."""
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


# --- what is inside -------------------------------------------------------------------------


@torch.no_grad()
def stream(model: nn.Module, ids_BT: Ids) -> list[Stream]:
    """The residual stream before the first block and after each: L + 1 tensors (B, T, C)."""
    levels: list[Tensor] = []
    readers = [*model.blocks, model.norm]  # who reads each level
    note = [part.register_forward_pre_hook(lambda _, x: levels.append(x[0])) for part in readers]
    with hooked(*note):
        model(ids_BT)
    return levels


@contextmanager
def record_attention(model: nn.Module) -> Iterator[list[Weights]]:
    """A list to which each call of a GPT adds the weights (B, H, T, T) of each layer.

    They are what goes into the dropout of attention weights.
    """
    found: list[Tensor] = []
    with hooked(
        *(
            block.attention.dropout.register_forward_pre_hook(lambda _, x: found.append(x[0]))
            for block in model.blocks
        )
    ):
        yield found


@torch.no_grad()
def block_scores(block: nn.Module, x_BTC: Stream) -> Weights:
    """The scaled scores of a block's heads on a stream, (B, H, T, T), before the mask.

    Raises: ValueError for a variant with RoPE or ALiBi, whose scores are others.
    """
    if (positions := getattr(block.attention, "positions", "")) in ("rope", "alibi"):
        raise ValueError(f"these are not the scores of a variant with {positions}")
    normed_BTC = block.norm_1(x_BTC)
    if hasattr(block.attention, "project"):  # a Llama's
        q, k, _ = block.attention.project(normed_BTC)
        k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    else:
        qkv_BT3HD = block.attention.qkv(normed_BTC).unflatten(-1, (3, block.attention.H, -1))
        q, k, _ = qkv_BT3HD.permute(2, 0, 3, 1, 4)
    return q @ k.mT / q.shape[-1] ** 0.5


def scores(model: nn.Module, layer: int, ids_BT: Ids) -> Weights:
    """The same of a layer on a text."""
    return block_scores(model.blocks[layer - 1], stream(model, ids_BT)[layer - 1])


@torch.no_grad()
def attention_weights(model: nn.Module, ids_BT: Ids) -> Float[Tensor, "L B H T T"]:
    """The attention weights of all layers, (L, B, H, T, T)."""
    if hasattr(model.blocks[0].attention, "dropout"):  # a GPT's
        with record_attention(model) as found:
            model(ids_BT)
        return torch.stack(found)
    each = zip(model.blocks, stream(model, ids_BT), strict=False)
    all_scores = torch.stack([block_scores(block, x_BTC) for block, x_BTC in each])
    return (all_scores + torch.full_like(all_scores, -torch.inf).triu(1)).softmax(dim=-1)


@torch.no_grad()
def lens(model: nn.Module, x_BTC: Stream) -> Float[Tensor, "B T V"]:
    """The logits (B, T, V) if the stream at some level went to the head at once.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
    """
    return model.head(model.norm(x_BTC))


def previous_token_scores(weights_LBHTT: Float[Tensor, "L B H T T"]) -> Float[Tensor, "L H"]:
    """How much each head reads the token before, (L, H); the first token has none.

    Source: Elhage et al. 2021.
    """
    return weights_LBHTT.diagonal(-1, -2, -1).mean(dim=(1, 3))


def induction_scores(weights_LBHTT: Float[Tensor, "L B H T T"]) -> Float[Tensor, "L H"]:
    """How much each head reads what followed the same token's first copy, (L, H).

    The text is some tokens, and the same again. Source: Olsson et al. 2022.
    """
    n = weights_LBHTT.shape[-1] // 2
    return weights_LBHTT.diagonal(1 - n, -2, -1)[..., 1:].mean(dim=(1, 3))


# --- taking out and putting in --------------------------------------------------------------


def without_heads(
    model: nn.Module,
    heads: Iterable[tuple[int, int]],
    instead: Callable[[Tensor], Tensor] = torch.zeros_like,
):
    """While it is open, (layer, head) pairs write nothing, or what `instead` makes of it."""

    def silence(head: int, H: int):
        def hook(_, given):
            side_by_side_BTHD = given[0].unflatten(-1, (H, -1)).clone()
            side_by_side_BTHD[:, :, head - 1] = instead(side_by_side_BTHD[:, :, head - 1])
            return (side_by_side_BTHD.flatten(2),)

        return hook

    hooks = []
    for layer, head in heads:
        attention = model.blocks[layer - 1].attention
        H = attention.H if hasattr(attention, "H") else attention.query.out_features // attention.D
        hooks.append(attention.out.register_forward_pre_hook(silence(head, H)))
    return hooked(*hooks)


def patched(model: nn.Module, level: int, position: int, x_BC: Float[Tensor, "B C"]):
    """While it is open, the stream at one level (0 … L) and position is this vector.

    Source: Vig et al. 2020; Meng et al. 2022, who call it activation patching, causal tracing.
    """

    def hook(_, given):
        x_BTC = given[0].clone()
        x_BTC[:, position] = x_BC
        return (x_BTC,)

    return hooked([*model.blocks, model.norm][level].register_forward_pre_hook(hook))


def without_reading(
    model: nn.Module, layer: int, position: int | slice, read_B: Int[Tensor, " B"] | int
):
    """While it is open, a GPT's heads of a layer do not read one position from another, or others.

    The weights that are left are scaled to sum to 1, as if the score had been -∞.
    """

    def hook(_, given):
        weights_BHTT = given[0].clone()
        weights_BHTT[torch.arange(len(weights_BHTT)), :, position, read_B] = 0
        return (weights_BHTT / weights_BHTT.sum(dim=-1, keepdim=True),)

    return hooked(model.blocks[layer - 1].attention.dropout.register_forward_pre_hook(hook))


# --- what each part adds to a logit ---------------------------------------------------------


@torch.no_grad()
def logit_parts(
    model: nn.Module, ids_T: Int[Tensor, " T"], token: int, over: int | None = None
) -> dict[tuple, float]:
    """A token's lead over the mean logit, or over another token's, as a sum over a GPT's parts.

    The last norm divides by what it does for this text. By name: ("embedding",), ("position",),
    ("head", layer, head, position read), ("feed-forward", layer), ("biases",).
    Source: Elhage et al. 2021, who call it direct logit attribution.
    """
    kept: dict[tuple, Tensor] = {}

    def note(*name):
        return lambda _, given, out: kept.update({name: (given[0][0], out[0])})

    hooks = [model.norm.register_forward_hook(note("norm"))]
    for n, block in enumerate(model.blocks, start=1):
        hooks.append(block.attention.qkv.register_forward_hook(note("qkv", n)))
        hooks.append(block.attention.dropout.register_forward_hook(note("weights", n)))
        hooks.append(block.feed_forward.down.register_forward_hook(note("down", n)))
    with hooked(*hooks):
        model(ids_T[None])
    x_C = kept["norm",][0][-1]
    W_VC = model.head.weight
    row_C = W_VC[token] - (W_VC.mean(0) if over is None else W_VC[over])
    scale = (x_C.var(correction=0) + model.norm.eps).rsqrt()
    toward_C = row_C * model.norm.weight * scale
    toward_C = toward_C - toward_C.mean()  # the norm takes the mean away
    parts: dict[tuple, Tensor] = {
        ("embedding",): model.embedding.weight[ids_T[-1]] @ toward_C,
        ("position",): model.position.weight[len(ids_T) - 1] @ toward_C,
    }
    biases = row_C @ model.norm.bias
    for n, block in enumerate(model.blocks, start=1):
        out, down, H = block.attention.out, block.feed_forward.down, block.attention.H
        v_THD = kept["qkv", n][1].unflatten(-1, (3, H, -1))[:, 2]
        out_CHD = out.weight.unflatten(-1, (H, -1))
        read_HT = kept["weights", n][0][:, -1]
        added_HT = torch.einsum("ht,thd,chd,c->ht", read_HT, v_THD, out_CHD, toward_C)
        for h, row_T in enumerate(added_HT, start=1):
            parts |= {("head", n, h, t): added for t, added in enumerate(row_T)}
        parts["feed-forward", n] = down.weight @ kept["down", n][0][-1] @ toward_C
        biases = biases + (out.bias + down.bias) @ toward_C
    parts["biases",] = biases
    return {name: value.item() for name, value in parts.items()}
