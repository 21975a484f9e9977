"""Today's language model in one file: the pieces of chapters 13 to 17, on top of helpers.minigpt.

As there, nothing is optional and nothing is checked. Training, batches, initial weights and
generation are minigpt's own. `helpers.pretrained` fills a `Llama` with a real chat model's weights.
Axes: B batch, T position, S positions that are read, C width, H heads, G heads of keys and values,
D head width, V vocabulary, L layers.
"""

import copy
from collections import Counter
from itertools import pairwise

import regex
import torch
import torch.nn.functional as F
from torch import nn

from helpers.minigpt import generate, init_weights, make_optimizer

# ------------------------------------------------------------------------------ chapter 13: tokens

# GPT-2's rule for what a token never crosses (Radford et al. 2019), but each digit by itself.
SPLIT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+"


def join(tokens, pair):
    """The tokens, with every pair of neighbours like this one joined."""
    joined = []
    for token in tokens:
        if joined and (joined[-1], token) == pair:
            joined[-1] += token
        else:
            joined.append(token)
    return joined


def learn_merges(text, n):
    """N times over, the pair of neighbours that is most frequent."""
    counts = Counter(regex.findall(SPLIT, text))
    words = {word: [bytes([b]) for b in word.encode()] for word in counts}
    merges = []
    for _ in range(n):
        pairs = Counter()
        for word, tokens in words.items():
            for pair in pairwise(tokens):
                pairs[pair] += counts[word]
        if not pairs:  # each word is one token by now
            break
        best = max(pairs, key=pairs.get)
        words = {word: join(tokens, best) for word, tokens in words.items()}
        merges.append(best)
    return merges


def merged(word, rank):
    """A word's tokens: its bytes, joined in the order of the merges."""
    tokens = [bytes([b]) for b in word.encode()]
    while len(tokens) > 1:
        pair = min(pairwise(tokens), key=lambda pair: rank.get(pair, len(rank)))
        if pair not in rank:
            break
        tokens = join(tokens, pair)
    return tokens


class BytePairTokenizer:
    """256 bytes and a token for each merge; no text is unknown."""

    def __init__(self, merges):
        self.rank = {pair: i for i, pair in enumerate(merges)}
        self.vocab = [bytes([b]) for b in range(256)]
        self.vocab += [left + right for left, right in merges]
        self.ids = {token: i for i, token in enumerate(self.vocab)}

    def encode(self, text):
        """Text to ids, (N,)."""
        words = regex.findall(SPLIT, text)
        tokens = {word: merged(word, self.rank) for word in set(words)}
        return torch.tensor([self.ids[t] for word in words for t in tokens[word]])

    def decode(self, ids):
        """Ids to text; bytes that are no UTF-8 become �."""
        return b"".join(self.vocab[i] for i in ids).decode(errors="replace")


# -------------------------------------------------------------------------- chapter 14: the block


class RMSNorm(nn.Module):
    """Each token divided by its root mean square, then scaled."""

    def __init__(self, C, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(C))

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        wide_BTC = x_BTC.to(torch.promote_types(x_BTC.dtype, torch.float32))
        mean_square_BT1 = wide_BTC.square().mean(dim=-1, keepdim=True)
        scaled_BTC = self.weight * wide_BTC / torch.sqrt(mean_square_BT1 + self.eps)
        return scaled_BTC.to(x_BTC)


def rotate(x_BHTD, first, base):
    """Turn each pair (2i, 2i + 1) by position · base^(-2i / D)."""
    T, D = x_BHTD.shape[-2:]
    position_T1 = torch.arange(first, first + T, device=x_BHTD.device)[:, None]
    exponents_K = torch.arange(0, D, 2, device=x_BHTD.device) / D
    angle_TK = position_T1 / base**exponents_K
    cos_TK, sin_TK = angle_TK.cos().to(x_BHTD), angle_TK.sin().to(x_BHTD)
    x, y = x_BHTD.unflatten(-1, (-1, 2)).unbind(-1)
    turned = [x * cos_TK - y * sin_TK, x * sin_TK + y * cos_TK]
    return torch.stack(turned, dim=-1).flatten(-2)


def attend(q_BHTD, k_BGSD, v_BGSD):
    """The values that each of the last T positions reads, (B, T, C)."""
    share = q_BHTD.shape[1] // k_BGSD.shape[1]
    k_BHSD = k_BGSD.repeat_interleave(share, dim=1)
    v_BHSD = v_BGSD.repeat_interleave(share, dim=1)
    T, S = q_BHTD.shape[2], k_BHSD.shape[2]
    sees_TS = torch.ones(T, S, dtype=torch.bool, device=q_BHTD.device).tril(S - T)
    mixed = F.scaled_dot_product_attention(q_BHTD, k_BHSD, v_BHSD, sees_TS)
    return mixed.transpose(1, 2).flatten(2)


class GroupedQueryAttention(nn.Module):
    """H heads of queries share G heads of keys and values."""

    def __init__(self, C, H, G, base):
        super().__init__()
        self.D, self.base = C // H, base
        self.query = nn.Linear(C, C, bias=False)
        self.key = nn.Linear(C, G * self.D, bias=False)
        self.value = nn.Linear(C, G * self.D, bias=False)
        self.out = nn.Linear(C, C, bias=False)

    def project(self, x_BTC, first=0):
        """Queries (B, H, T, D), keys and values (B, G, T, D)."""
        q, k, v = self.query(x_BTC), self.key(x_BTC), self.value(x_BTC)
        q, k, v = (x.unflatten(-1, (-1, self.D)) for x in (q, k, v))
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return rotate(q, first, self.base), rotate(k, first, self.base), v

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        return self.out(attend(*self.project(x_BTC)))


class SwiGLU(nn.Module):
    """Feed-forward whose hidden numbers are scaled by a gate."""

    def __init__(self, C, hidden):
        super().__init__()
        self.gate = nn.Linear(C, hidden, bias=False)
        self.up = nn.Linear(C, hidden, bias=False)
        self.down = nn.Linear(hidden, C, bias=False)

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        return self.down(F.silu(self.gate(x_BTC)) * self.up(x_BTC))


class LlamaBlock(nn.Module):
    """Attention, then feed-forward, each from a norm and added to x."""

    def __init__(self, C, H, G, hidden, base):
        super().__init__()
        self.norm_1 = RMSNorm(C)
        self.attention = GroupedQueryAttention(C, H, G, base)
        self.norm_2 = RMSNorm(C)
        self.feed_forward = SwiGLU(C, hidden)

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        x_BTC = x_BTC + self.attention(self.norm_1(x_BTC))
        return x_BTC + self.feed_forward(self.norm_2(x_BTC))


class Llama(nn.Module):
    """Ids (B, T) to logits (B, T, V) for the token after each."""

    def __init__(self, V, T, C, H, G, L, hidden, base=10_000):
        super().__init__()
        self.T = T
        self.embedding = nn.Embedding(V, C)
        blocks = [LlamaBlock(C, H, G, hidden, base) for _ in range(L)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = RMSNorm(C)
        self.head = nn.Linear(C, V, bias=False)
        self.head.weight = self.embedding.weight  # tied
        init_weights(self)

    def forward(self, ids_BT):
        """Embed, run the blocks, read off the logits."""
        x_BTC = self.blocks(self.embedding(ids_BT))
        return self.head(self.norm(x_BTC))


# -------------------------------------------------------------------------- chapter 15: the cache


class CachedAttention(nn.Module):
    """Grouped-query attention after the keys and values of a cache."""

    def __init__(self, attention, cache):
        super().__init__()
        self.attention, self.cache = attention, cache

    def forward(self, x_BTC):
        """Only the new positions, (B, T, C) to (B, T, C)."""
        past = 0 if self.cache is None else self.cache[0].shape[2]
        q, k, v = self.attention.project(x_BTC, past)
        if past:
            k = torch.cat([self.cache[0], k], dim=2)
            v = torch.cat([self.cache[1], v], dim=2)
        self.cache = k, v
        return self.attention.out(attend(q, k, v))


def set_attention(model, attentions):
    """Put these into the model's blocks, one each."""
    for block, attention in zip(model.blocks, attentions, strict=True):
        block.attention = attention


@torch.no_grad()
def read(model, ids_BT, cache):
    """Logits of new ids, (B, T, V), and the cache with these added."""
    plain = [block.attention for block in model.blocks]
    pairs = zip(plain, cache or [None] * len(plain), strict=True)
    cached = [CachedAttention(*pair) for pair in pairs]
    set_attention(model, cached)
    try:
        logits_BTV = model(ids_BT)
    finally:
        set_attention(model, plain)
    return logits_BTV, [attention.cache for attention in cached]


def stream(model, ids_BT, n):
    """Yield up to n more ids, (B, 1) each, the likeliest every time."""
    cache = None
    for _ in range(n):
        logits_BTV, cache = read(model, ids_BT, cache)
        ids_BT = logits_BTV[:, -1:].argmax(dim=-1)
        yield ids_BT


# ----------------------------------------------------------------- chapter 16: from text to answers


def chat_ids(tokenizer, messages):
    """Pairs (role, text) in SmolLM2's template, (1, T), up to the answer."""
    start, end = (tokenizer.ids[name] for name in (b"<|im_start|>", b"<|im_end|>"))
    ids = []
    for role, text in messages:
        ids += [start, *tokenizer.encode(f"{role}\n{text}").tolist()]
        ids += [end, *tokenizer.encode("\n").tolist()]
    return torch.tensor([[*ids, start, *tokenizer.encode("assistant\n").tolist()]])


class LoRA(nn.Module):
    """A linear layer, and a product of two thin matrices beside it."""

    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear, self.scale = linear, alpha / rank
        down = torch.randn(rank, linear.in_features) / rank
        self.a = nn.Parameter(down.to(linear.weight))
        up = linear.weight.new_zeros(linear.out_features, rank)
        self.b = nn.Parameter(up)

    def forward(self, x_BTC):
        """(B, T, C) to (B, T, C)."""
        beside_BTC = x_BTC @ self.a.mT @ self.b.mT
        return self.linear(x_BTC) + self.scale * beside_BTC

    def merge(self):
        """A copy of the linear layer with the product added to it."""
        merged = copy.deepcopy(self.linear)
        merged.weight.data += self.scale * self.b.data @ self.a.data
        return merged


# ------------------------------------------------------- chapter 17: answers that can be checked


def sample(model, asked_BT, end):
    """Questions with answers, (B, T), and the answers' targets."""
    n = asked_BT.shape[1]
    ids_BT = generate(model, asked_BT, model.T - n)
    targets_BT = ids_BT.clone()
    targets_BT[:, :n] = -100  # the question doesn't count
    is_end_BT = targets_BT == end
    targets_BT[is_end_BT.cumsum(dim=1) > is_end_BT.int()] = -100
    return ids_BT, targets_BT[:, 1:]


def reinforce(model, ask, reward, end, updates, group, lr):
    """After each update, yield its number and the mean reward."""
    optimizer = make_optimizer(model, lr)
    for update in range(updates):
        asked_BT = ask().repeat_interleave(group, dim=0)
        ids_BT, targets_BT = sample(model, asked_BT, end)
        reward_NG = reward(ids_BT).unflatten(0, (-1, group))
        advantage_NG = reward_NG - reward_NG.mean(dim=1, keepdim=True)
        logits = model.train()(ids_BT[:, :-1])
        nats_BT = F.cross_entropy(logits.mT, targets_BT, reduction="none")
        loss = (advantage_NG.flatten() * nats_BT.sum(dim=1)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield update + 1, reward_NG.mean().item()
