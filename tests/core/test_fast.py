"""The fast writer: the book's own tokens, and nothing read twice."""

from itertools import islice

import pytest
import torch

from helpers import fast, minillama


@pytest.fixture(scope="module")
def model():
    """With an adapter in every layer, as a reader may keep one."""
    torch.manual_seed(0)
    model = minillama.Llama(V=300, T=64, C=64, H=4, G=2, L=2, hidden=64)
    for parameter in model.parameters():
        parameter.data *= 4  # or one token comes again and again
    for part in [one for b in model.blocks for one in (b.attention, b.feed_forward)]:
        for name, layer in [*part.named_children()]:
            lora = minillama.LoRA(layer, rank=2, alpha=4)
            lora.b.data.normal_(std=0.2)
            setattr(part, name, lora)
    return model


def passed(model):
    """A list that grows by the ids of every pass through a model."""
    seen = []
    model.embedding.register_forward_hook(lambda _, given, __: seen.extend(given[0][0].tolist()))
    return seen


def test_a_conversation_goes_on_as_the_book_s_and_is_read_once(model):
    quick = fast.faster(model, 32, T=40)
    seen, ids = passed(quick), list(range(7, 19))
    said = [int(one) for one in islice(fast.stream(quick, torch.tensor([ids]), 9), 4)]  # cut short
    assert said == [int(one) for one in minillama.stream(model, torch.tensor([ids]), 4)]
    assert seen == ids + said[:-1]
    for more in ([*ids, *said, 50, 51], [*ids[:5], 99, 98], ids[:5], [3]):
        seen.clear()
        found = [int(one) for one in fast.stream(quick, torch.tensor([more]), 4)]
        assert found == [int(one) for one in minillama.stream(model, torch.tensor([more]), 4)]
        assert len(seen) - 3 == {18: 3, 7: 2, 5: 1, 1: 1}[len(more)]
    assert len([*fast.stream(quick, torch.tensor([ids]), 99)]) == 40 - 12 + 1
    for wrong in ([[*range(41)]], [ids, ids]):
        with pytest.raises(ValueError):
            next(fast.stream(quick, torch.tensor(wrong), 1))


@pytest.mark.skipif(not fast.INT4, reason="torch multiplies four bits one by one here")
def test_four_bits_multiply_as_the_levels_that_they_stand_for():
    layer = torch.nn.Linear(64, 32, bias=False)
    x_BTC = torch.randn(1, 3, 64).bfloat16()
    blocks = layer.weight.detach().unflatten(1, (2, 32))
    least, most = blocks.aminmax(dim=-1, keepdim=True)
    scale = (most - least) / 15
    rounded = (least + ((blocks - least) / scale).round() * scale).flatten(1)
    wanted = x_BTC.float() @ rounded.T
    found = fast.Int4Linear(layer)(x_BTC).float()
    assert (found - wanted).abs().max() < 0.02 * wanted.abs().max()


@pytest.mark.skipif(not fast.INT4, reason="torch multiplies four bits one by one here")
def test_only_layers_of_the_blocks_have_four_bits(model):
    quick = fast.faster(model, 4)
    kinds = {n: type(one).__name__ for n, one in quick.named_modules() if not n.endswith("norm")}
    assert kinds["blocks.1.feed_forward.up.linear"] == "Int4Linear"
    assert (kinds["head"], kinds["blocks.1.feed_forward.up"]) == ("Linear", "LoRA")
    [first] = fast.stream(quick, torch.arange(9)[None], 1)
    assert first.shape == (1, 1)
