"""The small GPT against one assembled from torch's own modules, and its properties."""

import dataclasses

import pytest
import torch
from tiny import seeded
from torch import nn
from torch.nn import functional as F

from helpers.gpt import GPT, POSITIONS, GPTConfig, QKTransform
from helpers.kv_cache import kv_cache

PLAIN = GPTConfig(vocab_size=17, context=12, layers=3, heads=4, width=32)


def model(seed=0, **changes):
    config = dataclasses.replace(PLAIN, **changes)
    return GPT(config, generator=seeded(seed)).eval()


def ids(*shape, seed=1):
    return torch.randint(17, shape, generator=seeded(seed))


def enlarged(gpt):
    """Weights of a size at which errors would show."""
    generator = seeded(5)
    with torch.no_grad():
        for parameter in gpt.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return gpt


class Reference(nn.Module):
    """GPT-2's arrangement from torch's own modules; loads the weights of ours."""

    def __init__(self, gpt):
        super().__init__()
        config, state = gpt.config, gpt.state_dict()
        C, V, T = config.width, config.vocab_size, config.context
        self.tokens, self.places = nn.Embedding(V, C), nn.Embedding(T, C)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                C,
                config.heads,
                4 * C,
                dropout=0.0,
                activation=F.gelu,
                batch_first=True,
                norm_first=True,
            )
            for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(C)
        self.load_state_dict(dict(self.renamed(state)))

    def renamed(self, state):
        names = {
            "embedding.weight": "tokens.weight",
            "position.rows.weight": "places.weight",
            "norm.weight": "norm.weight",
            "norm.bias": "norm.bias",
        }
        inside = {
            "attention.sublayer.qkv.": "self_attn.in_proj_",
            "attention.sublayer.out.": "self_attn.out_proj.",
            "feed_forward.sublayer.up.": "linear1.",
            "feed_forward.sublayer.down.": "linear2.",
            "attention.norm.weight": "norm1.weight",
            "attention.norm.bias": "norm1.bias",
            "feed_forward.norm.weight": "norm2.weight",
            "feed_forward.norm.bias": "norm2.bias",
        }
        for name, value in state.items():
            if name in names:
                yield names[name], value
            elif name != "head.weight":
                _, layer, rest = name.split(".", 2)
                [(ours, torchs)] = [(a, b) for a, b in inside.items() if rest.startswith(a)]
                yield f"layers.{layer}.{rest.replace(ours, torchs)}", value

    def forward(self, ids_BT):
        T = ids_BT.shape[1]
        x = self.tokens(ids_BT) + self.places(torch.arange(T))
        mask = nn.Transformer.generate_square_subsequent_mask(T, dtype=x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return self.norm(x) @ self.tokens.weight.T


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_logits_and_gradients_are_those_of_torchs_modules(dtype, bound):
    ours = enlarged(model()).to(dtype).train()
    theirs = Reference(ours).to(dtype).train()
    x, y = ids(2, 12), ids(2, 12, seed=2)
    logits, wanted = ours(x), theirs(x)
    torch.testing.assert_close(logits, wanted, atol=bound * wanted.abs().max().item(), rtol=0)
    for out in (logits, wanted):
        F.cross_entropy(out.flatten(0, 1), y.flatten()).backward()
    gradients = dict(theirs.renamed({n: p.grad for n, p in ours.named_parameters()}))
    for name, parameter in theirs.named_parameters():
        scale = parameter.grad.abs().max().item()
        torch.testing.assert_close(gradients[name], parameter.grad, atol=bound * scale, rtol=0)


EVERY = [{"positions": p} for p in POSITIONS] + [
    {"norm": "rms"},
    {"placement": "post"},
    {"activation": "relu2"},
    {"qk_norm": True},
    {"positions": "rope", "qk_norm": True, "norm": "rms", "tied": False},
    {"dropout": 0.3},
    {"ngrams": 2},
    {"ngrams": 5, "positions": "alibi"},
]


@pytest.mark.parametrize("changes", EVERY, ids=str)
def test_no_logit_knows_a_later_token(changes):
    gpt, x = enlarged(model(**changes)), ids(1, 12)
    other = x.clone()
    other[0, 7:] = (other[0, 7:] + 1) % 17
    before, after = gpt(x), gpt(other)
    assert torch.equal(before[:, :7], after[:, :7])
    assert not torch.allclose(before[:, 7:], after[:, 7:])


def test_queries_and_keys_have_mean_square_1():
    x = 0.01 * torch.randn(2, 5, 4, generator=seeded(0))
    wanted = x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(QKTransform(4, qk_norm=True, rope=False)(x, 0), wanted)


@pytest.mark.parametrize("changes", [{"qk_norm": True}, {"positions": "rope"}], ids=str)
def test_queries_and_keys_are_changed_in_a_model(changes):
    changed, without = model(**changes), model(positions=changes.get("positions", "learned"))
    without.load_state_dict(enlarged(changed).state_dict())
    for block in without.blocks:
        block.attention.sublayer.qk_transform = None
    assert not torch.allclose(changed(ids(1, 9)), without(ids(1, 9)))


@pytest.mark.parametrize("changes", EVERY, ids=str)
def test_the_cache_changes_nothing(changes):
    gpt, prompt = enlarged(model(**changes)), ids(3, 4)
    texts = [gpt.generate(prompt, 15, generator=seeded(3), cache=cache) for cache in (True, False)]
    assert torch.equal(*texts)
    assert texts[0].shape == (3, 19)
    assert torch.equal(texts[0][:, :4], prompt)


def test_embeddings_are_dropped_too():
    gpt, x = model(dropout=0.5).train(), ids(1, 5)
    gpt.blocks.eval()
    assert not torch.equal(gpt(x), gpt(x))


def test_generation_leaves_the_model_as_it_was():
    gpt = model(dropout=0.5).train()
    gpt.blocks[0].eval()
    graphs = []
    gpt.register_forward_hook(lambda model, given, out: graphs.append(out.requires_grad))
    gpt.generate(ids(1, 3), 4, generator=torch.Generator())
    assert graphs == [False] * 4
    assert gpt.training
    assert not gpt.blocks[0].training
    assert gpt(ids(1, 3)).shape == gpt(ids(1, 3)).shape == (1, 3, 17)  # no cache is left


def test_generation_reads_the_last_context():
    gpt, long = enlarged(model()), ids(1, 30)
    drawn = [
        gpt.generate(t, 5, generator=torch.Generator(), temperature=0)[0, -5:]
        for t in (long, long[:, -12:])
    ]
    assert torch.equal(*drawn)


def test_temperature_0_and_top_1_take_the_likeliest():
    gpt, prompt = enlarged(model()), ids(2, 5)
    likeliest = gpt(prompt)[:, -1].argmax(dim=-1)
    for settings in ({"temperature": 0}, {"top_k": 1}, {"temperature": 1e-4}):
        drawn = gpt.generate(prompt, 1, generator=torch.Generator(), **settings)
        assert torch.equal(drawn[:, -1], likeliest)


def test_samples_follow_the_softmax_at_its_temperature():
    gpt, prompt = enlarged(model()), ids(1, 2)
    wanted = (gpt(prompt)[0, -1] / 2.0).softmax(dim=-1)
    drawn = gpt.generate(prompt.expand(20_000, -1), 1, temperature=2.0, generator=seeded(0))
    share = drawn[:, -1].bincount(minlength=17) / 20_000
    assert (share - wanted).abs().max() < 0.012


def test_none_and_all_are_numbers_too():
    gpt, prompt = enlarged(model()), ids(1, 5)
    assert torch.equal(gpt.generate(prompt, 0, generator=seeded(0)), prompt)
    drawn = [gpt.generate(prompt, 9, generator=seeded(0), top_k=top_k) for top_k in (None, 17)]
    assert torch.equal(*drawn)


@pytest.mark.parametrize(
    ("changes", "table", "up"),
    [
        ({}, 0.02, 0.02),
        ({"start": "fan_in"}, 64**-0.5, 64**-0.5),
        ({"start": "fan_in", "tied": False}, 1.0, 64**-0.5),
    ],
    ids=str,
)
def test_initial_weights_have_their_standard_deviations(changes, table, up):
    gpt = model(vocab_size=500, width=64, heads=4, layers=2, **changes)
    block = gpt.blocks[1]
    for wanted, weight in (
        (table, gpt.embedding.weight),
        (up, block.feed_forward.sublayer.up.weight),
        (up / 2, block.attention.sublayer.out.weight),  # 1/√(2L) with L = 2
    ):
        assert weight.std().item() == pytest.approx(wanted, rel=0.04)


def test_an_untied_head_is_initialised_to_zero():
    gpt, x = model(tied=False), ids(2, 12)
    assert torch.equal(gpt(x), torch.zeros(2, 12, 17))
    assert model(tied=True)(x).std() > 0


def test_ngram_tables_start_without_effect():
    with_them = model(ngrams=3)
    alone = model()
    left = alone.load_state_dict(with_them.state_dict(), strict=False)
    assert {name.partition(".")[0] for name in left.unexpected_keys} == {"ngrams"}
    assert torch.equal(with_them(ids(2, 12)), alone(ids(2, 12)))
    assert with_them(ids(2, 12)).std() > 0


def test_it_can_memorise_a_text():
    gpt, text = model(positions="rope", layers=2), ids(1, 13)
    optimizer = torch.optim.Adam(gpt.parameters(), lr=0.01)
    for _ in range(120):
        loss = F.cross_entropy(gpt(text[:, :-1]).flatten(0, 1), text[0, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1


def test_defaults_of_a_gpt():
    assert dataclasses.asdict(GPTConfig(vocab_size=9)) == {
        "vocab_size": 9,
        "context": 64,
        "layers": 4,
        "heads": 4,
        "width": 128,
        "norm": "layer",
        "placement": "pre",
        "positions": "learned",
        "ngrams": 1,
        "activation": "gelu",
        "tied": True,
        "qk_norm": False,
        "start": "gpt2",
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }


def test_a_model_has_its_dtype_and_leaves_the_global_generator():
    before = torch.get_rng_state()
    double = GPT(PLAIN, generator=seeded(0), dtype=torch.float64)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(double(ids(1, 5)), model().double()(ids(1, 5)))


@pytest.mark.parametrize("positions", ["rope", "alibi", "none"])
def test_padding_in_front_changes_nothing(positions):
    gpt, text = enlarged(model(positions=positions)), ids(2, 5)
    padded = torch.cat([ids(2, 3, seed=4), text], dim=1)
    valid = torch.arange(8).expand(2, 8) >= 3
    torch.testing.assert_close(gpt(padded, valid)[:, 3:], gpt(text), atol=1e-5, rtol=1e-4)


def test_too_long_for_learned_positions():
    with pytest.raises(ValueError):
        model()(ids(1, 13))
    assert model(positions="rope")(ids(1, 13)).shape == (1, 13, 17)


def test_generation_without_cache_under_norms_over_positions():
    """Each new token changes those before it, so every step reads them all anew."""
    for norm in ("instance", "group"):
        gpt, prompt = enlarged(model(norm=norm)), ids(2, 3)
        texts = [
            gpt.generate(prompt, 8, generator=seeded(3), cache=cache) for cache in (True, False)
        ]
        assert torch.equal(*texts)


@pytest.mark.parametrize("changes", EVERY, ids=str)
def test_cached_logits_of_new_tokens_match(changes):
    gpt, text = enlarged(model(**changes)), ids(2, 6)
    with kv_cache(gpt):
        first, later = gpt(text[:, :4]), gpt(text)
        with pytest.raises(ValueError):
            gpt(text)
    torch.testing.assert_close(torch.cat([first, later], dim=1), gpt(text))


def shares(gpt, prompt, **settings):
    drawn = gpt.generate(prompt.expand(20_000, -1), 1, generator=seeded(0), **settings)
    return drawn[:, -1].bincount(minlength=17) / 20_000


def test_top_p_that_is_reached_exactly_is_enough():
    gpt = GPT(GPTConfig(vocab_size=4, width=4), generator=seeded(0))
    for parameter in gpt.parameters():
        nn.init.zeros_(parameter)  # each token has a quarter
    text = gpt.generate(torch.zeros(200, 1).long(), 1, generator=seeded(0), top_p=0.5)
    assert len(text[:, 1].unique()) == 2


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_and_top_p_keep_the_first_of_equals(k):
    gpt = GPT(GPTConfig(vocab_size=64, width=4), generator=seeded(0))
    for parameter in gpt.parameters():
        nn.init.zeros_(parameter)
    prompt = torch.zeros(200, 1).long()
    for settings in ({"top_k": k}, {"top_p": k / 64}, {"top_k": k, "top_p": 0.999}):
        text = gpt.generate(prompt, 1, generator=seeded(0), **settings)
        assert text[:, 1].unique().tolist() == list(range(k))


@pytest.mark.parametrize("top_p", [1e-46, 1e-300])
def test_top_p_always_keeps_the_likeliest_token(top_p):
    gpt, prompt = enlarged(model()), ids(2, 5)
    texts = [
        gpt.generate(prompt, 3, generator=seeded(0), **settings)
        for settings in ({"top_p": top_p}, {"temperature": 0})
    ]
    assert torch.equal(*texts)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_logits_that_are_no_numbers_are_refused(odd, temperature):
    gpt = model(tied=False)
    gpt.head.weight.data[3, 1] = odd
    with pytest.raises(ValueError):
        gpt.generate(ids(1, 5), 9, generator=seeded(0), temperature=temperature)


def test_logits_must_stay_finite_at_their_temperature():
    gpt = model(tied=False)
    gpt.head.weight.data.normal_(generator=seeded(0)).mul_(1e30)
    with pytest.raises(ValueError):
        gpt.generate(ids(1, 5), 1, generator=seeded(0), temperature=1e-20)


def test_odd_widths_are_good_for_what_needs_no_even_ones():
    GPTConfig(vocab_size=5, width=7, heads=7)


def test_a_model_of_16_bits_draws_by_shares_of_32():
    gpt, prompt = enlarged(model()).bfloat16(), ids(1, 2).expand(4000, -1)
    p = gpt(prompt[:1])[:, -1].float().softmax(dim=-1).expand(4000, -1)
    wanted = torch.multinomial(p, 1, generator=seeded(0))
    assert torch.equal(gpt.generate(prompt, 1, generator=seeded(0))[:, 2:], wanted)


def kept(p, tokens):
    """The distribution with these tokens alone."""
    left = torch.zeros_like(p).index_copy(0, tokens, p[tokens])
    return left / left.sum()


@pytest.mark.parametrize("k", [2, 5])
def test_top_k_keeps_the_k_likeliest_and_their_proportions(k):
    gpt, prompt = enlarged(model()), ids(1, 2)
    p = gpt(prompt)[0, -1].softmax(dim=-1)
    wanted = kept(p, p.argsort(descending=True)[:k])
    assert (shares(gpt, prompt, top_k=k) - wanted).abs().max() < 0.015


@pytest.mark.parametrize("top_p", [1e-9, 0.3, 0.7, 0.95])
def test_top_p_keeps_the_fewest_that_come_to_p(top_p):
    gpt, prompt = enlarged(model()), ids(1, 2)
    p = gpt(prompt)[0, -1].softmax(dim=-1)
    fewest, total = [], 0.0
    for token in p.argsort(descending=True).tolist():  # one by one, as the paper says it
        if total < top_p:
            fewest.append(token)
            total += p[token].item()
    wanted = kept(p, torch.tensor(fewest))
    found = shares(gpt, prompt, top_p=top_p)
    assert (found > 0).nonzero().flatten().tolist() == sorted(fewest)
    assert (found - wanted).abs().max() < 0.015


def test_top_p_is_taken_of_what_top_k_left_at_the_temperature():
    gpt, prompt = enlarged(model()), ids(1, 2)
    p = (gpt(prompt)[0, -1] / 2).softmax(dim=-1)
    order = p.argsort(descending=True)
    left = kept(p, order[:6])
    fewest = int((left[order].cumsum(0) < 0.8).sum()) + 1
    found = shares(gpt, prompt, top_k=6, top_p=0.8, temperature=2.0)
    assert (found > 0).nonzero().flatten().tolist() == sorted(order[:fewest].tolist())


@pytest.mark.parametrize("positions", ["alibi", "rope", "learned", "sinusoidal"])
def test_a_model_knows_the_order_of_its_tokens_by_its_positions(positions):
    """With none of them the last logits are the same for any order of the tokens before."""
    text = ids(1, 8)
    swapped = text[:, [1, 0, 2, 3, 4, 5, 6, 7]]
    gpt = enlarged(model(positions=positions, layers=1))
    assert not torch.allclose(gpt(text)[:, -1], gpt(swapped)[:, -1], atol=1e-4)
    without = enlarged(model(positions="none", layers=1))
    torch.testing.assert_close(without(text)[:, -1], without(swapped)[:, -1])


@pytest.mark.parametrize("temperature", [1e-45, 1e-300])
def test_next_to_no_temperature_is_none(temperature):
    gpt, prompt = enlarged(model()), ids(2, 3)
    texts = [gpt.generate(prompt, 5, generator=seeded(0), temperature=t) for t in (0, temperature)]
    assert torch.equal(*texts)


def test_ids_of_8_bits_are_ids():
    gpt, prompt = model(ngrams=3), ids(2, 5)
    assert torch.equal(gpt(prompt.to(torch.int8)), gpt(prompt))
