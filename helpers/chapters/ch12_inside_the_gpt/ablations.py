"""Looking into a GPT: what its heads read, and what changes when a part is taken out or put in."""

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.norms import RMSNorm
from helpers.record import record_attention

# --- what heads read ------------------------------------------------------------------------


def habits(maps, x_NT, where_NT):
    """Mean weight by kind of place, layer and head, over the rows where where_NT is True."""
    N, T = x_NT.shape
    same_NTT = (x_NT[:, :, None] == x_NT[:, None, :]).tril(-1)
    kinds = {
        "letter before": torch.diag(torch.ones(T - 1), -1).expand(N, T, T),
        "what followed it": F.pad(same_NTT, (1, 0))[..., :-1].tril(),
    }
    rows = where_NT.float()

    def weight_on(at_NTT):  # a mean over the rows that count
        weights = [(a * at_NTT[:, None]).sum(-1) * rows[:, None] for a in maps]
        return torch.stack([w.sum((0, 2)) / rows.sum() for w in weights])

    return {kind: weight_on(at_NTT) for kind, at_NTT in kinds.items()}


# --- taking out and putting in --------------------------------------------------------------


def without_heads(model, heads, instead=torch.zeros_like):
    """Hooks that silence (layer, head) pairs, counted from 0."""
    D = model.config.width // model.config.heads

    def silencing(head):
        def hook(module, given):
            side_by_side = given[0].clone()
            read = side_by_side[..., head * D : (head + 1) * D]
            side_by_side[..., head * D : (head + 1) * D] = instead(read)
            return (side_by_side,)

        return hook

    tables = [block.attention.sublayer.out for block in model.blocks]
    return [tables[layer].register_forward_pre_hook(silencing(head)) for layer, head in heads]


@torch.no_grad()
def with_hooks(hooks, model, ids_BT):
    """Run the model once; then take the hooks off again."""
    try:
        return model(ids_BT)
    finally:
        for hook in hooks:
            hook.remove()


def without_part(model, head, at_TT, ids_BT):
    """Logits without what one (layer, head) reads at some places.

    at_TT is 1 there; its other weights stay as they are.
    """
    layer, h = head
    attention, kept = model.blocks[layer].attention.sublayer, []
    noting = attention.qkv.register_forward_hook(lambda module, given, out: kept.append(out))
    with record_attention(model) as maps:
        with_hooks([noting], model, ids_BT)
    B, T, _ = kept[0].shape
    v_BTHD = kept[0].view(B, T, 3, attention.heads, -1)[:, :, 2]
    part_BTD = (maps[layer][:, h] * at_TT) @ v_BTHD[:, :, h]
    D = part_BTD.shape[-1]

    def hook(module, given):
        side_by_side = given[0].clone()
        side_by_side[..., h * D : (h + 1) * D] -= part_BTD
        return (side_by_side,)

    hooks = [attention.out.register_forward_pre_hook(hook)]
    return with_hooks(hooks, model, ids_BT)


def scores_of(model, layer, ids_BT):
    """The scores of a layer's heads, (B, H, T, T), before the mask."""
    block = model.blocks[layer].attention
    qkv = block.sublayer.qkv(block.norm(stream_of(model, ids_BT)[layer]))
    q, k, _ = qkv.view(*ids_BT.shape, 3, block.sublayer.heads, -1).permute(2, 0, 3, 1, 4)
    q, k = (block.sublayer.qk_transform(a, 0) for a in (q, k))  # normed, and rotated by their place
    return (q @ k.mT / q.shape[-1] ** 0.5).detach()


def stream_of(model, ids_BT):
    """The stream before the first layer and after each: L + 1 tensors."""
    levels = []

    def note(module, given):
        levels.append(given[0])

    read_by = [*model.blocks, model.norm]  # who reads each level
    with_hooks([part.register_forward_pre_hook(note) for part in read_by], model, ids_BT)
    return levels


# --- what each part adds to a logit ---------------------------------------------------------


def logit_parts(model, ids_T, word, over=None):
    """The logit of a word after a text, or its lead over another, as a sum over the model's parts.

    The scale of the last norm, an RMSNorm, is held at what it is for this text. By name:
    ("embedding",), ("head", layer, head, position read), ("feed-forward", layer), ("biases",).
    Raises ValueError where the last norm is another one: the parts would not add up.
    """
    if not isinstance(model.norm, RMSNorm):
        raise ValueError(f"the last norm must be an RMSNorm, this is {model.norm}")
    kept, attentions = {}, [block.attention.sublayer for block in model.blocks]

    def note(*name):
        return lambda module, given, out: kept.update({name: (given[0][0], out[0])})

    hooks = [model.norm.register_forward_hook(note("norm"))]
    for n, block in enumerate(model.blocks):
        hooks.append(block.register_forward_hook(note("block", n)))
        hooks.append(attentions[n].qkv.register_forward_hook(note("qkv", n)))
        hooks.append(block.feed_forward.sublayer.down.register_forward_hook(note("down", n)))
    with record_attention(model) as maps:
        with_hooks(hooks, model, ids_T[None])
    x_C = kept["norm",][0][-1]
    row_C = model.head.weight[word] - (0 if over is None else model.head.weight[over])
    scale = (x_C.square().mean() + model.norm.eps).rsqrt()
    toward_C = (row_C * model.norm.weight * scale).detach()  # what 1 in the stream adds
    parts: dict[tuple, Tensor] = {
        ("embedding",): kept["block", 0][0][-1] @ toward_C,
        ("biases",): torch.zeros(()),
    }
    for n, block in enumerate(model.blocks):
        out, down = attentions[n].out, block.feed_forward.sublayer.down
        v_THD = kept["qkv", n][1].view(len(ids_T), 3, attentions[n].heads, -1)[:, 2]
        table_CHD = out.weight.view(len(x_C), *v_THD.shape[1:])
        read_HT = maps[n][0, :, -1]
        given_HT = torch.einsum("ht,thd,chd,c->ht", read_HT, v_THD, table_CHD, toward_C)
        parts |= {("head", n, h, t): x for h, row in enumerate(given_HT) for t, x in enumerate(row)}
        parts["feed-forward", n] = down.weight @ kept["down", n][0][-1] @ toward_C
        parts["biases",] = parts["biases",] + (out.bias + down.bias) @ toward_C
    return {name: value.item() for name, value in parts.items()}


@torch.no_grad()
def with_cut(reader, shown, layer, place, to_N):
    """Logits when `place` cannot read place to_N (one each) in a layer."""
    N, T = shown.shape
    attn_bias = torch.zeros(N, 1, T, T)
    attn_bias[torch.arange(N), 0, place, to_N] = float("-inf")
    attention = reader.blocks[layer].attention.sublayer
    attention.attn_bias = lambda heads, queries, keys: attn_bias
    try:
        return reader(shown)
    finally:
        attention.attn_bias = None


def with_patch(reader, shown, level, place, x_NC):
    """Logits of a run with another vector at one place of one level."""

    def hook(module, given):
        x_NTC = given[0].clone()
        x_NTC[:, place] = x_NC
        return (x_NTC,)

    read_by = [*reader.blocks, reader.norm][level]
    return with_hooks([read_by.register_forward_pre_hook(hook)], reader, shown)
