"""The GPT of chapters 1 to 11 in one file: tokens, model, training and writing.

    python -m helpers.minigpt my.txt    trains it on a text of yours, and writes with you

Nothing is optional and nothing is checked, so that it can be read in one go. Each piece stands
in the chapter named above it. Axes: B batch, T position, C width, H heads, D head width, V
vocabulary, L layers.
"""

import re
import sys

import torch
import torch.nn.functional as F
from torch import nn

# -------------------------------------------------------------------- chapter 3: tokens and batches


class Tokenizer:
    """The tokens of a text, sorted; a token's place in the list is its id.

    pattern: what a token is, one character unless given.
    """

    def __init__(self, text, pattern=r"(?s)."):
        self.pattern = pattern
        self.vocab = sorted(set(re.findall(pattern, text)))
        self.ids = {token: i for i, token in enumerate(self.vocab)}

    def encode(self, text):
        """Text to ids, (N,)."""
        tokens = re.findall(self.pattern, text)
        return torch.tensor([self.ids[token] for token in tokens])

    def decode(self, ids):
        """Ids to text."""
        return "".join(self.vocab[i] for i in ids)


WORDS = r" ?\w+|\W"


def get_batch(ids, batch, context):
    """Random windows, and the same one token later, (B, T) each."""
    start_B1 = torch.randint(len(ids) - context, (batch, 1))
    at_BT = start_B1 + torch.arange(context)
    return ids[at_BT], ids[at_BT + 1]


# ----------------------------------------------------------------------------- chapter 4: LayerNorm


class LayerNorm(nn.Module):
    """Each token to mean 0 and variance 1, then scaled and shifted."""

    def __init__(self, C, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(C))
        self.bias = nn.Parameter(torch.zeros(C))

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        mean_BT1 = x_BTC.mean(dim=-1, keepdim=True)
        var_BT1 = x_BTC.var(dim=-1, correction=0, keepdim=True)
        x_BTC = (x_BTC - mean_BT1) / torch.sqrt(var_BT1 + self.eps)
        return self.weight * x_BTC + self.bias


# ----------------------------------------------------------------------- chapters 5 to 7: attention


class CausalSelfAttention(nn.Module):
    """H heads; each token reads itself and the tokens before it."""

    def __init__(self, C, H, dropout):
        super().__init__()
        self.H = H
        self.qkv = nn.Linear(C, 3 * C)
        self.out = nn.Linear(C, C)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        qkv_BT3HD = self.qkv(x_BTC).unflatten(-1, (3, self.H, -1))
        q, k, v = qkv_BT3HD.permute(2, 0, 3, 1, 4)  # (B, H, T, D) each
        scores_BHTT = q @ k.mT / q.shape[-1] ** 0.5
        future_BHTT = torch.full_like(scores_BHTT, -torch.inf).triu(1)
        weights_BHTT = (scores_BHTT + future_BHTT).softmax(dim=-1)
        mixed_BHTD = self.dropout(weights_BHTT) @ v
        return self.out(mixed_BHTD.transpose(1, 2).flatten(2))


# ------------------------------------------------------------ chapters 8 and 9: feed-forward, block


class FeedForward(nn.Module):
    """Two linear layers with GELU between them, on each token by itself."""

    def __init__(self, C):
        super().__init__()
        self.up = nn.Linear(C, 4 * C)
        self.down = nn.Linear(4 * C, C)

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        return self.down(F.gelu(self.up(x_BTC)))


class Block(nn.Module):
    """Attention, then feed-forward, each from a norm and added to x."""

    def __init__(self, C, H, dropout):
        super().__init__()
        self.norm_1 = LayerNorm(C)
        self.attention = CausalSelfAttention(C, H, dropout)
        self.norm_2 = LayerNorm(C)
        self.feed_forward = FeedForward(C)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        read_BTC = self.attention(self.norm_1(x_BTC))
        x_BTC = x_BTC + self.dropout(read_BTC)
        thought_BTC = self.feed_forward(self.norm_2(x_BTC))
        return x_BTC + self.dropout(thought_BTC)


# ---------------------------------------------------------------------- chapter 10: initial weights


def init_weights(model):
    """GPT-2's: N(0, 0.02²), smaller where a block adds; biases 0."""
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.ndim == 2:
            nn.init.normal_(parameter, std=0.02)
        if name.endswith(("out.weight", "down.weight")):
            parameter.data /= (2 * len(model.blocks)) ** 0.5


# ------------------------------------------------------------------------------ chapter 11: the GPT


class GPT(nn.Module):
    """Ids (B, T) to logits (B, T, V) for the token after each."""

    def __init__(self, V, T, C, H, L, dropout=0.0):
        super().__init__()
        self.T = T
        self.embedding = nn.Embedding(V, C)
        self.position = nn.Embedding(T, C)
        blocks = [Block(C, H, dropout) for _ in range(L)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = LayerNorm(C)
        self.head = nn.Linear(C, V, bias=False)
        init_weights(self)

    def forward(self, ids_BT):
        """Embed, add positions, run the blocks, read off the logits."""
        positions_TC = self.position.weight[: ids_BT.shape[1]]
        x_BTC = self.embedding(ids_BT) + positions_TC
        return self.head(self.norm(self.blocks(x_BTC)))


def make_optimizer(model, lr):
    """AdamW that decays matrices, and leaves biases and norms alone."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups = [
        {"params": matrices, "weight_decay": 0.1},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.99))


def lr_at(step, steps, peak):
    """The learning rate: to its peak in 20 steps, then down to 0."""
    return peak * min((step + 1) / 20, 1 - step / steps)


def train(model, ids, steps, batch, lr):
    """After each step, yield its number and the loss before it."""
    optimizer = make_optimizer(model, lr)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lr_at(step, steps, lr)
        x_BT, y_BT = get_batch(ids, batch, model.T)
        logits_BTV = model.train()(x_BT)
        loss = F.cross_entropy(logits_BTV.flatten(0, 1), y_BT.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield step + 1, loss.item()


@torch.no_grad()
def generate(model, ids_BT, n, temperature=1.0, top_k=None):
    """The ids and n more, drawn from all tokens or the top_k."""
    for _ in range(n):
        logits_BTV = model.eval()(ids_BT[:, -model.T :])
        logits_BV = logits_BTV[:, -1] / temperature
        if top_k is not None:
            least_B1 = logits_BV.topk(top_k).values[:, -1:]
            logits_BV[logits_BV < least_B1] = -torch.inf
        next_B1 = logits_BV.softmax(dim=-1).multinomial(1)
        ids_BT = torch.cat([ids_BT, next_B1], dim=1)
    return ids_BT


if __name__ == "__main__":
    from helpers import command

    command.run(sys.argv[1:])
