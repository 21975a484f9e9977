"""Chapter 14's measurements: models between GPT and Llama, and what looks into a Llama."""

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support import ROOT

from helpers import example, minigpt, minillama
from helpers.chapters.ch14_todays_block import lab, linear
from helpers.chapters.lab import characters, seeded

V = len(characters().tokenizer.vocab)


@pytest.fixture
def llama():
    with seeded(0):
        model = minillama.Llama(V=50, T=16, C=12, H=3, G=1, L=2, hidden=20).eval()
        for parameter in model.parameters():
            if parameter.ndim == 2:
                torch.nn.init.normal_(parameter, std=0.5)
    return model


def ids(n: int = 10) -> torch.Tensor:
    return torch.randint(50, (1, n), generator=torch.Generator().manual_seed(1))


def test_without_swaps_it_is_minigpt_s_gpt():
    with seeded(1):
        gpt = minigpt.GPT(V, lab.T, lab.C, lab.H, lab.L)
        ours = lab.Between()
    state = {}
    for name, value in gpt.state_dict().items():
        if ".qkv." in name:
            for part, rows in zip(("query", "key", "value"), value.chunk(3), strict=True):
                state[name.replace("qkv", part)] = rows
        else:
            state[name] = value
    ours.load_state_dict(state)
    x_BT, _ = lab.some_windows()
    torch.testing.assert_close(ours(x_BT[:3]), gpt.eval()(x_BT[:3]), rtol=1e-4, atol=1e-4)


def test_with_all_swaps_it_is_minillama_s_llama():
    with seeded(1):
        ours = lab.Between(lab.SWAPS["Llama"])
        hidden = ours.blocks[0].feed_forward.up.out_features
        llama = minillama.Llama(V, lab.T, lab.C, lab.H, lab.H // 2, lab.L, hidden)
    llama.load_state_dict(ours.state_dict())
    x_BT, _ = lab.some_windows()
    torch.testing.assert_close(ours(x_BT[:3]), llama(x_BT[:3]), rtol=1e-4, atol=1e-4)


def test_swaps_keep_the_weights_that_multiply():
    """Within a hundredth; "as many parameters" is so, too."""

    def multiplying(model):
        return sum(
            w.numel() for name, w in model.named_parameters() if w.ndim == 2 and "blocks" in name
        )

    gpt = lab.Between()
    for name, swaps in lab.SWAPS.items():
        model = lab.Between(swaps)
        if "larger" in swaps:
            assert lab.parameters(model) == pytest.approx(lab.parameters(gpt), rel=0.02)
        else:
            assert multiplying(model) == pytest.approx(multiplying(gpt), rel=0.01), name


def test_losses_are_those_of_the_next_tokens(llama):
    wanted = F.cross_entropy(llama(ids())[0, :-1], ids()[0, 1:], reduction="none")
    torch.testing.assert_close(lab.losses_of(llama, ids()), wanted)


def test_centred_norms_are_layer_norms(llama):
    x_BTC = torch.randn(1, 3, 12, generator=torch.Generator().manual_seed(0)) + 2
    norm = llama.blocks[1].norm_2
    wanted = F.layer_norm(x_BTC, (12,), norm.weight, eps=norm.eps)
    with lab.centred_norms(llama):
        torch.testing.assert_close(norm(x_BTC), wanted)
    assert not torch.allclose(norm(x_BTC), wanted)


def test_a_hidden_position_changes_no_later_one(llama):
    other = ids().clone()
    other[0, 2] = (other[0, 2] + 1) % 50
    with torch.no_grad():
        assert not torch.allclose(llama(ids())[0, 3:], llama(other)[0, 3:])
        with lab.hidden_position(llama, 2, (1, 2)):
            torch.testing.assert_close(llama(ids())[0, 3:], llama(other)[0, 3:])
        with lab.hidden_position(llama, 2, (2,)):
            assert not torch.allclose(llama(ids())[0, 3:], llama(other)[0, 3:])


def test_linear_attention_all_at_once_is_its_recurrence():
    with seeded(0):
        layer = linear.GatedLinearAttention(24, 4).double()
        x_BTC = torch.randn(1, 9, 24, dtype=torch.float64)
    wanted = linear.step_by_step(layer, x_BTC[0])
    torch.testing.assert_close(layer(x_BTC)[0], wanted, rtol=0, atol=1e-12)


def test_mixture_adds_the_chosen_experts_by_softmax_of_their_scores():
    space = {"torch": torch, "nn": torch.nn, "SwiGLU": minillama.SwiGLU}
    cells = json.loads((ROOT / "notebooks" / "14_todays_block.ipynb").read_text("utf-8"))["cells"]
    [moe] = ["".join(cell["source"]) for cell in cells if cell["id"] == "moe"]
    exec(moe, space)
    with seeded(0):
        mixture, x_NC = space["MixtureOfExperts"](8, 12, experts=4, chosen=2), torch.randn(5, 8)
    outputs_NEC = torch.stack([expert(x_NC) for expert in mixture.experts], dim=1)
    scores_NE = mixture.router(x_NC)
    least_N1 = scores_NE.sort(dim=1).values[:, -2:][:, :1]
    weights_NE = scores_NE.masked_fill(scores_NE < least_N1, -torch.inf).softmax(dim=1)
    wanted = (weights_NE[..., None] * outputs_NEC).sum(dim=1)
    torch.testing.assert_close(mixture(x_NC), wanted)


@pytest.mark.parametrize("halves", [False, True])
def test_by_hand_pairs_turn_as_complex_numbers(halves):
    x = np.array([1.0, 2.0, -3.0, 0.5])
    pairs = x.reshape(2, 2) if halves else x.reshape(2, 2).T
    hands = (pairs[0] + 1j * pairs[1]) * np.exp(1j * np.array([1, 0.1]))
    wanted = np.stack([hands.real, hands.imag])
    turned = lab.turned_by_hand(x, halves)[r"\text{turned}"]
    np.testing.assert_allclose(turned, (wanted if halves else wanted.T).flatten())


def test_by_hand_the_gate_is_torch_s():
    x, gate, up, down = example.X[-1], example.W_1[:, :2], example.W_1[:, 2:], example.W_2[:2]
    g, u, d = (torch.tensor(w) for w in (gate, up, down))
    wanted = (F.silu(torch.tensor(x) @ g) * (torch.tensor(x) @ u)) @ d
    found = lab.gate_by_hand(x, gate, up, down)[r"\text{output}"]
    np.testing.assert_allclose(found, wanted)


def test_halves_turn_as_in_hugging_face_s_code():
    x_BHTD = torch.randn(1, 2, 5, 6, generator=torch.Generator().manual_seed(0))
    angle_TD = torch.arange(5)[:, None] * 100 ** (-torch.arange(0, 6, 2) / 6).repeat(2)
    first, second = x_BHTD.chunk(2, dim=-1)
    wanted = x_BHTD * angle_TD.cos() + torch.cat([-second, first], dim=-1) * angle_TD.sin()
    torch.testing.assert_close(lab.rotate_halves(x_BHTD, 0, 100), wanted)
